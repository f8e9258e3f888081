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
    from sdb.table.format.inputnodes import StoredInputs, TakenInput
    from sdb.table.format.manifests import IndirectRef

    Fetch: TypeAlias = Callable[[str, str], bytes]
    Lineage: TypeAlias = tuple[tuple[VersionPointer, ...], tuple[int, ...], VersionPointer | None]

MAX_INLINE = 256
"""With more packfiles in the index, the older half moves to the indirect tree."""

FAILED = -1

EXPIRE = "expire"
COLLECT = "gc"
PURGE = "purge"
HOUSEKEEPING = frozenset({EXPIRE, COLLECT, PURGE})
"""What makes versions that have the rows of those before them, and are of no interest later."""


class PackfileGoneError(ConflictError):
    """A packfile that a change replaces is not in the table any more."""


class InputKnownError(ConflictError):
    """An input that a change takes is known to the table already."""


class TransactionDoneError(ConflictError):
    """The table has done transactions of a change before.

    Parameters
    ----------
    versions : dict
        The versions that did them, by their ids.
    """

    def __init__(self, versions: dict[str, int]) -> None:
        super().__init__(f"{min(versions)} is version {versions[min(versions)]} already")
        self.versions = versions


@record
class ChangedInput:
    """An input that a change takes.

    Attributes
    ----------
    path, etag : str
        The input.
    packfile : int
        Which of the packfiles that are added has its rows; `FAILED`: it has none.
    is_forced : bool
        Whether it takes the place of what is known of it. Otherwise it must be new, or have failed
        with another ETag.
    reason : str
        Why it has no rows.
    """

    path: str
    etag: str
    packfile: int = 0
    is_forced: bool = False
    reason: str = ""


@record
class TableChange:
    """A change of a table.

    Attributes
    ----------
    operation : str
        What makes it.
    added : tuple of Descriptor
        Packfiles that come in.
    removed : frozenset of str
        Keys of packfiles that go. All of them must be there.
    inputs : tuple of ChangedInput
        Inputs whose rows come in.
    definition : bytes or None
        The digest of the definition by which all inputs were listed; None: they were not.
    author, message : str
        Who makes it, and why; may be empty.
    content : TableIndex or None
        Whose packfiles and inputs the table has afterwards, whatever it has now; `added` tells
        which packfiles are new then, and `removed` those that go.
    merged : tuple or None
        The branch that is merged, empty if only a part of it is, and the version of it.
    lineage : tuple or None
        What the state tells of merges then, see :func:`sdb.table.history.mergebase.lineage`.
    ids : tuple of str
        Ids of transactions that it does; a table that has done one of them refuses it.
    since_us : int or None
        The boundary of an index that was read before the packfiles that come in were written;
        None: not known, so that it is looked whether they are there still.
    expired : frozenset of int
        Numbers of versions that the history does not tell any more.
    untagged : frozenset of str
        Names of tags that go.
    unmerged : frozenset of str
        Branches whose last merge is forgotten.
    unjoined : frozenset of str
        Keys of versions that were merged before, and are forgotten.
    boundary_us : int
        What is older may be collected, from the version on that this makes; 0: as before.
    parent_since_us : int
        When the version that this follows had become the newest; 0: not known.
    shares : dict
        Tables whose packfiles it refers to, and the branches that keep them.
    transaction : str
        Key of the intent of the transaction over several tables that this is a part of.
    makes_table : bool
        Whether it makes the table, so that this may be one that was dropped.
    """

    operation: str
    added: tuple[Descriptor, ...] = ()
    removed: frozenset[str] = frozenset()
    inputs: tuple[ChangedInput, ...] = ()
    definition: bytes | None = None
    author: str = ""
    message: str = ""
    content: TableIndex | None = None
    merged: tuple[str, VersionPointer] | None = None
    ids: tuple[str, ...] = ()
    since_us: int | None = None
    expired: frozenset[int] = frozenset()
    untagged: frozenset[str] = frozenset()
    unmerged: frozenset[str] = frozenset()
    unjoined: frozenset[str] = frozenset()
    boundary_us: int = 0
    parent_since_us: int = 0
    shares: dict[str, str] = field(default_factory=dict)
    transaction: str = ""
    makes_table: bool = False
    lineage: Lineage | None = None

    @property
    def is_nothing(self) -> bool:
        """True if it leaves the rows and inputs of the table as they are."""
        if self.content is not None or self.merged is not None:
            return False
        return not (self.added or self.removed or self.inputs)


@record
class ChangedIndex:
    """An index with a change.

    Attributes
    ----------
    index : TableIndex
        The index.
    removed : tuple of Descriptor
        The packfiles that went.
    """

    index: TableIndex
    removed: tuple[Descriptor, ...]


def apply_change(index: TableIndex, change: TableChange, writer: ObjectWriter) -> ChangedIndex:
    """Apply a change to an index. Nodes of its trees are written where they change.

    Parameters
    ----------
    index : TableIndex
        The index.
    change : TableChange
        The change.
    writer : ObjectWriter
        Writes the nodes.

    Returns
    -------
    ChangedIndex
        The index afterwards.

    Raises
    ------
    PackfileGoneError
        A packfile that the change removes is not there.
    InputKnownError
        An input is known already.
    """
    if change.content is not None:
        return _replaced(index, change, change.content, writer)
    first = index.objects
    inputs = _with_inputs(index, change, first, writer)
    gone = frozenset(map(own_key, change.removed))
    changed, removed = _without(index, gone, writer)
    at = next(
        (at for at, one in enumerate(index.inline) if own_key(one.key) in gone),
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
    """Give an index the packfiles and inputs of another one."""
    added, removed = packfiles_between(index, content, writer.root.fetch)
    gone = frozenset(map(own_key, change.removed))
    if own_keys(added) != own_keys(change.added) or gone != own_keys(removed):
        raise PackfileGoneError("someone else has changed the packfiles")
    full = replace(index, inline=content.inline, indirect=content.indirect, inputs=content.inputs)
    return ChangedIndex(spill(full, writer), removed)


def spill(index: TableIndex, writer: ObjectWriter) -> TableIndex:
    """Move the older half of many packfiles from an index to the indirect tree."""
    if len(index.inline) <= MAX_INLINE:
        return index
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
    for one in change.inputs:
        number = FAILED if one.packfile == FAILED else first + one.packfile
        if one.is_forced:
            tree.put(one.path, one.etag, number)
        elif tree.insert(one.path, one.etag, number) is not Taking.TAKEN:
            raise InputKnownError(f"{one.path}: the table knows this input already", path=one.path)
    return tree.write_out(writer.inputs).stored


def _without(
    index: TableIndex, keys: frozenset[str], writer: ObjectWriter
) -> tuple[TableIndex, tuple[Descriptor, ...]]:
    """Take packfiles out of an index: of the list in it, and of those that hold the others."""
    if not keys:
        return index, ()
    own = own_key
    removed = [one for one in index.inline if own(one.key) in keys]
    inline = tuple([one for one in index.inline if own(one.key) not in keys])
    missing = keys - own_keys(removed)
    if not missing:
        return replace(index, inline=inline), tuple(removed)
    lists = Writer(writer.root.fetch, writer.indirect)
    refs = []
    for ref in index.indirect.refs:
        if missing and not missing.isdisjoint(_keys(lists, ref)):
            listed = lists.read(ref)
            gone = [one for one in listed if own(one.key) in missing]
            kept = tuple([one for one in listed if own(one.key) not in missing])
            removed += gone
            missing -= own_keys(gone)
            refs.append(replace(lists.write(kept), original_objects=ref.original_objects))
        else:
            refs.append(ref)
    if missing:
        some = min(missing)
        raise PackfileGoneError(f"{some}: someone else has replaced it", path=some)
    indirect = replace(index.indirect, refs=tuple(refs))
    return replace(index, inline=inline, indirect=indirect), tuple(removed)


def _keys(lists: Writer, ref: IndirectRef) -> list[str]:
    from sdb.table.format.columns import DescriptorList

    found = DescriptorList(lists.fetch(ref.key, ref.etag), ref).keys()
    return [own_key(key) for key in found]


def packfiles_between(
    before: TableIndex | None, after: TableIndex, fetch: Fetch
) -> tuple[tuple[Descriptor, ...], tuple[Descriptor, ...]]:
    """Compare the packfiles of two versions; lists that both have are not read.

    A packfile of the original and our copy of it (:mod:`sdb.table.commit.adoption`) are the same.

    Parameters
    ----------
    before : TableIndex or None
        The one; None: an empty table.
    after : TableIndex
        The other.
    fetch : callable
        Reads a list.

    Returns
    -------
    tuple
        Descriptors that came in, and descriptors that went.
    """
    shared: set[str] = set()
    if before is not None:
        shared = {ref.key for ref in before.indirect.refs} & {
            ref.key for ref in after.indirect.refs
        }
    old = _listed(before, shared, fetch)
    new = _listed(after, shared, fetch)
    added = tuple([one for key, one in new.items() if key not in old])
    return added, tuple([one for key, one in old.items() if key not in new])


def contents_between(
    before: TableIndex | None, after: TableIndex, fetch: Fetch
) -> tuple[dict[str, Descriptor], dict[str, Descriptor]]:
    """Compare the packfiles of two versions, taking copies of one for the same.

    Commits copy packfiles that a collector may be about to delete. See :func:`packfiles_between`.

    Returns
    -------
    tuple
        Descriptors that came in and that went, by the keys that the packfiles had at first.
    """
    came, went = packfiles_between(before, after, fetch)
    added = {original_key(one.key): one for one in came}
    removed = {original_key(one.key): one for one in went}
    return (
        {key: one for key, one in added.items() if key not in removed},
        {key: one for key, one in removed.items() if key not in added},
    )


def _listed(index: TableIndex | None, shared: set[str], fetch: Fetch) -> dict[str, Descriptor]:
    found: dict[str, Descriptor] = {}
    if index is None:
        return found
    for ref in index.indirect.refs:
        if ref.key not in shared:
            listed = read_list(fetch(ref.key, ref.etag), ref)
            found |= {own_key(one.key): one for one in listed}
    return found | {own_key(one.key): one for one in index.inline}


def rows_of(packfiles: Iterable[Descriptor]) -> int | None:
    """Return the number of rows of packfiles; None: one does not tell."""
    total = 0
    for one in packfiles:
        if one.rows is None:
            return None
        total += one.rows
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
    return {own_key(one.key) for one in packfiles}


def has_longer_journal(before: TableIndex, after: TableIndex) -> bool:
    """Return whether an index has the inputs of another, and what it has noted of more of them."""
    old, new = ({one.path for one in index.inputs.journal or ()} for index in (before, after))
    return before.inputs.root == after.inputs.root and old <= new


def inputs_between(
    before: TableIndex | None, after: TableIndex, fetch: Fetch
) -> tuple[TakenInput, ...]:
    """Give the inputs that a version has otherwise than the one before it."""
    if before is not None and has_longer_journal(before, after):
        old = {one.path: one for one in before.inputs.journal or ()}
        new = {one.path: one for one in after.inputs.journal or ()}
        return tuple([new[path] for path in sorted(new) if old.get(path) != new[path]])
    known: dict[str, TakenInput] = {}
    if before is not None:
        known = {one.path: one for one in InputsTree(before.inputs, fetch).walk()}
    walked = InputsTree(after.inputs, fetch).walk()
    return tuple([one for one in walked if known.get(one.path) != one])
