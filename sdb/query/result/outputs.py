"""Writes the rows of a result in one of the formats of `sdb query`."""

from __future__ import annotations

import json

from sdb import ion
from sdb.query.result.lines import cells, members, need_types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
    from typing import Any, BinaryIO

    from sdb.query.catalog.tablescan import TableScan
    from sdb.query.plan.scans import Column


_SPOOL_BYTES = 64 << 20
_PIECE_BYTES = 1 << 20
_ION_VERSION = b"\xe0\x01\x00\xea"


def write_cells(
    pieces: Iterable[bytes],
    names: list[str] | None,
    output: BinaryIO,
    fmt: str,
    arrange: Callable[[list[str]], list[str]] = list,
) -> None:
    """Write a table of text: CSV, TSV, Markdown or HTML.

    * ``names``: The columns; without them all rows are gone over first, to find out.
    * ``arrange``: Puts those that were found out in order.
    """
    import tempfile

    from sdb import _core

    with tempfile.SpooledTemporaryFile(_SPOOL_BYTES, prefix="sdb-query-") as spool:
        if names is None:
            names = []
            for piece in pieces:
                spool.write(piece)
                names = _core.text_columns(piece, names)
            names = arrange(names)
            spool.seek(0)
            pieces = _pieces(spool)
        if fmt == "html":
            output.write(page_head(names))
            output.writelines(page_rows(_rows(piece, names)) for piece in pieces)
            output.write(PAGE_END)
            return
        head = json.dumps(dict(zip(names, names, strict=True)))
        output.write(_core.render_text(head.encode(), names, fmt))
        if fmt == "markdown":
            output.write(b"|" + b" --- |" * len(names) + b"\n")
        output.writelines(_core.render_text(piece, names, fmt) for piece in pieces)


def _pieces(spool: Any) -> Iterator[bytes]:  # noqa: ANN401 - a file
    """Yield whole lines, many at a time."""
    while lines := spool.readlines(_PIECE_BYTES):
        yield b"".join(lines)


def _rows(piece: bytes, names: Sequence[str]) -> Iterator[list[str]]:
    for line in piece.decode().split("\n")[:-1]:
        row = cells(line)
        yield [row.get(name, "") for name in names]


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


def page_rows(rows: Iterable[Sequence[str]]) -> bytes:
    """Write rows of the table of a page."""
    lines = ("".join(f"<td>{_shown(cell)}</td>" for cell in row) for row in rows)
    return "".join(f"<tr>{line}</tr>\n" for line in lines).encode()


def _shown(text: str) -> str:
    from html import escape

    return escape("".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text))


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
