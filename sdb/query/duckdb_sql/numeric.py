"""Numbers that are exact where they are whole, and are known as doubles as well."""

from __future__ import annotations

from sdb.query.analyze.types import MISSING, NULL, NUMBER
from sdb.query.duckdb_sql.lanes import Value, bounded, double_of
from sdb.query.plan.columns import Shape


class Numeric(Value):
    """A number, or else MISSING (or NULL): a double, and exactly where it is whole.

    Parameters
    ----------
    number, exact : str
        SQL of the lanes ``n`` and ``x``.
    absent : int
        What SQL's NULL means: MISSING, NULL, or 0 when it does not occur.
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
        """Give SQL that is true when it is MISSING."""
        return f"({self.number} IS NULL)" if self.absent == MISSING else "false"

    @property
    def shape(self) -> Shape:
        """Give its types, as far as they are known."""
        return Shape(self.mask, self.absent, exact=True)


def best(double: str, whole: str, *, absent: int) -> Numeric:
    """Give the least or greatest number, exactly if it is that of the whole ones.

    Doubles are rounded in order: where it is not whole, the best whole number is another double.
    """
    exact = f"CASE WHEN {double_of(whole)} = {double} THEN {whole} END"
    return Numeric(double, exact, absent=absent)
