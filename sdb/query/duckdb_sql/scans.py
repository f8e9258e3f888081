"""What a statement reads: scans, with the lanes that were asked of them."""

from __future__ import annotations

from sdb.query.duckdb_sql.lanes import LETTERS, Typed, Value
from sdb.query.plan.dataset import ANY, MISSING, NUMBER, STRUCT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias

    from sdb.query.plan.dataset import Dataset, Path, TableName

Predicate: TypeAlias = "tuple[Any, ...]"


class ScanNode:
    """A scan in the making.

    Attributes
    ----------
    name : str
        The name under which the engine registers it, which is its alias in the SQL as well.
    tables : tuple of TableName
        What it reads, as the query names it.
    explode : list of (level, path, kind)
        Lists and structures to unfold into rows.
    lanes : dict
        Number of the column for each (level, path, letter).
    predicate : tuple or None
        What rows must satisfy.
    limit : int or None
        Number of rows that are enough.
    """

    def __init__(
        self,
        name: str,
        tables: tuple[TableName, ...],
        dataset: Dataset,
        holds: Callable[[Dataset, Path], bool],
    ) -> None:
        self.name = name
        self.tables = tables
        self.dataset = dataset
        self._holds = holds
        self._held: dict[Path, bool] = {}
        self.explode: list[tuple[int, Path, str]] = []
        self.lanes: dict[tuple[int, Path, str], int] = {}
        self.predicate: Predicate | None = None
        self.limit: int | None = None

    def lane(self, level: int, path: Path, letter: str) -> str:
        """Give SQL of a lane, which is read from now on."""
        number = self.lanes.setdefault((level, path, letter), len(self.lanes))
        return f"{self.name}.c{number}"

    def unfold(self, level: int, path: Path, kind: str) -> int:
        """Make a row of each element of a list or structure; the number of the new level."""
        self.explode.append((level, path, kind))
        return len(self.explode)

    def holds(self, path: Path) -> bool:
        """Tell whether any row has a value at a path; rows are looked at once at most."""
        if path not in self._held:
            self._held[path] = self._holds(self.dataset, path)
        return self._held[path]

    def types(self, level: int, path: Path) -> int:
        """Mask of the types a path may have."""
        if level:
            return ANY & ~MISSING if not path else ANY
        if not path:
            return STRUCT
        mask = self.dataset.types(path)
        return ANY if mask is None else mask


class FieldValue(Value):
    """A value at a path of the rows of a scan."""

    def __init__(self, scan: ScanNode, level: int, path: Path) -> None:
        self.scan = scan
        self.level = level
        self.path = path
        self.mask = scan.types(level, path) or MISSING

    def _lane(self, letter: str) -> str:
        native = LETTERS.get(self.only)
        if native and letter not in {native, "x", "k", "j"}:
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
