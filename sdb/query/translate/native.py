"""Statements that the scan answers on its own, without a SQL engine.

What is not certain to mean the same there is left to the engine: this finds statements of a few
forms and says nothing about the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdb.query import ast
from sdb.query.translate.expressions import translate
from sdb.query.translate.scans import Field

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdb.query.plan import Column, Path
    from sdb.query.translate.context import Context, Outline, Query
    from sdb.query.translate.lanes import Value
    from sdb.query.translate.scans import Scan

_FUNCTIONS = {
    "SUM": "sum",
    "AVG": "average",
    "MIN": "least",
    "MAX": "greatest",
    "EARLIEST": "earliest",
    "LATEST": "latest",
}

Lane = tuple[int, "Path", str]
"""Level, path and letter."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a scan as they are.

    Attributes
    ----------
    scan : Scan
        What is read.
    lanes : tuple of lanes
        The columns of the result.
    limit : int or None
        Number of rows that are enough.
    """

    scan: Scan
    lanes: tuple[Lane, ...]
    limit: int | None


@dataclass(frozen=True, slots=True)
class Groups:
    """Rows of a scan summed up.

    Attributes
    ----------
    scan : Scan
        What is read.
    lanes : tuple of lanes
        What keys and calls are about.
    keys : tuple of int
        Numbers of lanes that the rows of a group have in common.
    calls : tuple of (str, int or None)
        What is found out, of which lane.
    columns : tuple of (int, str)
        The columns of the result: places among keys and calls, and letters.
    sort : tuple of (int, bool, bool)
        Places of what the groups are sorted by, whether greater values come first, and whether
        NULL comes last.
    limit : int or None
        Number of groups that are wanted.
    offset : int
        Number of groups before these.
    """

    scan: Scan
    lanes: tuple[Lane, ...]
    keys: tuple[int, ...]
    calls: tuple[tuple[str, int | None], ...]
    columns: tuple[tuple[int, str], ...]
    sort: tuple[tuple[int, bool, bool], ...]
    limit: int | None
    offset: int


Native = Rows | Groups


class _Unsuited(Exception):  # noqa: N818
    """A statement that the engine has to run."""


def native(query: Query, columns: Sequence[Column], context: Context) -> Native | None:
    """Find out whether the scan answers a statement on its own.

    Parameters
    ----------
    query : Query
        Its only SELECT.
    columns : sequence of Column
        Its output, as the engine would make it; the columns of the result are the same.
    context : Context
        Its scans.

    Returns
    -------
    Rows, Groups or None
        What to ask of the scan; ``None`` when the engine has to run the statement.
    """
    outline = query.outline
    if outline is None or context.scans != [outline.scan]:
        return None
    lanes = {
        place: (number, letter)
        for number, column in enumerate(columns)
        for letter, place in column.lanes.items()
    }
    if sorted(lanes) != list(range(len(lanes))):
        return None
    ordered = [lanes[place] for place in range(len(lanes))]
    try:
        if outline.groups is None:
            return _rows(outline, [(query.columns[at][1], letter) for at, letter in ordered])
        grouping = _Grouping(outline, context)
        return grouping.native([(outline.items[at], letter) for at, letter in ordered])
    except _Unsuited:
        return None


def _rows(outline: Outline, values: list[tuple[Value, str]]) -> Rows:
    if outline.order or outline.offset or outline.limit != outline.scan.limit:
        raise _Unsuited
    lanes = tuple((*_place(value, outline), letter) for value, letter in values)
    return Rows(outline.scan, lanes, outline.limit)


def _place(value: Value, outline: Outline) -> tuple[int, Path]:
    if not isinstance(value, Field) or value.scan is not outline.scan:
        raise _Unsuited
    return value.level, value.path


class _Grouping:
    """Groups in the making."""

    def __init__(self, outline: Outline, context: Context) -> None:
        self.outline = outline
        self.context = context
        self.lanes: dict[Lane, int] = {}
        self.calls: dict[tuple[str, int | None], int] = {}
        self.keys = {expr: self._lane(expr) for expr in outline.groups or ()}
        self.numbers = {expr: number for number, expr in enumerate(self.keys)}

    def native(self, ordered: list[tuple[ast.Expr, str]]) -> Groups:
        outline = self.outline
        columns = tuple((self._place(expr), letter) for expr, letter in ordered)
        sort = tuple(
            (self._place(sort.expr), sort.descending, sort.nulls_last) for sort in outline.order
        )
        return Groups(
            outline.scan,
            tuple(self.lanes),
            tuple(self.keys.values()),
            tuple(self.calls),
            columns,
            sort,
            outline.limit,
            outline.offset,
        )

    def _lane(self, expr: ast.Expr) -> int:
        if not isinstance(expr, (ast.Name, ast.Dot, ast.Index)):
            raise _Unsuited
        value = translate(expr, self.outline.scope, self.context)
        level, path = _place(value, self.outline)
        # Any lane: it says where the values are.
        return self.lanes.setdefault((level, path, "t"), len(self.lanes))

    def _place(self, expr: ast.Expr) -> int:
        if expr in self.numbers:
            return self.numbers[expr]
        call = self._call(expr)
        return len(self.keys) + self.calls.setdefault(call, len(self.calls))

    def _call(self, expr: ast.Expr) -> tuple[str, int | None]:
        if not isinstance(expr, ast.Aggregate) or expr.where is not None or expr.over is not None:
            raise _Unsuited
        if expr.name == "COUNT" and not expr.args:
            return "rows", None
        if len(expr.args) != 1:
            raise _Unsuited
        if expr.name == "COUNT":
            return "distinct" if expr.distinct else "present", self._lane(expr.args[0])
        if expr.distinct or expr.name not in _FUNCTIONS:
            raise _Unsuited
        return _FUNCTIONS[expr.name], self._lane(expr.args[0])
