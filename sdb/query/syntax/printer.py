"""Expressions and queries as text, in the normal form that messages use.

Function names are in upper case, parts of times belong to them (``DATE_TRUNC_DAY(x)``), sort keys
are written out. The text parses to the tree it was made from; what messages quote has CONCAT for
``||``, and need not.
"""

from __future__ import annotations

import re

from sdb.query.syntax import ast, literals, operators, visitor
from sdb.query.syntax.lexer import KEYWORDS
from sdb.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_PLAIN = re.compile(r"[A-Za-z_@][A-Za-z0-9_@]*")


def text(node: ast.Expr) -> str:
    """Write an expression."""
    return _WRITERS[type(node)](node)


def quoted(node: ast.Expr) -> str:
    """Write an expression the way messages quote it: ``||`` is CONCAT there."""

    def joined(part: ast.Node) -> ast.Node | None:
        if not isinstance(part, ast.Binary) or part.op != "||":
            return None
        parts = [
            visitor.rewrite(operand, stop=joined) for operand in operators.operands(part, "||")
        ]
        return ast.Call("CONCAT", tuple(parts))

    full = visitor.rewrite(node, _full)
    return '"' + text(visitor.rewrite(full, stop=joined)).replace("\\", "\\\\") + '"'


def _full(node: ast.Node) -> ast.Node:
    """Say where NULL sorts, as the original does, also where that was not written."""
    if not isinstance(node, ast.Sort):
        return node
    return replace(node, nulls_first=not node.nulls_last)


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
            return operators.LEVELS[node.op]
        case ast.Unary():
            return operators.PREFIX_LEVELS[node.op]
        case ast.Quantified():
            return operators.LEVELS.get(node.op, operators.MATCH)
        case ast.Between():
            return operators.BETWEEN
        case ast.In() | ast.Is() | ast.Match():
            return operators.MATCH
    return operators.DATUM


def _inside(node: ast.Expr, lowest: int) -> str:
    """Write an operand, in parentheses when its operator binds more loosely than is allowed."""
    return text(node) if _level(node) >= lowest else f"({text(node)})"


def _unary(node: ast.Unary) -> str:
    return f"{'!' if node.op == 'NOT' else node.op}({text(node.operand)})"


def _binary(node: ast.Binary) -> str:
    if node.op == "||":
        parts = operators.operands(node, "||")
        return " || ".join([_inside(part, operators.CONCAT + 1) for part in parts])
    level = operators.LEVELS[node.op]
    right = level if node.op in operators.ASSOCIATIVE else level + 1
    return f"{_inside(node.left, level)} {node.op} {_inside(node.right, right)}"


def _between(node: ast.Between) -> str:
    low = _inside(node.low, operators.BIT_OR)
    high = _inside(node.high, operators.BIT_OR)
    return f"{_inside(node.operand, operators.BETWEEN)} BETWEEN {low} AND {high}"


def _in(node: ast.In) -> str:
    items = node.items
    members = text(items) if isinstance(items, ast.Subquery) else f"({_commas(items)})"
    return f"{_inside(node.operand, operators.MATCH)} IN {members}"


def _quantified(node: ast.Quantified) -> str:
    items = node.items
    members = text(items) if isinstance(items, ast.Subquery) else f"({_commas(items)})"
    operand = _inside(node.operand, _level(node))
    return f"{operand} {node.op} {'ALL' if node.every else 'ANY'} {members}"


def _is(node: ast.Is) -> str:
    return f"{_inside(node.operand, operators.MATCH)} IS {'NOT ' * node.negated}{node.what}"


def _match(node: ast.Match) -> str:
    operand = _inside(node.operand, operators.MATCH)
    escape = "" if node.escape is None else f" ESCAPE {literals.constant(node.escape)}"
    word = "NOT " * node.negated + node.op
    return f"{operand} {word} {literals.constant(node.pattern)}{escape}"


def _struct(node: ast.MakeStruct) -> str:
    members = [f"{literals.constant(key)}: {text(value)}" for key, value in node.members]
    return f"{{{', '.join(members)}}}"


def _function(node: ast.Call) -> str:
    if node.part == "ANY":
        items, value = node.args
        return f"({_inside(value, operators.COMPARISON + 1)} = ANY({text(items)}))"
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
    args += " IGNORE NULLS" * node.ignores_nulls
    if node.order:
        args += f" ORDER BY {_sorts(node.order)}"
    if node.most is not None:
        args += f" LIMIT {node.most}"
    where = "" if node.where is None else f" FILTER (WHERE {text(node.where)})"
    if node.over is None:
        return f"{node.name}({args}){where}"
    parts = []
    if node.over.partition:
        parts.append(f"PARTITION BY {_commas(node.over.partition)}")
    if node.over.order:
        parts.append(f"ORDER BY {_sorts(node.over.order)}")
    if node.over.frame is not None:
        parts.append(_frame(node.over.frame))
    return f"{node.name}({args}){where} OVER ({' '.join(parts)})"


def _frame(node: ast.WindowFrame) -> str:
    excluded = f" EXCLUDE {node.excluded}" if node.excluded else ""
    return f"{node.unit} BETWEEN {_frame_end(node.start)} AND {_frame_end(node.end)}{excluded}"


def _frame_end(node: ast.FrameEnd) -> str:
    if node.side == "CURRENT ROW":
        return node.side
    distance = "UNBOUNDED" if node.distance is None else _inside(node.distance, operators.BIT_OR)
    return f"{distance} {node.side}"


def _sorts(keys: Iterable[ast.Sort]) -> str:
    return ", ".join(
        f"{text(key.expr)} {'DESC' if key.descending else 'ASC'}"
        f"{' NULLS LAST' * key.nulls_last}{' NULLS FIRST' * key.nulls_first}"
        for key in keys
    )


def _star(node: ast.Select) -> str:
    return f"* EXCLUDE ({', '.join(map(name, node.excluded))})" if node.excluded else "*"


def _star_item(node: ast.Star) -> str:
    words = ["*" if node.table is None else f"{name(node.table)}.*"]
    if node.excluded:
        words.append(f"EXCLUDE ({', '.join(map(name, node.excluded))})")
    if node.replaced:
        pairs = [f"{text(value)} AS {name(column)}" for column, value in node.replaced]
        words.append(f"REPLACE ({', '.join(pairs)})")
    if node.renamed:
        names = [f"{name(old)} AS {name(new)}" for old, new in node.renamed]
        words.append(f"RENAME ({', '.join(names)})")
    if node.named:
        words.append(f"AS ({', '.join(map(name, node.named))})")
    return " ".join(words)


def select(node: ast.Select) -> str:
    """Write a SELECT."""
    words = _head(node)
    if node.where is not None:
        words.append(f"WHERE {text(node.where)}")
    if node.group_by is not None:
        words.append(f"GROUP BY {_groups(node, node.group_by)}")
    words += [
        f"{word} {text(test)}"
        for word, test in (("HAVING", node.having), ("QUALIFY", node.qualify))
        if test is not None
    ]
    if node.order_by:
        words.append(f"ORDER BY {_sorts(node.order_by)}")
    return " ".join([*words, *_cut(node)])


def _head(node: ast.Select) -> list[str]:
    """Write a SELECT up to WHERE, or the queries that it joins by a set operator."""
    if (both := set_table(node)) is not None:
        more = " ALL" * both.every + " BY NAME" * both.by_name
        return [f"({select(both.left)}) {both.op}{more} ({select(both.right)})"]
    words = [f"SELECT /* {node.dialect} */" if node.dialect else "SELECT"]
    if node.distinct:
        words.append("DISTINCT")
    if node.distinct_on:
        words.append(f"ON ({_commas(node.distinct_on)})")
    words.append(_star(node) if node.star else _items(node.items))
    if node.sources:
        words.append(f"FROM {''.join([_source(source) for source in node.sources])}")
    return words


def set_table(node: ast.Select) -> ast.SetTable | None:
    """Return the two queries that a query joins by a set operator, if it does nothing else."""
    if len(node.sources) != 1 or node.sources[0].alias is not None or node.excluded:
        return None
    table = node.sources[0].table
    more = node.items or node.where is not None or node.group_by is not None
    return None if more or not isinstance(table, ast.SetTable) else table


def _cut(node: ast.Select) -> list[str]:
    """Write LIMIT and OFFSET, or FETCH."""
    words = []
    if node.limit is not None and not node.ties:
        words.append(f"LIMIT {_count(node.limit)}")
    if node.offset is not None:
        words.append(f"OFFSET {_count(node.offset)}")
    if node.ties:
        words.append(f"FETCH FIRST {_count(node.limit)} ROWS WITH TIES")
    return words


def _count(value: object) -> str:
    """Write a number of rows, or the parameter that stands for it."""
    return text(value) if isinstance(value, ast.Param) else str(value)


def _groups(node: ast.Select, keys: tuple[ast.Item, ...]) -> str:
    """Write the keys of GROUP BY, their sets and FILL."""
    texts = [_items([key]) for key in keys]
    if node.grouping_sets:
        sets = [
            f"({', '.join([texts[number] for number in places])})" for places in node.grouping_sets
        ]
        return f"GROUPING SETS ({', '.join(sets)})"
    if node.fill is not None:
        fill = node.fill
        value = "PREVIOUS" if fill.is_previous else text(ast.Literal(fill.value))
        texts[fill.key] += f" FILL({value})"
    return ", ".join(texts)


def _items(items: Iterable[ast.Item]) -> str:
    return ", ".join(
        text(item.expr) + ("" if item.alias is None else f" AS {name(item.alias)}")
        for item in items
    )


def _source(source: ast.Source) -> str:
    word = "" if source.join == "INNER" else f"{source.join} "
    joint = "" if source.join == "FIRST" else f" {'NATURAL ' * source.natural}{word}JOIN "
    alias = "" if source.alias is None else f" AS {name(source.alias)}"
    on = "" if source.on is None else f" ON {text(source.on)}"
    if source.using:
        on = f" USING ({', '.join(map(name, source.using))})"
    return f"{joint}{table(source.table)}{alias}{on}"


def table(node: ast.Table) -> str:
    """Write a table of FROM."""
    return _TABLES[type(node)](node)


def _queried(node: ast.QueryTable) -> str:
    sample = node.select.sample
    if sample is not None:
        return f"{''.join(map(_source, node.select.sources))} {_sample(sample)}"
    return f"{'LATERAL ' * node.lateral}({select(node.select)})"


def _joined_sets(node: ast.SetTable) -> str:
    return f"({select(ast.Select((), star=True, sources=(ast.Source(node, None),)))})"


def _listed(node: ast.ListTable) -> str:
    call = f"{node.name}({_commas(node.args)})"
    if node.label is None:
        return f"{call} AS {name(node.value)}"
    words = [node.value, *node.more, *([] if node.ordinal is None else [node.ordinal])]
    ordinality = "" if node.ordinal is None else " WITH ORDINALITY"
    return f"{call}{ordinality} AS {name(node.label)}({', '.join(map(name, words))})"


def _unpivoted(node: ast.UnpivotTable) -> str:
    value = "" if node.value is None else f" AS {name(node.value)}"
    key = "" if node.key is None else f" AT {name(node.key)}"
    return f"UNPIVOT {table(node.table)}{value}{key}"


def _sample(node: ast.Sample) -> str:
    seed = "" if node.seed is None else f" REPEATABLE ({node.seed})"
    return f"TABLESAMPLE {node.amount} {'ROWS' if node.is_rows else 'PERCENT'}{seed}"


def _pivoted(node: ast.PivotTable) -> str:
    calls, values = _items(node.aggregates), _items(node.values)
    column = _inside(node.column, operators.BIT_OR)
    return f"{_source(node.source)} PIVOT ({calls} FOR {column} IN ({values}))"


def _called(node: ast.CallTable) -> str:
    first, *others = node.args
    if node.name == "TABLE_OF":
        return f"sdb.{getattr(first, 'value', '')}({_commas(others)})"
    if node.name == "TABLE_THROUGH":
        _, *others = others  # the view
    if not others and node.name == "TABLE_THROUGH":
        return text(first)
    if node.name in {"TABLE_AT", "TABLE_THROUGH"}:
        word = getattr(others[0], "value", "")
        behind = f"@{text(others[1])}" if word == "ANY" else f" AT ({word} => {text(others[1])})"
        return f"{text(first)}{behind}"
    if node.name == "READ_FILE_WITH":
        pairs = zip(others[::2], others[1::2], strict=True)
        named = [f"{getattr(word, 'value', '')} => {text(value)}" for word, value in pairs]
        return f"READ_FILE({', '.join([text(first), *named])})"
    return f"{node.name}({_commas(node.args)})"


def statement(node: ast.Statement) -> str:
    """Write a whole query."""
    words = [f"SET dialect = {node.dialect};"] if node.dialect else []
    if node.explain is not None:
        words.append(f"EXPLAIN AS {node.explain}")
    if node.with_:
        entries = [f"{name(word)} AS ({select(entry)})" for word, entry in node.with_]
        words.append(f"WITH {'RECURSIVE ' * bool(node.recursive)}{', '.join(entries)}")
    first = select(node.select)
    if node.into is not None:
        body = select(node.select).split(" FROM ", 1)
        first = " FROM ".join([f"{body[0]} INTO {text(node.into)}", *body[1:]])
    words.append(first)
    for every, other in node.unions:
        words.append(f"UNION {'ALL ' * every}{select(other)}")
    return " ".join(words)


_TABLES: dict[type[ast.Node], Callable[..., str]] = {
    ast.PathTable: lambda node: text(node.expr),
    ast.CallTable: _called,
    ast.QueryTable: _queried,
    ast.SetTable: _joined_sets,
    ast.ConcatTable: lambda node: " ++ ".join([table(part) for part in node.tables]),
    ast.ListTable: _listed,
    ast.UnpivotTable: _unpivoted,
    ast.PivotTable: _pivoted,
}
_WRITERS: dict[type[ast.Node], Callable[..., str]] = {
    ast.Literal: lambda node: literals.constant(node.value),
    ast.Missing: lambda _: "MISSING",
    ast.Param: lambda node: f"${node.name}",
    ast.Position: lambda node: str(node.number),
    ast.Interval: lambda node: f"INTERVAL '{node.months} months {node.us} microseconds'",
    ast.Name: lambda node: name(node.name),
    ast.Element: lambda node: name(node.name),
    ast.Lambda: lambda node: f"{name(node.name)} -> {text(node.body)}",
    ast.Dot: _dot,
    ast.Index: lambda node: f"{_base(node.base)}[{node.index}]",
    ast.Unary: _unary,
    ast.Binary: _binary,
    ast.Between: _between,
    ast.In: _in,
    ast.Row: lambda node: f"({_commas(node.values)})",
    ast.Quantified: _quantified,
    ast.Is: _is,
    ast.Match: _match,
    ast.Call: _function,
    ast.Cast: lambda node: f"{'TRY_' * node.reads_texts}CAST({text(node.operand)} AS {node.type})",
    ast.Case: _case,
    ast.Aggregate: _aggregate,
    ast.MakeList: lambda node: f"[{_commas(node.items)}]",
    ast.MakeStruct: _struct,
    ast.Star: _star_item,
    ast.Subquery: lambda node: f"({select(node.select)})",
    ast.Exists: lambda node: f"EXISTS ({select(node.select)})",
}
