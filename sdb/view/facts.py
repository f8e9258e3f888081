"""Tables of facts as text."""

from __future__ import annotations

from sdb import instants, sizes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdb.packfile.describe import FileDescription

_GAP = "  "


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, columns: int) -> str:
    """Align columns to the right, and leave out the last ones that do not fit.

    Parameters
    ----------
    head : sequence of str
        Names of the columns.
    rows : sequence of sequence of str
        The cells.
    columns : int
        Width to stay within, in characters.

    Returns
    -------
    str
        Lines, each with its end; a line at the end tells when columns were left out.
    """
    widths = [max(map(len, cells)) for cells in zip(head, *rows, strict=True)]
    shown = 1
    while shown < len(widths) and sum(widths[: shown + 1]) + len(_GAP) * shown <= columns:
        shown += 1
    out = [
        _GAP.join(cell.rjust(width) for cell, width in zip(row, widths[:shown], strict=False))
        for row in (head, *rows)
    ]
    if missing := head[shown:]:
        out.append(f"(no room for: {', '.join(missing)})")
    return "".join(f"{line.rstrip()}\n" for line in out)


def block_table(file: FileDescription, *, columns: int) -> str:
    """List the blocks of a packfile.

    Parameters
    ----------
    file : FileDescription
        The file.
    columns : int
        Width to stay within, in characters.

    Returns
    -------
    str
        A line for each block: where it is, how large, and the bounds of its times.
    """
    head, rows = block_cells(file)
    return table(head, rows, columns=columns)


def block_cells(file: FileDescription) -> tuple[list[str], list[list[str]]]:
    """Give the cells of the table of blocks.

    Parameters
    ----------
    file : FileDescription
        The file.

    Returns
    -------
    tuple
        The names of the columns, and a list of texts for each block.
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
