"""`sdb.sql`: queries on packfiles, from the text to its rows.

::

    text
      |  syntax      parse                       a tree
      v
    request
      |  prepare     for all who ask: run, explain, tag
      |    catalog   opens the tables            packfiles, and blocks that may matter
      |    plan      writes out stars            names are those of sources
      |    analyze   check                       types and constants are known
      v
    statement
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

from contextlib import suppress

from sdb import bounds, notes
from sdb.cancellation import CancelledError
from sdb.packfile.inputs.rawreading import RawReading, check_action
from sdb.progress import silent
from sdb.query.analyze import dialects
from sdb.query.analyze.params import bind
from sdb.query.catalog.dataset import QueryRequest, table_name
from sdb.query.catalog.period import period
from sdb.query.result.result import Result
from sdb.query.run.prepare import prepare
from sdb.query.syntax import ast, visitor
from sdb.query.syntax.parser import parse
from sdb.records import field, record
from sdb.times import ALL
from sdb.times import of as times_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from sdb.progress import Progress
    from sdb.query.catalog.catalog import Catalog
    from sdb.query.catalog.namedtables import OpenedTables
    from sdb.query.catalog.tablescan import TableScan
    from sdb.query.catalog.views import UsedView
    from sdb.query.exec.engine import StatementPlan
    from sdb.query.exec.execution import Execution
    from sdb.query.run.prepare import PreparedQuery
    from sdb.table.catalog.handle import TableHandle
    from sdb.times import Times

_WARNING = "warning: "


def sql(  # noqa: PLR0913 - the command's options, by name
    text: str,
    params: Mapping[str, object] | None = None,
    *,
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
    format: str | None = None,  # noqa: A002 - the word users know
    times: Times | str = ALL,
    on_error: str = "fail",
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
    format : str, optional
        Format of files that are no packfiles; recognised if not given.
    times : Times or str
        How the times of such files are read, see :func:`sdb.pack`.
    on_error : {"fail", "skip", "keep"}
        What becomes of malformed records in them, see :func:`sdb.pack`.
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

    Warns
    -----
    SdbWarning
        What the query may not mean; and, once rows were read, what they may not show
        (``Result.notes``).

    Examples
    --------
    >>> query = "SELECT type FROM 'events.zion' WHERE actor.login = $login"
    >>> with sdb.sql(query, params={"login": "soumith"}) as result:
    ...     list(result)
    [{'type': 'PushEvent'}]
    """
    bounds.THREADS.check(threads)
    bounds.MEMORY.check(memory_bytes)
    result = run(
        QueryRequest(
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
            reading=RawReading(format, times_of(times), check_action(on_error)),
            tables=tables or {},
            progress=progress,
        )
    )
    result.warns = True
    return result


def run(request: QueryRequest) -> Result:
    """Run a query that was parsed, see :func:`sql`."""
    return _run(prepare(request), None)


def _run(prepared: PreparedQuery, known: StatementPlan | None) -> Result:
    """Run a query.

    * ``known``: Its plan, where it was planned before, and told what may be wrong with it.
    """
    catalog, statement = prepared.catalog, prepared.statement
    execution = None
    try:
        if statement.described is not None:
            catalog.forget_scans()
            execution = _described(statement, statement.described, catalog)
        else:
            execution = _executed(_with_join_keys(prepared), prepared, known)
            if known is None:
                catalog.warn_absent_paths(statement, strict=prepared.request.strict)
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
    statement: ast.Statement = field(repr=False)  # the same with its views written out
    views: list[UsedView]  # the views that it reads, also through others
    tables: list[TableScan]  # what it would read
    opened: OpenedTables  # the tables that it names, by names and the version that was asked for
    warnings: list[str]  # what may mislead, as far as it is known before rows are read
    notes: list[str]  # notes on the answer that metadata of all packfiles decides, if asked for
    depends_on_now: bool  # whether it is another statement at another time


def planned(request: QueryRequest, *, with_notes: bool = False) -> QueryPlan:
    """Plan a query that was parsed, see :class:`PlannedQuery`."""
    query = PlannedQuery(request, with_notes=with_notes)
    query.close()
    return query.plan


class PlannedQuery:
    """A query that was planned, with its tables open, until it runs or is closed.

    No row is read for it, and small sides of joins neither. What is raised is what :func:`run`
    raises.

    * ``with_notes``: Whether the notes on the answer are wanted, as far as metadata has them.
    """

    def __init__(self, request: QueryRequest, *, with_notes: bool = False) -> None:
        lines: list[str] = []
        known = None
        with notes.collected() as warnings:
            prepared = prepare(request)
            catalog, table = prepared.catalog, prepared.statement.described
            try:
                if table is not None:
                    name = table_name(table)
                    catalog(() if name is None else (name,), None)
                else:
                    known, lines = _foretold(prepared, with_notes=with_notes)
                self.plan = QueryPlan(
                    prepared.text,
                    prepared.whole,
                    catalog.views,
                    list(catalog.tables),
                    catalog.opened,
                    warnings,
                    lines,
                    prepared.depends_on_now,
                )
            except BaseException:
                catalog.close()
                raise
        # Taken out by the thread that runs or closes it: another one may try the same.
        self._waiting = [(prepared, known)]

    def run(self) -> Result:
        """Run it, once. Raises `CancelledError` if it was closed."""
        try:
            prepared, known = self._waiting.pop()
        except IndexError:
            raise CancelledError("the query was closed") from None
        return _run(prepared, known)

    def close(self) -> None:
        """Close its tables, if it does not run."""
        with suppress(IndexError):
            self._waiting.pop()[0].catalog.close()


def warnings_of(plan: QueryPlan) -> list[str]:
    """Return what may mislead about the answer to a query, as far as its plan and notes tell."""
    return [*plan.warnings, *warnings_in(plan.notes)]


def warnings_in(lines: Iterable[str]) -> list[str]:
    """Return those of the notes on an answer that are warnings."""
    return [line.removeprefix(_WARNING) for line in lines if line.startswith(_WARNING)]


def _foretold(prepared: PreparedQuery, *, with_notes: bool) -> tuple[StatementPlan, list[str]]:
    """Plan a query, with its tables open; return the notes on the answer, too."""
    from sdb.query.exec.engine import StatementPlan
    from sdb.query.exec.notes import notes_on

    statement, catalog, request = prepared.statement, prepared.catalog, prepared.request
    plan = StatementPlan(statement, datasets=catalog, typed=request.typed)
    plan.open_tables()
    lines = notes_on(statement, catalog)() if with_notes else []
    catalog.warn_absent_paths(statement, strict=request.strict)
    return plan, lines


def _described(statement: ast.Statement, table: ast.Table, catalog: Catalog) -> Execution:
    """Report the fields of a table."""
    from sdb.query.exec.described import described, summarized

    return (summarized if statement.is_summary else described)(table, catalog)


def _may_join(statement: ast.Statement) -> bool:
    """Return whether a statement has joins, or queries as lists of values, at all."""
    return any(
        (isinstance(node, ast.Select) and len(node.sources) > 1)
        or (isinstance(node, ast.In) and isinstance(node.items, ast.Subquery))
        for node in visitor.nodes(statement)
    )


def _with_join_keys(prepared: PreparedQuery) -> ast.Statement:
    """Send large sides of joins the keys that matter; without joins nothing is read."""
    statement, request = prepared.statement, prepared.request
    if not request.prune or statement.explain is not None or not _may_join(statement):
        return statement
    from sdb.query.run.joinkeys import with_join_keys

    return with_join_keys(
        statement, prepared.catalog, threads=request.threads, memory_bytes=request.memory_bytes
    )


def _executed(
    statement: ast.Statement, prepared: PreparedQuery, known: StatementPlan | None
) -> Execution:
    """Run a statement, with notes on its answer.

    * ``known``: The plan of the query, which is that of the statement if it has no keys of joins.
    """
    from sdb.query.exec.engine import StatementPlan
    from sdb.query.exec.notes import notes_on

    request, catalog = prepared.request, prepared.catalog
    if known is None or statement is not prepared.statement:
        catalog.forget_scans()
        known = StatementPlan(statement, datasets=catalog, typed=request.typed)
    execution = known.run(request.threads or 0, request.memory_bytes)
    execution.notes = notes_on(statement, catalog)
    execution.readings = prepared.readings
    if dialects.is_by_setting(request.statement, request.dialect):
        execution.say(dialects.note())
    return execution
