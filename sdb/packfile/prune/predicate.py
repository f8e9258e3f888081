"""Predicates: the part of a condition that the metadata of a packfile can decide.

Conditions of SQL, of Spark and ``--since`` are reduced to tests of paths, joined
by AND and OR. Whatever cannot be expressed so may be TRUE anywhere. So a predicate is TRUE for each
row for which the condition is, and possibly for others: :mod:`sdb.packfile.prune.prune` decides
blocks with it, never rows.

A path may go through lists: None in it stands for the elements, and a test of such a path is TRUE
for a row of which any element passes.
"""

from __future__ import annotations

from sdb import instants
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias

    from sdb.packfile.trailer.fieldcounts import FieldPath
    from sdb.packfile.trailer.sparseindex import Path

NULL_TYPE = 1
"""The Ion type of NULL, as a bit mask."""
BOOL_TYPE = 1 << 1
"""The Ion type of booleans, as a bit mask."""
NUMBER_TYPES = 0b111 << 2
"""The Ion types of numbers: integers of both signs, and floats."""
TIME_TYPE = 1 << 6
"""The Ion type of timestamps, as a bit mask."""
TEXT_TYPES = 0b11110000000
"""Ion types that read as text: symbols and strings, and bytes by their printed form."""
LIST_TYPE = 1 << 11
"""The Ion type of lists, as a bit mask."""
ANY_TYPE = 0xFFFF
"""All Ion types."""


@record
class Instant:
    """A timestamp constant."""

    us: int  # microseconds since 1970-01-01T00:00:00Z


Constant: TypeAlias = bool | int | float | str | Instant | None


@record
class Anywhere:
    """A part of a condition that may be TRUE in any row."""

    # Where that part stands in the text of the condition, for messages.
    span: tuple[int, int] | None = None


@record
class Nowhere:
    """A part of a condition that is never TRUE."""


@record
class Compare:
    """A comparison of a path with a constant."""

    path: FieldPath  # the way from the row on
    op: str  # one of ``= <> < <= > >=``
    value: Constant  # the right side

    def __str__(self) -> str:
        """Show the comparison as a query would."""
        return f"{_name(self.path)} {self.op} {_literal(self.value)}"


@record
class OneOf:
    """A test for values that are equal to one of many: the keys of the other side of a join."""

    path: FieldPath  # the way from the row on
    values: tuple[Constant, ...]  # the values, each once

    def __str__(self) -> str:
        """Show how many there are."""
        return f"{_name(self.path)} IN ({len(self.values):,} keys)"


@record
class TypeTest:
    """A test for values of some types."""

    path: FieldPath  # the way from the row on
    types: int  # the Ion types, as a bit mask
    or_missing: bool  # whether rows without a value there pass too
    words: str  # what the condition says of the path, as in ``IS NOT NULL``

    def __str__(self) -> str:
        """Show the test as a query would."""
        return f"{_name(self.path)} {self.words}"


@record
class TextPrefix:
    """A test for texts that begin with one of some texts."""

    path: FieldPath  # the way from the row on
    prefixes: tuple[str, ...]  # the texts, none of which is empty
    words: str  # what the condition says of the path, as in ``LIKE 'a%'``

    def __str__(self) -> str:
        """Show the test as a query would."""
        return f"{_name(self.path)} {self.words}"


@record
class AddressRange:
    """A test for texts that are IPv4 addresses between two."""

    path: FieldPath  # the way from the row on
    begins: tuple[str, ...]  # texts of which such an address begins with one; none: not known
    # The least and the greatest address
    low: int
    high: int
    words: str  # what the condition says of the path

    def __str__(self) -> str:
        """Show the test as a query would."""
        return f"{_name(self.path)} {self.words}"


@record
class TextWords:
    """A test for texts that hold all of some texts, whatever case their letters have."""

    path: FieldPath  # the way from the row on; without a name it is the row
    texts: tuple[str, ...]  # the texts
    # What the condition says of the path, as in ``LIKE '%a%'``; if it is empty, the texts say it
    words: str = ""
    is_deep: bool = False  # whether texts inside of the value at the path count, too; bytes do not
    # A letter beyond ASCII that may stand in the place of any i; empty: no letter may
    i_form: str = ""

    def __str__(self) -> str:
        """Show the test as a query would."""
        words = self.words or f"has {', '.join(map(_literal, self.texts))}"
        return f"{_name(self.path) if self.path else 'the row'} {words}"


@record
class Both:
    """AND of any number of predicates."""

    parts: tuple[Predicate, ...]


@record
class Either:
    """OR of any number of predicates."""

    parts: tuple[Predicate, ...]


PathTest: TypeAlias = Compare | OneOf | TypeTest | TextPrefix | AddressRange | TextWords
"""Tests of one path."""
Predicate: TypeAlias = Anywhere | Nowhere | PathTest | Both | Either


def between(path: Path, start_us: int | None, stop_us: int | None) -> Both:
    """Return the predicate of a range of times.

    * ``start_us, stop_us``: ``start_us <= t < stop_us``, in microseconds since 1970; None leaves
      that side open.
    """
    parts = []
    if start_us is not None:
        parts.append(Compare(path, ">=", Instant(start_us)))
    if stop_us is not None:
        parts.append(Compare(path, "<", Instant(stop_us)))
    return Both(tuple(parts))


def path_tests(test: Predicate) -> Iterator[PathTest]:
    """Iterate over the tests of paths in a predicate."""
    match test:
        case Both(parts) | Either(parts):
            for part in parts:
                yield from path_tests(part)
        case Anywhere() | Nowhere():
            return
        case _:
            yield test


def _name(path: FieldPath) -> str:
    """Show a path."""
    from sdb.packfile.trailer.fieldcounts import field_name

    return field_name(path)


def _literal(value: Constant) -> str:
    """Show a constant as a query would."""
    if isinstance(value, Instant):
        return f"`{instants.text(value.us)}`"
    if isinstance(value, str):
        return f"'{value}'"
    return str(value).upper() if value is None or isinstance(value, bool) else str(value)
