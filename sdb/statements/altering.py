"""``ALTER TABLE``: changes of a schema, in a separate version."""

from __future__ import annotations

from contextlib import closing

from sdb import instants
from sdb.errors import ExistsError, QueryError, UnsupportedError, UsageError
from sdb.query.analyze.folding import fold
from sdb.query.catalog.dataset import QueryRequest
from sdb.query.catalog.storedtable import TableSource
from sdb.query.run.api import run
from sdb.query.syntax import ast, writes
from sdb.records import replace
from sdb.statements.effects import Effect, Executed
from sdb.statements.targettable import tables_of
from sdb.table.catalog.handle import open_table
from sdb.table.commit.change import TableChange
from sdb.table.commit.schemas import OPERATION, change_schema
from sdb.table.format.versionref import MAIN
from sdb.table.schema import evolve
from sdb.table.schema.columns import TableSchema, flaw_of_default, overlaps, shown, walk
from sdb.table.schema.names import column_at
from sdb.table.schema.types import DOUBLE, INTEGER, TableColumn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, TypeAlias

    from sdb.query.syntax.writes import FieldPath
    from sdb.statements.targettable import TargetTable
    from sdb.statements.transaction import Transaction
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.format.index import TableIndex
    from sdb.table.schema.types import ColumnType

    Largest: TypeAlias = Callable[[FieldPath], int | None]

_TABLE = "the table that is altered"


def altered(transaction: Transaction, statement: writes.WriteStatement) -> Executed:
    """Carry out ``ALTER TABLE``, which is the only statement of its transaction.

    Raises `QueryError` if a default is no constant, or not of the type of its column; `UsageError`
    or `ExistsError` if a change is against the rules of :mod:`sdb.table.schema.evolve`;
    `NotFoundError` if there is no such table; `UnsupportedError` if the statement is not alone, or
    the table has no schema; `ConflictError` or `UncertainError` as
    :func:`sdb.table.commit.commit.commit` does.
    """
    write = statement.write
    assert isinstance(write, writes.AlterTable)  # noqa: S101 - the caller has looked
    if len(transaction.statements) > 1:
        raise UnsupportedError("ALTER TABLE must be the only statement of its transaction")
    (table,) = tables_of(transaction.root, transaction.statements)
    handle = table.open()
    if write.if_exists and (handle is None or handle.is_dropped):
        return Executed((), table.name, 0, "", is_new=False)
    handle = handle or open_table(table.root, table.keys.database, table.keys.table)
    changes = [
        _change(action, statement.text, transaction.env.now_us()) for action in write.actions
    ]

    def evolved(schema: TableSchema | None, index: TableIndex) -> TableSchema | None:
        if schema is None:
            raise _without_schema(table)
        now = replace(handle, index=index)
        for change in changes:
            schema = change(schema, now)
        return schema

    effect = Effect("alter", table.name)
    if transaction.is_dry:
        evolved(handle.schema, handle.index)
        number = 0 if handle.state is None else handle.state.version
        return Executed((effect,), table.name, number, "", is_new=False, is_dry=True)
    done = change_schema(
        table.root,
        table.keys.database,
        table.keys.table,
        evolved,
        change=TableChange(
            OPERATION,
            author=transaction.author,
            message=transaction.message or _message(statement.text),
            expects=transaction.expects.get(table.name),
        ),
        branch=table.branch,
        commit_id=transaction.txn_id,
        env=transaction.env,
    )
    return Executed((effect,), table.name, done.version, transaction.txn_id, is_new=done.is_new)


def described(transaction: Transaction, write: writes.DescribedTable) -> Executed:
    """Carry out ``COMMENT ON TABLE``, which makes no version: the definition has the text.

    Raises `NotFoundError` if there is no such table; `UnsupportedError` if it is a branch, or a
    later `sdb` has made the definition; `ConflictError` if other programs replace the definition
    all the time.
    """
    from sdb.table.definition.alter import describe_table

    (table,) = tables_of(transaction.root, transaction.statements)
    if table.branch != MAIN:
        hint = f"COMMENT ON TABLE {table.keys.name} describes all branches"
        raise UnsupportedError(f"{table.name} is a branch, and no table", hint=hint)
    is_dry = transaction.is_dry
    is_new = describe_table(table.root, table.keys, write.text, is_dry=is_dry) and not is_dry
    handle = table.open()
    number = 0 if handle is None or handle.state is None else handle.state.version
    effect = Effect("comment", table.keys.name)
    return Executed((effect,), table.name, number, "", is_new, is_dry=is_dry)


def _without_schema(table: TargetTable) -> UnsupportedError:
    name = f"{table.keys.database}.{table.keys.table}"
    return UnsupportedError(
        f"{name} has no schema: its rows have whatever fields they have",
        hint=f"sdb schema infer --set {name} begins one",
    )


def _message(text: str) -> str:
    return " ".join(text.split())[:200]


def _change(  # noqa: PLR0911 - an action each
    action: writes.ColumnAction, text: str, now_us: int
) -> Callable[[TableSchema, TableHandle], TableSchema]:
    """Return what an action does to a schema."""
    match action:
        case writes.AddedColumn():
            return lambda schema, handle: _added(
                schema, action, text, now_us, has_rows=next(handle.descriptors(), None) is not None
            )
        case writes.DroppedColumn():
            return lambda schema, _: _if_there(
                schema, action.path, evolve.drop, is_lenient=action.if_exists
            )
        case writes.RenamedColumn():
            return lambda schema, _: _if_there(
                schema,
                action.path,
                lambda schema, path: evolve.rename(schema, path, action.name),
                is_lenient=action.if_exists,
            )
        case writes.WidenedColumn():
            return lambda schema, handle: widened(schema, handle, action.path, action.type)
        case writes.MovedColumn():
            return lambda schema, _: evolve.move(schema, action.path, after=action.after)
        case writes.DescribedColumn():
            return lambda schema, _: evolve.comment(schema, action.path, action.text)
        case writes.RequiredColumn(required=False):
            return lambda schema, _: evolve.relax(schema, action.path)
        case _:
            return lambda schema, handle: evolve.require(
                schema, action.path, has_gaps=has_gaps(schema, handle, action.path)
            )


def _if_there(
    schema: TableSchema,
    path: FieldPath,
    change: Callable[[TableSchema, FieldPath], TableSchema],
    *,
    is_lenient: bool,
) -> TableSchema:
    if is_lenient:
        try:
            column_at(schema, path)
        except UsageError:
            return schema
    return change(schema, path)


def schema_of_columns(columns: Iterable[writes.AddedColumn], text: str, now_us: int) -> TableSchema:
    """Return the schema of a table that is made with columns.

    Raises `QueryError` if a default is no constant, or not of the type of its column; `UsageError`
    or `ExistsError` if it is against the rules of :mod:`sdb.table.schema.evolve`.
    """
    schema = TableSchema()
    for column in columns:
        schema = _added(schema, column, text, now_us, has_rows=False)
    return schema


def _added(
    schema: TableSchema, action: writes.AddedColumn, text: str, now_us: int, *, has_rows: bool
) -> TableSchema:
    default = None if action.default is None else _constant(action.default, text, now_us)
    if flaw := flaw_of_default(action.type, default):
        raise QueryError(flaw, query=text, offset=action.span[0])
    name = action.path[-1]
    column = TableColumn(0, name, action.type, (name,), action.required, default)
    outer = action.path[:-1]
    try:
        schema = evolve.add(schema, outer, column, has_rows=has_rows)
    except ExistsError:
        if action.if_not_exists:
            return schema
        raise
    added = column_at(schema, action.path)
    if added.path != (name,):
        from sdb import notes

        notes.warn(
            f"{shown(action.path)} is stored in the field {added.path[-1]} of rows: "
            f"{name} has the values of another column"
        )
    if action.position is not None:
        schema = evolve.move(schema, action.path, after=action.position[0])
    return schema


def _constant(expr: ast.Expr, text: str, now_us: int) -> bool | int | float | str | None:
    """Return the value of a default."""
    folded: Any = fold(expr, ast.Instant(now_us))
    if isinstance(folded, ast.Unary) and isinstance(folded.operand, ast.Literal):
        value = folded.operand.value
        if folded.op == "-" and type(value) in {int, float}:
            return -value  # type: ignore[operator]  # the test says so
    if not isinstance(folded, ast.Literal):
        start, stop = expr.span
        raise QueryError(
            "a default is a constant", query=text, offset=start, length=max(1, stop - start)
        )
    value = folded.value
    return instants.text(value.us) if isinstance(value, ast.Instant) else value


def widened(
    schema: TableSchema, handle: TableHandle, path: FieldPath, kind: ColumnType
) -> TableSchema:
    """Change the type of a column; integers are looked at where a double may not have them all.

    Raises `UsageError` as :func:`sdb.table.schema.evolve.widen` does.
    """
    column = column_at(schema, path)
    is_looked_at = column.type == INTEGER and kind == DOUBLE
    largest = largest_integer(handle, path_of(schema, path)) if is_looked_at else None
    return evolve.widen(schema, path, kind, largest=largest)


def path_of(schema: TableSchema, names: FieldPath) -> FieldPath:
    """Return the path of a column from the row on."""
    column = column_at(schema, names)
    return next(path for _, path, other in walk(schema.columns) if other is column)


def largest_integer(handle: TableHandle, path: FieldPath) -> int | None:
    """Return the largest absolute value of a field; None: it is not known."""
    if "[]" in path or "{}" in path:
        return None
    field = _field(path)
    items = (
        ast.Item(ast.Aggregate("MIN", (field,)), "least"),
        ast.Item(ast.Aggregate("MAX", (field,)), "most"),
    )
    (row,) = _rows(handle, ast.Select(items, sources=(_source(),)))
    values = [value for value in (row.get("least"), row.get("most")) if value is not None]
    if any(type(value) is not int for value in values):
        return None
    return max(map(abs, values), default=0)


def has_gaps(schema: TableSchema, handle: TableHandle, names: FieldPath) -> bool:
    """Return whether rows lack a value of a column, or it is not known."""
    path = path_of(schema, names)
    since = any(column.since and overlaps(path, own) for _, own, column in walk(schema.columns))
    if since or "[]" in path or "{}" in path:
        return True
    field = _field(path)
    gaps = [ast.Is(field, word, negated=False) for word in ("NULL", "MISSING")]
    where = ast.Binary("OR", gaps[0], gaps[1])
    select = ast.Select(
        (ast.Item(ast.Literal(1), "gap"),), sources=(_source(),), where=where, limit=1
    )
    return bool(_rows(handle, select))


def _rows(handle: TableHandle, select: ast.Select) -> list[dict[str, Any]]:
    """Run a query on the fields of rows, whatever columns there are."""
    with closing(TableSource(handle, is_raw=True)) as table:
        statement = ast.Statement(select, text="")
        with run(
            QueryRequest(statement, root=handle.root.location, known={(_TABLE,): table})
        ) as result:
            return list(result)


def _source() -> ast.Source:
    return ast.Source(ast.PathTable(ast.Name(_TABLE)), None)


def _field(path: FieldPath) -> ast.Expr:
    node: ast.Expr = ast.Name(path[0])
    for name in path[1:]:
        node = ast.Dot(node, name)
    return node
