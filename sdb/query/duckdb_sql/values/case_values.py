"""Values made of others: passed on by a relation, chosen by conditions."""

from __future__ import annotations

from sdb.query.analyze.types import LETTERS, MISSING, NULL, NUMBER
from sdb.query.duckdb_sql.values.lanes import Constant, Nothing, Null, Typed, Value, bounded
from sdb.query.duckdb_sql.values.numeric import Decimal
from sdb.typed import Protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdb.query.plan.scans import Shape


class Relation(Protocol):
    """Something in FROM that passes on expressions of its inside."""

    def column(self, sql: str) -> str:
        """Return SQL, valid outside, for an expression that is valid inside."""


class PassedValue(Value):
    """A value that a relation passes on.

    * ``optional``: Whether there may be no row of the relation, which makes the value MISSING.
    """

    def __init__(self, relation: Relation, inner: Value, *, optional: bool) -> None:
        self.relation = relation
        self.inner = inner
        self.optional = optional
        self.mask = inner.mask | (MISSING if optional else 0)
        self.integer = inner.integer
        self.whole = inner.whole
        self.wide = inner.wide
        self.bounds = inner.bounds

    @property
    def shape(self) -> Shape:
        """Types that it may have, and the lanes that tell them."""
        return super().shape if self.optional else self.inner.shape

    def _lane(self, letter: str) -> str:
        sql = self.relation.column(self.inner.lane(letter))
        return f"coalesce({sql}, 0)" if letter == "t" and self.optional else sql

    def key(self) -> str:
        """Return SQL that is equal for equal values and NULL for MISSING."""
        return self.relation.column(self.inner.key())

    def step(self, step: str | int) -> Value:
        """Return value of a member or element, found inside the relation."""
        return passed(self.relation, self.inner.step(step), optional=self.optional)


def passed(relation: Relation, value: Value, *, optional: bool = False) -> Value:
    """Pass a value through a relation."""
    new = _passed(relation, value, optional=optional)
    if new is not value and (value.is_column or value.declared is not None):
        new.is_column, new.declared = value.is_column, value.declared
    return new


def _passed(relation: Relation, value: Value, *, optional: bool) -> Value:
    if not optional and isinstance(value, (Constant, Null)):
        return value
    if isinstance(value, Nothing):
        return value
    if isinstance(value, Typed) and not (optional and value.absent == NULL):
        absent = value.absent or (MISSING if optional else 0)
        if isinstance(value, Decimal):
            return value.through(relation, absent)
        sql = relation.column(value.sql)
        return value.like(sql, absent)
    return PassedValue(relation, value, optional=optional)


class Chosen(Value):
    """One of several values: that of the first condition that is true."""

    def __init__(self, limbs: Sequence[tuple[str, Value]], otherwise: Value) -> None:
        self.limbs = limbs
        self.otherwise = otherwise
        self.mask = otherwise.mask
        self.has_timed = otherwise.has_timed
        for _, value in limbs:
            self.mask |= value.mask
            self.has_timed |= value.has_timed

    def _lane(self, letter: str) -> str:
        return self._case(
            [value.lane(letter) for _, value in self.limbs], self.otherwise.lane(letter)
        )

    def _case(self, values: list[str], otherwise: str) -> str:
        limbs = "".join(
            f" WHEN {condition} THEN {value}"
            for (condition, _), value in zip(self.limbs, values, strict=True)
        )
        return bounded(f"CASE{limbs} ELSE {otherwise} END") if limbs else otherwise

    def missing(self) -> str:
        """Return SQL that is true when it is MISSING."""
        if not self.mask & MISSING:
            return "false"
        return self._case([value.missing() for _, value in self.limbs], self.otherwise.missing())

    def step(self, step: str | int) -> Value:
        """Return value of the member or element of whichever is chosen."""
        limbs = [(condition, value.step(step)) for condition, value in self.limbs]
        return Chosen(limbs, self.otherwise.step(step))

    def key(self) -> str:
        """Return SQL that is equal for equal values and NULL for MISSING."""
        if self.only in LETTERS and self.only != NUMBER:
            return self.lane(LETTERS[self.only])
        return self.lane("k")


class Narrowed(Value):
    """A value known to be of some of its types."""

    def __init__(self, value: Value, mask: int) -> None:
        self.value = value
        self.mask = mask
        self.has_timed = value.has_timed

    def _lane(self, letter: str) -> str:
        return self.value.lane(letter)

    def step(self, step: str | int) -> Value:
        """Return value of a member or element."""
        return self.value.step(step)


class Filled(Value):
    """A value with NULL in the place of MISSING."""

    def __init__(self, value: Value) -> None:
        self.value = value
        self.mask = value.mask & ~MISSING | NULL
        self.integer, self.whole, self.wide = value.integer, value.whole, value.wide
        self.bounds, self.declared = value.bounds, value.declared
        self.has_timed = value.has_timed
        self.is_column = value.is_column

    def _lane(self, letter: str) -> str:
        sql = self.value.lane(letter)
        if letter == "t":
            return f"greatest({sql}, 1)::UTINYINT"
        return f"coalesce({sql}, '{_ABSENT[letter]}')" if letter in _ABSENT else sql

    def step(self, step: str | int) -> Value:
        """Return the value of a member or element."""
        return self.value.step(step)


_ABSENT = {"k": "z", "v": "z", "j": "null"}
