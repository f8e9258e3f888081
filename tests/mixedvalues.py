"""A small evaluator of `standard`: expressions over fields of any type, where absent is NULL."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    Row = dict[str, Any]
    Evaluate = Callable[[Row], Any]
    Expression = tuple[str, Evaluate]

KINDS = [1, 2.5, -3, "", "a", "b", True, False, None, ...]
"""What a field of a row may be; the dots are no field."""


def rows() -> list[Row]:
    """Return rows in which two fields have each pair of types, and a third one any."""
    made = []
    for i, x in enumerate(KINDS):
        for j, y in enumerate(KINDS):
            fields = (("x", x), ("y", y), ("z", KINDS[(3 * i + j) % len(KINDS)]))
            made.append({name: value for name, value in fields if value is not ...})
    return [{"id": number} | row for number, row in enumerate(made)]


def kind_of(value: Any) -> str:
    """Return the type of a value, which is not NULL."""
    if isinstance(value, bool):
        return "boolean"
    return "number" if isinstance(value, int | float) else "text"


def equal(left: Any, right: Any) -> bool | None:
    """Return ``left = right``: values of two types are different."""
    if left is None or right is None:
        return None
    return kind_of(left) == kind_of(right) and bool(left == right)


def compared(op: str, left: Any, right: Any) -> bool | None:
    """Return a comparison; only values of one type have an order."""
    same = equal(left, right)
    if op in {"=", "<>"}:
        return None if same is None else same is (op == "=")
    if same is None or kind_of(left) != kind_of(right):
        return None
    return {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[op]


def joined(word: str, values: list[Any]) -> bool | None:
    """Return AND or OR, for which a value that is no boolean is NULL."""
    decides = word == "OR"
    truths = [value if isinstance(value, bool) else None for value in values]
    if decides in truths:
        return decides
    return None if None in truths else not decides


def opposite(value: Any) -> bool | None:
    return not value if isinstance(value, bool) else None


def member(value: Any, items: list[Any]) -> bool | None:
    return joined("OR", [equal(value, item) for item in items]) if items else False


def extreme(best: Callable[..., Any], values: list[Any]) -> Any:
    """Return LEAST or GREATEST: NULL is skipped, and types are not compared."""
    present = [value for value in values if value is not None]
    if len({kind_of(value) for value in present}) != 1:
        return None
    return best(present)


def of_kind(kind: str, function: Callable[..., Any], *values: Any) -> Any:
    """Return what a function of values of one type gives."""
    fits = all(value is not None and kind_of(value) == kind for value in values)
    return function(*values) if fits else None


def text_of(value: Any) -> str:
    """Return the text of a value."""
    if kind_of(value) == "number":
        return str(int(value)) if value == int(value) else repr(value)
    return value if isinstance(value, str) else str(value).lower()


def texts_joined(left: Any, right: Any) -> str | None:
    return None if left is None or right is None else text_of(left) + text_of(right)


class Mixed:
    """Random expressions, each with a function that evaluates it."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def value(self, depth: int, *makers: Callable[[int], Expression]) -> Expression:
        """Return an expression that one of some functions makes, or a field."""
        if depth <= 0 or self.random.random() < 0.25:
            name = self.random.choice("xyz")
            return name, lambda row: row.get(name)
        every = (self._number, self._text, self._chosen, self.condition, self.condition)
        return self.random.choice(makers or every)(depth - 1)

    def _number(self, depth: int) -> Expression:
        (first, a), (second, b) = (self.value(depth, self._number) for _ in range(2))
        op = self.random.choice("+-*")
        by = {"+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y}[op]
        return f"({first} {op} {second})", lambda row: of_kind("number", by, a(row), b(row))

    def _text(self, depth: int) -> Expression:
        (first, a), (second, b) = (self.value(depth, self._text) for _ in range(2))
        if self.random.random() < 0.5:
            return f"UPPER({first})", lambda row: of_kind("text", str.upper, a(row))
        return f"({first} || {second})", lambda row: texts_joined(a(row), b(row))

    def _chosen(self, depth: int) -> Expression:
        (test, c), (first, a), (second, b) = (
            self.condition(depth),
            self.value(depth),
            self.value(depth),
        )
        return self.random.choice(
            [
                (
                    f"CASE WHEN {test} THEN {first} ELSE {second} END",
                    lambda row: a(row) if c(row) is True else b(row),
                ),
                (
                    f"CASE {first} WHEN {second} THEN 1 ELSE 'no' END",
                    lambda row: 1 if equal(a(row), b(row)) else "no",
                ),
                (
                    f"COALESCE({first}, {second})",
                    lambda row: b(row) if a(row) is None else a(row),
                ),
                (
                    f"NULLIF({first}, {second})",
                    lambda row: None if equal(a(row), b(row)) else a(row),
                ),
                (f"LEAST({first}, {second})", lambda row: extreme(min, [a(row), b(row)])),
                (f"GREATEST({first}, {second})", lambda row: extreme(max, [a(row), b(row)])),
            ]
        )

    def condition(self, depth: int) -> Expression:
        """Return an expression that is a truth or NULL."""
        (first, a), (second, b), (third, c) = (self.value(depth) for _ in range(3))
        op = self.random.choice(["=", "<>", "<", "<=", ">", ">="])
        word = self.random.choice(["AND", "OR"])
        is_not = self.random.random() < 0.5
        negation = "NOT " if is_not else ""
        truth = self.random.choice([True, False])
        (left, d), (right, e) = (self.value(depth, self.condition) for _ in range(2))

        def maybe(value: bool | None) -> bool | None:
            return opposite(value) if is_not else value

        return self.random.choice(
            [
                (f"({first} {op} {second})", lambda row: compared(op, a(row), b(row))),
                (f"({left} {word} {right})", lambda row: joined(word, [d(row), e(row)])),
                (f"(NOT {left})", lambda row: opposite(d(row))),
                (f"({first} IS {negation}NULL)", lambda row: (a(row) is None) != is_not),
                (f"({first} IS {negation}{truth})", lambda row: (a(row) is truth) != is_not),
                (
                    f"({first} IS {negation}DISTINCT FROM {second})",
                    # NULL is a value there.
                    lambda row: (
                        (equal(a(row), b(row)) is not True and not a(row) is b(row) is None)
                        != is_not
                    ),
                ),
                (
                    f"({first} {negation}IN ({second}, {third}, 'a'))",
                    lambda row: maybe(member(a(row), [b(row), c(row), "a"])),
                ),
                (
                    f"({first} {negation}BETWEEN {second} AND {third})",
                    lambda row: maybe(
                        joined(
                            "AND",
                            [compared(">=", a(row), b(row)), compared("<=", a(row), c(row))],
                        )
                    ),
                ),
                (
                    f"({first} {op} ANY([{second}, {third}]))",
                    lambda row: joined("OR", [compared(op, a(row), x) for x in (b(row), c(row))]),
                ),
                (
                    f"({first} {op} ALL([{second}, {third}]))",
                    lambda row: joined("AND", [compared(op, a(row), x) for x in (b(row), c(row))]),
                ),
                (
                    f"LIST_CONTAINS([{second}, {third}], {first})",
                    lambda row: (
                        None if a(row) is None else any(equal(a(row), x) for x in (b(row), c(row)))
                    ),
                ),
            ]
        )
