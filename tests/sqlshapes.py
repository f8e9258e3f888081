"""Random queries of every shape: windows, joins, sets, grouping sets, sub-queries, pivots.

Tables are `t` and `u`, see `rows`: all fields of both have values, ids are unique, and so are the
times of `u`. The rows of each query are in an order that no two of them share.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from tests.sqlgrammar import TYPES, WORDS, Grammar, joined, renamed, same

if TYPE_CHECKING:
    from tests.sqlgrammar import Pair

START = datetime(2026, 1, 30, 22, 59, 30, tzinfo=UTC)
T = ("read_file('t.zion')", "t")
U = ("read_file('u.zion')", "u")
_OUTER = ("LEFT", "RIGHT", "FULL")


def sparse_rows() -> dict[str, list[dict[str, Any]]]:
    """Return rows of both tables of which a fifth of the values is missing."""
    chance = random.Random(11)
    return {
        name: [
            {key: value for key, value in row.items() if key == "id" or chance.random() < 0.8}
            for row in listed
        ]
        for name, listed in rows().items()
    }


def rows(seed: int = 7, count: int = 40) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of both tables, by their names."""
    chance = random.Random(seed)
    first = [
        {
            "id": number,
            "i": chance.randint(-5, 12),
            "f": chance.randint(-20, 20) / 4,
            "s": chance.choice(WORDS),
            "p": chance.choice(WORDS),
            "b": chance.random() < 0.5,
            "t": (START + timedelta(seconds=chance.randint(0, 10**7))).isoformat(),
        }
        for number in range(count)
    ]
    seconds = chance.sample(range(10**7), count // 2)
    second = [
        {
            "id": number,
            "i": chance.randint(-5, 12),
            "f": chance.randint(-8, 8) / 4,
            "s": chance.choice(WORDS[:6]),
            "p": chance.choice(WORDS[4:]),
            "b": chance.random() < 0.5,
            "t": (START + timedelta(seconds=at)).isoformat(),
        }
        for number, at in enumerate(seconds)
    ]
    return {"t": first, "u": second}


class Shapes(Grammar):
    """Random queries of all kinds."""

    NULLABLE = "NULLIF(i, 3)"  # a key that some rows lack

    KINDS = (
        "plain grouped windowed framed qualified joined_rows outer asof lateral sets grouping "
        "members correlated quantified with_query recursive distinct_on pivot unpivot unnested "
        "buckets spans decimals windows_of_groups json_texts"
    ).split()

    def query(self, kind: str | None = None) -> Pair:
        """Return a query: its rows are in order, by a key that no two rows share."""
        return getattr(self, f"_{kind or self.random.choice(self.KINDS)}")()

    def _of(self, alias: str, kind: str, depth: int = 1) -> Pair:
        """Return an expression over the fields behind an alias."""
        before, self.alias = self.alias, alias
        try:
            return self.expression(kind, depth)
        finally:
            self.alias = before

    def _kind(self, *others: str) -> str:
        return self.random.choice(others or TYPES)

    def _where(self, alias: str = "", word: str = "WHERE", share: float = 0.5) -> Pair:
        if self.random.random() >= share:
            return same("")
        return joined(f" {word} {{0}}", self._of(alias, "boolean", 2))

    def _plain(self) -> Pair:
        kind = self._kind()
        value, key = self.expression(kind, 3), self.expression(kind, 1)
        if self.random.random() < 0.3:
            value = joined("NULLIF({0}, {1})", value, key)
        end = f"LIMIT {self.random.randint(1, 20)} OFFSET {self.random.randint(0, 5)}"
        way = self.random.choice(["", " DESC"])
        # A number is the position of a column there, and constants are no keys.
        order = joined("COALESCE({0}, {0})", key) if kind != "boolean" else same("id")
        nulls = "NULLS LAST, id"  # COALESCE makes NULL of MISSING, which sorts first
        template = f"SELECT id, {{0}} AS x FROM {{1}}{{2}} ORDER BY {{3}}{way} {nulls} {end}"
        return joined(template, value, T, self._where(), order)

    def _grouped(self) -> Pair:
        aggregates = joined("{0} AS x, {1} AS y", self.aggregate(), self.aggregate())
        where = self._where()
        if self.random.random() < 0.3:
            return joined("SELECT {0} FROM {1}{2}", aggregates, T, where)
        key = self.expression(self._kind("integer", "text", "boolean", "time"), 1)
        having = same("")
        if self.random.random() < 0.3:
            having = joined(" HAVING {0} > 2", self._number_aggregate(""))
        template = "SELECT {0} AS k, {1} FROM {2}{3} GROUP BY 1{4} ORDER BY 1"
        return joined(template, key, aggregates, T, where, having)

    def _number_aggregate(self, alias: str) -> Pair:
        number = self._of(alias, "number")
        name = self.random.choice(["COUNT", "SUM", "MIN", "MAX"])
        return joined(f"{name}({{0}})", number)

    def _window_function(self) -> Pair:
        any_ = self.expression(self._kind(), 1)
        nullable = joined("NULLIF({0}, {1})", self.field("i"), same(str(self.random.randint(0, 4))))
        number = self.expression("number", 1)
        step = self.random.randint(0, 3)
        nulls = self.random.choice(["", " IGNORE NULLS"])
        name = self.random.choice(["COUNT", "SUM", "AVG", "MIN", "MAX"])
        return self.pick(
            lambda: same(self.random.choice(["ROW_NUMBER()", "RANK()", "DENSE_RANK()"])),
            lambda: same(self.random.choice(["PERCENT_RANK()", "CUME_DIST()", "NTILE(3)"])),
            lambda: joined(f"LAG({{0}}, {step}{nulls})", nullable),
            lambda: joined(f"LEAD({{0}}{nulls})", nullable),
            lambda: joined("LAG({0}, 1, {0})", any_),
            lambda: joined(f"FIRST_VALUE({{0}}{nulls})", nullable),
            lambda: joined(f"LAST_VALUE({{0}}{nulls})", nullable),
            lambda: joined(f"NTH_VALUE({{0}}, {step + 1})", any_),
            lambda: joined(f"{name}({{0}})", any_ if name in {"COUNT", "MIN", "MAX"} else number),
            lambda: joined("COUNT(*) FILTER (WHERE {0})", self.expression("boolean", 1)),
            lambda: joined("BOOL_OR({0})", self.expression("boolean", 1)),
        )

    def _partition(self) -> Pair:
        if self.random.random() < 0.4:
            return same("")
        return joined("PARTITION BY {0} ", self.expression(self._kind("boolean", "integer"), 1))

    def _windowed(self) -> Pair:
        keys = self.pick(
            lambda: same("id"),
            lambda: joined("COALESCE({0}, {0}) DESC NULLS LAST, id", self.expression("number", 1)),
            lambda: same(f"{self.NULLABLE} NULLS {self._kind('FIRST', 'LAST')}, id"),
            lambda: same("s, id DESC"),
        )
        over = joined("{0}ORDER BY {1}", self._partition(), keys)
        template = "SELECT id, {0} OVER ({1}) AS w, {2} OVER ({1}) AS v FROM {3}{4} ORDER BY id"
        made = (self._window_function(), over, self._window_function(), T, self._where())
        return joined(template, *made)

    def _frame(self) -> tuple[str, str]:
        """Return keys and a frame over them."""
        kind = self._kind("ROWS", "GROUPS", "RANGE", "times")
        first, last = self.random.randint(0, 4), self.random.randint(0, 4)
        start = self._kind("UNBOUNDED PRECEDING", f"{first} PRECEDING", "CURRENT ROW")
        end = self._kind("UNBOUNDED FOLLOWING", f"{last} FOLLOWING", "CURRENT ROW")
        exclude = self._kind("", " EXCLUDE CURRENT ROW", " EXCLUDE GROUP", " EXCLUDE TIES")
        if kind == "times":
            start = f"INTERVAL '{first * 7} days' PRECEDING"
            return "t", f"RANGE BETWEEN {start} AND CURRENT ROW{exclude}"
        keys = self._kind("i, id", "f DESC, id") if kind == "ROWS" else self._kind("i", "f DESC")
        return keys, f"{kind} BETWEEN {start} AND {end}{exclude}"

    def _framed(self) -> Pair:
        keys, frame = self._frame()
        function = self.pick(
            lambda: self._number_aggregate(""),
            lambda: joined("AVG({0} + f)", self.expression("number", 1)),
            lambda: same("COUNT(*)"),
            lambda: joined("MAX({0})", self.expression("text", 1)),
        )
        over = joined(f"{{0}}ORDER BY {keys} {frame}", self._partition())
        return joined("SELECT id, {0} OVER ({1}) AS w FROM {2} ORDER BY id", function, over, T)

    def _qualified(self) -> Pair:
        name = self.random.choice(["ROW_NUMBER", "RANK", "DENSE_RANK"])
        window = joined("WINDOW w AS ({0}ORDER BY i, id)", self._partition())
        template = (
            f"SELECT id, i, {name}() OVER w AS n FROM {{0}}{{1}} {{2}}"
            f" QUALIFY n <= {self.random.randint(1, 3)} ORDER BY id"
        )
        return joined(template, T, self._where(), window)

    def _condition(self) -> Pair:
        """Return a condition of a join of `a` and `b`."""
        kind = self._kind("number", "integer", "text", "boolean")
        equal = self.pick(
            lambda: same("a.i = b.i"),
            lambda: same("a.s = b.s"),
            lambda: joined("{0} = {1}", self._of("a.", kind), self._of("b.", kind)),
        )
        other = joined("{0} < {1}", self._of("a.", "number"), self._of("b.", "number"))
        both = joined("{0} AND {1}", equal, other)
        return self.pick(lambda: equal, lambda: other, lambda: both)

    def _joined_rows(self) -> Pair:
        kind = self._kind()
        value = joined(
            "CASE WHEN {0} THEN {1} ELSE {2} END",
            self._of("a.", "boolean"),
            self._of("a.", kind),
            self._of("b.", kind),
        )
        template = (
            "SELECT a.id AS x, b.id AS y, {0} AS z FROM {1} AS a JOIN {2} AS b ON {3}"
            " WHERE {4} ORDER BY a.id, b.id LIMIT 60"
        )
        where = joined("({0} OR {1})", self._of("a.", "boolean"), self._of("b.", "boolean"))
        return joined(template, value, T, U, self._condition(), where)

    def _outer(self) -> Pair:
        if self.random.random() < 0.4:
            word = self.random.choice(["SEMI", "ANTI"])
            template = (
                f"SELECT a.id AS x FROM {{0}} AS a {word} JOIN {{1}} AS b ON {{2}} ORDER BY 1"
            )
            return joined(template, T, U, self._condition())
        word = self.random.choice(_OUTER)
        if self.random.random() < 0.3:
            template = (
                f"SELECT s, a.id AS x, b.id AS y FROM {{0}} AS a {word} JOIN {{1}} AS b USING (s)"
                " ORDER BY COALESCE(a.id, -1), COALESCE(b.id, -1)"
            )
            return joined(template, T, U)
        template = (
            "SELECT a.id AS x, b.id AS y, a.s AS z, b.t AS w"
            f" FROM {{0}} AS a {word} JOIN {{1}} AS b ON {{2}}"
            " ORDER BY COALESCE(a.id, -1), COALESCE(b.id, -1) LIMIT 80"
        )
        return joined(template, T, U, self._condition())

    def _asof(self) -> Pair:
        op, left = self.random.choice(["<", "<=", ">", ">="]), self.random.choice(["", " LEFT"])
        key = self.random.choice(["", "a.b = b.b AND ", "a.s = b.s AND "])
        template = (
            f"SELECT a.id AS x, b.id AS y, b.f AS z FROM {{0}} AS a ASOF{left} JOIN {{1}} AS b"
            f" ON {key}a.t {op} b.t ORDER BY a.id"
        )
        return joined(template, T, U)

    def _lateral(self) -> Pair:
        op = self.random.choice(["<", "=", ">="])
        inner = joined("{0} AS n, COUNT(*) AS m", self._number_aggregate("b."))
        template = (
            "SELECT a.id AS x, q.n, q.m FROM {0} AS a,"
            f" LATERAL (SELECT {{1}} FROM {{2}} AS b WHERE b.i {op} a.i) AS q ORDER BY a.id"
        )
        return joined(template, T, inner, U)

    def _sets(self) -> Pair:
        kind = self._kind("integer", "text", "boolean", "time")
        parts = [
            joined("SELECT {0} AS x FROM {1}{2}", self.expression(kind, 1), table, self._where())
            for table in (T, U, self.random.choice([T, U]))
        ]
        ops = [
            self.random.choice(["UNION", "INTERSECT", "EXCEPT"]) + self._kind("", " ALL")
            for _ in range(2)
        ]
        form = self.random.choice(["{0} {3} {1} {4} {2}", "({0} {3} {1}) {4} {2}"])
        whole = joined(form, *parts, *map(same, ops))
        template = "SELECT x, COUNT(*) AS n FROM ({0}) AS q GROUP BY x ORDER BY x"
        return joined(template, whole)

    def _grouping(self) -> Pair:
        keys = [self.expression(self._kind("integer", "text", "boolean"), 1) for _ in range(2)]
        value = self.expression("number", 1)
        sets = self._kind(
            "ROLLUP (k, l)", "CUBE (k, l)", "GROUPING SETS ((k), (l), ())", "k, ROLLUP (l)"
        )
        name = self.random.choice(["SUM", "MIN", "COUNT", "MAX"])
        template = (
            f"SELECT k, l, GROUPING(k, l) AS g, {name}(v) AS x, COUNT(*) AS n FROM"
            " (SELECT {0} AS k, {1} AS l, {2} AS v FROM {3}{4}) AS q"
            f" GROUP BY {sets} ORDER BY g, k NULLS FIRST, l NULLS FIRST"
        )
        return joined(template, *keys, value, T, self._where())

    def _members(self) -> Pair:
        kind, negation = self._kind(), self.random.choice(["", "NOT "])
        template = (
            f"SELECT id FROM {{0}} WHERE {{1}} {negation}IN (SELECT {{2}} FROM {{3}}{{4}})"
            " ORDER BY id"
        )
        first, second = self.expression(kind, 1), self.expression(kind, 1)
        if kind == "time":
            first, second = same("t"), joined("t + INTERVAL '0 days'")
        return joined(template, T, first, second, U, self._where())

    def _correlated(self) -> Pair:
        negation = self.random.choice(["", "NOT "])
        if self.random.random() < 0.5:
            template = (
                f"SELECT a.id AS x FROM {{0}} AS a WHERE {negation}EXISTS"
                " (SELECT 1 FROM {1} AS b WHERE {2}) ORDER BY a.id"
            )
            return joined(template, T, U, self._condition())
        template = (
            "SELECT a.id AS x, (SELECT {0} FROM {1} AS b WHERE b.i = a.i) AS y FROM {2} AS a"
            " WHERE {3} > (SELECT MIN(b.f) FROM {1} AS b WHERE b.s = a.s) ORDER BY a.id"
        )
        return joined(template, self._number_aggregate("b."), U, T, self._of("a.", "number"))

    def _quantified(self) -> Pair:
        op = self.random.choice(["=", "<>", "<", "<=", ">", ">="])
        word = self.random.choice(["ANY", "ALL"])
        first, second = self.expression("number", 1), self.expression("number", 1)
        template = (
            f"SELECT id FROM {{0}} WHERE {{1}} {op} {word} (SELECT {{2}} FROM {{3}}{{4}})"
            " ORDER BY id"
        )
        return joined(template, T, first, second, U, self._where())

    def _with_query(self) -> Pair:
        key = self.expression(self._kind("text", "boolean"), 1)
        template = (
            "WITH q AS (SELECT {0} AS k, {1} AS v FROM {2}{3} GROUP BY 1),"
            " r AS (SELECT k, v FROM q WHERE v IS NOT NULL)"
            " SELECT q.k, r.v, COUNT(*) AS n FROM q LEFT JOIN r ON q.k = r.k"
            " GROUP BY 1, 2 ORDER BY 1"
        )
        return joined(template, key, self._number_aggregate(""), T, self._where())

    def _recursive(self) -> Pair:
        limit, step = self.random.randint(0, 30), self.random.randint(1, 5)
        template = (
            f"WITH RECURSIVE r(n, d) AS (SELECT i, 0 FROM {{0}} WHERE id < 5 UNION ALL"
            f" SELECT n + {step}, d + 1 FROM r WHERE n < {limit})"
            " SELECT d, COUNT(*) AS c, SUM(n) AS s FROM r GROUP BY d ORDER BY d"
        )
        return joined(template, T)

    def _distinct_on(self) -> Pair:
        if self.random.random() < 0.5:
            kind = self._kind("integer", "text", "time", "boolean")
            template = "SELECT DISTINCT {0} AS x, b FROM {1}{2} ORDER BY x, b"
            return joined(template, self.expression(kind, 1), T, self._where())
        template = (
            "SELECT DISTINCT ON ({0}) id, s, {1} AS x FROM {2}{3}"
            " ORDER BY {0} NULLS LAST, i DESC, id"
        )
        kind = self._kind("text", "boolean")
        key = joined("COALESCE({0}, {0})", self.expression(kind, 1))
        return joined(template, key, self.expression(self._kind(), 1), T, self._where())

    def _pivot(self) -> Pair:
        name = self.random.choice(["SUM", "COUNT", "MAX"])
        template = (
            "SELECT * FROM (SELECT b, s, {0} AS v FROM {1}{2}) AS q"
            f" PIVOT ({name}(v) FOR s IN ('a', 'ab', 'zz') GROUP BY b) ORDER BY b"
        )
        return joined(template, self.expression("number", 1), T, self._where())

    def _unpivot(self) -> Pair:
        template = (
            "SELECT id, k, v FROM (SELECT id, {0} AS x, {1} AS y FROM {2}) AS q"
            " UNPIVOT (v FOR k IN (x, y)) ORDER BY id, k"
        )
        pair = [renamed("{0}", "({0})::DOUBLE", self.expression("number", 1)) for _ in range(2)]
        return joined(template, *pair, T)

    def _unnested(self) -> Pair:
        kind = self._kind("integer", "text")
        items = joined("[{0}, {1}]", self.expression(kind, 1), self.expression(kind, 1))
        template = (
            "SELECT x, COUNT(*) AS n, MIN(id) AS m FROM (SELECT id, UNNEST({0}) AS x FROM {1}{2})"
            " AS q GROUP BY x ORDER BY x"
        )
        return joined(template, items, T, self._where())

    def _buckets(self) -> Pair:
        width = self.random.choice(["1 day", "6 hours", "7 days", "90 minutes", "1 month"])
        template = (
            f"SELECT TIME_BUCKET(INTERVAL '{width}', {{0}}) AS k, {{1}} AS x FROM {{2}}{{3}}"
            " GROUP BY 1 ORDER BY 1"
        )
        return joined(
            template, self.expression("time", 1), self._number_aggregate(""), T, self._where()
        )

    def _spans(self) -> Pair:
        first, second = self.expression("time", 1), self.expression("time", 1)
        days = self.random.randint(-9, 9)
        return self.pick(
            lambda: renamed(
                "SELECT id, {0} - {1} AS x FROM {2} ORDER BY id",
                "SELECT id, epoch({0} - {1}) AS x FROM {2} ORDER BY id",
                first,
                second,
                T,
            ),
            lambda: joined(
                f"SELECT id, {{0}} + {days} * INTERVAL '1 day' AS x, {{1}}::DATE AS y,"
                " EXTRACT(EPOCH FROM {1}) AS z FROM {2} ORDER BY id",
                first,
                second,
                T,
            ),
            lambda: joined(
                f"SELECT id FROM {{2}} WHERE {{0}} - {{1}} > INTERVAL '{days} days' ORDER BY id",
                first,
                second,
                T,
            ),
            lambda: joined(
                "SELECT b, EXTRACT(EPOCH FROM MAX({0}) - MIN({1})) AS x, DATE_DIFF('day', MIN({1}),"
                " MAX({0})) AS y FROM {2} GROUP BY b ORDER BY b",
                first,
                second,
                T,
            ),
        )

    def _decimals(self) -> Pair:
        first, second = ("({0} / 4.0)::DECIMAL(9, 2)", "f::DECIMAL(9, 2)")
        number = joined(first, self.field("i"))
        op = self.random.choice("+-*")
        value = joined(f"({{0}} {op} {{1}})", number, same(second))
        template = (
            "SELECT b, SUM({0}) AS x, SUM({1}) + SUM({2}) AS y, MIN({1}) AS z FROM {3}{4}"
            " GROUP BY b ORDER BY b"
        )
        return joined(template, value, number, same(second), T, self._where())

    def _windows_of_groups(self) -> Pair:
        key = self.expression(self._kind("text", "integer", "boolean"), 1)
        template = (
            "SELECT {0} AS k, {1} AS x, RANK() OVER (ORDER BY COUNT(*) DESC) AS r,"
            " SUM(COUNT(*)) OVER (ORDER BY {0} NULLS LAST) AS running,"
            " COUNT(*) * 100.0 / SUM(COUNT(*)) OVER () AS share FROM {2}{3}"
            " GROUP BY {0} ORDER BY {0} NULLS LAST"
        )
        key = joined("COALESCE({0}, {0})", key)
        return joined(template, key, self._number_aggregate(""), T, self._where())

    def _json_texts(self) -> Pair:
        text = self.expression("text", 1)
        return renamed(
            "SELECT id, TRY_CAST({0} AS INTEGER) AS x, {1}::TEXT AS y, NUMBER({1}::TEXT) AS z,"
            " {0} ->> 'a' AS w FROM {2} ORDER BY id",
            "SELECT id, trunc(TRY_CAST({0} AS DOUBLE))::BIGINT AS x, {1}::VARCHAR AS y, {1} AS z,"
            " NULL AS w FROM {2} ORDER BY id",
            text,
            self.expression("integer", 1),
            T,
        )


class Sparse(Shapes):
    """Queries over rows that lack values, which are NULL elsewhere."""

    NULLABLE = "i"
    KINDS = (
        "plain grouped windowed framed qualified joined_rows outer sets grouping members"
        " correlated with_query distinct_on buckets windows_of_groups"
    ).split()
