"""`docs/tutorial.md` runs as it stands, on a terminal, in far less than its 15 minutes."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from tests.examples import ROOT, ran
from tests.pages import fits, run_steps, steps_of

if TYPE_CHECKING:
    from pathlib import Path

PAGE = (ROOT / "docs/tutorial.md").read_text()
ANSWER_SECONDS = 60


def test_each_step_shows_what_the_page_shows(tmp_path: Path) -> None:
    steps = steps_of(PAGE)
    assert len(steps) > 35
    done = run_steps(steps, tmp_path)
    assert len(done) == len(steps)
    for step, screen, code, seconds in done:
        assert code == 0, (step.typed, screen)
        assert fits(step.shown, screen), f"{step.typed}\n{screen}"
        assert seconds < ANSWER_SECONDS, step.typed
    (python,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    answer = ran([sys.executable, "-c", python], tmp_path)
    assert answer.stdout == "7\n", answer.stderr


def test_a_page_that_shows_something_else_is_noticed() -> None:
    assert fits("a ...\n...\nb", "a 1\nx\ny\nb\n")
    assert fits("a\nb", "a\nb\n")
    assert fits("a\nb", "a\nreading ━━━━━━ 4.0/4.0 kB ? 00:00\nb\n")
    assert not fits("a\nb", "a\nx\nb\n")
    assert not fits("", "a\n")
    assert not fits("a 1", "a 2\n")
