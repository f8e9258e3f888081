"""A page about packfiles that needs nothing but itself."""

from __future__ import annotations

from sdb import sizes
from sdb.packfile.inspect.describe import plain
from sdb.packfile.read.fields import inventory
from sdb.view.document import document, text
from sdb.view.facts import accuracy_of_largest, block_cells, largest_cells
from sdb.view.style import CSS
from sdb.view.svg import timeline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sdb.packfile.inspect.records import Description, FileDescription

MOST_ROWS = 500
"""How many rows of a table are shown; of a longer one the first and the last half of them."""

_MOST_OPEN = 100
_NUMBER_COLUMNS = 6


def page(description: Description) -> str:
    """Write the page.

    Returns: HTML: no scripts, nothing from elsewhere, light or dark as the reader's system is.
    """
    names = [file.path for file in description.files]
    title = names[0] if len(names) == 1 else f"{len(names)} packfiles"
    body = "".join(map(_section, description.files))
    if len(names) != 1:
        body = _totals(description) + body
    policy = (
        '<meta http-equiv="Content-Security-Policy"'
        " content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
    )
    body = f"<main>\n{body}</main>\n<footer>Written by sdb describe. Times are UTC.</footer>\n"
    return document(title, body, head=f"{policy}<style>{CSS}</style>\n")


def _section(file: FileDescription) -> str:
    parts = [f"<h1>{text(file.path)}</h1>\n", _facts(_file_facts(file))]
    blocks = file.blocks()
    indexes = [index for index in file.indexes if index.trusted]
    if indexes:
        parts.append("<h2>Where in time the blocks lie</h2>\n")
        parts.append(
            '<p class="note">A bar spans the times that the blocks of its line can hold, as far as '
            "the time index knows; blocks outside of a query's time range are not read.</p>\n"
        )
    parts += [timeline(index, blocks) for index in indexes]
    parts += [
        f'<p class="note">The index of {text(index.name)} was damaged by an old writer and is not '
        "used.</p>\n"
        for index in file.indexes
        if not index.trusted
    ]
    if blocks:
        head, rows = block_cells(file)
        parts.append(_table("Blocks", head, rows, numbers=_NUMBER_COLUMNS))
    constants = file.trailer.sparse.constants.items()
    if constants:
        cells = [[name, str(plain(value))] for name, value in constants]
        parts.append(_table("Constants", ["field", "value"], cells))
    if file.largest:
        caption = f"Largest fields, {accuracy_of_largest(file, file.largest)}"
        parts.append(_table(caption, ["field", "share", "size"], largest_cells(file.largest)))
    fields = inventory([(file.path, file.trailer)])
    if fields.fields:
        cells = [
            [field.name, ", ".join(field.types), "" if field.rows is None else f"{field.rows:,}"]
            for field in fields.fields
        ]
        caption = "Fields" if fields.complete else "Fields (there may be more)"
        parts.append(_table(caption, ["field", "types", "rows"], cells))
    return f"<section>\n{''.join(parts)}</section>\n"


def _file_facts(file: FileDescription) -> list[tuple[str, str]]:
    trailer = file.trailer
    facts = [
        ("size", sizes.human(file.size_bytes)),
        *([("text that went in", sizes.human(file.text_bytes))] if file.text_bytes else []),
        ("decompressed", sizes.human(file.decompressed_bytes)),
        ("ratio", f"{sizes.ratio(file.decompressed_bytes, file.size_bytes)}x"),
        ("rows", "not counted" if file.rows is None else f"{file.rows:,}"),
        ("blocks", f"{len(trailer.blocks):,}"),
        ("chunks", f"{trailer.chunks:,} of {sizes.human(trailer.align_bytes)}"),
        ("algorithm", trailer.packed_as),
    ]
    if file.etag:
        facts.append(("etag", file.etag))
    return facts


def _totals(description: Description) -> str:
    ratio = sizes.ratio(description.decompressed_bytes, description.size_bytes)
    facts = _facts(
        [
            ("files", f"{len(description.files):,}"),
            ("size", sizes.human(description.size_bytes)),
            ("decompressed", sizes.human(description.decompressed_bytes)),
            ("ratio", f"{ratio}x"),
            ("rows", "not counted" if description.rows is None else f"{description.rows:,}"),
            ("blocks", f"{description.block_count:,}"),
        ]
    )
    return f"<section>\n<h1>All files</h1>\n{facts}</section>\n"


def _facts(facts: Iterable[tuple[str, str]]) -> str:
    items = "".join(
        f"<div><dt>{text(name)}</dt><dd>{text(value)}</dd></div>\n" for name, value in facts
    )
    return f'<dl class="facts">\n{items}</dl>\n'


def _table(caption: str, head: Sequence[str], rows: list[list[str]], *, numbers: int = 0) -> str:
    """Write a table in a part of the page that folds; the first columns may hold numbers."""
    left_out = len(rows) - MOST_ROWS
    half = MOST_ROWS // 2
    shown = rows if left_out <= 0 else [*rows[:half], *rows[-half:]]
    written = [_row(cells, numbers) for cells in shown]
    if left_out > 0:
        gap = f'<tr><td colspan="{len(head)}" class="gap">{left_out:,} rows left out</td></tr>\n'
        written.insert(half, gap)
    names = "".join(
        f'<th scope="col"{_number(at, numbers)}>{text(name)}</th>' for at, name in enumerate(head)
    )
    state = "" if len(rows) > _MOST_OPEN else " open"
    summary = f"<summary><h2>{caption}</h2> <span>{len(rows):,}</span></summary>"
    return (
        f'<details{state}>{summary}\n<div class="wide" tabindex="0" role="region" '
        f'aria-label="{caption}">\n<table>\n<thead><tr>{names}</tr></thead>\n'
        f"<tbody>\n{''.join(written)}</tbody>\n</table>\n</div></details>\n"
    )


def _row(cells: Sequence[str], numbers: int) -> str:
    first, *rest = cells
    out = f'<th scope="row"{_number(0, numbers)}>{text(first)}</th>' + "".join(
        f"<td{_number(at, numbers)}>{text(cell)}</td>" for at, cell in enumerate(rest, 1)
    )
    return f"<tr>{out}</tr>\n"


def _number(column: int, numbers: int) -> str:
    return ' class="n"' if column < numbers else ""
