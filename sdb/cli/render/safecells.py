"""CSV for spreadsheets on the command line: says how many cells were quoted."""

from __future__ import annotations

import sys
from contextlib import contextmanager

from sdb.cli import output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Any, BinaryIO


@contextmanager
def safe_cells(file: BinaryIO, *, is_told: bool) -> Generator[Any]:
    """Yield a file that makes the CSV that is written to it safe for spreadsheets.

    * ``is_told``: Whether a line says how many cells were quoted.
    """
    from sdb.query.result.safecells import SafeCells

    safe = SafeCells(file)
    yield safe
    safe.finish()
    if safe.count and is_told:
        cells = "1 cell begins" if safe.count == 1 else f"{safe.count:,} cells begin"
        text = f"{cells} with ', so that no spreadsheet executes them"
        output.say(f"sdb: {text} (--no-safe-csv writes them as they are)", to=sys.stderr)
