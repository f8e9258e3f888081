"""`sdb.execute`: statements that change tables."""

from __future__ import annotations

from contextlib import nullcontext
from typing import cast

from sdb import bounds
from sdb.errors import QueryError, UsageError
from sdb.progress import silent
from sdb.query.analyze.params import bind
from sdb.query.syntax import ast, visitor, writes
from sdb.query.syntax.statements import split
from sdb.query.syntax.writeparser import parse_write
from sdb.query.writes.transaction import Executed, Transaction, carried_out
from sdb.records import replace
from sdb.table.catalog.root import TableRoot, table_root

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from sdb.progress import Progress
    from sdb.query.writes.matching import Follow
    from sdb.store.base import Location


def execute(  # noqa: PLR0913 - the command's options, by name
    text: str,
    *,
    root: TableRoot | Location,
    params: Mapping[str, object] | None = None,
    author: str = "",
    message: str = "",
    txn_id: str = "",
    dry_run: bool = False,
    threads: int | None = None,
    memory_bytes: int | None = None,
    progress: Progress = silent,
    follow: Follow = nullcontext,
) -> list[Executed]:
    """Carry out statements that change tables.

    Each statement is a version of its table, and those between BEGIN and COMMIT are one, or one of
    each table that they change: all at once, or none.

    Parameters
    ----------
    text : str
        The statements, with semicolons between them: docs/sql.md, "Writing". All are parsed before
        the first is carried out.
    root : TableRoot, path or str
        The root that the tables are below.
    params : mapping, optional
        Values of the parameters ``$name``.
    author, message : str
        Who does it, and why; the versions tell it.
    txn_id : str
        The client's own id, for one transaction: the same one again changes nothing.
    dry_run : bool
        Whether nothing is written, and rows are only counted.
    threads, memory_bytes : int, optional
        See :func:`sdb.sql`.
    progress : Progress
        Told how many bytes were packed, or how many of packfiles were rewritten.
    follow : callable
        Gives a context manager for each query that finds rows, which lasts while it runs.

    Returns
    -------
    list of Executed
        What each transaction did. Those before one that fails stay.

    Raises
    ------
    QueryError
        A statement is not in the language, or makes no sense.
    NotFoundError
        There is no such table.
    ConflictError
        Others were faster all the time; the transaction has changed nothing.
    UncertainError
        It is not known whether a transaction was committed.

    Examples
    --------
    >>> sdb.execute("DELETE FROM web.gha WHERE id = 5", root="lake")     # doctest: +SKIP
    """
    bounds.THREADS.check(threads)
    bounds.MEMORY.check(memory_bytes)
    place = root if isinstance(root, TableRoot) else table_root(root)
    transactions = [
        Transaction(
            tuple(group),
            place,
            author=author,
            message=message,
            txn_id=txn_id,
            is_dry=_is_dry(group, dry_run),
            threads=threads,
            memory_bytes=memory_bytes,
            progress=progress,
            follow=follow,
        )
        for group in _groups(bound_statements(text, params or {}))
    ]
    if txn_id and len(transactions) > 1:
        raise UsageError(
            "one transaction ID for several transactions",
            hint="put BEGIN; and COMMIT; around the statements",
        )
    return [carried_out(one) for one in transactions]


def execute_together(
    statements: Sequence[writes.WriteStatement],
    root: TableRoot,
    *,
    dry_run: bool = False,
    threads: int | None = None,
    memory_bytes: int | None = None,
    **options: Any,  # noqa: ANN401 - others of a transaction
) -> Executed:
    """Carry out statements as one transaction; see :func:`execute`."""
    bounds.THREADS.check(threads)
    bounds.MEMORY.check(memory_bytes)
    if any(isinstance(one.write, writes.Control) for one in statements):
        raise UsageError("BEGIN and COMMIT inside a transaction")
    is_dry = _is_dry(statements, dry_run)
    return carried_out(
        Transaction(
            tuple(statements),
            root,
            is_dry=is_dry,
            threads=threads,
            memory_bytes=memory_bytes,
            **options,
        )
    )


def bound_statements(text: str, params: Mapping[str, object]) -> list[writes.WriteStatement]:
    """Parse statements, and put the values of parameters in.

    Parameters
    ----------
    text : str
        The statements, with semicolons between them.
    params : mapping
        The values; each is that of a parameter of at least one statement.

    Returns
    -------
    list of WriteStatement
        The statements, at least one.

    Raises
    ------
    QueryError, UsageError
        A statement is not in the language, or there is none, or a parameter that none has.
    """
    ended, rest = split(text)
    statements = [parse_write(one) for one in (*ended, rest) if one]
    if not statements:
        raise UsageError("no statement", hint="INSERT, UPDATE, DELETE, MERGE, CREATE or TRUNCATE")
    _check_params(statements, params)
    return [_bound(one, params) for one in statements]


def _groups(statements: Sequence[writes.WriteStatement]) -> list[list[writes.WriteStatement]]:
    """Put the statements of one transaction together."""
    groups: list[list[writes.WriteStatement]] = []
    opened: list[writes.WriteStatement] | None = None
    for statement in statements:
        write = statement.write
        if not isinstance(write, writes.Control):
            groups.append([statement]) if opened is None else opened.append(statement)
            continue
        if (write.word == "BEGIN") != (opened is None):
            what = "a transaction has begun" if opened is not None else "no transaction has begun"
            raise QueryError(f"{write.word}: {what}", query=statement.text)
        if write.word == "BEGIN":
            opened = []
        elif write.word == "COMMIT" and opened:
            groups.append(opened)
        if write.word != "BEGIN":
            opened = None
    if opened is not None:
        raise QueryError("BEGIN without COMMIT: nothing was done", query=statements[-1].text)
    return groups


def _is_dry(group: Sequence[writes.WriteStatement], dry_run: bool) -> bool:  # noqa: FBT001
    """Tell whether a transaction only explains what it would do."""
    explained = {one.is_explained for one in group}
    if len(explained) > 1:
        raise QueryError("EXPLAIN among statements that are carried out", query=group[0].text)
    return dry_run or True in explained


def _check_params(
    statements: Sequence[writes.WriteStatement], params: Mapping[str, object]
) -> None:
    """Refuse values of parameters that no statement has."""
    named = {
        node.name
        for statement in statements
        for node in visitor.nodes(statement)
        if isinstance(node, ast.Param)
    }
    if unused := sorted(params.keys() - named):
        raise UsageError(f"no statement has a parameter ${unused[0]}")


def _bound(statement: writes.WriteStatement, params: Mapping[str, object]) -> writes.WriteStatement:
    """Put the values of parameters in."""
    named = {node.name for node in visitor.nodes(statement) if isinstance(node, ast.Param)}
    wanted = {name: value for name, value in params.items() if name in named}
    found = bind(cast("ast.Statement", statement), wanted)
    return replace(cast("writes.WriteStatement", found), text=statement.text)
