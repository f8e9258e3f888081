"""Transactions: statements on one table that become one version, or nothing.

The statements are carried out on the version that is there when they begin. When others have
committed meanwhile, packfiles that came in are looked at too before the version is put in place;
when a packfile that was rewritten is gone, everything starts over.
"""

from __future__ import annotations

from contextlib import nullcontext

from sdb.errors import ConflictError, ExistsError, NotFoundError, SdbError, UnsupportedError
from sdb.progress import silent
from sdb.query.syntax import writes
from sdb.query.writes.carrying import StatementWork, reads_tables
from sdb.query.writes.effects import Effect
from sdb.query.writes.matching import QueryContext
from sdb.query.writes.tableview import TableView
from sdb.records import record, replace
from sdb.table.commit import (
    PATIENCE_SECONDS,
    check_branch,
    check_writable,
    commit,
    find_commit,
)
from sdb.table.names import TableKeys, check_name, new_uid
from sdb.table.references import MAIN
from sdb.table.surroundings import REAL, Surroundings
from sdb.table.tablechange import TableChange, packfiles_between
from sdb.table.tablehandle import dropped, find_table, read_definition

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdb.progress import Progress
    from sdb.query.writes.matching import Follow
    from sdb.query.writes.vacuuming import Vacuumed
    from sdb.table.definition import Definition
    from sdb.table.index import TableIndex
    from sdb.table.tablehandle import TableHandle
    from sdb.table.tableroot import TableRoot

_JUDGING = writes.Update | writes.Delete | writes.Truncate | writes.Merge | writes.DropTable


@record
class Transaction:
    """Statements on one table that are carried out together.

    Attributes
    ----------
    statements : tuple of WriteStatement
        The statements, parameters bound.
    root : TableRoot
        The root that the table is below.
    author, message : str
        Who does it, and why; the version tells it.
    txn_id : str
        The client's own id; empty: one is made.
    is_dry : bool
        Whether nothing is written, and rows are only counted.
    threads, memory_bytes : int or None
        See :func:`sdb.sql`.
    progress, follow : callable
        See :func:`sdb.query.writes.execute.execute`.
    around : Surroundings
        The clock and the dice.
    """

    statements: tuple[writes.WriteStatement, ...]
    root: TableRoot
    author: str = ""
    message: str = ""
    txn_id: str = ""
    is_dry: bool = False
    threads: int | None = None
    memory_bytes: int | None = None
    progress: Progress = silent
    follow: Follow = nullcontext
    around: Surroundings = REAL


@record
class Executed:
    """The result of a transaction.

    Attributes
    ----------
    effects : tuple of Effect or Vacuumed
        What each statement did; none if the id was done before.
    table : str
        The table, as ``db.table``.
    version : int
        The version that it made; where nothing changed the one that was there, 0 without any.
    commit : str
        The id of the commit; empty when there was none.
    is_new : bool
        Whether it made a version.
    is_dry : bool
        Whether it only tells what would change.
    """

    effects: tuple[Effect | Vacuumed, ...]
    table: str
    version: int
    commit: str
    is_new: bool
    is_dry: bool = False

    def as_dict(self) -> dict[str, object]:
        """Give it as plain values with stable names, for JSON."""
        return {
            "table": self.table,
            "version": self.version,
            "id": self.commit or None,
            "new": self.is_new,
            "dry_run": self.is_dry,
            "statements": [effect.as_dict() for effect in self.effects],
        }


class _StaleError(SdbError):
    """Others have committed what the statements have to be judged on.

    Attributes
    ----------
    index : TableIndex
        The index that the version would follow. Where another program has overwritten versions, it
        has what they did, which nobody else can read yet.
    """

    exit_code = ConflictError.exit_code

    def __init__(self, message: str, path: str, index: TableIndex) -> None:
        super().__init__(message, path=path)
        self.index = index


def carried_out(transaction: Transaction) -> Executed:
    """Carry a transaction out, and commit it.

    Raises
    ------
    ConflictError
        Others were faster all the time. Nothing has changed.
    NotFoundError
        There is no such table.
    ExistsError
        The table that shall be made is there.
    UnsupportedError
        Statements on several tables, or rows for a table with partitions.
    UncertainError, UsageError
        See :func:`sdb.table.commit.commit`.
    """
    for statement in transaction.statements:
        if isinstance(statement.write, writes.UndropTable | writes.Vacuum):
            return _alone(transaction, statement.write)
    attempts = _Attempts(transaction)
    began = transaction.around.elapsed()
    index: TableIndex | None = None
    while True:
        try:
            return attempts.run(index)
        except _StaleError as error:
            index = error.index
            if transaction.around.elapsed() - began >= PATIENCE_SECONDS:
                raise ConflictError(error.message, path=error.path, hint="run it again") from None


def _alone(transaction: Transaction, write: writes.UndropTable | writes.Vacuum) -> Executed:
    """Bring a table back, or tidy it up: what is about its versions, and no transaction."""
    word = "VACUUM" if isinstance(write, writes.Vacuum) else "UNDROP TABLE"
    if len(transaction.statements) > 1 or transaction.txn_id:
        raise UnsupportedError(f"{word} is a transaction of its own, without an ID")
    keys, branch = _place_of(transaction.statements)
    name = f"{keys.database}.{keys.table}"
    if branch != MAIN:
        raise UnsupportedError(f"{name}@{branch} is a branch, and no table")
    root, told = transaction.root, {"author": transaction.author, "message": transaction.message}
    if isinstance(write, writes.Vacuum):
        from sdb.query.writes.vacuuming import vacuum

        is_dry = write.is_dry or transaction.is_dry
        progress, around = transaction.progress, transaction.around
        found = vacuum(root, keys, dry_run=is_dry, progress=progress, around=around, **told)
        is_new = found.version > 0
        return Executed((found,), name, found.version, "", is_new=is_new, is_dry=is_dry)
    from sdb.table.tablerestore import undrop

    if transaction.is_dry:
        raise UnsupportedError("UNDROP TABLE has nothing to explain")
    done = undrop(root, keys.database, keys.table, **told)
    effect = Effect("undrop", name)
    return Executed((effect,), name, done.version, "", is_new=done.is_new)


class _Attempts:
    """The attempts of one transaction."""

    def __init__(self, transaction: Transaction) -> None:
        self._all = transaction
        self._root = transaction.root
        self._keys, self._branch = _place_of(transaction.statements)
        self._name = f"{self._keys.database}.{self._keys.table}"
        if self._branch != MAIN:
            self._name += f"@{self._branch}"
        self._id = transaction.txn_id or new_uid(transaction.around.random_bytes)
        self._done: _Judged | None = None
        if transaction.txn_id:
            check_name(transaction.txn_id, "transaction")

    def run(self, newer: TableIndex | None) -> Executed:
        """Try once, on the index that is there, or on one that is known to follow it."""
        all_ = self._all
        if not all_.is_dry:
            check_writable(self._root)
        root, keys, branch = self._root, self._keys, self._branch
        check_branch(root, keys, branch)
        if all_.txn_id:
            done = find_commit(root, keys, all_.txn_id, branch=branch)
            if done is not None:
                return Executed((), self._name, done, all_.txn_id, is_new=False)
        handle = find_table(root, keys.database, keys.table, branch=branch)
        if handle is not None and newer is not None:
            handle = replace(handle, index=newer)
        statements = self._to_do(handle)
        judged = self._judged_again(handle) or self._judged(handle, statements)
        view, effects = judged.view, judged.effects
        state = None if handle is None else handle.state
        version = 0 if state is None else state.version
        is_made = any(_is_whole(one) for one in statements)
        change = TableChange(
            _operation(effects),
            tuple(view.added.values()),
            frozenset(view.removed),
            author=all_.author,
            message=all_.message,
        )
        if all_.is_dry or not (is_made or change.added or change.removed):
            return Executed(effects, self._name, version, "", is_new=False, is_dry=all_.is_dry)
        self._done = judged
        is_judging = any(isinstance(one.write, _JUDGING) for one in statements)

        def plan(index: TableIndex) -> TableChange:
            self._check(handle, index, change, is_judging=is_judging)
            return change

        found = commit(
            root,
            keys,
            plan,
            commit_id=self._id,
            is_new=not all_.txn_id,
            around=all_.around,
            branch=branch,
        )
        return Executed(effects, self._name, found.version, self._id, found.is_new)

    def _check(
        self,
        handle: TableHandle | None,
        index: TableIndex,
        change: TableChange,
        *,
        is_judging: bool,
    ) -> None:
        """Insist on an index for which the statements were carried out."""
        before = None if handle is None else handle.index
        added, gone = packfiles_between(before, index, self._root.fetch)
        if lost := change.removed & {one.key for one in gone}:
            raise _StaleError(f"{min(lost)}: someone else has replaced it", min(lost), index)
        if is_judging and added:
            message = f"others have added {len(added):,} packfiles to {self._name} meanwhile"
            raise _StaleError(message, self._keys.index, index)

    def _judged(
        self, handle: TableHandle | None, statements: Sequence[writes.WriteStatement]
    ) -> _Judged:
        """Carry all statements out."""
        view = TableView(self._root, self._keys, handle)
        effects = [self._work(view, one).run() for one in statements]
        return _Judged(handle, view, tuple(effects))

    def _judged_again(self, handle: TableHandle | None) -> _Judged | None:
        """Look only at what others have added; None: all has to be done again."""
        done = self._done
        if done is None or handle is None or done.handle is None:
            return None
        if len(self._all.statements) > 1 or reads_tables(self._all.statements[0]):
            return None
        added, gone = packfiles_between(done.handle.index, handle.index, self._root.fetch)
        if done.view.removed & {one.key for one in gone}:
            return None
        view = TableView.following(handle, done.view)
        new = {one.key for one in added}
        (effect,) = done.effects
        more = self._work(view, self._all.statements[0], new).run()
        return _Judged(handle, view, (effect + more,))

    def _work(
        self,
        view: TableView,
        statement: writes.WriteStatement,
        only: set[str] | None = None,
    ) -> StatementWork:
        names = [self._keys.database, self._keys.table]
        if self._branch != MAIN:
            names.append(f"@{self._branch}")
        context = QueryContext(
            self._root.location,
            statement.text,
            {tuple(names): view.table()},
            self._all.around.now_us(),
            self._all.threads,
            self._all.memory_bytes,
            self._all.progress,
            self._all.follow,
        )
        return StatementWork(statement, view, context, self._id, self._all.is_dry, only)

    def _to_do(self, handle: TableHandle | None) -> list[writes.WriteStatement]:
        """Give the statements that make sense for the table as it is."""
        found = []
        is_there = handle is not None and not handle.is_dropped
        inserts = any(_inserts(one.write) for one in self._all.statements)
        definition = self._definition() if handle is None or (is_there and inserts) else None
        is_there = is_there or definition is not None
        for statement in self._all.statements:
            write = statement.write
            if isinstance(write, writes.CreateTable):
                if is_there and not write.if_not_exists:
                    raise ExistsError(
                        f"{self._name} below {self._root.location} is there already",
                        path=self._keys.index,
                        hint="CREATE TABLE IF NOT EXISTS leaves it as it is",
                    )
                if is_there:
                    continue
                is_there = True
            elif isinstance(write, writes.DropTable) and write.if_exists and not is_there:
                continue
            elif not is_there:
                is_dropped = handle is not None and handle.is_dropped
                error = dropped(self._root, self._keys) if is_dropped else None
                raise error or self._root.absent(self._keys)
            elif definition is not None and definition.partitions and _inserts(write):
                fields = ", ".join(one.field for one in definition.partitions)
                raise UnsupportedError(
                    f"inserting into {self._name}: it has partitions by {fields}",
                    hint="put inputs where its patterns find them, and run sdb sync",
                )
            elif isinstance(write, writes.DropTable):
                self._check_droppable(handle)
            found.append(statement)
        return found

    def _definition(self) -> Definition | None:
        try:
            return read_definition(self._root, self._keys)
        except NotFoundError:
            return None

    def _check_droppable(self, handle: TableHandle | None) -> None:
        """Refuse to drop a branch or a table that has some, and to do more at the same time."""
        if self._branch != MAIN:
            hint = f"sdb branch -d {self._keys.database}.{self._keys.table} {self._branch}"
            raise UnsupportedError(f"{self._name} is a branch, and no table", hint=hint)
        if len(self._all.statements) > 1:
            raise UnsupportedError("DROP TABLE is a transaction of its own")
        state = None if handle is None else handle.state
        if state is not None and state.branches:
            named = ", ".join(state.branches)
            raise UnsupportedError(f"{self._name} has branches: {named}", hint="delete them first")


@record
class _Judged:
    """Statements that were carried out on a version."""

    handle: TableHandle | None
    view: TableView
    effects: tuple[Effect, ...]


def _place_of(statements: Sequence[writes.WriteStatement]) -> tuple[TableKeys, str]:
    """Give the table and the branch of all statements."""
    tables = {one.write.table for one in statements if not isinstance(one.write, writes.Control)}
    if len(tables) > 1:
        named = " and ".join(sorted(table.name for table in tables))
        raise UnsupportedError(
            f"one transaction on {named}: a transaction changes one table",
            hint="give each table a transaction of its own",
        )
    (table,) = tables
    return TableKeys(table.database, table.table), table.branch or MAIN


def _operation(effects: Sequence[Effect]) -> str:
    """Name what a version does: its one operation, or that it is a transaction."""
    names = {effect.operation for effect in effects}
    return names.pop() if len(names) == 1 else "transaction"


def _is_whole(statement: writes.WriteStatement) -> bool:
    """Tell whether a statement makes a version even where no packfile comes or goes."""
    return isinstance(statement.write, writes.CreateTable | writes.DropTable)


def _inserts(write: writes.Write | writes.Control) -> bool:
    return isinstance(write, writes.InsertValues | writes.InsertQuery | writes.Merge)
