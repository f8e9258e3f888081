"""Manual pages: one for each command, with all of its options, and none that troff complains of."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from sdb.cli import manual
from sdb.cli.commands import leaves, load
from sdb.cli.parameters import Option, described

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def pages(tmp_path: Path) -> dict[str, Path]:
    return {path.stem: path for path in manual.write(tmp_path / "man1")}


def test_each_command_has_a_page_with_its_options(pages: dict[str, Path]) -> None:
    assert list(pages) == ["sdb", *(f"sdb-{name.replace(' ', '-')}" for name in leaves())]
    for name in leaves():
        text = pages[f"sdb-{name.replace(' ', '-')}"].read_text().replace("\\-", "-")
        module = load(name)
        for parameter, annotation in described(module.command):
            for item in getattr(annotation, "__metadata__", ()):
                if isinstance(item, Option):
                    assert all(f"\\fB{flag}\\fR" in text for flag in item.flags(parameter))
                    assert item.help in text
        for example in module.EXAMPLES:
            assert example.replace("\\", "\\e") in text
    overview = pages["sdb"].read_text().replace("\\-", "-")
    assert ".BR sdb-describe (1)" in overview
    assert "\\fB--root\\fR \\fIFOLDER\\fR" in overview


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_troff_reads_them_without_a_word(pages: dict[str, Path]) -> None:
    shown = ""
    for path in pages.values():
        result = subprocess.run(
            ["groff", "-man", "-Tutf8", "-ww", "-P-c", path],
            capture_output=True,
            text=True,
            check=True,
        )
        assert result.stderr == "", path
        shown += result.stdout
    assert "sdb query --fmt csv" in shown.replace("\N{HYPHEN}", "-").replace("\N{MINUS SIGN}", "-")
