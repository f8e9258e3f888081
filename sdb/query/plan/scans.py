"""Scans: what is read of which tables, and what of it is wanted."""

from __future__ import annotations

from sdb.query.analyze.types import ANY, MISSING, STRUCT
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias

    from sdb.query.plan.dataset import Dataset, OpenDataset, TableName, ValuePath
    from sdb.query.syntax import ast

Predicate: TypeAlias = "tuple[Any, ...]"
"""A condition that the scan decides row by row, in the form of `_core.LaneScan`."""
Lane: TypeAlias = "tuple[int, ValuePath, str]"
"""Level, path and letter."""


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
    is_decisive : bool
        Whether all rows that satisfy the predicate satisfy the condition of the query.
    limit : int or None
        Number of rows that are enough.
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
        """Give SQL of a lane, which is read from now on."""
        number = self.lanes.setdefault((level, path, letter), len(self.lanes))
        return f"{self.name}.c{number}"

    def unfold(self, level: int, path: ValuePath, kind: str) -> int:
        """Make a row of each element of a list or structure; the number of the new level."""
        self.explode.append((level, path, kind))
        return len(self.explode)

    def holds(self, path: ValuePath) -> bool:
        """Tell whether any row has a value at a path; rows are looked at once at most."""
        if path not in self._held:
            self._held[path] = self._holds(self.dataset, path)
        return self._held[path]

    def types(self, level: int, path: ValuePath) -> int:
        """Give the mask of the types that a path may have."""
        if level:
            return ANY & ~MISSING if not path else ANY
        if not path:
            return STRUCT
        mask = self.dataset.types(path)
        return ANY if mask is None else mask or MISSING


@record
class FieldRef:
    """A value at a path of the rows of a scan, or of an element that they are unfolded into."""

    scan: ScanNode
    level: int
    path: ValuePath

    @property
    def types(self) -> int:
        """Give the mask of its types."""
        return self.scan.types(self.level, self.path)

    def step(self, step: str | int) -> FieldRef:
        """Give a member or element."""
        return FieldRef(self.scan, self.level, (*self.path, step))
