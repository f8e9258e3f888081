"""Compaction on Spark: tasks make the packfiles, and the driver commits all of them at once.

A task makes one packfile, merged or sorted by the same code as without Spark. What tasks have made
that were killed, or ran twice, no version has: it is collected.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from functools import partial

from sdb import notes
from sdb.progress import silent
from sdb.records import replace
from sdb.spark.session import session
from sdb.spark.session.job import Job
from sdb.store.url import absolute
from sdb.table.catalog.root import table_root
from sdb.table.format.signature import Keyring
from sdb.table.maintenance.compact import compact_table
from sdb.table.packfiles.merge import made_packfile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    from sdb.packfile.trailer.sparseindex import Path
    from sdb.progress import Progress
    from sdb.table.catalog.root import TableRoot
    from sdb.table.format.descriptor import Descriptor
    from sdb.table.format.keys import TableKeys
    from sdb.table.maintenance.compact import Compacted
    from sdb.table.packfiles.merge import MergedPackfile

_MOST_WARNINGS = 20


@dataclass(frozen=True, slots=True)
class MergeTask:
    """The packfiles that become one."""

    number: int  # number of the task
    parts: tuple[Descriptor, ...]  # the packfiles

    @property
    def size_bytes(self) -> int:
        """Their size."""
        return sum(part.size_bytes for part in self.parts)

    @property
    def paths(self) -> list[str]:
        """Their keys."""
        return [part.key for part in self.parts]


@dataclass(frozen=True, slots=True)
class MergeOutcome:
    """The outcome of a task."""

    task: int  # number of the task
    input_bytes: int  # size of its packfiles
    made: MergedPackfile | None  # see :func:`sdb.table.packfiles.merge.made_packfile`
    warnings: tuple[str, ...] = ()  # for the driver to print


def compact_on_spark(
    root: TableRoot,
    database: str,
    table: str,
    *,
    spark: SparkSession | None = None,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    **options: Any,  # noqa: ANN401 - those of a compaction
) -> Compacted:
    """Merge small packfiles of a table, and sort those of one that is clustered; tasks do so.

    * ``root``: The root that the table is below; executors must see it, too.
    * ``spark``: The session to use; without it what runs, or else what is stopped in the end.
      Nothing is started where there is nothing to do.
    * ``master, conf``: See :func:`sdb.spark.session.session.start`.
    * ``options``: Others of :func:`sdb.table.maintenance.compact.compact_table`. Progress
      counts whole packfiles.

    Raises `SdbError` as :func:`sdb.table.maintenance.compact.compact_table` does, and if a task
    fails for good. Nothing has changed then.
    """
    root = replace(root, location=absolute(root.location))
    merging = _SparkMerging(None if spark is None else spark.sparkContext, master, conf)
    try:
        return compact_table(root, database, table, merge=merging, **options)
    finally:
        merging.stop()


class _SparkMerging:
    """Makes packfiles by tasks; see :class:`sdb.table.maintenance.compact.Merging`."""

    def __init__(
        self, context: SparkContext | None, master: str | None, conf: Mapping[str, str] | None
    ) -> None:
        self._context = context
        self._master, self._conf = master, conf
        self._own: SparkContext | None = None

    def __call__(
        self,
        root: TableRoot,
        keys: TableKeys,
        runs: Sequence[Sequence[Descriptor]],
        by: tuple[Path, ...],
        *,
        progress: Progress = silent,
    ) -> list[MergedPackfile | None]:
        """Make a packfile of each run, the largest first: the last tasks are short ones."""
        context = self._context or session.running()
        if context is None:
            context = session.start_context(self._master, name="sdb compact", conf=self._conf)
            self._own = context
        tasks = [MergeTask(number, tuple(run)) for number, run in enumerate(runs)]
        tasks.sort(key=lambda task: task.size_bytes, reverse=True)
        act = partial(_attempt, root.location, keys, by)
        job = Job(context, ("sdb compact", uuid.uuid4().hex), tasks, act)
        outcomes = job.run(progress)
        for text in dict.fromkeys(text for outcome in outcomes for text in outcome.warnings):
            notes.warn(text)
        return [outcome.made for outcome in outcomes]

    def stop(self) -> None:
        """Stop Spark, if it was started here."""
        if self._own is not None:
            self._own.stop()


def _attempt(
    location: str, keys: TableKeys, by: tuple[Path, ...], task: MergeTask, threads: int
) -> MergeOutcome:
    """Make the packfile of a task, on an executor, which needs no key."""
    root = table_root(location, keyring=Keyring())
    with notes.heard() as warnings:
        merged = made_packfile(root, keys, task.parts, by, threads=threads)
    return MergeOutcome(task.number, task.size_bytes, merged, tuple(warnings[:_MOST_WARNINGS]))
