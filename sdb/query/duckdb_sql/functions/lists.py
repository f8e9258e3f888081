"""Functions of lists and structures."""

from __future__ import annotations

from sdb.query.analyze.types import BOOL, LIST, MISSING, NULL, NUMBER, STRUCT
from sdb.query.duckdb_sql.values import operators, standard
from sdb.query.duckdb_sql.values.casts import cast
from sdb.query.duckdb_sql.values.lanes import Keyed, Nothing, Typed, Value
from sdb.query.duckdb_sql.values.operators import int64

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from sdb.query.duckdb_sql.functions.arguments import Arguments, Function


def _size(call: Arguments) -> Value:
    value = call.values[0]
    absent = MISSING if value.mask & ~(LIST | STRUCT) else 0
    return Typed(NUMBER, value.lane("z"), absent=absent, integer=True)


def _array_size(call: Arguments) -> Value:
    value = call.values[0]
    if not value.mask & STRUCT:
        return _size(call)
    sql = f"CASE WHEN {value.lane('t')} = {LIST} THEN {value.lane('z')} END"
    return Typed(NUMBER, sql, integer=True)


def array_contains(call: Arguments) -> Value:
    """ARRAY_CONTAINS: whether a list has an element that equals a value."""
    items, member = call.values[0].lane("e"), call.values[1].lane("k")
    # DuckDB 2 finds no NULL in an empty list, where it gave NULL before.
    holds = f"list_contains({items}, {member})"
    if call.node.original:
        return Typed(BOOL, f"CASE WHEN {member} IS NOT NULL THEN {holds} END")
    empty = standard.null(call.values[1])
    if call.node.part == "ANY":
        # Where there is no list there are no elements.
        holds = f"coalesce(len({items}), 0) > 0 THEN CASE WHEN {empty} THEN NULL WHEN {holds}"
        return Typed(
            BOOL,
            f"CASE WHEN {holds} THEN true WHEN NOT list_contains({items}, 'z') THEN false END"
            " ELSE false END",
        )
    return Typed(BOOL, f"CASE WHEN NOT {empty} OR len({items}) = 0 THEN {holds} END")


def _array_position(call: Arguments) -> Value:
    position = f"list_position({call.values[0].lane('e')}, {call.values[1].lane('k')})"
    return Typed(NUMBER, f"nullif({position}, 0)::BIGINT", integer=True)


def _array_sum(call: Arguments) -> Value:
    numbers = call.values[0].lane("l")
    return Typed(
        NUMBER, f"CASE WHEN {numbers} IS NOT NULL THEN coalesce(list_sum({numbers}), 0.0) END"
    )


def _zipped(a: str, b: str, term: str) -> str:
    pairs = f"list_zip({a}, {b}, true)"
    return f"coalesce(list_sum(list_transform({pairs}, lambda p: {term})), 0.0)"


def _vectors(make: Callable[[str, str], str]) -> Function:
    def function(call: Arguments) -> Value:
        if not all(arg.mask & LIST for arg in call.values):
            return Nothing()
        a, b = (arg.lane("l") for arg in call.values)
        sql = f"CASE WHEN {a} IS NOT NULL AND {b} IS NOT NULL THEN {make(a, b)} END"
        return Typed(NUMBER, sql)

    return function


def _inner(a: str, b: str) -> str:
    return _zipped(a, b, "p[1] * p[2]")


def _l1(a: str, b: str) -> str:
    return _zipped(a, b, "abs(p[1] - p[2])")


def _l2(a: str, b: str) -> str:
    return f"sqrt({_zipped(a, b, '(p[1] - p[2]) * (p[1] - p[2])')})"


def _cosine(a: str, b: str) -> str:
    lengths = f"{_zipped(a, b, 'p[1] * p[1]')}) * sqrt({_zipped(a, b, 'p[2] * p[2]')}"
    ratio = f"{_inner(a, b)} / nullif(sqrt({lengths}), 0)"
    return f"coalesce(1 - {ratio}, 0.0)"


def listed(keys: str) -> Value:
    """Return the list whose elements have the keys of a list of SQL."""
    sized = f"list_transform({keys}, lambda item: strlen(item) || ':' || item)"
    return Keyed(f"('[' || array_to_string({sized}, ''))", LIST | MISSING)


def of_elements(name: str, items: str, variable: str, body: Value) -> Value:
    """Return the value of a function that calls another one with each element.

    * ``items``: SQL of the keys of the elements.
    * ``variable``: The name of one of them in the SQL of the body.
    """
    if name == "LIST_TRANSFORM":
        return listed(
            f"list_transform({items}, lambda {variable}: coalesce({body.lane('k')}, 'z'))"
        )
    holds = f"coalesce({body.lane('b')}, false)"
    if name == "ALL_MATCH":
        holds = f"NOT {holds}"
    fitting = f"list_filter({items}, lambda {variable}: {holds})"
    match name:
        case "LIST_FILTER":
            return listed(fitting)
        case "LIST_COUNT":
            return Typed(NUMBER, f"len({fitting})", integer=True)
    return Typed(BOOL, f"(len({fitting}) {'>' if name == 'ANY_MATCH' else '='} 0)")


def _of_keys(make: Callable[..., str]) -> Function:
    """Return a function of lists that gives a list of some of their elements."""

    def function(call: Arguments) -> Value:
        if not all(arg.mask & LIST for arg in call.values):
            return Nothing()
        return listed(make(*[arg.lane("e") for arg in call.values]))

    return function


def _one_behind_another(*lists: str) -> str:
    return f"flatten([{', '.join(lists)}])"


def joined(left: Value, right: Value) -> Value:
    """Return ``left || right`` of `standard`: of lists a list, else the texts of any values."""
    mask = left.mask | right.mask
    if mask & LIST and not mask & ~(LIST | NULL | MISSING):
        return listed(f"({left.lane('e')} || {right.lane('e')})")
    texts = [cast(value, "STRING", reads_texts=True) for value in (left, right)]
    return operators.joined(*texts)


def _distinct(items: str) -> str:
    return f"list_filter({items}, lambda item, number: list_position({items}, item) = number)"


def _sorted(items: str) -> str:
    """Return SQL of elements in order: numbers, times, then texts and all others."""
    item = Keyed("item")
    members = f"{{'n': {item.lane('n')}, 'u': {item.lane('u')}, 'k': item}}"
    pairs = f"list_sort(list_transform({items}, lambda item: {members}), 'ASC', 'NULLS LAST')"
    return f"list_transform({pairs}, lambda pair: pair.k)"


def _extreme(at: int) -> Function:
    def function(call: Arguments) -> Value:
        items = f"list_filter({call.values[0].lane('e')}, lambda item: item <> 'z')"
        return Keyed(f"list_extract({_sorted(items)}, {at})")

    return function


def _slice(call: Arguments) -> Value:
    items, first, last = call.values
    return listed(f"list_slice({items.lane('e')}, {int64(first)}, {int64(last)})")


def _element(call: Arguments) -> Value:
    items, number = call.values
    return Keyed(f"list_extract({items.lane('e')}, {int64(number)})")


def _keys(call: Arguments) -> Value:
    members = f"sdb_key_members({call.values[0].lane('v')})"
    is_struct = f"{call.values[0].lane('t')} = {STRUCT}"
    names = f"list_transform({members}, lambda member: 's' || member.name)"
    return listed(f"CASE WHEN {is_struct} THEN {names} END")


def _overlap(call: Arguments) -> Value:
    left, right = (arg.lane("e") for arg in call.values)
    return Typed(BOOL, f"list_has_any({left}, {right})")


def _both(left: str, right: str) -> str:
    return _distinct(f"list_filter({left}, lambda item: list_contains({right}, item))")


FUNCTIONS: dict[str, Function] = {
    "ARRAY_DISTINCT": _of_keys(_distinct),
    "ARRAY_SORT": _of_keys(_sorted),
    "ARRAY_REVERSE": _of_keys(lambda items: f"list_reverse({items})"),
    "ARRAY_CONCAT": _of_keys(_one_behind_another),
    "ARRAY_INTERSECT": _of_keys(_both),
    "ARRAYS_OVERLAP": _overlap,
    "ARRAY_MAX": _extreme(-1),
    "ARRAY_MIN": _extreme(1),
    "ARRAY_SLICE": _slice,
    "ELEMENT_AT": _element,
    "FLATTEN": _of_keys(
        lambda items: (
            f"flatten(list_transform({items}, lambda item: coalesce(sdb_key_items(item), [item])))"
        )
    ),
    "STRUCT_KEYS": _keys,
    "SIZE": _size,
    "ARRAY_SIZE": _array_size,
    "ARRAY_CONTAINS": array_contains,
    "ARRAY_POSITION": _array_position,
    "ARRAY_SUM": _array_sum,
    "INNER_PRODUCT": _vectors(_inner),
    "L1_DISTANCE": _vectors(_l1),
    "L2_DISTANCE": _vectors(_l2),
    "COSINE_DISTANCE": _vectors(_cosine),
}
