"""Chooses which filters of values a packfile has, and with how many planes.

A value of one block is looked for among those of others: the share of blocks that may have it is
what a search for it would read.
"""

from __future__ import annotations

from itertools import accumulate, chain

from sdb import notes
from sdb.packfile.prune.selectivity import share_read
from sdb.packfile.trailer.blockstats import JOINTS, PREFIXES, TEXTS, WORDS
from sdb.packfile.trailer.ribbon import MAX_PLANES, HashedSet, RibbonFilter
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from sdb.packfile.build.newstats import AnySet, BlockFacts
    from sdb.packfile.trailer.fieldcounts import FieldPath
    from sdb.packfile.trailer.zonemap import Zone

    _Key = tuple[FieldPath, int]
    _Sets = tuple[tuple[AnySet, ...] | None, ...]

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
    had: Collection[_Key],
) -> dict[_Key, RibbonFilter]:
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

    key: _Key  # the path, and the kind of the filter
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
    had: Collection[_Key],
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
