"""`sdb.sql`: queries on packfiles."""

from __future__ import annotations

import time

from sdb import bounds
from sdb.errors import UsageError
from sdb.progress import silent
from sdb.query.analyze.check import check
from sdb.query.analyze.params import bind
from sdb.query.exec.catalog import Catalog
from sdb.query.plan.keyfilters import may_join
from sdb.query.plan.leftout import remarks
from sdb.query.plan.period import period
from sdb.query.plan.stars import expanded, has_excluded
from sdb.query.result.result import Result
from sdb.query.syntax.parser import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from sdb.progress import Progress
    from sdb.query.exec.storedtable import StoredTable
    from sdb.query.plan.period import Period
    from sdb.query.syntax import ast
    from sdb.table.catalog.handle import TableHandle


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
    tables: Mapping[str, TableHandle] | None = None,
    progress: Progress = silent,
) -> Result:
    """Run a query on packfiles.

    Parameters
    ----------
    text : str
        The query, see docs/sql.md.
    params : mapping, optional
        Values of the parameters ``$name`` in the query: text, numbers, booleans, ``None`` and
        aware datetimes.
    root : str, optional
        Folder or URL where relative paths start; the current folder if not given.
    threads : int, optional
        How many threads decode and compute; without it one for each processor.
    memory_bytes : int, optional
        How much memory groups, joins and sorts may take; without it four fifths of what there is.
        What does not fit goes to a temporary folder.
    prune : bool
        Whether to leave out blocks that cannot hold a row for which WHERE is TRUE. Time indexes of
        the original tool may claim too much; without pruning they are not used.
    typed : bool
        Whether rows are wanted as typed values. Without it fields of unknown type come as JSON
        text, which is faster when lines of JSON, or tables of text, are all that is wanted; other
        forms are refused then, for JSON does not tell times from strings.
    strict : bool
        Whether a field that no row has is an error, as far as packfiles prove it; else a warning.
    since, until : str or datetime, optional
        Of all tables only rows with a time from `since` on and before `until`, as if they had no
        others; blocks that the time index rules out are not read.
    time_field : str or sequence of str, optional
        Path of that time; without it the obvious one of each table.
    at : str
        The version of tables of which the query does not name one, as behind the @ of ``db.t@-1d``;
        the newest if not given.
    tables : mapping, optional
        Tables as they were read, by name with that of the database: the query sees these versions.

    Returns
    -------
    Result
        The rows, which are computed when they are asked for.

    Raises
    ------
    QueryError
        The query is not in the language, or makes no sense.
    UsageError
        A time that is none, or no obvious path of it.
    NotFoundError, AccessError, CorruptError
        A packfile cannot be opened.
    InputError
        What is to be packed for the query is malformed.

    Examples
    --------
    >>> for row in sdb.sql("SELECT type FROM 'gha.zion' WHERE id = $id", params={"id": 5}):
    ...     print(row)                                  # doctest: +SKIP
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
    tables: Mapping[str, TableHandle] | None = None,
    known: Mapping[tuple[str, ...], StoredTable] | None = None,
    now_us: int | None = None,
    progress: Progress = silent,
) -> Result:
    """Run a query that was parsed, see :func:`sql`.

    Parameters
    ----------
    statement : Statement
        The query, parameters bound, not yet checked.
    root, threads, memory_bytes, prune, typed, strict, at, tables, progress
        See :func:`sql`.
    period : Period, optional
        Times that rows must have.
    known : mapping, optional
        Tables that have a meaning of their own here, by the parts of their names.
    now_us : int, optional
        The instant of UTCNOW(), in microseconds since 1970; the present if not given.

    Returns
    -------
    Result
        The rows.
    """
    from sdb.query.exec import engine

    now_us = time.time_ns() // 1000 if now_us is None else now_us
    if statement.described is not None and period is not None:
        raise UsageError("DESCRIBE and SUMMARIZE take all rows: leave out since and until")
    # Tables are opened after a look at the query, but for those whose fields it needs.
    needs_fields = statement.described is not None or has_excluded(statement)
    statement = statement if needs_fields else check(statement, now_us)
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
    )
    try:
        if statement.described is not None:
            from sdb.query.exec.described import described, summarized

            answer = summarized if statement.is_summary else described
            result = answer(statement.described, catalog)
            result.on_close(catalog.close)
            return Result(statement.text, result, catalog.tables)
        if needs_fields:
            statement = check(expanded(statement, catalog.top_fields), now_us)
        catalog.open_together(statement)
        result = engine.run(
            _with_keys(statement, catalog, threads, memory_bytes) if prune else statement,
            datasets=catalog,
            threads=threads or 0,
            memory_bytes=memory_bytes,
            typed=typed,
        )
        catalog.tell_absent(statement, strict=strict)
    except BaseException:
        catalog.close()
        raise
    result.on_close(catalog.close)
    result.notes = lambda: catalog.notes_on(statement, result)
    result.remarks = remarks(statement)
    return Result(statement.text, result, catalog.tables)


def _with_keys(
    statement: ast.Statement, catalog: Catalog, threads: int | None, memory_bytes: int | None
) -> ast.Statement:
    """Tell large sides of joins which keys matter; of statements without joins nothing is read."""
    if statement.explain is not None or not may_join(statement):
        return statement
    from sdb.query.exec.joinkeys import with_join_keys

    return with_join_keys(statement, catalog, threads=threads, memory_bytes=memory_bytes)
