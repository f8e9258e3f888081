"""CSV made safe for spreadsheets: where it was asked for, and where it is usual."""

from __future__ import annotations

import sys

from sdb.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator
    from contextlib import AbstractContextManager
    from typing import Any, BinaryIO

ASKED, USUAL = "asked", "usual"


def csv_safety(fmt: str, target: str, *, wanted: bool, refused: bool) -> str:
    """Return whether cells that a spreadsheet would execute are to be quoted.

    * ``target``: Where rows go; ``-`` is standard output.
    * ``wanted, refused``: Whether the command was called with the options.

    Returns: Nothing, `ASKED`, or `USUAL`: somebody at a terminal writes a file of CSV.
    Raises `UsageError` for both options together, or another format than CSV.
    """
    if wanted and refused:
        raise UsageError("--safe-csv and --no-safe-csv exclude each other")
    if wanted and fmt != "csv":
        raise UsageError(f"--safe-csv is for CSV, and this is {fmt}", hint="--fmt csv")
    if wanted:
        return ASKED
    is_usual = fmt == "csv" and target != "-" and not refused and sys.stdout.isatty()
    return USUAL if is_usual else ""


def made_safe(file: BinaryIO, safety: str) -> AbstractContextManager[BinaryIO]:
    """Return what to write rows to; see :func:`csv_safety`."""
    if safety:
        from contextlib import contextmanager  # files of JSON need none

        return contextmanager(_safe_cells)(file, is_told=safety == USUAL)
    from sdb.store.base import LeftOpen

    return LeftOpen(file)


def _safe_cells(file: BinaryIO, *, is_told: bool) -> Generator[Any]:
    """Yield a file that makes the CSV that is written to it safe for spreadsheets.

    * ``is_told``: Whether a line says how many cells were quoted.
    """
    from sdb.cli import output
    from sdb.query.result.safecells import SafeCells

    safe = SafeCells(file)
    yield safe
    safe.finish()
    if safe.count and is_told:
        cells = "1 cell begins" if safe.count == 1 else f"{safe.count:,} cells begin"
        text = f"{cells} with ', so that no spreadsheet executes them"
        output.say(f"sdb: {text} (--no-safe-csv writes them as they are)", to=sys.stderr)
