"""Results on their way from a server: lanes of rows as Arrow, and what columns make of them.

The stream of Arrow has the columns in the metadata of its schema. Behind its end are the notes on
the answer, which are known only then, as JSON.
"""

from __future__ import annotations

import io
import json

from sdb.errors import SdbError, UnsupportedError
from sdb.query.exec.execution import Execution
from sdb.query.plan.scans import Column

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, BinaryIO

    import pyarrow as pa

    from sdb.table.schema.types import ColumnType

_FORMAT = 1
_MEMBER = b"sdb.result"
MEDIA_TYPE = "application/vnd.sdb.rows"


def pieces(stream: object, execution: Execution, notes: Callable[[], list[str]]) -> Iterator[bytes]:
    """Yield the bytes of a result.

    * ``stream``: The lanes of its rows.
    * ``notes``: Returns the notes on the answer, once all rows were read.
    """
    import pyarrow as pa

    reader = pa.RecordBatchReader.from_stream(stream)
    head = {
        "format": _FORMAT,
        "columns": [
            [column.name, dict(column.lanes), column.types] for column in execution.columns
        ],
        "is_plan": execution.is_plan,
        "dialect": execution.dialect,
    }
    if any(column.declared is not None for column in execution.columns):
        head["declared"] = _declared(execution.columns)
    schema = reader.schema.with_metadata({_MEMBER: json.dumps(head).encode()})
    sink = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.ipc.new_stream(sink, schema, options=options) as writer:
        for batch in reader:
            writer.write_batch(batch.replace_schema_metadata(schema.metadata))
            yield _taken(sink)
    yield _taken(sink)
    yield json.dumps({"notes": notes()}).encode()


def _declared(columns: tuple[Column, ...]) -> object:
    """Return a schema, as JSON, of the columns that have a type, by their places."""
    from sdb.table.schema.columns import TableSchema
    from sdb.table.schema.types import TableColumn

    typed = [
        TableColumn(0, str(at), column.declared, (str(at),))
        for at, column in enumerate(columns)
        if column.declared is not None
    ]
    return TableSchema(tuple(typed)).as_dict()["columns"]


def _types_in(head: dict[str, Any]) -> dict[int, ColumnType]:
    """Return the types that a schema says columns have, by their places."""
    if "declared" not in head:
        return {}
    from sdb.table.schema.columns import TableSchema

    schema = TableSchema.of_json(head["declared"])
    return {int(column.name): column.type for column in schema.columns}


def _taken(sink: io.BytesIO) -> bytes:
    data = sink.getvalue()
    sink.seek(0)
    sink.truncate()
    return data


def execution_of(file: BinaryIO, close: Callable[[], None]) -> Execution:
    """Return a result that is read from a server, as one that runs here.

    * ``file``: The bytes; reading raises if they are cut.

    Raises `UnsupportedError` if the server is a later `sdb`, whose results have another form.
    """
    lanes = _Lanes(file)
    declared = _types_in(lanes.head)
    columns = [
        Column(name, letters, types, declared.get(at))
        for at, (name, letters, types) in enumerate(lanes.head["columns"])
    ]
    execution = Execution(
        tuple(columns),
        lanes,
        scans=(lanes,),
        interrupt=close,
        is_plan=lanes.head["is_plan"],
        notes=lambda: lanes.notes,
        dialect=lanes.head["dialect"],
    )
    execution.on_close(close)
    return execution


class _Lanes:
    """The lanes of a result that a server sends: an Arrow stream, which can be read once."""

    def __init__(self, file: BinaryIO) -> None:
        import pyarrow as pa

        self._file = file
        self._reader = pa.ipc.open_stream(file)
        metadata = self._reader.schema.metadata or {}
        self.head: dict[str, Any] = json.loads(metadata.get(_MEMBER, b"{}"))
        if self.head.get("format") != _FORMAT:
            raise UnsupportedError(
                "the server sends results in another form", hint="use the sdb of the server"
            )
        self.notes: list[str] = []
        # Of scans, for :class:`sdb.query.result.result.Result`
        self.failure: SdbError | None = None
        self.stats = (0, 0, 0)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        try:
            for batch in self._reader:
                yield batch.replace_schema_metadata(None)
            self.notes = json.loads(self._file.read() or b"{}").get("notes", [])
        except SdbError as error:
            self.failure = error
            raise
        except (OSError, ValueError) as error:
            self.failure = SdbError(f"the answer of the server was cut: {error}")
            raise self.failure from error

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Hand out the batches, once."""
        import pyarrow as pa

        schema = self._reader.schema.remove_metadata()
        reader = pa.RecordBatchReader.from_batches(schema, self._batches())
        return reader.__arrow_c_stream__(requested_schema)
