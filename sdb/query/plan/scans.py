"""Scans: which rows and columns of which tables are read."""

from __future__ import annotations

from sdb.query.analyze.types import (
    ANY,
    HOLDS,
    INTEGER,
    LETTERS,
    LIST,
    MISSING,
    NULL,
    NUMBER,
    ROW,
    STRUCT,
)
from sdb.query.catalog.pseudo import PSEUDO, Certain
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, TypeAlias

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

    def origins(self, lanes: Iterable[Lane]) -> list[tuple[str, list[int]]] | None:
        """Return what tells where rows come from, if one of the lanes has to know."""
        letters = {letter for letter, _ in PSEUDO.values()}
        return self.dataset.origins() if any(lane[2] in letters for lane in lanes) else None

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

    @property
    def origin(self) -> tuple[str, int] | None:
        """Return letter and type of a pseudo-column that no field can hide; None: another place."""
        step = self.path[0] if self.path else None
        return PSEUDO[step] if isinstance(step, Certain) else None

    def lane(self, letter: str) -> Lane:
        """Return the lane of values whose type has a letter."""
        return self.level, self.path, letter if self.origin is None else self.origin[0]

    def step(self, step: str | int) -> FieldRef:
        """Return a member or element."""
        return FieldRef(self.scan, self.level, (*self.path, step))


# Columns of the output of a statement, and the lanes that hold them.

_NESTED = LIST | STRUCT


@record
class Column:
    """A member of each output row."""

    name: str  # its name; names may repeat, then the last one counts
    # For each lane (by its letter) the number of the column of the result that holds it. Without
    # lane ``t`` the value is whichever lane is not null, and MISSING when all are.
    lanes: Mapping[str, int]
    # Mask of the types that are possible, for all that is known beforehand; ROW for a whole row
    # (lane ``v`` or ``j``), whose members stand among those of the output row
    types: int
    declared: ColumnType | None = None  # the type that a schema says it has

    @property
    def is_row(self) -> bool:
        """Return whether it is a whole row."""
        return self.types == ROW


@record
class Shape:
    """Types of the values of an output, as far as they are known before it is computed."""

    mask: int  # the types it may have, MISSING among them
    # When it is of one type (`mask` without that), the meaning of NULL in its lane: MISSING, NULL,
    # or 0 when it cannot be NULL; ``None`` when other lanes have the types
    absent: int | None = None
    whole: bool = False  # whether it is a number whose lane has integers
    # Whether it is a number with a lane of integers, for where it is whole, beside doubles
    exact: bool = False
    row: bool = False  # whether it is a whole row

    def letters(self, *, typed: bool) -> str:
        """Return the lanes that together tell a value; without `typed` all but its JSON text."""
        text = "v" if typed else "j"
        if self.row:
            return text
        types = self.mask & ~MISSING
        if self.absent is not None and types & ~self.absent:
            letters = "x" if self.whole else "nx" if self.exact else LETTERS[types & ~self.absent]
            return f"t{letters}" if self.absent == NULL else letters
        if types in LETTERS:
            return "nx" if types == NUMBER else LETTERS[types]
        if not types:
            return "t"
        if not typed or types in {LIST, STRUCT}:
            return text
        return (
            "t"
            + "".join(letter for letter in "nxsbu" if HOLDS[letter] & types)
            + (text if types & _NESTED else "")
        )

    @property
    def types(self) -> int:
        """Return the types of values, as :attr:`Column.types` has them."""
        if self.row:
            return ROW
        return INTEGER if self.whole else self.mask & ~MISSING & ~(self.absent or 0)


# Operations of the logical plan that a scan carries out on its own, without a SQL engine.

Grain: TypeAlias = tuple[str, int, int]
"""Unit that times are rounded down to: ``("us", every, from)`` or ``("months", every, 0)``."""
Accumulator: TypeAlias = "tuple[str, int | None, Any]"
"""Function, lane and predicate of FILTER."""


@record
class Count:
    """The number of the rows of a scan."""

    scan: ScanNode  # what is read
    columns: tuple[Column, ...]  # the columns of the result, all of which are that number


@record
class DataShape:
    """The types of the values at each path of the rows of a scan."""

    scan: ScanNode  # what is read
    columns: tuple[Column, ...]  # what the columns of the result mean
    letters: tuple[str, ...]  # the columns of the result


@record
class Take:
    """Rows of a scan as they are."""

    scan: ScanNode  # what is read
    columns: tuple[Column, ...]  # what the columns of the result mean
    lanes: tuple[Lane, ...]  # the columns of the result
    limit: int | None  # number of rows that are enough


@record
class HashAggregate:
    """Rows of a scan summed up."""

    scan: ScanNode  # what is read
    columns: tuple[Column, ...]  # what the columns of the result mean
    lanes: tuple[Lane, ...]  # what keys and calls are about
    # Lanes that the rows of a group have in common, and what times are rounded down to
    keys: tuple[tuple[int, Grain | None], ...]
    # What is found out, of which lane, and of which rows; ``constant`` is what a scan cannot tell
    calls: tuple[Accumulator, ...]
    # The columns of the result: places among keys and calls, and letters
    outputs: tuple[tuple[int, str], ...]
    # Places of what the groups are sorted by, whether greater values come first, and whether NULL
    # comes last
    sort: tuple[tuple[int, bool, bool], ...]
    limit: int | None  # number of groups that are wanted
    offset: int  # number of groups before these
    keeps: bool = False  # whether rows without a key are in the group of NULL

    @property
    def has_constants(self) -> bool:
        """Return whether there is something that no scan finds out."""
        return any(name == "constant" for name, _, _ in self.calls)


@record
class Constants:
    """One row as often as a scan has rows: nothing of them is wanted."""

    scan: ScanNode  # what is read
    columns: tuple[Column, ...]  # what the columns of the result mean
    row: tuple[object, ...]  # the columns of the result
    limit: int  # number of rows that are enough


@record
class TopK:
    """The first rows of a scan in some order."""

    scan: ScanNode  # what is read
    columns: tuple[Column, ...]  # what the columns of the result mean
    keys: tuple[Lane, ...]  # what rows are sorted by; rows without one of them are left out
    # For each key its place, whether greater values come first, and whether NULL comes last
    sort: tuple[tuple[int, bool, bool], ...]
    lanes: tuple[Lane, ...]  # the columns of the result
    limit: int  # number of rows that are wanted
    offset: int  # number of rows before these
    # Whether rows without the key follow all others; where there are too few of these, the engine
    # has to answer
    keeps: bool = False


Operation: TypeAlias = Constants | Count | DataShape | Take | HashAggregate | TopK
