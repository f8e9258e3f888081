"""Joins packfiles without compressing anything again."""

from __future__ import annotations

import time
from collections import deque
from contextlib import ExitStack, closing

from sdb import formats, notes, sizes
from sdb.errors import CorruptError, UsageError, text_of
from sdb.packfile.build.choose import choose_statistics
from sdb.packfile.build.indexbuilder import typed
from sdb.packfile.read.ahead import of_each
from sdb.packfile.read.blocks import checked
from sdb.packfile.read.reader import Packfile, open_packfile
from sdb.packfile.read.resolve import resolve
from sdb.packfile.trailer import declared, fieldcounts, provenance
from sdb.packfile.trailer.sparseindex import SparseIndex, Summary, join_types
from sdb.packfile.trailer.timeindex import TimeIndex
from sdb.packfile.trailer.trailer import Block, Trailer
from sdb.packfile.write.countstats import all_facts
from sdb.packfile.write.resume import VERSION, check_version
from sdb.progress import silent
from sdb.records import record, replace
from sdb.store.aliasing import warn_repeated
from sdb.store.url import create_from_prefix

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sdb.packfile.trailer.sparseindex import Path
    from sdb.packfile.trailer.statsection import StoredStatistics
    from sdb.progress import Progress
    from sdb.store.base import Location


@record
class ConcatResult:
    """The result of joining packfiles.

    Attributes
    ----------
    path : str
        The packfile that was written.
    inputs : int
        Number of packfiles that were joined.
    rows_total : int or None
        Number of rows; None when one of the packfiles has no row counts.
    output_bytes : int
        Size of the new packfile.
    copied_bytes : int
        How many bytes the store took over by itself.
    copied_by : str
        How: ``reflink``, ``copy``, ``server`` or ``upload``.
    written_bytes : int
        How many bytes were read and written.
    trailer : Trailer
        The trailer of the new packfile.
    seconds : float
        How long it took.
    """

    path: str
    inputs: int
    rows_total: int | None
    output_bytes: int
    copied_bytes: int
    copied_by: str
    written_bytes: int
    trailer: Trailer
    seconds: float

    def __repr__(self) -> str:
        """Show what it came to."""
        rows = "rows not counted" if self.rows_total is None else f"{self.rows_total:,} rows"
        return (
            f"<ConcatResult {self.path}: {self.inputs:,} packfiles, {rows}, "
            f"{sizes.human(self.output_bytes)}, {self.seconds:.2f} s>"
        )


def concat(
    inputs: Location | Iterable[Location],
    output: Location,
    *,
    overwrite: bool = False,
    verify: bool = True,
    progress: Progress = silent,
) -> ConcatResult:
    """Join packfiles to one, in their order; their blocks are copied as they are.

    The time index of the result covers all of them: a path at which one of them may hold times
    without an index has none in the new packfile.

    Parameters
    ----------
    inputs : path or URL, or iterable of these
        The packfiles. All must have the same compression, chunk size and constants; those without
        rows may have any.
    output : path or URL
        The new packfile.
    overwrite : bool
        Whether an existing `output` may be replaced.
    verify : bool
        Whether a block that does not fit its digest is an error.
        What the store copies by itself is not read, and keeps its digests.
    progress : Progress, optional
        Called with the number of bytes of the inputs that were copied.

    Returns
    -------
    ConcatResult
        Rows and sizes.

    Raises
    ------
    UsageError
        No packfiles, or packfiles with different compression, chunk size or constants.
    CorruptError
        One of them is no packfile, or is damaged.
    NotFoundError, AccessError, ExistsError
        A packfile does not exist or may not be read, or `output` exists.

    Examples
    --------
    >>> sdb.concat(["events.zion", "rows.zion"], "both.zion", overwrite=True).rows_total
    1001
    """
    start = time.monotonic()
    with ExitStack() as stack:
        references = resolve(inputs)
        places = [reference.location for reference in references]
        if output not in places:
            formats.check_packfile(output)
        warn_repeated(places)
        opened = of_each(
            lambda reference: open_packfile(reference.location, verify=verify), references
        )
        files = [stack.enter_context(closing(file)) for file in opened]
        if not files:
            raise UsageError("no packfiles", hint="sdb concat -o OUTPUT PACKFILE...")
        filled = [file for file in files if file.blocks] or files[:1]
        for file in filled:
            check_version(file.trailer, file.path)
            _check_fit(filled[0], file)
        trailers = [file.trailer for file in filled]
        trailer = join(trailers)
        sparse = replace(trailer.sparse, stored_statistics=_statistics(filled, trailer))
        trailer = replace(trailer, sparse=sparse)
        first = filled[0].trailer.offset
        if filled[0].reader.descriptor is not None:
            # To read a local file costs next to nothing, and its damage shall not spread.
            deque(checked(filled[0]), maxlen=0)
        with create_from_prefix(filled[0].reader, first, output, overwrite=overwrite) as draft:
            progress(first, trailer.offset)
            done = first
            for file in filled[1:]:
                for piece in checked(file):
                    draft.write(piece)
                    done += len(piece)
                    progress(done, trailer.offset)
            draft.write(trailer.encode())
    return ConcatResult(
        path=text_of(output),
        inputs=len(files),
        rows_total=trailer.rows,
        output_bytes=draft.copied_bytes + draft.written_bytes,
        copied_bytes=draft.copied_bytes,
        copied_by=draft.kept_by,
        written_bytes=draft.written_bytes,
        trailer=trailer,
        seconds=time.monotonic() - start,
    )


def _check_fit(first: Packfile, other: Packfile) -> None:
    """Require what all rows of one file have in common."""
    for what, ours, theirs in _differences(first.trailer, other.trailer):
        raise UsageError(
            f"{other.path} does not fit {first.path}: {what} {theirs}, not {ours}",
            path=other.path,
            hint="sdb pack joins what differs, and compresses all of it again",
        )


def _differences(first: Trailer, other: Trailer) -> Iterator[tuple[str, object, object]]:
    if first.algorithm != other.algorithm:
        yield "compression", first.algorithm, other.algorithm
    if first.algorithm == "zstd" and first.align_bytes != other.align_bytes:
        yield "chunk size", first.align_bytes, other.align_bytes
    ours, theirs = first.sparse.constants, other.sparse.constants
    if typed(ours) != typed(theirs):
        yield "constants", ours or "none", theirs or "none"


def join(trailers: Sequence[Trailer]) -> Trailer:
    """Make the trailer of packfiles that follow each other.

    * ``trailers``: At least one; all of the same compression and constants, and those of
      zstd of one chunk size.

    Returns: Its time indexes hold for every row of all of them.
    """
    first = trailers[0]
    blocks: list[Block] = []
    offset = 0
    for trailer in trailers:
        blocks += [Block(offset + block.offset, block.chunks) for block in trailer.blocks]
        offset += trailer.offset
    parts = [trailer.sparse for trailer in trailers]
    paths = sorted({path for part in parts for path in part.indices})
    indices = {path: _index(parts, path) for path in paths if _is_known(parts, path)}
    digests = [part.digest(number) for part in parts for number in range(part.blocks)]
    summary = _summary(parts)
    sparse = SparseIndex(
        len(blocks),
        first.sparse.constants,
        indices,
        summary,
        digests=tuple(digests) if any(digests) else (),
        stored_presence=_presence(parts, summary) if summary else b"",
        stored_provenance=_provenance(parts) if summary else b"",
        level=_level(parts),
        columns=declared.common({part.columns for part in parts}),
    )
    shift = max(trailer.block_shift for trailer in trailers)
    return Trailer(VERSION, offset, first.algorithm, shift, tuple(blocks), sparse)


def _is_known(parts: Sequence[SparseIndex], path: Path) -> bool:
    return all(path in part.indices or part.is_without_times(path) for part in parts)


def _index(parts: Sequence[SparseIndex], path: Path) -> TimeIndex:
    """Join the time indexes of a path; a part without one has no times there."""
    joined = TimeIndex()
    blocks = 0
    for part in parts:
        index = part.indices.get(path)
        if index is not None:
            joined.append(index if not joined.is_empty else index.delayed(blocks))
        blocks += part.blocks
        joined.push_empty(blocks - joined.blocks)
    return joined


def _presence(parts: Sequence[SparseIndex], summary: Summary) -> bytes:
    """Join field counts; if one part has none, the whole has none."""
    counts = []
    for part in parts:
        try:
            presence = part.presence()
        except CorruptError as error:
            notes.tell(f"the presence of fields is left out: {error.message}")
            presence = None
        if presence is not None:
            counts.append(presence)
        elif part.blocks:
            return b""
    return fieldcounts.join(counts).encode(summary) if counts else b""


def _statistics(parts: Sequence[Packfile], whole: Trailer) -> StoredStatistics | None:
    """Join the statistics: each block keeps its own; those of small packfiles are counted."""
    facts = [fact for part in parts for fact in all_facts(part)]
    return choose_statistics(facts, whole.offset, sources=[part.trailer.sparse for part in parts])


def _level(parts: Sequence[SparseIndex]) -> int | None:
    """Return the level that all packfiles with rows have; None where they differ."""
    levels = {part.level for part in parts if part.blocks}
    return levels.pop() if len(levels) == 1 else None


def _provenance(parts: Sequence[SparseIndex]) -> bytes:
    """Join the provenance of rows, as far as parts have it."""
    provenances: list[tuple[provenance.Provenance | None, int]] = []
    for part in parts:
        rows = sum(part.summary.rows) if part.summary else 0
        try:
            provenances.append((part.provenance(), rows))
        except CorruptError as error:
            notes.tell(f"the inputs of some rows are left out: {error.message}")
            provenances.append((None, rows))
    joined = provenance.follow(provenances)
    return joined.encode() if joined.origins else b""


def _summary(parts: Sequence[SparseIndex]) -> Summary | None:
    summaries = [part.summary for part in parts if part.summary is not None]
    if len(summaries) != len(parts):
        return None
    types, complete = join_types((summary.types, summary.complete) for summary in summaries)
    rows = [rows for summary in summaries for rows in summary.rows]
    return Summary.bounded(rows, types, complete=complete)
