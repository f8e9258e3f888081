"""Texts of a query that say numbers, beside fields that have nothing but numbers.

The type of ``'404'`` is open, as in PostgreSQL: beside numbers it is one. A field of several types
is compared as it is written: its numbers equal no text.
"""

from __future__ import annotations

import re
from itertools import takewhile

from sdb.query.analyze.types import ANY, MISSING, NULL, NUMBER
from sdb.query.catalog.tables import table_name
from sdb.query.syntax import ast, literals, printer, visitor
from sdb.query.syntax.operators import MIRRORED, NULL_SAFE
from sdb.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from sdb.query.catalog.dataset import TableName, ValuePath

    Types: TypeAlias = Callable[[TableName, ValuePath], int | None]


def numbers_read(statement: ast.Statement, types: Types) -> tuple[ast.Statement, list[str]]:
    """Return a statement that compares such fields with numbers, and a line for each comparison.

    * ``types``: Tells the types that rows of a table have at a path; None: they are not known.
    """
    lines: dict[str, None] = {}
    withs = dict(statement.with_)

    def change(node: ast.Node) -> ast.Node:
        if not isinstance(node, ast.Select):
            return node
        fields = _Fields(node, withs, types)

        def compared(part: ast.Node) -> ast.Node:
            new = fields.compared(part)
            if new is not part:
                lines[f"{printer.text(part)} compares numbers: {printer.text(new)}"] = None  # type: ignore[arg-type]  # both are expressions
            return new

        return visitor.rewrite(
            node,
            compared,
            stop=lambda part: part if isinstance(part, ast.Select) and part is not node else None,
        )

    return visitor.rewrite(statement, change), list(lines)


class _Fields:
    """The fields of the tables and sub-queries of a select."""

    def __init__(self, select: ast.Select, withs: dict[str, ast.Select], types: Types) -> None:
        self._withs, self._types = withs, types
        self._alone = len(select.sources) == 1
        self._tables: dict[str, ast.Table | ast.Select] = {}
        for source in select.sources:
            table = source.table
            root = visitor.root_name(table.expr) if isinstance(table, ast.PathTable) else None
            name = "" if root is None else root.name
            if isinstance(table, ast.QueryTable):
                self._tables[source.alias or ""] = table.select
            elif name in withs:
                self._tables[source.alias or name] = withs[name]
            elif not name or name not in self._tables:  # else it is a list in rows
                self._tables[source.alias or ""] = table

    def compared(self, node: ast.Node) -> ast.Node:
        """Return a comparison of a field that has only numbers with numbers, or the node."""
        match node:
            case ast.Binary(op, left, right) if op in MIRRORED or op in NULL_SAFE:
                if (number := self._number(left, right)) is not None:
                    return replace(node, right=number)
                if (number := self._number(right, left)) is not None:
                    return replace(node, left=number)
            case ast.Between(operand, low, high):
                bounds = [self._number(operand, low), self._number(operand, high)]
                if any(bounds):
                    return replace(node, low=bounds[0] or low, high=bounds[1] or high)
            case ast.In(operand, tuple() as items):
                numbers = [self._number(operand, item) for item in items]
                if any(numbers):
                    both = zip(numbers, items, strict=True)
                    return replace(node, items=tuple([number or item for number, item in both]))
            case ast.Case(operand=ast.Node() as operand, limbs=limbs):
                numbers = [self._number(operand, when) for when, _ in limbs]
                if any(numbers):
                    pairs = zip(numbers, limbs, strict=True)
                    return replace(
                        node,
                        limbs=tuple([(number or when, then) for number, (when, then) in pairs]),
                    )
        return node

    def _number(self, field: ast.Expr, other: ast.Expr) -> ast.Literal | None:
        """Return the number that a text says, if it is compared with nothing but numbers."""
        text = other.value if isinstance(other, ast.Literal) else None
        if type(text) is not str or not re.fullmatch(literals.NUMBER_TEXT, text):
            return None
        if not self._is_number(field):
            return None
        try:
            return ast.Literal(int(text), span=other.span)
        except ValueError:
            return ast.Literal(float(text), span=other.span)

    def _is_number(self, field: ast.Expr) -> bool:
        """Return whether all values of a field are numbers, and it has some."""
        steps: list[str] = []
        while isinstance(field, ast.Dot):
            steps.insert(0, field.name)
            field = field.base
        if not isinstance(field, ast.Name):
            return False
        table = self._tables.get(field.name) if steps else None
        if table is None and self._alone:
            table, steps = next(iter(self._tables.values()), None), [field.name, *steps]
        if isinstance(table, ast.Select):
            return self._is_number_of(table, *steps)
        name = None if table is None else table_name(table)
        types = None if name is None else self._types(name, tuple(steps))
        return types is not None and types & ANY & ~(NULL | MISSING) == NUMBER

    def _is_number_of(self, query: ast.Select, name: str, *steps: str) -> bool:
        """Return whether a column of a query is a field whose values are all numbers."""
        columns = {item.alias or _last(item.expr): item.expr for item in query.items}
        field = ast.Name(name) if query.star and not query.items else columns.get(name)
        if field is None:
            return False
        for step in steps:
            field = ast.Dot(field, step)
        # A query of WITH sees those before it.
        withs = dict(takewhile(lambda entry: entry[1] is not query, self._withs.items()))
        return _Fields(query, withs, self._types)._is_number(field)  # noqa: SLF001


def _last(expr: ast.Expr) -> str:
    """Return the name of a field without those in front of it."""
    return expr.name if isinstance(expr, ast.Name | ast.Dot) else ""
