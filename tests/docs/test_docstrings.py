"""Examples in docstrings of internal modules run, each by itself; docs/api.md has the others."""

from __future__ import annotations

import doctest
import importlib
from typing import TYPE_CHECKING

import pytest

from tests.examples import ROOT
from tests.unit.test_package import PUBLIC

if TYPE_CHECKING:
    from pathlib import Path

FILES = [
    path.relative_to(ROOT)
    for path in sorted(ROOT.glob("sdb/**/*.py"))
    if ">>> " in path.read_text() and path.relative_to(ROOT).as_posix() not in PUBLIC
]


@pytest.mark.parametrize("file", FILES, ids=str)
def test_examples_run(file: Path) -> None:
    module = importlib.import_module(".".join(file.with_suffix("").parts))
    report: list[str] = []
    for test in doctest.DocTestFinder(exclude_empty=True).find(module):
        doctest.DocTestRunner(verbose=False).run(test, out=report.append)
    assert "".join(report) == ""
