"""Tables of tables: what a root has, a table and its packfiles, and its inputs, for people."""

from __future__ import annotations

from sdb import instants, sizes
from sdb.view.facts import table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from sdb.packfile.inspect.records import FileDescription
    from sdb.table.inspect.describe import TableDescription, TableFacts
    from sdb.table.sync.status import InputStatus

MOST_PACKFILES = 20
_UNKNOWN = "?"


def tables(found: Iterable[TableFacts], *, columns: int) -> str:
    """List tables.

    Parameters
    ----------
    found : iterable of TableFacts
        The tables.
    columns : int
        Width to stay within, in characters.

    Returns
    -------
    str
        A line for each table.
    """
    head = ["table", "rows", "size", "packfiles", "newest row", "last sync"]
    rows = [
        [
            one.name,
            _UNKNOWN if one.rows is None else f"{one.rows:,}",
            _UNKNOWN if one.size_bytes is None else sizes.human(one.size_bytes),
            f"{one.packfiles:,}",
            _time(one.newest_us),
            _time(one.synced_us),
        ]
        for one in found
    ]
    return table(head, rows, columns=columns) if rows else ""


def overview(description: TableDescription, *, columns: int) -> str:
    """Say what a table holds.

    Parameters
    ----------
    description : TableDescription
        The table.
    columns : int
        Width to stay within, in characters.

    Returns
    -------
    str
        Lines about the table, and one for each of its newest packfiles.
    """
    whole = description.facts
    files = description.packfiles.files
    rows = "not counted" if whole.rows is None else f"{whole.rows:,}"
    blocks = description.packfiles.block_count
    lines = [
        whole.name,
        f"  rows       {rows}",
        f"  size       {sizes.human(description.packfiles.size_bytes)}",
        f"  packfiles  {len(files):,} with {blocks:,} blocks",
        f"  synced     {_time(whole.synced_us) or 'never'}",
    ]
    if whole.version is not None:
        lines.insert(1, f"  version    {whole.version:,}")
    for path, (first_us, last_us) in _ranges(files).items():
        lines.append(f"  times      {'.'.join(path)}: {_time(first_us)} to {_time(last_us)}")
    shown = files[-MOST_PACKFILES:]
    head = ["size", "rows", "blocks", "first", "last", "packfile"]
    cells = [_cells(file) for file in reversed(shown)]
    if cells:
        lines += ["", table(head, cells, columns=columns).removesuffix("\n")]
    if missing := len(files) - len(shown):
        lines.append(f"and {missing:,} older ones; --classic lists them all")
    return "".join(f"{line}\n" for line in lines)


def inputs(found: Iterable[InputStatus]) -> str:
    """List inputs with their states, a line for each."""
    return "".join(
        f"{one.state.value:8}  {one.path}{f'  ({one.reason})' if one.reason else ''}\n"
        for one in found
    )


def _cells(file: FileDescription) -> list[str]:
    ranges = _ranges((file,))
    first_us, last_us = next(iter(ranges.values())) if len(ranges) == 1 else (None, None)
    return [
        sizes.human(file.size_bytes),
        _UNKNOWN if file.rows is None else f"{file.rows:,}",
        f"{len(file.trailer.blocks):,}",
        _time(first_us),
        _time(last_us),
        file.path,
    ]


def _ranges(files: Iterable[FileDescription]) -> dict[tuple[str, ...], tuple[int, int]]:
    found: dict[tuple[str, ...], tuple[int, int]] = {}
    for file in files:
        for index in file.indexes:
            lo_us, hi_us = found.get(index.path, (index.first_us, index.last_us))
            found[index.path] = (min(lo_us, index.first_us), max(hi_us, index.last_us))
    return found


def _time(us: int | None) -> str:
    return "" if us is None else instants.text(us, fraction=False)
