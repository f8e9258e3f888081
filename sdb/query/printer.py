"""Expressions and queries as text, in the normal form that messages use.

Function names are in upper case, parts of times belong to them (``DATE_TRUNC_DAY(x)``), ``||`` is
CONCAT, sort keys are written out. The text parses to the tree it was made from.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sdb.query import ast, literals, operators
from sdb.query.lexer import KEYWORDS

if TYPE_CHECKING:
    from collections.abc import Iterable

_PLAIN = re.compile(r"[A-Za-z_@][A-Za-z0-9_@]*")
WEEKDAYS = ("SUNDAY", "MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY")
_JOINS = {"CROSS": "CROSS JOIN", "INNER": "JOIN", "LEFT": "LEFT JOIN", "RIGHT": "RIGHT JOIN"}


def text(node: ast.Expr) -> str:
    """Write an expression.

    Parameters
    ----------
    node : ast.Expr
        The expression.

    Returns
    -------
    str
        As in ``UPPER(city) = 'ROME'``.
    """
    match node:
        case ast.Literal():
            return literals.constant(node.value)
        case ast.Missing():
            return "MISSING"
        case ast.Param():
            return f"${node.name}"
        case ast.Name() | ast.Dot() | ast.Index():
            return _path(node)
        case ast.Unary() | ast.Binary() | ast.Between() | ast.In() | ast.Is() | ast.Match():
            return _operation(node)
        case ast.Call() | ast.Cast() | ast.Case() | ast.Aggregate():
            return _call(node)
        case ast.MakeList():
            return f"[{_commas(node.items)}]"
        case ast.MakeStruct():
            members = (f"{literals.constant(key)}: {text(value)}" for key, value in node.members)
            return f"{{{', '.join(members)}}}"
        case ast.Subquery():
            return f"({select(node.select)})"
        case ast.Exists():
            return f"EXISTS ({select(node.select)})"


def quoted(node: ast.Expr) -> str:
    """Write an expression the way messages quote it."""
    return '"' + text(node).replace("\\", "\\\\") + '"'


def _commas(nodes: Iterable[ast.Expr]) -> str:
    return ", ".join([text(node) for node in nodes])


def name(word: str) -> str:
    """Write a name, in quotes when it needs them."""
    if _PLAIN.fullmatch(word) and word.upper() not in KEYWORDS:
        return word
    return _quoted(word)


def _quoted(word: str) -> str:
    return f'"{literals.escape(word, chr(34))}"'


def _path(node: ast.Name | ast.Dot | ast.Index) -> str:
    match node:
        case ast.Name():
            return name(node.name)
        case ast.Dot():
            step = node.name if _PLAIN.fullmatch(node.name) else _quoted(node.name)
            return f"{_base(node.base)}.{step}"
        case ast.Index():
            return f"{_base(node.base)}[{node.index}]"


def _base(node: ast.Expr) -> str:
    """Write what a path starts from; a blank keeps numbers and words apart from what follows."""
    blank = isinstance(node, ast.Literal | ast.Missing) and not isinstance(
        getattr(node, "value", None), str
    )
    return text(node) + " " * blank


def _level(node: ast.Expr) -> int:
    match node:
        case ast.Binary():
            return operators.DATUM if node.op == "||" else operators.LEVELS[node.op]
        case ast.Unary():
            return operators.PREFIX_LEVELS[node.op]
        case ast.Between():
            return operators.BETWEEN
        case ast.In() | ast.Is() | ast.Match():
            return operators.MATCH
    return operators.DATUM


def _inside(node: ast.Expr, lowest: int) -> str:
    """Write an operand, in parentheses when its operator binds more loosely than is allowed."""
    return text(node) if _level(node) >= lowest else f"({text(node)})"


def _operation(
    node: ast.Unary | ast.Binary | ast.Between | ast.In | ast.Is | ast.Match,
) -> str:
    match node:
        case ast.Unary():
            return f"{'!' if node.op == 'NOT' else node.op}({text(node.operand)})"
        case ast.Binary(op="||"):
            return f"CONCAT({_commas(operators.operands(node, '||'))})"
        case ast.Binary():
            level = operators.LEVELS[node.op]
            right = level if node.op in operators.ASSOCIATIVE else level + 1
            return f"{_inside(node.left, level)} {node.op} {_inside(node.right, right)}"
        case ast.Between():
            low = _inside(node.low, operators.BIT_OR)
            high = _inside(node.high, operators.BIT_OR)
            return f"{_inside(node.operand, operators.BETWEEN)} BETWEEN {low} AND {high}"
    operand = _inside(node.operand, operators.MATCH)
    match node:
        case ast.In():
            items = node.items
            members = text(items) if isinstance(items, ast.Subquery) else f"({_commas(items)})"
            return f"{operand} IN {members}"
        case ast.Is():
            return f"{operand} IS {'NOT ' * node.negated}{node.what}"
        case ast.Match():
            pattern = literals.constant(node.pattern)
            escape = "" if node.escape is None else f" ESCAPE {literals.constant(node.escape)}"
            return f"{operand} {'NOT ' * node.negated}{node.op} {pattern}{escape}"


def _call(node: ast.Call | ast.Cast | ast.Case | ast.Aggregate) -> str:
    match node:
        case ast.Call():
            return _function(node)
        case ast.Cast():
            return f"CAST({text(node.operand)} AS {node.type})"
        case ast.Case():
            return _case(node)
        case ast.Aggregate():
            return _aggregate(node)


def _function(node: ast.Call) -> str:
    args = _commas(node.args)
    if node.part is None:
        return f"{node.name}({args})"
    if node.name == "DATE_BIN":
        return f"DATE_BIN({literals.constant(node.part)}, {args})"
    if node.weekday is not None:
        return f"DATE_TRUNC(WEEK({WEEKDAYS[node.weekday]}), {args})"
    return f"{'DATE_' * (node.name == 'EXTRACT')}{node.name}_{node.part}({args})"


def _case(node: ast.Case) -> str:
    words = ["CASE"]
    if node.operand is not None:
        words.append(text(node.operand))
    words += [f"WHEN {text(when)} THEN {text(then)}" for when, then in node.limbs]
    if node.otherwise is not None:
        words.append(f"ELSE {text(node.otherwise)}")
    return " ".join([*words, "END"])


def _aggregate(node: ast.Aggregate) -> str:
    args = "*" if node.star else "DISTINCT " * node.distinct + _commas(node.args)
    where = "" if node.where is None else f" FILTER (WHERE {text(node.where)})"
    if node.over is None:
        return f"{node.name}({args}){where}"
    parts = []
    if node.over.partition:
        parts.append(f"PARTITION BY {_commas(node.over.partition)}")
    if node.over.order:
        parts.append(f"ORDER BY {_sorts(node.over.order)}")
    return f"{node.name}({args}){where} OVER ({' '.join(parts)})"


def _sorts(keys: Iterable[ast.Sort]) -> str:
    return ", ".join(
        f"{text(key.expr)} {'DESC' if key.descending else 'ASC'}"
        f" NULLS {'LAST' if key.nulls_last else 'FIRST'}"
        for key in keys
    )


def select(node: ast.Select) -> str:
    """Write a SELECT.

    Parameters
    ----------
    node : ast.Select
        The select.

    Returns
    -------
    str
        On one line.
    """
    words = ["SELECT"]
    if node.distinct:
        words.append("DISTINCT")
    if node.distinct_on:
        words.append(f"ON ({_commas(node.distinct_on)})")
    words.append("*" if node.star else _items(node.items))
    if node.sources:
        words.append(f"FROM {''.join([_source(source) for source in node.sources])}")
    if node.where is not None:
        words.append(f"WHERE {text(node.where)}")
    if node.group_by is not None:
        words.append(f"GROUP BY {_items(node.group_by)}")
    if node.having is not None:
        words.append(f"HAVING {text(node.having)}")
    if node.order_by:
        words.append(f"ORDER BY {_sorts(node.order_by)}")
    if node.limit is not None:
        words.append(f"LIMIT {node.limit}")
    if node.offset is not None:
        words.append(f"OFFSET {node.offset}")
    return " ".join(words)


def _items(items: Iterable[ast.Item]) -> str:
    return ", ".join(
        text(item.expr) + ("" if item.alias is None else f" AS {name(item.alias)}")
        for item in items
    )


def _source(source: ast.Source) -> str:
    joint = "" if source.join == "FIRST" else f" {_JOINS[source.join]} "
    alias = "" if source.alias is None else f" AS {name(source.alias)}"
    on = "" if source.on is None else f" ON {text(source.on)}"
    return f"{joint}{table(source.table)}{alias}{on}"


def table(node: ast.Table) -> str:
    """Write a table of FROM."""
    match node:
        case ast.PathTable():
            return text(node.expr)
        case ast.CallTable():
            return f"{node.name}({_commas(node.args)})"
        case ast.QueryTable():
            return f"({select(node.select)})"
        case ast.ConcatTable():
            return " ++ ".join([table(part) for part in node.tables])
        case ast.UnpivotTable():
            value = "" if node.value is None else f" AS {name(node.value)}"
            key = "" if node.key is None else f" AT {name(node.key)}"
            return f"UNPIVOT {table(node.table)}{value}{key}"


def statement(node: ast.Statement) -> str:
    """Write a whole query.

    Parameters
    ----------
    node : ast.Statement
        The query.

    Returns
    -------
    str
        On one line.
    """
    words = [] if node.explain is None else [f"EXPLAIN AS {node.explain}"]
    if node.with_:
        entries = [f"{name(word)} AS ({select(entry)})" for word, entry in node.with_]
        words.append(f"WITH {', '.join(entries)}")
    first = select(node.select)
    if node.into is not None:
        body = select(node.select).split(" FROM ", 1)
        first = " FROM ".join([f"{body[0]} INTO {text(node.into)}", *body[1:]])
    words.append(first)
    for every, other in node.unions:
        words.append(f"UNION {'ALL ' * every}{select(other)}")
    return " ".join(words)
