"""Packs inputs into a new packfile.

The bytes are the Rust core's business: it cuts the text into parts, parses and compresses them on
several threads and hands over frames in their order. This module feeds it, writes the frames, and
in the end the trailer (section "Trailer" of docs/format.md).
"""

from __future__ import annotations

import os
import time

from sdb import bounds, formats, ion, levels, notes, sizes
from sdb._core import Packer
from sdb.errors import CorruptError, UsageError
from sdb.packfile.build.choose import with_statistics
from sdb.packfile.build.indexbuilder import PackedParts, build_index
from sdb.packfile.build.options import AUTO, StatisticsChoice, followed
from sdb.packfile.inputs.arguments import locations, normalize_inputs
from sdb.packfile.inputs.recognised import recognise_all
from sdb.packfile.inputs.unpacking import CUT_SHORT_HINT, CutShortError
from sdb.packfile.prune.unknownfields import warn_unknown
from sdb.packfile.trailer import declared
from sdb.packfile.trailer.provenance import Origin, Provenance
from sdb.packfile.trailer.trailer import FILLED_BYTES, Trailer
from sdb.packfile.write.findings import Findings, findings_of, tell_forms
from sdb.packfile.write.malformed import actions_of, added
from sdb.progress import silent
from sdb.records import record, replace
from sdb.store.aliasing import check_apart
from sdb.store.base import LeftOpen
from sdb.store.url import atomic_write
from sdb.times import ALL, Times
from sdb.times import of as times_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from typing import BinaryIO

    from sdb._core import RejectedBatch
    from sdb.packfile.inputs.arguments import Inputs, Nulls
    from sdb.packfile.inputs.inputs import Input
    from sdb.packfile.trailer.sparseindex import Path
    from sdb.packfile.write.malformed import Malformed, Rejected
    from sdb.progress import Progress
    from sdb.store.base import Location, Reader

ALIGN_BYTES = FILLED_BYTES
LARGEST_ROW_BYTES = bounds.MAX_ROW.most  # since lengths have three bytes
BLOCK_BYTES = 50 << 20
DEFAULT_ALGORITHM = "zion+zstd"
ALGORITHMS = ("zion+zstd", "zion+iguana_v0", "zion+iguana_v0/specialized", "zstd")


@record
class PackResult:
    """The result of packing.

    Attributes
    ----------
    path : str
        The packfile.
    inputs : int
        Number of inputs.
    rows : int
        Number of rows.
    text_bytes : int
        Size of the inputs, decompressed.
    output_bytes : int
        Size of the packfile.
    trailer : Trailer
        Its trailer.
    rejected : int
        Number of malformed records that were passed over.
    seconds : float
        How long it took.
    departed : int
        Number of rows that the schema of a table does not admit, and which are in quarantine.
    departures : str
        The first of them, and what is wrong with them.
    findings : Findings
        Findings in values; warnings tell the same.
    kept_records : int
        Number of malformed records that are rows of their text.
    """

    path: str
    inputs: int
    rows: int
    text_bytes: int
    output_bytes: int
    trailer: Trailer
    rejected: int
    seconds: float
    departed: int = 0
    departures: str = ""
    findings: Findings = Findings()
    kept_records: int = 0

    def __repr__(self) -> str:
        """Show what it came to."""
        size = sizes.human(self.output_bytes)
        smaller = sizes.ratio(self.text_bytes, self.output_bytes)
        rows = sizes.counted(self.rows, "row")
        return f"<PackResult {self.path}: {rows}, {size}, {smaller}x smaller, {self.seconds:.2f} s>"


def pack(  # noqa: PLR0913 - the command's options, by name
    inputs: Inputs,
    output: Location | BinaryIO,
    *,
    algorithm: str = DEFAULT_ALGORITHM,
    level: int | str | None = None,
    block_bytes: int = BLOCK_BYTES,
    align_bytes: int = ALIGN_BYTES,
    max_row_bytes: int | None = None,
    threads: int | None = None,
    constants: Mapping[str, object] | None = None,
    hints: bytes | None = None,
    format: str | None = None,  # noqa: A002 - the word users know
    hive: bool | None = None,
    nulls: Nulls = "null",
    time_fields: Sequence[Path] = (),
    times: Times | str = ALL,
    on_error: Callable[[Rejected], None] | str | None = None,
    on_errors: Callable[[RejectedBatch], None] | None = None,
    overwrite: bool = False,
    verify: bool = True,
    stats: StatisticsChoice | str | Sequence[str | Sequence[str | None]] = "auto",
    progress: Progress = silent,
) -> PackResult:
    """Pack inputs into a packfile that appears when it is complete, or not at all.

    Parameters
    ----------
    inputs : path, URL, binary file, table, iterable of these, or iterable of rows
        The inputs, in this order; ``-`` is standard input. Rows are dicts or dataclasses; tables
        are data frames of pandas and polars, and all that has ``__arrow_c_stream__``.
    output : path, URL or binary file
        The packfile. A file that is open is written to as it is, and not closed.
    algorithm : str
        Compression of the chunks: one of `ALGORITHMS`; ``zion`` is short for ``zion+zstd``.
    level : int or str, optional
        How much time to spend on a smaller packfile: ``fast``, ``default``, ``small``, ``max``, or
        a level of zstd from 1 to 22. Algorithms without zstd have no levels.
    block_bytes : int
        Decompressed size of a block in bytes.
    align_bytes : int
        Decompressed size of a chunk in bytes: a power of two from 512 bytes to 64 MiB.
    max_row_bytes : int, optional
        Most bytes that a row may take as it is stored; larger ones are errors. If not given that
        are 2,080,768, the most that there is room for; ``zstd`` takes more than a chunk if that is
        asked for. A packfile with a row above 1 MiB has larger chunks, which the original cannot
        query; a warning says so unless the limit is given.
    threads : int, optional
        Threads that parse and compress; one for each processor if not given. The packfile does not
        depend on it.
    constants : mapping, optional
        Fields that every row gets first.
    hints : bytes, optional
        A hints file for the format of the inputs.
    format : str, optional
        Format of all inputs; recognised if not given.
    hive : bool, optional
        Whether folders such as ``day=2026-11-01/`` in the names of inputs are fields of their
        rows. If not given they are, and the command line says so.
    nulls : {"null", "missing"}
        What fields of rows and tables are that are ``None`` or null: NULL, or not there at all.
    time_fields : sequence of path, optional
        Paths (tuples of names) that get a time index as soon as they hold any timestamp.
    times : Times or str
        Which texts and numbers are times: ``"all"`` texts that can be read in one way only, those
        of ``"rfc3339"``, or ``"none"``; or a :class:`sdb.Times` with the zone of times that name
        none, and forms of the times of fields.
    on_error : {"fail", "skip", "keep"} or callable, optional
        What becomes of malformed records: the first one is an error; they are skipped, and a
        warning counts them; or they are rows whose field ``message`` has the text. A function is
        called with each of them, and they are skipped.
    on_errors : callable, optional
        Called with batches of malformed records instead: one call for each of a million records
        takes longer than packing. They are skipped, unless `on_error` is ``"keep"``.
    overwrite : bool
        Whether an existing `output` may be replaced.
    verify : bool
        Whether a wrong checksum in a packfile among the inputs is an error. Turn it off only to
        rescue what is left of a damaged one: values may be wrong then.
    stats : str or sequence of path
        Paths that get statistics, by which queries skip blocks: ``"off"``, or any of ``"auto"``,
        paths as in ``"actor.id,items[].id"``, n-gram filters of texts, as in
        ``"auto,words:message"`` (``"words"`` alone for all texts of the row), and prefixes of IPv4
        addresses, as in ``"auto,prefixes:ip"``.
    progress : Progress, optional
        Called with how many bytes of the inputs were read.

    Returns
    -------
    PackResult
        Rows and sizes.

    Raises
    ------
    ExistsError
        `output` exists and `overwrite` is off.
    InputError, CorruptError
        An input is malformed.
    NotFoundError, AccessError
        An input does not exist or may not be read.
    UsageError, UnsupportedError
        Invalid options, or options that this build does not support.

    Examples
    --------
    >>> result = sdb.pack("testdata/gh2015_1k.json.gz", "events.zion", overwrite=True)
    >>> result.rows, result.output_bytes < 400_000
    (1000, True)
    >>> sdb.pack([{"type": "login", "user": {"id": 7}}], "rows.zion", overwrite=True).rows
    1
    """
    began = time.monotonic()
    named = normalize_inputs(inputs, nulls)
    if isinstance(output, str | os.PathLike):
        check_apart(output, locations(named))
        formats.check_packfile(output)
    action, taker = actions_of(on_error, on_errors)
    sources = recognise_all(
        named,
        format,
        hints=hints,
        verify=verify,
        hive=hive,
        times=times_of(times),
        on_error=action,
    )
    if not sources:
        raise UsageError("no inputs", hint="sdb pack -o OUTPUT INPUT...")
    number = levels.DEFAULT if level is None else levels.number(level)
    bounds.BLOCK.check(block_bytes)
    bounds.ALIGN.check(align_bytes)
    bounds.THREADS.check(threads)
    chunk_bytes = sizes_of_chunks(algorithm, align_bytes, max_row_bytes)
    align_bytes = chunk_bytes[0]
    if level is not None:
        levels.tell(number, algorithm)
    choice = StatisticsChoice.of(stats)
    packer = _packer(
        algorithm,
        chunk_bytes,
        block_bytes,
        number,
        constants,
        choice,
        time_fields,
        threads,
    )
    with packer, _opened(output, overwrite=overwrite) as file:
        feeder = Feeder(packer, file.write, taker)
        feeder.feed_all(sources, progress)
        blocks, sparse = build_index(
            PackedParts.of(packer),
            align_bytes=align_bytes,
            block_bytes=block_bytes,
            time_fields=time_fields,
            constants=constants,
            provenance=provenance_of(sources, packer),
        )
        sparse = with_statistics(sparse, packer, blocks, choice)
        columns = declared.common({source.columns for source in sources})
        sparse = replace(sparse, level=levels.kept(number, packer.algorithm), columns=columns)
        shift = shift_of(packer, align_bytes)
        if max_row_bytes is None:
            feeder.findings.tell_chunks(align_bytes)
        trailer = Trailer(1, packer.position, packer.algorithm, shift, blocks, sparse)
        tail = trailer.encode()
        file.write(tail)
        warn_unknown(time_fields, [(_name_of(output), trailer)])
        if not packer.rows:
            names = sources[0].name + (f" and {len(sources) - 1:,} more" if sources[1:] else "")
            notes.warn(f"no rows in {names}: {_name_of(output)} is empty")
        return PackResult(
            path=_name_of(output),
            inputs=len(sources),
            rows=packer.rows,
            text_bytes=packer.text_bytes,
            output_bytes=trailer.offset + len(tail),
            trailer=trailer,
            rejected=feeder.rejected,
            kept_records=feeder.kept_records,
            seconds=time.monotonic() - began,
            findings=feeder.findings,
        )


def packer_like(
    trailer: Trailer,
    *,
    level: int | None = None,
    constants: Mapping[str, object] | None = None,
    time_fields: Iterable[Path] = (),
    block_bytes: int = BLOCK_BYTES,
    threads: int | None = None,
    stats: StatisticsChoice = AUTO,
    max_row_bytes: int | None = None,
) -> Packer:
    """Make a packer that packs as a packfile was packed.

    * ``trailer``: The trailer of the packfile, of which compression and chunk size are taken.
    * ``level``: The level; that of the packfile if not given.
    * ``constants``: Fields that every row gets first; those of the packfile if not given.
    * ``time_fields``: Paths that get a time index as soon as they hold any timestamp.
    * ``max_row_bytes``: Most bytes of a row; those of a chunk of the packfile if not given.
    * ``stats``: Paths that shall have statistics; with `AUTO` also those that the packfile has
      filters of.
    """
    sparse = trailer.sparse
    if level is None:
        level = levels.DEFAULT if sparse.level is None else sparse.level
    least = trailer.align_bytes if trailer.algorithm == "zstd" else trailer.filled_bytes
    most = max(least, min(max(max_row_bytes or 0, trailer.align_bytes), LARGEST_ROW_BYTES))
    return _packer(
        trailer.algorithm,
        (trailer.filled_bytes, most),
        block_bytes,
        level,
        sparse.constants if constants is None else constants,
        followed(stats, sparse),
        time_fields,
        threads,
    )


def _packer(
    algorithm: str,
    chunk_bytes: tuple[int, int],
    block_bytes: int,
    level: int,
    constants: Mapping[str, object] | None,
    choice: StatisticsChoice,
    time_fields: Iterable[Path],
    threads: int | None,
) -> Packer:
    """Return a packer of the core.

    * ``chunk_bytes``: Up to where chunks are filled, and the most that one of a single row has.
    """
    return Packer(
        algorithm=algorithm,
        align=chunk_bytes[0],
        max_row=chunk_bytes[1],
        block_bytes=block_bytes,
        threads=threads or 0,
        level=level,
        constants=ion.dumps(dict(constants)) if constants else None,
        time_paths=[list(path) for path in time_fields],
        stats=choice.is_auto,
        stats_paths=choice.paths,
        ngram_paths=choice.words,
        prefix_paths=choice.prefixes,
    )


def sizes_of_chunks(algorithm: str, align_bytes: int, asked: int | None) -> tuple[int, int]:
    """Return up to where chunks are filled, and the most that one of a single row has.

    * ``asked``: The most that a row shall take, if that is said.
    """
    bounds.MAX_ROW.check(asked)
    if algorithm == "zstd":
        # All of its chunks are of one size.
        size = align_bytes if asked is None else max(align_bytes, 1 << (asked - 1).bit_length())
        return size, size
    if asked is None:
        asked = LARGEST_ROW_BYTES if align_bytes >= ALIGN_BYTES else align_bytes
    return align_bytes, max(align_bytes, asked)


def shift_of(packer: Packer, align_bytes: int) -> int:
    """Return the block shift of a packfile, by the largest chunk that was packed.

    * ``align_bytes``: The least that a chunk may have.
    """
    return (max(align_bytes, packer.largest_chunk) - 1).bit_length()


def _name_of(output: Location | BinaryIO) -> str:
    return str(output) if isinstance(output, str | os.PathLike) else "-"


def provenance_of(sources: Sequence[Input], packer: Packer) -> Provenance:
    """Report which rows came from which input, once all are packed."""
    origins = []
    first = 0
    for source, (rows, size_bytes, digest, text_bytes) in zip(sources, packer.inputs, strict=True):
        # Of a packfile or Parquet file rows were fed, not its bytes, and no text.
        fed = source.stored is None
        stored = (size_bytes, digest) if source.stored is None else source.stored()
        name = source.origin or source.name
        origins.append(Origin(name, *stored, first, rows, text_bytes if fed else 0))
        first += rows
    return Provenance(tuple(origins), complete=True)


def _opened(output: Location | BinaryIO, *, overwrite: bool) -> AbstractContextManager[BinaryIO]:
    if isinstance(output, str | os.PathLike):
        return atomic_write(output, overwrite=overwrite)
    return LeftOpen(output)


def _pieces_of_each(
    sources: Sequence[Input],
) -> Iterable[tuple[Input, Callable[[], Generator[bytes]]]]:
    """Return inputs in their order, with what reads their pieces."""
    if not any(source.is_far for source in sources):
        return [(source, source.pieces) for source in sources]
    from sdb.packfile.inputs.far import pieces_of_each

    return pieces_of_each(sources)


class Feeder:
    """Moves bytes from the inputs to a packer, and frames from there to a file."""

    def __init__(
        self,
        packer: Packer,
        write: Callable[[bytes], object],
        take_rejected: Callable[[RejectedBatch], None] | None,
    ) -> None:
        self._packer = packer
        self._write = write
        self._take_rejected = take_rejected
        self._is_patient = False  # whether the input at hand may be damaged
        self._malformed: dict[str, Malformed] = {}
        # Malformed records that were passed over, and those that are rows
        self.rejected = self.kept_records = 0
        self.findings = Findings()

    def feed_all(self, sources: Sequence[Input], progress: Progress) -> None:
        """Pack inputs one after the other."""
        tell_forms(sources)
        sizes = [source.size_bytes for source in sources]
        total = None if None in sizes else sum(size for size in sizes if size is not None)
        before = 0
        for source, pieces in _pieces_of_each(sources):
            self._packer.begin(source.name, *source.for_core)
            self._is_patient = source.on_error != "fail"
            try:
                for consumed in self._feed(source, pieces):
                    self._drain()
                    progress(before + consumed, total)
                self._packer.end()
            except CorruptError as error:
                if source.compression != "none":
                    error.hint = error.hint or CUT_SHORT_HINT
                raise
            before += consumed
        while self._packer.wait():
            self._drain()
            progress(before, total)
        self._drain()
        self._packer.finish()
        self.findings = findings_of(self._packer, sources, self._malformed.values())
        self.findings.tell()

    def _feed(self, source: Input, pieces: Callable[[], Generator[bytes]]) -> Generator[int]:
        """Feed the bytes of an input, and yield how many were fed so far."""
        if source.file is None:
            yield from self._feed_pieces(pieces())
        else:
            reader = source.file()
            try:
                yield from self._feed_file(reader)
            finally:
                reader.close()

    def _feed_file(self, reader: Reader) -> Generator[int]:
        """Have the threads read a file by themselves, and feed the rest."""
        packed = self._packer.text_bytes
        if reader.descriptor is None:
            yield from self._feed_pieces(reader.pieces(0, reader.size_bytes))
            return
        self._packer.store(reader.descriptor, reader.size_bytes)
        while (start := self._packer.advance()) is None:
            yield min(self._packer.text_bytes - packed, reader.size_bytes)
        yield from self._feed_pieces(reader.pieces(start, reader.size_bytes), start)

    def _feed_pieces(self, pieces: Generator[bytes], consumed: int = 0) -> Generator[int]:
        try:
            for piece in pieces:
                self._packer.feed(piece)
                consumed += len(piece)
                yield consumed
        except CutShortError as error:
            if not self._is_patient:
                raise
            self._packer.damage(error.damage)
        finally:
            pieces.close()
        yield consumed

    def _drain(self) -> None:
        while frame := self._packer.take():
            self._write(frame)
        for batch in self._packer.take_rejected():
            if batch.are_kept:
                self.kept_records += len(batch)
            else:
                self.rejected += len(batch)
            if self._take_rejected is not None:
                self._take_rejected(batch)
            else:
                name = batch[0][0]
                self._malformed[name] = added(self._malformed.get(name), batch)
