"""The writer of tables: each task packs a packfile, and the job commits one version with all."""

from __future__ import annotations

import logging
from contextlib import ExitStack
from dataclasses import dataclass, field

from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from sdb import ion, notes, sizes
from sdb.errors import ExistsError, NotFoundError, UncertainError, UnsupportedError, UsageError
from sdb.spark.bulk.rowpacking import RowPacking
from sdb.spark.session.hinted import hinted
from sdb.spark.write.partitioned import Partitioning
from sdb.spark.write.writer import if_exists, task_number
from sdb.table.catalog.handle import find_table
from sdb.table.catalog.root import table_root
from sdb.table.commit.change import TableChange, packfiles_between
from sdb.table.commit.commit import check_branch, check_writable, commit, find_commit
from sdb.table.definition.cache import recent_definition
from sdb.table.definition.definition import Definition
from sdb.table.format.descriptor import Descriptor
from sdb.table.format.keys import check_id, new_uid
from sdb.table.format.signature import Keyring
from sdb.table.format.state import RowCounts, state_of
from sdb.table.format.versionref import MAIN, parse_reference
from sdb.table.insert.insert import packing_options
from sdb.table.packfiles.pack import pack_rows
from sdb.table.packfiles.rules import DepartingRowsError, check_spark, refused, rules_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    import pyarrow as pa

    from sdb.packfile.trailer.declared import Columns
    from sdb.spark.options.namedtable import NamedTable
    from sdb.table.catalog.root import TableRoot
    from sdb.table.format.index import TableIndex

_MOST_WARNINGS = 20
_MOST_TASKS = 3
_log = logging.getLogger("sdb.spark")


@dataclass(frozen=True)
class PackedTask(WriterCommitMessage):
    """The packfiles that a task has packed, which no index lists yet."""

    task: int  # number of the task
    # What an index says of each, as Ion; none: there were no rows
    descriptors: tuple[bytes, ...] = field(default=(), repr=False)
    warnings: tuple[str, ...] = ()  # for the driver to print
    departing: str = ""  # which rows depart from the schema, which rejects them
    hint: str = ""  # what can be done about these


class TableWriter(DataSourceArrowWriter):
    """Writes rows to a table, all of them in one version.

    * ``options``: Those of :class:`RowPacking`; ``txnId``, ``author`` and ``message``;
      ``partition``, as in ``day=2026-01-31,region=eu``, to which all rows belong, or
      ``partitionBy``, the columns that say it; ``ifExists``, since Spark has no such modes for data
      sources in Python.
    * ``overwrite``: Whether the rows take the place of all that are there when the job commits.

    Raises `UsageError` if there is no key for indexes, the version is no branch, or an option makes
    no sense; `ExistsError` if the table is there, and `ifExists` is ``error``; `UnsupportedError`
    if the table has partitions, and none is named, or they would be overwritten;
    `UnknownReferenceError` if there is no such branch.
    """

    def __init__(
        self,
        named: NamedTable,
        options: Mapping[str, str],
        columns: Columns = (),
        *,
        overwrite: bool,
    ) -> None:
        self._named = named
        self._is_overwriting = overwrite
        self._packing = RowPacking.of(options, columns)
        self._author, self._message = options.get("author", ""), options.get("message", "")
        txn_id = options.get("txnId", "")
        self._is_given = bool(txn_id)
        self._job = check_id(txn_id) if txn_id else new_uid()
        self._branch = _branch(named)
        root, keys = named.root(), named.keys
        check_writable(root)
        head = find_table(root, named.database, named.table, branch=self._branch)
        self._partitioning = Partitioning(())
        self._place = self._place_of_rows(root, options)
        if self._branch != MAIN:
            check_branch(root, keys, self._branch)
        schema = None if head is None or head.is_dropped else head.schema
        self._rules = rules_of(keys, schema)
        check_spark(self._rules)
        state = None if head is None else head.state
        # Packfiles that are packed from now on are newer than what a collector takes.
        self._since_us = 0 if state is None else state.boundary_us
        done = find_commit(root, keys, txn_id, branch=self._branch) if txn_id else None
        self._is_done = done is not None
        self._if_exists = if_exists(options, overwrite=overwrite)
        if head is not None and not self._is_done:
            self._is_done = self._is_in_the_way()

    def _place_of_rows(self, root: TableRoot, options: Mapping[str, str]) -> dict[str, Any]:
        """Return what packing must know of where the rows belong, as far as it is the same for all.

        Where columns say it, `_partitioning` has them.
        """
        pairs = [pair.partition("=") for pair in options.get("partition", "").split(",") if pair]
        values = {name.strip(): value.strip() for name, _, value in pairs}
        try:
            definition = recent_definition(root, self._named.keys)
        except NotFoundError:
            definition = Definition()
        if definition.partitions and self._is_overwriting:
            message = f"{self._named.name} has partitions: they are not overwritten"
            raise UnsupportedError(message, hint='mode("append")')
        by, columns = options.get("partitionBy"), self._packing.columns
        if by is not None and values:
            raise UsageError("partition and partitionBy: either all rows belong to one, or not")
        if not values:
            self._partitioning = Partitioning.of(by, columns, definition.partitions)
            if self._partitioning.names:
                return {"stats": definition.statistics}
        try:
            return packing_options(root, self._named.keys, values, {})
        except NotFoundError:
            if values:
                raise
            return {}
        except UnsupportedError as error:
            names = ", ".join(field.field for field in definition.partitions)
            error.hint = f'columns {names}, option("partition", "field=value,..."), or sdb sync'
            raise

    def _is_in_the_way(self) -> bool:
        """Return whether nothing is to be written, as the table is there."""
        if self._if_exists == "error":
            raise ExistsError(
                f"{self._named.name} below {self._named.location} is there already",
                path=self._named.keys.index,
            )
        return self._if_exists == "ignore"

    def write(self, iterator: Iterator[pa.RecordBatch]) -> PackedTask:
        """Pack the rows of a task."""
        return self.pack(iterator, self._job)

    def pack(self, batches: Iterator[pa.RecordBatch], job: str) -> PackedTask:
        """Pack the rows of a task of a job, or of a batch of a stream.

        Rows that depart from the schema are no error of the task, which would be tried again.

        The name of a packfile has its content, job and task: what an attempt packs again is the
        same object, or one that no index lists.
        """
        task = task_number()
        if self._is_done:
            for _ in batches:
                pass
            return PackedTask(task)
        # Executors need no key: they read and write no index.
        root = table_root(self._named.location, keyring=Keyring())
        descriptors: list[bytes] = []
        with notes.heard() as warnings, ExitStack() as stack:
            for values, rows in self._partitioning.parts(batches, stack):
                source = self._packing.input(rows, task)
                if source is None:
                    continue
                try:
                    packed = pack_rows(
                        root,
                        self._named.keys,
                        [source],
                        rules=self._rules,
                        commit_id=f"{job}-{task}",
                        **(self._place | values | self._packing.arguments),
                    )
                except DepartingRowsError as error:
                    return PackedTask(task, departing=error.shown, hint=error.hint or "")
                if packed.descriptor is not None:
                    descriptors.append(ion.dumps(packed.descriptor.struct()))
        return PackedTask(task, tuple(descriptors), tuple(warnings[:_MOST_WARNINGS]))

    @hinted
    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Commit the packfiles of the job as one version; see :meth:`publish`."""
        self.publish(messages, self._job, is_new=not self._is_given)

    def publish(
        self, messages: Iterable[WriterCommitMessage | None], job: str, *, is_new: bool = False
    ) -> None:
        """Commit packfiles as one version.

        * ``job``: The id of the commit: it is made once.
        * ``is_new``: Whether no commit before can have the id.

        Raises `DepartingRowsError` if rows depart from the schema, which rejects them. Nothing has
        changed. Raises `ConflictError` if other writers were faster each time. Nothing has changed.
        Raises `UncertainError` if it is not known whether the table was changed.
        """
        tasks = [message for message in messages if isinstance(message, PackedTask)]
        tasks.sort(key=lambda message: message.task)
        if departing := [outcome for outcome in tasks if outcome.departing]:
            texts = [f"task {outcome.task}: {outcome.departing}" for outcome in departing]
            if (more := len(texts) - _MOST_TASKS) > 0:
                texts[_MOST_TASKS:] = [f"and some of {sizes.counted(more, 'more task')}"]
            raise refused(self._named.name, "; ".join(texts), departing[0].hint)
        for text in dict.fromkeys(text for outcome in tasks for text in outcome.warnings):
            notes.warn(text)
        added = tuple(
            [
                Descriptor.from_struct(ion.loads(descriptor))
                for outcome in tasks
                for descriptor in outcome.descriptors
            ]
        )
        root = self._named.root()

        def plan(index: TableIndex) -> TableChange | None:
            present: Sequence[Descriptor] = ()
            if self._is_overwriting:
                present, _ = packfiles_between(None, index, root.fetch)
            removed = frozenset(descriptor.key for descriptor in present)
            is_there = state_of(index.user_data) is not None or index.objects > 0
            if is_there and (self._is_in_the_way() or not (added or removed)):
                return None
            return TableChange(
                "overwrite" if self._is_overwriting else "insert",
                added,
                removed,
                author=self._author,
                message=self._message,
                since_us=self._since_us,
                counts=_counts(added, present),
            )

        try:
            done = commit(
                root,
                self._named.keys,
                plan,
                commit_id=job,
                is_new=is_new,
                branch=self._branch,
            )
        except UncertainError as error:
            error.hint = f'write it again with .option("txnId", "{job}"): not twice'
            raise
        _log.info("%s: version %d, %d packfiles", self._named.name, done.version, len(added))

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Leave what was packed: no index lists it, and `sdb gc` collects it.

        It may be in a version: the answer to a commit may have been lost.
        """


def _counts(came: Iterable[Descriptor], went: Iterable[Descriptor]) -> RowCounts | None:
    """Count the rows that come in and those that go; None: a packfile does not tell."""
    inserted, deleted = ([descriptor.rows for descriptor in each] for each in (came, went))
    if None in inserted or None in deleted:
        return None
    return RowCounts(sum(filter(None, inserted)), 0, sum(filter(None, deleted)))


def _branch(named: NamedTable) -> str:
    """Return the branch that is written to."""
    if not named.at:
        return MAIN
    reference = parse_reference(named.at)
    if reference.kind != "name":
        raise UsageError(
            f"writing to {named.name}@{named.at}: that is a version, which never changes",
            hint=f"{named.name}, or {named.name}@branch",
        )
    return reference.name
