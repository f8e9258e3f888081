"""Advice on queries that read most blocks: statistics or clustering, as commands to type.

Nothing is advised unless the figures support it: there are several blocks, most of them are read,
and a condition that few rows satisfy leaves none of them out. Clustering is advised where sorted
rows would be in several blocks; of less, small packfiles are merged or left as they are.
"""

from __future__ import annotations

import shlex

from sdb import sizes
from sdb.packfile.build.newstats import SMALL_BYTES
from sdb.packfile.prune.ngrams import filters, pieces
from sdb.packfile.prune.predicate import AddressRange, Both, Compare, Either, OneOf, TextWords
from sdb.packfile.rewrite.cluster import block_bytes_of
from sdb.packfile.trailer.blockstats import JOINTS
from sdb.packfile.trailer.fieldcounts import field_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeGuard

    from sdb.packfile.prune.predicate import PathTest, Predicate
    from sdb.packfile.read.reader import Packfile
    from sdb.query.catalog.tablescan import TableScan

LEAST_BLOCKS = 8
_LEAST_SORTED = 4
"""Blocks from which on sorting rows pays: a query then reads one or two of them."""
_MOST_EXPANDED = 16
"""So much larger rows are decompressed at most; a small packfile fills only a part of its chunk."""
_LEAST_MERGED = 8
"""How many packfiles of a size are merged, see `sdb.table.maintenance.compact`."""
_MOST_LOOKED_AT = 16
_MOST_LINES = 3


def advice(tables: list[TableScan], *, root: str = "") -> list[str]:
    """Return lines about what would leave out blocks that a query reads, each with a command.

    * ``tables``: What the query reads.
    * ``root``: The root that its tables are below, for commands.
    """
    lines: dict[str, None] = {}
    for table in tables:
        every = sum(part.pack.block_count for part in table.parts)
        read = sum(part.block_count for part in table.parts)
        if every < LEAST_BLOCKS or read * 2 <= every:
            continue
        packs = [part.pack for part in table.read][:_MOST_LOOKED_AT]
        for test in _selective(table.test):
            if all(_leaves_all(pack, test) for pack in packs):
                size = sizes.human(sum(part.compressed_bytes for part in table.parts))
                seen = f"{read:,} of {every:,} blocks, {size}, are read"
                lines[_line(table, test, packs, seen, root)] = None
    return [line for line in lines if line][:_MOST_LINES]


def _selective(test: Predicate) -> Iterator[PathTest]:
    """Iterate over the tests that all rows have to pass, and few do."""
    if isinstance(test, Both):
        for part in test.parts:
            yield from _selective(part)
    elif isinstance(test, Either):
        equal = [part for part in test.parts if isinstance(part, Compare) and part.op == "="]
        if len(equal) == len(test.parts) and len({part.path for part in equal}) == 1:
            yield OneOf(equal[0].path, tuple([part.value for part in equal]))  # as of IN
    elif _is_of_few_rows(test):
        yield test


def _is_of_few_rows(test: Predicate) -> TypeGuard[PathTest]:
    if isinstance(test, TextWords):
        return bool(test.path) and bool(pieces(test.texts) or pieces(test.texts, JOINTS))
    if isinstance(test, OneOf | AddressRange):
        return True
    return isinstance(test, Compare) and test.op == "=" and isinstance(test.value, str | int)


def _leaves_all(pack: Packfile, test: PathTest) -> bool:
    """Return whether the metadata of a packfile leaves out no block because of a test."""
    return sum(stop - start for start, stop in pack.pruned(test)) == pack.block_count


def _line(table: TableScan, test: PathTest, packs: list[Packfile], read: str, root: str) -> str:
    """Return a line with a command; empty: no command helps."""
    name = field_name(test.path)
    kind = {TextWords: "words:", AddressRange: "prefixes:"}.get(type(test), "")
    begin = f"{read}, since nothing tells which may have {test}"
    has_statistics = _has_statistics(packs, test)
    if has_statistics:
        begin = f"{read}, since rows with {test} may be in all of them"
    where = f" --root {shlex.quote(root)}" if root else ""
    stored = shlex.quote(table.name.replace("/", "."))
    if table.steps and not kind:
        size_bytes = sum(part.compressed_bytes for part in table.parts)
        if size_bytes > SMALL_BYTES and _sorted_blocks(table) >= _LEAST_SORTED:
            return f"{begin}: sdb compact --cluster-by {shlex.quote(name)}{where} {stored}"
        if len(table.read) >= _LEAST_MERGED:
            return f"{read}, in {len(table.read):,} small packfiles: sdb compact{where} {stored}"
        return ""
    if has_statistics:
        return ""
    stats = shlex.quote(f"auto,{kind}{name}")
    if table.steps:
        change = shlex.quote(f'.stats = "auto,{kind}{name}"')
        made = (
            f"sdb def{where} {stored} | jq {change} | sdb create --force{where} {stored} /dev/stdin"
        )
        return f"{begin}: for new rows, insert with --stats {stats}, or {made}"
    path = shlex.quote(packs[0].path)
    return f"{begin}: sdb pack --stats {stats} -o NEW.zion {path}"


def _sorted_blocks(table: TableScan) -> int:
    """Return about how many blocks the rows of a table have when they are sorted."""
    packs = [part.pack for part in table.read]
    size_bytes = sum(
        min(pack.decompressed_bytes, pack.stored_bytes * _MOST_EXPANDED) for pack in packs
    )
    return size_bytes // block_bytes_of(packs)


def _has_statistics(packs: list[Packfile], test: PathTest) -> bool:
    """Return whether blocks have statistics of what a test asks for, which did not help."""
    for pack in packs:
        statistics = pack.known[1]
        if statistics is None or not pack.block_count:
            return False
        if isinstance(test, TextWords):
            has = bool([*filters(statistics, test)])
        elif isinstance(test, AddressRange):
            has = statistics.prefixes(test.path) is not None
        else:
            has = statistics.zone(test.path) is not None
        if not has:
            return False
    return True
