"""Finds the tables below the root that names in a query mean, and reads each version once."""

from __future__ import annotations

from sdb.query.exec.together import read_tables, settle
from sdb.query.plan.locations import (
    database_and_pattern,
    database_and_table,
    may_be_stored,
    version_in_quotes,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from sdb.errors import NotFoundError
    from sdb.query.exec.storedtable import StoredTable
    from sdb.query.plan.dataset import TableName
    from sdb.query.syntax import ast
    from sdb.table.catalog.handle import TableHandle

_SEVERAL = 2


class NamedTables:
    """Finds the tables below the root that names mean; a query sees one state of each.

    Parameters
    ----------
    root : str
        Folder or URL that relative paths start at; the current folder when empty.
    at : str
        The version of tables of which a query does not name one; the newest when empty.
    pinned : mapping
        Tables as they were read, by names with that of the database: what the query sees of them.
    known : mapping
        Tables that have a meaning of their own here, by the parts of their names, and ``@`` with
        the name of a branch behind them.
    """

    def __init__(
        self,
        root: str,
        at: str,
        pinned: Mapping[str, TableHandle],
        known: Mapping[tuple[str, ...], StoredTable],
    ) -> None:
        self._root = root
        self._at = at
        self._pinned = pinned
        self._known = known
        self._heads: dict[tuple[str, str], TableHandle | None] = {}
        self._handles: dict[tuple[object, ...], TableHandle | None] = {}
        self._names: dict[TableName, list[tuple[str, str]]] = {}
        self._read: dict[tuple[object, ...], StoredTable | None] = {}
        self._meant: dict[TableName, tuple[StoredTable, ...]] = {}

    def find(self, name: TableName) -> tuple[StoredTable, ...]:
        """Give the tables below the root that a name means; none: it means files."""
        is_name = name.kind in {"path", "file"}
        if is_name and (given := self._known.get(_with_branch(name))):
            return (given,)
        if name not in self._meant:
            found = [self._table(names, name) for names in self._candidates(name)]
            self._meant[name] = tuple([one for one in found if one is not None])
        return self._meant[name]

    def is_whole(self, name: TableName) -> bool:
        """Tell whether all packfiles of what a name means were looked at."""
        return all(one.is_whole for one in self.find(name))

    @property
    def is_any_read(self) -> bool:
        """Tell whether any table was read."""
        return any(self._read.values())

    def unknown(self, name: TableName) -> NotFoundError | None:
        """Give the error for a name that means no file, if it can be that of a table."""
        from sdb.query.exec.storedtable import unknown_table

        names = database_and_table(name, self._root)
        return unknown_table(self._root, *names) if names else None

    def open_together(self, statement: ast.Statement) -> None:
        """Open the tables of a statement, so that they are of one moment.

        What a transaction has changed in several of them is in all of them, or in none.
        """
        tables = [
            name for name in read_tables(statement) if not self._known.get(_with_branch(name))
        ]
        if len(tables) < _SEVERAL and all(name.kind in {"path", "file"} for name in tables):
            return

        def opened() -> list[TableHandle | None]:
            return [
                self._handle(names, _version_of(name))
                for name in tables
                for names in self._candidates(name)
            ]

        def forget(handle: TableHandle) -> None:
            self._heads.pop((handle.keys.database, handle.keys.table), None)
            for key in [key for key, one in self._handles.items() if one is handle]:
                del self._handles[key]

        settle(opened, forget)

    def close(self) -> None:
        """Close the packfiles of all tables."""
        for stored in self._read.values():
            if stored is not None:
                stored.close()

    def _candidates(self, name: TableName) -> list[tuple[str, str]]:
        """Give databases and tables that a name may mean; they are looked for once."""
        if name not in self._names:
            self._names[name] = self._meant_by(name)
        return self._names[name]

    def _meant_by(self, name: TableName) -> list[tuple[str, str]]:
        if pattern := database_and_pattern(name):
            from sdb.query.exec.storedtable import fitting_tables

            return fitting_tables(self._root, *pattern, is_glob=name.kind == "glob")
        names = database_and_table(name, self._root)
        return [names] if names is not None and may_be_stored(self._root, *names) else []

    def _table(self, names: tuple[str, str], name: TableName) -> StoredTable | None:
        """Open a version of a table, once: a query sees one state of what versions there are."""
        at = _version_of(name)
        key = (*names, at)
        if key not in self._read:
            from sdb.query.exec.storedtable import StoredTable

            handle = self._handle(names, at)
            self._read[key] = None if handle is None else StoredTable(handle)
        return self._read[key]

    def _handle(
        self, names: tuple[str, str], at: tuple[str, str | int] | None
    ) -> TableHandle | None:
        key = (*names, at)
        if key not in self._handles:
            from sdb.query.exec.storedtable import stored_version
            from sdb.table.catalog.handle import dropped

            handle = self._head(names)
            if handle is not None and (at or self._at):
                handle = stored_version(handle, at or ("ANY", self._at))
            elif handle is not None:
                handle = self._pinned.get(handle.name, handle)
                if handle.is_dropped:
                    raise dropped(handle.root, handle.keys)
            self._handles[key] = handle
        return self._handles[key]

    def _head(self, names: tuple[str, str]) -> TableHandle | None:
        if names not in self._heads:
            from sdb.query.exec.storedtable import stored_head

            self._heads[names] = stored_head(self._root, *names)
        return self._heads[names]


def _version_of(name: TableName) -> tuple[str, str | int] | None:
    """Give the version that a name asks for."""
    return name.at or (("ANY", text) if (text := version_in_quotes(name)) else None)


def _with_branch(name: TableName) -> tuple[str, ...]:
    """Give the parts of a name, and behind them the branch whose newest version it means."""
    if name.at is None:
        return name.parts
    kind, value = name.at
    return (*name.parts, f"@{value}" if kind in {"ANY", "BRANCH"} else "")
