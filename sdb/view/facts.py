"""Tables of facts as text."""

from __future__ import annotations

from sdb import instants, sizes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdb.packfile.inspect.largestfields import LargestFields
    from sdb.packfile.inspect.records import Description, FileDescription

_GAP = "  "
_MARGIN = " " * 12
_KIB = 1024
_MOST_COLUMNS = 20
"""Columns of a schema that are named; `--json` has all."""


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, columns: int) -> str:
    """Align columns to the right, and leave out the last ones that do not fit, times after others.

    Returns: Lines, each with its end; a line at the end says if columns were left out.
    """
    widths = [max(map(len, cells)) for cells in zip(head, *rows, strict=True)]
    shown = list(range(len(widths)))
    dated = [number for number in shown if any(_is_time(row[number]) for row in rows)]
    while len(shown) > 1 and sum(widths[n] + len(_GAP) for n in shown) - len(_GAP) > columns:
        undated = [number for number in shown[1:] if number not in dated]
        shown.remove((undated or shown)[-1])
    out = [
        _GAP.join(row[number].rjust(widths[number]) for number in shown) for row in (head, *rows)
    ]
    if missing := [name for number, name in enumerate(head) if number not in shown]:
        out.append(f"(no room for: {', '.join(missing)})")
    return "".join(f"{line.rstrip()}\n" for line in out)


def _is_time(cell: str) -> bool:
    return cell[4:5] == cell[7:8] == "-" and cell[10:11] == "T" and cell[:4].isdigit()


def block_table(file: FileDescription, *, columns: int) -> str:
    """List the blocks of a packfile.

    Returns: A line for each block: where it is, how large, and the bounds of its times.
    """
    head, rows = block_cells(file)
    return table(head, rows, columns=columns)


def block_cells(file: FileDescription) -> tuple[list[str], list[list[str]]]:
    """Return the cells of the table of blocks.

    Returns: The names of the columns, and a list of texts for each block.
    """
    indexes = [index for index in file.indexes if index.trusted]
    head = ["block", "offset", "size", "ratio", "chunks", "rows"]
    for index in indexes:
        head += [f"{index.name} from", f"{index.name} to"]
    rows = []
    for block in file.blocks():
        row = [
            str(block.number),
            f"{block.offset:,}",
            sizes.human(block.compressed_bytes),
            sizes.ratio(block.decompressed_bytes, block.compressed_bytes),
            str(block.chunks),
            "?" if block.rows is None else f"{block.rows:,}",
        ]
        for index in indexes:
            row += [instants.text(us) for us in block.times[index.path] or ()] or ["", ""]
        rows.append(row)
    return head, rows


def overview(description: Description, *, columns: int, can_draw: bool = True) -> str:
    """Say what packfiles hold, for people.

    * ``columns``: Width to stay within, in characters, as far as names of files and indexes let it.
    """
    ellipsis = "…" if can_draw else "~"
    parts = [_overview_of(file, columns, ellipsis) for file in description.files]
    if len(description.files) != 1:
        rows = "unknown" if description.rows is None else f"{description.rows:,}"
        size = sizes.human(description.size_bytes)
        parts.append(f"{len(description.files):,} files, rows: {rows}, {size}\n")
    return "\n".join(parts)


def _overview_of(file: FileDescription, columns: int, ellipsis: str) -> str:
    from sdb.packfile.inspect.describe import plain, statistics_dict
    from sdb.packfile.read.fields import inventory

    trailer = file.trailer
    blocks = sizes.counted(len(trailer.blocks), "block")
    rows = "not counted" if file.rows is None else f"{file.rows:,}"
    lines = [("rows", [f"{rows} in {blocks}"]), ("size", _size(file))]
    for label, index in zip(["times", *[""] * len(file.indexes)], file.indexes, strict=False):
        first, last = (instants.text(us, fraction=False) for us in (index.first_us, index.last_us))
        damaged = [] if index.trusted else ["(damaged, not used)"]
        lines.append((label, [index.name, f"{first} to", last, *damaged]))
    fields = inventory([(file.path, trailer)])
    if fields.fields:
        more = "" if fields.complete else " at least"
        # The elements of a list are none of its own.
        count = sum(field.path[-1] is not None for field in fields.fields)
        lines.append(("fields", [f"{count:,}{more};", f"sdb fields {file.path}"]))
    else:
        lines.append(("fields", ["not told by this packfile"]))
    if trailer.sparse.columns:
        names = [_escaped(name) for name, _ in trailer.sparse.columns[:_MOST_COLUMNS]]
        rest = ["..."] if len(trailer.sparse.columns) > _MOST_COLUMNS else []
        total = f"{len(trailer.sparse.columns):,} of a schema:"
        lines.append(("columns", [total, *names, *rest]))
    constants = [f"{name}={plain(value)}" for name, value in trailer.sparse.constants.items()]
    if constants:
        lines.append(("constants", constants))
    if statistics := statistics_dict(trailer):
        size = sizes.human(statistics["size_bytes"])
        facts = [f"of {sizes.counted(statistics['fields'], 'field')};", size]
        facts += [
            f"({sizes.human(statistics[f'{what}_bytes'])} for {what})"
            for what in ("words", "prefixes")
            if statistics[f"{what}_bytes"]
        ]
        lines.append(("statistics", facts))
    lines.append(("packed as", [trailer.packed_as]))
    text = "".join(_wrapped(label, words, columns) for label, words in lines)
    if file.largest:
        text += _largest(file, file.largest, columns, ellipsis)
    return f"{file.path}\n{text}"


def largest_cells(largest: LargestFields) -> list[list[str]]:
    """Return the name, share and size of each of the largest fields."""
    from sdb.view.fieldlist import percent

    whole = largest.compressed_bytes
    return [
        [name, percent(size, whole), sizes.human(size) + (" bytes" if size < _KIB else "")]
        for name, size in largest.fields
    ]


def accuracy_of_largest(file: FileDescription, largest: LargestFields) -> str:
    """Say what the sizes of the largest fields are: fields are not compressed one by one."""
    shares = "shares by raw bytes"
    if largest.is_exact:
        return shares
    blocks = sizes.counted(len(file.trailer.blocks), "block")
    return f"{shares}, estimated from the start of {largest.blocks_read:,} of {blocks}"


def _largest(file: FileDescription, largest: LargestFields, columns: int, ellipsis: str) -> str:
    from sdb.view.fieldlist import cut

    cells = [[_escaped(name), *rest] for name, *rest in largest_cells(largest)]
    shares, byte_sizes = (max(len(row[column]) for row in cells) for column in (1, 2))
    names = min(max(len(row[0]) for row in cells), columns - len(_MARGIN) - len(_GAP) - shares)
    room = columns - len(_MARGIN) - names - shares - byte_sizes - 2 * len(_GAP)
    lines = []
    for name, share, size in cells:
        line = f"{_MARGIN}{cut(name, names, ellipsis):{names}}{_GAP}{share:>{shares}}"
        lines.append(f"{line}{_GAP}{size:>{byte_sizes}}\n" if room >= 0 else f"{line}\n")
    heading = ["fields,", *accuracy_of_largest(file, largest).split()]
    return _wrapped("largest", heading, columns) + "".join(lines)


def _escaped(name: str) -> str:
    """Write what a terminal might take for something else as escapes."""
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in name)


def _size(file: FileDescription) -> list[str]:
    size = sizes.human(file.size_bytes)
    if not file.text_bytes:
        return [f"{size} bytes" if size.isdigit() else size]
    ratio = sizes.ratio(file.text_bytes, file.size_bytes)
    text = f"the {sizes.human(file.text_bytes)} of text"
    return [f"{size},", f"{ratio}x smaller than", text, "that went in"]


def _wrapped(label: str, words: Sequence[str], columns: int) -> str:
    """Write a label and what belongs to it, on further lines where one has no room."""
    lines = [f"  {label:9}"]
    for word in words:
        if len(lines[-1]) + 1 + len(word) > columns and lines[-1].strip() not in {"", label}:
            lines.append(" " * 11)
        lines[-1] += f" {word}"
    return "".join(f"{line}\n" for line in lines)
