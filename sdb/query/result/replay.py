"""Rows of a result, kept so that they can be gone over again."""

from __future__ import annotations

from sdb import _core, ion
from sdb.query.analyze.types import NULL
from sdb.query.result.lines import effective, need_types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    import pyarrow as pa

    from sdb.query.plan.scans import Column

MEMORY_BYTES = 64 << 20
"""Rows beyond this size go to a temporary file."""

_ABSENT = object()
_ORDER = "xnsbuv"


class Replay:
    """Batches of a stream, read when they are asked for and kept.

    * ``wait``: Runs a call that may take long, see :class:`sdb.query.result.waiting.Waiter`.
    """

    def __init__(
        self,
        stream: object,
        memory_bytes: int = MEMORY_BYTES,
        wait: Callable[[Callable[[], Any]], Any] = lambda call: call(),
    ) -> None:
        import pyarrow as pa

        self._wait = wait
        self._failure: BaseException | None = None
        self._source = wait(lambda: pa.RecordBatchReader.from_stream(stream))
        self._kept: list[pa.RecordBatch | tuple[int, int]] = []
        self._left_bytes = memory_bytes
        self._rows = 0
        self._file: Any = None
        self.schema: pa.Schema = self._source.schema

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Iterate over all batches; several iterations may be under way."""
        at = 0
        while at < len(self._kept) or self._read():
            yield self._batch(at)
            at += 1

    def count(self) -> tuple[int, bool]:
        """Count the rows read so far and in one more batch, and tell whether these are all."""
        self._read()
        return self._rows, self._source is None

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Hand out a stream of all batches."""
        import pyarrow as pa

        reader = pa.RecordBatchReader.from_batches(self.schema, iter(self))
        return reader.__arrow_c_stream__(requested_schema)

    def _read(self) -> bool:
        if self._failure is not None:  # what has come before it is not all
            raise self._failure
        if self._source is None:
            return False
        try:
            batch = self._wait(self._source.read_next_batch)
        except StopIteration:
            self._source = None
            return False
        except BaseException as error:
            self._failure = error.with_traceback(None)
            raise
        self._rows += batch.num_rows
        self._left_bytes -= batch.nbytes
        self._kept.append(batch if self._left_bytes >= 0 else self._write(batch))
        return True

    def _write(self, batch: pa.RecordBatch) -> tuple[int, int]:
        if self._file is None:
            import tempfile

            self._file = tempfile.TemporaryFile(prefix="sdb-query-")  # noqa: SIM115 - see close
        data = batch.serialize()
        offset = self._file.seek(0, 2)
        self._file.write(data)
        return offset, data.size

    def _batch(self, at: int) -> pa.RecordBatch:
        stored = self._kept[at]
        if not isinstance(stored, tuple):
            return stored
        import pyarrow as pa

        self._file.seek(stored[0])
        return pa.ipc.read_record_batch(pa.py_buffer(self._file.read(stored[1])), self.schema)

    def close(self) -> None:
        """Forget everything."""
        self._source = None
        self._kept.clear()
        if self._file is not None:
            self._file.close()


def rows(batches: Iterable[pa.RecordBatch], columns: Sequence[Column]) -> Iterator[dict[str, Any]]:
    """Make rows of Python values.

    Yields: A row: timestamps as aware datetimes (:class:`sdb.ion.Timestamp` beyond the years of
    these), NULL as ``None``; what is MISSING is left out.
    """
    need_types(columns)
    shown = effective(columns)
    for batch in batches:
        members = [(column, _values(batch, column)) for column in shown]
        for at in range(batch.num_rows):
            row: dict[str, Any] = {}
            for column, values in members:
                if values[at] is _ABSENT:
                    continue
                if column.is_row:
                    row.update(values[at])
                else:
                    row[column.name] = values[at]
            yield row


def _values(batch: pa.RecordBatch, column: Column) -> list[Any]:
    letters = [letter for letter in _ORDER if letter in column.lanes]
    lanes = [_cells(batch.column(column.lanes[letter]), letter) for letter in letters]
    if not lanes:
        lanes = [[None] * batch.num_rows]
    values = lanes[0] if len(lanes) == 1 else list(map(_first, *lanes))
    if "t" not in column.lanes:
        if "v" in column.lanes:  # which tells NULL from MISSING
            return values
        return [_ABSENT if cell is None else cell for cell in values]
    tags = batch.column(column.lanes["t"]).to_pylist()
    return [
        _ABSENT if not tag else None if tag == NULL else cell
        for tag, cell in zip(tags, values, strict=True)
    ]


def _first(*cells: object) -> object:
    return next((cell for cell in cells if cell is not None and cell is not _ABSENT), None)


def _cells(lane: pa.Array, letter: str) -> list[Any]:
    import pyarrow as pa

    if letter == "u":
        moments = lane.cast(pa.int64()).to_pylist()
        return [None if us is None else ion.instant_from_us(us) for us in moments]
    if letter == "x":
        return _integers(lane)
    if letter == "v":
        return _core.values(lane, _ABSENT)
    return list(lane.to_pylist())


def _integers(lane: pa.Array) -> list[int | None]:
    import pyarrow as pa

    try:
        narrow: list[int | None] = lane.cast(pa.int64()).to_pylist()
    except pa.ArrowInvalid:  # some are beyond
        return [None if cell is None else int(cell) for cell in lane.to_pylist()]
    return narrow
