"""The writer of the data source: each task packs a file, and the job publishes them in one step."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import uuid4

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from sdb.errors import ConflictError, ExistsError, UsageError
from sdb.packfile.read import manifest
from sdb.packfile.write.pack import pack
from sdb.spark.bulk.rowpacking import RowPacking
from sdb.spark.options.settings import paths
from sdb.store.base import child

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa

    from sdb.packfile.trailer.declared import Columns


@dataclass(frozen=True)
class Written(WriterCommitMessage):
    """The packfile that a task has written."""

    task: int  # number of the task
    file: manifest.File | None  # its packfile; None when there were no rows


def task_number() -> int:
    """Return the number of the task that runs in this process, whichever attempt of it."""
    context = TaskContext.get()
    return context.partitionId() if context else 0


class ZionWriter(DataSourceArrowWriter):
    """Writes rows to a folder of packfiles.

    * ``options``: ``path``, ``algorithm``, ``level``, ``timeFields`` and ``ignoreNullFields``.
    * ``overwrite``: Whether the rows take the place of those that are there.

    Raises
    ------
    UsageError
        There is not one path, or an option makes no sense.
    """

    def __init__(
        self, options: Mapping[str, str], columns: Columns = (), *, overwrite: bool
    ) -> None:
        names = paths(options)
        if len(names) != 1:
            raise UsageError(f"{len(names)} paths to write to", expected="one folder")
        self._prefix = names[0].rstrip("/") + "/"
        self._mode = "overwrite" if overwrite else "append"
        self._job = uuid4().hex
        self._packing = RowPacking.of(options, columns)
        manifest.prepare(self._prefix, self._mode)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        """Pack the rows of a task into a file that does not count yet."""
        task = task_number()
        rows = self._packing.input(iterator, task)
        if rows is None:
            return Written(task, None)
        name = manifest.attempt_name(task, self._job)
        result = pack([rows], child(self._prefix, name), **self._packing.arguments)
        return Written(task, manifest.File(name, result.output_bytes, result.rows))

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Publish the files of the job, all at once, and remove what is left of it.

        As long as it is not known whether they count, they stay: the manifest may list them yet.
        """
        written = [message for message in messages if isinstance(message, Written)]
        written.sort(key=lambda message: message.task)
        files = [message.file for message in written if message.file is not None]
        try:
            published = manifest.publish(self._prefix, files, mode=self._mode, job=self._job)
        except (ConflictError, ExistsError, UsageError):
            manifest.sweep(self._prefix, self._job)
            raise
        manifest.sweep(self._prefix, self._job, published.replaced)

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Remove what the job has written, found by its name: not every task has reported.

        When every task has, it was :meth:`commit` that failed, which has removed what may go.
        """
        if not all(isinstance(message, Written) for message in messages):
            manifest.sweep(self._prefix, self._job)
