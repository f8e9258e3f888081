"""Random queries over the whole grammar, one text for sdb and for DuckDB.

What a query reads are typed rows of which a field may be absent, null or there. Each source is a
list of columns with types, and whatever is made of sources is one again: so joins, groups, windows,
sets and sub-queries stand inside of each other. Rows that come out are compared as a multiset; with
LIMIT they are sorted by all columns before.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from sdb.records import record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

TYPES = {
    "id": "BIGINT",
    "a": "BIGINT",
    "f": "DOUBLE",
    "s": "VARCHAR",
    "b": "BOOLEAN",
    "d": "TIMESTAMP",
    "l": "BIGINT[]",
    "o": "STRUCT(x BIGINT, y VARCHAR)",
}
_KINDS = {"id": "n", "a": "n", "f": "n", "s": "s", "b": "b", "d": "d", "l": "l", "o": "o"}
_SCALARS = "nsbd"
_NULLS = {"n": "NULL::BIGINT", "s": "NULL::VARCHAR", "d": "NULL::TIMESTAMP"}
_WORDS = ["", "a", "b", "ab", "B", "x-y", "zz"]
_DAYS = ["2026-01-01T00:00:00Z", "2026-01-01T12:30:00Z", "2026-02-28T23:59:59Z"]


@record
class Column:
    """A value that expressions may name."""

    text: str  # as it is named
    kind: str  # number, text, boolean, time (`d`), list of numbers or structure (`o`)


Columns = tuple[Column, ...]


def rows(seed: int = 5) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of the tables, by name: a field is there, null or absent."""
    chance = random.Random(seed)
    makers: dict[str, Callable[[], Any]] = {
        "a": lambda: chance.randint(-1, 4),
        "f": lambda: chance.randint(-6, 6) / 4,
        "s": lambda: chance.choice(_WORDS),
        "b": lambda: chance.random() < 0.5,
        "d": lambda: chance.choice(_DAYS),
        "l": lambda: [chance.choice([0, 1, 2, 3, None]) for _ in range(chance.randint(0, 3))],
        "o": lambda: {"x": chance.randint(0, 2), "y": chance.choice("pq")},
    }
    tables: dict[str, list[dict[str, Any]]] = {}
    for name, count in (("t", 14), ("u", 9), ("v", 4)):
        tables[name] = []
        for number in range(count):
            row: dict[str, Any] = {"id": number}
            for field, make in makers.items():
                state = chance.random()
                if state < 0.7:
                    row[field] = make()
                elif state < 0.85:
                    row[field] = None
            tables[name].append(row)
    return tables


class Queries:
    """Random queries."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.number = 0
        self.queries: dict[str, Columns] = {}  # those of WITH

    def query(self) -> str:
        """Return a whole query."""
        withs = []
        for _ in range(self._of([0, 0, 0, 1, 2])):
            text, columns = self.statement(1)
            name = self._name("w")
            withs.append(f"{name} AS ({text})")
            self.queries[name] = columns
        text, columns = self.statement(2)
        before = f"WITH {', '.join(withs)} " if withs else ""
        return before + self._ended(text, columns)

    # What makes rows.

    def statement(self, depth: int) -> tuple[str, Columns]:
        """Return a query that may stand in another one, with its columns."""
        if depth and self._odds(0.15):
            return self._set(depth - 1)
        return self.select(depth)

    def _ended(self, text: str, columns: Columns) -> str:
        if self._odds(0.3) and all(column.kind in _SCALARS for column in columns):
            if " DISTINCT ON " in text:
                text = f"SELECT * FROM ({text}) AS ended"
            keys = ", ".join(f"{at}{self._way()}" for at in range(1, len(columns) + 1))
            return (
                f"{text} ORDER BY {keys} LIMIT {self._of(range(1, 9))} OFFSET {self._of(range(3))}"
            )
        return text

    def _set(self, depth: int) -> tuple[str, Columns]:
        kinds = [self._of(_SCALARS) for _ in range(self._of([1, 2]))]
        sides = []
        for _ in range(self._of([2, 2, 3])):
            source, columns = self._from(depth)
            items = ", ".join(
                f"{self.expr(kind, 1, columns)} AS c{at}" for at, kind in enumerate(kinds)
            )
            sides.append(f"SELECT {items}{source}{self._where(columns)}")
        text = sides[0]
        for side in sides[1:]:
            op = self._of(["UNION", "INTERSECT", "EXCEPT"]) + self._of(["", " ALL"])
            text = f"({text}) {op} ({side})"
        return text, tuple(Column(f"c{at}", kind) for at, kind in enumerate(kinds))

    def select(self, depth: int, outer: Columns = ()) -> tuple[str, Columns]:
        """Return a SELECT.

        * ``outer``: What it may name of the query around it.
        """
        source, columns = self._from(depth)
        known = columns + outer
        where = self._where(known, depth)
        if self._odds(0.35):
            return self._grouped(source + where, columns)
        items = [(kind := self._of(_SCALARS), self._item(kind, known, depth)) for _ in range(3)]
        if self._odds(0.15):
            items.append(("l", self.expr("l", depth, known)))
        if self._odds(0.25):
            items.append(("n", self._window(columns)))
        text = ", ".join(f"{expr} AS c{at}" for at, (_, expr) in enumerate(items))
        made = tuple(Column(f"c{at}", kind) for at, (kind, _) in enumerate(items))
        end = ""
        if self._odds(0.1):
            end = f" QUALIFY {self._window(columns)} <= {self._of(range(4))}"
        distinct = "DISTINCT " if not end and self._odds(0.15) else ""
        has_key = any(column.kind in _SCALARS for column in columns)
        if not (distinct or end) and self._odds(0.08) and has_key:
            return self._distinct_on(source + where, columns)
        return f"SELECT {distinct}{text}{source}{where}{end}", made

    def _distinct_on(self, source: str, columns: Columns) -> tuple[str, Columns]:
        scalars = [column for column in columns if column.kind in _SCALARS]
        keys = scalars[:1]
        items = ", ".join(f"{column.text} AS c{at}" for at, column in enumerate(scalars))
        order = ", ".join(f"{column.text}{self._way()}" for column in keys + scalars[1:])
        text = f"SELECT DISTINCT ON ({keys[0].text}) {items}{source} ORDER BY {order}"
        return text, tuple(Column(f"c{at}", column.kind) for at, column in enumerate(scalars))

    def _grouped(self, source: str, columns: Columns) -> tuple[str, Columns]:
        kinds = [self._of(_SCALARS) for _ in range(self._of([0, 1, 1, 2]))]
        keys = [self._key(kind, columns) for kind in kinds]
        aggregates = [self.aggregate(columns) for _ in range(2)]
        items = [*zip(kinds, keys, strict=True), *aggregates]
        text = ", ".join(f"{expr} AS c{at}" for at, (_, expr) in enumerate(items))
        group = ""
        if keys:
            sets = ["{}", "ROLLUP ({})", "CUBE ({})", "GROUPING SETS (({0}), ())"]
            form = self._of(sets) if self._odds(0.3) and len(set(keys)) == len(keys) else "{}"
            group = f" GROUP BY {form.format(', '.join(keys))}"
        having = ""
        if self._odds(0.3):
            having = f" HAVING {self._compared(self.aggregate(columns, 'n')[1], 'n', (), depth=0)}"
        made = tuple(Column(f"c{at}", kind) for at, (kind, _) in enumerate(items))
        return f"SELECT {text}{source}{group}{having}", made

    def _key(self, kind: str, columns: Columns) -> str:
        # A constant is no key but a position, and DuckDB takes none of a query of its own.
        fields = [column.text for column in columns if column.kind == kind]
        if not fields:
            return f"{self._of(columns).text} IS NULL" if kind == "b" else _NULLS[kind]
        field = self._of(fields)
        forms = {"n": "{0} % 3", "s": "UPPER({0})", "b": "NOT {0}", "d": "DATE_TRUNC('day', {0})"}
        return forms[kind].format(field) if self._odds(0.4) else field

    # FROM.

    def _from(self, depth: int) -> tuple[str, Columns]:
        if self._odds(0.2):
            return self._alone(depth)
        if depth and self._odds(0.12):
            return self._using()
        text, columns = self._source(depth)
        if self._odds(0.1):
            lists = [column.text for column in columns if column.kind == "l"]
            element = self._name("e")
            if lists:
                text += f" CROSS JOIN UNNEST({self._of(lists)}) AS u{element}({element})"
                return f" FROM {text}", (*columns, Column(element, "n"))
        if depth and self._odds(0.1):
            name, inside = self._name("r"), self._of_table("y")
            of = self._of([column.text for column in inside if column.kind == "n"])
            rows = f"{self._of('tuv')} AS y{self._where(inside + columns, 1)}"
            text += f" CROSS JOIN LATERAL (SELECT COUNT({of}) AS n, MAX({of}) AS m FROM {rows})"
            made = (Column(f"{name}.n", "n"), Column(f"{name}.m", "n"))
            return f" FROM {text} AS {name}", columns + made
        for _ in range(self._of([0, 0, 1, 1, 2]) if depth else 0):
            other, more = self._source(depth - 1)
            join = self._of(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN"])
            if self._odds(0.15):
                join = self._of(["SEMI JOIN", "ANTI JOIN"])
            if join == "CROSS JOIN":
                text, columns = f"{text} CROSS JOIN {other}", columns + more
                continue
            on = self._on(columns, more, join)
            text = f"{text} {join} {other} ON {on}"
            columns = columns if join in {"SEMI JOIN", "ANTI JOIN"} else columns + more
        return f" FROM {text}", columns

    def _alone(self, depth: int) -> tuple[str, Columns]:
        """Return a source without an alias, whose names are bare."""
        if depth and self._odds(0.5):
            text, columns = self.statement(depth - 1)
            return f" FROM ({text})", columns
        bare = [Column(name, kind) for name, kind in _KINDS.items() if kind != "o"]
        return f" FROM {self._of('tuv')}", tuple(bare)

    def _using(self) -> tuple[str, Columns]:
        """Return second tables that are joined by a field of both."""
        first, other = self._name("q"), self._name("q")
        name = self._of(["id", "a", "s", "b", "d"])
        join = self._of(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
        text = f"{self._of('tuv')} AS {first} {join} {self._of('tuv')} AS {other} USING ({name})"
        columns = self._of_table(first) + self._of_table(other)
        return f" FROM {text}", (Column(name, _KINDS[name]), *columns)

    def _on(self, left: Columns, right: Columns, join: str) -> str:
        pairs = [
            f"{first.text} = {other.text}"
            for first in left
            for other in right
            if first.kind == other.kind and first.kind in _SCALARS
        ]
        text = self._of(pairs) if pairs else "TRUE"
        if self._odds(0.3) and join in {"JOIN", "LEFT JOIN"}:
            text += f" AND {self.expr('b', 1, left + right)}"
        return text

    def _source(self, depth: int) -> tuple[str, Columns]:
        alias = self._name("q")
        if depth and self._odds(0.3):
            text, columns = self.statement(depth - 1)
            named = [Column(f"{alias}.{column.text}", column.kind) for column in columns]
            return f"({text}) AS {alias}", tuple(named)
        if self.queries and self._odds(0.3):
            name = self._of(list(self.queries))
            named = [Column(f"{alias}.{column.text}", column.kind) for column in self.queries[name]]
            return f"{name} AS {alias}", tuple(named)
        if depth and self._odds(0.15):
            test = self._where(self._of_table("x"), 0)
            return f"(SELECT * FROM {self._of('tuv')} AS x{test}) AS {alias}", self._of_table(alias)
        return f"{self._of('tuv')} AS {alias}", self._of_table(alias)

    def _of_table(self, alias: str) -> Columns:
        fields = [Column(f"{alias}.{name}", kind) for name, kind in _KINDS.items()]
        return (*fields, Column(f"{alias}.o.x", "n"), Column(f"{alias}.o.y", "s"))

    def _where(self, columns: Columns, depth: int = 1) -> str:
        return f" WHERE {self.expr('b', max(depth, 1), columns)}" if self._odds(0.5) else ""

    # Expressions.

    def _item(self, kind: str, columns: Columns, depth: int) -> str:
        return self.expr(kind, self._of([0, 1, 2]) if depth else 1, columns)

    def expr(self, kind: str, depth: int, columns: Columns) -> str:
        """Return an expression of a type."""
        if depth <= 0 or self._odds(0.2):
            return self._leaf(kind, columns)
        if self._odds(0.2):
            return self._choice(kind, depth - 1, columns)
        maker = {
            "n": self._number,
            "s": self._text,
            "b": self._boolean,
            "d": self._time,
            "l": self._list,
        }
        return maker[kind](depth - 1, columns)

    def _leaf(self, kind: str, columns: Columns) -> str:
        fields = [column.text for column in columns if column.kind == kind]
        if fields and self._odds(0.85):
            return self._of(fields)
        constants = {
            "n": ["1", "2", "0.5", "-1", "NULL::BIGINT"],
            "s": ["'a'", "''", "'ab'", "NULL::VARCHAR"],
            "b": ["TRUE", "FALSE", "NULL::BOOLEAN"],
            "d": ["TIMESTAMP '2026-01-01 12:30:00'", "NULL::TIMESTAMP"],
            "l": ["[1, 2]", "[1, NULL]"],
        }
        return self._of(constants[kind])

    def _choice(self, kind: str, depth: int, columns: Columns) -> str:
        first, second = self.expr(kind, depth, columns), self.expr(kind, depth, columns)
        test = self.expr("b", depth, columns)
        forms = [
            f"CASE WHEN {test} THEN {first} ELSE {second} END",
            f"CASE WHEN {test} THEN {first} END",
            f"COALESCE({first}, {second})",
            f"NULLIF({first}, {second})",
        ]
        if kind in "nsd":
            forms += [f"LEAST({first}, {second})", f"GREATEST({first}, {second})"]
        return self._of(forms) if kind != "l" else forms[self._of([0, 1])]

    def _number(self, depth: int, columns: Columns) -> str:
        first, second = self.expr("n", depth, columns), self.expr("n", depth, columns)
        text = self.expr("s", depth, columns)
        forms = [
            f"({first} + {second})",
            f"({first} - {second})",
            f"({first} * 2)",
            f"(- {first})",
            f"ABS({first})",
            f"LENGTH({text})",
            f"STRPOS({text}, 'a')",
            f"EXTRACT(HOUR FROM {self.expr('d', depth, columns)})",
            f"ARRAY_LENGTH({self.expr('l', depth, columns)})",
            f"CAST({self.expr('b', depth, columns)} AS INTEGER)",
            f"TRY_CAST({text} AS INTEGER)",
            f"CASE {first} WHEN 1 THEN {second} WHEN NULL THEN 9 ELSE 0 END",
        ]
        if depth:
            forms.append(self._scalar(columns))
        return self._of(forms)

    def _text(self, depth: int, columns: Columns) -> str:
        first, second = self.expr("s", depth, columns), self.expr("s", depth, columns)
        forms = [
            f"UPPER({first})",
            f"({first} || {second})",
            f"CONCAT({first}, {second})",
            f"REPLACE({first}, 'a', 'q')",
            f"SUBSTRING({first}, 1, 1)",
            f"TRIM({first})",
            f"CASE {first} WHEN {second} THEN 'same' END",
        ]
        return self._of(forms)

    def _time(self, depth: int, columns: Columns) -> str:
        first = self.expr("d", depth, columns)
        return self._of([f"DATE_TRUNC('day', {first})", f"({first} + INTERVAL '1 hour')"])

    def _list(self, depth: int, columns: Columns) -> str:
        first, item = self.expr("l", depth, columns), self.expr("n", 0, columns)
        return self._of([first, f"[{item}, 1]", f"LIST_REVERSE({first})", self._lambda(first)])

    def _lambda(self, items: str) -> str:
        name = self._name("x")
        inside = (Column(name, "n"),)
        if self._odds(0.5):
            test = self._compared(name, "n", inside, depth=0)
            return f"LIST_FILTER({items}, lambda {name}: {test})"
        return f"LIST_TRANSFORM({items}, lambda {name}: {self.expr('n', 1, inside)})"

    def _compared(self, first: str, kind: str, columns: Columns, depth: int) -> str:
        other = self.expr(kind, depth, columns)
        op = self._of(["=", "<>", "<", "<=", ">", ">="])
        if kind == "b":
            op = self._of(["=", "<>"])
        return f"({first} {op} {other})"

    def _boolean(self, depth: int, columns: Columns) -> str:
        kind = self._of(_SCALARS)
        value, other = self.expr(kind, depth, columns), self.expr(kind, depth, columns)
        number = self.expr("n", depth, columns)
        first, second = self.expr("b", depth, columns), self.expr("b", depth, columns)
        negation = self._of(["", "NOT "])
        word = self._of(["AND", "OR"])
        listed = self.expr("l", depth, columns)
        forms = [
            self._compared(value, kind, columns, depth),
            self._compared(value, kind, columns, depth),
            f"({first} {word} {second})",
            f"(NOT {first})",
            f"({value} IS {negation}NULL)",
            f"({value} IS {negation}DISTINCT FROM {other})",
            f"({first} IS {negation}{self._of(['TRUE', 'FALSE'])})",
            f"({number} {negation}IN ({self._of(['1, 2', '1, NULL', '0, 3, 0.5'])}))",
            f"({number} {negation}BETWEEN {self.expr('n', 0, columns)} AND 2)",
            f"({self.expr('s', depth, columns)} {negation}LIKE '{self._of(['a%', '%b%', '_'])}')",
            f"({number} = ANY({listed}))",
            f"({number} {self._of(['<>', '>', '<='])} ALL({listed}))",
            f"LIST_CONTAINS({listed}, {number})",
        ]
        if depth:
            forms += [self._member(columns), self._quantified(columns), self._exists(columns)]
        return self._of(forms)

    # Sub-queries.

    def _inner(self, columns: Columns, kind: str) -> tuple[str, str]:
        """Return an expression over a table, and what stands behind it."""
        alias = self._name("i")
        inside = self._of_table(alias)
        test = ""
        if self._odds(0.7):
            test = f" WHERE {self.expr('b', 1, inside + columns)}"
        fields = [column.text for column in inside if column.kind == kind]
        return self._of(fields), f" FROM {self._of('tuv')} AS {alias}{test}"

    def _scalar(self, columns: Columns) -> str:
        item, source = self._inner(columns, "n")
        return f"(SELECT {self._of(['MAX', 'MIN', 'COUNT', 'SUM'])}({item}){source})"

    def _member(self, columns: Columns) -> str:
        kind = self._of(_SCALARS)
        item, source = self._inner(columns if self._odds(0.3) else (), kind)
        value = self._leaf(kind, columns)
        return f"({value} {self._of(['', 'NOT '])}IN (SELECT {item}{source}))"

    def _quantified(self, columns: Columns) -> str:
        item, source = self._inner(columns if self._odds(0.3) else (), "n")
        op = self._of(["=", "<>", "<", ">="])
        value = self._leaf("n", columns)
        return f"({value} {op} {self._of(['ANY', 'ALL'])} (SELECT {item}{source}))"

    def _exists(self, columns: Columns) -> str:
        _, source = self._inner(columns, "n")
        return f"({self._of(['', 'NOT '])}EXISTS (SELECT 1{source}))"

    # Aggregates and windows.

    def aggregate(self, columns: Columns, kind: str = "") -> tuple[str, str]:
        """Return the type of an aggregate, and the aggregate."""
        number, any_kind = self.expr("n", 1, columns), self._of(_SCALARS)
        value = self.expr(any_kind, 1, columns)
        test = self.expr("b", 1, columns)
        forms = [
            ("n", "COUNT(*)"),
            ("n", f"COUNT({value})"),
            ("n", f"COUNT(DISTINCT {value})"),
            ("n", f"SUM({number})"),
            ("n", f"SUM(DISTINCT {number})"),
            ("n", f"AVG({number})"),
            ("n", f"STDDEV({number})"),
        ]
        if not kind:
            least = "MIN" if any_kind != "b" else "BOOL_AND"
            forms += [
                (any_kind, f"{least}({value})"),
                (any_kind, f"{'MAX' if any_kind != 'b' else 'BOOL_OR'}({value})"),
                ("b", f"BOOL_OR({test})"),
            ]
            if keys := [column.text for column in columns if column.kind in _SCALARS]:
                order = ", ".join(f"{key}{self._way()}" for key in keys)
                text = self.expr("s", 1, columns)
                forms += [
                    ("s", f"STRING_AGG({text}, ',' ORDER BY {order})"),
                    ("l", f"ARRAY_AGG({number} ORDER BY {order})"),
                    (any_kind, f"{self._of(['FIRST', 'LAST'])}({value} ORDER BY {order})"),
                ]
        made, text = self._of(forms)
        return (made, f"{text} FILTER (WHERE {test})") if self._odds(0.25) else (made, text)

    def _window(self, columns: Columns) -> str:
        scalars = [column.text for column in columns if column.kind in _SCALARS]
        numbers = [column.text for column in columns if column.kind == "n"] or ["1"]
        partition = f"PARTITION BY {self._of(scalars)} " if scalars and self._odds(0.6) else ""
        # By all columns: rows that are peers are equal.
        order = f"ORDER BY {', '.join(f'{name}{self._way()}' for name in scalars)}"
        call = self._of(
            [
                "RANK()",
                "DENSE_RANK()",
                "COUNT(*)",
                f"SUM({self._of(numbers)})",
                f"MAX({self._of(numbers)})",
                f"COUNT({self._of(numbers)})",
            ]
        )
        if scalars and self._odds(0.3):
            name = self._of(["LAG", "LEAD", "FIRST_VALUE", "LAST_VALUE"])
            return f"{name}({self._of(numbers)}) OVER ({partition}{order})"
        if scalars and self._odds(0.2):
            frame = self._of(["1 PRECEDING AND CURRENT ROW", "CURRENT ROW AND 2 FOLLOWING"])
            return f"SUM({self._of(numbers)}) OVER ({partition}{order} ROWS BETWEEN {frame})"
        if not scalars or (self._odds(0.3) and "RANK" not in call):
            return f"{call} OVER ({partition.strip()})" if "RANK" not in call else "1"
        return f"{call} OVER ({partition}{order})"

    # Chance.

    def _of(self, options: Sequence[Any]) -> Any:
        return self.random.choice(options)

    def _odds(self, share: float) -> bool:
        return self.random.random() < share

    def _way(self) -> str:
        return self._of(["", "", " DESC", " NULLS FIRST", " DESC NULLS FIRST"])

    def _name(self, letter: str) -> str:
        self.number += 1
        return f"{letter}{self.number}"
