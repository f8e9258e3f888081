"""`docs/definition.md` names every member of a definition, and its examples run as they stand."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sdb.formats import in_definitions
from sdb.table.definition.definition import MEMBERS
from tests.examples import ROOT
from tests.pages import fits, run_steps, steps_of

if TYPE_CHECKING:
    from pathlib import Path

PAGE = (ROOT / "docs/definition.md").read_text()


def test_every_member_has_a_section_with_an_example() -> None:
    sections = re.split(r"^## ", PAGE, flags=re.MULTILINE)
    named = {part.split("`")[1]: part for part in sections if part.startswith("`")}
    assert sorted(named) == sorted(MEMBERS)
    for name, section in named.items():
        assert f'"{name}"' in section, name
        assert "```console" in section, name
        assert f"| [`{name}`](#{name}) |" in PAGE, name


def test_every_format_is_listed() -> None:
    (row,) = (line for line in PAGE.splitlines() if line.startswith("| `format`"))
    named = set(re.findall(r"`([^`]+)`", row.replace("regex:PATTERN", "regex")))
    plain = {name.removesuffix(".gz").removesuffix(".zst") for name in in_definitions()}
    assert named - {"format", ".gz", ".zst", "cloudtrail.json.gz"} == plain - {"cloudtrail.json"}


def test_examples_show_what_happens(tmp_path: Path) -> None:
    steps = steps_of(PAGE)
    assert len(steps) > 30
    done = run_steps(steps, tmp_path)
    assert len(done) == len(steps)
    for step, screen, code, _ in done:
        assert code == 0, (step.typed, screen)
        assert fits(step.shown, screen), f"{step.typed}\n{screen}"
