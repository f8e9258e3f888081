"""When the rows of a table are, from metadata alone: buckets with bounds of their rows."""

from __future__ import annotations

from sdb import instants
from sdb.errors import NotFoundError, UsageError
from sdb.records import record
from sdb.table.catalog.handle import time_path
from sdb.table.schema.names import stored_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    import pyarrow as pa

    from sdb.packfile.trailer.sparseindex import Path
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.format.descriptor import Descriptor

BUCKETS = 200


@record
class Timeline:
    """Rows of a table by time.

    Attributes
    ----------
    path : tuple of str
        Where the time of a row is.
    since_us, until_us : int
        Beginning of the first bucket, and end of the last.
    width_us : int
        Length of a bucket.
    least_rows, most_rows : list of int
        Rows that are certainly in each bucket, and rows that may be there at most.
    uncounted_blocks : int
        Blocks of which no packfile says how many rows they have.
    """

    path: Path
    since_us: int
    until_us: int
    width_us: int
    least_rows: list[int]
    most_rows: list[int]
    uncounted_blocks: int

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain values with stable names, for JSON."""
        return {
            "time": list(self.path),
            "since": instants.text(self.since_us),
            "until": instants.text(self.until_us),
            "width_us": self.width_us,
            "least_rows": self.least_rows,
            "most_rows": self.most_rows,
            "uncounted_blocks": self.uncounted_blocks,
        }

    def to_arrow(self) -> pa.Table:
        """Return a row for each bucket: `time`, where it begins, `least_rows` and `most_rows`."""
        import pyarrow as pa

        count = len(self.most_rows)
        begins = [self.since_us + number * self.width_us for number in range(count)]
        times = pa.array(begins, pa.timestamp("us", "UTC"))
        names = ["time", "least_rows", "most_rows"]
        return pa.table([times, pa.array(self.least_rows), pa.array(self.most_rows)], names=names)


def timeline(
    handle: TableHandle,
    since_us: int | None = None,
    until_us: int | None = None,
    *,
    time_field: str = "",
    buckets: int = BUCKETS,
) -> Timeline:
    """Report when the rows of a table are; no row is read.

    The rows of a block are somewhere between its bounds: a bucket has the rows of blocks that are
    wholly in it, and those of blocks that may have some there.
    Raises `UsageError` if the period ends before it begins, or no field is named and none is
    obvious; `NotFoundError` if no rows have times in the field that is named.
    """
    if since_us is not None and until_us is not None and until_us <= since_us:
        raise UsageError("until is not after since")
    path = path_of_time(handle, time_field)
    spans = [
        (*span, rows)
        for descriptor in handle.descriptors()
        for span, rows in _block_spans(descriptor, path)
        if not _outside(*span, since_us, until_us)
    ]
    first = since_us if since_us is not None else min((s for s, _, _ in spans), default=0)
    last = until_us if until_us is not None else max((e for _, e, _ in spans), default=0) + 1
    return _counted(path, spans, first, max(last, first + 1), buckets)


def path_of_time(handle: TableHandle, field: str) -> Path:
    """Return where the time of a row is.

    Raises `UsageError` if no field is named, and none is obvious; `NotFoundError` if no rows have
    times in the field that is named.
    """
    path = named_path(handle, field)
    if path is None:
        raise UsageError(f"{handle.name} has no obvious time", hint="time_field=NAME names one")
    return path


def named_path(handle: TableHandle, field: str) -> Path | None:
    """Return where the time of a row is: the field that is named, or the obvious one.

    Raises `NotFoundError` if no rows have times in the field that is named.
    """
    if not field:
        return time_path(handle)
    path = tuple(field.split("."))
    if handle.schema is not None:
        path = stored_path(handle.schema, path)
    known = set(handle.index.indirect.indices)
    for descriptor in handle.index.inline:
        known.update(descriptor.trailer.sparse.indices)
    if path not in known:
        listed = ", ".join(sorted(".".join(each) for each in known))
        raise NotFoundError(
            f"{handle.name} has no times in {field[:200]}", hint=f"there are {listed or 'none'}"
        )
    return path


def _outside(first: int, last: int, since: int | None, until: int | None) -> bool:
    """Return whether nothing of a span is in a period."""
    return (until is not None and first >= until) or (since is not None and last < since)


def _block_spans(
    descriptor: Descriptor, path: Path
) -> Iterable[tuple[tuple[int, int], int | None]]:
    """Iterate over the bounds of the times of blocks, with their rows where they were counted."""
    index = descriptor.trailer.sparse.indices.get(path)
    if index is None or index.is_empty:
        return
    summary = descriptor.trailer.sparse.summary
    rows = None if summary is None else summary.rows
    for number in range(len(descriptor.trailer.blocks)):
        known = index.known_range(number)
        if known is not None:
            yield (known[0], known[1]), None if rows is None else sum(rows[number : number + 1])


def _counted(
    path: Path, spans: list[tuple[int, int, int | None]], first: int, last: int, count: int
) -> Timeline:
    """Count rows by bucket: those that are certainly there, and the most that may be."""
    width = max(1, -(-(last - first) // count))
    count = -(-(last - first) // width)
    least, most = [0] * count, [0] * count
    uncounted = 0
    for start, stop, rows in spans:
        if rows is None:
            uncounted += 1
            continue
        low = min(max((start - first) // width, 0), count - 1)
        high = min(max((stop - first) // width, 0), count - 1)
        is_inside = low == high and start >= first and stop < last
        if is_inside:
            least[low] += rows
        for at in range(low, high + 1):
            most[at] += rows
    return Timeline(path, first, last, width, least, most, uncounted)
