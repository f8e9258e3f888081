"""Conditions that a scan decides on its own, row by row, before any lane is built."""

from __future__ import annotations

from sdb import _core
from sdb.query.analyze.binder import columns
from sdb.query.analyze.regexes import similar
from sdb.query.analyze.types import ANY, BOOL, MISSING, NULL, STRING, TIME
from sdb.query.plan.rewrite import conjunction, conjuncts
from sdb.query.syntax import ast, visitor
from sdb.query.syntax.operators import MIRRORED, operands
from sdb.query.syntax.visitor import nodes
from sdb.records import replace
from sdb.typed import Protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, ClassVar, TypeAlias

    from sdb.query.catalog.dataset import ValuePath
    from sdb.query.plan.scans import Constant, Predicate, ScanNode


class RowPlace(Protocol):
    """A value at a path of the rows of a scan."""

    @property
    def scan(self) -> ScanNode:
        """The scan."""

    @property
    def level(self) -> int:
        """Depth to which its rows are unfolded; 0 for the rows themselves."""

    @property
    def path(self) -> ValuePath:
        """The way from there."""


Resolve: TypeAlias = "Callable[[ast.Expr], RowPlace | None]"
"""Finds the place that a path leads to; ``None`` when it leads to something else."""

_TESTS = {"NULL": (NULL, ANY & ~(NULL | MISSING)), "MISSING": (MISSING, ANY & ~MISSING)}
_MOST_ILIKE = 500
"""Characters of a pattern of ILIKE that is surely not too large for a scan."""
PRESENT = ANY & ~(NULL | MISSING)
"""The types of what is neither NULL nor MISSING."""


_PATHS = (ast.Name, ast.Dot, ast.Index)


class Unsuited(Exception):  # noqa: N818
    """A condition, or a part of it, is not for the scan."""


def pushed(where: ast.Expr | None, scans: Sequence[ScanNode], resolve: Resolve) -> list[ast.Expr]:
    """Put conditions that scans can decide into them; return those that remain."""
    predicates: dict[str, list[Predicate]] = {}
    rest = []
    for part in conjuncts(where):
        try:
            scan, predicate = Pusher(scans, resolve).push(part)
        except Unsuited:
            rest.append(part)
        else:
            predicates.setdefault(scan.name, []).append(predicate)
    for scan in scans:
        parts = predicates.get(scan.name)
        if parts:
            scan.predicate = parts[0] if len(parts) == 1 else ("and", parts)
    return rest


class Pusher:
    """Turns one condition into a predicate of one scan.

    Predicates mean what operators of the original do: that NULL is a value, which differs from
    others. Of all other operators NOT goes down to the tests of paths, and its rows have to have a
    value there.
    """

    def __init__(self, scans: Sequence[ScanNode], resolve: Resolve) -> None:
        self.scans = scans
        self.resolve = resolve
        self.scan: ScanNode | None = None

    def push(self, node: ast.Expr) -> tuple[ScanNode, Predicate]:
        """Return the scan that a condition is about, and the condition."""
        is_original = getattr(node, "original", False)  # a path means the same as either
        predicate = self._condition(node) if is_original else self._decided(node, negated=False)
        if self.scan is None:
            raise Unsuited
        return self.scan, predicate

    def _decided(self, node: ast.Expr, *, negated: bool) -> Predicate:
        """Return a predicate that is TRUE where a condition of `standard` is."""
        match node:
            case ast.Unary("NOT", operand):
                return self._decided(operand, negated=not negated)
            case ast.Binary("AND" | "OR" as op):
                parts = [self._decided(part, negated=negated) for part in operands(node, op)]
                return ("and" if (op == "AND") is not negated else "or", parts)
            case ast.Is(what="NULL"):
                is_null = node.negated is negated
                path = self._path(self._rounded(node.operand))
                return ("is", path, ANY & ~PRESENT if is_null else PRESENT)
            case ast.Is():
                test = self._test(node)
                return ("not", test) if negated else test
            case ast.Name() | ast.Dot() | ast.Index():
                return ("cmp", self._path(node), "=", ("b", not negated))
        return self._tested(node, negated=negated)

    def _tested(self, node: ast.Expr, *, negated: bool) -> Predicate:
        """Return a predicate that is TRUE where a test of one path, or its opposite, is."""
        if any(isinstance(part, ast.Literal) and part.value is None for part in nodes(node)):
            raise Unsuited
        if isinstance(node, ast.Call):
            node = _match_of(node)
        if isinstance(node, ast.Match) and node.negated:
            node, negated = replace(node, negated=False), not negated
        if isinstance(node, ast.Binary) and node.op == "<>":
            node, negated = replace(node, op="="), not negated
        test = self._condition(node)
        if not negated:
            return test
        sides = [node.left, node.right] if isinstance(node, ast.Binary) else [node.operand]  # type: ignore[union-attr]  # the others are tests
        path = next(self._path(side) for side in sides if isinstance(side, _PATHS))
        # To a predicate NULL and MISSING differ from any value, so that NOT alone would let them
        # pass.
        parts: list[Predicate] = [("not", test), ("is", path, PRESENT)]
        return ("and", parts)

    def _condition(self, node: ast.Expr) -> Predicate:
        make = self._BY_TYPE.get(type(node))
        # A path in the place of a condition: TRUE when it is TRUE, MISSING when it is MISSING.
        return make(self, node) if make else ("cmp", self._path(node), "=", ("b", True))

    def _not(self, node: ast.Unary) -> Predicate:
        # NOT of a present value that is no boolean is MISSING, which no predicate says.
        if node.op != "NOT" or isinstance(node.operand, (ast.Name, ast.Dot, ast.Index)):
            raise Unsuited
        return ("not", self._condition(node.operand))

    def _between(self, node: ast.Between) -> Predicate:
        low = self._compared(node.operand, ">=", node.low)
        return ("and", [low, self._compared(node.operand, "<=", node.high)])

    def _in(self, node: ast.In) -> Predicate:
        if isinstance(node.items, ast.Subquery):
            raise Unsuited
        path = self._path(node.operand)
        return ("in", path, [form for item in node.items for form in self._forms(path, item)])

    def _call(self, node: ast.Call) -> Predicate:
        return self._match(_match_of(node))

    def _match(self, node: ast.Match) -> Predicate:
        path, match = self._path(node.operand), self._matched(node)
        test: Predicate = (match[0], path, *match[1:])
        return ("not", test) if node.negated else test

    @staticmethod
    def _matched(node: ast.Match) -> tuple[Any, ...]:
        """Return what a match asks of a text; a regular expression as RE2 has it."""
        if node.op == "LIKE":
            return "like", node.pattern, node.escape
        if node.op == "ILIKE":
            if len(node.pattern) > _MOST_ILIKE:
                raise Unsuited
            return "ilike", node.pattern, node.escape
        is_similar, folds = node.op == "SIMILAR TO", node.op == "~*"
        regex = rf"\A(?:{similar(node.pattern)})\z" if is_similar else node.pattern
        if not _core.is_common_regex(regex, ignore_case=folds):
            raise Unsuited
        return "regex", regex, folds

    def _binary(self, node: ast.Binary) -> Predicate:
        if node.op in {"AND", "OR"}:
            parts = [self._condition(part) for part in operands(node, node.op)]
            return ("and", parts) if node.op == "AND" else ("or", parts)
        if node.op not in MIRRORED:
            raise Unsuited
        if isinstance(node.left, (ast.Name, ast.Dot, ast.Index)):
            return self._compared(node.left, node.op, node.right)
        return self._compared(node.right, MIRRORED[node.op], node.left)

    def _compared(self, operand: ast.Expr, op: str, constant: ast.Expr) -> Predicate:
        path = self._path(operand)
        text, *times = self._forms(path, constant)
        if not times:
            return ("cmp", path, op, text)
        if op in {"=", "<>"}:
            test: Predicate = ("in", path, [text, *times])
            return test if op == "=" else ("not", test)
        of_text: Predicate = ("cmp", path, op, text)
        of_time: Predicate = ("cmp", path, op, times[0])
        is_text: Predicate = ("is", path, STRING)
        is_time: Predicate = ("is", path, TIME)
        # MISSING where it is neither: the last one says so.
        either: list[Predicate] = [
            ("and", [of_text, is_text]),
            ("and", [of_time, is_time]),
            ("and", [of_text, of_time]),
        ]
        return ("or", either)

    def _forms(self, path: list[str | int], node: ast.Expr) -> list[Constant]:
        """Return a constant, once for each type that it is compared as."""
        if not isinstance(node, ast.Literal) or not isinstance(node.value, ast.TimeText):
            return [self._constant(node)]
        forms: dict[int, Constant] = {
            STRING: ("s", str(node.value)),
            TIME: ("u", node.value.us),
        }
        types = ANY if self.scan is None else self.scan.types(0, tuple(path))
        return [form for kind, form in forms.items() if types & kind] or [forms[TIME]]

    def _test(self, node: ast.Is) -> Predicate:
        path = self._path(node.operand)
        if node.what in _TESTS:
            return ("is", path, _TESTS[node.what][node.negated])
        is_bool: Predicate = ("is", path, BOOL)
        test: Predicate = ("and", [is_bool, ("cmp", path, "=", ("b", node.what == "TRUE"))])
        return ("not", test) if node.negated else test

    def _path(self, node: ast.Expr) -> list[str | int]:
        if not isinstance(node, (ast.Name, ast.Dot, ast.Index)):
            raise Unsuited
        value = self.resolve(node)
        if value is None or value.level or not value.path:
            raise Unsuited
        if value.scan not in self.scans or (self.scan is not None and self.scan is not value.scan):
            raise Unsuited
        self.scan = value.scan
        return list(value.path)

    def _rounded(self, node: ast.Expr) -> ast.Expr:
        """Return the time that is rounded down, which has a value where the result has one."""
        if not isinstance(node, ast.Call) or node.name not in {"DATE_BIN", "DATE_TRUNC"}:
            return node
        value = self.resolve(node.args[0])
        types = ANY if value is None else value.scan.types(value.level, tuple(value.path))
        if types & ~(TIME | NULL | MISSING):
            raise Unsuited  # the engine knows which texts are times
        return node.args[0]

    @staticmethod
    def _constant(node: ast.Expr) -> Constant:
        match node:
            case ast.Literal(value):
                constant = value
            case ast.Unary("-", ast.Literal(int() | float() as value)) if type(value) is not bool:
                constant = -value
            case _:
                raise Unsuited
        match constant:
            case None:
                return ("z",)
            case ast.Instant():
                return ("u", constant.us)
            case bool():
                return ("b", constant)
            case int():
                return ("x", constant)
            case float():
                return ("n", constant)
            case _:
                return ("s", constant)

    _BY_TYPE: ClassVar[dict[type, Callable[[Pusher, Any], Predicate]]] = {
        ast.Binary: _binary,
        ast.Unary: _not,
        ast.Between: _between,
        ast.In: _in,
        ast.Is: _test,
        ast.Match: _match,
        ast.Call: _call,
    }


def _match_of(node: ast.Call) -> ast.Match:
    match node.name, node.args:
        case "REGEXP_LIKE", (operand, ast.Literal(str() as pattern)):
            return ast.Match("~", operand, str(pattern), None, negated=False)
    raise Unsuited


# Conditions on the output of a sub-query, moved to where its rows are read.


def narrowed(inner: ast.Select, where: ast.Expr | None, alias: str | None) -> ast.Select:
    """Return a sub-query the conditions on its output.

    * ``where``: The condition of a query around it that has no other source.
    """
    names = _passed_on(inner)
    if where is None or names is None:
        return inner
    remaining = []
    for part in conjuncts(where):
        moved = _moved(part, names, alias)
        if moved is not None:
            remaining.append(moved)
    if not remaining:
        return inner
    own = [] if inner.where is None else [inner.where]
    return replace(inner, where=conjunction(own + remaining))


def _passed_on(inner: ast.Select) -> Mapping[str, ast.Expr] | str | None:
    """Return paths behind output names, or the alias of the rows; ``None`` when rows change."""
    exprs = [item.expr for item in inner.items] + [sort.expr for sort in inner.order_by]
    changed = (
        inner.limit is not None
        or inner.offset is not None
        or inner.distinct_on
        or inner.group_by is not None
        or inner.having is not None
        or inner.qualify is not None
        or inner.sample is not None
        or any(True for expr in exprs for _ in visitor.aggregates(expr))
    )
    if changed:
        return None
    if inner.star:
        (source, *others) = inner.sources or (None,)
        plain = source is not None and not others
        return (source.alias or "") if plain and source is not None else None
    return {name: e for name, e in columns(inner).items() if visitor.root_name(e) is not None}


def _moved(
    part: ast.Expr, names: Mapping[str, ast.Expr] | str, alias: str | None
) -> ast.Expr | None:
    """Say a condition in terms of the rows of the sub-query; ``None`` when that cannot be."""
    failed = False

    def inside(name: str) -> ast.Expr:
        nonlocal failed
        if isinstance(names, str):
            return ast.Dot(ast.Name(names), name) if names else ast.Name(name)
        if name not in names:
            failed = True
            return ast.Missing()
        return names[name]

    def change(node: ast.Node) -> ast.Node | None:
        nonlocal failed
        if isinstance(node, (ast.Subquery, ast.Exists, ast.Aggregate)):
            failed = True
            return node
        if isinstance(node, ast.Dot) and alias is not None and node.base == ast.Name(alias):
            return inside(node.name)
        return inside(node.name) if isinstance(node, ast.Name) else None

    moved = visitor.rewrite(part, stop=change)
    return None if failed else moved
