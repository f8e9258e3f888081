"""Changes of tables: what a commit does to the index that it finds, whichever that is."""

from __future__ import annotations

from sdb.errors import ConflictError
from sdb.records import field, record, replace
from sdb.table.format.inputtree import InputsTree, Taking
from sdb.table.format.keys import original_key, own_key
from sdb.table.format.manifests import Writer, read_list

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeAlias

    from sdb.table.commit.objects import ObjectWriter
    from sdb.table.format.descriptor import Descriptor
    from sdb.table.format.history import VersionPointer
    from sdb.table.format.index import TableIndex
    from sdb.table.format.inputtree import StoredInputs, TakenInput
    from sdb.table.format.manifests import IndirectRef
    from sdb.table.format.state import RowCounts

    Fetch: TypeAlias = Callable[[str, str], bytes]
    Lineage: TypeAlias = tuple[tuple[VersionPointer, ...], tuple[int, ...], VersionPointer | None]

FAILED = -1

FOREIGN = "foreign"
EXPIRE = "expire"
COLLECT = "gc"
PURGE = "purge"
ADOPT = "adopt"
"""The operation of a version that only makes what another program has written one of ours."""
HOUSEKEEPING = frozenset({EXPIRE, COLLECT, PURGE})
"""What makes versions that have the rows of those before them, and are of no interest later."""
SAME_ROWS = HOUSEKEEPING | {"compact", ADOPT}
"""What makes versions that have the rows of those before them."""


class PackfileGoneError(ConflictError):
    """A packfile that a change replaces is not in the table any more."""


class InputKnownError(ConflictError):
    """An input that a change takes is known to the table already."""


class TransactionDoneError(ConflictError):
    """The table has done transactions of a change before."""

    def __init__(self, versions: dict[str, int]) -> None:
        super().__init__(f"{min(versions)} is version {versions[min(versions)]} already")
        self.versions = versions


class VersionChangedError(ConflictError):
    """The table is another version than a change expects; trying again is of no use."""


def version_changed(name: str, version: int, expected: int) -> VersionChangedError:
    """Make the error for a table, tag or branch that is another version than expected."""
    return VersionChangedError(
        f"{name} is version {version:,}, and no longer {expected:,}",
        hint="read the newer version, and decide again",
    )


@record
class ChangedInput:
    """An input that a change takes."""

    # The input
    path: str
    etag: str
    packfile: int = 0  # which of the packfiles that are added has its rows; `FAILED`: it has none
    # Whether it takes the place of what is known of it. Otherwise it must be new, or have failed
    # with another ETag.
    is_forced: bool = False
    reason: str = ""  # why it has no rows


@record
class TableChange:
    """A change of a table."""

    operation: str  # what makes it
    added: tuple[Descriptor, ...] = ()  # packfiles that come in
    removed: frozenset[str] = frozenset()  # keys of packfiles that go. All of them must be there.
    inputs: tuple[ChangedInput, ...] = ()  # inputs whose rows come in
    # The digest of the definition by which all inputs were listed; None: they were not
    definition: bytes | None = None
    # Who makes it, and why; may be empty
    author: str = ""
    message: str = ""
    # Whose packfiles and inputs the table has afterwards, whatever it has now; `added` tells which
    # packfiles are new then, and `removed` those that go
    content: TableIndex | None = None
    # The branch that is merged, empty if only a part of it is, and the version of it
    merged: tuple[str, VersionPointer] | None = None
    # Ids of transactions that it does; a table that has done one of them refuses it
    ids: tuple[str, ...] = ()
    # The number of the version that it must follow, 0 for a table without any; None: any
    expects: int | None = None
    # The boundary of an index that was read before the packfiles that come in were written; None:
    # not known, so that it is looked whether they are there still
    since_us: int | None = None
    # Numbers of versions that the history does not tell any more
    expired: frozenset[int] = frozenset()
    thinned: frozenset[int] = frozenset()  # those of them that the next one stands for
    untagged: frozenset[str] = frozenset()  # names of tags that go
    unmerged: frozenset[str] = frozenset()  # branches whose last merge is forgotten
    # Keys of versions that were merged before, and are forgotten
    unjoined: frozenset[str] = frozenset()
    # What is older may be collected, from the version on that this makes; 0: as before
    boundary_us: int = 0
    # When the version that this follows had become the newest; 0: not known
    parent_since_us: int = 0
    # Tables whose packfiles it refers to, and the branches that keep them
    shares: dict[str, str] = field(default_factory=dict)
    # Key of the intent of the transaction over several tables that this is a part of
    transaction: str = ""
    # Whether it makes the table, so that this may be one that was dropped
    makes_table: bool = False
    # What the state tells of merges then, see :func:`sdb.table.history.mergebase.lineage`
    lineage: Lineage | None = None
    # What becomes of rows; None: not known, unless packfiles only come, or only go
    counts: RowCounts | None = None
    # Whether packfiles that come in the place of others say which rows their rows were
    is_traced: bool = False
    # The schema from the version on, see :mod:`sdb.table.schema.stored`; None: it stays
    schema: bytes | None = None

    @property
    def follows_rows(self) -> bool:
        """True if each row of each packfile that comes in is new, or is known again."""
        if self.content is not None or self.merged is not None or self.operation == FOREIGN:
            return self.is_traced
        return self.is_traced or not (self.added and self.removed)

    @property
    def is_nothing(self) -> bool:
        """True if it leaves the rows and inputs of the table as they are."""
        if self.content is not None or self.merged is not None or self.schema is not None:
            return False
        return not (self.added or self.removed or self.inputs)


@record
class ChangedIndex:
    """An index with a change."""

    index: TableIndex  # the index
    removed: tuple[Descriptor, ...]  # the packfiles that went


def apply_change(index: TableIndex, change: TableChange, writer: ObjectWriter) -> ChangedIndex:
    """Apply a change to an index. Nodes of its trees are written where they change.

    Raises `PackfileGoneError` if a packfile that the change removes is not there and
    `InputKnownError` if an input is known already.
    """
    if change.content is not None:
        return _replaced(index, change, change.content, writer)
    first = index.objects
    inputs = _with_inputs(index, change, first, writer)
    gone = frozenset(map(own_key, change.removed))
    changed, removed = _without(index, gone, writer)
    # New packfiles go where the first one was that they replace, so that rows keep their order.
    at = next(
        (at for at, packfile in enumerate(index.inline) if own_key(packfile.key) in gone),
        len(changed.inline),
    )
    inline = (*changed.inline[:at], *change.added, *changed.inline[at:])
    full = replace(changed, inline=inline, inputs=inputs)
    if change.operation == PURGE and full.indirect.indices:  # times of rows that are gone
        lists = Writer(writer.root.fetch, writer.indirect)
        full = replace(full, indirect=full.indirect.narrowed(lists))
    if change.definition is not None:
        # All inputs were listed, so that a scan that the original has begun is over.
        user_data = index.user_data | {"definition": {"hash": change.definition}}
        full = replace(full, user_data=user_data, is_scanning=False, cursors=())
    return ChangedIndex(spill(full, writer), removed)


def _replaced(
    index: TableIndex, change: TableChange, content: TableIndex, writer: ObjectWriter
) -> ChangedIndex:
    """Return an index the packfiles and inputs of another one."""
    added, removed = packfiles_between(index, content, writer.root.fetch)
    gone = frozenset(map(own_key, change.removed))
    if own_keys(added) != own_keys(change.added) or gone != own_keys(removed):
        raise PackfileGoneError("another writer has changed the packfiles")
    full = replace(index, inline=content.inline, indirect=content.indirect, inputs=content.inputs)
    return ChangedIndex(spill(full, writer), removed)


def spill(index: TableIndex, writer: ObjectWriter) -> TableIndex:
    """Move the older half of many packfiles from an index to the indirect tree."""
    if len(index.inline) <= writer.env.limits.inline_packfiles:
        return index
    # Half of them at once: moving one with each commit would write a list each time.
    half = len(index.inline) // 2
    lists = Writer(writer.root.fetch, writer.indirect)
    indirect, _ = index.indirect.appended(index.inline[:half], half, lists)
    return replace(index, indirect=indirect, inline=index.inline[half:])


def _with_inputs(
    index: TableIndex, change: TableChange, first: int, writer: ObjectWriter
) -> StoredInputs:
    if not change.inputs:
        return index.inputs
    tree = InputsTree(index.inputs, writer.root.fetch)
    for changed in change.inputs:
        number = FAILED if changed.packfile == FAILED else first + changed.packfile
        if changed.is_forced:
            tree.put(changed.path, changed.etag, number)
        elif tree.insert(changed.path, changed.etag, number) is not Taking.TAKEN:
            raise InputKnownError(
                f"{changed.path}: the table knows this input already", path=changed.path
            )
    return tree.write_out(writer.inputs, writer.env.limits).stored


def _without(
    index: TableIndex, keys: frozenset[str], writer: ObjectWriter
) -> tuple[TableIndex, tuple[Descriptor, ...]]:
    """Take packfiles out of an index: of the list in it, and of those that hold the others."""
    if not keys:
        return index, ()
    own = own_key
    removed = [packfile for packfile in index.inline if own(packfile.key) in keys]
    inline = tuple([packfile for packfile in index.inline if own(packfile.key) not in keys])
    missing = keys - own_keys(removed)
    if not missing:
        return replace(index, inline=inline), tuple(removed)
    lists = Writer(writer.root.fetch, writer.indirect)
    refs = []
    for ref in index.indirect.refs:
        if missing and not missing.isdisjoint(_keys(lists, ref)):
            listed = lists.read(ref)
            gone = [packfile for packfile in listed if own(packfile.key) in missing]
            remaining = tuple([packfile for packfile in listed if own(packfile.key) not in missing])
            removed += gone
            missing -= own_keys(gone)
            refs.append(replace(lists.write(remaining), original_objects=ref.original_objects))
        else:
            refs.append(ref)
    if missing:
        some = min(missing)
        raise PackfileGoneError(f"{some}: another writer has replaced it", path=some)
    indirect = replace(index.indirect, refs=tuple(refs))
    return replace(index, inline=inline, indirect=indirect), tuple(removed)


def _keys(lists: Writer, ref: IndirectRef) -> list[str]:
    from sdb.table.format.columns import DescriptorList

    listed_keys = DescriptorList(lists.fetch(ref.key, ref.etag), ref).keys()
    return [own_key(key) for key in listed_keys]


def packfiles_between(
    before: TableIndex | None, after: TableIndex, fetch: Fetch
) -> tuple[tuple[Descriptor, ...], tuple[Descriptor, ...]]:
    """Compare the packfiles of two versions; lists that both have are not read.

    A packfile of the original and our copy of it (:mod:`sdb.table.commit.adoption`) are the same.

    * ``before``: The one; None: an empty table.
    """
    shared: set[str] = set()
    if before is not None:
        shared = {ref.key for ref in before.indirect.refs} & {
            ref.key for ref in after.indirect.refs
        }
    old = _listed(before, shared, fetch)
    new = _listed(after, shared, fetch)
    added = tuple([packfile for key, packfile in new.items() if key not in old])
    return added, tuple([packfile for key, packfile in old.items() if key not in new])


def contents_between(
    before: TableIndex | None, after: TableIndex, fetch: Fetch
) -> tuple[dict[str, Descriptor], dict[str, Descriptor]]:
    """Compare the packfiles of two versions, taking copies of one for the same.

    Commits copy packfiles that a collector may be about to delete. See :func:`packfiles_between`.

    Returns: Descriptors that came in and that went, by the keys that the packfiles had at first.
    """
    came, went = packfiles_between(before, after, fetch)
    added = {original_key(packfile.key): packfile for packfile in came}
    removed = {original_key(packfile.key): packfile for packfile in went}
    return (
        {key: packfile for key, packfile in added.items() if key not in removed},
        {key: packfile for key, packfile in removed.items() if key not in added},
    )


def _listed(index: TableIndex | None, shared: set[str], fetch: Fetch) -> dict[str, Descriptor]:
    by_key: dict[str, Descriptor] = {}
    if index is None:
        return by_key
    for ref in index.indirect.refs:
        if ref.key not in shared:
            listed = read_list(fetch(ref.key, ref.etag), ref)
            by_key |= {own_key(packfile.key): packfile for packfile in listed}
    return by_key | {own_key(packfile.key): packfile for packfile in index.inline}


def rows_of(packfiles: Iterable[Descriptor]) -> int | None:
    """Return the number of rows of packfiles; None: one does not tell."""
    total = 0
    for packfile in packfiles:
        if packfile.rows is None:
            return None
        total += packfile.rows
    return total


def rows_in(index: TableIndex, fetch: Fetch) -> int | None:
    """Return the number of rows of an index, of which lists are read; None: it is not known."""
    total = rows_of(index.inline)
    for ref in index.indirect.refs if total is not None else ():
        more = rows_of(read_list(fetch(ref.key, ref.etag), ref))
        if total is None or more is None:
            return None
        total += more
    return total


def own_keys(packfiles: Iterable[Descriptor]) -> set[str]:
    """Return the keys that packfiles are compared by, see :func:`sdb.table.format.keys.own_key`."""
    return {own_key(packfile.key) for packfile in packfiles}


def has_longer_journal(before: TableIndex, after: TableIndex) -> bool:
    """Return whether an index has the inputs of another, and what it has noted of more of them."""
    old, new = ({taken.path for taken in index.inputs.journal or ()} for index in (before, after))
    return before.inputs.root == after.inputs.root and old <= new


def inputs_between(
    before: TableIndex | None, after: TableIndex, fetch: Fetch
) -> tuple[TakenInput, ...]:
    """Return the inputs that a version has otherwise than the one before it."""
    if before is not None and has_longer_journal(before, after):
        old = {taken.path: taken for taken in before.inputs.journal or ()}
        new = {taken.path: taken for taken in after.inputs.journal or ()}
        return tuple([new[path] for path in sorted(new) if old.get(path) != new[path]])
    known: dict[str, TakenInput] = {}
    if before is not None:
        known = {taken.path: taken for taken in InputsTree(before.inputs, fetch).walk()}
    walked = InputsTree(after.inputs, fetch).walk()
    return tuple([taken for taken in walked if known.get(taken.path) != taken])
