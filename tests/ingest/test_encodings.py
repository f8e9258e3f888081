"""Texts in other encodings, with byte order marks, and with bytes that are no text."""

from __future__ import annotations

import gzip
import json
import math
from typing import TYPE_CHECKING, Any

import pytest
import zstandard

import sdb
from sdb.errors import InputError, SdbWarning

if TYPE_CHECKING:
    from pathlib import Path

ROWS = [{"id": 1, "s": "a"}, {"id": 2, "s": "ä\U0001f600"}]
TEXTS = {
    "x.json": "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS),
    "list.json": json.dumps(ROWS, ensure_ascii=False),
    "trail.json": json.dumps({"Records": ROWS}, ensure_ascii=False),
    "x.csv": "id,s\n1,a\n2,ä\U0001f600\n",
    "x.tsv": "id\ts\n1\ta\n2\tä\U0001f600\n",
}
ENCODINGS = ("utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "marked-utf-16-be")
COMPRESSIONS = {"": bytes, ".gz": gzip.compress, ".zst": zstandard.compress}


def encoded(text: str, encoding: str) -> bytes:
    if encoding.startswith("marked-"):
        return ("\ufeff" + text).encode(encoding.removeprefix("marked-"))
    return text.encode(encoding)


def rows(*sources: Path, **options: Any) -> list[dict[str, Any]]:
    packed = sources[0].parent / "packed.zion"
    sdb.pack(sources, packed, overwrite=True, **options)
    with sdb.open(packed) as packfile:
        return list(packfile.rows())


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_marks_are_skipped_and_utf_16_is_converted(
    tmp_path: Path, name: str, encoding: str
) -> None:
    for suffix, compress in COMPRESSIONS.items():
        path = tmp_path / f"{name}{suffix}"
        path.write_bytes(compress(encoded(TEXTS[name], encoding)))
        assert rows(path) == ROWS, suffix


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_logs_are_converted_too(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "app.log"
    path.write_bytes(encoded("eins\nzwei ä\n", encoding))
    assert rows(path, format="text") == [{"line": "eins"}, {"line": "zwei ä"}]


def test_inputs_of_all_encodings_stand_beside_each_other(tmp_path: Path) -> None:
    paths = []
    for number, encoding in enumerate(["utf-8", *ENCODINGS, "utf-8"]):
        paths.append(tmp_path / f"{number}.json")
        paths[-1].write_bytes(encoded(f'{{"n":{number}}}\n', encoding))
    assert rows(*paths) == [{"n": number} for number in range(len(paths))]


def test_marks_of_files_that_were_joined_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('\ufeff{"a":1}\n\ufeff{"a":2}\n\ufeff\n')
    assert rows(path) == [{"a": 1}, {"a": 2}]
    assert [row["a"] for row in rows(path, on_error=pytest.fail)] == [1, 2]


def test_marks_in_records_stay(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"a":"\ufeffx"}')
    assert rows(path) == [{"a": "\ufeffx"}]
    path.write_text('{\ufeff"a":1}')
    with pytest.raises(InputError, match="expected"):
        rows(path)


def test_utf_32_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes('{"a":1}'.encode("utf-32"))
    with pytest.raises(InputError, match="UTF-32") as caught:
        rows(path)
    assert caught.value.hint == "iconv -f UTF-32 -t UTF-8"


def test_errors_in_converted_text_name_its_line(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes('{"a":1}\n{"a":}\n'.encode("utf-16"))
    with pytest.raises(InputError) as caught:
        rows(path)
    assert caught.value.line == 2


@pytest.mark.parametrize(
    ("name", "text", "expected", "count"),
    [
        ("x.json", b'{"a":"caf\xe9"}\n{"a":"ok"}', [{"a": "caf\ufffd"}, {"a": "ok"}], 1),
        (
            "x.json",
            b'{"a":"\xe9\\n\\u00e9","b":["\x80"]}',
            [{"a": "\ufffd\né", "b": ["\ufffd"]}],
            2,
        ),
        ("x.json", b'{"\xff":1}', [{"\ufffd": 1}], 1),
        ("x.csv", b"a,b\ncaf\xe9,x\n", [{"a": "caf\ufffd", "b": "x"}], 1),
        ("x.tsv", b"a\tb\ncaf\xe9\tx\n", [{"a": "caf\ufffd", "b": "x"}], 1),
        (
            "x.json",
            b"\xff\xfe" + '{"a":"'.encode("utf-16-le") + b"\x3d\xd8" + '"}'.encode("utf-16-le"),
            [{"a": "\ufffd"}],
            1,
        ),
    ],
)
def test_bytes_that_are_no_text_are_replaced_and_counted(
    tmp_path: Path, name: str, text: bytes, expected: list[dict[str, Any]], count: int
) -> None:
    path = tmp_path / name
    path.write_bytes(text)
    said = "1 text is" if count == 1 else f"{count} texts are"
    with pytest.warns(SdbWarning, match=f"^{said} not UTF-8"):
        assert rows(path) == expected


def test_replaced_texts_are_counted_once_however_they_are_read(tmp_path: Path) -> None:
    """Records over the place where a thread reads on, and of parts whose end was guessed wrong."""
    path = tmp_path / "x.json"
    record = b'{"a":"caf\xe9","b":"' + b"x" * 70_000 + b'\\n"}\n'
    path.write_bytes(record * 300)
    with pytest.warns(SdbWarning, match="^300 texts are not UTF-8"):
        assert len(rows(path, threads=2)) == 300


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("NaN", math.nan),
        ("nan", math.nan),
        ("-NaN", math.nan),
        ("Infinity", math.inf),
        ("+Infinity", math.inf),
        ("inf", math.inf),
        ("-Infinity", -math.inf),
        ("-inf", -math.inf),
    ],
)
def test_numbers_that_json_has_not_are_read(tmp_path: Path, text: str, value: float) -> None:
    path = tmp_path / "x.json"
    path.write_text(f'{{"a":{text},"b":[1,{text}]}}\n')
    for _ in range(2):
        ((outer, (_, inner)),) = (row.values() for row in rows(path))
        assert repr(outer) == repr(inner) == repr(value)
        # What comes out is read again.
        with path.open("wb") as file:
            sdb.unpack([tmp_path / "packed.zion"], file, fmt="json")
