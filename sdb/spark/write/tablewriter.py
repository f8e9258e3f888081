"""The writer of tables: each task packs a packfile, and the job commits one version with all."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from sdb import ion, notes, sizes
from sdb.errors import ExistsError, NotFoundError, UncertainError, UnsupportedError, UsageError
from sdb.spark.bulk.rowpacking import RowPacking
from sdb.spark.session.hinted import hinted
from sdb.spark.write.writer import task_number
from sdb.table.catalog.handle import find_table
from sdb.table.catalog.root import table_root
from sdb.table.commit.change import TableChange, packfiles_between
from sdb.table.commit.commit import check_branch, check_writable, commit, find_commit
from sdb.table.format.descriptor import Descriptor
from sdb.table.format.keys import check_id, new_uid
from sdb.table.format.signature import Keyring
from sdb.table.format.state import state_of
from sdb.table.format.versionref import MAIN, parse_reference
from sdb.table.insert.insert import packing_options
from sdb.table.packfiles.pack import pack_rows
from sdb.table.packfiles.rules import DepartingRowsError, check_spark, refused, rules_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
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
    """The packfile that a task has packed, which no index lists yet."""

    task: int  # number of the task
    # What an index says of it, as Ion; empty: there were no rows
    descriptor: bytes = field(default=b"", repr=False)
    warnings: tuple[str, ...] = ()  # for the driver to print
    departing: str = ""  # which rows depart from the schema, which rejects them
    hint: str = ""  # what can be done about these


class TableWriter(DataSourceArrowWriter):
    """Writes rows to a table, all of them in one version.

    * ``options``: Those of :class:`RowPacking`; ``txnId``, ``author`` and ``message``;
      ``partition``, as in ``day=2026-01-31,region=eu``, to which all rows belong; ``ifExists``,
      since Spark has no such modes for data sources in Python.
    * ``overwrite``: Whether the rows take the place of all that are there when the job commits.

    Raises
    ------
    UsageError
        No key for indexes, a version that is no branch, or an option that makes no sense.
    ExistsError
        The table is there, and `ifExists` is ``error``.
    UnsupportedError
        The table has partitions, and none is named, or they would be overwritten.
    UnknownReferenceError
        There is no such branch.
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
        self._place = self._place_of_rows(root, options.get("partition", ""))
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
        self._if_exists = options.get("ifExists", "append").lower()
        if self._if_exists not in {"append", "error", "ignore"}:
            raise UsageError(
                f"invalid ifExists {self._if_exists!r}: expected append, error or ignore"
            )
        if overwrite and self._if_exists != "append":
            raise UsageError("ifExists needs mode append")
        if head is not None and not self._is_done:
            self._is_done = self._is_in_the_way()

    def _place_of_rows(self, root: TableRoot, text: str) -> dict[str, Any]:
        """Return what packing must know of the partition that all rows belong to."""
        pairs = [pair.partition("=") for pair in text.split(",") if pair]
        values = {name.strip(): value.strip() for name, _, value in pairs}
        try:
            partition = packing_options(root, self._named.keys, values, {})
        except NotFoundError:
            if values:
                raise
            return {}
        except UnsupportedError as error:
            error.hint = 'option("partition", "field=value,..."), or sdb sync, which takes inputs'
            raise
        if "directory" in partition and self._is_overwriting:
            message = f"{self._named.name} has partitions: they are not overwritten"
            raise UnsupportedError(message, hint='mode("append")')
        return partition

    def _is_in_the_way(self) -> bool:
        """Return whether nothing is to be written, as the table is there."""
        if self._if_exists == "error":
            raise ExistsError(
                f"{self._named.name} below {self._named.location} is there already",
                path=self._named.keys.index,
            )
        return self._if_exists == "ignore"

    def write(self, iterator: Iterator[pa.RecordBatch]) -> PackedTask:
        """Pack the rows of a task.

        Rows that depart from the schema are no error of the task, which would be tried again.

        The name of the packfile has its content, job and task: what an attempt packs again is
        the same object, or one that no index lists.
        """
        task = task_number()
        if self._is_done:
            for _ in iterator:
                pass
            return PackedTask(task)
        rows = self._packing.input(iterator, task)
        if rows is None:
            return PackedTask(task)
        # Executors need no key: they read and write no index.
        root = table_root(self._named.location, keyring=Keyring())
        mark = f"{self._job}-{task}"
        with notes.heard() as warnings:
            try:
                packed = pack_rows(
                    root,
                    self._named.keys,
                    [rows],
                    rules=self._rules,
                    commit_id=mark,
                    **(self._place | self._packing.arguments),
                )
            except DepartingRowsError as error:
                return PackedTask(task, departing=error.shown, hint=error.hint or "")
        if packed.descriptor is None:
            return PackedTask(task)
        descriptor = ion.dumps(packed.descriptor.struct())
        return PackedTask(task, descriptor, tuple(warnings[:_MOST_WARNINGS]))

    @hinted
    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Commit the packfiles of the job as one version.

        Raises
        ------
        DepartingRowsError
            Rows depart from the schema, which rejects them. Nothing has changed.
        ConflictError
            Others were faster all the time. Nothing has changed.
        UncertainError
            It is not known whether the table was changed.
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
                Descriptor.from_struct(ion.loads(outcome.descriptor))
                for outcome in tasks
                if outcome.descriptor
            ]
        )
        root = self._named.root()

        def plan(index: TableIndex) -> TableChange | None:
            removed: frozenset[str] = frozenset()
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
            )

        try:
            done = commit(
                root,
                self._named.keys,
                plan,
                commit_id=self._job,
                is_new=not self._is_given,
                branch=self._branch,
            )
        except UncertainError as error:
            error.hint = f'write it again with .option("txnId", "{self._job}"): not twice'
            raise
        _log.info("%s: version %d, %d packfiles", self._named.name, done.version, len(added))

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Leave what was packed: no index lists it, and `sdb gc` collects it.

        It may be in a version: the answer to a commit may have been lost.
        """


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
