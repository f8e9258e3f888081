"""Chooses which statistics of a packfile are stored: those that leave out most blocks for a byte.

How good a path is can be told without its rows. A value of one block is looked for in all others:
in the zones the middle of its bounds, in the filters some values of blocks that were just
packed. The share of blocks that may have it is what a search for it would read.
"""

from __future__ import annotations

import math
from itertools import chain, islice

from sdb.errors import CorruptError
from sdb.packfile.blockfacts import facts_of_blocks
from sdb.packfile.blockstatistics import (
    INTEGERS,
    MAX_SECTIONS,
    PREFIXES,
    TEXTS,
    WORDS,
    ZONES,
    store_sections,
)
from sdb.packfile.membership import SET_BYTES, MembershipFilter
from sdb.packfile.words import choose_words, tell_unknown
from sdb.packfile.zones import TEXT_BYTES, encode_zones
from sdb.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from typing import Any

    from sdb._core import Packer
    from sdb.packfile.blockfacts import BlockFacts
    from sdb.packfile.kept import Kept
    from sdb.packfile.membership import ValueSet
    from sdb.packfile.presence import FieldPath
    from sdb.packfile.sparseindex import SparseIndex
    from sdb.packfile.statisticsasked import StatisticsChoice
    from sdb.packfile.storedstatistics import StoredStatistics
    from sdb.packfile.trailer import Block
    from sdb.packfile.zones import Zone

    _Key = tuple[FieldPath, int]

SHARE = 50
"""Statistics take at most one byte in so many of the packfile."""

ZONE_BYTES = 4096
"""Zones take at most so many bytes for each block."""

MAX_BYTES = 8 << 20
"""Statistics take at most so many bytes in all."""

_ZONES_SHARE = 4
_MOST_READ = 0.75
_LEAST_GAIN = 0.05
_LEAST_FILTER_GAIN = 0.01
_PROBED_BLOCKS = 16
_PROBES = 4
_PREFIX_BYTES = 8
_HEAD_BYTES = 12


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
    facts = facts_of_blocks(packer, blocks, sparse.summary.rows, kept)
    tell_unknown(facts, choice.words, WORDS)
    tell_unknown(facts, choice.prefixes, PREFIXES)
    stored = choose_statistics(
        facts,
        packer.position + (kept.size_bytes if kept is not None else 0),
        asked=choice.paths,
        sources=[kept.trailer.sparse] if kept is not None else [],
    )
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
        None when there is nothing, or nothing that fits.
    """
    had, had_bytes = _had(sources)
    budget = min(max(size_bytes // SHARE, had_bytes), MAX_BYTES)
    zones = _zones(facts)
    kept: dict[_Key, bytes] = {}
    left = max(min(budget // _ZONES_SHARE, ZONE_BYTES * len(facts)), min(had_bytes, budget))
    named = {*asked, *zoned}
    for path, section, cost in _ranked_zones(zones, named, had):
        if path in named:
            kept[path, ZONES] = section
        elif cost <= left:
            left -= cost
            budget -= cost
            kept[path, ZONES] = section
    kept = dict(islice(kept.items(), MAX_SECTIONS // 2))
    filters = _fitting(_ranked_filters(facts, zones, asked, had), budget, asked, had)
    for key, found in (*islice(filters.items(), MAX_SECTIONS // 2), *choose_words(facts).items()):
        kept[key] = found.encode()
    return store_sections(kept)


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


def _cost(path: FieldPath, data_bytes: int) -> int:
    """Give about how many bytes a section takes, its entry in the head included."""
    return _HEAD_BYTES + sum(len(name or "") for name in path) // 2 + data_bytes


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
            cost = _cost(path, len(section))
            worth = max(gain, _LEAST_GAIN) / cost
            ranked.append((not is_sure, -worth, path, section, cost))
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


def _fitting(
    ranked: Iterable[tuple[_Key, MembershipFilter, int]],
    budget: int,
    asked: Collection[FieldPath],
    had: Collection[_Key],
) -> dict[_Key, MembershipFilter]:
    """Take filters as far as there is room: half of each, and whole ones while some is left.

    Half a filter leaves out nine of ten blocks, a whole one hardly more: so halves of two paths
    leave out far more than the whole filter of one.
    """
    kept: dict[_Key, MembershipFilter] = {}
    halves: list[tuple[_Key, MembershipFilter, int]] = []
    for key, found, cost in ranked:
        saved = sum(_saved_bytes(sets) for sets in found.sets)
        if key[0] in asked:
            kept[key] = found
        elif key in had and cost <= budget:
            kept[key] = found
            budget -= cost
        elif cost - saved <= budget:
            halves.append((key, found, saved))
            budget -= cost - saved
    for key, found, saved in halves:
        is_whole = saved <= budget
        kept[key] = found if is_whole else found.halved()
        budget -= saved if is_whole else 0
    return kept


def share_read(zones: Sequence[Zone | None]) -> float:
    """Give the share of blocks that may have what is in the middle of a block, on average.

    The least value would not do: of ids, which are alike in all blocks, it is below the bounds of
    half of them.

    Examples
    --------
    >>> from sdb.packfile.zones import Zone
    >>> share_read([Zone(4, 9, numbers=(0, 9)), Zone(4, 9, numbers=(9, 19))])
    0.5
    """
    known = [zone for zone in zones if zone is not None]
    probes = list(islice(known, 0, None, max(1, len(known) // _PROBED_BLOCKS)))
    if len(zones) == 1:
        return 1.0
    read = 0
    for probe in probes:
        pair = probe.numbers or probe.times or probe.texts
        if pair is None:
            read += sum(zone is None or zone.types & probe.types != 0 for zone in zones)
            continue
        value = _middle(*pair)
        for zone in zones:
            read += zone is None or _may_hold(zone, probe, value)
    return read / (len(probes) * len(zones)) if probes else 1.0


def _middle(least: Any, greatest: Any) -> Any:  # noqa: ANN401 - numbers, times or texts
    """Give what lies in the middle between two bounds."""
    if greatest is None or least == greatest:
        return least
    if isinstance(least, bytes):
        whole = [int.from_bytes(text.ljust(TEXT_BYTES, b"\0"), "big") for text in (least, greatest)]
        return (sum(whole) // 2).to_bytes(TEXT_BYTES, "big")
    middle = (least + greatest) / 2
    return middle if math.isfinite(middle) else least


def _may_hold(zone: Zone, probe: Zone, value: object) -> bool:
    for name in ("numbers", "times", "texts"):
        if getattr(probe, name) is not None:
            pair = getattr(zone, name)
            return pair is not None and pair[0] <= value and (pair[1] is None or value <= pair[1])
    return True


def _ranked_filters(
    facts: Sequence[BlockFacts],
    zones: dict[FieldPath, tuple[Zone | None, ...]],
    asked: Collection[FieldPath],
    had: Collection[_Key],
) -> list[tuple[_Key, MembershipFilter, int]]:
    """Order filters by what they leave out for a byte."""
    ranked = []
    for at, key in enumerate(dict.fromkeys(chain.from_iterable(fact.sets for fact in facts))):
        path, kind = key
        if kind in (WORDS, PREFIXES):
            continue
        found = MembershipFilter(kind != INTEGERS, tuple([fact.sets.get(key) for fact in facts]))
        size_bytes = found.size_bytes
        is_sure = path in asked or key in had
        if not size_bytes and not is_sure:
            continue
        share = _share_held(found, [fact.samples.get(key, []) for fact in facts])
        known = zones.get(path, (None,))
        gain = max(0.0, share_read(known) - share) * _share_filled(known, found)
        if (share > _MOST_READ or gain < _LEAST_FILTER_GAIN) and not is_sure:
            continue
        cost = _cost(path, size_bytes + 4 * len(facts))
        is_last = kind == TEXTS and (_begin_alike(known) or _are_sentences(known))
        order = (not is_sure, is_last, -round(gain, 1), len(path), at)
        ranked.append((order, key, found, cost))
    ranked.sort(key=lambda one: one[0])
    return [(key, found, cost) for _, key, found, cost in ranked]


def _saved_bytes(sets: Iterable[ValueSet] | None) -> int:
    """Give how many bytes fewer the halves of some sets take; an odd number has no half."""
    return sum(len(one.bits) // 2 for one in sets or () if not len(one.bits) % (2 * SET_BYTES))


def _share_filled(zones: Sequence[Zone | None], found: MembershipFilter) -> float:
    """Give the share of rows that have a value, as far as it is known."""
    values = rows = 0
    for zone, sets in zip(zones, found.sets, strict=False):
        if zone is not None and sets is not None:
            values += zone.values - zone.nulls
            rows += sum(one.rows for one in sets)
    return min(1.0, values / rows) if rows else 1.0


def _share_held(found: MembershipFilter, samples: Sequence[Sequence[int]]) -> float:
    """Give the share of other blocks that may have a value of a block, on average."""
    from sdb import _core

    probed = [at for at, sample in enumerate(samples) if sample]
    tried = held = 0
    for at in probed[:: max(1, len(probed) // _PROBED_BLOCKS)]:
        others = [sets for other, sets in enumerate(found.sets) if other != at and sets is not None]
        if not others:
            continue
        bits = [b"".join(one.bits for one in sets) for sets in others if len(sets) == 1]
        sizes = [len(one) // SET_BYTES for one in bits]
        for number in samples[at][:_PROBES]:
            held += sum(_core.sets_with(b"".join(bits), sizes, number))
            tried += len(bits)
    return held / tried if tried else 0.0


def _begin_alike(zones: Iterable[Zone | None]) -> bool:
    """Tell whether all texts begin alike, as URLs do, whose ends are mostly there by themselves."""
    pairs = [zone.texts for zone in zones if zone is not None and zone.texts is not None]
    starts = {text[:_PREFIX_BYTES] for pair in pairs for text in pair if text is not None}
    return len(starts) == 1


def _are_sentences(zones: Iterable[Zone | None]) -> bool:
    """Tell whether texts are of several words, of which hardly anybody looks for the whole."""
    pairs = [zone.texts for zone in zones if zone is not None and zone.texts is not None]
    return any(b" " in text for pair in pairs for text in pair if text is not None)
