"""Rows that join nothing because a key of the join is MISSING there; scans count them."""

from __future__ import annotations

from sdb.query.analyze.types import MISSING
from sdb.query.duckdb_sql.lowering import translate
from sdb.query.duckdb_sql.values.case_values import PassedValue
from sdb.query.duckdb_sql.values.fields import FieldValue
from sdb.query.plan.hints.dropped_rows import unjoined
from sdb.query.plan.rewrite import conjuncts
from sdb.query.syntax import ast, printer
from sdb.query.syntax.operators import MIRRORED
from sdb.query.syntax.visitor import root_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.query.duckdb_sql.context import SqlContext
    from sdb.query.duckdb_sql.joins import Pairs
    from sdb.query.duckdb_sql.scope import Scope
    from sdb.query.duckdb_sql.values.lanes import Value

_KEEPERS = {
    "INNER": ("LEFT JOIN", "RIGHT JOIN"),
    "SEMI": ("LEFT JOIN", ""),
    "ASOF": ("ASOF LEFT JOIN", ""),
}
"""Joins that leave out rows without a partner, and what keeps those of the left and right side."""
_PLAIN = frozenset({"FIRST", "CROSS", "INNER"})


def watch_join(source: ast.Source, pairs: Pairs, scope: Scope, context: SqlContext) -> None:
    """Have rows without a key of a join counted."""
    if context.is_standard or source.join not in _KEEPERS:
        return
    left, right = _KEEPERS[source.join]
    for name, sides in pairs.items():
        for value, keeper in zip(sides, (left, right), strict=True):
            _watch(value, name, keeper, context)
    for side, other in _comparisons(source.on):
        for expr in (side, other):
            root = root_name(expr)
            is_right = root is not None and root.name == source.alias
            value = translate(expr, scope, context)
            _watch(value, printer.text(expr), right if is_right else left, context)


def watch_where(select: ast.Select, scope: Scope, context: SqlContext) -> None:
    """Have rows without a key counted where WHERE joins tables: ``FROM a, b WHERE a.x = b.y``."""
    aliases = {source.alias for source in select.sources if source.alias}
    if context.is_standard or any(source.join not in _PLAIN for source in select.sources):
        return
    for left, other in _comparisons(select.where):
        roots = {getattr(root_name(expr), "name", None) for expr in (left, other)}
        if len(roots & aliases) > 1:
            for expr in (left, other):
                _watch(translate(expr, scope, context), printer.text(expr), "LEFT JOIN", context)


def _comparisons(condition: ast.Expr | None) -> list[tuple[ast.Expr, ast.Expr]]:
    """Return the sides of comparisons of two paths that have to be TRUE."""
    paths = (ast.Name, ast.Dot, ast.Index)
    return [
        (part.left, part.right)
        for part in conjuncts(condition)
        if isinstance(part, ast.Binary)
        and part.op in MIRRORED
        and isinstance(part.left, paths)
        and isinstance(part.right, paths)
    ]


def _watch(value: Value, text: str, keeper: str, context: SqlContext) -> None:
    while isinstance(value, PassedValue):
        value = value.inner
    if not keeper or not isinstance(value, FieldValue) or value.level:
        return
    names = tuple([step for step in value.path if isinstance(step, str)])
    if names and len(names) == len(value.path) and value.mask & MISSING:
        context.join_keys.append((value.scan, names, unjoined(text, keeper)))
