"""Numbers that are exact where they are whole, and are known as doubles as well."""

from __future__ import annotations

from sdb.query.analyze.types import MISSING, NULL, NUMBER
from sdb.query.duckdb_sql.values.lanes import Constant, Typed, Value, bounded, double_of
from sdb.query.plan.scans import Shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from sdb.query.duckdb_sql.values.case_values import Relation


class Numeric(Value):
    """A number, or else MISSING (or NULL): a double, and exactly where it is whole.

    * ``number, exact``: SQL of the lanes ``n`` and ``x``.
    * ``absent``: What SQL's NULL means: MISSING, NULL, or 0 when it does not occur.
    """

    def __init__(self, number: str, exact: str, *, absent: int) -> None:
        self.number = bounded(number)
        self.exact = bounded(exact)
        self.absent = absent
        self.mask = NUMBER | absent

    def _lane(self, letter: str) -> str:
        n, x = self.number, self.exact
        nothing, json = (", 'z'", ", 'null'") if self.absent == NULL else ("", "")
        key = f"coalesce('n' || {x}, sdb_key_n({n}){nothing})"
        sql = {
            "n": n,
            "x": x,
            "t": f"CASE WHEN {n} IS NULL THEN {self.absent & ~MISSING} ELSE {NUMBER} END",
            "k": key,
            "v": key,
            "j": f"coalesce({x}::VARCHAR, sdb_json_n({n}){json})",
        }
        return bounded(sql[letter])

    def missing(self) -> str:
        """Return SQL that is true when it is MISSING."""
        return f"({self.number} IS NULL)" if self.absent == MISSING else "false"

    @property
    def shape(self) -> Shape:
        """Return its types, as far as they are known."""
        return Shape(self.mask, self.absent, exact=True)


MOST_DIGITS = 38
_SUM_DIGITS = 12
"""Digits that sums have more than what is summed up: enough for any number of rows."""


class Decimal(Typed):
    """A number with digits behind the point, exactly; its lanes are those of doubles.

    * ``exact``: SQL of DuckDB's DECIMAL; NULL for other values.
    * ``digits, places``: How many digits it may have, and how many of them behind the point.
    """

    def __init__(self, exact: str, digits: int, places: int, *, absent: int, sql: str = "") -> None:
        super().__init__(NUMBER, sql or double_of(exact), absent=absent)
        self.exact = bounded(exact)
        self.digits = digits
        self.places = places

    def through(self, relation: Relation, absent: int) -> Decimal:
        """Return it as a relation passes it on."""
        exact, sql = relation.column(self.exact), relation.column(self.sql)
        return Decimal(exact, self.digits, self.places, absent=absent, sql=sql)

    def total(self, call: Callable[[str], str]) -> Decimal | None:
        """Return the sum, unless it might have too many digits.

        * ``call``: Returns SQL of an aggregate.
        """
        digits = self.digits + _SUM_DIGITS
        if digits > MOST_DIGITS:
            return None
        sql = call(f"sum({self.exact}::DECIMAL({self.digits}, {self.places}))")
        return Decimal(sql, digits, self.places, absent=NULL)


def decimal_arithmetic(op: str, left: Value, right: Value) -> Decimal | None:
    """Return what ``+``, ``-`` or ``*`` makes of two decimals, if it is not too long for one.

    Whole constants are decimals beside others.
    """
    if not isinstance(left, Decimal) and not isinstance(right, Decimal):
        return None
    first, other = _as_decimal(left), _as_decimal(right)
    if first is None or other is None:
        return None
    if op == "*":
        digits, places = first.digits + other.digits, first.places + other.places
        operands = [f"({d.exact})::DECIMAL({d.digits}, {d.places})" for d in (first, other)]
    elif op in {"+", "-"}:
        places = max(first.places, other.places)
        digits = max(first.digits - first.places, other.digits - other.places) + places + 1
        operands = [f"({d.exact})::DECIMAL({digits}, {places})" for d in (first, other)]
    else:
        return None
    if digits > MOST_DIGITS:
        return None
    absent = MISSING if (left.mask | right.mask) & ~NUMBER else 0
    return Decimal(f"({f' {op} '.join(operands)})", digits, places, absent=absent)


def _as_decimal(value: Value) -> Decimal | None:
    if isinstance(value, Decimal):
        return value
    if isinstance(value, Constant) and type(value.value) is int:
        number = value.value
        return Decimal(str(number), max(len(str(abs(number))), 1), 0, absent=0)
    return None


def best(double: str, whole: str, *, absent: int) -> Numeric:
    """Return the least or greatest number, exactly if it is that of the whole ones.

    Doubles are rounded in order: where it is not whole, the best whole number is another double.
    """
    exact = f"CASE WHEN {double_of(whole)} = {double} THEN {whole} END"
    return Numeric(double, exact, absent=absent)
