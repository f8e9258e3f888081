"""The page about the Python API: complete, made from the docstrings, and its examples run."""

from __future__ import annotations

import doctest
import re
import shutil
from typing import TYPE_CHECKING

import sdb
from tests.docs import api
from tests.examples import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_the_page_is_what_the_docstrings_say() -> None:
    assert api.PAGE.read_text() == api.page(), "run python -m tests.docs.api"


def test_every_public_name_is_on_the_page() -> None:
    sections = [*re.findall(r"^### sdb\.(\w+)$", api.page(), re.MULTILINE), "errors"]
    assert sorted(sections) == sorted(sdb.__all__)


def test_every_name_has_an_example() -> None:
    for section in re.split(r"^### ", api.page(), flags=re.MULTILINE)[1:]:
        assert "\n>>> " in section, section.partition("\n")[0]


def test_every_anchor_leads_to_a_heading() -> None:
    text = api.page()
    anchors = {
        re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
        for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    }
    assert set(re.findall(r"\]\(#([^)]+)\)", text)) - anchors == set()


def test_examples_run_one_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "testdata", tmp_path / "testdata")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SDB_CACHE", str(tmp_path / "cache"))
    text = api.page().replace(api.NOT_RUN, "# doctest: +SKIP").replace("```", "")
    test = doctest.DocTestParser().get_doctest(text, {"sdb": sdb}, "api.md", "docs/api.md", 0)
    assert len(test.examples) > 40
    report: list[str] = []
    doctest.DocTestRunner(verbose=False).run(test, out=report.append)
    assert "".join(report) == ""
