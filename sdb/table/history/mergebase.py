"""The merge base: the newest version that both sides of a merge came from.

It is found by parents and merges, never by times. Where it is not known any more, a merge is
refused: with an older one, rows that a side has rewritten since would be there twice, and rows that
it has deleted would come back.
"""

from __future__ import annotations

from itertools import combinations, pairwise

from sdb.errors import ConflictError, CorruptError
from sdb.records import record, replace
from sdb.table.catalog.handle import find_table
from sdb.table.commit.change import HOUSEKEEPING, contents_between
from sdb.table.format.history import VersionPointer
from sdb.table.format.keys import original_key
from sdb.table.format.state import state_of
from sdb.table.format.versionref import MAIN
from sdb.table.history.holds import is_hold
from sdb.table.history.lineage import Ancestry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from sdb.table.catalog.handle import TableHandle
    from sdb.table.format.descriptor import Descriptor
    from sdb.table.format.history import PastVersion
    from sdb.table.format.index import TableIndex
    from sdb.table.format.state import VersionState

_WAY_OUT = (
    "sdb diff TABLE TABLE@BRANCH; INSERT INTO TABLE SELECT * FROM TABLE@BRANCH WHERE ... takes "
    "over what is missing, then sdb branch -d TABLE BRANCH"
)
_ADDING = HOUSEKEEPING | {"insert", "adopt"}


class BaseGoneError(ConflictError):
    """A merge whose base is not kept any more."""


@record
class MergeBase:
    """The version that two sides of a merge have in common, and where each came from."""

    # The version that both came from. Its packfiles may be those of several, where both sides have
    # merged each other. None: the destination has all of the source already.
    handle: TableHandle | None
    # What the destination and the source came from
    ours: Ancestry
    theirs: Ancestry


def merge_base(theirs: TableHandle, index: TableIndex) -> MergeBase:
    """Find the newest version that both sides come from.

    Raises `BaseGoneError` if it is not kept, or it is not known which version it is.
    """
    own, other = state_of(index.user_data), theirs.state
    if own is None or other is None:
        raise ConflictError(f"{theirs.name}: the branches have no version in common")
    ours, source = Ancestry(theirs, own, is_head=True), Ancestry(theirs, other)
    if source.chains[0][0].key in ours.known:
        return MergeBase(None, ours, source)
    handle = _base_after_purges(theirs, ours, source, min(own.purged, other.purged))
    _check_picked(theirs, ours, source)
    _check_picked(theirs, source, ours)
    base = _with_parts(theirs, handle, (ours, index), (source, theirs.index))
    return MergeBase(base, ours, source)


def kept_for_branches(table: TableHandle, state: VersionState) -> set[int]:
    """Return the numbers of versions of the main branch that merges of other branches will need.

    Returns: For each branch the newest version that it came from, merge bases, and versions of
    which a part was merged, or that have merged one.
    Raises `CorruptError` if the index of a branch, or what it leads to, is damaged.
    """
    needed: set[int] = set()
    keys, own = table.keys, None
    for name in state.branches:
        head = None if is_hold(name) else find_table(table.root, *_names(table), branch=name)
        if head is None or head.state is None:
            continue
        own = own or Ancestry(table, state, is_head=True)
        branch = Ancestry(table, head.state, is_head=True)
        wanted = [version.key for version in _heads(table, own, branch)]
        wanted += [] if branch.main is None else [branch.main.key]
        for version, merged in (*own.picked, *branch.picked):
            wanted += [version.key, merged.key]
        named = map(keys.version_of, wanted)
        main = {version.key for version in own.chains[0]}
        numbers = (
            numbered[0]
            for key, numbered in zip(wanted, named, strict=True)
            if numbered and key in main
        )
        needed.update(numbers)
    return needed


def _names(table: TableHandle) -> tuple[str, str]:
    return table.keys.database, table.keys.table


def _base(table: TableHandle, ours: Ancestry, theirs: Ancestry) -> TableHandle:
    """Return the version that both came from; of several what a merge of them would have."""
    low = min(
        filter(None, (ours.main, theirs.main)), key=lambda version: version.version, default=None
    )
    if low is not None and None not in (ours.main, theirs.main):
        for side in (ours, theirs):
            if low.key not in side.known:
                side.look_for(low)
    heads = _heads(table, ours, theirs)
    if not heads or not _is_certain(table, ours, theirs, low, heads):
        raise _gone(table)
    try:
        handles = [table.version(version.key, version.etag) for version in heads]
    except CorruptError:
        raise _gone(table) from None
    return handles[0] if len(handles) == 1 else _together(table, handles)


def _base_after_purges(
    table: TableHandle, ours: Ancestry, theirs: Ancestry, purged: int
) -> TableHandle:
    """Find the version that both came from, where neither has forgotten a later one.

    Raises `BaseGoneError` if the version is not known, or one up to the number `purged`, which both
    have forgotten.
    """
    error = BaseGoneError(
        f"{table.name}: the merge base of both branches was purged",
        hint="delete the branch and begin it anew, or insert its rows into the other one",
    )
    try:
        base = _base(table, ours, theirs)
    except BaseGoneError:
        if purged:
            raise error from None
        raise
    if any(version.version < purged for version in _heads(table, ours, theirs)):
        raise error
    return base


def _gone(table: TableHandle) -> BaseGoneError:
    return BaseGoneError(
        f"{table.name}: the merge base of both sides has expired, so that new rows cannot be "
        "told from old ones",
        hint=_WAY_OUT.replace("TABLE", table.name),
    )


def _heads(table: TableHandle, ours: Ancestry, theirs: Ancestry) -> list[PastVersion]:
    """Return the versions that both came from, but for those that another one came from."""
    heads: dict[str, PastVersion] = {}
    for chain in ours.chains:
        version = next((version for version in chain if version.key in theirs.known), None)
        if version is not None:
            heads[version.key] = version if version.etag else theirs.known[version.key]
    if len(heads) == 1:
        return list(heads.values())
    below = {key: _below(table, version, (ours, theirs)) - {key} for key, version in heads.items()}
    return [
        version for key, version in heads.items() if not any(key in keys for keys in below.values())
    ]


def _below(table: TableHandle, version: PastVersion, sides: Iterable[Ancestry]) -> set[str]:
    """Return the keys of a version and of all that it came from."""
    try:
        state = table.version(version.key, version.etag).state
    except CorruptError:
        state = None
    below = set() if state is None else set(Ancestry(table, state).known)
    for chain in (chain for side in sides for chain in side.chains):
        keys = [past.key for past in chain]
        if version.key in keys:
            below.update(keys[keys.index(version.key) :])
    return below


def _is_certain(
    table: TableHandle,
    ours: Ancestry,
    theirs: Ancestry,
    low: PastVersion | None,
    heads: list[PastVersion],
) -> bool:
    """Return whether no version that has expired is one that both came from, and newer.

    Those of the main branch follow each other, and none but these expire: whatever both came from
    there, the older one of the newest that either came from does.
    """
    if not (ours.is_complete and theirs.is_complete):
        return False
    for side, other in ((ours, theirs), (theirs, ours)):
        if any(version.key not in other.known for version in side.unknown):
            return False
    if low is None or ours.main is None or theirs.main is None:
        return False
    if low.key in ours.known and low.key in theirs.known:
        return True
    if any(low.key in _below(table, version, (ours, theirs)) for version in heads):
        return True
    return _parted(table, ours.chains[0], theirs.chains[0])


def _parted(table: TableHandle, ours: list[PastVersion], theirs: list[PastVersion]) -> bool:
    """Return whether two histories are known to part behind the newest version that both have."""
    their_keys = {version.key for version in theirs}
    common = next((version.key for version in ours if version.key in their_keys), None)
    if common is None:
        return False
    for chain in (ours, theirs):
        at = [version.key for version in chain].index(common)
        if not at:
            continue  # it is the newest
        after = chain[at - 1]
        try:
            state = table.version(after.key, after.etag).state
        except CorruptError:
            return False
        if state is None or state.parent is None or state.parent.key != common:
            return False
    return True


def _together(table: TableHandle, handles: list[TableHandle]) -> TableHandle:
    """Return what a merge of versions has: both sides came from each of them."""
    present: dict[str, Descriptor] = {}
    for handle in handles:
        present |= {original_key(descriptor.key): descriptor for descriptor in handle.descriptors()}
    for handle, other in combinations(handles, 2):
        if handle.state is None or other.state is None:
            raise _gone(table)
        before = _base(table, Ancestry(table, handle.state), Ancestry(table, other.state))
        for side in (handle, other):
            for key in contents_between(before.index, side.index, table.root.fetch)[1]:
                present.pop(key, None)
    index = handles[0].index
    bare = replace(index, inline=tuple(present.values()), indirect=replace(index.indirect, refs=()))
    return replace(handles[0], index=bare)


def _with_parts(
    table: TableHandle, base: TableHandle, *sides: tuple[Ancestry, TableIndex]
) -> TableHandle:
    """Add the packfiles that both sides have had at some time, although no version of both did.

    One of them has taken over a part of the other, or both have committed the same: where it is
    gone now, it was deleted.
    """
    had: list[dict[str, Descriptor]] = []
    for (side, index), (other, _) in zip(sides, reversed(sides), strict=True):
        merged = [two for _, two in other.picked if two.key in side.known]
        wanted = {version.key: version.etag for version in _before_rewrites(side, other)}
        wanted |= {
            version.key: version.etag
            for version, _ in side.picked
            if version.key not in other.known
        }
        wanted |= {version.key: version.etag for version in merged}
        added = _added(table, base, index)
        for key, etag in wanted.items():
            try:
                added |= _added(table, base, table.version(key, etag).index)
            except CorruptError:
                if key in {version.key for version in merged} | {
                    version.key for version, _ in side.picked
                }:
                    raise _gone(table) from None
        had.append(added)
    now = [_added(table, base, index).keys() for _, index in sides]
    extra = [
        descriptor
        for key, descriptor in had[0].items()
        if key in had[1] and key not in now[0] & now[1]
    ]
    if not extra:
        return base
    index = base.index
    return replace(base, index=replace(index, inline=(*index.inline, *extra)))


def _check_picked(table: TableHandle, side: Ancestry, other: Ancestry) -> None:
    """Check that no part that a side has taken has rows of the other one in another packfile.

    What was taken is known by its packfiles. Where the branch that it is of has rewritten rows that
    the other side has, too, cannot be known.
    """
    for version, merged in side.picked:
        if version.key in other.known or {merged.key} & (other.known.keys() | side.known.keys()):
            continue
        try:
            state = table.version(merged.key, merged.etag).state
        except CorruptError:
            raise _gone(table) from None
        if state is None:
            raise _gone(table)
        whole = Ancestry(table, state)
        needed = [version.key for version, _ in whole.picked]
        needed += [version.key for version in _heads(table, whole, other)]
        if not side.known.keys() >= set(needed):
            raise ConflictError(
                f"{table.name}: version {version.version} of one side has a part of "
                f"{state.branch or MAIN}@{state.version}, which may have rows of the other side",
                hint=f"merge {state.branch or MAIN} into it as a whole first",
            )


def _added(table: TableHandle, base: TableHandle, index: TableIndex) -> dict[str, Descriptor]:
    return contents_between(base.index, index, table.root.fetch)[0]


def _before_rewrites(side: Ancestry, other: Ancestry) -> list[PastVersion]:
    """Return versions of one side alone that were followed by one that may have removed rows."""
    versions = []
    for after, before in pairwise(side.chains[0]):
        if before.key in other.known:
            break
        if after.operation not in _ADDING:
            versions.append(before)
    return versions


def lineage(
    base: MergeBase, state: VersionState, source: str, pointer: VersionPointer
) -> tuple[tuple[VersionPointer, ...], tuple[int, ...], VersionPointer | None]:
    """Return what the state records of merges once a version is merged as a whole.

    Returns: Versions that were merged and that `merges` does not have; numbers of versions that
    have merged a part of another one, which is not merged as a whole; and the newest version of the
    main branch that a version of another branch came from.
    """
    ours, theirs = base.ours, base.theirs
    before = state.merges.get(source)
    joined = [*ours.joined, *([] if before is None or before == pointer else [before])]
    left = tuple([pointer for pointer in joined if pointer.key not in theirs.known])
    own = {version.key for version in ours.chains[0]}
    picked = [
        version.version
        for version, two in ours.picked
        if two.key not in theirs.known and version.key in own
    ]
    return left, tuple(sorted(set(picked))), newest_main(ours, theirs)


def newest_main(*sides: Ancestry) -> VersionPointer | None:
    """Return the newest version of the main branch that any of some versions came from."""
    mains = [side.main for side in sides]
    if None in mains:
        return None
    newest = max((main for main in mains if main is not None), key=lambda main: main.version)
    return VersionPointer(newest.version, newest.key, newest.etag)
