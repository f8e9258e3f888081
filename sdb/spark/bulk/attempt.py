"""Pack one packfile in an attempt of a task, on an executor. No pyspark in here."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass
from functools import partial

from sdb import notes
from sdb.errors import ConflictError, InputError, SdbError
from sdb.packfile.inputs.folders import defaults_of, with_folder_fields
from sdb.packfile.inputs.heads import Heads
from sdb.packfile.inputs.inputs import Input, recognise_each
from sdb.packfile.read.manifest import attempt_name
from sdb.packfile.write.malformed import Rejected
from sdb.packfile.write.pack import (
    BLOCK_BYTES,
    DEFAULT_ALGORITHM,
    pack,
)
from sdb.records import replace
from sdb.store.base import child
from sdb.store.url import open_read
from sdb.times import ALL, Times

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping
    from typing import BinaryIO

    from sdb._core import RejectedBatch
    from sdb.packfile.trailer.sparseindex import Path
    from sdb.packfile.write.findings import Findings
    from sdb.packfile.write.pack import PackResult
    from sdb.spark.bulk.plan import Piece, Task

_MOST_KEPT_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class Options:
    """Options of packing, the same for all tasks."""

    # See :func:`sdb.pack`
    algorithm: str = DEFAULT_ALGORITHM
    level: int | str | None = None
    block_bytes: int = BLOCK_BYTES
    constants: Mapping[str, object] | None = None
    hints: bytes | None = None
    format: str | None = None
    time_fields: tuple[Path, ...] = ()
    times: Times = ALL
    # What becomes of malformed records: an error, passed over, rows of their text (keep), or passed
    # over and given back (quarantine)
    on_error: str = "fail"
    verify: bool = True
    stats: str = "auto"
    hive: bool = True  # whether folders like day=2026-11-01 are fields of the rows below


@dataclass(frozen=True, slots=True)
class Work:
    """The job that tasks belong to."""

    prefix: str  # the folder that the packfiles go to
    job: str  # number of the job
    options: Options  # how to pack


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of an attempt."""

    task: int  # number of the task
    inputs: int  # number of its inputs, pieces of one counted each
    input_bytes: int  # their size, as they are stored
    name: str  # name of the packfile
    rows: int  # number of rows
    text_bytes: int  # size of the inputs, decompressed
    output_bytes: int  # size of the packfile
    seconds: float  # how long the attempt took
    rejected: int  # number of malformed records that were passed over, or are rows
    records: tuple[Rejected, ...]  # the first of them, or all when they are kept
    findings: Findings  # what was found of values


class _Rejects:
    """Takes the records that are passed over."""

    def __init__(self, *, keep: bool) -> None:
        self._keep = keep
        self._bytes = 0
        self.records: list[Rejected] = []

    def __call__(self, batch: RejectedBatch) -> None:
        count = len(batch) if self._keep else 0 if self.records else 1
        for number in range(count):
            self._take(Rejected(*batch[number]))

    def _take(self, record: Rejected) -> None:
        self.records.append(record)
        self._bytes += len(record.text)
        if self._bytes > _MOST_KEPT_BYTES:
            raise InputError(
                f"{record.input}: more malformed records than a task can keep",
                path=record.input,
                hint="--on-error skip does not keep them; --tasks makes smaller tasks",
            )


def attempt(work: Work, task: Task, threads: int = 1) -> Outcome:
    """Pack the inputs of a task into a packfile that no job has published yet.

    Raises
    ------
    SdbError
        As :func:`sdb.pack`. Nothing is left behind.
    """
    began = time.monotonic()
    name = attempt_name(task.number, work.job)
    options = work.options
    rejects = _Rejects(keep=options.on_error == "quarantine")
    heads = Heads()
    sources = [source for piece in task.pieces for source in _inputs(piece, options, heads)]
    result = packed(sources, child(work.prefix, name), options, threads, rejects)
    return Outcome(
        task.number,
        len(task.pieces),
        task.size_bytes,
        name,
        result.rows,
        result.text_bytes,
        result.output_bytes,
        time.monotonic() - began,
        result.rejected + result.kept_records,
        tuple(rejects.records),
        result.findings,
    )


def packed(
    sources: list[Input],
    output: str | BinaryIO,
    options: Options,
    threads: int = 1,
    on_errors: Callable[[RejectedBatch], None] | None = None,
) -> PackResult:
    """Pack inputs as the options say, and warn of nothing: the driver tells what all found."""
    with notes.unheard():
        return pack(
            sources,
            output,
            algorithm=options.algorithm,
            level=options.level,
            block_bytes=options.block_bytes,
            threads=threads,
            constants=options.constants,
            time_fields=options.time_fields,
            times=options.times,
            stats=options.stats,
            on_error="skip" if options.on_error == "quarantine" else options.on_error,
            on_errors=None if options.on_error == "fail" else on_errors,
        )


def located(error: SdbError, task: Task) -> SdbError:
    """Say where in the file an error is whose place was counted from where a piece starts."""
    for piece in task.pieces:
        if error.path == _name(piece) and not piece.is_whole:
            error.path = piece.file.path
            if error.offset is not None:
                error.offset += piece.start
                error.hint = error.hint or f"that is byte {error.offset:,} of {piece.file.path}"
    return error


def _inputs(piece: Piece, options: Options, heads: Heads) -> Iterator[Input]:
    path = piece.file.path
    if piece.is_whole:
        wholes = recognise_each(
            path, options.format, hints=options.hints, verify=options.verify, heads=heads
        )
        for whole in wholes:
            timed = replace(whole, times=options.times)
            yield with_folder_fields(timed) if options.hive else timed
        return
    size = piece.stop - piece.start
    source = partial(_range, piece)
    defaults = defaults_of(path) if options.hive else None
    # Only the start of the file tells of its times.
    forms = next(recognise_each(path, options.format)).forms
    yield Input(
        _name(piece),
        "json",
        "none",
        options.hints,
        size,
        source=source,
        defaults=defaults,
        times=options.times,
        forms=forms,
    )


def _name(piece: Piece) -> str:
    path = piece.file.path
    return path if piece.start == 0 else f"{path} from byte {piece.start:,}"


def _range(piece: Piece) -> Generator[bytes]:
    path = piece.file.path
    with closing(open_read(path)) as reader:
        if reader.etag != piece.file.etag:
            raise ConflictError(
                f"{path} was changed since the work was planned",
                path=path,
                hint="run it again",
            )
        yield from reader.pieces(piece.start, piece.stop)
