"""Blocks that a query reads, and why, for people and programs."""

from __future__ import annotations

from sdb import sizes
from sdb.packfile.prune.predicate import Anywhere

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sdb.packfile.prune.prune import Intervals, Reason
    from sdb.query.catalog.tablescan import PackfileScan, TableScan
    from sdb.query.result.result import Reading, Result


def facts(result: Result, root: str = "") -> dict[str, Any]:
    """Report which blocks a query reads.

    * ``result``: The result, of which no row needs to have been asked for.
    * ``root``: The root that its tables are below, for commands in notes.

    Returns: JSON values: for each table of the query its packfiles, for each of them the blocks to
    read, as half-open ranges, and what each comparison of the condition says. `order` tells how it
    is that not all of them will be; it is empty when they will. `dialect` is that of the
    query.
    """
    from sdb.query.result.advice import advice

    reading = result.reading
    return {
        "tables": [
            {
                "table": table.name,
                **_schema_facts(table),
                "index": [
                    {
                        "lists": step.lists,
                        "all_lists": step.all_lists,
                        "packfiles": step.packfiles,
                        "all_packfiles": step.all_packfiles,
                    }
                    for step in table.steps
                ],
                "files": [
                    _file(table, part, result.text)
                    for part in table.parts
                    # A table may have a million that the condition rules out.
                    if part.intervals or not table.steps
                ],
            }
            for table in result.tables
        ],
        "order": result.note,
        "dialect": result.dialect,
        "notes": [*result.readings, *result.notes, *advice(result.tables, root=root)],
        "files": reading.files,
        "all_files": reading.all_files,
        "blocks": reading.blocks,
        "all_blocks": reading.all_blocks,
        "stored_bytes": reading.stored_bytes,
        "all_stored_bytes": reading.all_stored_bytes,
        "scanned_bytes": reading.scanned_bytes,
        "all_scanned_bytes": reading.all_scanned_bytes,
    }


def _schema_facts(table: TableScan) -> dict[str, Any]:
    """Return which schema the rows of a table are read under; nothing where it has none."""
    if table.under is None:
        return {}
    schema = table.under.schema
    return {"schema": {"columns": len(schema.columns), "era": schema.era, "mode": schema.mode}}


def _file(table: TableScan, part: PackfileScan, text: str) -> dict[str, Any]:
    return {
        "path": part.pack.path,
        "blocks": [list(interval) for interval in part.intervals],
        "all_blocks": len(part.pack.blocks),
        "rows": part.rows,
        "stored_bytes": part.compressed_bytes,
        "scanned_bytes": part.decompressed_bytes,
        "reasons": [
            {
                "condition": condition(reason, text),
                "source": reason.source,
                "blocks": [list(interval) for interval in reason.intervals],
            }
            for reason in table.reasons(part)
        ],
    }


def condition(reason: Reason, text: str) -> str:
    """Show what a reason is about."""
    part = reason.condition
    if not isinstance(part, Anywhere):
        return str(part)
    start, stop = part.span or (0, 0)
    words = " ".join(text.encode()[start:stop].decode(errors="replace").split())
    return words or "the rest of the condition"


def ranges(intervals: Intervals) -> str:
    """Write numbers of blocks as `--blocks` of other commands takes them: ``0-3,7``."""
    shown = (str(a) if b == a + 1 else f"{a}-{b - 1}" for a, b in intervals)
    return ",".join(shown) or "none"


def summary(reading: Reading, seconds: float) -> str:
    """Say in a line what was read.

    Returns: As in ``1048576 bytes (1.000 MiB) scanned in 12 ms of ...``.
    """
    scanned, everything = reading.scanned_bytes, reading.all_scanned_bytes
    speed = sizes.human(round(scanned / max(seconds, 1e-6)))
    return (
        f"{scanned} bytes ({sizes.human(scanned)}) scanned in {_duration(seconds)} {speed}/s"
        f" of {everything} bytes ({sizes.human(everything)}):"
        f" {reading.blocks:,} of {reading.all_blocks:,} blocks,"
        f" {reading.files:,} of {reading.all_files:,} files"
    )


def _duration(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.2f} s"
