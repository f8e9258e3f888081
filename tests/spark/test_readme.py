"""What the README shows of Spark, as it stands there."""

from __future__ import annotations

import re
import shutil
import sys
from typing import TYPE_CHECKING

import pytest

from tests.examples import ROOT, SDB, ran

if TYPE_CHECKING:
    from pathlib import Path

BLOCK = re.compile(r"^```(sh|py)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.mark.spark
@pytest.mark.usefixtures("java")
def test_readme(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "testdata", tmp_path / "testdata")
    actual = BLOCK.findall((ROOT / "README.md").read_text())
    assert [language for language, _ in actual] == ["sh", "py"]
    for language, text in actual:
        run = ["bash", "-ec", SDB + text] if language == "sh" else [sys.executable, "-c", text]
        done = ran(run, tmp_path)
        assert done.returncode == 0, done.stderr
    assert "|count|" in done.stdout.replace(" ", "")
