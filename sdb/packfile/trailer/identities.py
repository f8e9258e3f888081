"""Identities of rows: the packfile that each came in with, its number there, and its last change.

A packfile that is made of others says for runs of its rows which rows of which packfiles they were.
So rows are known again after others were deleted, after they were changed, and after a compaction.
It is a member of the extension of the trailer, read only by who asks for it. See the section on
the extension in docs/format.md.
"""

from __future__ import annotations

from hashlib import blake2b

from sdb import ion
from sdb.errors import CorruptError
from sdb.packfile.trailer.timeindex import malformed
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

NAME_BYTES = 10
MAX_RUNS = 1 << 18
MAX_SOURCES = 1 << 13
_UNCHANGED = bytes(NAME_BYTES)
_COLUMNS = 3
_COLUMN_TYPE = "<i8"
_MAX_CONTENT_BYTES = 16 << 20


@record
class RowIdentities:
    """Identities of the rows of a packfile, in their order, as runs."""

    # Packfiles that rows came in with, and the changes that rows got last, as digests of their
    # names; that of the change is empty for rows that are as they came.
    sources: tuple[tuple[bytes, bytes], ...]
    # For each run the number of its source, the number of its first row in that packfile, and how
    # many rows follow each other there.
    source: Numbers
    first: Numbers
    count: Numbers

    @classmethod
    def whole(cls, name: str, rows: int) -> Self:
        """Return the identities of rows that came in with a packfile.

        Returns: One run.
        """
        import numpy as np

        source, first, count = (np.array([value], np.int64) for value in (0, 0, rows))
        return cls(((digest_of(name), b""),), source, first, count)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.count.sum())

    @property
    def ends(self) -> Numbers:
        """The number in this packfile of the row after each run."""
        return self.count.cumsum()

    @property
    def starts(self) -> Numbers:
        """The number in this packfile of the first row of each run."""
        return self.ends - self.count

    @property
    def fits(self) -> bool:
        """True if there is room for it in a trailer."""
        return len(self.source) <= MAX_RUNS and len(self.sources) <= MAX_SOURCES

    def edited(self, dropped: Numbers, changed: Numbers, change: str) -> RowIdentities:
        """Return the identities after rows were dropped, and others were changed.

        * ``dropped, changed``: Numbers of rows in this packfile, ascending.
        * ``change``: The name of the change, which no other one has.

        Returns: Those of the rows that are left.
        """
        import numpy as np

        starts, rows = self.starts, self.rows
        gone, new = ranges_of(dropped), ranges_of(changed)
        cuts = np.unique(np.concatenate([starts, *gone, *new, [rows]]))
        begin, stop = cuts[:-1], cuts[1:]
        is_left = ~_within(begin, *gone)
        begin, stop = begin[is_left], stop[is_left]
        run = starts.searchsorted(begin, "right") - 1
        source, sources = self.source[run], self.sources
        if len(changed):
            digest = digest_of(change)
            source = np.where(_within(begin, *new), source + len(sources), source)
            sources = (*sources, *[(packfile, digest) for packfile, _ in sources])
        first = self.first[run] + begin - starts[run]
        return _compacted(sources, source, first, stop - begin)

    def encode(self) -> bytes:
        """Return the bytes that are stored; none when there is no room for them."""
        import numpy as np

        from sdb import _core

        if not self.fits:
            return b""
        sources = b"".join(packfile + (change or _UNCHANGED) for packfile, change in self.sources)
        columns = np.stack([self.source, self.first, self.count])
        runs = np.diff(columns, axis=1, prepend=0).astype(_COLUMN_TYPE).tobytes()
        return _core.zstd_compress(ion.dumps([sources, runs]))

    @classmethod
    def decode(cls, data: bytes, total: int) -> Self:
        """Read the bytes that are stored.

        * ``total``: Number of rows of the packfile.

        Returns: What they say.
        Raises `CorruptError` if they are malformed.
        """
        import numpy as np

        from sdb import _core

        value = ion.loads(_core.zstd_decompress(data, _MAX_CONTENT_BYTES))
        if not isinstance(value, list) or [*map(type, value)] != [bytes, bytes]:
            raise malformed("identities of rows", "2 blobs", value)
        stored, runs = value
        if len(stored) % (2 * NAME_BYTES) or len(runs) % (8 * _COLUMNS):
            raise CorruptError("invalid identities of rows: a blob ends inside a member")
        names = [stored[at : at + NAME_BYTES] for at in range(0, len(stored), NAME_BYTES)]
        pairs = zip(names[::2], names[1::2], strict=True)
        sources = [
            (packfile, b"" if change == _UNCHANGED else change) for packfile, change in pairs
        ]
        if max(len(sources), len(runs) // (8 * _COLUMNS)) > MAX_RUNS:
            raise CorruptError(f"too many identities of rows: the limit is {MAX_RUNS:,}")
        columns = np.frombuffer(runs, _COLUMN_TYPE).reshape(_COLUMNS, -1).astype(np.int64)
        source, first, count = columns.cumsum(axis=1)
        is_sound = (
            (source >= 0) & (source < len(sources)) & (first >= 0) & (count > 0) & (count <= total)
        )
        if not is_sound.all() or int(count.sum()) != total:
            raise CorruptError("invalid identities of rows: they are not those of its rows")
        return cls(tuple(sources), source, first, count)


def joined(parts: Sequence[RowIdentities]) -> RowIdentities:
    """Return the identities of the rows of packfiles that follow each other."""
    import numpy as np

    sources: list[tuple[bytes, bytes]] = []
    shifted = []
    for part in parts:
        shifted.append(part.source + len(sources))
        sources += part.sources
    columns = [shifted, [part.first for part in parts], [part.count for part in parts]]
    source, first, count = map(np.concatenate, columns)
    return _compacted(tuple(sources), source, first, count)


def digest_of(name: str) -> bytes:
    """Return what stands for the name of a packfile or of a change."""
    return blake2b(name.encode(), digest_size=NAME_BYTES).digest()


def ranges_of(rows: Numbers) -> tuple[Numbers, Numbers]:
    """Return where runs of numbers that follow each other begin, and where they stop.

    >>> import numpy as np
    >>> [part.tolist() for part in ranges_of(np.array([2, 3, 4, 9]))]
    [[2, 9], [5, 10]]
    """
    import numpy as np

    ends = np.flatnonzero(np.diff(rows, append=-1) != 1)
    begins = np.concatenate([ends[:0], [0], ends[:-1] + 1])[: len(ends)]
    return rows[begins], rows[ends] + 1


def _within(rows: Numbers, starts: Numbers, stops: Numbers) -> NDArray[np.bool_]:
    """Return which rows are in one of some ranges, which are ascending."""
    import numpy as np

    if not len(starts):
        return np.zeros(len(rows), np.bool_)
    at = starts.searchsorted(rows, "right") - 1
    is_inside: NDArray[np.bool_] = (at >= 0) & (rows < stops[at])
    return is_inside


def _compacted(
    sources: tuple[tuple[bytes, bytes], ...], source: Numbers, first: Numbers, count: Numbers
) -> RowIdentities:
    """Join runs that follow each other, and leave out sources that no run has."""
    import numpy as np

    if not len(source):
        return RowIdentities((), source, first, count)
    numbers: dict[tuple[bytes, bytes], int] = {}
    renumbered = np.zeros(len(sources), np.int64)
    for number in np.unique(source).tolist():
        renumbered[number] = numbers.setdefault(sources[number], len(numbers))
    source = renumbered[source]
    is_next = (source[1:] == source[:-1]) & (first[1:] == first[:-1] + count[:-1])
    begins = np.flatnonzero(np.concatenate([[True], ~is_next]))
    return RowIdentities(
        tuple(numbers), source[begins], first[begins], np.add.reduceat(count, begins)
    )
