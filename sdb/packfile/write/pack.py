"""Packs inputs into a new packfile.

The bytes are the Rust core's business: it cuts the text into parts, parses and compresses them on
several threads and hands over frames in their order. This module feeds it, writes the frames, and
in the end the trailer (section "Trailer" of docs/format.md).
"""

from __future__ import annotations

import os
import time

from sdb import bounds, effort, formats, ion, notes, sizes
from sdb._core import Packer
from sdb.errors import UsageError
from sdb.packfile.build.choose import with_statistics
from sdb.packfile.build.indexbuilder import Span, merge
from sdb.packfile.build.options import AUTO, StatisticsChoice, followed
from sdb.packfile.inputs.arguments import listed, locations
from sdb.packfile.inputs.inputs import Input, recognise_all
from sdb.packfile.prune.unknownfields import tell
from sdb.packfile.trailer.fieldcounts import Presence
from sdb.packfile.trailer.provenance import Origin, Provenance, taken
from sdb.packfile.trailer.trailer import Trailer
from sdb.progress import silent
from sdb.records import record, replace
from sdb.store.apart import check_apart
from sdb.store.base import LeftOpen
from sdb.store.url import atomic_write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from typing import BinaryIO

    from sdb._core import RejectedBatch
    from sdb.packfile.inputs.arguments import Inputs
    from sdb.packfile.trailer.sparseindex import Path
    from sdb.progress import Progress
    from sdb.store.base import Location, Reader

ALIGN_BYTES = 1 << 20
BLOCK_BYTES = 50 << 20
DEFAULT_ALGORITHM = "zion+zstd"
ALGORITHMS = ("zion+zstd", "zion+iguana_v0", "zion+iguana_v0/specialized", "zstd")


@record
class Rejected:
    """A record that was passed over.

    Attributes
    ----------
    input : str
        Name of the input.
    line : int
        Its line there, counted from 1.
    offset : int
        Its position in the decompressed input, in bytes.
    message : str
        What is wrong with it.
    text : bytes
        The record as it was, with its line end.
    """

    input: str
    line: int
    offset: int
    message: str
    text: bytes


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
        Number of records that were passed over.
    seconds : float
        How long it took.
    """

    path: str
    inputs: int
    rows: int
    text_bytes: int
    output_bytes: int
    trailer: Trailer
    rejected: int
    seconds: float

    def __repr__(self) -> str:
        """Show what it came to."""
        size = sizes.human(self.output_bytes)
        smaller = sizes.ratio(self.text_bytes, self.output_bytes)
        return (
            f"<PackResult {self.path}: {self.rows:,} rows, {size}, {smaller}x smaller, "
            f"{self.seconds:.2f} s>"
        )


def pack(  # noqa: PLR0913 - the command's options, by name
    inputs: Inputs,
    output: Location | BinaryIO,
    *,
    algorithm: str = DEFAULT_ALGORITHM,
    level: int | str | None = None,
    block_bytes: int = BLOCK_BYTES,
    align_bytes: int = ALIGN_BYTES,
    threads: int | None = None,
    constants: Mapping[str, object] | None = None,
    hints: bytes | None = None,
    format: str | None = None,  # noqa: A002 - the word users know
    time_fields: Sequence[Path] = (),
    on_error: Callable[[Rejected], None] | None = None,
    on_errors: Callable[[RejectedBatch], None] | None = None,
    overwrite: bool = False,
    verify: bool = True,
    stats: StatisticsChoice | str | Sequence[str | Sequence[str | None]] = "auto",
    progress: Progress = silent,
) -> PackResult:
    """Pack inputs into a packfile that appears when it is complete, or not at all.

    Parameters
    ----------
    inputs : path, URL, binary file, iterable of these, or iterable of dict
        What to pack, one after the other; ``-`` is standard input. Dicts are rows.
    output : path, URL or binary file
        The packfile. A file that is open is written to as it is, and not closed.
    algorithm : str
        Compression of the chunks: one of `ALGORITHMS`; ``zion`` is short for ``zion+zstd``.
    level : int or str, optional
        How much time to take for a smaller packfile: ``fast``, ``default``, ``small``, ``max``, or
        a level of zstd from 1 to 22. Compressions without zstd have none.
    block_bytes : int
        Decompressed size of a block in bytes.
    align_bytes : int
        Decompressed size of a chunk in bytes: a power of two from 512 bytes to 64 MiB.
    threads : int, optional
        Threads that parse and compress; one for each processor if not given. The packfile does not
        depend on it.
    constants : mapping, optional
        Fields that every row gets first.
    hints : bytes, optional
        A hints file for the format of the inputs.
    format : str, optional
        Format of all inputs; recognised if not given.
    time_fields : sequence of path, optional
        Paths (tuples of names) that get a time index as soon as they hold any timestamp.
    on_error : callable, optional
        Takes each malformed record, which is then passed over. Without it the first is an error.
    on_errors : callable, optional
        Takes many of them at once instead: a call for each of a million takes longer than to pack.
    overwrite : bool
        Whether an existing `output` may be replaced.
    verify : bool
        Whether a wrong checksum in a packfile among the inputs is an error. Turn it off only to
        rescue what is left of a damaged one: values may be wrong then.
    stats : str or sequence of path
        Which paths get statistics, by which queries leave out blocks: ``"off"``, or any of
        ``"auto"``, paths as in ``"actor.id,items[].id"``, and paths of whose texts the words are
        wanted, as in ``"auto,words:message"``, or the prefixes of the IPv4 addresses that they are,
        as in ``"auto,prefixes:ip"``; ``"words"`` alone is of all texts of the row.
    progress : Progress, optional
        Told how many bytes of the inputs were read.

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
        An input is not there or may not be read.
    UsageError, UnsupportedError
        Options that make no sense, or that this build does not serve.

    Examples
    --------
    >>> import pathlib, sdb
    >>> _ = pathlib.Path("/tmp/sdb-example.json").write_text('{"a": 1}')
    >>> sdb.pack(["/tmp/sdb-example.json"], "/tmp/sdb-example.zion", overwrite=True).rows
    1
    """
    began = time.monotonic()
    named = listed(inputs)
    if isinstance(output, str | os.PathLike):
        check_apart(output, locations(named))
        formats.check_packfile(output)
    sources = recognise_all(named, format, hints=hints, verify=verify)
    if not sources:
        raise UsageError("no inputs", hint="sdb pack -o OUTPUT INPUT...")
    number = effort.DEFAULT if level is None else effort.number(level)
    bounds.BLOCK.check(block_bytes)
    bounds.ALIGN.check(align_bytes)
    bounds.THREADS.check(threads)
    if level is not None:
        effort.tell(number, algorithm)
    choice = StatisticsChoice.of(stats)
    encoded = ion.dumps(dict(constants)) if constants else None
    taker = taker_of(on_error, on_errors)
    packer = Packer(
        algorithm=algorithm,
        align=align_bytes,
        block_bytes=block_bytes,
        threads=threads or 0,
        level=number,
        constants=encoded,
        skip_errors=taker is not None,
        time_paths=[list(path) for path in time_fields],
        stats=choice.is_auto,
        stats_paths=choice.paths,
        words_paths=choice.words,
        prefixes_paths=choice.prefixes,
    )
    with packer, _opened(output, overwrite=overwrite) as file:
        feeder = Feeder(packer, file.write, taker)
        feeder.feed_all(sources, progress)
        types, types_complete = packer.types
        blocks, sparse = merge(
            [Span(*run) for run in packer.runs],
            align_bytes=align_bytes,
            block_bytes=block_bytes,
            types=types,
            types_complete=types_complete,
            time_fields=time_fields,
            constants=constants,
            hidden=packer.hidden,
            presence=Presence.of(packer.fields[0], complete=packer.fields[1]),
            provenance=told(sources, packer),
        )
        sparse = with_statistics(sparse, packer, blocks, choice)
        sparse = replace(sparse, level=effort.kept(number, packer.algorithm))
        trailer = Trailer(
            1, packer.position, packer.algorithm, align_bytes.bit_length() - 1, blocks, sparse
        )
        tail = trailer.encode()
        file.write(tail)
        tell(time_fields, [(_name_of(output), trailer)])
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
            seconds=time.monotonic() - began,
        )


def packer_like(
    trailer: Trailer,
    *,
    level: int | None = None,
    constants: Mapping[str, object] | None = None,
    time_fields: Iterable[Path] = (),
    block_bytes: int = BLOCK_BYTES,
    threads: int | None = None,
    skip_errors: bool = False,
    stats: StatisticsChoice = AUTO,
) -> Packer:
    """Make a packer that packs as a packfile was packed.

    Parameters
    ----------
    trailer : Trailer
        The trailer of the packfile, of which compression and chunk size are taken.
    level : int, optional
        The level; that of the packfile if not given.
    constants : mapping, optional
        Fields that every row gets first; those of the packfile if not given.
    time_fields : iterable of path
        Paths that get a time index as soon as they hold any timestamp.
    block_bytes : int
        Decompressed size of a block in bytes.
    threads : int, optional
        Threads that parse and compress.
    skip_errors : bool
        Whether malformed records are passed over.
    stats : StatisticsChoice
        Paths that shall have statistics; with `AUTO` also those that the packfile has filters of.

    Returns
    -------
    Packer
        The packer.
    """
    sparse = trailer.sparse
    kept = effort.DEFAULT if sparse.level is None else sparse.level
    same = sparse.constants if constants is None else constants
    choice = followed(stats, sparse)
    return Packer(
        algorithm=trailer.algorithm,
        align=trailer.align_bytes,
        block_bytes=block_bytes,
        threads=threads or 0,
        level=kept if level is None else level,
        constants=ion.dumps(dict(same)) if same else None,
        skip_errors=skip_errors,
        time_paths=[list(path) for path in time_fields],
        stats=choice.is_auto,
        stats_paths=choice.paths,
        words_paths=choice.words,
        prefixes_paths=choice.prefixes,
    )


def _name_of(output: Location | BinaryIO) -> str:
    return str(output) if isinstance(output, str | os.PathLike) else "-"


def told(sources: Sequence[Input], packer: Packer) -> Provenance:
    """Tell which rows came from which input, once all are packed."""
    found = []
    for source, (rows, size_bytes, digest, text_bytes) in zip(sources, packer.inputs, strict=True):
        # Of a packfile or Parquet file rows were fed, not its bytes, and no text.
        fed = source.stored is None
        stored = (size_bytes, digest) if source.stored is None else source.stored()
        found.append(Origin(source.name, *stored, 0, rows, text_bytes if fed else 0))
    return taken(found)


def taker_of(
    on_error: Callable[[Rejected], None] | None,
    on_errors: Callable[[RejectedBatch], None] | None,
) -> Callable[[RejectedBatch], None] | None:
    """Give what takes malformed records many at a time, by what takes them either way."""
    if on_error is None:
        return on_errors
    if on_errors is not None:
        raise UsageError("on_error and on_errors are two ways to take the same records")

    def take(batch: RejectedBatch) -> None:
        for number in range(len(batch)):
            on_error(Rejected(*batch[number]))

    return take


def _opened(output: Location | BinaryIO, *, overwrite: bool) -> AbstractContextManager[BinaryIO]:
    if isinstance(output, str | os.PathLike):
        return atomic_write(output, overwrite=overwrite)
    return LeftOpen(output)


class Feeder:
    """Moves bytes from the inputs to a packer, and frames from there to a file.

    Parameters
    ----------
    packer : Packer
        The packer.
    write : callable
        Takes the frames, one by one.
    take_rejected : callable, optional
        Takes malformed records, many at a time.
    """

    def __init__(
        self,
        packer: Packer,
        write: Callable[[bytes], object],
        take_rejected: Callable[[RejectedBatch], None] | None,
    ) -> None:
        self._packer = packer
        self._write = write
        self._take_rejected = take_rejected
        self.rejected = 0

    def feed_all(self, sources: Sequence[Input], progress: Progress) -> None:
        """Pack inputs one after the other."""
        sizes = [source.size_bytes for source in sources]
        total = None if None in sizes else sum(size for size in sizes if size is not None)
        before = 0
        for source in sources:
            self._packer.begin(source.name, source.format, source.compression, source.hints)
            for consumed in self._feed(source):
                self._drain()
                progress(before + consumed, total)
            self._packer.end()
            before += consumed
        while self._packer.wait():
            self._drain()
            progress(before, total)
        self._drain()
        self._packer.finish()

    def _feed(self, source: Input) -> Generator[int]:
        """Move the bytes of an input, and tell how many of them were."""
        if source.file is None:
            yield from self._feed_pieces(source.pieces())
        else:
            reader = source.file()
            try:
                yield from self._feed_file(reader)
            finally:
                reader.close()

    def _feed_file(self, reader: Reader) -> Generator[int]:
        """Let the threads read a file by themselves, and feed what they leave."""
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
        finally:
            pieces.close()
        yield consumed

    def _drain(self) -> None:
        while frame := self._packer.take():
            self._write(frame)
        if self._take_rejected is None:
            return
        for batch in self._packer.take_rejected():
            self.rejected += len(batch)
            self._take_rejected(batch)
