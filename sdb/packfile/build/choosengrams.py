"""Filters of words and prefixes of a packfile that is being made: as large as they may be."""

from __future__ import annotations

from sdb import notes
from sdb.packfile.trailer.blockstats import PREFIXES, WORDS
from sdb.packfile.trailer.fieldcounts import field_name
from sdb.packfile.trailer.ribbon import MAX_PLANES, MembershipFilter, ValueSet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdb.packfile.build.newstats import BlockFacts
    from sdb.packfile.trailer.fieldcounts import FieldPath

MAX_BYTES = 24 << 20
"""Filters of words and prefixes take at most so many bytes: each has fewer planes until they do."""

_NAMES = {WORDS: "words", PREFIXES: "prefixes"}
_LEAST_PLANES = 3


def choose_words(facts: Sequence[BlockFacts]) -> dict[tuple[FieldPath, int], MembershipFilter]:
    """Return the filters of words and prefixes that blocks have, as large as they may be."""
    keys = dict.fromkeys(key for fact in facts for key in fact.sets if key[1] in (WORDS, PREFIXES))
    found = {key: MembershipFilter(is_text=False, sets=_sets(facts, key)) for key in keys}
    for planes in range(MAX_PLANES, _LEAST_PLANES - 1, -1):
        found = {key: one.with_planes(planes) for key, one in found.items()}
        if _size(found) <= MAX_BYTES:
            return found
    what = " and ".join(dict.fromkeys(_NAMES[kind] for _, kind in keys))
    notes.warn(f"filters of {what} are left out: they take more than {MAX_BYTES:,} bytes")
    return {}


def _sets(
    facts: Sequence[BlockFacts], key: tuple[FieldPath, int]
) -> tuple[tuple[ValueSet, ...] | None, ...]:
    """Return the sets of each block, as they are stored."""
    known = [fact.sets.get(key) for fact in facts]
    return tuple(
        [
            None if found is None else tuple([one.with_planes(MAX_PLANES) for one in found])
            for found in known
        ]
    )


def tell_unknown(facts: Sequence[BlockFacts], paths: Sequence[FieldPath], kind: int) -> None:
    """Warn of blocks of which the words or prefixes that somebody asked for are not known."""
    for path in paths:
        unknown = sum((path, kind) not in fact.sets for fact in facts)
        if unknown:
            name = field_name(path) if path else "the rows"
            notes.warn(
                f"the {_NAMES[kind]} of {name} are not known in {unknown:,} of {len(facts):,}"
                " blocks: there are too many different ones"
            )


def _size(found: dict[tuple[FieldPath, int], MembershipFilter]) -> int:
    return sum(one.size_bytes for one in found.values())
