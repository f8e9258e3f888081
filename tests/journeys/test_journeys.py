"""Jobs of a first user: each step is typed on a terminal, see :mod:`tests.pages`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pages import fits, run_steps, steps_of

PAGES = sorted(Path(__file__).parent.glob("*.md"))
STEP_SECONDS = 30


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_each_step_shows_what_it_should(tmp_path: Path, page: Path, columns: int) -> None:
    steps = steps_of(page.read_text())
    assert steps
    done = run_steps(steps, tmp_path, columns=columns)
    assert len(done) == len(steps)
    for step, screen, code, seconds in done:
        assert code == 0, (step.typed, screen)
        assert "Traceback" not in screen
        assert fits(step.shown, screen), f"{step.typed}\n{screen}"
        assert seconds < STEP_SECONDS, step.typed
