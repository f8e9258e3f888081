"""The page about Python: its examples run, and return what it shows."""

from __future__ import annotations

import doctest
from typing import TYPE_CHECKING

from tests.examples import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_examples_run_one_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SDB_CACHE", str(tmp_path / "cache"))
    text = (ROOT / "docs/python.md").read_text().replace("```", "")
    names = {"__name__": "page"}
    test = doctest.DocTestParser().get_doctest(text, names, "python.md", "docs/python.md", 0)
    assert len(test.examples) > 25
    report: list[str] = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
    runner.run(test, out=report.append)
    assert "".join(report) == ""
