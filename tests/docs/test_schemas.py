"""The examples of `docs/schemas.md` run as they stand, and its JSON is a schema."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sdb.table.schema.columns import TableSchema
from tests.examples import ROOT
from tests.pages import fits, run_steps, steps_of

if TYPE_CHECKING:
    from pathlib import Path

PAGE = (ROOT / "docs/schemas.md").read_text()


def test_examples_show_what_happens(tmp_path: Path) -> None:
    steps = steps_of(PAGE)
    assert len(steps) > 7
    for step, screen, code, _ in run_steps(steps, tmp_path):
        assert code == 0, (step.typed, screen)
        assert fits(step.shown, screen), f"{step.typed}\n{screen}"


def test_the_json_of_a_schema_is_one() -> None:
    (text,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    assert len(TableSchema.loads(text).columns) == 4
