"""Tables that are open for reading: one index, and the immutable objects that it leads to."""

from __future__ import annotations

from contextlib import suppress
from itertools import chain

from sdb import errors, notes
from sdb.errors import CorruptError
from sdb.records import field, record, replace
from sdb.table.catalog import intents
from sdb.table.catalog.root import TableRoot, table_root
from sdb.table.format import etags
from sdb.table.format.index import MAX_BYTES, TableIndex, decoded
from sdb.table.format.inputtree import InputsTree
from sdb.table.format.keys import TableKeys, folder_of
from sdb.table.format.manifests import read_list
from sdb.table.format.signature import VARIABLE
from sdb.table.format.state import state_of, with_state
from sdb.table.format.versionref import MAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from sdb.packfile.trailer.sparseindex import Path
    from sdb.store.base import Location, Reader
    from sdb.table.format.columns import DescriptorList
    from sdb.table.format.descriptor import Descriptor
    from sdb.table.format.manifests import IndirectRef
    from sdb.table.format.state import VersionState
    from sdb.table.format.versionref import Given
    from sdb.table.schema.columns import TableSchema

_MOST_LOOKED_AT = 256


@record
class JointVersion:
    """The index of a table as a transaction over several tables has written it."""

    index: TableIndex  # the index as it was read
    state: VersionState  # its state, which has the key of the intent
    data: bytes = field(repr=False)  # the object that was read
    step: str  # what has become of the transaction; an intent that is gone was aborted
    seen: str = ""  # the version of the intent that was read

    @property
    def is_pending(self) -> bool:
        """True if the transaction is not decided."""
        return self.step == intents.PENDING

    @property
    def is_committed(self) -> bool:
        """True if it counts."""
        return self.step == intents.COMMITTED


@record
class TableHandle:
    """A table as its index was when it was read. Use :func:`open_table` to get one."""

    root: TableRoot  # the root that it is below
    keys: TableKeys  # its names, and the keys of its objects
    index: TableIndex  # the index
    # The object that the index is: where that is the version before the one that was read, of that
    # version, so that all who tell of the table, or keep what they read, mean the same
    data: bytes = field(repr=False)
    # The version of that object, closed: what :meth:`sdb.store.base.Store.put_if_match` replaces
    reader: Reader = field(repr=False)
    # What was read, if a transaction over several tables has written it. The index is then the
    # version that counts: the one before it, unless the transaction is committed.
    joint: JointVersion | None = field(default=None, repr=False)
    is_void: bool = False  # whether there was no version before it: there is no table

    @property
    def name(self) -> str:
        """Its name with that of the database: ``db.table``."""
        return self.keys.name

    @property
    def state(self) -> VersionState | None:
        """The version that the index is; None: no `sdb` has written it."""
        return state_of(self.index.user_data)

    @property
    def schema_data(self) -> bytes:
        """The schema of the version as it is stored; empty: it has none."""
        state = self.state
        return b"" if state is None else state.schema

    @property
    def schema(self) -> TableSchema | None:
        """The schema of the version; None: it has none."""
        if not self.schema_data:
            return None
        from sdb.table.schema.stored import schema_of

        return schema_of(self.state)

    @property
    def is_dropped(self) -> bool:
        """True if the table is dropped, until it is restored."""
        state = self.state
        return state is not None and state.dropped

    @property
    def inputs(self) -> InputsTree:
        """The inputs that were taken; nodes are read when they are needed."""
        return InputsTree(self.index.inputs, self.root.fetch)

    def version(self, key: str, etag: str = "") -> TableHandle:
        """Open a version by the key of its index.

        * ``etag``: The digest of its content, where it is known.

        Raises `CorruptError` if it is missing, or not what was written.
        """
        OwnObjects(self.root, self.keys, {}).check(key)
        try:
            handle = _read(self.root, self.keys, key)
        except errors.NotFoundError:
            raise errors.CorruptError(
                f"{key} is missing: the table leads to it",
                path=key,
                hint="run it again if it has just expired; otherwise sdb validate",
            ) from None
        if etag and etags.of_content([handle.data]) != etag:
            raise errors.CorruptError(f"{key}: its content is not what was written", path=key)
        return handle

    def at(self, reference: Given) -> TableHandle:
        """Open a version of the table, see :func:`sdb.table.catalog.lookup.resolve`."""
        from sdb.table.catalog.lookup import resolve

        return resolve(self, reference)

    def on(self, branch: str) -> TableHandle | None:
        """Open a branch of the table; None: it does not exist."""
        return find_table(self.root, self.keys.database, self.keys.table, branch=branch)

    @property
    def own(self) -> OwnObjects:
        """The packfiles that it may lead to: its own, and those that others keep for it."""
        state = self.state
        return OwnObjects(self.root, self.keys, {} if state is None else state.shares)

    def descriptors(self, refs: Iterable[IndirectRef] | None = None) -> Iterator[Descriptor]:
        """Iterate over the packfiles, the oldest first.

        * ``refs``: Those lists of the indirect tree that are of interest; all if not given.

        Raises `CorruptError` if a list is missing or damaged.
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
        packfiles = read_list(self.root.fetch(ref.key, ref.etag), ref)
        own = self.own
        for packfile in packfiles:
            own.check(packfile.key)
        return packfiles


def open_table(
    root: TableRoot | Location,
    database: str,
    table: str,
    *,
    branch: str = "main",
    at: Given | None = None,
) -> TableHandle:
    """Open a table: its index is read, and nothing else but for a version that is not the newest.

    * ``at``: The version, see :mod:`sdb.table.format.versionref`; the newest if not given.

    Raises `NotFoundError` if there is no such table; the hint names one that may be meant;
    `BeforeFirstError`, `ExpiredError` or `UnknownReferenceError` if there is no such version; see
    :func:`sdb.table.catalog.lookup.resolve`; `CorruptError` if the index is too large, not signed
    with one of the keys, or malformed; `UsageError` for a name that cannot be one.
    """
    opened_root = root if isinstance(root, TableRoot) else table_root(root)
    head = find_table(opened_root, database, table, branch=branch)
    if head is None:
        raise opened_root.absent(TableKeys(database, table))
    return head if at is None or at == "" else head.at(at)


def find_table(
    root: TableRoot, database: str, table: str, *, branch: str = "main"
) -> TableHandle | None:
    """Open a table; None: it does not exist. See :func:`open_table`."""
    head = find_head(root, TableKeys(database, table), branch)
    return None if head is None or head.is_void else head


def find_head(root: TableRoot, keys: TableKeys, branch: str = "main") -> TableHandle | None:
    """Open a table to change it, also where the index is that of a table that is not there."""
    key = keys.branch(branch)
    try:
        head = _read(root, keys, key)
    except errors.NotFoundError:
        return None
    _check_branch(head, key, branch)
    if not root.keyring.keys:
        where = root.location
        notes.warn(f"{VARIABLE} is not set: cannot verify who wrote the indexes below {where}")
    state = head.state
    return _counting(head, state, key) if state is not None and state.transaction else head


def _check_branch(head: TableHandle, key: str, branch: str) -> None:
    """Check that an index is that of its branch, and was not put in the place of another one's."""
    state = head.state
    if state is None:
        return
    actual = state.begins or state.branch or MAIN
    # An older `sdb` did not tell which branch begins with a version of main.
    if actual == branch or (actual == MAIN and branch not in state.branches):
        return
    newest = _newest_of(head, branch)
    raise errors.CorruptError(
        f"opening index {key}: it is the index of {actual}, put in the place of that of {branch}",
        path=key,
        hint=f"copy {newest} there, the newest version of {branch}"
        if newest
        else f"no version of {branch} is there: put the index back from a backup",
    )


def _newest_of(head: TableHandle, branch: str) -> str:
    """Return the key of the newest version of a branch that is there; empty: none is."""
    root, folder = head.root, f"{head.keys.folder}/versions"
    for entry in [*reversed(root.store.list(root.place(folder)))][:_MOST_LOOKED_AT]:
        key = f"{folder}/{entry.name}"
        with suppress(errors.SdbError):
            state = state_of(_read(root, head.keys, key).index.user_data)
            if state is not None and (state.branch or MAIN) == branch:
                return key
    return ""


def _counting(head: TableHandle, state: VersionState, key: str) -> TableHandle:
    """Return the version that counts of an index that is part of a transaction."""
    pending = intents.find_intent(head.root, state.transaction)
    step = intents.ABORTED if pending is None else pending.intent.step
    seen = "" if pending is None else pending.reader.version
    joint = JointVersion(head.index, state, head.data, step, seen)
    if pending is not None and step == intents.COMMITTED:
        others = {
            other: number for other, number in pending.intent.versions.items() if other != key
        }
        kept_etag = state.kept_etag or etags.of_content([head.data])
        clean = replace(
            state, transaction="", together=state.together | others, kept_etag=kept_etag
        )
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
        kept_etag="" if after.parent is None else after.parent.etag,
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
        index = decoded(data, root.keyring)
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
    for packfile in index.inline:
        own.check(packfile.key)
    own = OwnObjects(handle.root, handle.keys, {})
    nodes = [ref.key for ref in index.indirect.refs] + [ref.key for ref in index.inputs.root]
    for node in nodes:
        own.check(node)


def dropped(
    root: TableRoot, keys: TableKeys, state: VersionState | None = None
) -> errors.NotFoundError:
    """Make the error for a table that was dropped.

    * ``state``: The state that tells why, if it is known.
    """
    name = f"{keys.database}.{keys.table}"
    why = f" ({state.message})" if state is not None and state.dropped and state.message else ""
    return errors.NotFoundError(
        f"the table {name} below {root.location} was dropped{why}",
        path=keys.index,
        hint=f"sdb undrop {name} brings it back",
    )


def time_path(handle: TableHandle) -> Path | None:
    """Return the obvious path of times; see :func:`obvious`."""
    return obvious(time_paths(handle))


def time_paths(handle: TableHandle) -> set[Path]:
    """Return the indexed paths of times."""
    paths = set(handle.index.indirect.indices)
    for descriptor in handle.index.inline:
        indices = descriptor.trailer.sparse.indices
        paths.update(path for path, index in indices.items() if not index.is_empty)
    return paths


def obvious(paths: set[Path]) -> Path | None:
    """Return the only one of several paths, or the only one at the top; None: none is obvious."""
    at_top = [path for path in paths if len(path) == 1]
    if len(at_top) == 1:
        return at_top[0]
    return next(iter(paths)) if len(paths) == 1 else None


# Objects that a table may lead to: its own, and packfiles that another table keeps for it.

_HOLD = "fork-"
_MARK_LETTERS = 8
_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
_MOST_KNOWN = 1024


def hold_prefix(keys: TableKeys) -> str:
    """Return what the name of a branch begins with that keeps packfiles for a table."""
    return f"{_HOLD}{keys.database}.{keys.table}-"


def is_hold_name(branch: str, keys: TableKeys) -> bool:
    """Return whether a branch has the name of one that keeps packfiles for a table."""
    mark = branch.removeprefix(hold_prefix(keys))
    return mark != branch and len(mark) == _MARK_LETTERS and _LETTERS.issuperset(mark)


class OwnObjects:
    """The objects that a table may lead to.

    * ``shares``: For each table that it shares packfiles with, the branch that keeps them.
    """

    def __init__(self, root: TableRoot, keys: TableKeys, shares: Mapping[str, str]) -> None:
        self._root = root
        self._keys = keys
        self._shares = shares
        self._above = f"{keys.folder}/"

    def check(self, key: str) -> None:
        """Check that an object is one of them.

        Raises `CorruptError` if it is of another table, which does not keep it for this one.
        """
        if key.startswith(self._above) or self._is_shared(key):
            return
        name = f"{self._keys.database}.{self._keys.table}"
        raise CorruptError(
            f"{name} leads to {key}, which is of another table that keeps nothing for it",
            path=key,
            hint=f"sdb log {name} tells who has written it",
        )

    def _is_shared(self, key: str) -> bool:
        folder = folder_of(key)
        for table, branch in self._shares.items():
            holder = TableKeys(*table.split(".", 1))
            if holder.folder == folder and is_hold_name(branch, self._keys):
                return _is_kept(self._root, holder, branch)
        return False


def _is_kept(root: TableRoot, holder: TableKeys, branch: str) -> bool:
    """Return whether a table has a branch; where there is no such table nothing can be read."""
    key = holder.branch(branch)
    known = (root.location, key)
    if known in _KNOWN:
        return True
    if not root.has(key):
        return not root.has(holder.index)
    if len(_KNOWN) >= _MOST_KNOWN:
        _KNOWN.clear()
    _KNOWN.add(known)
    return True


_KNOWN: set[tuple[str, str]] = set()
"""Branches that were seen: over a network each look is a request."""
