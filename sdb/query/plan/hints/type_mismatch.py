"""Comparisons that are never TRUE for a reason that users can mend."""

from __future__ import annotations

from sdb import instants
from sdb.packfile.prune.predicate import Compare, Instant, path_tests
from sdb.packfile.trailer.fieldcounts import field_name
from sdb.query.analyze.types import BOOL, LIST, NUMBER, STRING, STRUCT, TIME, values_of
from sdb.query.catalog.tablescan import types_in
from sdb.query.syntax import literals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sdb.packfile.prune.predicate import Predicate
    from sdb.packfile.trailer.fieldcounts import FieldPath
    from sdb.query.catalog.tablescan import PackfileScan

_PLURALS = {
    BOOL: "booleans",
    NUMBER: "numbers",
    TIME: "timestamps",
    STRING: "strings",
    LIST: "lists",
    STRUCT: "structures",
}
_WORDS = {BOOL: "boolean", NUMBER: "number", TIME: "timestamp", STRING: "text"}
_MOST = 8
"""How many lines are enough."""


def mismatches(test: Predicate, parts: Sequence[PackfileScan]) -> list[str]:
    """Warn about constants that are compared with paths that hold no value of their type."""
    known: dict[FieldPath, int] = {}
    lines: dict[tuple[FieldPath, int], str] = {}
    both = _as_both(test)
    for comparison in path_tests(test):
        if not isinstance(comparison, Compare):
            continue
        if comparison.path not in known:
            known[comparison.path] = _held(comparison.path, parts)
        held, kind = known[comparison.path], _kind(comparison.value)
        wanted = kind | STRING | TIME if _is_moment(comparison.value) else kind
        # A text that has the form of a time is here as both; a time alone is compared with times.
        value = comparison.value
        if isinstance(value, Instant) and (comparison.path, value.us) not in both:
            wanted = TIME
        is_sure = held and kind and not held & wanted
        if not is_sure or (comparison.op == "<>" and not (held == TIME and kind == NUMBER)):
            continue
        kind = STRING if kind == TIME and wanted != TIME else kind
        instead = _instead(comparison, field_name(comparison.path), held)
        hint = f": compare {instead}" if instead else ""
        lines.setdefault(
            (comparison.path, kind),
            f"warning: {told(field_name(comparison.path), held, kind)} in any row{hint}",
        )
    return list(lines.values())[:_MOST]


def _as_both(test: Predicate) -> set[tuple[FieldPath, int]]:
    """Return the paths and times that are compared as times and as texts, each as its own test."""
    return {
        (comparison.path, instant.us)
        for comparison in path_tests(test)
        if isinstance(comparison, Compare) and isinstance(comparison.value, str)
        if (instant := literals.moment(comparison.value)) is not None
    }


def texts_beside_times(test: Predicate, parts: Sequence[PackfileScan]) -> Iterator[tuple[str, ...]]:
    """Yield the paths of rows with times and with texts, which are compared with times alone."""
    both = _as_both(test)
    paths = {
        comparison.path: None
        for comparison in path_tests(test)
        if isinstance(comparison, Compare) and isinstance(comparison.value, Instant)
        if (comparison.path, comparison.value.us) not in both
    }
    for path in paths:
        if _held(path, parts) & (TIME | STRING) == TIME | STRING:
            yield tuple([name for name in path if name is not None])


def told(text: str, held: int, wanted: int) -> str:
    """Say which types an expression has, and which not.

    * ``held, wanted``: Masks of the types that it has, and of those that something asks for.
    """
    have = " and ".join(name for kind, name in _PLURALS.items() if held & kind)
    names = {**_WORDS, LIST: "list", STRUCT: "structure"}
    want = " or ".join(name for kind, name in names.items() if wanted & kind)
    return f"{text} has {have} and no {want}"


def _is_moment(value: object) -> bool:
    """Return whether a constant is a time, or a text that has the form of one."""
    if isinstance(value, str):
        return literals.moment(value) is not None
    return isinstance(value, Instant)


def _kind(value: object) -> int:
    """Return the type of a constant."""
    kinds_of = {bool: BOOL, int: NUMBER, float: NUMBER, Instant: TIME}
    return STRING if isinstance(value, str) else kinds_of.get(type(value), 0)


def _instead(test: Compare, path: str, held: int) -> str:  # noqa: C901, PLR0911 - a table
    """Return a comparison that may be TRUE, if one is likely to be meant."""
    op, value = test.op, test.value
    match held, value:
        case (4, bool()):
            return f"{path} {op} {int(value)}"
        case (16, bool()):
            return f"{path} {op} '{str(value).lower()}'"
        case (8, int() | float()):
            return f"TO_UNIX_EPOCH({path}) {op} {value}"
        case (16, int() | float()):
            return f"{path} {op} '{value}'"
        case (2, 0 | 1):
            return f"{path} {op} {'TRUE' if value else 'FALSE'}"
        case (8, str()):
            counts = instants.relative(value) is not None
            return f"{path} {op} TIMESTAMP '{value if counts else '2021-01-02'}'"
        case (4, str() | Instant()) if _is_moment(value):
            time = value if isinstance(value, str) else instants.text(value.us)
            return f"{path} {op} TO_UNIX_EPOCH(TIMESTAMP '{time}')"
        case (16, Instant()):
            return f"{path}::TIMESTAMP {op} TIMESTAMP '{instants.text(value.us)}'"
        case (4, str()) if value.isdecimal() and value.isascii():
            return f"{path} {op} {value}"
        case (2, "true" | "false"):
            return f"{path} {op} {value.upper()}"
    return ""


def _held(path: FieldPath, parts: Sequence[PackfileScan]) -> int:
    """Return the types that rows have at a path; none where a packfile does not tell."""
    steps = tuple([name for name in path if name is not None])
    types = types_in(parts, steps) if len(steps) == len(path) else None
    return 0 if types is None else values_of(types)
