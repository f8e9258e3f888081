"""Formats of answers: their names, media types, and how they are written."""

from __future__ import annotations

import json
from itertools import islice
from typing import cast

from sdb.query.result.lines import parse
from sdb.query.result.lines import text as printed
from sdb.query.result.safecells import SafeCells
from sdb.query.result.wire import MEDIA_TYPE
from sdb.records import record
from sdb.serve.problems import HttpError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any, BinaryIO

    from sdb.query.result.result import Result


@record
class AnswerForm:
    """A format of answers."""

    name: str  # as `format=` has it, and suffixes of stored queries
    media_type: str
    is_typed: bool = False  # whether values need their types
    is_whole: bool = False  # whether it is made whole before it is sent, with its length and ranges
    is_bounded: bool = False  # whether an answer has a maximum number of rows
    has_notes: bool = False  # whether an answer has the notes on it

    @property
    def is_text(self) -> bool:
        """True if it is worth to compress it."""
        return self.name not in {"arrow", "parquet", "rows"}


FORMS = (
    AnswerForm("ndjson", "application/x-ndjson"),
    AnswerForm("json", "application/json", is_bounded=True, has_notes=True),
    AnswerForm("csv", "text/csv; charset=utf-8"),
    AnswerForm("safe-csv", "text/csv; charset=utf-8"),  # which no spreadsheet executes
    AnswerForm("arrow", "application/vnd.apache.arrow.stream", is_typed=True),
    AnswerForm("parquet", "application/vnd.apache.parquet", is_typed=True, is_whole=True),
    AnswerForm("html", "text/html; charset=utf-8", is_bounded=True, has_notes=True),
    AnswerForm("rows", MEDIA_TYPE, is_typed=True),  # for sdb.connect
)
SEAFOWL = AnswerForm("seafowl", "application/json", is_typed=True)
"""Lines of JSON with all columns in each, and the types of columns in the header Content-Type."""
_PAGE = "text/html"
_BY_NAME = {form.name: form for form in FORMS}
_ALIASES = {
    "application/jsonl": "ndjson",
    "application/ndjson": "ndjson",
    "application/x-ndjson": "ndjson",
    "application/json": "json",
    "text/csv": "csv",
    "application/vnd.apache.arrow.stream": "arrow",
    "application/vnd.apache.parquet": "parquet",
    "application/x-parquet": "parquet",
    "text/html": "html",
    MEDIA_TYPE: "rows",
    "*/*": "ndjson",
    "application/*": "ndjson",
    "text/*": "csv",
}


def form_of(name: str, accept: str) -> AnswerForm:
    """Return the format that a request asks for: by its name, else by its header Accept.

    A browser, which takes pages, gets CSV that spreadsheets can open: its user will do that.
    Raises `HttpError` if there is no such format.

    >>> form_of("", "text/html;q=0.5, text/csv").name, form_of("json", "text/csv").name
    ('csv', 'json')
    """
    names = ", ".join(_BY_NAME)
    if name:
        if name == "csv" and _PAGE in _accepted(accept):
            return _BY_NAME["safe-csv"]
        if name not in _BY_NAME:
            raise HttpError(400, f"there is no format {name[:40]!r}", hint=f"there are {names}")
        return _BY_NAME[name]
    if not accept:
        return FORMS[0]
    for media_type in _accepted(accept):
        if media_type in _ALIASES:
            return _BY_NAME[_ALIASES[media_type]]
    raise HttpError(406, "no format that is accepted is there", hint=f"there are {names}")


def _accepted(header: str) -> list[str]:
    """Return the media types of a header Accept, the most wanted first."""
    wanted: list[tuple[float, int, str]] = []
    for number, part in enumerate(header.split(",")[:32]):
        media_type, *rest = [piece.strip().lower() for piece in part.split(";")]
        weight = next((piece[2:] for piece in rest if piece.startswith("q=")), "1")
        try:
            quality = float(weight)
        except ValueError:
            quality = 0.0
        if quality > 0:
            wanted.append((-quality, number, media_type))
    return [media_type for _, _, media_type in sorted(wanted)]


def write(
    result: Result,
    form: AnswerForm,
    output: Any,  # noqa: ANN401
    *,
    rows: int,
    end: bool,
    warnings: Callable[[], list[str]],
) -> int:
    """Write the rows of a result, and return how many there are; 0 where nothing counts them.

    * ``rows``: How many rows at most, in formats that are bounded.
    * ``end``: Whether lines end with one that counts them.
    * ``warnings``: Returns those on the answer; all are known once the rows were read.
    """
    match form.name:
        case "ndjson":
            return _write_lines(result, output, warnings if end else None)
        case "json":
            return _write_object(result, output, rows, warnings)
        case "html":
            return _write_page(result, output, rows, warnings)
        case "seafowl":
            from sdb.serve.seafowl.lines import write_lines

            return write_lines(result, output)
        case "rows":
            output.writelines(result._wired())  # noqa: SLF001 - the client reads it
        case "safe-csv":
            cells = SafeCells(output)
            result.write(cast("BinaryIO", cells), "csv")
            cells.finish()
        case _:
            result.write(output, form.name)
    return 0


def _write_lines(
    result: Result,
    output: Any,  # noqa: ANN401
    warnings: Callable[[], list[str]] | None,
) -> int:
    count = 0
    for piece in result.lines():
        count += piece.count(b"\n")
        output.write(piece)
    if warnings is not None:
        members: dict[str, object] = {"rows": count}
        members |= {name: lines for name, lines in _told(result, warnings).items() if lines}
        output.write(json.dumps({"$end": members}, ensure_ascii=False).encode() + b"\n")
    return count


def _told(result: Result, warnings: Callable[[], list[str]]) -> dict[str, list[str]]:
    """Return what an answer says besides its rows, by the names of members."""
    return {"notes": result.notes, "warnings": warnings()}


def _write_object(
    result: Result,
    output: Any,  # noqa: ANN401
    rows: int,
    warnings: Callable[[], list[str]],
) -> int:
    lines = _each(result)
    first = list(islice(lines, rows))
    is_cut = next(lines, None) is not None
    columns = _columns(result, first)
    head = {"columns": columns, "row_count": len(first), "truncated": is_cut}
    head_text = json.dumps(head, ensure_ascii=False)
    output.write(f"{head_text[:-1]}, ".encode() + b'"rows": [')
    for number, line in enumerate(first):
        output.write((b",\n" if number else b"\n") + valid(line))
    members = json.dumps(_told(result, warnings), ensure_ascii=False).encode()
    output.write(b"\n], " + members[1:] + b"\n")
    return len(first)


def _each(result: Result) -> Iterator[bytes]:
    for piece in result.lines():
        yield from piece.split(b"\n")[:-1]


def _columns(result: Result, lines: Sequence[bytes]) -> list[str]:
    """Return the columns; those of whole rows are the members that the rows have."""
    if not result.of_whole_rows:
        return result.columns
    names: dict[str, None] = {}
    for line in lines:
        names.update(dict.fromkeys(parse(line.decode())))
    return list(names)


def valid(line: bytes) -> bytes:
    """Return a row as JSON has it, which knows no infinities."""
    if b"Inf" not in line and b"NaN" not in line:
        return line
    return printed(_finite(parse(line.decode()))).encode()


def _finite(value: Any) -> Any:  # noqa: ANN401
    match value:
        case dict():
            return {name: _finite(inner) for name, inner in value.items()}
        case list():
            return [_finite(inner) for inner in value]
        case "+Inf" | "-Inf" | "NaN" if type(value) is not str:
            return None
        case _:
            return value


def _write_page(
    result: Result,
    output: Any,  # noqa: ANN401
    rows: int,
    warnings: Callable[[], list[str]],
) -> int:
    from html import escape

    from sdb import _core
    from sdb.query.result.outputs import PAGE_END, page_head, visible

    lines = _each(result)
    first = list(islice(lines, rows))
    is_cut = next(lines, None) is not None
    columns = _columns(result, first)
    output.write(page_head(columns, result.text))
    table = _core.TextTable("html")
    for line in first:
        output.write(visible(table.rows(table.cells(line), columns)))
    counted = f"{len(first):,} rows" + (", and there are more" if is_cut else "")
    said = [counted, *result.notes, *warnings()]
    output.write(PAGE_END + "".join(f"<p>{escape(line)}</p>\n" for line in said).encode())
    return len(first)
