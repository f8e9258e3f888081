"""Rows that `sdb head` and `sdb tail` show."""

from __future__ import annotations

import sys

from sdb import formats
from sdb.cli import output
from sdb.cli.inputoptions import RAW_ROWS, RawRows
from sdb.cli.options import Fields, Strict
from sdb.cli.parameters import Together
from sdb.cli.settings import terminal_format
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any, BinaryIO

    from sdb.packfile.inputs.rawreading import RawReading
    from sdb.query.catalog.tablescan import TableScan

FORMATS = formats.written_by("rows")
METAVAR = formats.metavar("rows")


@record
class ShownRows(Together):
    """The rows that are shown, and their fields."""

    fields: Fields = None
    rows: RawRows = RAW_ROWS
    strict: Strict = False


SHOWN_ROWS = ShownRows()


def form(fmt: str | None) -> str:
    """Choose the format: on a terminal that of the settings or a table, as `sdb query`; or JSON."""
    if fmt is None and sys.stdout.isatty():
        fmt = terminal_format() or "table"
    return formats.written(None, fmt, FORMATS, "json")[0]


class Lines:
    """Rows as lines of JSON, with what :mod:`sdb.cli.render.query` asks a result for.

    * ``columns``: Their columns; those that occur if not given.
    """

    is_plan = False
    warns = False
    notes: Sequence[str] = ()
    tables: Sequence[TableScan] = ()

    def __init__(self, lines: Sequence[bytes], columns: Sequence[str] | None) -> None:
        self._lines = lines
        self.columns = list(columns or ())
        self.of_whole_rows = columns is None

    def lines(self) -> Iterator[bytes]:
        """Iterate over the rows."""
        return iter(self._lines)

    def write(self, file: BinaryIO, fmt: str, *, indent: bool) -> None:
        """Write a table of text."""
        from sdb.query.result.outputs import write_cells

        del indent
        write_cells(self._lines, None if self.of_whole_rows else self.columns, file, fmt)


def show(lines: Sequence[bytes], fmt: str, columns: Sequence[str] | None) -> None:
    """Show rows in one of the formats."""
    if fmt != "json":
        from sdb.cli.render.query import write

        write(Lines(lines, columns), fmt, "-", force=False)
    elif sys.stdout.isatty():
        from sdb.view.rows import layout

        width, color = output.columns(), output.in_color()
        plain = (output.plain(line.decode().removesuffix("\n")) for line in lines)
        say(layout(line, columns=width, color=color) for line in plain)
    else:
        output.binary().writelines(lines)


def say(lines: Iterable[str]) -> None:
    """Write lines of text."""
    for line in lines:
        output.say(line)


def select(
    location: str,
    where: str | None,
    fmt: str,
    choice: dict[str, Any],
    *,
    root: str,
    reading: RawReading | None = None,
) -> None:
    """Show the first rows for which a condition is true; None: the first of all.

    * ``choice``: Arguments of `selected`: which rows, and of them which fields.
    * ``root``: Folder or URL where relative paths start; the current folder when empty.
    * ``reading``: How a file is read that is no packfile.
    """
    from sdb.query.rows.selected import selected

    typed = fmt in formats.TYPED
    with selected([location], where, root=root, typed=typed, reading=reading, **choice) as result:
        from sdb.cli.render import query

        if fmt != "json":
            query.write(result, fmt, "-", force=False)
            return
        show(
            [line for piece in result.lines() for line in piece.splitlines(True)],
            fmt,
            choice["fields"],
        )
        query.say_notes(result)
