"""Rows that are inserted: those of VALUES, and those of queries, as what is packed."""

from __future__ import annotations

from typing import cast

from sdb import ion
from sdb.errors import QueryError
from sdb.packfile.rewrite.rewrite import RowChanges
from sdb.query.analyze.folding import fold
from sdb.query.syntax import ast, writes
from sdb.records import replace
from sdb.statements.matching import tell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, BinaryIO

    import numpy as np
    from numpy.typing import NDArray

    from sdb.query.syntax.writes import FieldPath, InsertQuery, InsertValues
    from sdb.statements.matching import QueryContext
    from sdb.table.schema.columns import TableSchema

_ABSENT = object()
_PLACE = (1 << 63) - 1
"""Stands where the number of a row goes, in as many bytes as any takes."""


def with_columns(
    statement: writes.WriteStatement, schema: TableSchema | None
) -> writes.WriteStatement:
    """Return an INSERT of values without names as one into the columns of a schema.

    Raises `QueryError` if there is no schema, or a row has more or fewer values than it has
    columns.
    """
    write = statement.write
    if not isinstance(write, writes.InsertValues) or write.paths is not None:
        return statement
    several = [row for row in write.rows if len(row) > 1]
    if not several:
        return statement
    offset = several[0][0].span[0]
    if schema is None:
        message = f"{write.table.name} has no schema that says which fields these values are"
        hint = "name them, as in INSERT INTO t (a, b) VALUES (1, 2)"
        raise QueryError(message, query=statement.text, offset=offset, hint=hint)
    names = [column.name for column in schema.columns]
    for row in write.rows:
        if len(row) != len(names):
            message = f"{len(row)} values for {len(names)} columns: {', '.join(names)}"
            raise QueryError(message, query=statement.text, offset=row[0].span[0])
    paths = tuple([(name,) for name in names])
    return replace(statement, write=replace(write, paths=paths))


def rows_of_values(statement: InsertValues, context: QueryContext) -> list[Any]:
    """Return the rows of VALUES as dicts.

    * ``context``: Runs a query for values that are no constants.

    Raises `QueryError` if a row is no struct.
    """
    return [_row(statement.paths, row, context) for row in statement.rows]


def _row(
    paths: tuple[FieldPath, ...] | None,
    values: Sequence[ast.Expr],
    context: QueryContext,
) -> dict[str, Any]:
    row_values = [_value(expr, context) for expr in values]
    if paths is None:
        if not isinstance(row_values[0], dict):
            start, stop = values[0].span
            raise QueryError(
                "a row is a struct, as in VALUES ({'a': 1})",
                query=context.text,
                offset=start,
                length=max(1, stop - start),
            )
        return row_values[0]
    row: dict[str, Any] = {}
    for path, value in zip(paths, row_values, strict=True):
        if value is not _ABSENT:
            inner = row
            for step in path[:-1]:
                inner = inner.setdefault(step, {})
            inner[path[-1]] = value
    return row


def constant_changes(
    rows: NDArray[np.int64], assigned: Sequence[tuple[FieldPath, ast.Expr]], now_us: int
) -> RowChanges | None:
    """Return the changes of rows that all get the same values; None: a value is no constant."""
    import numpy as np

    values: dict[str, object] = {"row": _PLACE}
    for number, (_, expr) in enumerate(assigned):
        match fold(expr, ast.Instant(now_us)):
            case ast.Literal() as literal:
                values[str(number)] = _literal(literal)
            case ast.Missing():
                pass
            case _:
                return None
    symbols: list[str] = []
    struct = ion.encode(values, symbols)
    at = struct.index(_PLACE.to_bytes(8))
    structs = np.tile(np.frombuffer(struct, np.uint8), (len(rows), 1))
    structs[:, at : at + 8] = rows.astype(">i8").view(np.uint8).reshape(-1, 8)
    paths = tuple([path for path, _ in assigned])
    return RowChanges(rows[:0], rows, ion.stream(symbols, structs.tobytes()), paths)


def _value(expr: ast.Expr, context: QueryContext) -> object:
    """Return the value of an expression that reads no table; `_ABSENT` where it is MISSING."""
    match expr:
        case ast.Literal():
            return _literal(expr)
        case ast.Missing():
            return _ABSENT
        case ast.MakeStruct():
            members = {name: _value(item, context) for name, item in expr.members}
            return {name: item for name, item in members.items() if item is not _ABSENT}
        case ast.MakeList():
            items = [_value(item, context) for item in expr.items]
            return [item for item in items if item is not _ABSENT]
    folded = cast("ast.Expr", fold(expr, ast.Instant(context.now_us)))
    if folded != expr and isinstance(folded, ast.Literal | ast.Missing):
        return _value(folded, context)
    select = ast.Select((ast.Item(expr, "v"),))
    with context.run(ast.Statement(select, text=context.text)) as result:
        (row,) = result
        return row.get("v", _ABSENT)


def _literal(expr: ast.Literal) -> object:
    value = expr.value
    if isinstance(value, int) and value < -_PLACE - 1:
        return float(value)  # as the engine has it
    return ion.instant_from_us(value.us) if isinstance(value, ast.Instant) else value


def write_query(statement: InsertQuery, context: QueryContext, output: BinaryIO) -> None:
    """Write the rows of a query as Ion, with the types that they have.

    Raises `QueryError` if the query has other columns than the statement names.
    """
    query = statement.query
    if statement.paths is not None:
        query = _renamed(query, statement.paths, context.text)
    with context.run(replace(query, text=context.text)) as result:
        result.write(output, "ion")
        tell(result)


def _renamed(query: ast.Statement, paths: tuple[FieldPath, ...], text: str) -> ast.Statement:
    """Return a query whose columns go to paths."""
    selects = [query.select, *(union for _, union in query.unions)]
    renamed = []
    for select in selects:
        if select.star or len(select.items) != len(paths):
            columns = "*" if select.star else str(len(select.items))
            message = f"a query of {columns} columns for {len(paths)} fields"
            raise QueryError(message, query=text, offset=select.span[0], length=len("SELECT"))
        if any(len(path) > 1 for path in paths) or select.order_by or select.distinct:
            renamed.append(_wrapped(select, paths))
        else:
            items = [
                replace(item, alias=path[0]) for item, path in zip(select.items, paths, strict=True)
            ]
            renamed.append(replace(select, items=tuple(items)))
    unions = tuple(
        [
            (every, renamed_select)
            for (every, _), renamed_select in zip(query.unions, renamed[1:], strict=True)
        ]
    )
    return replace(query, select=renamed[0], unions=unions)


def _wrapped(select: ast.Select, paths: tuple[FieldPath, ...]) -> ast.Select:
    """Return a query whose columns are members of structs, around the query itself."""
    names = [f"c{number}" for number in range(len(paths))]
    inner = replace(
        select,
        items=tuple(
            [replace(item, alias=name) for item, name in zip(select.items, names, strict=True)]
        ),
    )
    items = columns_at(paths, [ast.Name(name) for name in names])
    return ast.Select(items, sources=(ast.Source(ast.QueryTable(inner), None),))


def columns_at(paths: Sequence[FieldPath], values: Sequence[ast.Expr]) -> tuple[ast.Item, ...]:
    """Return the select list whose rows have values at paths."""
    tree: dict[str, Any] = {}
    for path, value in zip(paths, values, strict=True):
        branch = tree
        for step in path[:-1]:
            branch = branch.setdefault(step, {})
        branch[path[-1]] = value
    return tuple([ast.Item(_struct(value), name) for name, value in tree.items()])


def _struct(value: Any) -> ast.Expr:  # noqa: ANN401 - a tree of names
    if isinstance(value, dict):
        return ast.MakeStruct(tuple([(name, _struct(member)) for name, member in value.items()]))
    return cast("ast.Expr", value)
