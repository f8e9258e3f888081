"""Malformed records: an error, passed over, or rows of their text, in packs and in tables."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb import formats
from sdb.errors import SdbWarning, UsageError
from sdb.table.catalog.handle import find_table
from sdb.table.catalog.root import table_root
from sdb.table.definition.create import create_table, definition_of
from sdb.table.definition.definition import Definition
from sdb.table.history.log import log
from sdb.table.sync.sync import sync_table

if TYPE_CHECKING:
    from pathlib import Path

TRACE = "Traceback (most recent call last):\n  File \"a.py\", line 1\nKeyError: 'é'\n"
LOG = f'{{"n":1}}\n{TRACE}{{"n":2}}\n'
KEPT = [{"message": line} for line in TRACE.splitlines()]
ROWS = [{"n": 1}, *KEPT, {"n": 2}]


def packed(path: Path, **options: Any) -> tuple[sdb.PackResult, list[dict[str, Any]]]:
    """Pack a file, and return the result and its rows."""
    result = sdb.pack(str(path), str(path.with_suffix(".zion")), **options)
    return result, list(sdb.open(result.path).rows())


def test_lines_that_are_no_records_are_rows_in_their_place(tmp_path: Path) -> None:
    """With `keep` nothing of a log is lost, and a warning counts what no form fits."""
    (tmp_path / "app.log").write_text(LOG)
    with pytest.warns(SdbWarning, match="kept 3 records as rows of `message`; first"):
        result, rows = packed(tmp_path / "app.log", on_error="keep")
    assert rows == ROWS
    assert (result.rows, result.kept_records, result.rejected) == (5, 3, 0)


def test_what_is_skipped_is_counted(tmp_path: Path) -> None:
    """With `skip` and nothing that takes records, a warning counts them."""
    (tmp_path / "app.log").write_text(LOG)
    with pytest.warns(SdbWarning, match="skipped 3 records; first .*line 2"):
        result, rows = packed(tmp_path / "app.log", on_error="skip")
    assert rows == [{"n": 1}, {"n": 2}]
    assert (result.kept_records, result.rejected) == (0, 3)


@pytest.mark.parametrize(
    ("name", "text", "messages"),
    [
        ("a.csv", 'n,s\n1,a\n2,"b', ['2,"b']),
        ("a.log", '10.0.0.1 - - [04/Mar/2024:05:06:07 +0000] "GET / HTTP/1.1" 200 5\nboom\n', None),
        ("a.json", '[{"n":1},{"n":x},{"n":3}]', ['{"n":x}']),
    ],
)
def test_each_text_format_keeps_them(
    tmp_path: Path, name: str, text: str, messages: list[str] | None
) -> None:
    """Rows of the format stay, with those of other texts between them."""
    (tmp_path / name).write_text(text)
    taken: list[Any] = []
    form = "combined" if name == "a.log" else None
    _, rows = packed(tmp_path / name, format=form, on_error="keep", on_errors=taken.append)
    assert [row["message"] for row in rows if "message" in row] == (messages or ["boom"])
    assert sum(map(len, taken)) == 1
    assert len(rows) == {"a.csv": 2, "a.log": 2, "a.json": 3}[name]


def test_texts_beyond_a_row_are_cut_and_none_of_them_is_lost(tmp_path: Path) -> None:
    """A record that never ends becomes several rows, whose texts are its own."""
    text = '{"n":"' + "é" * (1 << 20) + "\n"
    (tmp_path / "a.json").write_text(text + '{"n":2}\n')
    _, rows = packed(tmp_path / "a.json", on_error="keep", on_errors=len)
    *pieces, last = rows
    assert last == {"n": 2}
    assert len(pieces) > 1
    assert "".join(piece["message"] for piece in pieces) == text.rstrip("\n")


def test_kept_rows_have_constants_and_fields_of_folders(tmp_path: Path) -> None:
    """What all rows get, these get as well, and a field of their own goes first."""
    folder = tmp_path / "day=2"
    folder.mkdir()
    (folder / "app.log").write_text(LOG)
    _, rows = packed(folder / "app.log", on_error="keep", on_errors=len, constants={"host": "a"})
    assert rows[1] == {"host": "a", "message": KEPT[0]["message"], "day": 2}


def test_unknown_choices_are_refused(tmp_path: Path) -> None:
    """A misspelt choice is no `fail`."""
    (tmp_path / "a.json").write_text("{}")
    with pytest.raises(UsageError, match="keeps"):
        packed(tmp_path / "a.json", on_error="keeps")


def synced(tmp_path: Path, on_error: str, name: str = "app.log", **options: Any) -> Any:
    """Make a table of `app.log`, and sync it."""
    root = table_root(str(tmp_path))
    (tmp_path / "in").mkdir(exist_ok=True)
    (tmp_path / "in" / name).write_text(LOG)
    definition = definition_of(["in/*"], root, format="json", on_error=on_error, **options)
    create_table(root, "web", "app", definition)
    return sync_table(root, "web", "app")


@pytest.mark.parametrize(("on_error", "rows"), [("keep", ROWS), ("skip", [ROWS[0], ROWS[-1]])])
def test_a_definition_says_what_becomes_of_them(
    tmp_path: Path, on_error: str, rows: list[dict[str, Any]]
) -> None:
    """A trace in a log does not refuse the file, and the counts are in the report and the log."""
    with pytest.warns(SdbWarning, match="3 records"):
        result = synced(tmp_path, on_error)
    assert (result.rejected, result.skipped + result.kept_records) == ((), 3)
    assert result.as_dict()["kept" if on_error == "keep" else "skipped"] == 3
    rows_in_table = sdb.sql("SELECT * FROM web.app", root=str(tmp_path))
    assert sorted(rows_in_table, key=str) == sorted(rows, key=str)
    handle = find_table(table_root(str(tmp_path)), "web", "app")
    assert handle is not None
    assert "3 records" in next(iter(log(handle))).message


def test_without_a_word_the_file_is_refused(tmp_path: Path) -> None:
    """The default of tables stays that of packing."""
    result = synced(tmp_path, "")
    assert [rejected.uri for rejected in result.rejected] == ["file://in/app.log"]


def test_definitions_keep_the_choice_apart_from_what_others_read(tmp_path: Path) -> None:
    """The member is stored, and the digest by which others know the definition has it not."""
    text = '{"input":[{"pattern":"file://in/*","format":"json","on_error":"keep"}]}'
    definition = Definition.parse(text)
    assert definition.inputs[0].on_error == "keep"
    assert json.loads(definition.stored())["input"][0]["on_error"] == "keep"
    assert "on_error" not in definition.canonical()
    root = table_root(str(tmp_path))
    with pytest.raises(UsageError, match="did you mean keep"):
        create_table(root, "web", "b", Definition.parse(text.replace('"keep"', '"kep"')))


@pytest.mark.parametrize("form", ["csv:columns=n:text", "json:records=hits.hits", "csv.gz:skip=1"])
def test_definitions_take_options_of_formats(tmp_path: Path, form: str) -> None:
    """What `-f` takes, a definition takes; a wrong option is said when it is made."""
    root = table_root(str(tmp_path))
    assert formats.input_named(form)
    create_table(root, "web", "a", definition_of(["in/*"], root, format=form))
    word = form.partition(":")[0]
    with pytest.raises(UsageError, match="nosuch"):
        create_table(root, "web", "b", definition_of(["in/*"], root, format=f"{word}:nosuch=1"))


def test_records_and_columns_come_into_tables(tmp_path: Path) -> None:
    """A sync reads inputs as the format of the definition says."""
    root = table_root(str(tmp_path))
    (tmp_path / "a.json").write_text('{"of":{"them":[{"n":1},{"n":2}]}}')
    (tmp_path / "b.csv").write_text("id,n\n007,1\n")
    wrapped = definition_of(["a.json"], root, format="json:records=of.them")
    create_table(root, "web", "app", wrapped)
    create_table(root, "web", "csv", definition_of(["b.csv"], root, format="csv:columns=id:text"))
    assert [sync_table(root, "web", table).rows for table in ("app", "csv")] == [2, 1]
    assert list(sdb.sql("SELECT id FROM web.csv", root=str(tmp_path))) == [{"id": "007"}]
