"""`sdb.connect`: the tables below a root, in Python."""

from __future__ import annotations

from sdb.errors import UsageError
from sdb.query.storedview import StoredTableView
from sdb.table.catalog.handle import find_table, open_table
from sdb.table.catalog.root import table_root

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from sdb.packfile.inputs.arguments import Inputs
    from sdb.query.result.result import Result
    from sdb.query.writes.transacting import Transacting
    from sdb.query.writes.transaction import Executed
    from sdb.store.base import Location
    from sdb.table.catalog.root import TableRoot
    from sdb.table.definition.definition import Definition
    from sdb.table.format.versionref import Given
    from sdb.table.history.restore import Restored
    from sdb.table.insert.insert import Inserted
    from sdb.table.inspect.describe import TableFacts
    from sdb.table.sync.result import Synced


class TableConnection:
    """The tables below a root. Use :func:`connect` to get one.

    Nothing is kept open: each call reads what is there then.

    Examples
    --------
    >>> db = sdb.connect("s3://bucket")                         # doctest: +SKIP
    >>> db.sql("SELECT COUNT(*) FROM web.gha").to_arrow()       # doctest: +SKIP
    """

    def __init__(self, root: TableRoot) -> None:
        self._root = root

    @property
    def root(self) -> TableRoot:
        """The root."""
        return self._root

    def tables(self, database: str | None = None) -> list[TableFacts]:
        """Give the facts of all tables, or of those of one database.

        Raises
        ------
        CorruptError
            An index is damaged.
        """
        from sdb.table.inspect.describe import facts

        databases = self._root.databases() if database is None else [database]
        names = [(one, table) for one in databases for table in self._root.tables(one)]
        handles = [find_table(self._root, *name) for name in names]
        return [facts(one) for one in handles if one is not None and not one.is_dropped]

    def table(self, name: str) -> StoredTableView:
        """Give a table.

        Parameters
        ----------
        name : str
            Its name with that of the database: ``db.table``, or ``db.table@12`` for a version, see
            :mod:`sdb.table.format.versionref`.

        Returns
        -------
        StoredTableView
            The table.

        Raises
        ------
        NotFoundError
            There is no such table, or no such version.
        CorruptError
            Its index is damaged.
        """
        from sdb.table.format.versionref import split_reference

        table, at = split_reference(name)
        view = StoredTableView(open_table(self._root, *_split(table)))
        return view.at(at) if at else view

    def create(
        self,
        name: str,
        definition: Definition | str | Sequence[str],
        *,
        overwrite: bool = False,
        allow_inputs: Location | Iterable[Location] = (),
    ) -> Definition:
        """Make a table, see :func:`sdb.table.definition.create.create_table`.

        Parameters
        ----------
        name : str
            Its name with that of the database: ``db.table``.
        definition : Definition, str or sequence of str
            What it takes; or a pattern of inputs, or several.
        overwrite : bool
            Whether the definition of a table that is there may be replaced.
        allow_inputs : iterable of path or str
            Folders and URLs out of the root below which its patterns may find inputs, besides those
            of the connection. The definition does not tell them: each sync has to allow them.

        Returns
        -------
        Definition
            What was stored.
        """
        from sdb.table.definition.create import create_table, definition_of
        from sdb.table.definition.definition import Definition

        if not isinstance(definition, Definition):
            patterns = [definition] if isinstance(definition, str) else definition
            definition = definition_of(patterns, is_remote=self._root.store.is_remote)
        root = self._root.allowing(allow_inputs)
        return create_table(root, *_split(name), definition, overwrite=overwrite)

    def append(self, name: str, inputs: Inputs, **options: Any) -> Inserted:  # noqa: ANN401
        """Insert rows into a table, see :func:`sdb.table.insert.groupcommit.append`.

        Into a branch of it for ``db.table@branch``, see :func:`sdb.table.insert.insert.insert`.
        """
        from sdb.table.insert import groupcommit, insert

        table, _, branch = name.partition("@")
        if branch:
            names = _split(table)
            return insert.insert(self._root, *names, inputs, branch=branch, **options)
        return groupcommit.append(self._root, *_split(name), inputs, **options)

    def sync(
        self,
        name: str,
        *,
        allow_inputs: Location | Iterable[Location] = (),
        **options: Any,  # noqa: ANN401
    ) -> Synced:
        """Take the new inputs of a table, see :func:`sdb.table.sync.sync.sync_table`.

        Parameters
        ----------
        name : str
            Its name with that of the database: ``db.table``.
        allow_inputs : iterable of path or str
            Folders and URLs out of the root below which its patterns may find inputs, besides those
            of the connection.
        options
            Those of `sync_table`.
        """
        from sdb.table.sync.sync import sync_table

        return sync_table(self._root.allowing(allow_inputs), *_split(name), **options)

    def restore(self, name: str, reference: Given, **options: Any) -> Restored:  # noqa: ANN401
        """Make old content a new version, see :func:`sdb.table.history.restore.restore`."""
        from sdb.table.history.restore import restore

        return restore(self._root, *_split(name), reference, **options)

    def sql(self, text: str, **options: Any) -> Result:  # noqa: ANN401 - those of `sdb.sql`
        """Run a query on tables and packfiles below the root; see :func:`sdb.query.api.sql`."""
        from sdb.query.api import sql

        return sql(text, root=self._root.location, **options)

    def execute(self, text: str, **options: Any) -> list[Executed]:  # noqa: ANN401 - its own
        """Carry out statements that change tables, see :func:`sdb.query.writes.execute.execute`."""
        from sdb.query.writes.execute import execute

        return execute(text, root=self._root, **options)

    def transaction(self, **options: Any) -> Transacting:  # noqa: ANN401 - those of `execute`
        """Begin a transaction: statements that become one version of each table, all at once.

        Parameters
        ----------
        options
            Those of :func:`sdb.execute`.

        Returns
        -------
        Transacting
            Takes statements in a ``with`` block, and carries them out at its end.

        Examples
        --------
        >>> with db.transaction(message="GDPR") as tx:          # doctest: +SKIP
        ...     tx.execute("DELETE FROM web.gha WHERE actor.id = $id", params={"id": 7})
        ...     tx.execute("INSERT INTO web.gha VALUES ({'note': 'gone'})")
        """
        from sdb.query.writes.transacting import Transacting

        return Transacting(self._root, options)

    def __repr__(self) -> str:
        """Show the root."""
        return f"<TableConnection to {self._root.location}>"


def _split(name: str) -> tuple[str, str]:
    database, dot, table = name.partition(".")
    if not dot:
        raise UsageError(f"{name!r} is not the name of a table", expected="database.table")
    return database, table


def connect(
    root: Location = "", *, allow_inputs: Location | Iterable[Location] = ()
) -> TableConnection:
    """Give the tables below a root.

    Parameters
    ----------
    root : path or str
        Folder or URL; the current folder when empty.
    allow_inputs : iterable of path or str
        Folders and URLs out of the root below which the patterns of tables may find inputs, besides
        those of the environment variable ``SDB_ALLOW_INPUTS``.

    Returns
    -------
    TableConnection
        The tables. Nothing is read yet.

    Raises
    ------
    UsageError
        The keys in the environment are none, or a place of inputs is none.
    """
    return TableConnection(table_root(root, allow_inputs=allow_inputs))
