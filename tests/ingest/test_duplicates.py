"""Names that come twice in an object, or in a header."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb import ion
from sdb.errors import InputError, SdbWarning, UsageError
from sdb.packfile.inspect.validate import validate

if TYPE_CHECKING:
    from pathlib import Path

TWICE = '{"id":1,"level":"info","n":{"x":1,"\\u0078":{"x":3,"x":4}},"level":"error"}\n'


def packed(path: Path, **options: Any) -> tuple[list[dict[str, Any]], list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sdb.pack([path], path.parent / "a.zion", overwrite=True, **options)
    assert validate(path.parent / "a.zion").ok
    with sdb.open(path.parent / "a.zion") as packfile:
        return list(packfile.rows()), [str(warning.message) for warning in caught]


def written(folder: Path, text: str, name: str = "a.json") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_the_first_value_counts_and_the_others_are_counted(tmp_path: Path) -> None:
    path = written(tmp_path, TWICE + '{"id":2}\n')
    rows, said = packed(path)
    assert rows == [{"id": 1, "level": "info", "n": {"x": 1}}, {"id": 2}]
    (line,) = said
    assert line.startswith("2 values are dropped, since an object has the name twice (--duplicates")


@pytest.mark.parametrize("form", ["json:duplicates=last", "auto:duplicates=last"])
def test_the_last_value_counts_if_that_is_asked_for(tmp_path: Path, form: str) -> None:
    rows, said = packed(written(tmp_path, TWICE + '{"id":2}'), format=form)
    assert rows == [{"id": 1, "level": "error", "n": {"x": {"x": 4}}}, {"id": 2}]
    assert said[0].startswith("2 values are dropped")


def test_a_name_that_comes_twice_is_an_error_if_that_is_asked_for(tmp_path: Path) -> None:
    path = written(tmp_path, '{"id":2}\n' + TWICE + '{"id":3}\n')
    with pytest.raises(InputError, match='line 2: an object has the name "x" twice'):
        packed(path, format="auto:duplicates=fail")
    refused: list[Any] = []
    rows, _ = packed(path, format="auto:duplicates=fail", on_error=refused.append)
    assert [row["id"] for row in rows] == [2, 3]
    assert [record.line for record in refused] == [2]


@pytest.mark.parametrize("keep", ["first", "last"])
def test_fields_that_every_row_gets_are_no_duplicates(tmp_path: Path, keep: str) -> None:
    path = written(tmp_path, '{"a":1,"b":2}')
    rows, said = packed(path, constants={"a": 7}, format=f"json:duplicates={keep}")
    assert (rows, said) == ([{"a": 7, "b": 2}], [])


def test_many_names_that_come_twice(tmp_path: Path) -> None:
    names = [f"n{number % 3_000}" for number in range(6_000)]
    text = ",".join(f'"{name}":{number}' for number, name in enumerate(names))
    path = written(tmp_path, f'{{"deep":{{"er":{{{text}}}}}}}')
    for keep, bigger in (("first", 0), ("last", 3_000)):
        rows, said = packed(path, format=f"json:duplicates={keep}")
        expected = {f"n{number}": number + bigger for number in range(3_000)}
        assert rows == [{"deep": {"er": expected}}]
        assert said[0].startswith("3,000 values are dropped")


def test_records_in_objects(tmp_path: Path) -> None:
    text = json.dumps({"Records": [{"a": 1}]}).replace('"a": 1', '"a": 1, "a": 2')
    for name, keep in (("x.json", "last"), ("x.cloudtrail.json", "last"), ("x.json", "first")):
        path = written(tmp_path, text.replace(": [", ":["), name)
        rows, said = packed(path, format=f"auto:duplicates={keep}")
        assert rows == [{"a": 2 if keep == "last" else 1}]
        assert any(line.startswith("1 value is dropped") for line in said)


def test_pairs_of_logs_and_fields_of_ion_are_counted(tmp_path: Path) -> None:
    _, said = packed(written(tmp_path, "a=1 b=2 a=3\n", "a.log"), format="logfmt")
    assert said[0].startswith("1 value is dropped")
    path = tmp_path / "a.ion"
    path.write_bytes(ion.dumps({"a": 1, "b": 2}).replace(b"\x8b", b"\x8a"))
    rows, said = packed(path)
    assert (rows, said[0][:20]) == ([{"a": 1}], "1 value is dropped, ")
    with pytest.raises(UsageError, match=r"duplicates=last is for CSV, .* and this is Ion"):
        packed(path, format="auto:duplicates=last")


def test_columns_of_one_name(tmp_path: Path) -> None:
    path = written(tmp_path, "id,level,level\n1,info,error\n", "a.csv")
    rows, said = packed(path)
    assert rows == [{"id": 1, "level": "info", "level_2": "error"}]
    (line,) = said
    assert f"{path}: several columns are called level, and the later one is level_2" in line
    for keep, level in (("first", "info"), ("last", "error")):
        for form in ("auto", "csv"):
            rows, said = packed(path, format=f"{form}:duplicates={keep}")
            assert (rows, said) == ([{"id": 1, "level": level}], [])
    with pytest.raises(InputError, match='the header has the name "level" twice'):
        packed(path, format="csv:duplicates=fail")


def test_queries_take_the_choice_and_say_what_was_dropped(tmp_path: Path) -> None:
    path = written(tmp_path, TWICE)
    for option, level in (("", "info"), (", duplicates => 'last'", "error")):
        with pytest.warns(SdbWarning, match="dropped, since an object has the name twice"):
            rows = sdb.sql(f"SELECT level FROM read_file('{path}'{option})").fetchall()
        assert rows == [(level,)]
    with pytest.raises(UsageError, match="duplicates is 'both'"):
        sdb.sql(f"SELECT * FROM read_file('{path}', duplicates => 'both')")
