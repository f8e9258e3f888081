"""The page about queries: what it shows is what comes out."""

from __future__ import annotations

import re
import shutil
import sys
from typing import TYPE_CHECKING

import pytest

import sdb
from tests.examples import ROOT, SDB, ran

if TYPE_CHECKING:
    from pathlib import Path

PAGE = "".join((ROOT / f"docs/{name}.md").read_text() for name in ("sql", "sneller-dialect"))
EXAMPLE = re.compile(r"^```sql\n(.*?)\n```\n\n```json\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "testdata", tmp_path / "testdata")
    (tmp_path / "people.json").write_text("".join(blocks("ndjson")))
    sdb.pack([tmp_path / "people.json"], tmp_path / "people.zion")
    return tmp_path


def test_queries_return_what_the_page_says(folder: Path) -> None:
    examples = EXAMPLE.findall(PAGE)
    assert len(examples) == len(blocks("sql")) >= 6
    for query, expect in examples:
        with sdb.sql(query, root=str(folder)) as result:
            assert b"".join(result.lines()).decode() == expect, query


def test_commands_and_programs_run(folder: Path) -> None:
    runs = [
        ["bash", "-c", SDB + line.removeprefix("$ ")]
        for block in blocks("console")
        for line in block.splitlines()
    ]
    runs += [[sys.executable, "-c", block] for block in blocks("python")]
    assert len(runs) >= 5
    for run in runs:
        done = ran(run, folder)
        assert done.returncode == 0, (run[-1], done.stderr)
        assert done.stdout or "pack" in run[-1]
