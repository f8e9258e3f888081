"""Reports of what is in the fields of packfiles: statistics, for JSON and for people."""

from __future__ import annotations

import os
from contextlib import ExitStack

from sdb import bounds, instants, ion
from sdb.packfile.inspect.describe import plain
from sdb.packfile.read.fieldstats import scan
from sdb.packfile.read.reader import open_packfile
from sdb.packfile.read.resolve import resolve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from sdb.packfile.read.fieldstats import FieldStatistics, SeenValue, Statistics
    from sdb.progress import Progress
    from sdb.store.base import Location


def field_stats(
    paths: Location | Iterable[Location],
    *,
    match: str | None = None,
    threads: int | None = None,
    root: str | None = None,
    progress: Progress | None = None,
) -> Statistics:
    """Find out what is in the fields of packfiles.

    All rows are read once, in memory that has a bound.

    Parameters
    ----------
    paths : path or URL, or iterable of them
        The packfiles, which are taken together.
    match : str, optional
        Only fields whose names match this pattern, see :meth:`Inventory.matching`.
    threads : int, optional
        How many threads decode; without it one for each processor.
    root : str, optional
        Folder that the paths are relative to.
    progress : Progress, optional
        Called with the compressed bytes that were read, and their total.

    Returns
    -------
    Statistics
        Of each field types, distinct and frequent values, least and greatest, and bytes.

    Raises
    ------
    NotFoundError, AccessError, UsageError
        A packfile cannot be opened.
    CorruptError
        One is no packfile, or a damaged one.

    Examples
    --------
    >>> for field in sdb.field_stats("events.zion").largest(3):         # doctest: +SKIP
    ...     print(field.name, field.compressed_bytes)
    """
    bounds.THREADS.check(threads)
    places = [paths] if isinstance(paths, str | os.PathLike) else paths
    with ExitStack() as stack:
        opened = [open_packfile(one.location) for one in resolve(places, root=root)]
        for pack in opened:
            stack.enter_context(pack)
        found = scan(opened, threads=threads, progress=progress)
    return found if match is None else found.matching(match)


def as_facts(statistics: Statistics) -> dict[str, object]:
    """Give statistics as plain values with stable names, for JSON."""
    return {
        "rows": statistics.rows,
        "complete": statistics.complete,
        "compressed_bytes": statistics.compressed_bytes,
        "fields": [_field_facts(one) for one in statistics.fields],
    }


def _field_facts(one: FieldStatistics) -> dict[str, object]:
    return {
        "name": one.name,
        "path": list(one.path),
        "types": list(one.types),
        "rows": one.rows,
        "values": one.values,
        "nulls": one.nulls,
        "distinct": one.distinct,
        "distinct_exact": one.is_distinct_exact,
        "ranges": [
            {"type": low.type, "min": plain_value(low), "max": plain_value(high)}
            for low, high in one.ranges
        ],
        "frequent": [
            {"value": plain_value(value), "count": count} for value, count in one.frequent
        ],
        "uncounted": one.uncounted,
        "decompressed_bytes": one.decompressed_bytes,
        "compressed_bytes": one.compressed_bytes,
    }


def plain_value(value: SeenValue) -> object:
    """Give a value as JSON can write it; one that is cut ends in an ellipsis."""
    found = plain(value.value)
    return f"{found}…" if value.is_cut else found


def text_of(value: SeenValue) -> str:
    """Write a value for people: texts in quotation marks."""
    import json

    us = ion.instant_to_us(value.value)
    if us is not None:
        return instants.text(us)
    return json.dumps(plain_value(value), ensure_ascii=False)
