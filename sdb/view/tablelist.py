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


def tables(facts: Iterable[TableFacts], *, columns: int) -> str:
    """List tables."""
    head = ["table", "rows", "size", "packfiles", "newest row", "last sync"]
    rows = [
        [
            table_facts.name,
            *_sums(table_facts),
            _time(table_facts.newest_us),
            _time(table_facts.synced_us) or "never",
        ]
        for table_facts in facts
    ]
    return table(head, rows, columns=columns) if rows else ""


def dropped_tables(facts: Iterable[TableFacts], *, columns: int) -> str:
    """List tables that were dropped, with what they had, and when that was."""
    head = ["table", "rows", "size", "packfiles", "newest row", "dropped"]
    rows = [
        [
            table_facts.name,
            *_sums(table_facts),
            _time(table_facts.newest_us),
            _time(table_facts.synced_us),
        ]
        for table_facts in facts
    ]
    return table(head, rows, columns=columns)


def versions(named: Iterable[tuple[str, str, TableFacts]], *, columns: int) -> str:
    """List versions of a table by their names: branches and tags."""
    head = ["name", "kind", "version", "rows", "size", "written", "newest row"]
    rows = [
        [
            name,
            kind,
            _UNKNOWN if facts.version is None else f"{facts.version:,}",
            *_sums(facts)[:2],
            _time(facts.synced_us),
            _time(facts.newest_us),
        ]
        for name, kind, facts in named
    ]
    return table(head, rows, columns=columns)


def _sums(facts: TableFacts) -> list[str]:
    return [
        _UNKNOWN if facts.rows is None else f"{facts.rows:,}",
        _UNKNOWN if facts.size_bytes is None else sizes.human(facts.size_bytes),
        f"{facts.packfiles:,}",
    ]


def overview(description: TableDescription, *, columns: int) -> str:
    """Say what a table holds.

    Returns: Lines about the table, and one for each of its newest packfiles.
    """
    whole = description.facts
    files = description.packfiles.files
    rows = "not counted" if whole.rows is None else f"{whole.rows:,}"
    blocks = description.packfiles.block_count
    lines = [
        whole.name,
        f"  rows       {rows}",
        f"  size       {sizes.human(description.packfiles.size_bytes)}",
        f"  packfiles  {len(files):,} with {sizes.counted(blocks, 'block')}",
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


def inputs(statuses: Iterable[InputStatus]) -> str:
    """List inputs with their states, a line for each."""
    return "".join(
        f"{status.state.value:8}  {status.path}{f'  ({status.reason})' if status.reason else ''}\n"
        for status in statuses
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
    ranges: dict[tuple[str, ...], tuple[int, int]] = {}
    for file in files:
        for index in file.indexes:
            lo_us, hi_us = ranges.get(index.path, (index.first_us, index.last_us))
            ranges[index.path] = (min(lo_us, index.first_us), max(hi_us, index.last_us))
    return ranges


def _time(us: int | None) -> str:
    return "" if us is None else instants.text(us, fraction=False)
