"""Logs in ready forms: recognised by their first lines, their times indexed, traces in one row."""

from __future__ import annotations

import io
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

import sdb
from sdb import _core, formats
from sdb.errors import InputError, SdbWarning

SAMPLES = Path(__file__).parents[2] / "testdata/field/logs"
NAMES = sorted(path.stem for path in SAMPLES.glob("*.log"))
WITHOUT_YEAR = "times without a year"
WRITTEN = 1_793_000_000  # in 2026: years that are guessed are those of the file


def rows_of(data: bytes, target: Path, **options: Any) -> list[Any]:
    sdb.pack([io.BytesIO(data)], target, overwrite=True, **options)
    with sdb.open(target) as pack:
        return shown(pack)


def shown(pack: sdb.Packfile) -> list[Any]:
    return [json.loads(json.dumps(row, default=_text)) for row in pack.rows()]


def _text(value: Any) -> str:
    return str(value.isoformat())


def test_all_ready_forms_have_a_sample() -> None:
    names = {name for name, *_ in _core.log_forms()}
    assert names == set(NAMES) - {"w3c", "zeek"}
    logs = {form.name for form in formats.FORMATS if form.is_log}
    assert logs == {*NAMES, "postgres-csv"}


@pytest.mark.filterwarnings(f"ignore:{WITHOUT_YEAR}")
@pytest.mark.parametrize("name", NAMES)
def test_a_log_is_found_by_itself(tmp_path: Path, name: str) -> None:
    path = Path(shutil.copy(SAMPLES / f"{name}.log", tmp_path))
    os.utime(path, (0, WRITTEN))
    expected = [json.loads(line) for line in (SAMPLES / f"{name}.json").read_text().splitlines()]
    for form in (None, name):
        sdb.pack(path, tmp_path / "a.zion", format=form, overwrite=True)
        with sdb.open(tmp_path / "a.zion") as pack:
            assert pack.time_indexes
            assert shown(pack) == expected


def test_a_trace_belongs_to_the_record_before_it(tmp_path: Path) -> None:
    data = (
        b"2026-03-04 05:06:07,1 ERROR [m] a.B: no\r\njava.x: y\r\n\tat z\n\n"
        b"2026-03-04 05:06:08 ERROR [m] a.B: b\n"
    )
    rows = rows_of(data, tmp_path / "a.zion", format="java")
    assert [row["message"] for row in rows] == ["no\njava.x: y\r\n\tat z", "b"]


@pytest.mark.parametrize("part_bytes", [1, 40, 100, 1 << 20])
def test_records_do_not_depend_on_parts(part_bytes: int) -> None:
    for name in ("java", "python", "postgres", "journald", "apache-error"):
        data = (SAMPLES / f"{name}.log").read_bytes()
        assert packed(data, name, part_bytes) == packed(data, name, 16 << 20), name


def packed(data: bytes, form: str, part_bytes: int) -> list[Any]:
    packer = _core.Packer(algorithm="zstd", part_bytes=part_bytes, threads=1)
    packer.begin("a", form, "none", None)
    packer.feed(data)
    packer.end()
    frames = []
    while packer.wait():
        while frame := packer.take():
            frames.append(frame)
    while frame := packer.take():
        frames.append(frame)
    packer.finish()
    return [packer.rows, packer.text_bytes, packer.strays]


def test_lines_before_the_first_record_never_reject_a_file(tmp_path: Path) -> None:
    line = b"2026-03-04 05:06:07,1 - a - INFO - up\n"
    data = b"  File 'x.py'\nValueError: no\n" + line
    with pytest.warns(SdbWarning, match="1 row has lines that begin no record"):
        rows = rows_of(data, tmp_path / "a.zion", format="python")
    assert [row["message"] for row in rows] == ["  File 'x.py'\nValueError: no", "up"]
    rejected: list[Any] = []
    rows = rows_of(data, tmp_path / "a.zion", format="python", on_error=rejected.append)
    assert len(rows) == 1
    assert [(record.line, record.text) for record in rejected] == [(1, data[: -len(line)])]


def test_a_record_has_a_bound(tmp_path: Path) -> None:
    line = b"2026-03-04 05:06:07,1 - a - INFO - up\n"
    with pytest.warns(SdbWarning, match="begin no record"):
        rows = rows_of(line + b"\tat x.y.z\n" * 100_000 + line, tmp_path / "a.zion")
    assert rows[0]["message"].startswith("up\n\tat x.y.z\n")
    assert len(rows) == 3
    assert sum(row["message"].count("at x") for row in rows) == 100_000


def test_a_form_that_no_line_has_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="line 1: the line begins no record"):
        rows_of(b"hello\nworld\n", tmp_path / "a.zion", format="java")
    with pytest.raises(InputError, match="2 words, where 10 or more were expected"):
        rows_of(b"hello world\n", tmp_path / "a.zion", format="s3-access")
    with pytest.raises(InputError, match=r"no CEF:"):
        rows_of(b"hello world\n", tmp_path / "a.zion", format="cef")


def test_a_zone_without_an_offset_is_told(tmp_path: Path) -> None:
    data = b"2026-03-04 05:06:07.1 CET [1] LOG:  up\n"
    with pytest.warns(SdbWarning, match="names of time zones"):
        (row,) = rows_of(data, tmp_path / "a.zion")
    assert (row["time"], row["zone"]) == ("2026-03-04T05:06:07.100000+00:00", "CET")


def test_json_is_no_log(tmp_path: Path) -> None:
    for data in (b'[{"a":1}]', b'[\n{"a":1}\n]\n', b'{"a":1}\n', b"[ ]", b""):
        assert rows_of(data, tmp_path / "a.zion") == ([{"a": 1}] if b"a" in data else [])


def test_csvlog_of_postgres_has_its_columns(tmp_path: Path) -> None:
    data = (
        b'2026-03-04 05:06:07.123 UTC,"ann","shop",4400,"192.0.2.7:5000",69a7c2f0.1130,1,"SELECT",'
        b'2026-03-04 05:00:00 UTC,3/12,0,ERROR,42P01,"relation ""x"" is no\ntable",,,,,,'
        b'"SELECT * FROM x",15,,"psql","client backend",,0\n'
    )
    (tmp_path / "postgresql.csv").write_bytes(data)
    sdb.pack(tmp_path / "postgresql.csv", tmp_path / "a.zion")
    (row,) = shown(sdb.open(tmp_path / "a.zion"))
    assert row["error_severity"] == "ERROR"
    assert row["message"] == 'relation "x" is no\ntable'
    assert row["log_time"] == "2026-03-04T05:06:07.123000+00:00"
