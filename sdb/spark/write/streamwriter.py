"""The writer of streams: each batch is one version of a table, or one job of a folder, once."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from sdb.errors import UnsupportedError
from sdb.spark.session.hinted import hinted
from sdb.spark.write.writer import ZionWriter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from sdb.spark.write.tablewriter import TableWriter

_QUERY, _BATCH = "sql.streaming.queryId", "streaming.sql.batchId"


@dataclass(frozen=True)
class BatchTask(WriterCommitMessage):
    """Result of a task of a batch."""

    query: str  # the stream
    packed: WriterCommitMessage  # its packfiles


class StreamWriter(DataSourceStreamArrowWriter):
    """Writes the batches of a stream.

    The checkpoint of a stream keeps its id, and Spark runs a batch again that it does not know to
    be written. So id and number of the batch are those of the commit, which is made once.

    * ``writer``: What each batch is written by.
    * ``txn_id``: What takes the place of the id of the stream; empty: nothing does.
    """

    def __init__(self, writer: TableWriter | ZionWriter, txn_id: str) -> None:
        self._writer = writer
        self._txn_id = txn_id

    def write(self, iterator: Iterator[pa.RecordBatch]) -> BatchTask:
        """Pack the rows of a task."""
        context = TaskContext.get()
        query = self._txn_id or (context and context.getLocalProperty(_QUERY))
        batch = context and context.getLocalProperty(_BATCH)
        if not query or not batch:
            raise UnsupportedError(
                "Spark does not tell which stream and batch this is",
                hint='foreachBatch, and option("txnId", ...), see docs/spark.md',
            )
        return BatchTask(query, self._writer.pack(iterator, f"{query}-{batch}"))

    @hinted
    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Commit a batch, unless it was before."""
        tasks = [message for message in messages if isinstance(message, BatchTask)]
        if tasks:
            job = f"{tasks[0].query}-{batchId}"
            self._writer.publish([task.packed for task in tasks], job)

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Remove what a batch has written to a folder; `sdb gc` collects what no index lists."""
        query = next((each.query for each in messages if isinstance(each, BatchTask)), "")
        if isinstance(self._writer, ZionWriter) and query:
            packed = [each.packed if isinstance(each, BatchTask) else None for each in messages]
            self._writer.withdraw(packed, f"{query}-{batchId}")
