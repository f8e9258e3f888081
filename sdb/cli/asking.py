"""Questions on a terminal, before something is done that is hard to take back."""

from __future__ import annotations

import sys

from sdb.cli import output
from sdb.cli.parameters import Option
from sdb.typed import Annotated

Yes = Annotated[bool, Option("--yes", "-y", help="Do not ask on a terminal; go on.")]


def can_ask() -> bool:
    """Return whether somebody sits at a terminal who can answer."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def agreed(question: str) -> bool:
    """Ask a question on the terminal; anything but a yes is a no."""
    sys.stderr.write(output.plain(f"{question} [y/N] "))
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}
