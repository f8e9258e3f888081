"""Conditions of joins: USING, and the nearest row of ASOF JOIN."""

from __future__ import annotations

from sdb.query.analyze.refusals import refuse, rejected
from sdb.query.analyze.types import BOOL, LETTERS, NUMBER, STRING, TIME
from sdb.query.duckdb_sql.lowering import translate
from sdb.query.duckdb_sql.scope import MergedNames, is_absent
from sdb.query.duckdb_sql.values import equality, standard
from sdb.query.duckdb_sql.values.case_values import Chosen
from sdb.query.duckdb_sql.values.lanes import Nothing
from sdb.query.plan.rewrite import conjuncts
from sdb.query.syntax import ast
from sdb.query.syntax.operators import MIRRORED
from sdb.query.syntax.visitor import nodes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdb.query.duckdb_sql.scope import Binding, Scope, SqlContext
    from sdb.query.duckdb_sql.values.lanes import Value

Pairs = dict[str, "tuple[Value, Value]"]
"""Values of fields of USING on both sides."""

APART = frozenset({"SEMI", "ANTI", "ASOF", "ASOF LEFT"})
"""Joins behind which all rows of a table count, whatever WHERE asks of those that come out."""

_COMPARED = MIRRORED.keys() - {"<>"}
_ORDERED = (BOOL, NUMBER, TIME, STRING)
_HOW = "as in a ASOF JOIN b ON a.key = b.key AND a.ts >= b.ts"


def pairs(source: ast.Source, lefts: Sequence[Binding], right: Binding) -> Pairs:
    """Return the values of the fields of USING.

    Raises `QueryError` if more than one source on the left has such a field.
    """
    return {name: (_left(name, lefts, source), _of(right, name)) for name in source.using}


def _left(name: str, lefts: Sequence[Binding], source: ast.Source) -> Value:
    for binding in lefts:
        if isinstance(binding, MergedNames) and name in binding.values:
            return binding.values[name]
    values = [_of(binding, name) for binding in lefts]
    present = [value for value in values if not is_absent(value)]
    if len(present) > 1:
        hint = "say which one is meant: JOIN ... ON a.x = b.x"
        refuse(f"USING ({name}): several tables on the left have {name}", source, hint)
    return (present or values)[0]


def _of(binding: Binding, name: str) -> Value:
    if isinstance(binding, MergedNames):
        return Nothing()
    value = binding.field(name) or binding.named(name)
    return Nothing() if value is None else value


def equal(fields: Pairs, context: SqlContext) -> str:
    """Return SQL of the condition that USING stands for."""
    return " AND ".join(context.equal(*pair, holds=True) for pair in fields.values())


def merged(join: str, fields: Pairs, context: SqlContext) -> MergedNames:
    """Return the names that stand for a field of both sides."""
    values: dict[str, Value] = {}
    for name, (left, right) in fields.items():
        if join == "FULL":
            absent = left.missing() if context.original else standard.null(left)
            values[name] = Chosen([(f"(NOT {absent})", left)], right)
        else:
            values[name] = right if join == "RIGHT" else left
    return MergedNames(values)


def star(sources: Sequence[Binding]) -> list[tuple[str, Value]]:
    """Return what ``*`` stands for: names and values, the empty name for a whole row."""
    outputs = [pair for source in sources for pair in source.outputs()]
    common: dict[str, Value] = {}
    for source in sources:
        if isinstance(source, MergedNames):
            common = {**source.values, **common}
    if not common:
        return outputs
    if all(name for name, _ in outputs):
        outputs = [pair for pair in outputs if pair[0] not in common]
    return [*common.items(), *outputs]


def nearest(source: ast.Source, fields: Pairs, scope: Scope, context: SqlContext) -> str:
    """Return SQL of the condition of ASOF JOIN: keys that are equal, and one order.

    Raises `QueryError` if it is something else.
    """
    if fields:
        *keys, (left, right) = fields.values()
        return " AND ".join(
            [*[_same(*key, context) for key in keys], _order(">=", left, right, source)]
        )
    tests = []
    orders = 0
    for part in conjuncts(source.on):
        if not isinstance(part, ast.Binary) or part.op not in _COMPARED:
            refuse("ASOF JOIN takes comparisons joined by AND", part, _HOW)
        op, left_side, right_side = part.op, part.left, part.right
        if _is_right(left_side, source) and not _is_right(right_side, source):
            op, left_side, right_side = MIRRORED[op], right_side, left_side
        elif _is_right(left_side, source) or not _is_right(right_side, source):
            refuse("ASOF JOIN compares fields of one table with those of the other", part, _HOW)
        left = translate(left_side, scope, context)
        right = translate(right_side, scope, context)
        orders += op != "="
        tests.append(_same(left, right, context) if op == "=" else _order(op, left, right, part))
    if orders != 1:
        at = source if source.on is None else source.on
        count = "more than one" if orders else "none"
        refuse(
            f"ASOF JOIN takes exactly one of <, <=, > and >=: the condition has {count}", at, _HOW
        )
    return " AND ".join(tests)


def _is_right(expr: ast.Expr, source: ast.Source) -> bool:
    """Return whether an expression is about the table behind ASOF JOIN."""
    if any(isinstance(node, ast.Select) for node in nodes(expr)):
        refuse("ASOF JOIN takes no sub-query in its condition", expr, _HOW)
    names = {node.name for node in nodes(expr) if isinstance(node, ast.Name)}
    if source.alias is None:
        raise rejected(f"the table behind ASOF JOIN needs an alias, {_HOW}", source)
    if source.alias in names and len(names) > 1:
        refuse("ASOF JOIN compares fields of one table with those of the other", expr, _HOW)
    return source.alias in names


def _same(left: Value, right: Value, context: SqlContext) -> str:
    """Return SQL that two keys are equal, of which the engine sees the sides."""
    if not context.original:
        return equality.equal(left, right, nulls=False, holds=True)
    letter = LETTERS.get(left.only, "k") if left.only == right.only else "k"
    letter = "k" if letter == "n" else letter
    return f"{left.lane(letter)} = {right.lane(letter)}"


def _order(op: str, left: Value, right: Value, node: ast.Node) -> str:
    """Return SQL of an order; of values of several types only those of one type have one."""
    kinds = [kind for kind in _ORDERED if left.mask & right.mask & kind]
    if not kinds:
        refuse("ASOF JOIN compares values that never have one type", node, _HOW)
    if len(kinds) == 1 and kinds[0] != NUMBER:
        letter = LETTERS[kinds[0]]
        return f"{left.lane(letter)} {op} {right.lane(letter)}"
    if kinds == [NUMBER] and left.integer and right.integer:
        return f"{left.lane('x')} {op} {right.lane('x')}"
    # What is equal in type is so in the lanes of all other types, which are NULL.
    return (
        f"{left.lane('t')} = {right.lane('t')} AND {_rank(left, kinds)} {op} {_rank(right, kinds)}"
    )


def _rank(value: Value, kinds: Sequence[int]) -> str:
    """Return SQL of a text of bytes that sorts as values of one type do."""
    terms = []
    for kind in kinds:
        letters = "nx" if kind == NUMBER else LETTERS[kind]
        terms += [f"{value.lane(letter)}, 'ASC NULLS LAST'" for letter in letters]
    types = ", ".join(map(str, kinds))
    return f"CASE WHEN {value.lane('t')} IN ({types}) THEN create_sort_key({', '.join(terms)}) END"
