"""Expressions and queries as text, in the normal form that messages use.

Function names are in upper case, parts of times belong to them (``DATE_TRUNC_DAY(x)``), ``||`` is
CONCAT, sort keys are written out. The text parses to the tree it was made from.
"""

from __future__ import annotations

import re

from sdb.query.syntax import ast, literals, precedence
from sdb.query.syntax.lexer import KEYWORDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_PLAIN = re.compile(r"[A-Za-z_@][A-Za-z0-9_@]*")
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
    return _WRITERS[type(node)](node)


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


def _dot(node: ast.Dot) -> str:
    step = node.name if _PLAIN.fullmatch(node.name) else _quoted(node.name)
    return f"{_base(node.base)}.{step}"


def _base(node: ast.Expr) -> str:
    """Write what a path starts from; a blank keeps numbers and words apart from what follows."""
    blank = isinstance(node, ast.Literal | ast.Missing) and not isinstance(
        getattr(node, "value", None), str
    )
    return text(node) + " " * blank


def _level(node: ast.Expr) -> int:
    match node:
        case ast.Binary():
            return precedence.DATUM if node.op == "||" else precedence.LEVELS[node.op]
        case ast.Unary():
            return precedence.PREFIX_LEVELS[node.op]
        case ast.Between():
            return precedence.BETWEEN
        case ast.In() | ast.Is() | ast.Match():
            return precedence.MATCH
    return precedence.DATUM


def _inside(node: ast.Expr, lowest: int) -> str:
    """Write an operand, in parentheses when its operator binds more loosely than is allowed."""
    return text(node) if _level(node) >= lowest else f"({text(node)})"


def _unary(node: ast.Unary) -> str:
    return f"{'!' if node.op == 'NOT' else node.op}({text(node.operand)})"


def _binary(node: ast.Binary) -> str:
    if node.op == "||":
        return f"CONCAT({_commas(precedence.operands(node, '||'))})"
    level = precedence.LEVELS[node.op]
    right = level if node.op in precedence.ASSOCIATIVE else level + 1
    return f"{_inside(node.left, level)} {node.op} {_inside(node.right, right)}"


def _between(node: ast.Between) -> str:
    low = _inside(node.low, precedence.BIT_OR)
    high = _inside(node.high, precedence.BIT_OR)
    return f"{_inside(node.operand, precedence.BETWEEN)} BETWEEN {low} AND {high}"


def _in(node: ast.In) -> str:
    items = node.items
    members = text(items) if isinstance(items, ast.Subquery) else f"({_commas(items)})"
    return f"{_inside(node.operand, precedence.MATCH)} IN {members}"


def _is(node: ast.Is) -> str:
    return f"{_inside(node.operand, precedence.MATCH)} IS {'NOT ' * node.negated}{node.what}"


def _match(node: ast.Match) -> str:
    operand = _inside(node.operand, precedence.MATCH)
    escape = "" if node.escape is None else f" ESCAPE {literals.constant(node.escape)}"
    word = "NOT " * node.negated + node.op
    return f"{operand} {word} {literals.constant(node.pattern)}{escape}"


def _struct(node: ast.MakeStruct) -> str:
    members = [f"{literals.constant(key)}: {text(value)}" for key, value in node.members]
    return f"{{{', '.join(members)}}}"


def _function(node: ast.Call) -> str:
    args = _commas(node.args)
    if node.part is None:
        return f"{node.name}({args})"
    if node.name == "DATE_BIN":
        return f"DATE_BIN({literals.constant(node.part)}, {args})"
    if node.weekday is not None:
        return f"DATE_TRUNC(WEEK({literals.WEEKDAYS[node.weekday]}), {args})"
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
    if node.order:
        args += f" ORDER BY {_sorts(node.order)}"
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


def _star(node: ast.Select) -> str:
    return f"* EXCLUDE ({', '.join(map(name, node.excluded))})" if node.excluded else "*"


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
    words.append(_star(node) if node.star else _items(node.items))
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
            return _called(node)
        case ast.QueryTable():
            return f"({select(node.select)})"
        case ast.ConcatTable():
            return " ++ ".join([table(part) for part in node.tables])
        case ast.UnpivotTable():
            value = "" if node.value is None else f" AS {name(node.value)}"
            key = "" if node.key is None else f" AT {name(node.key)}"
            return f"UNPIVOT {table(node.table)}{value}{key}"


def _called(node: ast.CallTable) -> str:
    first, *others = node.args
    if node.name == "TABLE_OF":
        return f"sdb.{getattr(first, 'value', '')}({_commas(others)})"
    if node.name == "TABLE_AT":
        word = getattr(others[0], "value", "")
        behind = f"@{text(others[1])}" if word == "ANY" else f" AT ({word} => {text(others[1])})"
        return f"{text(first)}{behind}"
    return f"{node.name}({_commas(node.args)})"


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


_WRITERS: dict[type[ast.Node], Callable[..., str]] = {
    ast.Literal: lambda node: literals.constant(node.value),
    ast.Missing: lambda _: "MISSING",
    ast.Param: lambda node: f"${node.name}",
    ast.Position: lambda node: str(node.number),
    ast.Interval: lambda node: f"INTERVAL '{node.months} months {node.us} microseconds'",
    ast.Name: lambda node: name(node.name),
    ast.Dot: _dot,
    ast.Index: lambda node: f"{_base(node.base)}[{node.index}]",
    ast.Unary: _unary,
    ast.Binary: _binary,
    ast.Between: _between,
    ast.In: _in,
    ast.Is: _is,
    ast.Match: _match,
    ast.Call: _function,
    ast.Cast: lambda node: f"CAST({text(node.operand)} AS {node.type})",
    ast.Case: _case,
    ast.Aggregate: _aggregate,
    ast.MakeList: lambda node: f"[{_commas(node.items)}]",
    ast.MakeStruct: _struct,
    ast.Subquery: lambda node: f"({select(node.select)})",
    ast.Exists: lambda node: f"EXISTS ({select(node.select)})",
}
