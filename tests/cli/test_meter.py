"""When the bar of progress is drawn."""

from __future__ import annotations

import os
import pty
import sys
from typing import TYPE_CHECKING

from sdb.cli.meter import Meter

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_no_bar_is_drawn_beside_a_pipe(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    control, terminal = pty.openpty()
    reading, writing = os.pipe()
    with (
        os.fdopen(control, "rb"),
        os.fdopen(terminal, "w") as screen,
        os.fdopen(reading, "rb"),
        os.fdopen(writing, "w") as pipe,
        (tmp_path / "out.txt").open("w") as file,
    ):
        monkeypatch.setattr(sys, "stderr", screen)
        monkeypatch.setattr(sys, "stdout", pipe)
        assert Meter("searching", "auto").is_off
        assert not Meter("searching", "on").is_off
        for output in (file, screen):
            monkeypatch.setattr(sys, "stdout", output)
            assert not Meter("searching", "auto").is_off
