"""Conditions of other libraries as predicates: which blocks may hold rows that they want.

They apply their conditions themselves; here only blocks are left out. So what is not understood may
be TRUE in any row. Understood are AND and OR of comparisons of columns with constants, and IN,
where they mean the same there and here: texts for equality, integers and times for order too.
"""

from __future__ import annotations

import json
import re

from sdb import instants
from sdb.packfile.prune.predicate import Anywhere, Both, Compare, Either, Instant, OneOf

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    import pyarrow as pa

    from sdb.packfile.prune.predicate import Constant, Predicate

_POLARS = {"Eq": "=", "Lt": "<", "LtEq": "<=", "Gt": ">", "GtEq": ">="}
_MICROS = {"Milliseconds": 1000, "Microseconds": 1}
_LEAF = re.compile(r'\((\w+) (==|<|<=|>|>=) ("(?:[^"\\]|\\["\\])*"|[^()" ]+(?: [\d:.]+Z)?)\)')
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,6})?Z")
_INTEGER = re.compile(r"-?\d{1,18}")
_READABLE = re.compile(r'[^()"\\]*')
_ANYWHERE = Anywhere()


def of_polars(expression: Any, schema: pa.Schema) -> Predicate:  # noqa: ANN401
    """Return what an expression of polars wants of rows, as far as it is understood.

    * ``schema``: The columns that it may name.
    """
    from contextlib import suppress

    # The form that polars writes is not promised to stay; what is not known makes no difference.
    with suppress(Exception):
        return _of_tree(json.loads(expression.meta.serialize(format="json")), schema)
    return _ANYWHERE


def of_arrow(expression: pa.compute.Expression | None, schema: pa.Schema) -> Predicate:
    """Return what an expression of Arrow wants of rows, as far as it is understood."""
    if expression is None or not all(_READABLE.fullmatch(name) for name in schema.names):
        return _ANYWHERE
    text = str(expression)
    parts = _conjuncts(text)
    return Both(tuple([_of_leaf(part, schema) for part in parts]))


def _of_tree(node: Mapping[str, Any], schema: pa.Schema) -> Predicate:
    """Return the predicate of an expression of polars as JSON."""
    if "Function" in node:
        return _of_membership(node["Function"], schema)
    operation = node.get("BinaryExpr")
    if operation is None:
        return _ANYWHERE
    left, op, right = operation["left"], operation["op"], operation["right"]
    if op in {"And", "Or"}:
        both = (_of_tree(left, schema), _of_tree(right, schema))
        return Both(both) if op == "And" else Either(both)
    name = left.get("Column")
    if op not in _POLARS or name is None or "Literal" not in right:
        return _ANYWHERE
    return _compared(name, _POLARS[op], _of_literal(right["Literal"]), schema)


def _of_literal(literal: Mapping[str, Any]) -> Constant:
    """Return a constant of polars; None: it is not understood."""
    ((kind, value),) = literal.items()
    if kind in {"Scalar", "Dyn"}:
        ((kind, value),) = value.items()
    if kind in {"String", "Str"}:
        return str(value)
    if kind.startswith(("Int", "UInt")):
        return int(value)
    if kind == "Datetime" and value[2] is not None and value[1] in _MICROS:
        return Instant(value[0] * _MICROS[value[1]])
    return None


def _of_membership(function: Mapping[str, Any], schema: pa.Schema) -> Predicate:
    """Return the predicate of ``is_in`` with a list of constants."""
    if function["function"] != {"Boolean": {"IsIn": {"nulls_equal": False}}}:
        return _ANYWHERE
    import pyarrow as pa

    column, items = function["input"]
    (batch,) = pa.ipc.open_stream(bytes(items["Literal"]["Scalar"]["List"])).read_all().to_batches()
    values = batch.column(0).to_pylist()
    tests = [_compared(column["Column"], "=", value, schema) for value in values]
    if not tests or not all(isinstance(test, Compare) for test in tests):
        return _ANYWHERE
    constants = dict.fromkeys(test.value for test in tests if isinstance(test, Compare))
    return OneOf((column["Column"],), tuple(constants))


def _conjuncts(text: str) -> list[str]:
    """Take the ANDs of an expression of Arrow apart, by its text."""
    if text.startswith("(("):
        depth, is_quoted, at = 0, False, 1
        while at < len(text) - 1:
            letter = text[at]
            if letter == "\\":
                at += 1
            elif letter == '"':
                is_quoted = not is_quoted
            elif not is_quoted:
                depth += (letter == "(") - (letter == ")")
                if depth == 0 and text.startswith(" and ", at + 1):
                    left, right = text[1 : at + 1], text[at + 6 : -1]
                    return _conjuncts(left) + _conjuncts(right)
            at += 1
    return [text]


def _of_leaf(text: str, schema: pa.Schema) -> Predicate:
    """Return the predicate of a comparison of Arrow."""
    match = _LEAF.fullmatch(text)
    if match is None:
        return _ANYWHERE
    name, op, literal = match.groups()
    value: Constant = None
    if literal.startswith('"'):
        if literal.isascii() and literal.isprintable():
            value = re.sub(r"\\(.)", r"\1", literal[1:-1])
    elif _TIME.fullmatch(literal):
        value = Instant(instants.parse(literal.replace(" ", "T")))
    elif _INTEGER.fullmatch(literal):
        value = int(literal)
    return _compared(name, "=" if op == "==" else op, value, schema)


def _compared(name: str, op: str, value: Constant, schema: pa.Schema) -> Predicate:
    """Return a comparison if it means the same here, by the type of the column."""
    import pyarrow as pa

    at = schema.get_field_index(name)
    if at < 0 or value is None or isinstance(value, bool | float):
        return _ANYWHERE
    field = schema.field(at)
    is_plain = not (field.metadata or {}).get(b"sdb.encoding")
    means_same = (
        (isinstance(value, str) and pa.types.is_string(field.type) and op == "=")
        or (isinstance(value, int) and pa.types.is_int64(field.type))
        or (isinstance(value, Instant) and field.type == pa.timestamp("us", "UTC"))
    )
    return Compare((name,), op, value) if is_plain and means_same else _ANYWHERE
