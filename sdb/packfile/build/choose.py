"""Chooses which statistics of a packfile are stored: those that leave out most blocks for a byte.

The selectivity of a path is estimated without its rows: values of one block are looked for in all
others, in zone maps the middle of its bounds, in filters some values of blocks just packed. The
share of blocks that may have the value is what a search for it would read.
"""

from __future__ import annotations

from itertools import accumulate, chain, islice

from sdb import notes
from sdb.errors import CorruptError
from sdb.packfile.build.newstats import facts_of_blocks, is_small
from sdb.packfile.trailer.blockstats import (
    JOINTS,
    MAX_SECTIONS,
    PREFIXES,
    TEXTS,
    WORDS,
    ZONES,
    store_sections,
)
from sdb.packfile.trailer.fieldcounts import field_name
from sdb.packfile.trailer.ribbon import MAX_PLANES, HashedSet, RibbonFilter
from sdb.packfile.trailer.ribbonslices import encode_filter
from sdb.packfile.trailer.zonemap import encode_zones, share_read
from sdb.records import record, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from sdb._core import Packer
    from sdb.packfile.build.newstats import AnySet, BlockFacts
    from sdb.packfile.build.options import StatisticsChoice
    from sdb.packfile.build.retained import RetainedPrefix
    from sdb.packfile.trailer.fieldcounts import FieldPath
    from sdb.packfile.trailer.ribbon import ValueSet
    from sdb.packfile.trailer.sparseindex import SparseIndex
    from sdb.packfile.trailer.statsection import StoredStatistics
    from sdb.packfile.trailer.trailer import Block
    from sdb.packfile.trailer.zonemap import Zone

    _Key = tuple[FieldPath, int]
    _FilterKey = tuple[FieldPath, int]
    _Sets = tuple[tuple[AnySet, ...] | None, ...]

SHARE = 50
"""Bytes of the packfile for each byte of its statistics, at least."""

ZONE_BYTES = 4096
"""Most bytes of zones for each block."""

MAX_BYTES = 8 << 20
"""Most bytes of all statistics that are not asked for."""

MOST_BYTES = 48 << 20
"""The same with all that is asked for: readers take no trailer of more than 64 MiB."""

NGRAM_BYTES = 24 << 20
"""Most bytes of filters of n-grams and prefixes: planes are left out until they fit."""

_FILTERED = {WORDS: "words", PREFIXES: "prefixes", JOINTS: "words with dots"}
_LEAST_NGRAM_PLANES = 3
_JOINT_PLANES = 6
_ZONES_SHARE = 4
_LEAST_GAIN = 0.05


def with_statistics(
    sparse: SparseIndex,
    packer: Packer,
    blocks: Sequence[Block],
    choice: StatisticsChoice,
    prefix: RetainedPrefix | None = None,
) -> SparseIndex:
    """Add the statistics of a packfile that was packed, or that grew."""
    if sparse.summary is None:
        return sparse
    size_bytes = packer.position + (prefix.size_bytes if prefix is not None else 0)
    sources = [prefix.trailer.sparse] if prefix is not None else []
    is_asked = choice.paths or choice.words or choice.prefixes
    if len(blocks) == 1 and is_small(1, size_bytes) and not is_asked and not _had(sources)[0]:
        return sparse
    facts = facts_of_blocks(packer, blocks, sparse.summary.rows, prefix)
    warn_incomplete(facts, choice.words, WORDS)
    if prefix is None:  # of blocks of older versions no joints are known
        warn_incomplete(facts, choice.words, JOINTS)
    warn_incomplete(facts, choice.prefixes, PREFIXES)
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

    * ``asked``: Paths of which everything is stored, whatever it takes.
    * ``zoned``: Paths of which zones are stored, whatever they take.
    * ``sources``: What is known of the packfiles that this one is made of: it keeps what they have,
      in as many bytes.

    Returns: None when there is nothing, or nothing that fits; and for a small packfile of few
    blocks, unless something is asked for, was there, or leaves out a block.
    """
    had, had_bytes = _had(sources)
    budget = min(max(size_bytes // SHARE, had_bytes), MAX_BYTES)
    zones = _zones(facts)
    sections: dict[_Key, tuple[bytes, bytes]] = {}
    left = max(min(budget // _ZONES_SHARE, ZONE_BYTES * len(facts)), min(had_bytes, budget))
    named = {*asked, *zoned}
    for path, section, cost in _ranked_zones(zones, named, had):
        if path in named:
            sections[path, ZONES] = section, b""
        elif cost <= left:
            left -= cost
            budget -= cost
            sections[path, ZONES] = section, b""
    sections = dict(islice(sections.items(), MAX_SECTIONS // 2))
    filters = choose_filters(facts, zones, budget, asked=asked, had=had)
    for key, values in (*islice(filters.items(), MAX_SECTIONS // 2), *choose_ngrams(facts).items()):
        sections[key] = encode_filter(values)
    is_asked = named or had or any(kind in _FILTERED for _, kind in sections)
    if is_small(len(facts), size_bytes) and not is_asked and not _leave_out(sections, zones):
        return None
    stored = store_sections(sections)
    if stored is not None and stored.size_bytes > MOST_BYTES:
        notes.warn(f"block statistics are left out: they take more than {MOST_BYTES:,} bytes")
        return None
    return stored


def _leave_out(
    sections: Iterable[_Key], zones: Mapping[FieldPath, tuple[Zone | None, ...]]
) -> bool:
    """Check whether a search for one value reads fewer blocks than all by any statistics."""
    return any(
        len(zones.get(path, ())) > 1
        and (kind != ZONES or share_read(zones[path]) <= 1 - _LEAST_GAIN)
        for path, kind in sections
    )


def _had(sources: Iterable[SparseIndex]) -> tuple[set[_Key], int]:
    """Report what statistics packfiles have, and how many bytes they take."""
    had: set[_Key] = set()
    size_bytes = 0
    for sparse in sources:
        try:
            statistics = sparse.statistics()
        except CorruptError:
            statistics = None
        if statistics is not None and sparse.stored_statistics is not None:
            had.update(statistics.sizes)
            size_bytes += sparse.stored_statistics.size_bytes - statistics.bytes_of(*_FILTERED)
    return had, size_bytes


def _zones(facts: Sequence[BlockFacts]) -> dict[FieldPath, tuple[Zone | None, ...]]:
    paths = dict.fromkeys(chain.from_iterable(fact.zones for fact in facts))
    return {path: tuple([fact.zones.get(path) for fact in facts]) for path in paths}


def _ranked_zones(
    zones: dict[FieldPath, tuple[Zone | None, ...]],
    asked: Collection[FieldPath],
    had: Collection[_Key],
) -> list[tuple[FieldPath, bytes, int]]:
    """Order paths by what their zones leave out for a byte, with the section and its cost."""
    ranked = []
    for path, zones_of_path in zones.items():
        gain = 1 - share_read(zones_of_path)
        is_sure = path in asked or (path, ZONES) in had
        # With a single block, zones distinguish the packfile from others of the same table.
        if is_sure or gain >= _LEAST_GAIN or len(zones_of_path) == 1 or _is_constant(zones_of_path):
            section = encode_zones(zones_of_path)
            size_bytes = section_bytes(path, len(section))
            worth = max(gain, _LEAST_GAIN) / size_bytes
            ranked.append((not is_sure, -worth, path, section, size_bytes))
    ranked.sort(key=lambda candidate: candidate[:2])
    return [candidate[2:] for candidate in ranked]


def _is_constant(zones: Iterable[Zone | None]) -> bool:
    """Return whether there is one value only, which distinguishes the packfile from others."""
    held = [zone for zone in zones if zone is not None]
    return len({zone.numbers or zone.texts or zone.times for zone in held}) == 1 and all(
        pair is None or pair[0] == pair[1]
        for zone in held
        for pair in (zone.numbers, zone.texts, zone.times)
    )


def choose_ngrams(facts: Sequence[BlockFacts]) -> dict[tuple[FieldPath, int], RibbonFilter]:
    """Return the filters of words and prefixes that blocks have, as large as they may be."""
    keys = dict.fromkeys(key for fact in facts for key in fact.sets if key[1] in _FILTERED)
    filters = {key: RibbonFilter(is_text=False, sets=_stored_sets(facts, key)) for key in keys}
    for planes in range(MAX_PLANES, _LEAST_NGRAM_PLANES - 1, -1):
        filters = {
            key: ngrams.with_planes(min(planes, _JOINT_PLANES) if key[1] == JOINTS else planes)
            for key, ngrams in filters.items()
        }
        if _size(filters) <= NGRAM_BYTES:
            return filters
    what = " and ".join(dict.fromkeys(_FILTERED[kind] for _, kind in keys))
    notes.warn(f"filters of {what} are left out: they take more than {NGRAM_BYTES:,} bytes")
    return {}


def _stored_sets(
    facts: Sequence[BlockFacts], key: tuple[FieldPath, int]
) -> tuple[tuple[ValueSet, ...] | None, ...]:
    """Return the sets of each block, as they are stored."""
    sets_of_blocks = [fact.sets.get(key) for fact in facts]
    return tuple(
        [
            None
            if sets is None
            else tuple([value_set.with_planes(MAX_PLANES) for value_set in sets])
            for sets in sets_of_blocks
        ]
    )


def warn_incomplete(facts: Sequence[BlockFacts], paths: Sequence[FieldPath], kind: int) -> None:
    """Warn of blocks without the n-grams or prefixes that were asked for."""
    for path in paths:
        unknown = sum((path, kind) not in fact.sets for fact in facts)
        if unknown:
            name = field_name(path) if path else "the rows"
            notes.warn(
                f"the {_FILTERED[kind]} of {name} are not known in {unknown:,} of {len(facts):,}"
                " blocks: there are too many different ones"
            )


def _size(filters: dict[tuple[FieldPath, int], RibbonFilter]) -> int:
    return sum(ngrams.size_bytes for ngrams in filters.values())


# Chooses which filters of values a packfile has, and with how many planes.

ASKED_BYTES = 16 << 20
"""Most bytes of all filters of paths that are asked for."""

HEAD_BYTES = 12
"""Bytes of a section beside its data and the names of its path, about."""

_ENOUGH_PLANES = 7
_LEAST_PLANES = 3
_SET_BYTES = 10
_MOST_READ = 0.75
_LEAST_FILTER_GAIN = 0.01
_PROBED_BLOCKS = 16
_ASKED_BLOCKS = 64
_PROBES = 4
_PREFIX_BYTES = 8


def choose_filters(
    facts: Sequence[BlockFacts],
    zones: Mapping[FieldPath, Sequence[Zone | None]],
    budget: int,
    *,
    asked: Collection[FieldPath],
    had: Collection[_FilterKey],
) -> dict[_FilterKey, RibbonFilter]:
    """Make filters as far as there is room, of those that leave out most first.

    A path has seven planes, or what is left of the room if that is three at least; and then the
    eighth: for few more false answers as many paths as possible have a filter.

    * ``asked``: Paths that have all planes, as far as `ASKED_BYTES` go: then all of them have
      fewer.
    * ``had``: Path and kind of the filters that come first.
    """
    ranked = _ranked(facts, zones, asked, had)
    planes = _asked_planes(ranked)
    others = [(at, candidate) for at, candidate in enumerate(ranked) if candidate.group != _ASKED]
    for enough in (_ENOUGH_PLANES, MAX_PLANES):
        for at, candidate in others:
            most = enough if candidate.group > _HAD else MAX_PLANES
            costs = candidate.costs()[planes.get(at, 0) : most]
            count = len([cost for cost in accumulate(costs) if cost <= budget])
            if at in planes or count >= min(_LEAST_PLANES, len(costs)):
                planes[at] = planes.get(at, 0) + count
                budget -= sum(costs[:count])
    return {ranked[at].key: ranked[at].made(count) for at, count in sorted(planes.items())}


def _asked_planes(ranked: Sequence[_Candidate]) -> dict[int, int]:
    """Return the planes of those that are asked for, by number."""
    asked = {
        at: candidate.costs() for at, candidate in enumerate(ranked) if candidate.group == _ASKED
    }
    for planes in range(MAX_PLANES, _LEAST_PLANES - 1, -1):
        if sum(sum(costs[:planes]) for costs in asked.values()) <= ASKED_BYTES:
            return dict.fromkeys(asked, planes)
    notes.warn(
        f"filters that were asked for are left out: they take more than {ASKED_BYTES:,} bytes"
    )
    return {}


def section_bytes(path: FieldPath, data_bytes: int) -> int:
    """Return about how many bytes a section takes, its entry in the head included."""
    return HEAD_BYTES + sum(len(name or "") for name in path) // 2 + data_bytes


# Groups, of which the first ones are served first.
_ASKED, _HAD, _PLAIN, _LONG = range(4)


@record
class _Candidate:
    """The sets of values at a path, which may become a filter."""

    key: _FilterKey  # the path, and the kind of the filter
    sets: _Sets  # the sets of each block
    group: int  # lower ones are served first
    gain: float  # the share of the blocks that they leave out

    def costs(self) -> list[int]:
        """Return about how many bytes each plane takes, as long as any set has it."""
        costs = [0] * MAX_PLANES
        count = 0
        for value_set in chain.from_iterable(sets or () for sets in self.sets):
            costs[value_set.planes - 1] += value_set.plane_bytes
            count += 1
        costs = [*accumulate(reversed(costs))][::-1]
        costs[0] = section_bytes(self.key[0], costs[0] + _SET_BYTES * count)
        return [*filter(None, costs)]

    def made(self, planes: int) -> RibbonFilter:
        """Make the filter, with a number of planes."""
        sets = [
            None
            if sets_of_block is None
            else tuple([value_set.with_planes(planes) for value_set in sets_of_block])
            for sets_of_block in self.sets
        ]
        return RibbonFilter(self.key[1] == TEXTS, tuple(sets))


def _ranked(
    facts: Sequence[BlockFacts],
    zones: Mapping[FieldPath, Sequence[Zone | None]],
    asked: Collection[FieldPath],
    had: Collection[_FilterKey],
) -> list[_Candidate]:
    """Order what may become filters by what it leaves out."""
    ranked = []
    for at, key in enumerate(dict.fromkeys(chain.from_iterable(fact.sets for fact in facts))):
        path, kind = key
        if kind in (WORDS, PREFIXES, JOINTS):
            continue
        sets = tuple([fact.sets.get(key) for fact in facts])
        is_sure = path in asked or key in had
        if not is_sure and not any(
            value_set.plane_bytes for block in sets for value_set in block or ()
        ):
            continue
        share = _share_held(sets)
        zones_of_path = zones.get(path, (None,))
        gain = max(0.0, share_read(zones_of_path) - share) * _share_filled(zones_of_path, sets)
        if (share > _MOST_READ or gain < _LEAST_FILTER_GAIN) and not is_sure:
            continue
        is_long = kind == TEXTS and (_begin_alike(zones_of_path) or _are_sentences(zones_of_path))
        group = _ASKED if path in asked else _HAD if is_sure else _LONG if is_long else _PLAIN
        order = (group, -round(gain, 1), len(path), at)
        ranked.append((order, _Candidate(key, sets, group, gain)))
    ranked.sort(key=lambda scored: scored[0])
    return [scored for _, scored in ranked]


def _share_filled(zones: Sequence[Zone | None], sets: _Sets) -> float:
    """Return the share of rows that have a value, as far as it is known."""
    values = rows = 0
    for zone, block in zip(zones, sets, strict=False):
        if zone is not None and block is not None:
            values += zone.values - zone.nulls
            rows += sum(value_set.rows for value_set in block)
    return min(1.0, values / rows) if rows else 1.0


def _share_held(sets: _Sets) -> float:
    """Return the share of other blocks that may have a value of a block, on average."""
    single = {at: block[0] for at, block in enumerate(sets) if block and len(block) == 1}
    packed = [
        (at, value_set.hashes)
        for at, value_set in single.items()
        if isinstance(value_set, HashedSet)
    ]
    asked = [*single.items()][:: max(1, len(single) // _ASKED_BLOCKS)]
    tried = held = 0
    for at, hashes in packed[:: max(1, len(packed) // _PROBED_BLOCKS)]:
        for number in hashes.sample()[:_PROBES]:
            block = [value_set.may_have(number) for other, value_set in asked if other != at]
            held += sum(block)
            tried += len(block)
    return held / tried if tried else 0.0


def _begin_alike(zones: Iterable[Zone | None]) -> bool:
    """Check whether all texts begin alike, as URLs do, so that their ends mostly suffice."""
    pairs = [zone.texts for zone in zones if zone is not None and zone.texts is not None]
    starts = {text[:_PREFIX_BYTES] for pair in pairs for text in pair if text is not None}
    return len(starts) == 1


def _are_sentences(zones: Iterable[Zone | None]) -> bool:
    """Return whether texts are of several words, of which hardly anybody looks for the whole."""
    pairs = [zone.texts for zone in zones if zone is not None and zone.texts is not None]
    return any(b" " in text for pair in pairs for text in pair if text is not None)
