"""Scans: which rows and columns of which tables are read."""

from __future__ import annotations

from sdb.query.analyze.types import ANY, MISSING, STRUCT
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from sdb._core import _Constant, _Predicate
    from sdb.query.catalog.dataset import Dataset, OpenDataset, TableName, ValuePath
    from sdb.query.catalog.schemarows import SchemaRows
    from sdb.query.syntax import ast
    from sdb.table.schema.types import ColumnType

Predicate: TypeAlias = "_Predicate"
"""A condition that the scan decides row by row."""
Constant: TypeAlias = "_Constant"
"""What a predicate compares with, after the letter of its type."""
Lane: TypeAlias = "tuple[int, ValuePath, str]"
"""Level, path and letter."""


class ScanNode:
    """A scan in the making.

    * ``name``: The name under which the engine registers it, which is its alias in the SQL as well.
    * ``lanes``: Number of the column for each (level, path, letter).
    * ``is_decisive``: Whether all rows that satisfy the predicate satisfy the condition of the
      query.
    """

    def __init__(
        self,
        name: str,
        tables: tuple[TableName, ...],
        where: ast.Expr | None,
        datasets: OpenDataset,
        holds: Callable[[Dataset, ValuePath], bool] = lambda *_: True,
    ) -> None:
        self.name = name
        self.tables = tables
        self._where = where
        self._datasets = datasets
        self._dataset: Dataset | None = None
        self._holds = holds
        self._held: dict[ValuePath, bool] = {}
        self._integers: dict[ValuePath, tuple[int, int] | None] = {}
        self.explode: list[Lane] = []
        self.lanes: dict[Lane, int] = {}
        self._predicate: Predicate | None = None
        self.is_decisive = True
        self.limit: int | None = None

    @property
    def dataset(self) -> Dataset:
        """The rows, opened when they are first asked for."""
        return self._dataset or self.open()

    def open(self) -> Dataset:
        """Open the tables."""
        self._dataset = self._datasets(self.tables, self._where)
        return self._dataset

    @property
    def predicate(self) -> Predicate | None:
        """The condition that rows must satisfy: times of the tables, and what the scan decides."""
        parts = [part for part in (self.dataset.times, self._predicate) if part is not None]
        return ("and", parts) if len(parts) > 1 else parts[0] if parts else None

    @predicate.setter
    def predicate(self, decided: Predicate) -> None:
        self._predicate = decided

    def lane(self, level: int, path: ValuePath, letter: str) -> str:
        """Return SQL of a lane, which is read from now on."""
        number = self.lanes.setdefault((level, path, letter), len(self.lanes))
        return f"{self.name}.c{number}"

    def unfold(self, level: int, path: ValuePath, kind: str) -> int:
        """Make a row of each element of a list or structure; the number of the new level."""
        self.explode.append((level, path, kind))
        return len(self.explode)

    def holds(self, path: ValuePath) -> bool:
        """Return whether any row has a value at a path; rows are looked at once at most."""
        if path not in self._held:
            self._held[path] = self._holds(self.dataset, path)
        return self._held[path]

    @property
    def under(self) -> SchemaRows | None:
        """The schema of the rows; None: they have none, and names are those of their fields."""
        return getattr(self.dataset, "under", None)

    def has(self, name: str) -> bool:
        """Return whether a name is that of a column, or without a schema of a field of any row."""
        under = self.under
        return self.holds((name,)) if under is None else under.has(name)

    def reads(self, dataset: Dataset) -> None:
        """Have the scan read what was opened already."""
        self._dataset = dataset

    def integers(self, level: int, path: ValuePath) -> tuple[int, int] | None:
        """Return bounds of what is at a path if there are only integers, as far as is known."""
        if level or not path:
            return None
        if path not in self._integers:
            self._integers[path] = self.dataset.integers(path)
        return self._integers[path]

    def types(self, level: int, path: ValuePath) -> int:
        """Return the mask of the types that a path may have."""
        if level:
            return ANY & ~MISSING if not path else ANY
        if not path:
            return STRUCT
        mask = self.dataset.types(path)
        return ANY if mask is None else mask or MISSING

    def is_full(self, level: int, path: ValuePath) -> bool:
        """Return whether metadata proves that each row has a value at a path."""
        is_full: Callable[[ValuePath], bool] | None = getattr(self.dataset, "is_full", None)
        return not level and is_full is not None and is_full(path)


@record
class FieldRef:
    """A value at a path of the rows of a scan, or of an element that they are unfolded into."""

    scan: ScanNode
    level: int
    path: ValuePath
    declared: ColumnType | None = None  # the type that a schema says it has

    @property
    def types(self) -> int:
        """Return the mask of its types."""
        return self.scan.types(self.level, self.path)

    def step(self, step: str | int) -> FieldRef:
        """Return a member or element."""
        return FieldRef(self.scan, self.level, (*self.path, step))
