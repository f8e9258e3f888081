"""Chooses which statistics of a packfile are stored: those that leave out most blocks for a byte.

How good a path is can be told without its rows. A value of one block is looked for in all others:
in the zones the middle of its bounds, among the values some of blocks that were just packed. The
share of blocks that may have it is what a search for it would read.
"""

from __future__ import annotations

from itertools import chain, islice

from sdb import notes
from sdb.errors import CorruptError
from sdb.packfile.build.choosefilters import choose_filters, section_bytes
from sdb.packfile.build.choosengrams import choose_words, tell_unknown
from sdb.packfile.build.newstats import facts_of_blocks, is_small
from sdb.packfile.prune.selectivity import share_read
from sdb.packfile.trailer.blockstats import (
    MAX_SECTIONS,
    PREFIXES,
    WORDS,
    ZONES,
    store_sections,
)
from sdb.packfile.trailer.fieldcounts import field_name
from sdb.packfile.trailer.ribbonslices import encode_filter
from sdb.packfile.trailer.zonemap import encode_zones
from sdb.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from sdb._core import Packer
    from sdb.packfile.build.newstats import BlockFacts
    from sdb.packfile.build.options import StatisticsChoice
    from sdb.packfile.build.retained import Kept
    from sdb.packfile.trailer.fieldcounts import FieldPath
    from sdb.packfile.trailer.sparseindex import SparseIndex
    from sdb.packfile.trailer.statsection import StoredStatistics
    from sdb.packfile.trailer.trailer import Block
    from sdb.packfile.trailer.zonemap import Zone

    _Key = tuple[FieldPath, int]

SHARE = 50
"""Statistics take at most one byte in so many of the packfile."""

ZONE_BYTES = 4096
"""Zones take at most so many bytes for each block."""

MAX_BYTES = 8 << 20
"""What nobody asks for takes at most so many bytes in all."""

MOST_BYTES = 48 << 20
"""The same with all that is asked for: readers take no trailer of more than 64 MiB."""

_ZONES_SHARE = 4
_LEAST_GAIN = 0.05


def with_statistics(
    sparse: SparseIndex,
    packer: Packer,
    blocks: Sequence[Block],
    choice: StatisticsChoice,
    kept: Kept | None = None,
) -> SparseIndex:
    """Add the statistics of a packfile that was packed, or that grew.

    Parameters
    ----------
    sparse : SparseIndex
        What is known of it without them.
    packer : Packer
        The packer, which is done.
    blocks : sequence of Block
        All blocks.
    choice : StatisticsChoice
        Paths that shall have statistics.
    kept : Kept, optional
        What stays of a packfile that grew.

    Returns
    -------
    SparseIndex
        With statistics, if there are any.
    """
    if sparse.summary is None:
        return sparse
    size_bytes = packer.position + (kept.size_bytes if kept is not None else 0)
    sources = [kept.trailer.sparse] if kept is not None else []
    is_asked = choice.paths or choice.words or choice.prefixes
    if len(blocks) == 1 and is_small(1, size_bytes) and not is_asked and not _had(sources)[0]:
        return sparse
    facts = facts_of_blocks(packer, blocks, sparse.summary.rows, kept)
    tell_unknown(facts, choice.words, WORDS)
    tell_unknown(facts, choice.prefixes, PREFIXES)
    crowded = packer.crowded
    for path in filter(crowded.__contains__, choice.paths):
        notes.warn(f"there is no filter of {field_name(path)}: it has too many different values")
    stored = choose_statistics(facts, size_bytes, asked=choice.paths, sources=sources)
    return replace(sparse, stored_statistics=stored)


def choose_statistics(
    facts: Sequence[BlockFacts],
    size_bytes: int,
    *,
    asked: Collection[FieldPath] = (),
    zoned: Collection[FieldPath] = (),
    sources: Iterable[SparseIndex] = (),
) -> StoredStatistics | None:
    """Choose what is stored.

    Parameters
    ----------
    facts : sequence of BlockFacts
        The facts of each block.
    size_bytes : int
        Size of the blocks in bytes.
    asked : collection of path
        Paths of which everything is stored, whatever it takes.
    zoned : collection of path
        Paths of which zones are stored, whatever they take.
    sources : iterable of SparseIndex
        What is known of the packfiles that this one is made of: it keeps what they have, in as many
        bytes.

    Returns
    -------
    StoredStatistics or None
        None when there is nothing, or nothing that fits; and for a small packfile of few blocks,
        unless something is asked for, was there, or leaves out a block.
    """
    had, had_bytes = _had(sources)
    budget = min(max(size_bytes // SHARE, had_bytes), MAX_BYTES)
    zones = _zones(facts)
    kept: dict[_Key, tuple[bytes, bytes]] = {}
    left = max(min(budget // _ZONES_SHARE, ZONE_BYTES * len(facts)), min(had_bytes, budget))
    named = {*asked, *zoned}
    for path, section, cost in _ranked_zones(zones, named, had):
        if path in named:
            kept[path, ZONES] = section, b""
        elif cost <= left:
            left -= cost
            budget -= cost
            kept[path, ZONES] = section, b""
    kept = dict(islice(kept.items(), MAX_SECTIONS // 2))
    filters = choose_filters(facts, zones, budget, asked=asked, had=had)
    for key, found in (*islice(filters.items(), MAX_SECTIONS // 2), *choose_words(facts).items()):
        kept[key] = encode_filter(found)
    is_asked = named or had or any(kind in (WORDS, PREFIXES) for _, kind in kept)
    if is_small(len(facts), size_bytes) and not is_asked and not _leave_out(kept, zones):
        return None
    stored = store_sections(kept)
    if stored is not None and stored.size_bytes > MOST_BYTES:
        notes.warn(f"block statistics are left out: they take more than {MOST_BYTES:,} bytes")
        return None
    return stored


def _leave_out(kept: Iterable[_Key], zones: Mapping[FieldPath, tuple[Zone | None, ...]]) -> bool:
    """Check whether a search for one value reads fewer blocks than all by any statistics."""
    return any(
        len(zones.get(path, ())) > 1
        and (kind != ZONES or share_read(zones[path]) <= 1 - _LEAST_GAIN)
        for path, kind in kept
    )


def _had(sources: Iterable[SparseIndex]) -> tuple[set[_Key], int]:
    """Tell what statistics packfiles have, and how many bytes they take."""
    had: set[_Key] = set()
    size_bytes = 0
    for sparse in sources:
        try:
            known = sparse.statistics()
        except CorruptError:
            known = None
        if known is not None and sparse.stored_statistics is not None:
            had.update(known.sizes)
            size_bytes += sparse.stored_statistics.size_bytes - known.bytes_of(WORDS, PREFIXES)
    return had, size_bytes


def _zones(facts: Sequence[BlockFacts]) -> dict[FieldPath, tuple[Zone | None, ...]]:
    paths = dict.fromkeys(chain.from_iterable(fact.zones for fact in facts))
    return {path: tuple([fact.zones.get(path) for fact in facts]) for path in paths}


def _ranked_zones(
    zones: dict[FieldPath, tuple[Zone | None, ...]],
    asked: Collection[FieldPath],
    had: Collection[_Key],
) -> list[tuple[FieldPath, bytes, int]]:
    """Order paths by what their zones leave out for a byte; give what is stored, and its cost."""
    ranked = []
    for path, found in zones.items():
        gain = 1 - share_read(found)
        is_sure = path in asked or (path, ZONES) in had
        # A single block has no others: its zones tell the packfile from those of the same table.
        if is_sure or gain >= _LEAST_GAIN or len(found) == 1 or _is_constant(found):
            section = encode_zones(found)
            size_bytes = section_bytes(path, len(section))
            worth = max(gain, _LEAST_GAIN) / size_bytes
            ranked.append((not is_sure, -worth, path, section, size_bytes))
    ranked.sort(key=lambda one: one[:2])
    return [one[2:] for one in ranked]


def _is_constant(zones: Iterable[Zone | None]) -> bool:
    """Tell whether there is one value only: it tells the packfile from others."""
    known = [zone for zone in zones if zone is not None]
    return len({zone.numbers or zone.texts or zone.times for zone in known}) == 1 and all(
        pair is None or pair[0] == pair[1]
        for zone in known
        for pair in (zone.numbers, zone.texts, zone.times)
    )
