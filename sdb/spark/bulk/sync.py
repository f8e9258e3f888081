"""Syncs on Spark: tasks pack the inputs of a table, and the driver commits all of them at once.

The name of a packed file identifies its inputs and their versions. When the driver is
killed, the next one takes it as it is.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from functools import partial

from sdb import bounds, ion, notes
from sdb.packfile.build.options import StatisticsChoice
from sdb.progress import silent
from sdb.records import record, replace
from sdb.spark.bulk.plan import TARGET_BYTES, tasks_for
from sdb.spark.session import session
from sdb.spark.session.job import Job
from sdb.store.url import absolute
from sdb.table.catalog.handle import find_table
from sdb.table.catalog.root import table_root
from sdb.table.definition.cache import read_definition
from sdb.table.format.descriptor import Descriptor
from sdb.table.format.keys import TableKeys
from sdb.table.format.signature import Keyring
from sdb.table.format.versionref import MAIN
from sdb.table.packfiles.ageunits import AgeUnits
from sdb.table.packfiles.rules import RowRules, check_spark, row_rules
from sdb.table.sync.orphans import find_orphans, input_mark
from sdb.table.sync.packing import (
    MOST_INPUTS,
    PackedInputs,
    by_partition,
    pack_by_age,
    pack_inputs,
    parts_by_age,
)
from sdb.table.sync.sync import sync_table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import TracebackType
    from typing import Any, Self

    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    from sdb.progress import Progress
    from sdb.table.catalog.root import TableRoot
    from sdb.table.sync.result import Synced
    from sdb.table.sync.work import NewInput

_MOST_NAMES_BYTES = 2 << 20
_MOST_WARNINGS = 20


@dataclass(frozen=True, slots=True)
class SyncTask:
    """The inputs that become one packfile."""

    number: int  # number of the task
    inputs: tuple[NewInput, ...]  # the inputs, of one partition

    @property
    def size_bytes(self) -> int:
        """Their size, as they are stored."""
        return sum(new_input.listed.size_bytes for new_input in self.inputs)

    @property
    def paths(self) -> list[str]:
        """Their URIs."""
        return [new_input.uri for new_input in self.inputs]


@dataclass(frozen=True, slots=True)
class SyncOutcome:
    """The outcome of a task."""

    task: int  # number of the task
    input_bytes: int  # size of its inputs, as they are stored
    # What became of them: of each packfile, without the descriptor, and what an index says of it,
    # as Ion; empty without a packfile
    packed: tuple[tuple[PackedInputs, bytes], ...]
    warnings: tuple[str, ...] = ()  # warnings of inputs that are left out


class SparkSyncs:
    """A context manager for syncs on Spark, which starts it when there is something to pack.

    * ``spark``: The session to use; without it what runs, or else what is stopped in the end.
    * ``master, conf``: See :func:`sdb.spark.session.session.start`.
    * ``tasks``: How many tasks, if there is enough to do for that many; each partition has one at
      least.
    * ``target_bytes``: Without `tasks`: about how many bytes of input, as they are stored, a task
      gets.

    Examples
    --------
    >>> with SparkSyncs(master="yarn") as syncs:                            # doctest: +SKIP
    ...     syncs.sync(sdb.table.catalog.root.table_root("s3://bucket"), "web", "gha")
    """

    def __init__(
        self,
        *,
        spark: SparkSession | None = None,
        master: str | None = None,
        conf: Mapping[str, str] | None = None,
        tasks: int | None = None,
        target_bytes: int = TARGET_BYTES,
    ) -> None:
        bounds.TASKS.check(tasks)
        bounds.TARGET.check(target_bytes)
        self._master, self._conf = master, conf
        self._tasks, self._target_bytes = tasks, target_bytes
        self._is_ours = False
        self._context = None if spark is None else spark.sparkContext

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop Spark, if it was started here."""
        if self._is_ours and self._context is not None:
            self._context.stop()
            self._context = None

    def sync(
        self,
        root: TableRoot,
        database: str,
        table: str,
        *,
        branch: str = MAIN,
        stats: str | None = None,
        progress: Progress = silent,
        **options: Any,  # noqa: ANN401 - those of a sync
    ) -> SyncedOnSpark:
        """Take the inputs that are new, in one version; tasks pack.

        * ``root``: The root that the table is below; executors must see it and the inputs, too.
        * ``stats``: Paths that shall have statistics, as in :func:`sdb.pack`; what the definition
          tells if not given.
        * ``progress``: Told how many bytes of the inputs, as they are stored, are packed.
        * ``options``: Others of :func:`sdb.table.sync.sync.sync_table`.

        Raises
        ------
        SdbError
            As :func:`sdb.table.sync.sync.sync_table`, and where a task fails for good. What was
            packed by then is taken by the next sync on Spark.
        """
        root = replace(root, location=absolute(root.location))
        keys = TableKeys(database, table)
        definition = read_definition(root, keys)
        how = _How(
            root.location,
            keys,
            definition.statistics if stats is None else stats,
            AgeUnits.of(definition.retention),
        )
        StatisticsChoice.of(how.stats)
        packing = _SparkPacking(self, root, how, branch, progress)
        synced = sync_table(root, database, table, branch=branch, packing=packing, **options)
        return SyncedOnSpark(synced, packing.packed, packing.resumed)

    def tasks_for(self, size_bytes: int) -> int:
        """Report how many tasks inputs are divided among."""
        parallelism = self.context().defaultParallelism
        return self._tasks or tasks_for(size_bytes, self._target_bytes, parallelism)

    def context(self) -> SparkContext:
        """Return what runs jobs."""
        if self._context is None:
            self._context = session.running()
        if self._context is None:
            self._context = session.start_context(self._master, name="sdb sync", conf=self._conf)
            self._is_ours = True
        return self._context


@dataclass(frozen=True, slots=True)
class SyncedOnSpark:
    """The result of a sync on Spark."""

    synced: Synced  # what became of the inputs
    # Numbers of packfiles that tasks have packed, and that were left by a sync that was killed
    packed: int
    resumed: int


@record
class _How:
    """Settings with which tasks pack."""

    location: str  # of the root
    keys: TableKeys
    stats: str  # paths that have statistics
    units: AgeUnits | None  # units of time by which inputs come into separate packfiles
    rules: RowRules | None = None  # what the rows must be


class _SparkPacking:
    """Packing by tasks; see :class:`sdb.table.sync.packing.InputPacking`."""

    def __init__(
        self,
        syncs: SparkSyncs,
        root: TableRoot,
        how: _How,
        branch: str,
        progress: Progress,
    ) -> None:
        self._syncs = syncs
        self._root, self._how, self._branch = root, how, branch
        self._progress = progress
        self._left: dict[tuple[str, ...], PackedInputs] = {}
        self.packed = self.resumed = 0

    def groups(self, new: Sequence[NewInput]) -> Iterator[Sequence[NewInput]]:
        """Yield first the inputs of packfiles that are there already, then those of tasks."""
        root, keys, units = self._root, self._how.keys, self._how.units
        handle = find_table(root, keys.database, keys.table, branch=self._branch)
        left = find_orphans(root, keys, handle, new, {})
        # A task may have been killed before it cut what it had packed.
        left = [packed for packed in left if len(parts_by_age(root, packed, units)) < 2]  # noqa: PLR2004
        self._left = {_uris(task.inputs): task for task in left}
        yield from (task.inputs for task in left)
        done = {uri for uris in self._left for uri in uris}
        rest = [new_input for new_input in new if new_input.uri not in done]
        if rest:
            total = sum(new_input.listed.size_bytes for new_input in rest)
            share = -(-total // self._syncs.tasks_for(total))
            for group in by_partition(rest):
                yield from _cut(group, share)

    def pack(self, groups: Sequence[Sequence[NewInput]]) -> Iterator[Sequence[PackedInputs]]:
        """Pack groups of inputs on executors; those that are there already are not."""
        missing = [tuple(inputs) for inputs in groups if _uris(inputs) not in self._left]
        tasks = [SyncTask(number, group) for number, group in enumerate(missing)]
        outcomes: Iterator[SyncOutcome] = iter(())
        if tasks:
            rules = row_rules(self._root, self._how.keys, self._branch)
            check_spark(rules)
            act = partial(_attempt, replace(self._how, rules=rules))
            job = Job(self._syncs.context(), ("sdb sync", uuid.uuid4().hex), tasks, act)
            outcomes = iter(job.run(self._progress))
        for group in groups:
            left = self._left.get(_uris(group))
            if left is not None:
                self.resumed += 1
                yield (left,)
            else:
                made = _received(next(outcomes))
                self.packed += max(1, sum(part.descriptor is not None for part in made))
                yield made


def _uris(inputs: Sequence[NewInput]) -> tuple[str, ...]:
    return tuple(new_input.uri for new_input in inputs)


def _cut(group: Sequence[NewInput], share_bytes: int) -> Iterator[list[NewInput]]:
    """Divide the inputs of a partition among tasks, in their order."""
    part: list[NewInput] = []
    size = names_bytes = 0
    for new_input in group:
        size += new_input.listed.size_bytes
        names_bytes += len(new_input.uri.encode())
        if part and (
            size > share_bytes or len(part) == MOST_INPUTS or names_bytes > _MOST_NAMES_BYTES
        ):
            yield part
            part, size, names_bytes = [], new_input.listed.size_bytes, len(new_input.uri.encode())
        part.append(new_input)
    yield part


def _attempt(how: _How, task: SyncTask, threads: int) -> SyncOutcome:
    """Pack the inputs of a task, on an executor, which needs no key."""
    root = table_root(how.location, keyring=Keyring())
    packed = partial(
        pack_inputs,
        root,
        how.keys,
        rules=how.rules,
        mark=partial(input_mark, options={}),
        stats=how.stats,
        threads=threads,
    )
    with notes.heard() as warnings:
        made = pack_by_age(packed, task.inputs, root, how.units)
    described = [(replace(part, descriptor=None), _described(part)) for part in made]
    first_warnings = tuple(warnings[:_MOST_WARNINGS])
    return SyncOutcome(task.number, task.size_bytes, tuple(described), first_warnings)


def _described(packed: PackedInputs) -> bytes:
    entry = packed.descriptor
    return b"" if entry is None else ion.dumps(entry.struct())


def _received(outcome: SyncOutcome) -> list[PackedInputs]:
    """Return what a task has packed, and warn of what it has left out."""
    for text in outcome.warnings:
        notes.warn(text)
    return [
        replace(part, descriptor=Descriptor.from_struct(ion.loads(entry))) if entry else part
        for part, entry in outcome.packed
    ]
