"""The page about the command line: complete, and its examples run."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

from sdb.cli.app import COMMANDS
from tests.examples import ROOT, SDB, ran

if TYPE_CHECKING:
    from pathlib import Path

PAGE = (ROOT / "docs/cli.md").read_text()
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def test_every_command_has_a_section() -> None:
    assert re.findall(r"^## sdb (.+)$", PAGE, re.MULTILINE) == list(COMMANDS)


def test_examples_run_in_order(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "testdata", tmp_path / "testdata")
    shim = SDB + "set -eo pipefail\n"
    lines = "".join(BLOCK.findall(PAGE)).splitlines()
    assert len(lines) > 40
    for line in lines:
        command = line.removeprefix("$ ")
        result = ran(["bash", "-c", shim + command], tmp_path)
        assert result.returncode == 0, (command, result.stderr)
