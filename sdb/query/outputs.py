"""Writes the rows of a result in one of the formats of `sdb query`."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

from sdb import ion
from sdb.query.lines import cells

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

_Row = TypeVar("_Row")
FORMATS = ("json", "csv", "tsv", "markdown", "ion", "arrow", "parquet")
TEXTS = frozenset({"json", "csv", "tsv", "markdown"})

_SPOOL_BYTES = 64 << 20
_INT64 = range(-(2**63), 2**63)
_ROWS = 1000
_ION_VERSION = b"\xe0\x01\x00\xea"
_ION_LIST, _ION_ANNOTATION, _LONG = 0xB0, 0xE0, 14


def write_cells(
    pieces: Iterable[bytes], names: list[str] | None, output: BinaryIO, fmt: str
) -> None:
    """Write a table of text: CSV, TSV or Markdown.

    Parameters
    ----------
    pieces : iterable of bytes
        The rows as lines of JSON.
    names : list of str, or None
        The columns; without them all rows are gone over first, to find out.
    output : binary file
        Where the text goes.
    fmt : {"csv", "tsv", "markdown"}
        The form of the table.
    """
    import tempfile

    with tempfile.SpooledTemporaryFile(_SPOOL_BYTES, prefix="sdb-query-") as spool:
        rows = _rows(pieces)
        if names is None:
            names = _gather(pieces, spool)
            spool.seek(0)
            rows = (cells(line.decode()) for line in spool)
        write = _WRITERS[fmt]
        output.write(write([names], head=True))
        output.writelines(
            write([[row.get(name, "") for name in names] for row in page], head=False)
            for page in _pages(rows)
        )


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


_WRITERS: dict[str, Callable[..., bytes]] = {
    "csv": _delimited(",", "\n"),
    "tsv": _delimited("\t", "\n"),
    "markdown": _markdown,
}


def stream(rows: Iterable[dict[str, Any]]) -> Generator[bytes]:
    """Encode rows as a stream of Ion structs.

    Parameters
    ----------
    rows : iterable of dict
        The rows, as Python values.

    Yields
    ------
    bytes
        The next part of the stream.
    """
    yield _ION_VERSION
    for page in _pages(iter(rows)):
        yield _structs(ion.dumps([_canonical(row) for row in page]))


def _structs(stream: bytes) -> bytes:
    """Make the elements of the one list in an Ion stream values of the stream itself."""
    at = len(_ION_VERSION)
    if stream[at] & 0xF0 == _ION_ANNOTATION:  # the symbol table
        at = _body(stream, at)[1]
    assert stream[at] & 0xF0 == _ION_LIST  # noqa: S101
    start, stop = _body(stream, at)
    return stream[:at] + stream[start:stop]


def _body(stream: bytes, at: int) -> tuple[int, int]:
    """Give the range of the content of a value."""
    size = stream[at] & 0x0F
    at += 1
    if size == _LONG:
        size = 0
        while not stream[at] & 0x80:
            size = size << 7 | stream[at]
            at += 1
        size = size << 7 | stream[at] & 0x7F
        at += 1
    return at, at + size


def _canonical(value: Any) -> Any:  # noqa: ANN401 - any value
    """Store whole floats as integers, as everywhere in packfiles."""
    match value:
        case float() if value.is_integer() and int(value) in _INT64:
            return int(value)
        case list():
            return [_canonical(inner) for inner in value]
        case dict():
            return {name: _canonical(inner) for name, inner in value.items()}
        case _:
            return value
