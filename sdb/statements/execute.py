"""`sdb.execute`: statements that change tables."""

from __future__ import annotations

from contextlib import nullcontext
from typing import cast

from sdb import bounds
from sdb.errors import NotFoundError, QueryError, UsageError
from sdb.progress import silent
from sdb.query.analyze import dialects
from sdb.query.analyze.params import bind
from sdb.query.syntax import ast, parser, visitor, writes
from sdb.query.syntax.lexer import split
from sdb.query.syntax.writeparser import parse_write
from sdb.records import replace
from sdb.statements.targettable import tables_of
from sdb.statements.transaction import Transaction, carried_out
from sdb.table.catalog.handle import find_table
from sdb.table.catalog.root import TableRoot, table_root

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from sdb.progress import Progress
    from sdb.statements.effects import Executed
    from sdb.statements.matching import Follow
    from sdb.store.base import Location


def execute(  # noqa: PLR0913 - the command's options, by name
    text: str,
    params: Mapping[str, object] | None = None,
    *,
    root: TableRoot | Location,
    author: str = "",
    message: str = "",
    txn_id: str = "",
    fingerprint: str = "",
    expects: Mapping[str, int] | None = None,
    dry_run: bool = False,
    threads: int | None = None,
    memory_bytes: int | None = None,
    dialect: str | None = None,
    progress: Progress = silent,
    follow: Follow = nullcontext,
) -> list[Executed]:
    """Run statements that change tables.

    Each statement is a version of its table, and those between BEGIN and COMMIT are one, or one of
    each table that they change: all at once, or none.

    Parameters
    ----------
    text : str
        The statements, separated by semicolons: docs/sql.md, "Writing". All are parsed before
        the first one runs.
    root : TableRoot, path or str
        The root that the tables are below.
    params : mapping, optional
        Values of the parameters ``$name``.
    author, message : str
        Author and message of the versions.
    txn_id : str
        An id that makes one transaction idempotent: a second one with the same id changes nothing.
    fingerprint : str
        An id of what is run, recorded with `txn_id`; see :func:`sdb.table.insert.insert.insert`.
    expects : mapping, optional
        The versions that the new versions must follow, by the names of tables, ``db.table``.
    dry_run : bool
        Whether to count rows only, and write nothing.
    threads, memory_bytes : int, optional
        See :func:`sdb.sql`.
    dialect : str, optional
        ``standard`` or ``sneller``, see :func:`sdb.sql`; ``SET dialect = sneller;`` is for all
        statements behind it.
    progress : Progress
        Called with the number of bytes that were packed or rewritten.
    follow : callable
        Returns a context manager for each query that finds rows, which is open while it runs.

    Returns
    -------
    list of Executed
        The result of each transaction. Those before one that fails stay.

    Raises
    ------
    QueryError
        A statement cannot be parsed, or has no meaning.
    NotFoundError
        There is no such table.
    ConflictError
        Other writers won every race; the transaction has changed nothing.
    UncertainError
        It is not known whether a transaction was committed.

    Examples
    --------
    >>> (done,) = sdb.execute("DELETE FROM web.gha WHERE type = 'ForkEvent'", root="lake")
    >>> done.version, done.effects[0].rows_deleted
    (2, 25)
    """
    bounds.THREADS.check(threads)
    bounds.MEMORY.check(memory_bytes)
    dialects.check(dialect)
    tables_root = root if isinstance(root, TableRoot) else table_root(root)
    transactions = [
        Transaction(
            tuple(group),
            tables_root,
            author=author,
            message=message,
            txn_id=txn_id,
            fingerprint=fingerprint,
            expects=expects or {},
            is_dry=_is_dry(group, dry_run),
            threads=threads,
            memory_bytes=memory_bytes,
            dialect=dialect,
            progress=progress,
            follow=follow,
        )
        for group in groups(_of_each_table(bound_statements(text, params or {}), tables_root))
    ]
    if txn_id and len(transactions) > 1:
        raise UsageError(
            "one transaction ID for several transactions",
            hint="put BEGIN; and COMMIT; around the statements",
        )
    return [carried_out(transaction) for transaction in transactions]


def execute_together(
    statements: Sequence[writes.WriteStatement],
    root: TableRoot,
    *,
    dry_run: bool = False,
    threads: int | None = None,
    memory_bytes: int | None = None,
    dialect: str | None = None,
    **options: Any,  # noqa: ANN401 - others of a transaction
) -> Executed:
    """Carry out statements as one transaction; see :func:`execute`."""
    bounds.THREADS.check(threads)
    bounds.MEMORY.check(memory_bytes)
    dialects.check(dialect)
    if any(isinstance(statement.write, writes.Control) for statement in statements):
        raise UsageError("BEGIN and COMMIT inside a transaction")
    is_dry = _is_dry(statements, dry_run)
    return carried_out(
        Transaction(
            tuple(statements),
            root,
            is_dry=is_dry,
            threads=threads,
            memory_bytes=memory_bytes,
            dialect=dialect,
            **options,
        )
    )


def bound_statements(
    text: str,
    params: Mapping[str, object],
    read: Callable[[str], writes.WriteStatement] = parse_write,
) -> list[writes.WriteStatement]:
    """Parse statements, and put the values of parameters in.

    * ``params``: The values; each is that of a parameter of at least one statement.

    Raises
    ------
    QueryError, UsageError
        A statement is malformed, or missing, or a parameter occurs in no statement.
    """
    ended, rest = split(text)
    statements = _parsed([statement for statement in (*ended, rest) if statement], read)
    if not statements:
        raise UsageError("no statement", hint="INSERT, UPDATE, DELETE, MERGE, CREATE or TRUNCATE")
    _check_params(statements, params)
    return [_bound(parsed, params) for parsed in statements]


def _parsed(
    texts: Sequence[str], read: Callable[[str], writes.WriteStatement]
) -> list[writes.WriteStatement]:
    """Parse statements; a SET is for those behind it."""
    statements, mode = [], ""
    for text in texts:
        said = parser.alone(text)
        if said is None:
            statements.append(replace(read(text), dialect=mode))
        else:
            mode = said
    return statements


def unconditional(
    text: str, params: Mapping[str, object], root: TableRoot | None
) -> list[tuple[str, str, int | None]]:
    """Return the tables in which an UPDATE or DELETE without WHERE changes all rows.

    * ``root``: The root; None: a server has the tables, and their numbers of rows are not known.

    Returns: The word, the name of the table, and its number of rows now; None where that is not
    known.

    Raises
    ------
    QueryError, UsageError
        See :func:`bound_statements`.
    """
    whole: list[tuple[str, str, int | None]] = []
    for statement in bound_statements(text, params):
        write = statement.write
        if not isinstance(write, writes.Update | writes.Delete):
            continue
        if write.where or statement.is_explained:
            continue
        word = type(write).__name__.upper()
        if root is None:
            whole.append((word, write.table.name, None))
            continue
        for table in tables_of(root, [statement]):
            handle = table.open()
            state = None if handle is None or handle.is_dropped else handle.state
            if state is not None and state.rows != 0:
                whole.append((word, table.name, state.rows))
    return whole


def _of_each_table(
    statements: Sequence[writes.WriteStatement], root: TableRoot
) -> list[writes.WriteStatement]:
    """Return statements with VACUUM of each table in the place of that of a database."""
    out: list[writes.WriteStatement] = []
    for statement in statements:
        write = statement.write
        if not isinstance(write, writes.Vacuum) or write.table.table:
            out.append(statement)
            continue
        database = write.table.database
        names = [name for name in root.tables(database) if _is_there(root, database, name)]
        if not names:
            hint = "sdb ls lists them"
            raise NotFoundError(f"there is no table in {database} below {root.location}", hint=hint)
        for name in names:
            table = replace(write.table, table=name)
            each = replace(write, table=table, is_one_of_many=True)
            out.append(replace(statement, write=each))
    return out


def _is_there(root: TableRoot, database: str, table: str) -> bool:
    handle = find_table(root, database, table)
    return handle is not None and not handle.is_dropped


def groups(statements: Sequence[writes.WriteStatement]) -> list[list[writes.WriteStatement]]:
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
    """Return whether a transaction only explains what it would do."""
    explained = {statement.is_explained for statement in group}
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
    bound = bind(cast("ast.Statement", statement), wanted)
    return replace(cast("writes.WriteStatement", bound), text=statement.text)
