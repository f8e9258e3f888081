"""Runs what documents show, as a user would."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SDB = f'sdb() {{ {sys.executable} -m sdb.cli.main "$@"; }}\n'
"""Makes `sdb` a command of a shell."""


def ran(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a program in a folder, with this package."""
    return subprocess.run(
        words,
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "XDG_CONFIG_HOME": str(folder / ".config"),  # settings and keys are not the user's
        },
        capture_output=True,
        text=True,
        check=False,
    )
