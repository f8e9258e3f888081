"""Rows of a table with a schema for other libraries: the columns, in the types of the schema."""

from __future__ import annotations

from contextlib import closing

from sdb.packfile.prune.predicate import Anywhere, Both, Compare, Either, Instant, OneOf
from sdb.query.catalog.dataset import QueryRequest
from sdb.query.catalog.period import period
from sdb.query.catalog.storedtable import TableSource
from sdb.query.plan.rewrite import conjunction
from sdb.query.run.api import run
from sdb.query.syntax import ast
from sdb.query.syntax.operators import balanced
from sdb.table.schema.arrowtypes import arrow_schema
from sdb.table.schema.names import absent, named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    import pyarrow as pa

    from sdb.packfile.prune.predicate import Constant, Predicate
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.schema.columns import TableSchema

_NAME = "the rows of a table"


class ColumnRows:
    """Rows of a version of a table by its columns, which can be read again and again.

    * ``fields``: Names of the columns; all if not given.
    * ``times``: Times that rows must have, as :func:`sdb.sql` takes them.

    Raises `UsageError` if there is no such column.
    """

    def __init__(
        self,
        handle: TableHandle,
        schema: TableSchema,
        fields: Sequence[str] | None,
        times: Mapping[str, Any],
    ) -> None:
        columns = list(schema.columns)
        if fields is not None:
            chosen = [(name, named(columns, name)) for name in dict.fromkeys(fields)]
            unknown = next((name for name, column in chosen if column is None), None)
            if unknown is not None:
                raise absent(columns, (unknown,))
            columns = [column for _, column in chosen if column is not None]
        self._handle = handle
        self._period = period(times["since"], times["until"], times["time_field"])
        self.schema: pa.Schema = arrow_schema(columns)
        self.blocks_read = 0

    def batches(self, columns: Sequence[str] | None, test: Predicate) -> Iterator[pa.RecordBatch]:
        """Iterate over the rows for which a condition may be TRUE.

        * ``columns``: Their names; all if not given.
        """
        names = list(self.schema.names if columns is None else columns) or self.schema.names[:1]
        items = tuple([ast.Item(ast.Name(name)) for name in names])
        source = ast.Source(ast.PathTable(ast.Name(_NAME)), None)
        select = ast.Select(items, sources=(source,), where=_where(test))
        with (
            closing(TableSource(self._handle)) as table,
            run(
                QueryRequest(
                    ast.Statement(select),
                    root=self._handle.root.location,
                    known={(_NAME,): table},
                    period=self._period,
                )
            ) as result,
        ):
            self.blocks_read = result.reading.blocks
            yield from result.arrow_batches()[1]


def _where(test: Predicate) -> ast.Expr | None:
    """Return a predicate as a condition; None: any row."""
    if isinstance(test, Anywhere):
        return None
    match test:
        case Both(parts):
            listed = [part for part in map(_where, parts) if part is not None]
            return conjunction(listed)
        case Either(parts):
            sides = list(map(_where, parts))
            known = [side for side in sides if side is not None]
            return balanced("OR", known) if len(known) == len(sides) else None
        case Compare(path, op, value) if None not in path:
            return ast.Binary(op, _path(path), ast.Literal(_constant(value)))
        case OneOf(path, values) if None not in path:
            items = tuple([ast.Literal(_constant(value)) for value in values])
            return ast.In(_path(path), items)
    return None


def _path(path: Sequence[str | None]) -> ast.Expr:
    expr: ast.Expr = ast.Name(str(path[0]))
    for name in path[1:]:
        expr = ast.Dot(expr, str(name))
    return expr


def _constant(value: Constant) -> Constant:
    return ast.Instant(value.us) if isinstance(value, Instant) else value
