"""Reports of what is in the fields of packfiles: statistics, for JSON and for people."""

from __future__ import annotations

import os
from contextlib import ExitStack

from sdb import bounds, instants, ion
from sdb.packfile.inspect.describe import plain
from sdb.packfile.read.ahead import of_each
from sdb.packfile.read.fieldstats import scan
from sdb.packfile.read.resolve import PackfileReference, resolve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from sdb.packfile.read.fieldstats import FieldStatistics, SeenValue, Statistics
    from sdb.packfile.read.resolve import Located
    from sdb.progress import Progress


def field_stats(
    paths: Located | Iterable[Located],
    *,
    match: str | None = None,
    threads: int | None = None,
    root: str | None = None,
    progress: Progress | None = None,
) -> Statistics:
    """Summarise the values of the fields of packfiles.

    All rows are read once, in bounded memory.

    Parameters
    ----------
    paths : path or URL, or iterable of them
        The packfiles, which are taken together.
    match : str, optional
        Only fields whose names match this pattern, see :meth:`Inventory.matching`.
    threads : int, optional
        Number of threads that decode; one for each processor if not given.
    root : str, optional
        Folder that the paths are relative to.
    progress : Progress, optional
        Called with the compressed bytes that were read, and their total.

    Returns
    -------
    Statistics
        For each field its types, distinct and frequent values, minimum and maximum, and bytes.

    Raises
    ------
    NotFoundError, AccessError, UsageError
        A packfile cannot be opened.
    CorruptError
        One of them is no packfile, or is damaged.

    Examples
    --------
    >>> field = sdb.field_stats("events.zion", match="type").fields[0]
    >>> field.name, field.rows, field.distinct
    ('type', 1000, 13)
    """
    bounds.THREADS.check(threads)
    places = [paths] if isinstance(paths, str | os.PathLike | PackfileReference) else paths
    with ExitStack() as stack:
        ends = of_each(PackfileReference.open, resolve(places, root=root))
        opened = [stack.enter_context(pack) for pack in ends]
        report = scan(opened, threads=threads, progress=progress)
    return report if match is None else report.matching(match)


def as_facts(statistics: Statistics) -> dict[str, object]:
    """Return statistics as plain values with stable names, for JSON."""
    return {
        "rows": statistics.rows,
        "complete": statistics.complete,
        "compressed_bytes": statistics.compressed_bytes,
        "fields": [_field_facts(field) for field in statistics.fields],
    }


def _field_facts(field: FieldStatistics) -> dict[str, object]:
    return {
        "name": field.name,
        "path": list(field.path),
        "types": list(field.types),
        "rows": field.rows,
        "values": field.values,
        "nulls": field.nulls,
        "distinct": field.distinct,
        "distinct_exact": field.is_distinct_exact,
        "ranges": [
            {"type": low.type, "min": plain_value(low), "max": plain_value(high)}
            for low, high in field.ranges
        ],
        "frequent": [
            {"value": plain_value(value), "count": count} for value, count in field.frequent
        ],
        "uncounted": field.uncounted,
        "decompressed_bytes": field.decompressed_bytes,
        "compressed_bytes": field.compressed_bytes,
    }


def plain_value(value: SeenValue) -> object:
    """Return a value as JSON can write it; one that is cut ends in an ellipsis."""
    text = plain(value.value)
    return f"{text}…" if value.is_cut else text


def text_of(value: SeenValue) -> str:
    """Write a value for people: texts in quotation marks."""
    import json

    us = ion.instant_to_us(value.value)
    if us is not None:
        return instants.text(us)
    return json.dumps(plain_value(value), ensure_ascii=False)
