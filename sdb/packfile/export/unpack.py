"""Packfiles to JSON, CSV, TSV, Ion, Arrow or Parquet."""

from __future__ import annotations

import os
from itertools import islice

from sdb import bounds, formats, instants
from sdb import progress as progress_
from sdb.errors import CorruptError, UsageError
from sdb.packfile.prune.unknownfields import has, warn_unknown_fields
from sdb.packfile.read.ahead import block_readers, of_each
from sdb.packfile.read.resolve import resolve
from sdb.records import record, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import datetime
    from typing import Any, BinaryIO, Unpack

    from sdb._core import Unpacker
    from sdb.packfile.prune.selection import Selection
    from sdb.packfile.read.arrow import Selected
    from sdb.packfile.read.choices import RowChoice
    from sdb.packfile.read.reader import Packfile
    from sdb.packfile.read.resolve import Located
    from sdb.packfile.trailer.trailer import Trailer
    from sdb.progress import Progress

_MOST_OPEN_FILES = 200
_SEPARATORS = {"csv": ",", "tsv": "\t"}


@record
class ChosenRows:
    """The rows that are written, and their fields."""

    fields: Sequence[str] | None = None
    since: str | datetime | None = None
    until: str | datetime | None = None
    time_field: str | Sequence[str] | None = None
    blocks: str | Sequence[int] | None = None
    limit: int | None = None


def unpack(
    paths: Located | Iterable[Located],
    output: BinaryIO,
    *,
    fmt: str = "json",
    threads: int | None = None,
    strict: bool = False,
    indent: bool = False,
    verify: bool = True,
    progress: Progress | None = None,
    **choice: Unpack[RowChoice],
) -> None:
    """Write the rows of packfiles, in order.

    * ``paths``: The packfiles. All of them are opened before anything is written.
    * ``output``: Where the rows go; it is not closed.
    * ``fmt``: ``json``: one row a line. ``csv``, ``tsv``: a line of names and one for each row;
      without `fields` the rows are read twice, first for the names. ``ion``: the decompressed
      chunks. ``ion-text``: Ion for people, one row a line. ``arrow``: an Arrow IPC stream.
      ``parquet``: a Parquet file.
    * ``fields``: Names of the top-level fields to write; the others are left out.
    * ``since, until``: Only rows with a time from `since` on and before `until`; blocks that the
      time index rules out are not read.
    * ``time_field``: Path of that time; without it the obvious one of each file.
    * ``blocks``: Only these blocks of each file, as in ``"0,3-5"``.
    * ``threads``: How many threads decode; without it one for each processor.
    * ``strict``: Whether `fields` or a `time_field` that no row has is an error; else a warning.
    * ``indent``: Whether each member has a separate line in ``ion-text``.
    * ``verify``: Whether a wrong checksum is an error. Turn it off only to rescue what is left of a
      damaged packfile: values may be wrong then.
    * ``progress``: Called with the compressed bytes that were read, and their total.

    Raises `NotFoundError`, `AccessError`, `UsageError` or `UnsupportedError` if a file cannot be
    opened, or a choice makes no sense; `CorruptError` if a packfile is damaged; the rows before the
    damage were written.
    """
    formats.check("unpack", fmt)
    chosen = ChosenRows(**choice)
    fields, limit = chosen.fields, chosen.limit
    bounds.ROWS.check(limit)
    bounds.THREADS.check(threads)
    times: dict[str, Any] = {
        "since": instants.fixed(chosen.since),  # the same for each file
        "until": instants.fixed(chosen.until),
        "time_field": chosen.time_field,
    }
    packs: list[Packfile] = []
    open_files = 0
    try:
        selected: list[Selected] = []
        references = resolve(paths)
        opened = of_each(lambda reference: reference.open(verify=verify), references)
        for reference, pack in zip(references, opened, strict=True):
            packs.append(pack)
            open_files += not reference.is_of_table
            selection = pack.select(**times, blocks=chosen.blocks)
            selected.append((pack, selection))
            if open_files > _MOST_OPEN_FILES:
                raise UsageError(f"more than {_MOST_OPEN_FILES} packfiles at a time")
        warn_unknown_fields(opened_files(packs, fields), fields, chosen.time_field, strict=strict)
        meter = _Meter(selected, progress or progress_.silent)
        if fmt in {"arrow", "parquet"}:
            from sdb.packfile.export import arrowfiles

            arrowfiles.write(
                selected,
                output,
                fmt=fmt,
                fields=fields,
                limit=limit,
                threads=threads,
                meter=meter.add,
            )
        elif fmt == "ion-text":
            from sdb.packfile.export import iontext

            iontext.write(_rows(selected, fields, limit, meter), output, indent=indent)
        elif fmt in {"csv", "tsv"}:
            names, meter_one = _columns(selected, fields, limit, threads, meter.add)
            output.write(_header(names, fmt))
            RowWriter(output, fmt, names, limit, threads or 0, meter_one).write(selected)
        else:
            RowWriter(output, fmt, fields, limit, threads or 0, meter.add).write(selected)
    finally:
        for pack in packs:
            pack.close()


def opened_files(
    packs: Iterable[Packfile], fields: Iterable[str] | None
) -> list[tuple[str, Trailer]]:
    """Return the names and trailers of packfiles, for `warn_unknown_fields`.

    Those of tables are read whole only where the index does not know every field.
    """
    files = [(pack.path, pack.trailer) for pack in packs]
    paths = [(name,) for name in fields or ()]
    if all(any(has(trailer, path) for _, trailer in files) for path in paths):
        return files
    return [(pack.path, pack.whole_trailer()) for pack in packs]


def _columns(
    selected: Sequence[Selected],
    fields: Sequence[str] | None,
    limit: int | None,
    threads: int | None,
    meter: Callable[[int], None],
) -> tuple[list[str], Callable[[int], None]]:
    """Find the columns of CSV and TSV: rows have no schema, so they are found before writing.

    * ``fields``: Names of the columns; without them all rows are gone over.
    * ``limit, threads``: As of :func:`unpack`.

    Returns: The names, in the order in which they first occur, or that of `fields`.
    Returns: What to call with the bytes of the blocks that are written then.
    """
    if fields is not None:
        return list(dict.fromkeys(fields)), meter
    from sdb.packfile.read.arrow import Scan

    columns = Scan(selected, limit=limit, threads=threads, meter=meter).schema.names
    return list(columns), lambda read_bytes: meter((read_bytes + 1) // 2)


def _header(columns: Sequence[str], fmt: str) -> bytes:
    """Write the line of names."""
    import csv
    import io

    out = io.StringIO()
    csv.writer(out, delimiter=_SEPARATORS[fmt], lineterminator="\n").writerow(columns or [""])
    return out.getvalue().encode()


def write_lines(
    pack: Packfile, selection: Selection, output: BinaryIO, fields: Sequence[str] | None
) -> None:
    """Write the rows of a selection as lines of JSON, whole lines at a time."""
    RowWriter(output, "json", fields, None, 1, lambda _: None).write([(pack, selection)])


def _rows(
    selected: list[Selected], fields: Sequence[str] | None, limit: int | None, meter: _Meter
) -> Iterator[dict[str, Any]]:
    """Iterate over the selected rows, one block at a time."""

    def rows() -> Iterator[dict[str, Any]]:
        for pack, selection in selected:
            for number in selection.blocks:
                yield from pack.selected_rows(replace(selection, blocks=(number,)), fields)
                start, stop = pack.trailer.block_range(number)
                meter.add(stop - start)

    return islice(rows(), limit)


class _Meter:
    """Shows how many of the wanted bytes were read."""

    def __init__(self, selected: list[Selected], progress: Progress) -> None:
        self._progress = progress
        self._done = 0
        self._total = sum(
            stop - start
            for pack, selection in selected
            for start, stop in map(pack.trailer.block_range, selection.blocks)
        )

    def add(self, read_bytes: int) -> None:
        self._done += read_bytes
        self._progress(self._done, self._total)


class RowWriter:
    """Feeds blocks to the decoder and writes what comes out.

    * ``output``: Where it goes; None where rows are only counted.
    * ``fmt``: The format; ``count`` only counts.
    * ``threads``: How many threads decode; 0: one for each processor.
    * ``meter``: Called with the bytes of each block that is read.
    * ``rows``: How many rows were written, as far as they are counted: of very long ones not all.
    """

    def __init__(
        self,
        output: BinaryIO | None,
        fmt: str,
        fields: Sequence[str] | None,
        limit: int | None,
        threads: int,
        meter: Callable[[int], None],
    ) -> None:
        self._output = output
        self._format = fmt
        self._fields = None if fields is None else list(fields)
        self.left = limit
        self.rows = 0
        self._threads = threads
        self._meter = meter

    def write(self, selected: list[Selected]) -> None:
        """Write the selected rows."""
        chosen = [(pack, selection.blocks) for pack, selection in selected]
        readers = block_readers(chosen, may_stop=self.left is not None)
        for (pack, selection), read in zip(selected, readers, strict=True):
            unpacker = self._unpacker(pack, selection, self._threads, self.left)
            self._write_one(unpacker, pack, selection, read)
            self.left = unpacker.remaining
            self.rows += unpacker.rows
            if self.left == 0:
                return

    def _unpacker(
        self, pack: Packfile, selection: Selection, threads: int, limit: int | None
    ) -> Unpacker:
        from sdb import _core

        return _core.Unpacker(
            pack.trailer.algorithm,
            pack.trailer.align_bytes,
            threads=threads,
            format=self._format,
            fields=self._fields,
            time_filter=selection.time_filter,
            limit=limit,
            matcher=selection.matcher,
            verify=pack.verify,
        )

    def _write_one(
        self,
        unpacker: Unpacker,
        pack: Packfile,
        selection: Selection,
        read: Callable[[int], bytes],
    ) -> None:
        # Blocks whose rows may not all be out yet: those in the queue, and one for each packfile.
        most = 2 * (self._threads or os.cpu_count() or 1) + 8
        fed: list[int] = []
        try:
            for number in selection.blocks:
                if unpacker.done:
                    break
                fed = [*fed[1 - most :], number]
                block = self._read(unpacker, read, number)
                unpacker.feed(block, pack.blocks[number].chunks)
                self._meter(len(block))
                # The next block is read when this one is the only one left: no sooner, no later.
                while unpacker.queued > 1 and self._put(unpacker):
                    pass
            while self._put(unpacker):
                pass
        except CorruptError as error:
            if error.path is not None:
                raise
            raise self._blamed(error, pack, selection, fed) from None

    def _read(self, unpacker: Unpacker, read: Callable[[int], bytes], number: int) -> bytes:
        """Read a block; when it is damaged, the rows before it come out first."""
        try:
            return read(number)
        except CorruptError:
            while self._put(unpacker):
                pass
            raise

    def _put(self, unpacker: Unpacker) -> bool:
        """Write what comes next, if anything comes; its memory is free again before more does."""
        pieces = unpacker.take(wait=True)
        for piece in pieces:
            if self._output is not None:
                self._output.write(piece)
        return bool(pieces)

    def _blamed(
        self, error: CorruptError, pack: Packfile, selection: Selection, fed: Iterable[int]
    ) -> CorruptError:
        """Find the block that an error came from: decoding runs ahead of writing."""
        for number in fed:
            try:
                alone = self._unpacker(pack, selection, 1, None)
                alone.feed(pack.read_block(number), pack.blocks[number].chunks)
                while alone.take(wait=True):
                    pass
            except CorruptError as damage:
                return pack.blame(damage, number)
        return error.within(pack.path, path=pack.path)
