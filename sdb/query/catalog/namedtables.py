"""Finds the tables below the root that names in a query mean, and reads each version once."""

from __future__ import annotations

from contextlib import suppress

from sdb.errors import NotFoundError, QueryError, SdbError
from sdb.query.catalog.dataset import table_name
from sdb.query.catalog.locations import (
    database_and_pattern,
    database_and_table,
    may_be_stored,
    packfiles_in,
    version_in_quotes,
)
from sdb.query.syntax import ast, visitor
from sdb.records import replace
from sdb.store.url import is_pattern
from sdb.table.format.keys import joined, split_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import TypeAlias

    from sdb.errors import UnsupportedError
    from sdb.query.catalog.dataset import TableName
    from sdb.query.catalog.storedtable import TableSource
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import Visible
    from sdb.table.catalog.views import View

    OpenedTables: TypeAlias = dict[
        tuple[str, str, tuple[str, str | int] | None], TableHandle | None
    ]

_SEVERAL = 2


class NamedTables:
    """Finds the tables below the root that names mean; a query sees one state of each.

    * ``root``: Folder or URL that relative paths start at; the current folder when empty.
    * ``at``: The version of tables of which a query does not name one; the newest when empty.
    * ``pinned``: Tables as they were read, by names with that of the database: what the query sees
      of them.
    * ``known``: Tables that have their own meaning here, by the parts of their names, and
      ``@`` with the name of a branch behind them.
    * ``visible``: Whether a query may name a table; all if not given.
    """

    def __init__(
        self,
        root: str,
        at: str,
        pinned: Mapping[str, TableHandle],
        known: Mapping[tuple[str, ...], TableSource],
        visible: Visible | None = None,
    ) -> None:
        self._visible = visible
        self._root = root
        self._at = at
        self._pinned = pinned
        self._known = known
        self._withs: list[str] = []
        self._heads: dict[tuple[str, str], TableHandle | None] = {}
        self._handles: OpenedTables = {}
        self._names: dict[TableName, list[tuple[str, str]]] = {}
        self._read: dict[tuple[object, ...], TableSource | None] = {}
        self._meant: dict[TableName, tuple[TableSource, ...]] = {}
        self._views: dict[tuple[str, str], View | None] = {}

    def view(self, name: TableName, names: tuple[str, str], is_inner: bool) -> View | None:  # noqa: FBT001
        """Return the view that a name means; None: it means a table, a file or nothing.

        * ``names``: The database and the view.
        * ``is_inner``: Whether a view names it, which may name any.
        """
        visible = self._visible
        if self._known.get(_with_branch(name)) or joined(*names) in self._pinned:
            return None
        if visible is not None and not is_inner and not visible(*names):
            return None
        if names not in self._views:
            head = self._head(names) if may_be_stored(self._root, *names) else None
            is_table = head is not None and not head.is_dropped
            self._views[names] = None if is_table else self._found_view(names, head)
        return self._views[names]

    def _found_view(self, names: tuple[str, str], head: TableHandle | None) -> View | None:
        """Read a view, of whose name no table is; `head` is that of one that was dropped."""
        from sdb.table.catalog.root import table_root
        from sdb.table.catalog.views import find_view

        view = find_view(table_root(self._root), *names)
        if view is None or head is None:
            return view
        return replace(view, table_version=head.reader.version)

    def any_view(self, statement: ast.Statement) -> bool:
        """Return whether a statement names a view in FROM."""
        names = ((name, database_and_table(name, self._root)) for name in named_tables(statement))
        return any(pair and self.view(name, pair, False) for name, pair in names)  # noqa: FBT003

    def find(self, name: TableName) -> tuple[TableSource, ...]:
        """Return the tables below the root that a name means; none: it means files."""
        is_name = name.kind in {"path", "file"}
        if is_name and (source := self._known.get(_with_branch(name))):
            return (source,)
        if name not in self._meant:
            try:
                sources = [self._table(names, name) for names in self._candidates(name)]
            except SdbError as error:
                raise self.within(error, name) from None
            self._meant[name] = tuple([source for source in sources if source is not None])
        return self._meant[name]

    def within(self, error: SdbError, name: TableName) -> SdbError:
        """Return the error of a table, with the view that names it; tables may be of no concern."""
        if not name.through:
            return error
        if self._visible is not None and not self._visible(name.parts[0], name.parts[1]):
            is_named = self._visible(*split_name(name.through))  # else another view names it
            view = f"the view {name.through}" if is_named else "a view"
            if isinstance(error, NotFoundError):
                return NotFoundError(f"{view} reads what is not there")
            error.message = f"{view} cannot read its tables"
            error.hint = error.path = error.expected = None
            return error
        return error.within(f"the view {name.through}")

    def gone(self, name: TableName) -> SdbError:
        """Return the error for a table that a view names, and that is not there."""
        text, view = ".".join(name.parts), name.through
        message = f"there is no table {text} below {self._root or '.'}"
        hint = f"sdb ls --views shows the query of {view}; CREATE OR REPLACE VIEW gives it another"
        return self.within(NotFoundError(message, hint=hint), name)

    def times_below(self, table: ast.Table) -> set[tuple[str, ...]]:
        """Return the columns of a table below a view that have times."""
        from sdb.query.catalog.dataset import table_name
        from sdb.table.catalog.handle import time_paths

        name = table_name(table)
        if name is None:
            return set()
        try:
            handle = self._handle((name.parts[0], name.parts[1]), _version_of(name))
        except SdbError as error:
            raise self.within(error, name) from None
        paths = set() if handle is None else time_paths(handle)
        if handle is None or (schema := handle.schema) is None:
            return paths
        from sdb.table.schema.columns import walk

        return {names for names, path, _ in walk(schema.columns) if path in paths}

    def is_whole(self, name: TableName) -> bool:
        """Return whether all packfiles of what a name means were looked at."""
        return all(source.is_whole for source in self.find(name))

    @property
    def is_any_read(self) -> bool:
        """Return whether any table was read."""
        return any(self._read.values())

    def unknown(self, name: TableName) -> NotFoundError | UnsupportedError | None:
        """Return the error for a name that means no file, if it can be that of a table."""
        from sdb.query.catalog.storedtable import unknown_table

        names = database_and_table(name, self._root)
        if not names:
            return None
        return unknown_table(self._root, *names, is_quoted=name.kind == "file")

    def unseen(self, name: TableName, visible: Visible) -> NotFoundError:
        """Return the error for a name that means no table that the query may name.

        It is the same whether there is such a table or not.
        """
        from sdb.query.catalog.storedtable import visible_tables
        from sdb.query.syntax import hints

        text = ".".join(name.parts) if name.kind == "path" else name.text
        near = hints.near(text, visible_tables(self._root, visible))
        hint = f"did you mean {near}?" if near else None
        return NotFoundError(f"there is no table {text}", hint=hint)

    @property
    def opened(self) -> OpenedTables:
        """The tables that were opened, by names and the version that was asked for."""
        return dict(self._handles)

    def hinted(self, error: NotFoundError, name: TableName) -> NotFoundError:
        """Return the error for a word that means no file, with a name that may be meant.

        That is a query of WITH, a table below the root, whose database is missing here, or a
        packfile in the root.
        """
        if error.hint or name.kind != "path" or len(name.parts) != 1:
            return error
        from sdb.query.catalog.storedtable import same_table, stored_names
        from sdb.query.syntax import hints

        word = name.parts[0]
        near = hints.near(word, self._withs) or same_table(self._root, word)
        if near is None:
            tables = {name.partition(".")[2]: name for name in stored_names(self._root)}
            packfiles = packfiles_in(self._root)
            nearest = hints.near(word, [*packfiles, *tables]) or ""
            near = nearest if nearest in packfiles else tables.get(nearest)
        error.hint = f"did you mean {near}?" if near else None
        return error

    def name_queries(self, statement: ast.Statement) -> None:
        """Remember the names of the queries of WITH, which errors about tables suggest."""
        self._withs = [name for name, _ in statement.with_]

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
            for key in [key for key, known in self._handles.items() if known is handle]:
                del self._handles[key]

        settle(opened, forget)

    def close(self) -> None:
        """Close the packfiles of all tables."""
        for stored in self._read.values():
            if stored is not None:
                stored.close()

    def _candidates(self, name: TableName) -> list[tuple[str, str]]:
        """Return databases and tables that a name may mean; they are looked for once."""
        if name not in self._names:
            self._names[name] = self._meant_by(name)
        return self._names[name]

    def _meant_by(self, name: TableName) -> list[tuple[str, str]]:
        visible = None if name.through else self._visible
        names = self._fitting(name)
        return names if visible is None else [pair for pair in names if visible(*pair)]

    def _fitting(self, name: TableName) -> list[tuple[str, str]]:
        if pattern := database_and_pattern(name):
            from sdb.query.catalog.storedtable import fitting_tables

            return fitting_tables(self._root, *pattern, is_glob=name.kind == "glob")
        if name.kind == "file" and is_pattern(name.parts[0], self._root):
            from sdb.query.catalog.tablefiles import tables_fitting

            fitting = tables_fitting(name.parts[0], self._root)
            return [_pair(text.partition("@")[0]) for text in fitting]
        names = database_and_table(name, self._root)
        return [names] if names is not None and may_be_stored(self._root, *names) else []

    def _table(self, names: tuple[str, str], name: TableName) -> TableSource | None:
        """Open a version of a table, once: a query sees one state of what versions there are."""
        at = _version_of(name)
        key = (*names, at)
        if key not in self._read:
            from sdb.query.catalog.storedtable import TableSource

            handle = self._handle(names, at)
            self._read[key] = None if handle is None else TableSource(handle)
        return self._read[key]

    def _handle(
        self, names: tuple[str, str], at: tuple[str, str | int] | None
    ) -> TableHandle | None:
        key = (*names, at)
        if key not in self._handles:
            from sdb.query.catalog.storedtable import stored_version
            from sdb.table.catalog.handle import dropped

            handle = self._head(names)
            if handle is not None and (at or self._at):
                handle = stored_version(handle, at or ("ANY", self._at))
            elif handle is not None:
                handle = self._pinned.get(handle.name, handle)
                if handle.is_dropped:
                    raise dropped(handle.root, handle.keys, handle.state)
            self._handles[key] = handle
        return self._handles[key]

    def _head(self, names: tuple[str, str]) -> TableHandle | None:
        if names not in self._heads:
            from sdb.query.catalog.storedtable import stored_head

            self._heads[names] = stored_head(self._root, *names)
        return self._heads[names]


def _pair(text: str) -> tuple[str, str]:
    """Return the database and the table of a name like ``db.table``."""
    database, _, table = text.partition(".")
    return database, table


def _version_of(name: TableName) -> tuple[str, str | int] | None:
    """Return the version that a name asks for."""
    return name.at or (("ANY", text) if (text := version_in_quotes(name)) else None)


def _with_branch(name: TableName) -> tuple[str, ...]:
    """Return the parts of a name, and behind them the branch whose newest version it means."""
    if name.at is None:
        return name.parts
    kind, value = name.at
    return (*name.parts, f"@{value}" if kind in {"ANY", "BRANCH"} else "")


# Tables of a query that are opened together, so that they are of one moment.


def read_tables(statement: ast.Statement) -> list[TableName]:
    """Return the tables that a statement names in FROM, each as often as it does."""
    nodes = list(visitor.nodes(statement))
    aliases = {node.alias for node in nodes if isinstance(node, ast.Source)}
    aliases |= {name for name, _ in statement.with_}
    return [name for name in _names(nodes) if name.parts[0] not in aliases]


def named_tables(statement: ast.Statement) -> Iterator[TableName]:
    """Iterate over all names in FROM of a statement, also those of lists and queries of WITH."""
    return _names(list(visitor.nodes(statement)))


def _names(nodes: list[ast.Node]) -> Iterator[TableName]:
    for node in nodes:
        if isinstance(node, ast.PathTable | ast.CallTable):
            with suppress(QueryError):  # told when it is planned
                name = table_name(node)
                if name is not None:
                    yield name


def settle(
    opened: Callable[[], list[TableHandle | None]], forget: Callable[[TableHandle], None]
) -> None:
    """Read tables again as long as a transaction is in one of them and not in another.

    * ``opened``: Gives the tables, which are opened then if they are not yet.
    """
    from sdb.table.catalog.intents import head_key, read_together

    def by_key() -> dict[str, TableHandle | None]:
        return {
            key: handle for handle in opened() if handle is not None and (key := head_key(handle))
        }

    with suppress(SdbError):  # told when it is planned
        handles = by_key()

        def reopen(key: str) -> TableHandle | None:
            handle = handles.get(key)
            if handle is not None:
                forget(handle)
            handles.update(by_key())
            return handles.get(key)

        if len(handles) > 1:
            read_together(dict(handles), reopen)
