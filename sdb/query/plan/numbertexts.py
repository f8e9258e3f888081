"""Texts of a query that say numbers, beside fields that have nothing but numbers.

The type of ``'404'`` is open, as in PostgreSQL: beside numbers it is one. A field of several types
is compared as it is written: its numbers equal no text.
"""

from __future__ import annotations

import re

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
    withs = {name for name, _ in statement.with_}

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
    """The fields of the tables of a select."""

    def __init__(self, select: ast.Select, withs: set[str], types: Types) -> None:
        self._types = types
        self._alone = len(select.sources) == 1
        self._tables: dict[str, ast.Table] = {}
        for source in select.sources:
            table = source.table
            root = visitor.root_name(table.expr) if isinstance(table, ast.PathTable) else None
            # Neither a query of WITH nor a list in rows is a table.
            if root is None or root.name not in withs | self._tables.keys():
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
        steps: list[str] = []
        while isinstance(field, ast.Dot):
            steps.insert(0, field.name)
            field = field.base
        if not isinstance(field, ast.Name):
            return False
        table = self._tables.get(field.name) if steps else None
        if table is None and self._alone:
            table, steps = next(iter(self._tables.values()), None), [field.name, *steps]
        name = None if table is None else table_name(table)
        types = None if name is None else self._types(name, tuple(steps))
        return types is not None and types & ANY & ~(NULL | MISSING) == NUMBER
