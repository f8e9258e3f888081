"""Inputs as people have them, `testdata/field`: their rows, times and messages in each way in."""

from __future__ import annotations

import io
import json
import shutil
import uuid
from pathlib import Path
from typing import Any

import pytest

import sdb
from sdb import instants, notes, times
from sdb.packfile.inputs.hintedtimes import hinted_times
from sdb.packfile.read.likelytimes import likely_times
from sdb.packfile.write.findings import together
from sdb.records import record
from sdb.spark.bulk.attempt import Options, Work, attempt
from sdb.spark.bulk.plan import measure, plan
from sdb.table.definition.definition import Definition

FOLDER = Path(__file__).parents[2] / "testdata/field"


@record
class Case:
    """An input, the way it is read, and what comes of it."""

    file: str
    rows: list[dict[str, Any]]
    times: list[str]  # fields with a time index
    warnings: list[str] = []  # noqa: RUF012 - none is changed
    looks: list[str] = []  # noqa: RUF012 - what `pack` offers where there is no time
    options: dict[str, Any] = {}  # noqa: RUF012 - as a definition has them

    @property
    def reading(self) -> times.Times:
        """The way its times are read."""
        return times.of_json(json.dumps(self.options.get("times")))

    @property
    def hints(self) -> bytes | None:
        """Its hints file."""
        return json.dumps(self.options["hints"]).encode() if "hints" in self.options else None

    @property
    def name(self) -> str:
        """Its name among the tests."""
        return f"{Path(self.file).name}-{'-'.join(self.options)}"


CASES = [Case(**case) for case in json.loads((FOLDER / "expected.json").read_text())]
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def plain(value: Any) -> Any:
    """Return a value as JSON has it, with times as texts."""
    if isinstance(value, dict):
        return {name: plain(member) for name, member in value.items()}
    if isinstance(value, list):
        return [plain(member) for member in value]
    return instants.text(instants.to_us(value)) if hasattr(value, "tzinfo") else value


def check(case: Case, packs: list[sdb.Packfile], warnings: list[str]) -> None:
    """Check rows, indexes and warnings."""
    assert [plain(row) for pack in packs for row in pack.rows()] == case.rows
    indexed = {".".join(path) for pack in packs for path in pack.trailer.sparse.indices}
    assert sorted(indexed) == case.times
    assert sorted(warnings) == sorted(case.warnings)


@every_case
def test_pack(case: Case, tmp_path: Path) -> None:
    with notes.heard() as warnings:
        sdb.pack(
            FOLDER / case.file,
            tmp_path / "out.zion",
            times=case.reading,
            hints=case.hints,
            format=case.options.get("format"),
        )
    pack = sdb.open(tmp_path / "out.zion")
    check(case, [pack], warnings)
    if not case.times:
        assert [str(field) for field in likely_times(pack.head(30))] == case.looks
    out = io.BytesIO()
    sdb.unpack(tmp_path / "out.zion", out, fmt="json")
    assert [json.loads(line) for line in out.getvalue().splitlines()] == case.rows


@every_case
def test_query(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if case.hints is not None:
        return  # which queries do not take
    monkeypatch.setenv("SDB_CACHE", str(tmp_path))
    query = f"SELECT * FROM '{FOLDER / case.file}'"
    with (
        notes.heard() as warnings,
        sdb.sql(query, format=case.options.get("format"), times=case.reading) as result,
    ):
        assert [plain(row) for row in result] == case.rows
    assert sorted(warnings) == sorted(case.warnings)


@every_case
def test_sync(case: Case, tmp_path: Path) -> None:
    source = tmp_path / Path(case.file).name
    shutil.copy(FOLDER / case.file, source)
    lake = sdb.connect(tmp_path)
    form = case.options.get("format") or source.suffix[1:]
    rule = {"pattern": f"file://{source.name}", "format": form} | case.options
    with notes.heard() as warnings:
        if form == "csv":  # of which definitions want hints
            lake.create("d.t", "in/*.json")
            lake.append("d.t", source, times=case.reading)
        else:
            lake.create("d.t", Definition.parse(json.dumps({"input": [rule]})))
            lake.sync("d.t")
    handle = lake.table("d.t")
    assert [plain(row) for row in handle.rows()] == case.rows
    assert sorted(warnings) == sorted(case.warnings)


@every_case
def test_tasks_of_spark(case: Case, tmp_path: Path) -> None:
    options = Options(
        times=case.reading, hints=case.hints, format=case.options.get("format"), hive=False
    )
    files = measure([FOLDER / case.file])
    tasks = plan(files, tasks=1, target_bytes=1 << 20, parallelism=1, format=options.format)
    outcomes = [attempt(Work(str(tmp_path), uuid.uuid4().hex, options), task) for task in tasks]
    with notes.heard() as warnings:
        together(outcome.findings for outcome in outcomes).tell()
    (outcome,) = outcomes
    (tmp_path / outcome.name).rename(tmp_path / "out.zion")  # which no job has published
    check(case, [sdb.open(tmp_path / "out.zion")], warnings)


def test_each_file_is_in_the_table() -> None:
    files = {str(path.relative_to(FOLDER)) for path in (FOLDER / "times").iterdir()}
    assert files == {case.file for case in CASES if case.file.startswith("times/")}
    assert any(hinted_times(case.hints) for case in CASES if case.hints is not None)
