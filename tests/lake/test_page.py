"""What `docs/inputs.md` shows of Delta tables happens as it stands."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.examples import ROOT
from tests.pages import fits, run_steps, steps_of

if TYPE_CHECKING:
    import pytest

PAGE = (ROOT / "docs/inputs.md").read_text()


def test_examples_show_what_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    steps = steps_of(PAGE[PAGE.index("## Delta tables") : PAGE.index("## Packfiles")])
    assert len(steps) >= 9
    done = run_steps(steps, tmp_path)
    assert len(done) == len(steps)
    for step, screen, code, _ in done:
        assert code == 0, (step.typed, screen)
        assert fits(step.shown, screen), f"{step.typed}\n{screen}"
