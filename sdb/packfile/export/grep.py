"""Rows of packfiles in which a text matches."""

from __future__ import annotations

from itertools import islice

from sdb import notes
from sdb import progress as progress_
from sdb.errors import UsageError
from sdb.packfile.export.unpack import RowWriter
from sdb.packfile.prune.unknownfields import tell_of
from sdb.packfile.read.reader import open_packfile
from sdb.packfile.read.resolve import resolve
from sdb.packfile.read.search import search

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime
    from typing import Any, BinaryIO

    from sdb.packfile.prune.selection import Selection
    from sdb.packfile.read.reader import Packfile
    from sdb.packfile.read.resolve import PackfileReference
    from sdb.packfile.read.search import Search
    from sdb.packfile.trailer.trailer import Trailer
    from sdb.progress import Progress
    from sdb.store.base import Location

FORMATS = ("json", "ion-text")


def grep(  # noqa: PLR0913 - the command's options, by name
    patterns: str | Iterable[str],
    paths: Location | Iterable[Location],
    *,
    fields: Sequence[str] | None = None,
    fixed: bool = False,
    ignore_case: bool = False,
    invert: bool = False,
    since: str | datetime | None = None,
    until: str | datetime | None = None,
    time_field: str | Sequence[str] | None = None,
    limit: int | None = None,
    strict: bool = False,
) -> Iterator[dict[str, Any]]:
    r"""Go over the rows in which a text matches.

    Only the texts of values are searched, at any depth: neither names of fields nor numbers and
    times.

    Parameters
    ----------
    patterns : str or iterable of str
        Regular expressions of RE2, as queries have them. Any of them has to match.
    paths : path or str, or iterable of these
        The packfiles.
    fields : sequence of str, optional
        Names of the top-level fields to search; rows come out whole.
    fixed : bool
        Whether the patterns are texts to be found as they are.
    ignore_case : bool
        Whether upper and lower case are the same.
    invert : bool
        Whether the other rows are wanted: those without a match.
    since, until : str or datetime, optional
        Only rows with a time from `since` on and before `until`; blocks that the time index
        rules out are not read.
    time_field : str or sequence of str, optional
        Path of that time; without it the obvious one of each file.
    limit : int, optional
        At most so many rows.
    strict : bool
        Whether a field that no row has is an error, as far as packfiles prove it; else a warning.

    Yields
    ------
    dict
        A row.

    Raises
    ------
    UsageError
        A pattern that is no regular expression, or no pattern.
    CorruptError, NotFoundError, AccessError
        A packfile cannot be read.

    Examples
    --------
    >>> for row in sdb.grep(r"time\s?out", "logs/*.zion", since="2021-01-02"):  # doctest: +SKIP
    ...     print(row)
    """
    wanted = search(
        patterns,
        fields=fields,
        fixed=fixed,
        ignore_case=ignore_case,
        invert=invert,
        since=since,
        until=until,
        time_field=time_field,
        limit=limit,
        strict=strict,
    )
    opened = _opened(wanted, resolve(paths))
    rows = (row for _, pack, selection in opened for row in pack.selected_rows(selection))
    return islice(rows, wanted.limit)


def write(
    search: Search,
    found: Sequence[PackfileReference],
    output: BinaryIO,
    *,
    fmt: str = "json",
    indent: bool = False,
    with_names: bool = False,
    progress: Progress | None = None,
) -> int:
    """Write the rows that match, in order.

    Parameters
    ----------
    search : Search
        What to look for.
    found : sequence of PackfileReference
        The packfiles.
    output : binary file
        Where the rows go.
    fmt : {"json", "ion-text"}
        The format; see :func:`sdb.packfile.export.unpack.unpack`.
    indent : bool
        Whether each member has a line of its own in ``ion-text``.
    with_names : bool
        Whether each row has the name of its file in front, and a colon.
    progress : Progress, optional
        Called with the compressed bytes that were read, and their total.

    Returns
    -------
    int
        Zero when no row matches; else their number, or less when they are very long.
    """
    if fmt not in FORMATS:
        raise UsageError(f"unknown format {fmt!r}", expected=", ".join(FORMATS))
    rows, left = 0, search.limit
    meter = _Meter(found, progress)
    for one, pack, selection in _opened(search, found):
        target: Any = _Named(output, one.name) if with_names else output
        if fmt == "ion-text":
            written = _write_text(pack, selection, target, left, indent=indent)
            left = None if left is None else left - written
        else:
            writer = RowWriter(target, fmt, None, left, search.threads or 0, meter.add)
            writer.write([(pack, selection)])
            written, left = writer.rows, writer.left
        rows += written
        if left == 0:
            break
    return rows


def counts(
    search: Search,
    found: Sequence[PackfileReference],
    *,
    most: int | None = None,
    progress: Progress | None = None,
) -> Iterator[tuple[str, int]]:
    """Count the rows that match.

    Parameters
    ----------
    search : Search
        What to look for.
    found : sequence of PackfileReference
        The packfiles.
    most : int, optional
        How many rows of each file are enough.
    progress : Progress, optional
        Called with the compressed bytes that were read, and their total.

    Yields
    ------
    str
        Name of a packfile.
    int
        Number of its rows that match. When the limit is reached, no more files come.
    """
    left = search.limit
    meter = _Meter(found, progress)
    for one, pack, selection in _opened(search, found):
        wanted = min((few for few in (left, most) if few is not None), default=None)
        writer = RowWriter(None, "count", None, wanted, search.threads or 0, meter.add)
        writer.write([(pack, selection)])
        yield one.name, writer.rows
        if left is not None:
            left -= writer.rows
            if left == 0:
                break


def _opened(
    search: Search, found: Sequence[PackfileReference]
) -> Iterator[tuple[PackfileReference, Packfile, Selection]]:
    """Open one packfile after the other; of thousands one at a time is open."""
    if search.fields is not None or search.time_field is not None:
        files = [(one.name, _trailer(one)) for one in found]
        tell_of(files, search.fields, search.time_field, strict=search.strict)
    for one in found:
        with open_packfile(one.location) as pack:
            selection = search.selection(pack)
            read, known = len(selection.blocks), len(pack.blocks)
            notes.tell(f"{one.name}: {read:,} of {known:,} blocks may have a match")
            yield one, pack, selection


def _trailer(one: PackfileReference) -> Trailer:
    with open_packfile(one.location) as pack:
        return pack.trailer


def _write_text(
    pack: Packfile,
    selection: Selection,
    output: BinaryIO,
    limit: int | None,
    *,
    indent: bool,
) -> int:
    from sdb.packfile.export import iontext

    rows = 0

    def counted() -> Iterator[dict[str, Any]]:
        nonlocal rows
        for row in islice(pack.selected_rows(selection), limit):
            rows += 1
            yield row

    iontext.write(counted(), output, indent=indent)
    return rows


class _Meter:
    """Tells how many bytes were read of those that all files have."""

    def __init__(self, found: Sequence[PackfileReference], progress: Progress | None) -> None:
        self._progress = progress or progress_.silent
        self._done = 0
        sizes = [one.size_bytes for one in found]
        known = [size for size in sizes if size is not None]
        self._total = sum(known) if len(known) == len(sizes) else None

    def add(self, read_bytes: int) -> None:
        self._done += read_bytes
        self._progress(self._done, self._total)


class _Named:
    """A file in which each line has a name in front."""

    def __init__(self, output: BinaryIO, name: str) -> None:
        self._output = output
        self._prefix = name.encode(errors="surrogateescape") + b":"

    def write(self, lines: bytes) -> int:
        prefix = self._prefix
        text = prefix + lines[:-1].replace(b"\n", b"\n" + prefix) + lines[-1:]
        return self._output.write(text)

    def writelines(self, lines: Iterable[bytes]) -> None:
        for line in lines:
            self.write(line)
