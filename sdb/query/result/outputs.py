"""Writes the rows of a result in one of the formats of `sdb query`."""

from __future__ import annotations

import json
from contextlib import closing

from sdb import ion
from sdb.query.result.lines import members, need_types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
    from typing import Any, BinaryIO

    from sdb.query.catalog.tablescan import TableScan
    from sdb.query.plan.scans import Column


_SPOOL_BYTES = 64 << 20
_ION_VERSION = b"\xe0\x01\x00\xea"


def write_cells(
    pieces: Iterable[bytes],
    names: list[str] | None,
    output: BinaryIO,
    fmt: str,
    arrange: Callable[[list[str]], list[str]] = list,
) -> None:
    """Write lines of JSON as a table of text: CSV, TSV, Markdown or HTML.

    * ``names``: The columns; without them all rows are read first, to find out.
    * ``arrange``: Puts those that were found out in order.
    """
    from sdb import _core

    table = _core.TextTable(fmt)
    if names is not None:
        rows = (table.rows(table.cells(piece), names) for piece in pieces)
        write_table(rows, names, output, fmt)
        return
    with closing(_Spool()) as spool:
        for piece in pieces:
            spool.write(table.cells(piece))
        names = arrange(table.names)
        write_table((table.rows(cells, names) for cells in spool), names, output, fmt)


class _Spool:
    """Pieces of bytes that are read again: in memory up to 64 MiB, and those behind in a file."""

    def __init__(self) -> None:
        self._kept: list[bytes] = []
        self._left_bytes = _SPOOL_BYTES
        self._file: BinaryIO | None = None
        self._sizes: list[int] = []

    def write(self, piece: bytes) -> None:
        """Add a piece."""
        self._left_bytes -= len(piece)
        if self._left_bytes >= 0:
            self._kept.append(piece)
            return
        if self._file is None:
            import tempfile

            self._file = tempfile.TemporaryFile(prefix="sdb-query-")  # noqa: SIM115 - see close
        self._sizes.append(self._file.write(piece))

    def __iter__(self) -> Iterator[bytes]:
        """Iterate over the pieces."""
        yield from self._kept
        if self._file is not None:
            self._file.seek(0)
            yield from map(self._file.read, self._sizes)

    def close(self) -> None:
        """Forget them."""
        self._kept.clear()
        if self._file is not None:
            self._file.close()


def write_table(rows: Iterable[bytes], names: list[str], output: BinaryIO, fmt: str) -> None:
    """Write rows of a table of text behind its head."""
    if fmt == "html":
        output.write(page_head(names))
        output.writelines(map(visible, rows))
        output.write(PAGE_END)
        return
    from sdb import _core

    table = _core.TextTable(fmt)
    head = json.dumps(dict(zip(names, names, strict=True)))
    output.write(table.rows(table.cells(head.encode()), names))
    if fmt == "markdown":
        output.write(b"|" + b" --- |" * len(names) + b"\n")
    output.writelines(rows)


def table_rows(stream: object, columns: Sequence[Column], fmt: str) -> Iterator[bytes]:
    """Print rows of a table of text; the parameters are those of :func:`lines.lines`."""
    from sdb import _core

    return _core.render_table(stream, members(columns), fmt)


def in_order_of_inputs(names: list[str], tables: Sequence[TableScan]) -> list[str]:
    """Return the names of whole rows of a table in the order in which its inputs had them."""
    if len(tables) != 1:
        return names
    from sdb.packfile.read.fieldorder import arranged

    return arranged(names, [part.pack.trailer for part in tables[0].parts])


def page_head(columns: Sequence[str], title: str = "") -> bytes:
    """Begin a page with a table: it needs nothing but itself, and runs nothing.

    * ``title``: What stands above the table.
    """
    above = f"<pre>{_shown(title)}</pre>\n" if title else ""
    head = "".join(f'<th scope="col">{_shown(name)}</th>' for name in columns)
    return (
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width">\n'
        '<meta http-equiv="Content-Security-Policy"'
        " content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>sdb</title>\n<style>{_STYLE}</style>\n{above}"
        f"<table>\n<thead><tr>{head}</tr></thead>\n"
    ).encode()


def visible(rows: bytes) -> bytes:
    """Replace what has no form in rows of a page."""
    lines = rows.decode().split("\n")
    return "\n".join(map(_visible, lines)).encode()


def _visible(line: str) -> str:
    if line.isprintable():
        return line
    return "".join(c if c.isprintable() or c == "\t" else "\ufffd" for c in line)


def _shown(text: str) -> str:
    from html import escape

    return escape("\n".join(map(_visible, text.split("\n"))))


_STYLE = (
    ":root{color-scheme:light dark}body{font:14px system-ui,sans-serif;margin:1em}"
    "table{border-collapse:collapse}th,td{border:1px solid #8884;padding:.2em .5em;"
    "text-align:left;vertical-align:top;max-width:40em;overflow-wrap:anywhere;white-space:pre-wrap}"
)
PAGE_END = b"</table>\n"


def structs(stream: object, columns: Sequence[Column]) -> Generator[bytes]:
    """Encode rows as a stream of Ion structs; the parameters are those of :func:`lines.lines`."""
    from sdb import _core

    need_types(columns)
    yield _ION_VERSION
    yield from _core.render_ion(stream, members(columns))


def known_structs(rows: Iterable[dict[str, Any]]) -> Generator[bytes]:
    """Encode a few rows that are values of Python already."""
    yield _ION_VERSION
    yield from map(ion.dumps, rows)
