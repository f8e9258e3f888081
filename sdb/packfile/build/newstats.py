"""Facts of blocks while packfiles are made: zones and sets of values, joined as their blocks are.

What is not known of a part of a block is not known of the block: a path stays only where each part
has it.
"""

from __future__ import annotations

from sdb import notes
from sdb.errors import CorruptError
from sdb.packfile.trailer.blockstats import INTEGERS, JOINTS, PREFIXES, TEXTS, WORDS, ZONES
from sdb.packfile.trailer.ribbon import HashedSet, ValueSet
from sdb.packfile.trailer.zonemap import Zone, join_zones
from sdb.records import field, record, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from sdb._core import BlockStatistics, Packer
    from sdb._core import Zone as CoreZone
    from sdb.packfile.build.retained import RetainedPrefix
    from sdb.packfile.trailer.fieldcounts import FieldPath
    from sdb.packfile.trailer.sparseindex import SparseIndex
    from sdb.packfile.trailer.trailer import Block

    AnySet: TypeAlias = ValueSet | HashedSet

SMALL_BYTES = 1 << 20
"""Size of packfiles, in bytes, up to which tables ask for no statistics: rows are read as fast."""

FEW_BLOCKS = 4
"""Small packfiles with fewer blocks have statistics only if these distinguish the blocks."""

MAX_SETS = 64
"""A block that came to more sets at a path is one of which nothing is known there."""


@record
class BlockFacts:
    """The statistics of one block."""

    # The zone of each path of which it is known
    zones: dict[FieldPath, Zone] = field(default_factory=dict)
    # The sets of values by path and kind, as in :mod:`sdb.packfile.trailer.blockstats`; those of
    # rows that were just packed are made once it is known which of them are stored
    sets: dict[tuple[FieldPath, int], tuple[AnySet, ...]] = field(default_factory=dict)


NOTHING = BlockFacts()


def is_small(blocks: int, size_bytes: int) -> bool:
    """Check whether a packfile is one that has no statistics unless they leave out a block."""
    return blocks < FEW_BLOCKS and size_bytes <= SMALL_BYTES


def join_facts(parts: Sequence[BlockFacts]) -> BlockFacts:
    """Return the facts of blocks that become one, in the order of their rows."""
    first, *others = parts
    if not others:
        return first
    zones = dict(first.zones)
    for path in first.zones:
        for part in others:
            joined = join_zones(zones[path], part.zones.get(path))
            if joined is None:
                del zones[path]
                break
            zones[path] = joined
    sets = {}
    for key in first.sets:
        if all(key in part.sets for part in others):
            value_sets = tuple([value_set for part in parts for value_set in part.sets[key]])
            if len(value_sets) <= MAX_SETS:
                sets[key] = value_sets
    return BlockFacts(zones, sets)


def facts_of(sparse: SparseIndex) -> list[BlockFacts]:
    """Read the facts of each block of a packfile; nothing where they are damaged."""
    facts = [BlockFacts() for _ in range(sparse.blocks)]
    try:
        statistics = sparse.statistics()
    except CorruptError as error:
        notes.tell(f"statistics are left out: {error.message}")
        return facts
    if statistics is None:
        return facts
    statistics.load()
    for path, kind in statistics.sizes:
        if kind == ZONES:
            for fact, zone in zip(facts, statistics.zone(path) or (), strict=False):
                if zone is not None:
                    fact.zones[path] = zone
        elif kind in (TEXTS, INTEGERS, WORDS, PREFIXES, JOINTS):
            for fact, sets in zip(facts, statistics.sets(path, kind), strict=False):
                if sets is not None:
                    fact.sets[path, kind] = sets
    return facts


def without_last_rows(facts: BlockFacts, rows: int, again: int) -> BlockFacts:
    """Return the facts of a block whose last rows are packed again.

    * ``again``: How many of them are packed again. The zones still cover them, and count them.
    """
    left_rows = rows - again
    sets = {}
    for key, value_sets in facts.sets.items():
        if sum(value_set.rows for value_set in value_sets) == rows:
            left, before = [], 0
            for value_set in value_sets:
                if before < left_rows:
                    left.append(replace(value_set, rows=min(value_set.rows, left_rows - before)))
                before += value_set.rows
            sets[key] = tuple(left)
    return BlockFacts(facts.zones, sets)


def facts_of_blocks(
    packer: Packer,
    blocks: Sequence[Block],
    rows: Sequence[int],
    prefix: RetainedPrefix | None = None,
) -> list[BlockFacts]:
    """Return the facts of the blocks of a packfile that was packed, or that grew.

    Returns: Those of each block; nothing where the packer divided the rows in another way.
    """
    packed = {facts_of_run.offset: facts_of_run for facts_of_run in packed_facts(packer)}
    if prefix is None or prefix.is_nothing:
        pairs = zip(blocks, rows, strict=True)
        return [_matching(packed.get(block.offset), count) for block, count in pairs]
    old = prefix.facts()
    facts = old[: prefix.full_blocks]
    summary = prefix.trailer.sparse.summary
    for number in range(prefix.full_blocks, len(blocks)):
        if number == prefix.full_blocks and prefix.chunks and summary is not None:
            count = summary.rows[number]
            before = without_last_rows(old[number], count, prefix.rows_again)
            new = _matching(packed.get(0), rows[number] - count + prefix.rows_again)
            facts.append(join_facts([before, new]))
        else:
            new = _matching(packed.get(blocks[number].offset - prefix.size_bytes), rows[number])
            facts.append(new)
    return facts


def _matching(packed: PackedFacts | None, rows: int) -> BlockFacts:
    return packed.facts if packed is not None and packed.rows == rows else NOTHING


@record
class PackedFacts:
    """The facts of a block that was packed, or of the new part of one."""

    offset: int  # where its first frame is among what was packed
    rows: int  # number of its rows
    facts: BlockFacts  # the facts


def packed_facts(packer: Packer) -> list[PackedFacts]:
    """Take the facts of blocks from a packer that is done."""
    return [PackedFacts(block.offset, block.rows, _facts(block)) for block in packer.statistics]


def _facts(block: BlockStatistics) -> BlockFacts:
    facts = BlockFacts()
    for ngrams in block.ngrams:
        value_set = ValueSet(block.rows, ngrams.bits, ngrams.planes)
        facts.sets[ngrams.path, ngrams.kind] = (value_set,)
    for known in block.paths:
        facts.zones[known.path] = zone_of(known.zone)
        for kind, hashes in ((TEXTS, known.texts), (INTEGERS, known.integers)):
            if hashes is not None:
                facts.sets[known.path, kind] = (HashedSet(block.rows, hashes),)
    return facts


def zone_of(zone: CoreZone) -> Zone:
    """Make a zone of that of the core, which keeps integers and other floats apart."""
    pairs = [pair for pair in (zone.integers, zone.floats) if pair is not None]
    numbers = (min(p[0] for p in pairs), max(p[1] for p in pairs)) if pairs else None
    return Zone(
        zone.types,
        zone.values,
        zone.nulls,
        numbers,
        zone.texts,
        zone.times,
        zone.booleans,
        zone.has_nan,
    )
