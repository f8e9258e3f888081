"""Texts of a query that say numbers, beside fields that have nothing but numbers.

The type of ``'404'`` is open, as in PostgreSQL: beside numbers it is one. A field of several types
is compared as it is written: its numbers equal no text.
"""

from __future__ import annotations

import re
from contextlib import suppress
from itertools import takewhile

from sdb.errors import QueryError
from sdb.query.analyze.folding import fold
from sdb.query.analyze.static_types import static_type
from sdb.query.analyze.types import ANY, NUMBER, values_of
from sdb.query.catalog.dataset import table_name
from sdb.query.plan.hints.type_mismatch import told
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


def unlike(statement: ast.Statement, types: Types) -> list[str]:
    """Return a line for each comparison of columns of queries or joins without a common type.

    * ``statement``: One that is checked, in which texts that are times are known.
    """
    withs = dict(statement.with_)
    lines: dict[str, None] = {}
    for node in visitor.nodes(statement):
        if isinstance(node, ast.Select):
            fields = _Fields(node, withs, types)
            parts = visitor.nodes(node, into_selects=False)
            lines |= dict.fromkeys(filter(None, map(fields.unlike, parts)))
    return list(lines)


class _Fields:
    """The fields of the tables and sub-queries of a select."""

    def __init__(self, select: ast.Select, withs: dict[str, ast.Select], types: Types) -> None:
        self._withs, self._types = withs, types
        self._alone = len(select.sources) == 1
        # Comparisons in a query of one table are told with its packfiles.
        first = select.sources[0].table if self._alone else None
        self._is_told = isinstance(first, ast.PathTable | ast.CallTable | ast.ConcatTable) and (
            getattr(getattr(first, "expr", None), "name", "") not in withs
        )
        self._aliases = {item.alias: item.expr for item in select.items if item.alias}
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

    def unlike(self, node: ast.Node) -> str:
        """Return a line about a comparison of what has no type in common; else nothing."""
        match node:
            case ast.Binary(op, left_side, right_side) if op in MIRRORED and op != "<>":
                if self._is_told:
                    return ""
                side, left, right = left_side, self.kinds(left_side), self.kinds(right_side)
                if isinstance(side, ast.Literal):
                    side, left, right = right_side, right, left
            case ast.In(side, ast.Subquery(select)) if len(select.items) == 1:
                left = self.kinds(side)
                right = _Fields(select, self._withs, self._types).kinds(select.items[0].expr)
            case _:
                return ""
        if not left or not right or left & right:
            return ""
        why = told(printer.text(side), left, right)
        return f"warning: {printer.text(node)} is TRUE in no row: {why}"

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

    def _is_number(self, expr: ast.Expr) -> bool:
        """Return whether all values of an expression are numbers, and it has some."""
        return self.kinds(expr) == NUMBER

    def kinds(self, expr: ast.Expr) -> int:
        """Return the types of the values that an expression has; 0: they are not known."""
        steps: list[str] = []
        field = expr
        while isinstance(field, ast.Dot):
            steps.insert(0, field.name)
            field = field.base
        if not isinstance(field, ast.Name):
            with suppress(QueryError):
                known = values_of(static_type(fold(expr)))
                return 0 if known == values_of(ANY) else known
            return 0
        table = self._tables.get(field.name) if steps else None
        if table is None and self._alone:
            table, steps = next(iter(self._tables.values()), None), [field.name, *steps]
        known = self._kinds_in(table, steps)
        alias = None if known or field is not expr else self._aliases.get(field.name)
        return known if alias is None or alias == field else self.kinds(alias)

    def _kinds_in(self, table: ast.Table | ast.Select | None, steps: list[str]) -> int:
        """Return the types of what a source has at a path."""
        if isinstance(table, ast.Select):
            return self._kinds_of(table, *steps)
        name = None if table is None else table_name(table)
        types = None if name is None else self._types(name, tuple(steps))
        return 0 if types is None else values_of(types)

    def _kinds_of(self, query: ast.Select, name: str, *steps: str) -> int:
        """Return the types of a column of a query."""
        columns = [item.alias or _last(item.expr) for item in query.items]
        if query.star and not query.items:
            whole = query.sources[0].table if len(query.sources) == 1 else None
            if isinstance(whole, ast.SetTable):
                return self._kinds_of_sides(whole, name, *steps)
            field: ast.Expr = ast.Name(name)
        elif name in columns:
            field = query.items[columns.index(name)].expr
        else:
            return 0
        for step in steps:
            field = ast.Dot(field, step)
        # A query of WITH sees those before it.
        withs = dict(takewhile(lambda entry: entry[1] is not query, self._withs.items()))
        return _Fields(query, withs, self._types).kinds(field)

    def _kinds_of_sides(self, sets: ast.SetTable, name: str, *steps: str) -> int:
        """Return the types of a column of two queries, which go by position or by name."""
        left, right = sets.left, sets.right
        names = [item.alias or _last(item.expr) for item in left.items]
        other = name
        if not sets.by_name and name in names and len(right.items) == len(names):
            item = right.items[names.index(name)]
            other = item.alias or _last(item.expr)
        sides = [self._kinds_of(left, name, *steps), self._kinds_of(right, other, *steps)]
        return sides[0] | sides[1] if all(sides) else 0


def _last(expr: ast.Expr) -> str:
    """Return the name of a field without those in front of it."""
    return expr.name if isinstance(expr, ast.Name | ast.Dot) else ""
