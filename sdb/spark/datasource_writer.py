"""The writer of the data source: each task packs a file, and the job publishes them in one step."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from uuid import uuid4

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from sdb import effort
from sdb.errors import ConflictError, ExistsError, UsageError
from sdb.packfile import manifest
from sdb.packfile.batches import encoded
from sdb.packfile.inputs import Input
from sdb.packfile.writer import DEFAULT_ALGORITHM, pack
from sdb.spark.settings import paths
from sdb.store.base import child

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence

    import pyarrow as pa


@dataclass(frozen=True)
class Written(WriterCommitMessage):
    """The packfile that a task has written.

    Attributes
    ----------
    task : int
        Number of the task.
    file : File or None
        Its packfile; None when there were no rows.
    """

    task: int
    file: manifest.File | None


class ZionWriter(DataSourceArrowWriter):
    """Writes rows to a folder of packfiles.

    Parameters
    ----------
    options : mapping
        ``path``, ``algorithm``, ``level``, ``timeFields`` and ``ignoreNullFields``.
    overwrite : bool
        Whether the rows take the place of those that are there.

    Raises
    ------
    UsageError
        There is not one path, or an option makes no sense.
    """

    def __init__(self, options: Mapping[str, str], *, overwrite: bool) -> None:
        found = paths(options)
        if len(found) != 1:
            raise UsageError(f"{len(found)} paths to write to", expected="one folder")
        self._prefix = found[0].rstrip("/") + "/"
        self._mode = "overwrite" if overwrite else "append"
        self._job = uuid4().hex
        self._algorithm = options.get("algorithm", DEFAULT_ALGORITHM)
        self._level = effort.read(options["level"]) if "level" in options else None
        times = options.get("timeFields", "")
        self._times = [tuple(name.strip().split(".")) for name in times.split(",") if name.strip()]
        self._keep_nulls = options.get("ignoreNullFields", "true").lower() == "false"
        manifest.prepare(self._prefix, self._mode)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        """Pack the rows of a task into a file that does not count yet."""
        context = TaskContext.get()
        task = context.partitionId() if context else 0
        first = next((batch for batch in iterator if batch.num_rows), None)
        if first is None:
            return Written(task, None)

        def pieces() -> Generator[bytes]:
            return encoded(chain([first], iterator), keep_nulls=self._keep_nulls)

        name = manifest.attempt_name(task, self._job)
        result = pack(
            [Input(f"task {task}", "rows", source=pieces, once=True)],
            child(self._prefix, name),
            algorithm=self._algorithm,
            level=self._level,
            threads=1,
            time_fields=self._times,
        )
        return Written(task, manifest.File(name, result.output_bytes, result.rows))

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Let the files of the job count, all at once, and remove what is left of it.

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
        """Remove what the job has written: by its name, since not every task has told.

        When every task has, it was :meth:`commit` that failed, which has removed what may go.
        """
        if not all(isinstance(message, Written) for message in messages):
            manifest.sweep(self._prefix, self._job)
