"""Random expressions of SQL: each with its type, and as two texts, ours and DuckDB's.

The texts differ where the dialects do. No expression is NULL or MISSING over rows whose fields all
have a value, so that both mean the same.
"""

from __future__ import annotations

import math
import random
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    Pair = tuple[str, str]

WORDS = ["", "a", "b", "ab", "B", "a,b,c", " x ", "Für", "x-y_z", "100%", "zz", "aab", "日本"]
PATTERNS = ["a%", "%b%", "_", "%", "a_b", "%-%"]
TYPES = ("number", "integer", "text", "boolean", "time")


class Grammar:
    """Random expressions of a type, none of which is NULL or MISSING over the typed rows."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.alias = ""  # what stands in front of fields, with its dot

    def field(self, *names: str) -> Pair:
        """Return one of some fields."""
        return same(self.alias + self.random.choice(names))

    def pick(self, *made: Callable[[], Pair]) -> Pair:
        return self.random.choice(made)()

    def expression(self, kind: str, depth: int) -> Pair:
        if depth <= 0 or self.random.random() < 0.15:
            return getattr(self, f"{kind}_leaf")()
        if self.random.random() < 0.12:
            return self.choice(kind, depth - 1)
        return getattr(self, kind)(depth - 1)

    def choice(self, kind: str, depth: int) -> Pair:
        condition = self.expression("boolean", depth)
        first, second = self.expression(kind, depth), self.expression(kind, depth)
        return joined("CASE WHEN {0} THEN {1} ELSE {2} END", condition, first, second)

    def number_leaf(self) -> Pair:
        return self.pick(
            lambda: self.field("i", "f"),
            lambda: same(self.random.choice(["3", "0.5", "-2", "7"])),
        )

    def integer_leaf(self) -> Pair:
        return self.pick(
            lambda: renamed("CHAR_LENGTH({0})", "length({0})", self.field("s")),
            lambda: same(self.random.choice(["4", "1"])),
        )

    def text_leaf(self) -> Pair:
        return self.pick(
            lambda: self.field("s", "p"),
            lambda: self.field("s", "p"),
            lambda: same(self.random.choice(["'ab'", "'x,y'"])),
        )

    def boolean_leaf(self) -> Pair:
        test = self.random.choice(["{0}b", "({0}i > 3)", "({0}s = 'a')", "({0}f <= 0)"])
        return same(test.format(self.alias))

    def time_leaf(self) -> Pair:
        return self.field("t")

    def number(self, depth: int) -> Pair:
        def one() -> Pair:
            return self.expression("number", depth)

        op = self.random.choice("+-*")
        name = self.random.choice(["ABS", "SIGN", "FLOOR", "CEIL", "TRUNC", "ROUND"])
        end = self.random.choice(["LEAST", "GREATEST"])
        return self.pick(
            lambda: joined(f"({{0}} {op} {{1}})", one(), one()),
            lambda: joined("({0} / 4.0)", one()),
            lambda: joined("({0} % 7.0)", one()),
            lambda: joined(f"{name}({{0}})", one()),
            lambda: joined("SQRT(ABS({0}))", one()),
            lambda: joined(f"{end}({{0}}, {{1}})", one(), one()),
            lambda: joined("-({0})", one()),
            lambda: self.expression("integer", depth),
        )

    def integer(self, depth: int) -> Pair:
        def one() -> Pair:
            return self.expression("integer", depth)

        def text() -> Pair:
            return self.expression("text", depth)

        part = self.random.choice(["YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "DOW", "DOY"])
        op = self.random.choice(["+", "-", "*", "|", "&"])
        return self.pick(
            lambda: renamed("CHAR_LENGTH({0})", "length({0})", text()),
            lambda: renamed("OCTET_LENGTH({0})", "strlen({0})", text()),
            lambda: joined("STRPOS({0}, {1})", text(), text()),
            lambda: joined("LEVENSHTEIN({0}, {1})", text(), text()),
            lambda: joined(f"({{0}} {op} {{1}})", one(), one()),
            # 1 / 3 is computed exactly.
            lambda: renamed(
                "CAST((CHAR_LENGTH({1}) + {0}) / 3 AS INTEGER)",
                "trunc((length({1}) + {0}) / 3)::BIGINT",
                one(),
                self.field("s"),
            ),
            lambda: joined(f"EXTRACT({part} FROM {{0}})", self.expression("time", depth)),
            lambda: renamed(
                "TO_UNIX_EPOCH({0})", "floor(epoch({0}))::BIGINT", self.expression("time", depth)
            ),
            lambda: renamed(
                "CAST({0} AS INTEGER)", "trunc({0})::BIGINT", self.expression("number", depth)
            ),
            lambda: joined("CAST({0} AS INTEGER)", self.expression("boolean", depth)),
        )

    def text(self, depth: int) -> Pair:
        def one() -> Pair:
            return self.expression("text", depth)

        count = self.random.randint(-3, 4)
        length, start = self.random.randint(0, 6), self.random.randint(1, 4)
        name = self.random.choice(["UPPER", "LOWER", "REVERSE", "TRIM", "LTRIM", "RTRIM", "MD5"])
        pad, side = self.random.choice(["LPAD", "RPAD"]), self.random.choice(["LEFT", "RIGHT"])
        return self.pick(
            lambda: joined(f"{name}({{0}})", one()),
            lambda: joined(f"{side}({{0}}, {count})", one()),
            lambda: joined(f"{pad}({{0}}, {length}, 'é.')", one()),
            lambda: joined(f"REPEAT({{0}}, {start - 1})", one()),
            lambda: joined("REPLACE({0}, 'a', 'xy')", one()),
            lambda: joined("TRANSLATE({0}, 'ab-', 'BA')", one()),
            lambda: joined(f"SUBSTRING({{0}}, {start}, {length})", one()),
            lambda: joined("({0} || {1})", one(), one()),
            lambda: renamed("CONCAT({0}, {1})", "({0} || {1})", one(), one()),
            lambda: joined("CONCAT_WS('-', {0}, {1})", one(), one()),
            lambda: joined("REGEXP_REPLACE({0}, '[ab]+', '#', 'g')", one()),
            lambda: renamed("TO_BASE64({0})", "to_base64(encode({0}))", one()),
            lambda: renamed("CAST({0} AS STRING)", "CAST({0} AS VARCHAR)", self.integer(depth)),
            lambda: joined("STRFTIME({0}, '%d.%m.%Y %H')", self.expression("time", depth)),
        )

    def boolean(self, depth: int) -> Pair:
        def one() -> Pair:
            return self.expression("boolean", depth)

        op = self.random.choice(["=", "<>", "<", "<=", ">", ">="])
        kind = self.random.choice(["number", "integer", "text", "time"])
        word = self.random.choice(["AND", "OR"])
        name = self.random.choice(["STARTS_WITH", "ENDS_WITH", "CONTAINS"])
        pattern = self.random.choice(PATTERNS)
        negation = self.random.choice(["", "NOT "])
        return self.pick(
            lambda: joined(
                f"({{0}} {op} {{1}})", self.expression(kind, depth), self.expression(kind, depth)
            ),
            lambda: joined(f"({{0}} {word} {{1}})", one(), one()),
            lambda: joined("(NOT {0})", one()),
            lambda: joined(f"({{0}} {negation}LIKE '{pattern}')", self.expression("text", depth)),
            lambda: joined(f"({{0}} ILIKE '{pattern}')", self.expression("text", depth)),
            lambda: joined(
                f"{name}({{0}}, {{1}})",
                self.expression("text", depth),
                self.expression("text", depth),
            ),
            lambda: renamed(
                "REGEXP_LIKE({0}, '^a|b$')",
                "regexp_matches({0}, '^a|b$')",
                self.expression("text", depth),
            ),
            lambda: joined(f"({{0}} {negation}IN (1, 4, 0.5))", self.expression("number", depth)),
            lambda: joined(f"({{0}} {negation}BETWEEN -1 AND 5)", self.expression("number", depth)),
            lambda: joined("(({0}) IS NOT TRUE)", one()),
        )

    def time(self, depth: int) -> Pair:
        part = self.random.choice(["YEAR", "QUARTER", "MONTH", "DAY", "HOUR", "MINUTE"])
        count = self.random.randint(-40, 40)
        unit = self.random.choice(["DAY", "HOUR", "SECOND", "WEEK"])
        inner = self.expression("time", depth)
        return self.pick(
            lambda: renamed(f"DATE_TRUNC({part}, {{0}})", f"date_trunc('{part}', {{0}})", inner),
            lambda: renamed(
                "DATE_TRUNC(WEEK(MONDAY), {0})", "date_trunc('week', {0})::TIMESTAMP", inner
            ),
            lambda: renamed(
                f"DATE_ADD({unit}, {count}, {{0}})", f"({{0}} + INTERVAL ({count}) {unit})", inner
            ),
        )

    def aggregate(self) -> Pair:
        number, text = self.expression("number", 1), self.expression("text", 1)
        kind = self.random.choice(["number", "text", "boolean", "time"])
        any_ = self.expression(kind, 1)
        condition = self.expression("boolean", 1)
        share = self.random.choice([0, 0.25, 0.5, 0.9, 1])
        pair = self.pick(
            lambda: same("COUNT(*)"),
            lambda: joined("COUNT({0})", any_),
            lambda: joined("COUNT(DISTINCT {0})", any_),
            lambda: joined("SUM({0})", number),
            lambda: joined("AVG({0})", number),
            lambda: joined("MIN({0})", any_),
            lambda: joined("MAX({0})", any_),
            lambda: joined("STDDEV({0})", number),
            lambda: joined("VARIANCE({0})", number),
            # Its median of decimals, which 0.5 is, has one digit.
            lambda: renamed("MEDIAN({0})", "median(({0})::DOUBLE)", number),
            lambda: renamed(
                f"QUANTILE({{0}}, {share})", f"quantile_cont(({{0}})::DOUBLE, {share})", number
            ),
            lambda: joined("BOOL_AND({0})", condition),
            lambda: joined("BOOL_OR({0})", condition),
            lambda: renamed("COUNT_IF({0})", "COUNT(CASE WHEN {0} THEN 1 END)", condition),
            lambda: joined("STRING_AGG({0}, ';' ORDER BY id)", text),
            lambda: joined("ARRAY_AGG({0} ORDER BY id DESC)", any_),
            lambda: joined("FIRST({0} ORDER BY id)", any_),
            lambda: joined("LAST({0} ORDER BY f, id)", any_),
            lambda: joined("ARG_MIN({0}, id)", any_),
            lambda: joined("ARG_MAX({0}, -id)", any_),
        )
        if self.random.random() < 0.3:
            return joined("{0} FILTER (WHERE {1})", pair, condition)
        return pair


def same(text: str) -> Pair:
    return text, text


def joined(template: str, *parts: Pair) -> Pair:
    return renamed(template, template, *parts)


def renamed(ours: str, theirs: str, *parts: Pair) -> Pair:
    return ours.format(*(part[0] for part in parts)), theirs.format(*(part[1] for part in parts))


def plain(value: Any) -> Any:
    """Return a value so that those of both engines compare."""
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)  # noqa: DTZ001 - as those above
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def agree(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(agree, ours, theirs))
    if isinstance(ours, int | float) and isinstance(theirs, int | float):
        return math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-9)
    return bool(ours == theirs)
