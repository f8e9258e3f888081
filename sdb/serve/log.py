"""Lines of the server's log, on standard error."""

from __future__ import annotations

import sys
from contextlib import suppress


def write_line(text: str) -> None:
    """Write a line; where the disk of the log is full, or nobody reads it, requests go on."""
    with suppress(OSError):
        print(text, file=sys.stderr, flush=True)  # noqa: T201
