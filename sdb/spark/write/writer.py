"""The writer of the data source: each task packs a file, and the job publishes them in one step."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import blake2b
from uuid import uuid4

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from sdb.errors import ConflictError, ExistsError, UsageError
from sdb.packfile.read import manifest
from sdb.packfile.write.pack import pack
from sdb.spark.bulk.rowpacking import RowPacking
from sdb.spark.options.settings import paths
from sdb.spark.write.partitioned import Partitioning
from sdb.store.base import child

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa

    from sdb.packfile.trailer.declared import Columns


_OF_TABLES = ("at", "author", "message", "partition")


@dataclass(frozen=True)
class Written(WriterCommitMessage):
    """The packfiles that a task has written."""

    task: int  # number of the task
    files: tuple[manifest.File, ...] = ()  # its packfiles; none when there were no rows


def task_number() -> int:
    """Return the number of the task that runs in this process, whichever attempt of it."""
    context = TaskContext.get()
    return context.partitionId() if context else 0


def if_exists(options: Mapping[str, str], *, overwrite: bool) -> str:
    """Read the option ``ifExists``, which stands for modes that Spark refuses."""
    text = options.get("ifExists", "append").lower()
    if text not in {"append", "error", "ignore"}:
        raise UsageError(f"invalid ifExists {text!r}: expected append, error or ignore")
    if overwrite and text != "append":
        raise UsageError("ifExists needs mode append")
    return text


def _number(job: str) -> str:
    """Return the number of a job with an id, which names of packfiles have."""
    return blake2b(job.encode(), digest_size=16).hexdigest()


class ZionWriter(DataSourceArrowWriter):
    """Writes rows to a folder of packfiles.

    * ``options``: ``path``, those of :class:`RowPacking`, ``partitionBy``, ``ifExists`` and
      ``txnId``.
    * ``overwrite``: Whether the rows take the place of those that are there.

    Raises `UsageError` if there is not one path, or an option makes no sense; `ExistsError` if the
    folder has packfiles, and `ifExists` is ``error``.
    """

    def __init__(
        self, options: Mapping[str, str], columns: Columns = (), *, overwrite: bool
    ) -> None:
        names = paths(options)
        if len(names) != 1:
            raise UsageError(f"{len(names)} paths to write to", expected="one folder")
        for name in _OF_TABLES:
            if name in options:
                raise UsageError(f"{name} is an option of tables", hint='option("root", ...)')
        self._prefix = names[0].rstrip("/") + "/"
        self._mode = "overwrite" if overwrite else "append"
        self._job = options.get("txnId") or uuid4().hex
        self._packing = RowPacking.of(options, columns)
        self._partitioning = Partitioning.of(options.get("partitionBy"), columns)
        rule = if_exists(options, overwrite=overwrite)
        known = manifest.read(self._prefix) or manifest.Manifest()
        self._is_done = known.has(_number(self._job)) or (rule == "ignore" and bool(known.files))
        if not self._is_done:
            manifest.prepare(self._prefix, "fail" if rule == "error" else self._mode)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        """Pack the rows of a task into files that do not count yet."""
        return self.pack(iterator, self._job)

    def pack(self, batches: Iterator[pa.RecordBatch], job: str) -> Written:
        """Pack the rows of a task of a job, or of a batch of a stream."""
        task = task_number()
        if self._is_done:
            for _ in batches:
                pass
            return Written(task)
        files = []
        with ExitStack() as stack:
            for values, rows in self._partitioning.parts(batches, stack):
                source = self._packing.input(rows, task)
                if source is None:
                    continue
                name = manifest.attempt_name(task, _number(job))
                path = child(self._prefix, name)
                result = pack([source], path, **values, **self._packing.arguments)
                files.append(manifest.File(name, result.output_bytes, result.rows))
        return Written(task, tuple(files))

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Publish the files of the job; see :meth:`publish`."""
        self.publish(messages, self._job)

    def publish(self, messages: Iterable[WriterCommitMessage | None], job: str) -> None:
        """Publish files, all at once, and remove what is left of their job.

        As long as it is not known whether they count, they stay: the manifest may list them yet.
        """
        if self._is_done:
            return
        written = [message for message in messages if isinstance(message, Written)]
        written.sort(key=lambda message: message.task)
        files = [file for message in written for file in message.files]
        job = _number(job)
        try:
            published = manifest.publish(self._prefix, files, mode=self._mode, job=job)
        except (ConflictError, ExistsError, UsageError):
            manifest.sweep(self._prefix, job)
            raise
        manifest.sweep(self._prefix, job, published.replaced)

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Remove what the job has written, found by its name: not every task has reported.

        When every task has, it was :meth:`commit` that failed, which has removed what may go.
        """
        self.withdraw(messages, self._job)

    def withdraw(self, messages: Sequence[WriterCommitMessage | None], job: str) -> None:
        """Remove what a job has written, unless all tasks have reported; see :meth:`abort`."""
        if not all(isinstance(message, Written) for message in messages):
            manifest.sweep(self._prefix, _number(job))
