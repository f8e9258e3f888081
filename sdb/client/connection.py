"""`sdb.connect`: the tables below a root, in Python."""

from __future__ import annotations

from sdb.client.calls import ConnectionCalls
from sdb.client.table import Table
from sdb.errors import NotFoundError, UsageError
from sdb.store.url import absolute, check_scheme, is_server
from sdb.table.catalog.handle import find_table, open_table
from sdb.table.catalog.root import table_root
from sdb.table.format.keys import TableKeys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any, Unpack

    from sdb.client.options import (
        AppendOptions,
        ExecuteOptions,
        MaintainOptions,
        Params,
        RestoreOptions,
        SqlOptions,
        SyncOptions,
        WriteOptions,
    )
    from sdb.packfile.inputs.arguments import Inputs
    from sdb.query.result.result import Result
    from sdb.statements.effects import Executed
    from sdb.statements.transacting import TransactionContext
    from sdb.store.base import Location
    from sdb.table.catalog.root import TableRoot
    from sdb.table.catalog.storedqueries import StoredQuery
    from sdb.table.catalog.views import View
    from sdb.table.definition.definition import Definition
    from sdb.table.format.versionref import Given
    from sdb.table.history.restore import Restored
    from sdb.table.insert.insert import Inserted
    from sdb.table.inspect.describe import TableFacts
    from sdb.table.sync.result import Synced
    from sdb.table.upkeep.maintain import Maintained
    from sdb.table.upkeep.status import TableStatus


class Connection(ConnectionCalls):
    """The tables below a root. Use :func:`connect` to get one.

    Nothing is kept open: each call reads the newest version.

    Examples
    --------
    >>> db = sdb.connect("lake")
    >>> [(facts.database, facts.table, facts.rows) for facts in db.tables()]
    [('web', 'gha', 975)]
    >>> list(db.sql("SELECT COUNT(*) AS n FROM web.gha@1"))
    [{'n': 1000}]
    """

    def __init__(self, root: TableRoot, *, dialect: str | None = None) -> None:
        self._root = root
        self._defaults = {} if dialect is None else {"dialect": dialect}

    @property
    def root(self) -> TableRoot:
        """The root."""
        return self._root

    def tables(self, database: str | None = None) -> list[TableFacts]:
        """Return the facts of all tables, or of those of one database.

        Raises
        ------
        CorruptError
            An index is damaged.
        """
        from sdb.table.inspect.describe import facts

        databases = self._root.databases() if database is None else [database]
        names = [
            (database_name, table)
            for database_name in databases
            for table in self._root.tables(database_name)
        ]
        handles = [find_table(self._root, *name) for name in names]
        return [facts(handle) for handle in handles if handle is not None and not handle.is_dropped]

    def views(self, database: str | None = None) -> list[View]:
        """Return the views below the root, or those of one database, with their queries.

        Returns
        -------
        list of View
            Each has ``name``, ``newest`` (``version``, ``text``, ``at``, ``author``) and
            ``versions``; damaged ones are left out with a warning.

        Examples
        --------
        >>> text = "SELECT id FROM web.gha WHERE type = 'PushEvent'"
        >>> made = db.execute(f"CREATE VIEW web.pushes AS {text}")
        >>> [(view.name, view.newest.text) for view in db.views()]
        [('web.pushes', "SELECT id FROM web.gha WHERE type = 'PushEvent'")]
        """
        from sdb.table.catalog.views import views

        return list(views(self._root, database))

    def table(self, name: str) -> Table:
        """Return a table.

        Parameters
        ----------
        name : str
            Its name, ``db.table``, or a version of it, ``db.table@12``.

        Returns
        -------
        Table
            The table.

        Raises
        ------
        NotFoundError
            The table or the version does not exist, or no rows were appended yet.
        CorruptError
            Its index is damaged.
        """
        from sdb.table.format.keys import TableKeys
        from sdb.table.format.versionref import split_reference

        table, at = split_reference(name)
        try:
            view = Table(open_table(self._root, *_split(table)))
        except NotFoundError as error:
            keys = TableKeys(*_split(table))
            if self._root.has(keys.index) or not self._root.has(keys.definition):
                raise
            hint = f"append({table!r}, rows) of the connection inserts the first ones"
            raise NotFoundError(error.message, path=error.path, hint=hint) from None
        return view.at(at) if at else view

    def create(
        self,
        name: str,
        definition: Definition | str | Sequence[str],
        *,
        overwrite: bool = False,
        allow_inputs: Location | Iterable[Location] = (),
    ) -> Definition:
        """Create a table.

        Parameters
        ----------
        name : str
            Its name with that of the database: ``db.table``.
        definition : Definition, str or sequence of str
            The definition; or one or several patterns of inputs.
        overwrite : bool
            Whether the definition of an existing table may be replaced.
        allow_inputs : iterable of path or str
            Folders and URLs outside of the root below which its patterns may match inputs, besides
            those of the connection. They are not stored: each sync has to allow them.

        Returns
        -------
        Definition
            The stored definition.
        """
        from sdb.table.definition.create import create_table, definition_of
        from sdb.table.definition.definition import Definition
        from sdb.table.format.keys import TableKeys
        from sdb.table.sync.retained import warn_of_flaw

        if not isinstance(definition, Definition):
            patterns = [definition] if isinstance(definition, str) else definition
            definition = definition_of(patterns, self._root)
        root = self._root.allowing(allow_inputs)
        stored = create_table(root, *_split(name), definition, overwrite=overwrite)
        warn_of_flaw(root, TableKeys(*_split(name)), stored)
        return stored

    def append(self, name: str, inputs: Inputs, **options: Unpack[AppendOptions]) -> Inserted:
        """Insert rows into a table, or into a branch of it; concurrent threads share a commit.

        Parameters
        ----------
        name : str
            The table, ``db.table``, or a branch of it, ``db.table@branch``.
        inputs : path, URL, binary file, table, iterable of these, or iterable of rows
            As in :func:`sdb.pack`: rows are dicts or dataclasses; tables are data frames of pandas
            and polars, and all that has ``__arrow_c_stream__``.
        nulls : {"null", "missing"}
            What fields of rows and tables are that are ``None`` or null.
        txn_id : str
            The client's own id. The same one again inserts nothing, and returns the same version.
        author, message : str
            Recorded in the version.
        partition : mapping
            A value for each field that the table has partitions by: all rows get it.
        format, hints, level, stats, time_fields, times, on_error, threads, progress
            As in :func:`sdb.pack`; `stats` are those of the definition if not given.

        Returns
        -------
        Inserted
            The version that has the rows.

        Raises
        ------
        InputError
            A value that no row can have; the message names the row and the field.
        NotFoundError, UnsupportedError, ConflictError, UncertainError
            There is no such table; it has partitions; other writers won every race; it is not known
            whether the rows are in.
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
        **options: Unpack[SyncOptions],
    ) -> Synced:
        """Take the new inputs of a table, each one once.

        Parameters
        ----------
        name : str
            Its name with that of the database: ``db.table``.
        allow_inputs : iterable of path or str
            Folders and URLs outside of the root below which its patterns may match inputs, besides
            those of the connection.
        dry_run : bool
            Whether to report only what a sync would take.
        retry : bool
            Whether to try inputs again that failed before.
        changed, vanished : str
            What to do with rows of inputs that have changed, or are gone: ``keep``, or as in
            docs/tables.md. If not given they stay; those of Delta and Iceberg tables follow these.
        branch : str
            The branch that gets the rows.
        author : str
            Recorded in the versions.
        format, hints, level, stats, time_fields, threads, progress
            As in :func:`sdb.pack`.

        Returns
        -------
        Synced
            The inputs that were taken, and the versions.
        """
        from sdb.table.sync.sync import sync_table

        return sync_table(self._root.allowing(allow_inputs), *_split(name), **options)

    def maintain(self, name: str | None = None, **options: Unpack[MaintainOptions]) -> Maintained:
        """Keep tables small, as their definitions say: ``sdb maintain``.

        Inputs are taken where the definition asks for that, packfiles merged, old rows and versions
        go, and objects are deleted that no version needs.

        Parameters
        ----------
        name : str, optional
            ``db``, ``db.table`` or ``db.pattern*``; all tables if not given.
        interval : str or float, optional
            Time between rounds, as in ``"1m"``; without it there is one round.
        stop : threading.Event, optional
            Set to stop; what is under way ends soon, and leaves its table whole.
        tell : callable, optional
            Called with each step that was done.
        dry_run : bool
            Whether to report only what would be done.
        grace : str or float, optional
            Grace period of collections; that of the definition, or ``24h``, if not given.
        cpu_share : float, optional
            Share of one processor, on average.
        min_free_bytes : int
            Free space that compactions leave on the disk.
        author : str
            Recorded in the versions.

        Examples
        --------
        >>> db = sdb.connect("lake")
        >>> for action in db.maintain("web", dry_run=True).actions:
        ...     print(action.table, action.action, action.text)
        """
        from sdb.exchange.policies import Exporter
        from sdb.query.rows.mirrorcolumns import packfile_columns
        from sdb.table.upkeep.maintain import TableChoice, maintain_tables

        database, _, pattern = (name or "").partition(".")
        return maintain_tables(
            self._root,
            TableChoice(database, pattern or "*"),
            export=Exporter(options.get("stop"), packfile_columns),
            **options,
        )

    def status(self, name: str | None = None, *, exact: bool = False) -> list[TableStatus]:
        """Report what tables need, and which command mends it: ``sdb status``.

        Parameters
        ----------
        name : str, optional
            ``db``, ``db.table`` or ``db.pattern*``; all tables if not given.
        exact : bool
            Whether objects that no version needs are counted exactly, however many versions there
            are.
        """
        from sdb.table.upkeep.maintain import TableChoice
        from sdb.table.upkeep.status import table_status

        database, _, pattern = (name or "").partition(".")
        tables = TableChoice(database, pattern or "*").check(self._root).tables(self._root)
        return [table_status(self._root, keys, exact=exact) for keys in tables]

    def restore(self, name: str, reference: Given, **options: Unpack[RestoreOptions]) -> Restored:
        """Make the content of an old version new; options as in :meth:`sdb.Table.restore`."""
        from sdb.table.history.restore import restore

        return restore(self._root, TableKeys(*_split(name)), reference, **options)

    def sql(self, text: str, params: Params = None, **options: Unpack[SqlOptions]) -> Result:
        """Run a query on tables and packfiles below the root.

        Parameters
        ----------
        text : str
            The query, see docs/sql.md.
        params : mapping, optional
            Values of ``$name`` in the query, which may be lists: ``type IN ($types)``.
        threads, memory_bytes, prune, typed, strict, dialect, since, until, time_field
            As in :func:`sdb.sql`.
        at, tables
            As in :func:`sdb.sql`: versions of tables.

        Returns
        -------
        Result
            The rows, which are computed when they are first read.
        """
        from sdb.query.run.api import sql

        return sql(text, params, root=self._root.location, **self._chosen(options))

    def stored_queries(self) -> list[StoredQuery]:
        """Return the stored queries below the root, sorted by name.

        Returns
        -------
        list of StoredQuery
            Each has ``name``, ``text``, ``params``, ``description`` and ``dialect``; damaged ones
            are left out with a warning.

        Examples
        --------
        >>> text = "SELECT COUNT(*) AS n FROM web.gha WHERE type = $type"
        >>> stored = db.store_query("types", text, params=["type:text=PushEvent"])
        >>> [(query.name, query.params[0].text) for query in db.stored_queries()]
        [('types', 'type:text=PushEvent')]
        """
        from sdb.table.catalog.storedqueries import queries

        return list(queries(self._root))

    def store_query(
        self,
        name: str,
        text: str,
        *,
        params: Sequence[str] = (),
        description: str = "",
        replace: bool = False,
        dialect: str | None = None,
    ) -> StoredQuery:
        """Store a query under a name, by which :meth:`run_query` and `sdb serve` answer it.

        Parameters
        ----------
        name : str
            Its name: letters, digits, ``_`` and ``-``.
        text : str
            The query, with parameters as ``$name``.
        params : sequence of str
            Its parameters, each as ``name:type`` or ``name:type=default``, of the types ``text``,
            ``integer``, ``number``, ``boolean``, ``time`` and ``list``.
        description : str
            What it is for.
        replace : bool
            Whether it may replace a query of the same name.
        dialect : str, optional
            What it means in all requests: ``standard`` or ``sneller``; if not given the dialect of
            the connection, see :func:`sdb.connect`.

        Returns
        -------
        StoredQuery
            What was stored.

        Raises
        ------
        QueryError, UsageError
            It cannot be parsed, or has other parameters than those that are declared.
        ExistsError
            There is one of that name, and `replace` is off.
        """
        from sdb.query.run.storedquery import checked
        from sdb.table.catalog.storedqueries import StoredQuery, param, put

        declared = tuple([param(each) for each in params])
        nearest = dialect or self._defaults.get("dialect")
        query = checked(StoredQuery(name, text, declared, description), nearest)
        put(self._root, query, replace=replace)
        return query

    def drop_query(self, name: str) -> None:
        """Delete a stored query.

        Parameters
        ----------
        name : str
            Its name.

        Raises
        ------
        NotFoundError
            Nothing has the name.
        """
        from sdb.table.catalog.storedqueries import drop

        drop(self._root, name)

    def run_query(self, name: str, params: Mapping[str, object] | None = None) -> Result:
        """Run a stored query.

        Parameters
        ----------
        name : str
            Its name.
        params : mapping, optional
            Values of its parameters; those that are left out have their defaults.

        Returns
        -------
        Result
            The rows, which are computed when they are first read.

        Raises
        ------
        NotFoundError
            Nothing has the name.
        UsageError
            A parameter is missing, unknown, or of another type.

        Examples
        --------
        >>> text = "SELECT COUNT(*) AS n FROM web.gha WHERE type = $type"
        >>> stored = db.store_query("events", text, params=["type:text"])
        >>> list(db.run_query("events", {"type": "NoSuchEvent"}))
        [{'n': 0}]
        """
        import time

        from sdb.query.run.storedquery import texts_of, values
        from sdb.table.catalog.storedqueries import find

        query = find(self._root, name)
        if query is None:
            raise NotFoundError(f"there is no query {name!r}", hint="sdb query-store list")
        bound, _ = values(query, texts_of(params or {}), time.time_ns() // 1000)
        return self.sql(query.text, params=bound, dialect=query.dialect)

    def execute(
        self,
        text: str,
        params: Mapping[str, object] | None = None,
        **options: Unpack[ExecuteOptions],
    ) -> list[Executed]:
        """Run statements that change tables.

        Parameters
        ----------
        text : str
            The statements, separated by semicolons.
        params : mapping, optional
            Values of ``$name`` in the statements.
        author, message, txn_id, dry_run, dialect, threads, memory_bytes, progress
            As in :func:`sdb.execute`.

        Returns
        -------
        list of Executed
            The result of each transaction.
        """
        from sdb.statements.execute import execute

        return execute(text, params, root=self._root, **self._chosen(options))

    def _chosen(self, options: Mapping[str, object]) -> dict[str, Any]:
        """Return options with those that the connection has for all statements."""
        return {**self._defaults, **options}

    def transaction(self, **options: Unpack[WriteOptions]) -> TransactionContext:
        """Begin a transaction: statements that become one version of each table, all at once.

        Parameters
        ----------
        author, message, txn_id, dry_run, threads, memory_bytes, progress
            As in :func:`sdb.execute`.

        Returns
        -------
        TransactionContext
            Collects statements in a ``with`` block, and runs them at its end.

        Examples
        --------
        >>> with db.transaction(message="retention") as tx:
        ...     tx.execute("DELETE FROM web.gha WHERE type = $type", params={"type": "WatchEvent"})
        ...     tx.execute("INSERT INTO web.gha VALUES ({'type': 'Note'})")
        """
        from sdb.statements.transacting import TransactionContext

        return TransactionContext(self._root, self._chosen(options))

    def __repr__(self) -> str:
        """Show the root."""
        return f"<Connection to {self._root.location}>"


def _split(name: str) -> tuple[str, str]:
    database, dot, table = name.partition(".")
    if not dot:
        raise UsageError(f"{name!r} is not the name of a table", expected="database.table")
    return database, table


def connect(
    root: Location = "",
    *,
    allow_inputs: Location | Iterable[Location] = (),
    dialect: str | None = None,
    token: str = "",
) -> Connection:
    """Connect to the tables below a root, or to those of a server.

    Below a root, columns that queries have decoded stay in memory for later ones of the process;
    the environment variable ``SDB_COLUMN_CACHE`` says how much, 256 MiB if not given.

    Parameters
    ----------
    root : path or str
        Folder or URL; the current folder when empty. ``http://host:7373`` is a server, ``sdb
        serve``: what cannot be done through it is an `UnsupportedError` that says why.
    allow_inputs : iterable of path or str
        Folders and URLs out of the root below which the patterns of tables may find inputs, besides
        those of the environment variable ``SDB_ALLOW_INPUTS``.
    dialect : str, optional
        The dialect of its queries and statements, see :func:`sdb.sql`.
    token : str, optional
        The token that a server asks for; ``SDB_TOKEN`` of the environment if not given.

    Returns
    -------
    Connection
        The connection. Nothing is read yet.

    Raises
    ------
    UsageError
        A key in the environment is invalid, or an allowed prefix or `dialect` is.

    Examples
    --------
    >>> db = sdb.connect("lake")
    >>> db.create("web.gha", "testdata/gh*.json.gz", allow_inputs=".").inputs[0].pattern
    'file://testdata/gh*.json.gz'
    >>> db.append("web.gha", "testdata/gh2015_1k.json.gz").version
    1
    """
    if is_server(root):
        from typing import cast

        from sdb.client.remote.connection import RemoteConnection
        from sdb.client.remote.transport import Transport

        remote = RemoteConnection(Transport(str(root), token), dialect=dialect)
        return cast("Connection", remote)  # what a server does not have says so
    if dialect is not None:
        from sdb.query.analyze.dialects import check

        check(dialect)
    check_scheme(root)
    from sdb.query.exec.columncache import keep_columns

    keep_columns()
    # Programs and notebooks change their folder; threads renew leases long after that.
    return Connection(table_root(absolute(root or "."), allow_inputs=allow_inputs), dialect=dialect)
