"""Conditions that the scan can decide on its own, row by row, before any lane is built."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdb.query import ast
from sdb.query.plan import ANY, BOOL, MISSING, NULL
from sdb.query.translate.expressions import translate
from sdb.query.translate.lanes import Constant, Null
from sdb.query.translate.rewrite import conjuncts
from sdb.query.translate.scans import Field, Predicate, Scan

if TYPE_CHECKING:
    from sdb.query.translate.context import Context
    from sdb.query.translate.scope import Scope

_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<>": "<>"}
_TESTS = {"NULL": (NULL, ANY & ~(NULL | MISSING)), "MISSING": (MISSING, ANY & ~MISSING)}


class Unsuited(Exception):  # noqa: N818
    """A condition, or a part of it, is not for the scan."""


def pushed(
    where: ast.Expr | None, scans: list[Scan], scope: Scope, context: Context
) -> list[ast.Expr]:
    """Give the scans what they can decide; the conditions that remain."""
    found: dict[str, list[Predicate]] = {}
    rest = []
    for part in conjuncts(where):
        try:
            scan, predicate = Pusher(scans, scope, context).push(part)
        except Unsuited:
            rest.append(part)
        else:
            found.setdefault(scan.name, []).append(predicate)
    for scan in scans:
        parts = found.get(scan.name)
        if parts:
            scan.predicate = parts[0] if len(parts) == 1 else ("and", parts)
    return rest


class Pusher:
    """Turns one condition into a predicate of one scan."""

    def __init__(self, scans: list[Scan], scope: Scope, context: Context) -> None:
        self.scans = scans
        self.scope = scope
        self.context = context
        self.scan: Scan | None = None

    def push(self, node: ast.Expr) -> tuple[Scan, Predicate]:
        """The scan that a condition is about, and the condition."""
        predicate = self._condition(node)
        if self.scan is None:
            raise Unsuited
        return self.scan, predicate

    def _condition(self, node: ast.Expr) -> Predicate:
        if isinstance(node, ast.Binary) and node.op in {"AND", "OR"}:
            sides = [self._condition(node.left), self._condition(node.right)]
            return (node.op.lower(), sides)
        if isinstance(node, ast.Unary) and node.op == "NOT":
            if isinstance(node.operand, (ast.Name, ast.Dot, ast.Index)):
                raise Unsuited
            return ("not", self._condition(node.operand))
        if isinstance(node, ast.Binary) and node.op in _FLIPPED:
            return self._comparison(node)
        if isinstance(node, ast.Between):
            path = self._path(node.operand)
            low, high = self._constant(node.low), self._constant(node.high)
            return ("and", [("cmp", path, ">=", low), ("cmp", path, "<=", high)])
        if isinstance(node, ast.In) and not isinstance(node.items, ast.Subquery):
            values = [self._constant(item) for item in node.items]
            return ("in", self._path(node.operand), values)
        if isinstance(node, ast.Is):
            return self._test(node)
        if isinstance(node, ast.Match) and node.op == "LIKE":
            match = ("like", self._path(node.operand), node.pattern, node.escape)
            return ("not", match) if node.negated else match
        return ("cmp", self._path(node), "=", ("b", True))

    def _comparison(self, node: ast.Binary) -> Predicate:
        if isinstance(node.left, (ast.Name, ast.Dot, ast.Index)):
            return ("cmp", self._path(node.left), node.op, self._constant(node.right))
        return ("cmp", self._path(node.right), _FLIPPED[node.op], self._constant(node.left))

    def _test(self, node: ast.Is) -> Predicate:
        path = self._path(node.operand)
        if node.what in _TESTS:
            return ("is", path, _TESTS[node.what][node.negated])
        value = ("b", node.what == "TRUE")
        test = ("and", [("is", path, BOOL), ("cmp", path, "=", value)])
        return ("not", test) if node.negated else test

    def _path(self, node: ast.Expr) -> list[str | int]:
        if not isinstance(node, (ast.Name, ast.Dot, ast.Index)):
            raise Unsuited
        value = translate(node, self.scope, self.context)
        if not isinstance(value, Field) or value.level or not value.path:
            raise Unsuited
        if value.scan not in self.scans or (self.scan is not None and self.scan is not value.scan):
            raise Unsuited
        self.scan = value.scan
        return list(value.path)

    def _constant(self, node: ast.Expr) -> Predicate:
        if not isinstance(node, (ast.Literal, ast.Unary, ast.Binary)):
            raise Unsuited
        value = translate(node, self.scope, self.context)
        if isinstance(value, Null):
            return ("z",)
        if not isinstance(value, Constant):
            raise Unsuited
        constant = value.value
        if isinstance(constant, ast.Instant):
            return ("u", constant.us)
        letters = {bool: "b", int: "x", float: "n", str: "s"}
        return (letters[type(constant)], constant)
