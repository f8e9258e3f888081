"""The page about the command line: complete, and its examples run."""

from __future__ import annotations

import re
import shutil
import sys
from typing import TYPE_CHECKING

from sdb.cli.app import COMMANDS
from tests.examples import ROOT, SDB, ran

if TYPE_CHECKING:
    from pathlib import Path

PAGE = (ROOT / "docs/cli.md").read_text()
BLOCK = re.compile(r"^```(console|python)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def test_every_command_has_a_section() -> None:
    assert re.findall(r"^## sdb (.+)$", PAGE, re.MULTILINE) == list(COMMANDS)


def test_examples_run_in_order(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "testdata", tmp_path / "testdata")
    shim = SDB + "set -eo pipefail\n"
    for language, text in BLOCK.findall(PAGE):
        if language == "console":
            commands = [line.removeprefix("$ ") for line in text.splitlines()]
            runs = [["bash", "-c", shim + command] for command in commands]
        else:
            runs = [[sys.executable, "-c", text]]
        for run in runs:
            result = ran(run, tmp_path)
            assert result.returncode == 0, (run[-1], result.stderr)
