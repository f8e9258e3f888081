"""Tables that a transaction changes: which statements make sense there, and for which index."""

from __future__ import annotations

from sdb import notes, sizes
from sdb.errors import (
    ConflictError,
    CorruptError,
    ExistsError,
    NotFoundError,
    SdbError,
    UnsupportedError,
)
from sdb.packfile.prune.predicate import Anywhere
from sdb.query.catalog.storedtable import TableSource
from sdb.query.catalog.tablescan import IndexSteps
from sdb.query.syntax import writes
from sdb.records import record
from sdb.table.catalog.handle import dropped, find_table
from sdb.table.catalog.views import find_view
from sdb.table.commit.change import own_keys, packfiles_between
from sdb.table.commit.naming import taken_by_view
from sdb.table.definition.cache import read_definition
from sdb.table.format.keys import TableKeys, own_key
from sdb.table.format.state import state_of
from sdb.table.format.versionref import MAIN
from sdb.table.packfiles.lazy import OpenObjects, TablePackfile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from typing import Self

    from sdb.packfile.prune.predicate import Predicate
    from sdb.packfile.read.reader import Packfile
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot
    from sdb.table.commit.change import TableChange
    from sdb.table.definition.definition import Definition
    from sdb.table.format.descriptor import Descriptor
    from sdb.table.format.index import TableIndex
    from sdb.table.schema.columns import TableSchema

_JUDGING = writes.Update | writes.Delete | writes.Truncate | writes.Merge | writes.DropTable
_INSERTING = writes.InsertValues | writes.InsertQuery | writes.Merge


class StaleError(SdbError):
    """Others have committed what the statements have to be judged on.

    * ``index``: The index that the version would follow. Where another program has overwritten
      versions, it has what they did, which nobody else can read yet.
    """

    exit_code = ConflictError.exit_code

    def __init__(self, message: str, path: str, head: str, index: TableIndex) -> None:
        super().__init__(message, path=path)
        self.head = head
        self.index = index


@record
class TargetTable:
    """A table that a transaction changes, or a branch of it."""

    root: TableRoot  # the root that it is below
    keys: TableKeys  # its names
    branch: str  # the branch
    statements: tuple[writes.WriteStatement, ...]  # the statements that change it

    @property
    def name(self) -> str:
        """Its name, for people."""
        name = self.keys.name
        return name if self.branch == MAIN else f"{name}@{self.branch}"

    @property
    def parts(self) -> tuple[str, ...]:
        """Its name as queries have it, by parts."""
        names = (self.keys.database, self.keys.table)
        return names if self.branch == MAIN else (*names, f"@{self.branch}")

    @property
    def head(self) -> str:
        """Key of its index."""
        return self.keys.branch(self.branch)

    def open(self) -> TableHandle | None:
        """Read its index; None: it is not there."""
        return find_table(self.root, self.keys.database, self.keys.table, branch=self.branch)

    def check(self, handle: TableHandle | None, index: TableIndex, change: TableChange) -> None:
        """Check that an index is one for which the statements were carried out.

        Raises `StaleError` if other writers have replaced a packfile, added some that have to be
        judged too, made or dropped the table, or begun a branch of it.
        """
        self._check_whole(handle, index)
        before = None if handle is None else handle.index
        try:
            added, gone = packfiles_between(before, index, self.root.fetch)
        except CorruptError as error:
            if not is_collected_since(handle, index):
                raise
            raise StaleError(error.message, self.keys.index, self.head, index) from None
        if lost := set(map(own_key, change.removed)) & own_keys(gone):
            message = f"{min(lost)}: someone else has replaced it"
            raise StaleError(message, min(lost), self.head, index)
        if added and any(isinstance(statement.write, _JUDGING) for statement in self.statements):
            packfiles = sizes.counted(len(added), "packfile")
            message = f"others have added {packfiles} to {self.name} meanwhile"
            raise StaleError(message, self.keys.index, self.head, index)

    def _check_whole(self, handle: TableHandle | None, index: TableIndex) -> None:
        """Check that statements on the table as a whole still make sense: see :meth:`to_do`."""
        state = state_of(index.user_data)
        kinds = {type(statement.write) for statement in self.statements}
        changed = ""
        if writes.CreateTable in kinds:
            was_there = handle is not None and not handle.is_dropped
            is_there = state is not None and not state.dropped
            # It is made by one commit, whose condition is that nobody else has.
            if was_there != is_there:
                changed = "made" if is_there else "dropped"
            elif handle is None and self.root.has(self.keys.definition):
                changed = "defined"
        elif writes.DropTable in kinds and state is not None and state.branches:
            changed = "begun a branch of"
        if changed:
            message = f"others have {changed} {self.name} meanwhile"
            raise StaleError(message, self.keys.index, self.head, index)

    def to_do(self, handle: TableHandle | None, *, is_alone: bool) -> list[writes.WriteStatement]:
        """Return the statements that make sense for the table as it is.

        * ``handle``: The table; None: it is not there.

        Raises `NotFoundError` or `ExistsError` if the table is not there, or is there already;
        `UnsupportedError` if a statement cannot be carried out on this table.
        """
        to_do = []
        is_there = handle is not None and not handle.is_dropped
        inserts = any(isinstance(statement.write, _INSERTING) for statement in self.statements)
        definition = self._definition() if handle is None or (is_there and inserts) else None
        is_there = is_there or definition is not None
        for statement in self.statements:
            write = statement.write
            if isinstance(write, writes.CreateTable):
                if is_there and not write.if_not_exists:
                    raise ExistsError(
                        f"{self.name} below {self.root.location} is there already",
                        path=self.keys.index,
                        hint="CREATE TABLE IF NOT EXISTS leaves it as it is",
                    )
                if is_there:
                    continue
                if find_view(self.root, self.keys.database, self.keys.table) is not None:
                    raise taken_by_view(self.root, self.keys)
                is_there = True
            elif isinstance(write, writes.DropTable) and write.if_exists and not is_there:
                continue
            elif not is_there:
                is_dropped = handle is not None and handle.is_dropped
                state = None if handle is None else handle.state
                error = dropped(self.root, self.keys, state) if is_dropped else None
                raise error or self._absent(write)
            elif definition is not None and definition.partitions and isinstance(write, _INSERTING):
                fields = ", ".join(partition.field for partition in definition.partitions)
                raise UnsupportedError(
                    f"inserting into {self.name}: it has partitions by {fields}",
                    hint="put inputs where its patterns find them, and run sdb sync",
                )
            elif isinstance(write, writes.DropTable):
                self._check_droppable(handle, is_alone=is_alone)
            to_do.append(statement)
        return to_do

    def _absent(self, write: writes.Write | writes.Control) -> SdbError:
        """Make the error for a statement on a table that is not there."""
        error = self.root.absent(self.keys)
        if isinstance(error, UnsupportedError):  # a view has its name
            error.hint = "writes go to the tables that it reads: sdb ls --views shows its query"
            if isinstance(write, writes.DropTable):
                error.hint = f"DROP VIEW {self.name} drops it"
        return error

    def _definition(self) -> Definition | None:
        try:
            return read_definition(self.root, self.keys)
        except NotFoundError:
            return None

    def _check_droppable(self, handle: TableHandle | None, *, is_alone: bool) -> None:
        """Refuse to drop a branch or a table that has some, and to do more at the same time."""
        if self.branch != MAIN:
            hint = f"sdb branch -d {self.keys.database}.{self.keys.table} {self.branch}"
            raise UnsupportedError(f"{self.name} is a branch, and no table", hint=hint)
        if not is_alone:
            raise UnsupportedError("DROP TABLE must be the only statement of its transaction")
        state = None if handle is None else handle.state
        if state is not None and state.branches:
            named = ", ".join(state.branches)
            raise UnsupportedError(f"{self.name} has branches: {named}", hint="delete them first")


def is_collected_since(handle: TableHandle | None, index: TableIndex) -> bool:
    """Return True if a collection has begun since a table was read: what it led to may be gone."""
    state = state_of(index.user_data)
    before = None if handle is None else handle.state
    return before is not None and state is not None and state.boundary_us != before.boundary_us


def tables_of(
    root: TableRoot, statements: Sequence[writes.WriteStatement]
) -> tuple[TargetTable, ...]:
    """Return the tables and branches that statements change, in the order of their keys."""
    statements_of: dict[tuple[TableKeys, str], list[writes.WriteStatement]] = {}
    for statement in statements:
        if not isinstance(statement.write, writes.Control):
            table = statement.write.table
            branch_key = TableKeys(table.database, table.table), table.branch or MAIN
            statements_of.setdefault(branch_key, []).append(statement)
    tables = [
        TargetTable(root, *branch_key, tuple(some)) for branch_key, some in statements_of.items()
    ]
    return tuple(sorted(tables, key=lambda table: table.head))


def warn_of_left_out(
    statements: Sequence[writes.WriteStatement], done: Sequence[writes.WriteStatement]
) -> None:
    """Warn of queries whose rows were to make tables that are there."""
    for statement in statements:
        write = statement.write
        is_done = any(statement is other for other in done)
        if not is_done and isinstance(write, writes.CreateTable) and write.query is not None:
            notes.warn(f"{write.table.name} is there already: no row of the query came in")


# Tables as a transaction sees them: a version, and what the transaction has changed so far.

_ANYWHERE = Anywhere()


class TransactionOverlay:
    """The packfiles of a version of a table, less some, and others.

    * ``handle``: The version; None: the table is new, and has no packfiles.
    * ``removed``: Keys of packfiles of the version that are gone.
    * ``added``: Descriptors of packfiles that came in, by their keys.
    * ``is_raw``: Whether conditions name the fields of rows as they are stored, and no columns.
    """

    def __init__(
        self,
        root: TableRoot,
        keys: TableKeys,
        handle: TableHandle | None,
        *,
        is_raw: bool = False,
    ) -> None:
        self.is_raw = is_raw
        self.root = root
        self.keys = keys
        self.handle = handle
        self.removed: set[str] = set()
        self.added: dict[str, Descriptor] = {}
        # Whether all packfiles that were rewritten say which rows their rows were
        self.are_rows_traced = True
        self._made = 0

    @property
    def schema(self) -> TableSchema | None:
        """The schema of the version; None: it has none, or the table is new."""
        return None if self.handle is None or self.handle.is_dropped else self.handle.schema

    def mark(self, commit_id: str) -> str:
        """Return what marks the key of the next new packfile, something else each time.

        Packfiles are named by their content, and two that a transaction makes may be alike: each
        has rows of its own.
        """
        self._made += 1
        return f"{commit_id}-{self._made}"

    @classmethod
    def following(cls, handle: TableHandle, view: TransactionOverlay) -> Self:
        """Return the view of a later version with what was changed in an earlier one."""
        overlay = cls(view.root, view.keys, handle, is_raw=view.is_raw)
        overlay.removed |= view.removed
        overlay.added |= view.added
        overlay.are_rows_traced = view.are_rows_traced
        overlay._made = view._made
        return overlay

    def replace(self, key: str, new: Iterable[Descriptor]) -> None:
        """Replace a packfile by others."""
        if self.added.pop(key, None) is None:
            self.removed.add(own_key(key))
        self.add(new)

    def add(self, new: Iterable[Descriptor]) -> None:
        """Add packfiles."""
        self.added |= {descriptor.key: descriptor for descriptor in new}

    def descriptors(self) -> Iterator[Descriptor]:
        """Iterate over all packfiles."""
        if self.handle is not None:
            there = self.handle.descriptors()
            yield from (
                descriptor for descriptor in there if own_key(descriptor.key) not in self.removed
            )
        yield from self.added.values()

    def table(self, only: Collection[str] | None = None) -> OverlaySource:
        """Return what queries read.

        * ``only``: Keys of the packfiles that are read; all if not given.
        """
        return OverlaySource(self, None if only is None else frozenset(only))


class OverlaySource(TableSource):
    """A view, of which as little is read as a query needs; a table for queries.

    * ``only``: Keys of the packfiles that are read; None: all.
    """

    def __init__(self, view: TransactionOverlay, only: frozenset[str] | None) -> None:
        if view.handle is not None:
            super().__init__(view.handle)
        else:
            self._objects = OpenObjects()
        self._view = view
        self._removed = frozenset(view.removed)
        self._added = tuple(view.added.values())
        self._only = only
        self._new: list[Packfile] | None = None

    @property
    def name(self) -> str:
        """Its name with that of the database."""
        return self._view.keys.name

    @property
    def schema(self) -> TableSchema | None:
        """The schema of its rows."""
        return None if self._view.handle is None or self._view.is_raw else super().schema

    def packs(self, test: Predicate = _ANYWHERE) -> list[Packfile]:
        """Return the packfiles that can hold rows for which a condition is TRUE."""
        old = [] if self._view.handle is None else super().packs(test)
        if self._new is None:
            self._new = [
                TablePackfile(self._view.root, descriptor.checked(), self._objects)
                for descriptor in self._added
                if self._only is None or descriptor.key in self._only
            ]
        return [
            *(descriptor for descriptor in old if self._is_read(key_of(descriptor))),
            *self._new,
        ]

    def _is_read(self, key: str) -> bool:
        return own_key(key) not in self._removed and (self._only is None or key in self._only)

    @property
    def is_whole(self) -> bool:
        """True if all packfiles were looked at."""
        return self._view.handle is None or super().is_whole

    def steps(self, test: Predicate) -> IndexSteps:
        """Report what the index and its lists rule out by times."""
        count = len(self.packs(test))
        return IndexSteps(0, 0, count, count)


def key_of(pack: Packfile) -> str:
    """Return the key of a packfile of a table."""
    return _of_table(pack).key


def told_of(pack: Packfile) -> Descriptor:
    """Return what the index says of a packfile of a table."""
    return _of_table(pack).descriptor


def _of_table(pack: Packfile) -> TablePackfile:
    if not isinstance(pack, TablePackfile):
        raise TypeError(pack.path)
    return pack
