"""`sdb.sql`: queries on packfiles, from the text to its rows.

::

    text
      |  syntax      parse                       a tree
      |  analyze     bind, check                 names, types and constants are known
      v
    statement
      |  catalog     opens the tables            packfiles, and blocks that may matter
      |  joinkeys    reads small sides of joins  their keys leave out blocks of the large ones
      v
    statement and tables
      |  exec        engine.run: asks
      |    plan        who answers it            a scan alone, metadata alone, or DuckDB
      |    duckdb_sql  for DuckDB's text         over lanes of scans
      v
    execution
      |  result      makes rows                  when they are asked for
      v
    rows, and notes on them
"""

from __future__ import annotations

import time

from sdb import bounds, notes
from sdb.errors import UsageError
from sdb.progress import silent
from sdb.query.analyze import dialects
from sdb.query.analyze.check import check
from sdb.query.analyze.fills import between
from sdb.query.analyze.params import bind
from sdb.query.catalog.catalog import Catalog
from sdb.query.catalog.period import period
from sdb.query.plan.hints.dropped_rows import remarks
from sdb.query.plan.keyfilters import may_join
from sdb.query.plan.resolution import resolved
from sdb.query.plan.stars import expanded, warn_hidden
from sdb.query.plan.tablenames import named
from sdb.query.result.result import Result
from sdb.query.syntax import printer
from sdb.query.syntax.parser import parse
from sdb.records import field, record, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from sdb.cancellation import Cancellation
    from sdb.progress import Progress
    from sdb.query.catalog.dataset import TableName
    from sdb.query.catalog.namedtables import OpenedTables
    from sdb.query.catalog.period import Period
    from sdb.query.catalog.storedtable import TableSource
    from sdb.query.catalog.tablescan import TableScan
    from sdb.query.catalog.views import UsedView
    from sdb.query.exec.execution import Execution
    from sdb.query.syntax import ast
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import Visible

# Years, days, hours, minutes and seconds from now: no part of a time is the same then.
_LATER_US = ((4 * 366 + 33) * 86_400 + 5 * 3_600 + 7 * 60 + 11) * 1_000_000 + 13


def sql(  # noqa: PLR0913 - the command's options, by name
    text: str,
    *,
    params: Mapping[str, object] | None = None,
    root: str = "",
    threads: int | None = None,
    memory_bytes: int | None = None,
    prune: bool = True,
    typed: bool = True,
    strict: bool = False,
    since: str | datetime | None = None,
    until: str | datetime | None = None,
    time_field: str | Sequence[str] | None = None,
    at: str = "",
    dialect: str | None = None,
    tables: Mapping[str, TableHandle] | None = None,
    progress: Progress = silent,
) -> Result:
    """Run a query on packfiles.

    Parameters
    ----------
    text : str
        The query, see docs/sql.md.
    params : mapping, optional
        Values of the parameters ``$name`` in the query: text, numbers, booleans, ``None``,
        aware datetimes, and lists and dicts of them. Dates, decimals, UUIDs, scalars and arrays of
        numpy and others mean what they are in rows.
    root : str, optional
        Folder or URL where relative paths start; the current folder if not given.
    threads : int, optional
        How many threads decode and compute; without it one for each processor.
    memory_bytes : int, optional
        Memory for groups, joins and sorts; four fifths of what is free if not given. The rest is
        spilled to a temporary folder.
    prune : bool
        Whether to skip blocks that cannot hold a row for which WHERE is TRUE. Time indexes of
        the original tool may claim too much; without pruning they are not used.
    typed : bool
        Whether rows have typed values. Without it fields of unknown type come as JSON text, which
        is faster for output as lines of JSON or tables of text; other formats are refused then,
        since JSON does not distinguish times from strings.
    strict : bool
        Whether a field that no row has is an error, as far as packfiles prove it; else a warning.
    since, until : str or datetime, optional
        Of all tables only rows with a time from `since` on and before `until`, as if they had no
        others; blocks that the time index rules out are not read.
    time_field : str or sequence of str, optional
        Path of that time; without it the obvious one of each table.
    at : str
        The version of tables for which the query names none, as after the @ of ``db.t@-1d``; the
        newest if not given.
    dialect : str, optional
        ``standard``, or ``sneller`` for the original's meaning: docs/sneller-dialect.md. SET in the
        query goes before it; if not given it is what the environment variable ``SDB_DIALECT``
        says, or else ``standard``.
    tables : mapping, optional
        Open tables, by ``db.table``: the query reads these versions.

    Returns
    -------
    Result
        The rows, which are computed when they are first read.

    Raises
    ------
    QueryError
        The query cannot be parsed, or has no meaning.
    UsageError
        An invalid time, or no obvious path for it; or `dialect` is something else.
    NotFoundError, AccessError, CorruptError
        A packfile cannot be opened.
    InputError
        An input that is packed for the query is malformed.

    Examples
    --------
    >>> query = "SELECT type FROM 'events.zion' WHERE actor.login = $login"
    >>> with sdb.sql(query, params={"login": "soumith"}) as result:
    ...     list(result)
    [{'type': 'PushEvent'}]
    """
    bounds.THREADS.check(threads)
    bounds.MEMORY.check(memory_bytes)
    return run(
        bind(parse(text), params or {}),
        root=root,
        threads=threads,
        memory_bytes=memory_bytes,
        prune=prune,
        typed=typed,
        strict=strict,
        period=period(since, until, time_field),
        at=at,
        dialect=dialect,
        tables=tables,
        progress=progress,
    )


def run(  # noqa: PLR0913 - those of `sql`, and what transactions need
    statement: ast.Statement,
    *,
    root: str = "",
    threads: int | None = None,
    memory_bytes: int | None = None,
    prune: bool = True,
    typed: bool = True,
    strict: bool = False,
    period: Period | None = None,
    at: str = "",
    dialect: str | None = None,
    tables: Mapping[str, TableHandle] | None = None,
    known: Mapping[tuple[str, ...], TableSource] | None = None,
    now_us: int | None = None,
    visible: Visible | None = None,
    cancellation: Cancellation | None = None,
    opened: OpenedTables | None = None,
    progress: Progress = silent,
) -> Result:
    """Run a query that was parsed, see :func:`sql`.

    * ``root, threads, memory_bytes, prune, typed, strict, at, dialect, tables, progress``: See
      :func:`sql`.
    * ``known``: Tables that have a meaning of their own here, by the parts of their names.
    * ``now_us``: The instant of UTCNOW(), in microseconds since 1970; the present if not given.
    * ``visible``: The tables that the query may name; it may then name no file either.
    * ``cancellation``: Stops it, also before there are rows.
    * ``opened``: Tables as :func:`planned` has opened them: the query reads these versions.
    """
    now_us = time.time_ns() // 1000 if now_us is None else now_us
    is_by_setting = dialects.is_by_setting(statement, dialect)
    statement = dialects.settled(statement, dialect)
    if statement.described is not None and period is not None:
        raise UsageError("DESCRIBE and SUMMARIZE take all rows: leave out since and until")
    catalog = Catalog(
        root,
        prune=prune,
        now_us=now_us,
        threads=threads,
        progress=progress,
        period=period,
        at=at,
        pinned=tables,
        known=known,
        visible=visible,
        cancellation=cancellation,
        opened=opened,
    )
    execution = None
    try:
        statement = catalog.with_views(statement)
        if statement.described is not None:
            execution = _described(statement, statement.described, catalog)
        else:
            # Tables are opened after a look at the query, but for those whose fields stars need.
            if period is not None:
                statement = between(statement, period.start_us, period.stop_us, period.field)
            statement = check(_written_out(statement, catalog, strict=strict), now_us)
            if opened is None:
                catalog.open_together(statement)
            catalog.check_cancelled()
            if prune:
                statement = _with_join_keys(statement, catalog, threads, memory_bytes)
            execution = _executed(statement, catalog, threads, memory_bytes, typed=typed)
            if is_by_setting:
                execution.say(dialects.note())
            catalog.warn_absent_paths(statement, strict=strict)
        catalog.check_cancelled()
    except BaseException:
        if execution is not None:
            execution.close()
        catalog.close()
        raise
    execution.on_close(catalog.close)
    execution.dialect = statement.dialect
    return Result(statement.text, execution, catalog.tables)


@record
class QueryPlan:
    """A query that was planned, and not run."""

    text: str  # the statement, with its parameters, stars, views and the present written out
    statement: ast.Statement = field(repr=False)  # the one that runs: with its views written out
    views: list[UsedView]  # the views that it reads, also through others
    tables: list[TableScan]  # what it would read
    opened: OpenedTables  # the tables that it names, by names and the version that was asked for
    warnings: list[str]  # what may mislead, as far as it is known before rows are read
    notes: list[str]  # notes on the answer that metadata of all packfiles decides, if asked for
    depends_on_now: bool  # whether it is another statement at another time


def planned(  # noqa: PLR0913 - those of `run`
    statement: ast.Statement,
    *,
    root: str = "",
    period: Period | None = None,
    at: str = "",
    now_us: int,
    visible: Visible | None = None,
    tables: Mapping[str, TableHandle] | None = None,
    cancellation: Cancellation | None = None,
    with_notes: bool = False,
) -> QueryPlan:
    """Plan a query that was parsed: no row is read, and small sides of joins neither.

    The parameters are those of :func:`run`, and so is what is raised.

    * ``with_notes``: Whether the notes on the answer are wanted, as far as metadata has them.
    """
    statement = dialects.settled(statement, None)
    catalog = Catalog(
        root,
        now_us=now_us,
        period=period,
        at=at,
        pinned=tables,
        visible=visible,
        cancellation=cancellation,
    )
    lines: list[str] = []
    try:
        with notes.collected() as warnings:
            whole = statement = catalog.with_views(statement)
            if statement.described is not None:
                from sdb.query.catalog.tables import table_name

                name = table_name(statement.described)
                catalog(() if name is None else (name,), None)
                text, later = printer.statement(statement), ""
            else:
                if period is not None:
                    statement = between(statement, period.start_us, period.stop_us, period.field)
                written = _written_out(statement, catalog)
                statement = check(written, now_us)
                text = printer.statement(statement)
                later = printer.statement(check(written, now_us + _LATER_US))
                lines = _opened(statement, catalog, with_notes=with_notes)
        return QueryPlan(
            text,
            whole,
            catalog.views,
            catalog.tables,
            catalog.opened,
            warnings,
            lines,
            bool(later) and text != later,
        )
    finally:
        catalog.close()


def _opened(statement: ast.Statement, catalog: Catalog, *, with_notes: bool) -> list[str]:
    """Open the tables of a statement as far as its plan needs; return notes on the answer."""
    from sdb.query.exec import engine
    from sdb.query.exec.notes import notes_on

    catalog.open_together(statement)
    execution = engine.run(replace(statement, explain="text"), datasets=catalog)
    try:
        lines = notes_on(statement, execution, catalog)() if with_notes else []
    finally:
        execution.close()
    catalog.warn_absent_paths(statement)
    return lines


def _written_out(
    statement: ast.Statement, catalog: Catalog, *, strict: bool = False
) -> ast.Statement:
    """Return a statement in which stars are the fields they mean, and names those of sources."""
    catalog.name_queries(statement)
    named_tables = named(statement, catalog.top_fields)
    warn_hidden(named_tables, catalog.top_fields)
    whole = expanded(named_tables, catalog.top_fields)

    def has(tables: tuple[TableName, ...], name: str) -> bool:
        known = catalog.has_field(tables, name)
        if known is not None:
            return known
        from sdb.query.exec.engine import holds

        return holds(catalog.look(tables, None), (name,))

    return resolved(whole, has, is_standard=whole.dialect != "sneller", strict=strict)


def _described(statement: ast.Statement, table: ast.Table, catalog: Catalog) -> Execution:
    """Report the fields of a table."""
    from sdb.query.exec.described import described, summarized

    return (summarized if statement.is_summary else described)(table, catalog)


def _with_join_keys(
    statement: ast.Statement, catalog: Catalog, threads: int | None, memory_bytes: int | None
) -> ast.Statement:
    """Send large sides of joins the keys that matter; without joins nothing is read."""
    if statement.explain is not None or not may_join(statement):
        return statement
    from sdb.query.joinkeys import with_join_keys

    return with_join_keys(statement, catalog, threads=threads, memory_bytes=memory_bytes)


def _executed(
    statement: ast.Statement,
    catalog: Catalog,
    threads: int | None,
    memory_bytes: int | None,
    *,
    typed: bool,
) -> Execution:
    """Run a statement, with notes on its answer."""
    from sdb.query.exec import engine
    from sdb.query.exec.notes import notes_on

    execution = engine.run(
        statement, datasets=catalog, threads=threads or 0, memory_bytes=memory_bytes, typed=typed
    )
    execution.notes = notes_on(statement, execution, catalog)
    execution.remarks = remarks(statement)
    return execution
