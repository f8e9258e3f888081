"""Validate a packfile: read every byte, and check every rule of the format.

What the trailer alone shows is checked when the file is opened. Then each block is decoded and
its rows are checked, and what they hold is compared with the index: a time at an indexed path that
the index would not find is a finding, and so are counts and types that differ from the summary.
"""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from sdb import bounds, errors, instants
from sdb import progress as progress_
from sdb.packfile.build.verify import StatisticsCheck
from sdb.packfile.read.ahead import block_readers, of_each
from sdb.packfile.read.blocks import DIFFERS, differs
from sdb.packfile.read.reader import Packfile, open_packfile
from sdb.packfile.trailer.fieldcounts import FieldCount, field_name, type_names
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Future
    from typing import Any

    from sdb._core import BlockReport
    from sdb.packfile.read.resolve import PackfileReference
    from sdb.packfile.trailer.fieldcounts import FieldCounts, FieldPath
    from sdb.packfile.trailer.sparseindex import Path
    from sdb.packfile.trailer.timeindex import TimeIndex
    from sdb.progress import Progress
    from sdb.store.base import Location

    _Result = tuple[int, int, tuple[BlockReport, bool, list[str]]]

MAX_FINDINGS = 1000
_BATCH_BYTES = 64 << 10
_TEXT = 1 << 8
_SYMBOL = 1 << 7


@record
class Finding:
    """One thing that is wrong.

    Attributes
    ----------
    text : str
        What is wrong, without the place.
    block : int or None
        The block, counted from 0; None: the file as a whole.
    chunk : int or None
        The chunk in that block, counted from 0.
    row : int or None
        The row in the file, counted from 0.
    """

    text: str
    block: int | None = None
    chunk: int | None = None
    row: int | None = None

    def __str__(self) -> str:
        """Return the line that `validate-file` prints."""
        if self.block is None:
            return self.text
        where = f"block {self.block}"
        if self.chunk is not None:
            where += f" chunk {self.chunk}"
        if self.row is not None:
            where += f" (row {self.row})"
        separator = " " if self.text.startswith(("doesn't", "path ")) else ": "
        return f"{where}{separator}{self.text}"


@record
class Report:
    """The findings in a packfile.

    Attributes
    ----------
    path : str
        The file.
    findings : tuple of Finding
        What is wrong, in the order of the file.
    dropped : int
        Number of findings beyond those that are kept.
    blocks : int
        Number of blocks that were read.
    rows : int
        Number of rows that were read.
    """

    path: str
    findings: tuple[Finding, ...]
    dropped: int
    blocks: int
    rows: int

    @property
    def ok(self) -> bool:
        """True if nothing is wrong."""
        return not self.findings and not self.dropped


def validate(
    path: Location,
    *,
    threads: int | None = None,
    max_findings: int = MAX_FINDINGS,
    progress: Progress | None = None,
) -> Report:
    """Check a packfile.

    Parameters
    ----------
    path : path or str
        The file.
    threads : int, optional
        Number of threads that decode; one for each processor if not given.
    max_findings : int
        Number of findings that are kept; further ones are counted.
    progress : Progress, optional
        Called with the compressed bytes that were read, and their total.

    Returns
    -------
    Report
        The findings. A damaged file raises no exception.

    Raises
    ------
    NotFoundError, AccessError, UsageError, UnsupportedError
        The file cannot be opened, or this build cannot decode it.

    Examples
    --------
    >>> sdb.validate("events.zion").ok
    True
    """
    bounds.THREADS.check(threads)
    bounds.FINDINGS.check(max_findings)
    return _report(_opened(path), threads, max_findings, progress or progress_.silent)


def validations(
    references: Sequence[PackfileReference], max_findings: int
) -> Iterator[Callable[[Progress], Report]]:
    """Yield for each packfile what validates it; remote ones are opened several at a time."""
    bounds.FINDINGS.check(max_findings)
    for opened in of_each(lambda reference: _opened(reference.location), references):
        yield partial(_report, opened, None, max_findings)


def _opened(path: Location) -> Packfile | Report:
    """Open a packfile, or report why it cannot be."""
    try:
        return open_packfile(path, verify=False)
    except errors.CorruptError as error:
        return Report(errors.text_of(path), (Finding(str(error)),), 0, 0, 0)


def _report(
    opened: Packfile | Report, threads: int | None, max_findings: int, progress: Progress
) -> Report:
    if isinstance(opened, Report):
        return opened
    with opened:
        return validate_opened(opened, threads, max_findings, progress)


def validate_opened(
    pack: Packfile, threads: int | None, max_findings: int, progress: Progress
) -> Report:
    """Check a packfile that was opened without verifying it; see :func:`validate`."""
    check = _Check(pack, max_findings)
    check.trailer()
    done = 0
    workers = threads or os.cpu_count() or 1
    statistics = StatisticsCheck(pack.trailer)
    for number, read_bytes, (report, is_other, wrong) in _reports(
        pack, workers, statistics, max_findings
    ):
        if is_other:
            check.find(Finding(DIFFERS, number))
        check.block(number, report)
        for text in wrong:
            check.find(Finding(text, number))
        done += read_bytes
        progress(done, pack.trailer.offset)
    for flaw in statistics.flaws:
        check.find(Finding(f"trailer: {flaw}"))
    check.summary()
    return Report(pack.path, tuple(check.findings), check.dropped, len(pack.blocks), check.rows)


def _reports(
    pack: Packfile, workers: int, statistics: StatisticsCheck, max_findings: int
) -> Iterator[_Result]:
    """Decode the blocks on several threads and yield what they hold, in order."""
    trailer = pack.trailer
    paths = [list(path) for path in trailer.sparse.indices | trailer.sparse.distrusted]
    running: deque[Future[list[_Result]]] = deque()
    (read,) = block_readers([(pack, range(len(pack.blocks)))])
    with ThreadPoolExecutor(workers) as pool:
        try:
            for batch in _batches(pack):
                if len(running) > workers:
                    yield from running.popleft().result()
                blocks = [(at, read(at), trailer.sparse.digest(at)) for at in batch]
                future = pool.submit(
                    _verified,
                    blocks,
                    statistics,
                    trailer.algorithm,
                    trailer.align_bytes,
                    paths,
                    trailer.sparse.constants,
                    max_findings,
                )
                running.append(future)
            while running:
                yield from running.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _batches(pack: Packfile) -> Iterator[list[int]]:
    """Put small blocks together: to hand each over by itself takes longer than to read it."""
    batch: list[int] = []
    size_bytes = 0
    for number in range(len(pack.blocks)):
        start, stop = pack.trailer.block_range(number)
        if batch and size_bytes + stop - start > _BATCH_BYTES:
            yield batch
            batch, size_bytes = [], 0
        batch.append(number)
        size_bytes += stop - start
    if batch:
        yield batch


def _verified(
    blocks: list[tuple[int, bytes, bytes]],
    statistics: StatisticsCheck,
    *arguments: Any,  # noqa: ANN401 - those of `_core.verify_block`
) -> list[_Result]:
    """Decode blocks, and compare them with their digests and statistics."""
    from sdb import _core

    return [
        (
            at,
            len(block),
            (
                _core.verify_block(block, *arguments),
                differs(block, digest),
                statistics.compare(at, block),
            ),
        )
        for at, block, digest in blocks
    ]


class _Check:
    """Collects what is wrong with one file."""

    def __init__(self, pack: Packfile, max_findings: int) -> None:
        self.findings: list[Finding] = []
        self.dropped = 0
        self.rows = 0
        self._pack = pack
        self._sparse = pack.trailer.sparse
        self._max = max_findings
        self._types: dict[Path, int] = {}
        self._found: dict[FieldPath, FieldCount] = {}
        self._is_counted = True

    def find(self, finding: Finding) -> None:
        if len(self.findings) < self._max:
            self.findings.append(finding)
        else:
            self.dropped += 1

    def trailer(self) -> None:
        """Report what a reader forgives."""
        for path, index in self._sparse.distrusted.items():
            self.find(
                Finding(
                    f"path [{' '.join(path)}]: the index was damaged by an append and is not used: "
                    f"its min offsets are {', '.join(str(offset) for _, offset in index.min[:8])}"
                )
            )
        if self._sparse.flaw:
            self.find(Finding(f"trailer: the sdb extension is ignored: {self._sparse.flaw}"))
        if list(self._sparse.indices) != sorted(self._sparse.indices):
            self.find(Finding("trailer: the time indexes are not sorted by path"))

    def block(self, number: int, report: BlockReport) -> None:
        """Report on one block, and compare it with the index."""
        for chunk, row, text in report.findings:
            self.find(Finding(text, number, chunk, None if row is None else self.rows + row))
        self.dropped += report.dropped
        promised = self._pack.blocks[number].chunks
        if report.chunks != promised and not report.findings:
            text = f"has {report.chunks} chunks; trailer has {promised}"
            self.find(Finding(text, number))
        for path, index in (self._sparse.indices | self._sparse.distrusted).items():
            for chunk, ranges in enumerate(report.chunk_ranges):
                if path in ranges:
                    lo_us, hi_us, _ = ranges[path]
                    self._times(number, chunk, path, index, lo_us, hi_us)
        summary = self._sparse.summary
        if summary is not None and summary.rows[number] != report.rows and not report.findings:
            text = f"has {report.rows} rows; the summary has {summary.rows[number]}"
            self.find(Finding(text, number))
        for path, mask in report.types.items():
            self._types[path] = self._types.get(path, 0) | mask
        fields, complete = report.fields
        self._is_counted &= complete and not report.findings and not report.dropped
        for field in fields:
            before = self._found.get(field.path, FieldCount(0, 0))
            self._found[field.path] = FieldCount(
                before.types | field.types, before.rows + field.rows
            )
        self.rows += report.rows

    def _times(
        self, block: int, chunk: int, path: Path, index: TimeIndex, lo_us: int, hi_us: int
    ) -> None:
        """Both answers of an index grow with the time, so the ends of a range are enough."""
        name = f"path [{' '.join(path)}]"
        if (start := index.start(hi_us)) > block:
            text = f"{name} time {instants.finding_text(hi_us)}: sparse Start()={start}"
            self.find(Finding(text, block, chunk))
        if (end := index.end(lo_us)) <= block:
            text = f"{name} time {instants.finding_text(lo_us)}: sparse End()={end}"
            self.find(Finding(text, block, chunk))

    def summary(self) -> None:
        """Compare the types that occur with those that the summary lists."""
        summary = self._sparse.summary
        if summary is None:
            return
        for path, mask in sorted(self._types.items()):
            listed = summary.types.get(path)
            if listed is None and not summary.complete:
                continue
            missing = _as_text(mask) & ~_as_text(listed or 0)
            if missing:
                kinds = ", ".join(type_names(missing))
                text = f"path [{' '.join(path)}]: {kinds} occurs; the summary does not list it"
                self.find(Finding(text))
        try:
            self._presence(self._sparse.presence())
            self._sparse.provenance()
            self._sparse.identities()
        except errors.CorruptError as error:
            self.find(Finding(f"trailer: {error.message}"))

    def _presence(self, presence: FieldCounts | None) -> None:
        """Compare the fields with those that were counted, unless there were too many to count."""
        if presence is None or not self._is_counted:
            return
        for path in dict.fromkeys([*presence.fields, *self._found]):
            counted = self._found.get(path, FieldCount(0, 0))
            listed = presence.fields.get(path)
            if listed is None and not presence.complete:
                continue
            rows = listed.rows if listed else 0
            if counted.rows != rows:
                text = (
                    f"path {field_name(path)}: in {counted.rows:,} rows; the trailer has {rows:,}"
                )
                self.find(Finding(text))
            elif missing := _as_text(counted.types) & ~_as_text(listed.types if listed else 0):
                kinds = ", ".join(type_names(missing))
                text = f"path {field_name(path)}: {kinds} occurs; its presence does not list it"
                self.find(Finding(text))


def _as_text(mask: int) -> int:
    """Count symbols as strings: they mean the same."""
    return mask & ~_SYMBOL | (_TEXT if mask & _SYMBOL else 0)
