"""Rows of packfiles in which a text matches."""

from __future__ import annotations

from itertools import groupby, islice

from sdb import formats, notes
from sdb import progress as progress_
from sdb.packfile.export.unpack import RowWriter
from sdb.packfile.prune.unknownfields import warn_unknown_fields
from sdb.packfile.read.ahead import of_each
from sdb.packfile.read.resolve import PackfileReference, resolve
from sdb.packfile.read.search import search

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any, BinaryIO, Unpack

    from sdb.packfile.prune.selection import Selection
    from sdb.packfile.read.choices import SearchChoice
    from sdb.packfile.read.reader import Packfile
    from sdb.packfile.read.resolve import Located
    from sdb.packfile.read.search import Search
    from sdb.progress import Progress


def grep(
    patterns: str | Iterable[str],
    paths: Located | Iterable[Located],
    **choice: Unpack[SearchChoice],
) -> Iterator[dict[str, Any]]:
    r"""Iterate over the rows in which a text matches.

    Only the texts of values are searched, at any depth: neither names of fields nor numbers and
    times.

    Parameters
    ----------
    patterns : str or iterable of str
        Regular expressions of RE2, as in queries. A row matches if any of them does.
    paths : path or str, or iterable of these
        The packfiles.
    fields : sequence of str, optional
        Names of the top-level fields to search; rows are returned whole.
    fixed : bool
        Whether the patterns are literal texts.
    ignore_case : bool
        Whether upper and lower case are the same.
    invert : bool
        Whether to return the rows without a match.
    since, until : str or datetime, optional
        Only rows with a time from `since` on and before `until`; blocks that the time index
        rules out are not read.
    time_field : str or sequence of str, optional
        Path of that time; without it the obvious one of each file.
    limit : int, optional
        Maximum number of rows.
    strict : bool
        Whether a field that no row has is an error, as far as packfiles prove it; else a warning.

    Yields
    ------
    dict
        A row.

    Raises
    ------
    UsageError
        An invalid regular expression, or no pattern.
    CorruptError, NotFoundError, AccessError
        A packfile cannot be read.

    Examples
    --------
    >>> for row in sdb.grep(r"fix\w* (typo|bug)", "events.zion", ignore_case=True, limit=1):
    ...     print(row["type"], row["repo"]["name"])
    PushEvent dpastoor/PKPDmisc
    """
    wanted = search(patterns, **choice)
    references = resolve(paths)
    _check_fields(wanted, references)
    opened = _opened(wanted, references)
    rows = (row for _, pack, selection in opened for row in pack.selected_rows(selection))
    return islice(rows, wanted.limit)


def write(
    search: Search,
    files: Sequence[PackfileReference],
    output: BinaryIO,
    *,
    fmt: str = "json",
    indent: bool = False,
    with_names: bool = False,
    progress: Progress | None = None,
) -> int:
    """Write the rows that match, in order.

    * ``fmt``: The format; see :func:`sdb.packfile.export.unpack.unpack`.
    * ``indent``: Whether each member has a separate line in ``ion-text``.
    * ``with_names``: Whether each row has the name of its file in front, and a colon.
    * ``progress``: Called with the compressed bytes that were read, and their total.

    Returns: Zero when no row matches; else their number, or less when they are very long.
    """
    formats.check("grep", fmt)
    rows, left = 0, search.limit
    meter = _Meter(files, progress)
    _check_fields(search, files)
    for file, pack, selection in _opened(search, files):
        target: Any = _Named(output, file.name) if with_names else output
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
    files: Sequence[PackfileReference],
    *,
    most: int | None = None,
    progress: Progress | None = None,
) -> Iterator[tuple[str, int]]:
    """Count the rows that match, of each file, or of each table if the files are those of tables.

    * ``most``: How many rows of one are enough.
    * ``progress``: Called with the compressed bytes that were read, and their total.

    Yields: Number of its rows that match. When the limit is reached, no more files come.
    """
    left = search.limit
    meter = _Meter(files, progress)
    _check_fields(search, files)
    for name, group in groupby(files, key=lambda file: file.name):
        rows = 0
        for _, pack, selection in _opened(search, list(group)):
            limits = (left, None if most is None else most - rows)
            wanted = min((few for few in limits if few is not None), default=None)
            writer = RowWriter(None, "count", None, wanted, search.threads or 0, meter.add)
            writer.write([(pack, selection)])
            rows += writer.rows
            left = None if left is None else left - writer.rows
            if left == 0 or rows == most:
                break
        yield name, rows
        if left == 0:
            break


def _check_fields(search: Search, references: Sequence[PackfileReference]) -> None:
    """Warn of fields that no row has."""
    if search.fields is not None or search.time_field is not None:
        trailers = of_each(PackfileReference.trailer, references)
        names = [reference.name for reference in references]
        files = list(zip(names, trailers, strict=True))
        warn_unknown_fields(files, search.fields, search.time_field, strict=search.strict)


def _opened(
    search: Search, references: Sequence[PackfileReference]
) -> Iterator[tuple[PackfileReference, Packfile, Selection]]:
    """Open one packfile after the other; of thousands on a disk one at a time is open."""
    for reference, opened in zip(
        references, of_each(PackfileReference.open, references), strict=True
    ):
        with opened as pack:
            selection = search.selection(pack)
            read, blocks = len(selection.blocks), len(pack.blocks)
            name = pack.path if reference.is_of_table else reference.name
            notes.tell(f"{name}: {read:,} of {blocks:,} blocks may have a match")
            yield reference, pack, selection


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
    """Report how many bytes of all files were read."""

    def __init__(self, files: Sequence[PackfileReference], progress: Progress | None) -> None:
        self._progress = progress or progress_.silent
        self._done = 0
        sizes = [file.size_bytes for file in files]
        known_sizes = [size for size in sizes if size is not None]
        self._total = sum(known_sizes) if len(known_sizes) == len(sizes) else None

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
