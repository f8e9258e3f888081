"""What tasks of one job found, told together and once."""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING

from sdb import notes
from sdb.packfile.write.findings import Findings, together
from sdb.spark.bulk.attempt import Options, Work, attempt
from sdb.spark.bulk.plan import measure, plan
from sdb.times import Times

if TYPE_CHECKING:
    from pathlib import Path


def told(findings: Findings) -> list[str]:
    with notes.heard() as lines:
        findings.tell()
    return lines


def test_tasks_find_what_their_job_tells_once(tmp_path: Path) -> None:
    values = ["2024-03-04T05:06:07.1234567Z", "2024-03-04T05:06:07.9876543Z", "04/03/2024"]
    for number, value in enumerate(values):
        (tmp_path / f"{number}.json").write_text(json.dumps({"t": value, "u": "x"}))
    forms = ((("t",), "%d/%m/%Y"), (("u",), "%d/%m/%Y"))
    work = Work(str(tmp_path), uuid.uuid4().hex, Options(times=Times(forms=forms)))
    files = measure([tmp_path / f"{number}.json" for number in range(len(values))])
    tasks = plan(files, tasks=3, target_bytes=1, parallelism=1, format=None)
    with notes.heard() as lines:
        outcomes = [attempt(work, task) for task in tasks]
    assert len(outcomes) == len(values)
    assert not lines
    assert told(together(outcome.findings for outcome in outcomes)) == [
        "2 times have digits beyond microseconds, which are cut off",
        "no value of u has the form that was told for it",
    ]


def test_columns_beyond_the_first_are_counted() -> None:
    columns = [("a.csv", (f"c{number}", "int", number + 1, None)) for number in range(7)]
    lines = told(together(Findings(columns=(column,)) for column in columns))
    assert lines[0] == "a.csv: 1 value of c0 is no int, and stays text"
    assert lines[1] == "a.csv: 2 values of c1 are no int, and stay texts"
    assert lines[-1] == "2 more columns have values of several types"
