"""Writes the rows of a result in one of the formats of `sdb query`."""

from __future__ import annotations

import io

from sdb import ion
from sdb.query.result.lines import cells, members, need_types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
    from typing import Any, BinaryIO, TypeVar

    from sdb.query.catalog.tablescan import TableScan
    from sdb.query.plan.scans import Column

    _Row = TypeVar("_Row")

_SPOOL_BYTES = 64 << 20
_ROWS = 1000
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

    with tempfile.SpooledTemporaryFile(_SPOOL_BYTES, prefix="sdb-query-") as spool:
        rows = _rows(pieces)
        if names is None:
            names = arrange(_gather(pieces, spool))
            spool.seek(0)
            rows = (cells(line.decode()) for line in spool)
        write = _WRITERS[fmt]
        output.write(write([names], head=True))
        output.writelines(
            write([[row.get(name, "") for name in names] for row in page], head=False)
            for page in _pages(rows)
        )
        output.write(PAGE_END if fmt == "html" else b"")


def in_order_of_inputs(names: list[str], tables: Sequence[TableScan]) -> list[str]:
    """Return the names of whole rows of a table in the order in which its inputs had them."""
    if len(tables) != 1:
        return names
    from sdb.packfile.read.fieldorder import arranged

    return arranged(names, [part.pack.trailer for part in tables[0].parts])


def _rows(pieces: Iterable[bytes]) -> Iterator[dict[str, str]]:
    for piece in pieces:
        yield from map(cells, piece.decode().split("\n")[:-1])


def _gather(pieces: Iterable[bytes], spool: Any) -> list[str]:  # noqa: ANN401 - a file
    """Keep the rows for later; give the names in them, in the order of their appearance."""
    names: dict[str, None] = {}
    for piece in pieces:
        spool.write(piece)
        for row in _rows([piece]):
            names.update(dict.fromkeys(row))
    return list(names)


def _pages(rows: Iterator[_Row]) -> Iterator[list[_Row]]:
    page = []
    for row in rows:
        page.append(row)
        if len(page) == _ROWS:
            yield page
            page = []
    if page:
        yield page


def _delimited(delimiter: str, line_end: str) -> Callable[..., bytes]:
    def write(rows: list[list[str]], *, head: bool) -> bytes:
        import csv

        out = io.StringIO()
        writer = csv.writer(out, delimiter=delimiter, lineterminator=line_end)
        writer.writerows(row or [""] for row in rows)
        del head
        return out.getvalue().encode()

    return write


def _markdown(rows: list[list[str]], *, head: bool) -> bytes:
    lines = ["| " + " | ".join(map(_escaped, row)) + " |" for row in rows]
    if head:
        lines.append("|" + " --- |" * len(rows[0]))
    return "".join(f"{line}\n" for line in lines).encode()


def _escaped(cell: str) -> str:
    cell = cell.replace("\\", "\\\\").replace("|", "\\|")
    return cell.replace("\r\n", "<br>").replace("\n", "<br>").replace("\r", "<br>")


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


def _page(rows: list[list[str]], *, head: bool) -> bytes:
    return page_head(rows[0]) if head else page_rows(rows)


_STYLE = (
    ":root{color-scheme:light dark}body{font:14px system-ui,sans-serif;margin:1em}"
    "table{border-collapse:collapse}th,td{border:1px solid #8884;padding:.2em .5em;"
    "text-align:left;vertical-align:top;max-width:40em;overflow-wrap:anywhere;white-space:pre-wrap}"
)
PAGE_END = b"</table>\n"
_WRITERS: dict[str, Callable[..., bytes]] = {
    "csv": _delimited(",", "\n"),
    "tsv": _delimited("\t", "\n"),
    "markdown": _markdown,
    "html": _page,
}


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
