"""Values at paths of the rows of scans."""

from __future__ import annotations

from sdb.query.analyze.types import LETTERS, MISSING, NUMBER
from sdb.query.duckdb_sql.lanes import Typed, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.query.plan.dataset import ValuePath
    from sdb.query.plan.scans import ScanNode


class FieldValue(Value):
    """A value at a path of the rows of a scan."""

    def __init__(self, scan: ScanNode, level: int, path: ValuePath) -> None:
        self.scan = scan
        self.level = level
        self.path = path
        self.mask = scan.types(level, path)

    def _lane(self, letter: str) -> str:
        native = LETTERS.get(self.only)
        if native and letter not in {native, "x", "k", "v", "j"}:
            return Typed(self.only, self._read(native), absent=self.mask & MISSING).lane(letter)
        return self._read(letter)

    def _read(self, letter: str) -> str:
        return self.scan.lane(self.level, self.path, letter)

    def step(self, step: str | int) -> FieldValue:
        """Give value of a member or element."""
        return FieldValue(self.scan, self.level, (*self.path, step))

    def missing(self) -> str:
        """Give SQL that is true when it is MISSING."""
        native = LETTERS.get(self.only)
        if native and self.mask & MISSING:
            return f"({self._read(native)} IS NULL)"
        return super().missing()

    def key(self) -> str:
        """Give SQL that is equal for equal values and NULL for MISSING."""
        native = LETTERS.get(self.only)
        return self._read(native if native and self.only != NUMBER else "k")
