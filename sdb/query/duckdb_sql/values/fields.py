"""Values at paths of the rows of scans."""

from __future__ import annotations

from sdb.query.analyze.types import LETTERS, MISSING, NUMBER
from sdb.query.duckdb_sql.values.lanes import Typed, Value, Whole, exact_bounds
from sdb.query.duckdb_sql.values.quoting import INT64_MAX, INT64_MIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.query.catalog.dataset import ValuePath
    from sdb.query.plan.scans import ScanNode


class FieldValue(Value):
    """A value at a path of the rows of a scan."""

    def __init__(self, scan: ScanNode, level: int, path: ValuePath) -> None:
        self.scan = scan
        self.level = level
        self.path = path
        self.mask = scan.types(level, path)
        if self.mask & ~MISSING and scan.is_full(level, path):
            self.mask &= ~MISSING
        known = scan.integers(level, path) if self.only == NUMBER else None
        if known is not None:
            self.whole = True
            self.wide = not (known[0] >= INT64_MIN and known[1] <= INT64_MAX)
            self.bounds = exact_bounds(*known)

    def _lane(self, letter: str) -> str:
        if self.whole and not self.wide and letter in {"n", "x", "t"}:
            return Whole(self._read("i"), absent=self.mask & MISSING).lane(letter)
        native = LETTERS.get(self.only)
        if native and letter not in {native, "x", "k", "v", "j"}:
            return Typed(self.only, self._read(native), absent=self.mask & MISSING).lane(letter)
        return self._read(letter)

    def _read(self, letter: str) -> str:
        return self.scan.lane(self.level, self.path, letter)

    def step(self, step: str | int) -> FieldValue:
        """Return value of a member or element."""
        return FieldValue(self.scan, self.level, (*self.path, step))

    def missing(self) -> str:
        """Return SQL that is true when it is MISSING."""
        native = self._whole_letter() if self.whole else LETTERS.get(self.only)
        if native and self.mask & MISSING:
            return f"({self._read(native)} IS NULL)"
        return super().missing()

    def key(self) -> str:
        """Return SQL that is equal for equal values and NULL for MISSING."""
        if self.whole:
            return self._read(self._whole_letter())
        native = LETTERS.get(self.only)
        return self._read(native if native and self.only != NUMBER else "k")

    def _whole_letter(self) -> str:
        return "x" if self.wide else "i"
