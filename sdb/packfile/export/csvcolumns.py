"""Columns of CSV and TSV: rows have no schema, so their names are found before they are written."""

from __future__ import annotations

import io

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sdb.packfile.read.arrow import Meter, Selected

SEPARATORS = {"csv": ",", "tsv": "\t"}


def names(
    selected: Sequence[Selected],
    fields: Sequence[str] | None,
    limit: int | None,
    threads: int | None,
    meter: Meter,
) -> tuple[list[str], Callable[[int], None]]:
    """Find the columns of rows.

    Parameters
    ----------
    selected : sequence of (Packfile, Selection)
        Which blocks of which open files.
    fields : sequence of str, optional
        Names of the columns; without them all rows are gone over.
    limit, threads
        As of :func:`sdb.packfile.export.unpack.unpack`.
    meter : callable
        Called with numbers of bytes that are done.

    Returns
    -------
    list of str
        The names, in the order in which they first occur, or that of `fields`.
    callable
        What to call with the bytes of the blocks that are written then.
    """
    if fields is not None:
        return list(dict.fromkeys(fields)), meter
    from sdb.packfile.read.arrow import Scan

    found = Scan(selected, limit=limit, threads=threads, meter=meter).schema.names
    return list(found), lambda read_bytes: meter((read_bytes + 1) // 2)


def head(columns: Sequence[str], fmt: str) -> bytes:
    """Write the line of names."""
    import csv

    out = io.StringIO()
    csv.writer(out, delimiter=SEPARATORS[fmt], lineterminator="\n").writerow(columns or [""])
    return out.getvalue().encode()
