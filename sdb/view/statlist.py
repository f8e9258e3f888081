"""Statistics of fields: a table, and below each field what its values are."""

from __future__ import annotations

from sdb import sizes
from sdb.packfile.inspect.fieldreport import text_of
from sdb.packfile.trailer.fieldcounts import quoted
from sdb.view.fieldlist import cut, percent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from sdb.packfile.read.fieldstats import FieldStatistics, Statistics

_GAP = "  "
_INDENT = "  "
_LEAST = 14
_MOST_LISTED = 3
_HEADINGS = ("field", "types", "rows", "null", "distinct", "size", "")
_DROPPED = (6, 1, 3, 2, 5, 4)
"""Columns that are given up where there is no room for all, the least important first."""


def draw(
    statistics: Statistics, *, columns: int, is_nested: bool = True, can_draw: bool = True
) -> str:
    """List fields with what is in them, under a line that counts them.

    * ``columns``: Width to stay within, in characters: long names and values are cut.
    * ``is_nested``: Whether fields are indented under the one that they are in; else their names
      are whole.
    """
    ellipsis = "…" if can_draw else "~"
    fields = statistics.fields
    table = [_HEADINGS, *(_cells(field, statistics, is_nested=is_nested) for field in fields)]
    widths = [max(len(row[column]) for row in table) for column in range(len(_HEADINGS))]
    columns_shown = _fitting(widths, columns)
    widths[0] = max(_LEAST, min(widths[0], columns - _taken(widths, columns_shown[1:])))
    details = [(), *map(_details, fields)]
    lines = [_heading(statistics)]
    for number, (row, below) in enumerate(zip(table, details, strict=True)):
        if not fields:
            break
        cells = [cut(row[0], widths[0], ellipsis).ljust(widths[0])]
        for column in columns_shown[1:]:
            width = widths[column]
            cells.append(row[column].ljust(width) if column == 1 else row[column].rjust(width))
        lines.append(_GAP.join(cells))
        margin = _INDENT * (2 + (len(fields[number - 1].path) - 1 if is_nested and number else 0))
        lines += [cut(margin + text, max(columns, _LEAST), ellipsis) for text in below]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _heading(statistics: Statistics) -> str:
    rows, count = statistics.rows, len(statistics.fields)
    rest = "" if statistics.complete else ", others are left out"
    size = f" in {sizes.human(statistics.compressed_bytes)}" if rows else ""
    return (
        f"{rows:,} row{'' if rows == 1 else 's'}{size}, "
        f"{count:,} field{'' if count == 1 else 's'}{rest}"
    )


def _fitting(widths: list[int], columns: int) -> list[int]:
    """Choose the columns for which there is room."""
    shown = list(range(len(widths)))
    for dropped in _DROPPED:
        if columns - _taken(widths, shown[1:]) >= min(widths[0], 2 * _LEAST):
            break
        shown.remove(dropped)
    return shown


def _taken(widths: list[int], shown: list[int]) -> int:
    return sum(widths[column] + len(_GAP) for column in shown)


def _cells(field: FieldStatistics, statistics: Statistics, *, is_nested: bool) -> tuple[str, ...]:
    name = field.name
    if is_nested:
        last = [step for step in field.path if step is not None][-1:]
        lists = (
            len(field.path)
            - 1
            - max((depth for depth, step in enumerate(field.path) if step is not None), default=-1)
        )
        name = _INDENT * (len(field.path) - 1) + quoted(last[0] if last else "") + "[]" * lists
    is_single = set(field.types) - {"list", "struct", "null"}
    distinct = f"{'' if field.is_distinct_exact else '~'}{field.distinct:,}" if is_single else ""
    return (
        name,
        ", ".join(field.types),
        percent(field.rows, statistics.rows),
        percent(field.nulls, field.values) if field.nulls else "",
        distinct,
        sizes.human(field.compressed_bytes),
        percent(field.compressed_bytes, statistics.compressed_bytes),
    )


def _details(field: FieldStatistics) -> Iterator[str]:
    listed = field.frequent[:_MOST_LISTED]
    is_all = not field.uncounted and len(listed) == field.distinct
    if not is_all:
        for low, high in field.ranges:
            yield f"{text_of(low)} to {text_of(high)}"
    worth = [(value, count) for value, count in listed if count > 1 or is_all]
    if worth:
        shares = (f"{text_of(value)} {percent(count, field.values)}" for value, count in worth)
        yield f"{'at least' if field.uncounted else 'mostly'} {', '.join(shares)}"
