"""Tables that are open for reading: one index, and the immutable objects that it leads to."""

from __future__ import annotations

from itertools import chain

from sdb import errors, notes
from sdb.records import field, record, replace
from sdb.table.catalog import intents
from sdb.table.catalog.owned import OwnObjects
from sdb.table.catalog.root import TableRoot, table_root
from sdb.table.format import etags, indexcache
from sdb.table.format.index import MAX_BYTES, TableIndex
from sdb.table.format.inputtree import InputsTree
from sdb.table.format.keys import TableKeys
from sdb.table.format.manifests import read_list
from sdb.table.format.signature import VARIABLE
from sdb.table.format.state import state_of, with_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sdb.packfile.trailer.sparseindex import Path
    from sdb.store.base import Location, Reader
    from sdb.table.format.columns import DescriptorList
    from sdb.table.format.descriptor import Descriptor
    from sdb.table.format.manifests import IndirectRef
    from sdb.table.format.state import VersionState
    from sdb.table.format.versionref import Given


@record
class JointVersion:
    """The index of a table as a transaction over several tables has written it.

    Attributes
    ----------
    index : TableIndex
        The index as it was read.
    state : VersionState
        Its state, which has the key of the intent.
    data : bytes
        The object that was read.
    step : {"pending", "committed", "aborted"}
        What has become of the transaction; an intent that is gone was aborted.
    seen : str
        The version of the intent that was read.
    """

    index: TableIndex
    state: VersionState
    data: bytes = field(repr=False)
    step: str
    seen: str = ""

    @property
    def is_pending(self) -> bool:
        """True if nobody knows yet what becomes of it."""
        return self.step == intents.PENDING

    @property
    def is_committed(self) -> bool:
        """True if it counts."""
        return self.step == intents.COMMITTED


@record
class TableHandle:
    """A table as its index was when it was read. Use :func:`open_table` to get one.

    Attributes
    ----------
    root : TableRoot
        The root that it is below.
    keys : TableKeys
        Its names, and the keys of its objects.
    index : TableIndex
        The index.
    data : bytes
        The object that the index is: where that is the version before the one that was read, of
        that version, so that all who tell of the table, or keep what they read, mean the same.
    reader : Reader
        The version of that object, closed: what :meth:`sdb.store.base.Store.put_if` replaces.
    joint : JointVersion or None
        What was read, if a transaction over several tables has written it. The index is then the
        version that counts: the one before it, unless the transaction is committed.
    is_void : bool
        Whether there was no version before it: there is no table.
    """

    root: TableRoot
    keys: TableKeys
    index: TableIndex
    data: bytes = field(repr=False)
    reader: Reader = field(repr=False)
    joint: JointVersion | None = field(default=None, repr=False)
    is_void: bool = False

    @property
    def name(self) -> str:
        """Its name with that of the database: ``db.table``."""
        return f"{self.keys.database}.{self.keys.table}"

    @property
    def state(self) -> VersionState | None:
        """The version that the index is; None: no `sdb` has written it."""
        return state_of(self.index.user_data)

    @property
    def is_dropped(self) -> bool:
        """True if the table is none any more until it is brought back."""
        state = self.state
        return state is not None and state.dropped

    @property
    def inputs(self) -> InputsTree:
        """The inputs that were taken; nodes are read when they are needed."""
        return InputsTree(self.index.inputs, self.root.fetch)

    def version(self, key: str, etag: str = "") -> TableHandle:
        """Open a version by the key of its index.

        Parameters
        ----------
        key : str
            The key.
        etag : str
            The digest of its content, where it is known.

        Returns
        -------
        TableHandle
            The table as it was then.

        Raises
        ------
        CorruptError
            It is missing, or not what was written.
        """
        OwnObjects(self.root, self.keys, {}).check(key)
        try:
            found = _read(self.root, self.keys, key)
        except errors.NotFoundError:
            raise errors.CorruptError(
                f"{key} is missing: the table leads to it",
                path=key,
                hint="if it expired meanwhile, run it again; else sdb validate",
            ) from None
        if etag and etags.of_content([found.data]) != etag:
            raise errors.CorruptError(f"{key}: its content is not what was written", path=key)
        return found

    def at(self, reference: Given) -> TableHandle:
        """Open a version of the table, see :func:`sdb.table.catalog.lookup.resolve`."""
        from sdb.table.catalog.lookup import resolve

        return resolve(self, reference)

    @property
    def own(self) -> OwnObjects:
        """The packfiles that it may lead to: its own, and those that others keep for it."""
        state = self.state
        return OwnObjects(self.root, self.keys, {} if state is None else state.shares)

    def descriptors(self, refs: Iterable[IndirectRef] | None = None) -> Iterator[Descriptor]:
        """Go over the packfiles, the oldest first.

        Parameters
        ----------
        refs : iterable of IndirectRef, optional
            Those lists of the indirect tree that are of interest; all if not given.

        Yields
        ------
        Descriptor
            As it is stored: whoever opens the packfile calls :meth:`Descriptor.checked`.

        Raises
        ------
        CorruptError
            A list is missing or damaged.
        """
        chosen = self.index.indirect.refs if refs is None else refs
        listed = chain.from_iterable(map(self.listed, chosen))
        yield from chain(listed, self.index.inline)

    def many(self, ref: IndirectRef) -> DescriptorList:
        """Read a list of the indirect tree, of which few descriptors are wanted."""
        from sdb.table.format.columns import DescriptorList

        return DescriptorList(self.root.fetch(ref.key, ref.etag), ref, self.own.check)

    def listed(self, ref: IndirectRef) -> tuple[Descriptor, ...]:
        """Read a list of the indirect tree."""
        found = read_list(self.root.fetch(ref.key, ref.etag), ref)
        own = self.own
        for one in found:
            own.check(one.key)
        return found


def open_table(
    root: TableRoot | Location,
    database: str,
    table: str,
    *,
    branch: str = "main",
    at: Given | None = None,
) -> TableHandle:
    """Open a table: its index is read, and nothing else but for a version that is not the newest.

    Parameters
    ----------
    root : TableRoot, path or str
        The root, or where it is.
    database, table : str
        Their names.
    branch : str
        The branch whose index it is.
    at : str, int, datetime or VersionReference, optional
        The version, see :mod:`sdb.table.format.versionref`; the newest if not given.

    Returns
    -------
    TableHandle
        The table.

    Raises
    ------
    NotFoundError
        There is no such table; the hint names one that may be meant.
    BeforeFirstError, ExpiredError, UnknownReferenceError
        There is no such version; see :func:`sdb.table.catalog.lookup.resolve`.
    CorruptError
        The index is too large, not signed with one of the keys, or malformed.
    UsageError
        A name that cannot be one.
    """
    place = root if isinstance(root, TableRoot) else table_root(root)
    found = find_table(place, database, table, branch=branch)
    if found is None:
        raise place.absent(TableKeys(database, table))
    return found if at is None or at == "" else found.at(at)


def find_table(
    root: TableRoot, database: str, table: str, *, branch: str = "main"
) -> TableHandle | None:
    """Open a table; None: there is none. See :func:`open_table`."""
    found = find_head(root, TableKeys(database, table), branch)
    return None if found is None or found.is_void else found


def find_head(root: TableRoot, keys: TableKeys, branch: str = "main") -> TableHandle | None:
    """Open a table to change it, also where the index is that of a table that is not there."""
    key = keys.branch(branch)
    try:
        found = _read(root, keys, key)
    except errors.NotFoundError:
        return None
    if not root.keyring.keys:
        place = root.location
        notes.warn(f"{VARIABLE} is not set: nobody knows who wrote the indexes below {place}")
    state = found.state
    return _counting(found, state, key) if state is not None and state.transaction else found


def _counting(head: TableHandle, state: VersionState, key: str) -> TableHandle:
    """Give the version that counts of an index that is part of a transaction."""
    found = intents.find_intent(head.root, state.transaction)
    step = intents.ABORTED if found is None else found.intent.step
    seen = "" if found is None else found.reader.version
    joint = JointVersion(head.index, state, head.data, step, seen)
    if found is not None and step == intents.COMMITTED:
        others = {one: number for one, number in found.intent.versions.items() if one != key}
        kept = state.kept or etags.of_content([head.data])
        clean = replace(state, transaction="", together=state.together | others, kept=kept)
        index = replace(head.index, user_data=with_state(head.index.user_data, clean))
        return replace(head, index=index, joint=joint)
    if state.parent is None:
        return replace(head, index=TableIndex(head.keys.table), joint=joint, is_void=True)
    before = head.version(state.parent.key, state.parent.etag)
    if before.state is None:
        raise errors.CorruptError(f"{state.parent.key} is no version", path=state.parent.key)
    clean = _as_it_was(before.state, state)
    index = replace(before.index, user_data=with_state(before.index.user_data, clean))
    return replace(head, index=index, data=before.data, joint=joint)


def _as_it_was(before: VersionState, after: VersionState) -> VersionState:
    """Return the state that an index had before a transaction, by that of its version.

    Names may have been set since the version was made, and an index that a branch begins with has
    no version of its own: it tells only of those versions that were still kept then.
    """
    named = replace(
        before,
        tags=after.tags,
        branches=after.branches,
        merged=before.merged if before.branch == after.branch else None,
        merges=after.merges,
        together=after.together,
        kept="" if after.parent is None else after.parent.etag,
        transaction="",  # its own was committed
    )
    if _count(before) == _count(after) - 1:
        return named
    return replace(named, history=after.history[:-1], older=after.older)


def _count(state: VersionState) -> int:
    """Count the versions that a history tells of."""
    return len(state.history) + sum(ref.versions for ref in state.older)


def _read(root: TableRoot, keys: TableKeys, key: str) -> TableHandle:
    """Read an index: the newest one, or that of a version."""
    reader = root.open(key)
    try:
        if reader.size_bytes >= MAX_BYTES:
            message = f'opening index: index "{key}" is {reader.size_bytes} bytes; too big'
            raise errors.CorruptError(message, path=key)
        data = reader.read(0, reader.size_bytes)
    finally:
        reader.close()
    try:
        index = indexcache.decoded(data, root.keyring)
        handle = TableHandle(root, keys, index, data, reader)
        _check_own(handle)
    except (errors.CorruptError, errors.UnsupportedError) as error:
        raise error.within(f"opening index {key}", path=key) from None
    return handle


def _check_own(handle: TableHandle) -> None:
    """Check that an index is that of the table, and leads to no objects that it may not have."""
    if handle.index.name != handle.keys.table:
        raise errors.CorruptError(f"it is that of a table {handle.index.name!r}")
    index, own = handle.index, handle.own
    for one in index.inline:
        own.check(one.key)
    own = OwnObjects(handle.root, handle.keys, {})
    nodes = [ref.key for ref in index.indirect.refs] + [ref.key for ref in index.inputs.root]
    for node in nodes:
        own.check(node)


def dropped(root: TableRoot, keys: TableKeys) -> errors.NotFoundError:
    """Make the error for a table that was dropped."""
    name = f"{keys.database}.{keys.table}"
    return errors.NotFoundError(
        f"the table {name} below {root.location} was dropped",
        path=keys.index,
        hint=f'sdb exec "UNDROP TABLE {name}" brings it back',
    )


def time_path(handle: TableHandle) -> Path | None:
    """Return the obvious path of times: the only indexed one, or the only one at the top."""
    paths = set(handle.index.indirect.indices)
    for descriptor in handle.index.inline:
        indices = descriptor.trailer.sparse.indices
        paths.update(path for path, index in indices.items() if not index.is_empty)
    at_top = [path for path in paths if len(path) == 1]
    if len(at_top) == 1:
        return at_top[0]
    return next(iter(paths)) if len(paths) == 1 else None
