"""Rows of a Parquet file that anybody may have made, within bounds of memory.

A page says what it becomes in its header, which is looked at on its way to pyarrow. Batches get
fewer rows where pages are large. Texts that a dictionary has once stay once.
"""

from __future__ import annotations

from bisect import bisect_right

from sdb.errors import InputError
from sdb.records import record
from sdb.store.pageheaders import (
    DELTA_BYTE_ARRAY,
    DICTIONARY_PAGE,
    CutOffError,
    PageHeader,
    page_header,
)
from sdb.store.readerfile import ReaderFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType
    from typing import Self

    import pyarrow as pa
    from pyarrow import parquet

    from sdb.store.base import Reader

PAGE_BYTES = 128 << 20
"""What a page may become."""
_BATCH_ROWS = 4096
_BUFFER_BYTES = 1 << 20
_HEADER_BYTES = 16 << 20
_BATCH_BYTES = 64 << 20  # what pages of one column for one batch may become, but for a single page
_LIST_VALUES = 1 << 28
_LIST_BYTES = 2 << 30
_FEWER = 16
_DELTA_ROWS = 64
_DELTA_BYTES = 8 << 20
_DICTIONARIES = frozenset({"PLAIN_DICTIONARY", "RLE_DICTIONARY"})
_HINT = "write it again with smaller pages and row groups"


class _TooMuchError(Exception):
    """A batch would take too much memory; one of fewer rows may not."""


@record
class _Chunk:
    """The values of a column in a row group."""

    column: str
    start: int
    stop: int
    has_dictionary: bool
    has_delta: bool  # texts of which a part is that of the text before
    is_variant: bool  # a part of a value that Spark may have marked as one of any type
    has_texts: bool  # of any length
    is_repeated: bool  # in lists
    row_values: float  # values of a row, on average


class _Pages:
    """The pages of a chunk, as far as they were seen.

    * ``rows``: Rows of a batch.
    """

    def __init__(self, chunk: _Chunk, rows: int) -> None:
        self.chunk = chunk
        self.position = chunk.start  # where pyarrow reads on
        self._header = chunk.start  # where the next header is
        self._begun = b""  # what is there of it
        self._batch_values = rows * chunk.row_values
        self._values = self._bytes = 0  # of all pages so far
        self._batch = self._batch_bytes = 0  # the last batch, and what its pages so far become

    def take(self, data: bytes) -> None:
        """Look at the headers in the next bytes.

        Raises `InputError` if a page is too large, or no header is where one should be;
        `_TooMuchError` if all pages of a batch are too large.
        """
        start = self.position
        self.position += len(data)
        while self._header < min(self.position, self.chunk.stop):
            if self._begun or self._header < start:
                text, at = self._begun + data, 0
                text_start = start - len(self._begun)
            else:
                text, at, text_start = data, self._header - start, start
            try:
                header = page_header(text, at)
            except CutOffError:
                self._begun = text[at:]
                if len(self._begun) > _HEADER_BYTES:
                    raise self._error("cannot read Parquet: a page header without end") from None
                return
            except (ValueError, RecursionError) as error:
                message = f"cannot read Parquet: a malformed page header: {error}"
                raise self._error(message) from None
            self._begun = b""
            self._header = text_start + at + header.length + header.stored_bytes
            self._check(header)

    def _check(self, header: PageHeader) -> None:
        is_dictionary = header.kind == DICTIONARY_PAGE
        grows = header.encoding == DELTA_BYTE_ARRAY or (is_dictionary and self.chunk.is_variant)
        most = _DELTA_BYTES if grows else PAGE_BYTES
        if header.page_bytes > most:
            message = f"a page of {header.page_bytes:,} bytes, and the limit is {most:,}"
            raise self._error(message, hint=_HINT)
        if is_dictionary:
            if not self.chunk.has_dictionary:
                raise self._error("a dictionary that the metadata do not have")
            return
        if header.encoding == DELTA_BYTE_ARRAY and not self.chunk.has_delta:
            raise self._error("an encoding that the metadata do not have")
        self._add(header)

    def _add(self, header: PageHeader) -> None:
        """Count a page for the batches that its rows are in; pyarrow may have read far ahead."""
        first, last = (
            int(value / self._batch_values)
            for value in (self._values, self._values + max(0, header.values - 1))
        )
        self._values += header.values
        self._bytes += header.page_bytes
        if self.chunk.is_repeated and (
            self._values > _LIST_VALUES or self._bytes > _LIST_BYTES
        ):  # all of them may be of one row
            raise self._error("lists of one row group that take too much memory", hint=_HINT)
        before = self._batch_bytes if first == self._batch else 0
        if before and before + header.page_bytes > _BATCH_BYTES:
            raise _TooMuchError
        self._batch = last
        self._batch_bytes = header.page_bytes + (before if first == last else 0)

    def _error(self, message: str, hint: str | None = None) -> InputError:
        return InputError(f"column {self.chunk.column}: {message}", hint=hint)


class _WatchedFile(ReaderFile):
    """A file of which pyarrow reads chunk by chunk, each from its start on."""

    def __init__(self, reader: Reader) -> None:
        super().__init__(reader)
        self._chunks: list[_Chunk] = []
        self._starts: list[int] = []
        self._pages: dict[int, _Pages] = {}  # by the start of the chunk
        self._rows = 1
        self.fault: Exception | None = None

    def watch(self, chunks: Sequence[_Chunk]) -> None:
        """Look at what is read of these chunks.

        Raises `InputError` if chunks are in each other's place.
        """
        self._chunks = sorted(chunks, key=lambda chunk: chunk.start)
        self._starts = [chunk.start for chunk in self._chunks]
        for before, after in zip(self._chunks, self._chunks[1:], strict=False):
            if before.stop > after.start:
                columns = f"{before.column} and {after.column}"
                raise InputError(f"the metadata have columns {columns} in the same place")

    def begin_group(self, rows: int) -> None:
        """Begin to read a row group, perhaps once more, in batches of a number of rows."""
        self._rows = rows
        self._pages.clear()
        self.fault = None

    def read(self, size: int | None = -1) -> bytes:
        """Read bytes, and look at the headers of pages in them."""
        start = self.tell()
        data = super().read(size)
        try:
            self._look(start, data)
        except Exception as error:
            self.fault = error
            raise
        return data

    def _look(self, start: int, data: bytes) -> None:
        number = bisect_right(self._starts, start) - 1
        if number < 0 or start >= self._chunks[number].stop:
            return
        chunk = self._chunks[number]
        if start == chunk.start:
            self._pages[start] = _Pages(chunk, self._rows)
        pages = self._pages.get(chunk.start)
        if pages is None or pages.position != start:
            raise InputError(f"column {chunk.column}: pages are not in order")
        pages.take(data)


class BoundedParquet:
    """A Parquet file; use it in a `with` statement. It does not close the reader."""

    def __init__(self, reader: Reader) -> None:
        from pyarrow import parquet

        self._watched = _WatchedFile(reader)
        self.metadata = parquet.read_metadata(self._watched)
        self.schema: pa.Schema = self.metadata.schema.to_arrow_schema()
        chunks = list(_chunks(self.metadata))
        self._watched.watch(chunks)
        self._rows = _first_rows(self.metadata, chunks)
        self._file = parquet.ParquetFile(
            self._watched,
            metadata=self.metadata,
            read_dictionary=sorted(
                {chunk.column for chunk in chunks if chunk.has_dictionary and chunk.has_texts}
                - {chunk.column for chunk in chunks if chunk.is_variant}  # the core wants bytes
            ),
            buffer_size=_BUFFER_BYTES,
            pre_buffer=False,
        )

    def __enter__(self) -> Self:
        """Return it, for a `with` statement."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self._file.close()

    def batches(
        self, columns: list[str] | None = None, group: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows, batch by batch; dictionaries of texts stay such.

        * ``columns``: Columns, or paths of fields in them with dots; all of them if not given.
        * ``group``: The number of the only row group that is read; all of them if not given.

        Raises `InputError` if a page, or a row, would take too much memory; `ArrowException` or
        `OSError` if the file is malformed.
        """
        groups = range(self.metadata.num_row_groups) if group is None else (group,)
        for number in groups:
            done, rows = 0, self._rows
            while rows:
                try:
                    for batch in self._group(number, rows, done, columns):
                        done += batch.num_rows
                        yield batch
                    break
                except _TooMuchError:
                    if rows == 1:
                        message = f"row group {number + 1}: a row takes too much memory"
                        raise InputError(message, hint=_HINT) from None
                    rows = max(1, rows // _FEWER)

    def _group(
        self, group: int, rows: int, skipped: int, columns: list[str] | None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a row group, but for the first ones."""
        self._watched.begin_group(rows)
        batches = self._file.iter_batches(
            rows, row_groups=[group], columns=columns, use_threads=False
        )
        at = 0
        while True:
            try:
                batch = next(batches, None)
            except Exception:
                if self._watched.fault is not None:
                    raise self._watched.fault from None
                raise
            if batch is None:
                return
            at += batch.num_rows
            if at > skipped:
                yield batch.slice(max(0, skipped - (at - batch.num_rows)))


def _chunks(metadata: parquet.FileMetaData) -> Iterator[_Chunk]:
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        columns = [group.column(at) for at in range(group.num_columns)]
        paths = {column.path_in_schema for column in columns}
        for at, column in enumerate(columns):
            above, _, name = column.path_in_schema.rpartition(".")
            parts = {f"{above}.value", f"{above}.metadata"}
            start = column.data_page_offset
            if column.has_dictionary_page and column.dictionary_page_offset:
                start = min(start, column.dictionary_page_offset)
            if column.total_compressed_size > 0:
                yield _Chunk(
                    column.path_in_schema,
                    start,
                    start + column.total_compressed_size,
                    column.has_dictionary_page or not _DICTIONARIES.isdisjoint(column.encodings),
                    "DELTA_BYTE_ARRAY" in column.encodings,
                    bool(above) and parts <= paths and name in {"value", "metadata"},
                    column.physical_type == "BYTE_ARRAY",
                    metadata.schema.column(at).max_repetition_level > 0,
                    max(1.0, column.num_values / max(1, group.num_rows)),
                )


def _first_rows(metadata: parquet.FileMetaData, chunks: Sequence[_Chunk]) -> int:
    """Return how many rows a batch may have whatever pages become."""
    rows = _BATCH_ROWS
    growing = len({chunk.column for chunk in chunks if chunk.has_delta or chunk.is_variant})
    if growing:
        rows = max(1, _DELTA_ROWS // growing)
    columns = (metadata.schema.column(number) for number in range(metadata.num_columns))
    fixed = sum(column.length for column in columns if column.length > 0)
    return max(1, min(rows, PAGE_BYTES // fixed)) if fixed else rows
