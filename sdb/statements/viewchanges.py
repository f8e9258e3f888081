"""Statements on views: what they say is checked, and becomes a version of the view."""

from __future__ import annotations

from sdb import notes
from sdb.errors import NotFoundError, QueryError, UnsupportedError, UsageError
from sdb.query.analyze import dialects
from sdb.query.catalog.dataset import QueryRequest
from sdb.query.catalog.namedtables import NamedTables
from sdb.query.catalog.views import ViewExpansion, in_parentheses
from sdb.query.run.api import planned
from sdb.query.syntax import versions, writes
from sdb.query.syntax.parser import parse
from sdb.statements.effects import Effect, Executed
from sdb.table.catalog.views import find_view
from sdb.table.commit.commit import check_writable
from sdb.table.commit.views import CREATE, ViewChange, create_view, drop_view, undrop_view
from sdb.table.format.keys import TableKeys
from sdb.table.format.view import ViewQuery

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.statements.transaction import Transaction
    from sdb.table.catalog.root import TableRoot


def changed(transaction: Transaction, statement: writes.WriteStatement) -> Executed:
    """Make, replace, drop or bring back a view, which is the only statement of its transaction.

    Raises `QueryError` if the text of a view is no query, reads itself, or has no meaning;
    `NotFoundError` or `ExistsError` if there is no such view, if there is one already, or if a
    table that it reads is not there; `UnsupportedError` if the statement is not alone, or the view
    reads something else than tables; `ConflictError` or `UncertainError` as
    :func:`sdb.table.commit.naming.swap_name` does.
    """
    write = statement.write
    assert isinstance(write, writes.CreateView | writes.DropView | writes.UndropView)  # noqa: S101
    _check_alone(transaction, statement)
    root, keys = transaction.root, TableKeys(write.table.database, write.table.table)
    dialect = dialects.nearest(statement.dialect, transaction.dialect)
    if isinstance(write, writes.CreateView):
        check_text(root, keys, write.text, dialect, now_us=transaction.env.now_us())
    if transaction.is_dry:
        done = _tried(root, keys, write)
    else:
        check_writable(root)
        done = _done(transaction, keys, write, dialect)
    effect = Effect(f"{done.operation}_view", write.table.name)
    is_dry = transaction.is_dry
    return Executed(
        (effect,), write.table.name, done.version, done.commit, is_new=done.is_new, is_dry=is_dry
    )


def _check_alone(transaction: Transaction, statement: writes.WriteStatement) -> None:
    write = statement.write
    assert isinstance(write, writes.CreateView | writes.DropView | writes.UndropView)  # noqa: S101
    word = {"CreateView": "CREATE", "DropView": "DROP", "UndropView": "UNDROP"}
    what = f"{word[type(write).__name__]} VIEW"
    if len(transaction.statements) > 1 or transaction.txn_id:
        raise UnsupportedError(
            f"{what} must be the only statement of its transaction, without an ID"
        )
    if write.table.branch:
        raise UnsupportedError(f"{write.table.name}: a view has no branches")
    if write.table.database == versions.SYSTEM:
        raise UsageError(f"{write.table.name}: tables about tables have names like this")


def _done(
    transaction: Transaction,
    keys: TableKeys,
    write: writes.CreateView | writes.DropView | writes.UndropView,
    dialect: str,
) -> ViewChange:
    root, env = transaction.root, transaction.env
    author, message = transaction.author, transaction.message
    if isinstance(write, writes.CreateView):
        return create_view(
            root,
            keys,
            ViewQuery(write.text, "" if dialect == dialects.STANDARD else dialect),
            or_replace=write.or_replace,
            if_not_exists=write.if_not_exists,
            author=author,
            message=message,
            env=env,
        )
    if isinstance(write, writes.DropView):
        return drop_view(
            root, keys, if_exists=write.if_exists, author=author, message=message, env=env
        )
    return undrop_view(root, keys, author=author, message=message, env=env)


def _tried(
    root: TableRoot,
    keys: TableKeys,
    write: writes.CreateView | writes.DropView | writes.UndropView,
) -> ViewChange:
    """Return what a statement would do, as far as a look at the view tells."""
    view = find_view(root, keys.database, keys.table)
    number = 0 if view is None else view.newest.version
    operation = {"CreateView": CREATE, "DropView": "drop", "UndropView": "undrop"}
    return ViewChange(number, "", is_new=False, operation=operation[type(write).__name__])


def check_text(root: TableRoot, keys: TableKeys, text: str, dialect: str, *, now_us: int) -> None:
    """Check the text of a view as a query would read it: all but rows is looked at.

    Raises `QueryError` if it is no query, reads itself, or has no meaning; `NotFoundError` if a
    table that it reads is not there; `UnsupportedError` if it reads something else than tables and
    views.
    """
    name = f"{keys.database}.{keys.table}"
    try:
        statement = parse(in_parentheses(text))
    except QueryError as error:
        raise QueryError(f"the query of {name}: {error.message}", hint=error.hint) from None
    named = NamedTables(root.location, "", {}, {})
    expansion = ViewExpansion(named.view, root.location, "")
    whole = expansion.of_text(statement, name)
    try:
        shown = root.visible
        request = QueryRequest(
            whole, root=root.location, now_us=now_us, dialect=dialect, visible=shown
        )
        plan = planned(request)
    except QueryError as error:
        raise QueryError(f"the query of {name}: {error.message}", hint=error.hint) from None
    except NotFoundError as error:
        error.hint = "sdb ls lists tables, and sdb ls --views views"
        raise
    for warning in plan.warnings:
        notes.warn(warning)
