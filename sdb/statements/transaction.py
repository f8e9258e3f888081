"""Transactions: statements that become one version of their table, or nothing.

The statements are carried out on the version that is there when they begin. When others have
committed meanwhile, packfiles that came in are looked at too before the version is put in place;
when a packfile that was rewritten is gone, everything starts over. Statements on several tables
become a version of each, all at once (:mod:`sdb.table.commit.twophase`).
"""

from __future__ import annotations

from contextlib import nullcontext

from sdb.errors import ConflictError, SdbError, UnsupportedError, UsageError
from sdb.log import Logger
from sdb.progress import silent
from sdb.query.syntax import writes
from sdb.records import field, record, replace
from sdb.retry import Backoff, default_patience
from sdb.statements.apply import StatementRunner, reads_tables
from sdb.statements.effects import Effect, Executed, row_counts
from sdb.statements.matching import QueryContext
from sdb.statements.targettable import (
    StaleError,
    TransactionOverlay,
    is_collected_since,
    tables_of,
    warn_of_left_out,
)
from sdb.table.catalog.intents import MOST_TABLES, read_together
from sdb.table.commit.change import (
    TableChange,
    TransactionDoneError,
    own_keys,
    packfiles_between,
)
from sdb.table.commit.commit import (
    check_branch,
    check_writable,
    commit,
    find_commit,
)
from sdb.table.commit.coordinator import TransactionAbortedError
from sdb.table.commit.environment import REAL, Environment
from sdb.table.commit.twophase import TablePart, commit_together
from sdb.table.format.keys import check_id, commit_on, flaw_of_name, new_uid, own_key
from sdb.table.format.versionref import MAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeAlias

    from sdb.progress import Progress
    from sdb.statements.matching import Follow
    from sdb.statements.targettable import TargetTable
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot
    from sdb.table.format.index import TableIndex

    Handles: TypeAlias = dict[str, TableHandle | None]

_log = Logger("sdb.query.writes")
_LONGEST_PAUSE_SECONDS = 1.0
_Alone = writes.CreateDatabase | writes.UndropTable | writes.Vacuum | writes.DescribedTable
_WORDS = {
    writes.Vacuum: "VACUUM",
    writes.UndropTable: "UNDROP TABLE",
    writes.DescribedTable: "COMMENT ON TABLE",
}
_WHOLE = {writes.CreateTable, writes.DropTable}
"""Statements that make a version even where no packfile comes or goes."""


@record
class Transaction:
    """Statements that are carried out together."""

    statements: tuple[writes.WriteStatement, ...]  # the statements, parameters bound
    root: TableRoot  # the root that the tables are below
    # Who does it, and why; the version tells it
    author: str = ""
    message: str = ""
    txn_id: str = ""  # the client's own id; empty: one is made
    fingerprint: str = ""  # an id of the request, recorded with it
    # The versions that its versions must follow, by the names of tables; of others any
    expects: Mapping[str, int] = field(default_factory=dict)
    is_dry: bool = False  # whether nothing is written, and rows are only counted
    is_raw: bool = False  # whether conditions name the fields of rows, and no columns of schemas
    # See :func:`sdb.sql`
    threads: int | None = None
    memory_bytes: int | None = None
    dialect: str | None = None
    # See :func:`sdb.statements.execute.execute`
    progress: Progress = silent
    follow: Follow = nullcontext
    env: Environment = REAL  # the clock and the dice


def carried_out(transaction: Transaction) -> Executed:
    """Carry a transaction out, and commit it.

    Raises `ConflictError` if other writers were faster each time. No table has changed. Raises
    `NotFoundError` if there is no such table. Raises `ExistsError` if the table or view that shall
    be made is there, or the other has its name. Raises `UnsupportedError` for rows for a table with
    partitions, or too many tables. Raises `UncertainError` or `UsageError` as
    :func:`sdb.table.commit.commit.commit` does.
    """
    for statement in transaction.statements:
        if isinstance(statement.write, _Alone):
            return _alone(transaction, statement.write)
        if isinstance(statement.write, writes.CreateView | writes.DropView | writes.UndropView):
            from sdb.statements.viewchanges import changed

            return changed(transaction, statement)
        if isinstance(statement.write, writes.AlterTable):
            from sdb.statements.altering import altered

            return altered(transaction, statement)
    attempts = _Attempts(transaction)
    backoff = Backoff(
        "carrying a transaction out",
        _log,
        first_seconds=_LONGEST_PAUSE_SECONDS,
        longest_seconds=_LONGEST_PAUSE_SECONDS,
        patience_seconds=default_patience(),
        clock=transaction.env,
    )
    newer: dict[str, TableIndex] = {}
    while True:
        error: SdbError
        is_known = False  # whether the index is read that the next attempt builds on
        try:
            return attempts.run(newer)
        except StaleError as stale:
            newer, is_known = {stale.head: stale.index}, True
            error = ConflictError(stale.message, path=stale.path, hint="run it again")
        except (TransactionAbortedError, TransactionDoneError) as lost:
            newer, error = {}, lost
        if not backoff.may_retry(error):
            raise backoff.exhausted(error)
        if not is_known:
            backoff.pause()


def _database_made(transaction: Transaction, write: writes.CreateDatabase) -> Executed:
    """Do nothing: a database comes with its first table."""
    if len(transaction.statements) > 1:
        raise UnsupportedError("CREATE SCHEMA must be the only statement of its transaction")
    name = write.table.database
    if flaw := flaw_of_name(name):
        raise UsageError(f"{name!r} names no database: {flaw}")
    return Executed((Effect("create_database", name),), name, 0, "", is_new=False)


def _alone(transaction: Transaction, write: _Alone) -> Executed:
    """Bring a table back, or tidy it up: what is about its versions, and no transaction."""
    if isinstance(write, writes.CreateDatabase):
        return _database_made(transaction, write)
    if not write.table.table:
        raise UnsupportedError("VACUUM DATABASE takes the tables one by one: vacuum each")
    word = _WORDS[type(write)]
    if isinstance(write, writes.DescribedTable):
        if len(transaction.statements) > 1:
            raise UnsupportedError(f"{word} must be the only statement of its transaction")
        from sdb.statements.altering import described

        return described(transaction, write)
    if len(transaction.statements) > 1 or transaction.txn_id:
        raise UnsupportedError(
            f"{word} must be the only statement of its transaction, without an ID"
        )
    (table,) = tables_of(transaction.root, transaction.statements)
    name, keys = table.keys.name, table.keys
    if table.branch != MAIN:
        raise UnsupportedError(f"{name}@{table.branch} is a branch, and no table")
    root, labels = transaction.root, {"author": transaction.author, "message": transaction.message}
    if isinstance(write, writes.Vacuum):
        from sdb.statements.vacuuming import vacuum

        is_dry = write.is_dry or transaction.is_dry
        progress, env = transaction.progress, transaction.env
        lenient = write.is_one_of_many
        vacuumed = vacuum(
            root, keys, dry_run=is_dry, lenient=lenient, progress=progress, env=env, **labels
        )
        is_new = vacuumed.version > 0
        return Executed((vacuumed,), name, vacuumed.version, "", is_new=is_new, is_dry=is_dry)
    from sdb.table.history.restore import undrop

    if transaction.is_dry:
        raise UnsupportedError("UNDROP TABLE has nothing to explain")
    done = undrop(root, keys.database, keys.table, **labels)
    effect = Effect("undrop", name)
    return Executed((effect,), name, done.version, "", is_new=done.is_new)


class _Attempts:
    """The attempts of one transaction."""

    def __init__(self, transaction: Transaction) -> None:
        self._all = transaction
        self._root = transaction.root
        self._tables = tables_of(transaction.root, transaction.statements)
        if len(self._tables) > MOST_TABLES:
            raise UnsupportedError(
                f"a transaction on {len(self._tables)} tables; the limit is {MOST_TABLES}"
            )
        self._by_head = {table.head: table for table in self._tables}
        self._name = " and ".join(table.name for table in self._tables)
        self._id = transaction.txn_id or new_uid(transaction.env.random_bytes)
        self._done: _Evaluated | None = None
        if transaction.txn_id:
            check_id(transaction.txn_id)

    def run(self, newer: Mapping[str, TableIndex]) -> Executed:
        """Try once, on the indexes that are there, or on those that are known to follow them."""
        if not self._all.is_dry:
            check_writable(self._root)
        for table in self._tables:
            check_branch(self._root, table.keys, table.branch)
        done = self._before()
        if done is not None:
            return done
        handles = self._open(newer)
        statements = self._to_do(handles)
        judged = self._judged_again(handles) or self._judged(handles, statements)
        to_do = {id(statement) for statement in statements}
        changes: dict[str, TableChange] = {}
        for head, view in judged.views.items():
            change = self._change(view, judged.effects, self._by_head[head])
            mine = [
                statement for statement in self._by_head[head].statements if id(statement) in to_do
            ]
            kinds = {type(statement.write) for statement in mine}
            if change.added or change.removed or kinds & _WHOLE:
                made = writes.CreateTable in kinds
                changes[head] = replace(change, makes_table=made, schema=self._schema(mine))
        if self._all.is_dry or not changes:
            executed = self._executed(judged, self._versions(handles), is_new=False)
        else:
            self._done = judged
            executed = self._commit(judged, changes)
        warn_of_left_out(self._all.statements, statements)
        return executed

    def _schema(self, statements: Sequence[writes.WriteStatement]) -> bytes | None:
        """Return the schema of a table that is made with columns."""
        for statement in statements:
            write = statement.write
            if not isinstance(write, writes.CreateTable) or not write.columns:
                continue
            if len(self._all.statements) > 1:
                raise UnsupportedError(
                    "CREATE TABLE with columns must be the only statement of its transaction"
                )
            from sdb.statements.altering import schema_of_columns
            from sdb.table.schema.stored import packed_schema

            now_us = self._all.env.now_us()
            return packed_schema(schema_of_columns(write.columns, statement.text, now_us))
        return None

    def _before(self) -> Executed | None:
        """Find out what the same id has done before; None: nothing."""
        if not self._all.txn_id:
            return None
        versions: dict[str, int] = {}
        for table in self._tables:
            done = find_commit(self._root, table.keys, self._all.txn_id, branch=table.branch)
            if done is not None:
                versions[table.head] = done
        if not versions:
            return None
        return self._executed(
            _Evaluated({}, {}, ()), versions, is_new=False, commit=self._all.txn_id
        )

    def _executed(
        self,
        judged: _Evaluated,
        versions: Mapping[str, int],
        *,
        is_new: bool,
        commit: str = "",
    ) -> Executed:
        named = {self._by_head[head].name: number for head, number in versions.items()}
        return Executed(
            judged.effects,
            self._name,
            next(iter(named.values()), 0),
            commit,
            is_new,
            is_dry=self._all.is_dry,
            versions=named if len(self._tables) > 1 else {},
        )

    def _open(self, newer: Mapping[str, TableIndex]) -> Handles:
        """Open the tables, so that they are of one moment."""
        opened = {table.head: table.open() for table in self._tables}
        handles = read_together(opened, lambda head: self._by_head[head].open())
        for head, index in newer.items():
            handle = handles[head]
            handles[head] = None if handle is None else replace(handle, index=index)
        return handles

    @staticmethod
    def _versions(handles: Handles) -> dict[str, int]:
        states = {
            head: None if handle is None else handle.state for head, handle in handles.items()
        }
        return {head: 0 if state is None else state.version for head, state in states.items()}

    def _to_do(self, handles: Handles) -> list[writes.WriteStatement]:
        """Return the statements that make sense for the tables as they are."""
        statements = self._all.statements
        is_alone = len(statements) == 1
        sensible = {
            id(statement)
            for table in self._tables
            for statement in table.to_do(handles[table.head], is_alone=is_alone)
        }
        return [statement for statement in statements if id(statement) in sensible]

    def _change(
        self, view: TransactionOverlay, effects: Sequence[Effect], table: TargetTable
    ) -> TableChange:
        names = {effect.operation for effect in effects}
        counts = row_counts(effects, table.name)
        return TableChange(
            names.pop() if len(names) == 1 else "transaction",
            tuple(view.added.values()),
            frozenset(view.removed),
            author=self._all.author,
            message=self._all.message,
            counts=counts,
            is_traced=view.are_rows_traced,
            ids=self._ids(self._all.fingerprint, table),
            expects=self._all.expects.get(table.name),
        )

    @staticmethod
    def _ids(own_id: str, table: TargetTable) -> tuple[str, ...]:
        return (commit_on(table.branch, own_id),) if own_id else ()

    def _plan(
        self, judged: _Evaluated, head: str, change: TableChange
    ) -> Callable[..., TableChange]:
        def plan(index: TableIndex) -> TableChange:
            self._by_head[head].check(judged.handles[head], index, change)
            return change

        return plan

    def _commit(self, judged: _Evaluated, changes: Mapping[str, TableChange]) -> Executed:
        """Commit what changes one table, or several."""
        if len(changes) > 1:
            return self._commit_together(judged, changes)
        ((head, change),) = changes.items()
        table = self._by_head[head]
        committed = commit(
            self._root,
            table.keys,
            self._plan(judged, head, change),
            commit_id=self._id,
            is_new=not self._all.txn_id,
            env=self._all.env,
            branch=table.branch,
        )
        versions = {head: committed.version}
        return self._executed(judged, versions, is_new=committed.is_new, commit=self._id)

    def _commit_together(self, judged: _Evaluated, changes: Mapping[str, TableChange]) -> Executed:
        """Commit what changes several tables."""
        parts = []
        for head, change in changes.items():
            table = self._by_head[head]
            # An id that was given is not that of the commits, which are others at each attempt.
            ids = (*self._ids(self._all.txn_id, table), *change.ids)
            plan = self._plan(judged, head, replace(change, operation="transaction", ids=ids))
            parts.append(TablePart(table.keys, plan, table.branch))
        env = self._all.env
        uid = new_uid(env.random_bytes)
        versions = commit_together(self._root, parts, uid=uid, env=env)
        own_id = self._all.txn_id or uid
        return self._executed(judged, versions, is_new=True, commit=own_id)

    def _judged(self, handles: Handles, statements: Sequence[writes.WriteStatement]) -> _Evaluated:
        """Carry all statements out."""
        views = {
            head: TransactionOverlay(
                self._root, self._by_head[head].keys, handle, is_raw=self._all.is_raw
            )
            for head, handle in handles.items()
        }
        effects = [self._work(views, statement).run() for statement in statements]
        return _Evaluated(handles, views, tuple(effects))

    def _judged_again(self, handles: Handles) -> _Evaluated | None:
        """Look only at what other writers have added; None: all has to be done again."""
        done = self._done
        if done is None or len(self._all.statements) > 1 or reads_tables(self._all.statements[0]):
            return None
        ((head, handle),) = handles.items()
        before = done.handles[head]
        if handle is None or before is None or is_collected_since(before, handle.index):
            return None
        added, gone = packfiles_between(before.index, handle.index, self._root.fetch)
        if set(map(own_key, done.views[head].removed)) & own_keys(gone):
            return None
        views = {head: TransactionOverlay.following(handle, done.views[head])}
        new = {descriptor.key for descriptor in added}
        (effect,) = done.effects
        more = self._work(views, self._all.statements[0], new).run()
        return _Evaluated(handles, views, (effect + more,))

    def _work(
        self,
        views: Mapping[str, TransactionOverlay],
        statement: writes.WriteStatement,
        only: set[str] | None = None,
    ) -> StatementRunner:
        (table,) = tables_of(self._root, (statement,))
        context = QueryContext(
            self._root.location,
            statement.text,
            {self._by_head[head].parts: view.table() for head, view in views.items()},
            self._all.env.now_us(),
            self._all.threads,
            self._all.memory_bytes,
            self._all.progress,
            self._all.follow,
            statement.dialect or self._all.dialect,
            visible=self._root.visible,
        )
        view = views[table.head]
        return StatementRunner(statement, view, context, self._id, self._all.is_dry, only)


@record
class _Evaluated:
    """Statements that were carried out on versions of tables, by the keys of the indexes."""

    handles: Handles
    views: Mapping[str, TransactionOverlay]
    effects: tuple[Effect, ...]
