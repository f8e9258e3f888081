"""Forgetting: versions that lead to packfiles which must go lose every place that keeps them.

A version is never rewritten, so that what holds such a packfile leaves the history, and its tags
and merges go with it. What remains of it, packfiles and all objects that describe them, is for
:func:`sdb.table.maintenance.gc.collect_at_once`.
"""

from __future__ import annotations

from sdb.errors import CorruptError
from sdb.records import record
from sdb.table.commit.change import PURGE, TableChange
from sdb.table.commit.commit import commit
from sdb.table.commit.environment import REAL, Environment
from sdb.table.commit.objects import look
from sdb.table.format.columns import DescriptorList
from sdb.table.format.index import TableIndex
from sdb.table.format.state import state_of
from sdb.table.maintenance.expire import history_of
from sdb.table.maintenance.listing import objects_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from sdb.table.catalog.root import TableRoot
    from sdb.table.format.history import PastVersion, VersionPointer
    from sdb.table.format.keys import TableKeys
    from sdb.table.format.manifests import IndirectRef

_LIST = "indirect-"


@record
class Forgotten:
    """The places that versions of a branch lose.

    Attributes
    ----------
    branch : str
        The branch.
    versions : tuple of int
        Numbers of versions that leave the history.
    tags : tuple of str
        Tags that go.
    merges : tuple of str
        Branches whose last merge is forgotten: merging one again needs another common version.
    joined : tuple of str
        Keys of versions that were merged before these.
    """

    branch: str
    versions: tuple[int, ...] = ()
    tags: tuple[str, ...] = ()
    merges: tuple[str, ...] = ()
    joined: tuple[str, ...] = ()

    @property
    def is_nothing(self) -> bool:
        """True if no version loses a place."""
        return not (self.versions or self.tags or self.merges or self.joined)

    def as_dict(self) -> dict[str, object]:
        """Return it as plain values with stable names, for JSON."""
        return {
            "branch": self.branch,
            "versions": list(self.versions),
            "tags": list(self.tags),
            "merges": list(self.merges),
        }


class Leading:
    """Finds what leads to some packfiles; each object is read once."""

    def __init__(self, root: TableRoot, packfiles: Collection[str]) -> None:
        self._root = root
        self._packfiles = frozenset(packfiles)
        self._lists: dict[str, bool] = {}
        self._versions: dict[str, bool] = {}

    def index(self, index: TableIndex) -> bool:
        """Return True if an index leads to one of them."""
        inline = not self._packfiles.isdisjoint(descriptor.key for descriptor in index.inline)
        return inline or any(self.listing(ref) for ref in index.indirect.refs)

    def listing(self, ref: IndirectRef) -> bool:
        """Return True if a list of packfiles has one of them."""
        if ref.key not in self._lists:
            listed = DescriptorList(self._root.fetch(ref.key, ref.etag), ref)
            self._lists[ref.key] = not self._packfiles.isdisjoint(listed.keys())
        return self._lists[ref.key]

    def version(self, pointer: VersionPointer | PastVersion) -> bool:
        """Return True if a version leads to one of them.

        Raises `CorruptError` if it is missing or damaged.
        """
        if pointer.key not in self._versions:
            data = self._root.fetch(pointer.key, pointer.etag)
            self._versions[pointer.key] = self.index(TableIndex.decode(data, self._root.keyring))
        return self._versions[pointer.key]

    def picked(self, version: PastVersion) -> bool:
        """Return True if a version has merged a part of one that leads to one of them."""
        data = self._root.fetch(version.key, version.etag)
        state = state_of(TableIndex.decode(data, self._root.keyring).user_data)
        merged = None if state is None else state.merged
        return merged is not None and self._root.has(merged.key) and self.version(merged)


def versions_to_forget(
    root: TableRoot, index: TableIndex, branch: str, leading: Leading
) -> Forgotten:
    """Return the places that versions lose which lead to packfiles."""
    state = state_of(index.user_data)
    if state is None:
        return Forgotten(branch)
    versions = [
        version.version
        for version in history_of(state, root)
        if leading.version(version) or (version.version in state.picked and leading.picked(version))
    ]
    tags = [name for name, tag in state.tags.items() if leading.version(tag)]
    merges = [name for name, pointer in state.merges.items() if leading.version(pointer)]
    present = (pointer for pointer in state.joined or () if root.has(pointer.key))
    joined = tuple([pointer.key for pointer in present if leading.version(pointer)])
    return Forgotten(branch, tuple(versions), tuple(sorted(tags)), tuple(sorted(merges)), joined)


def forget(
    root: TableRoot,
    keys: TableKeys,
    branch: str,
    leading: Leading,
    *,
    author: str = "",
    message: str = "",
    env: Environment = REAL,
) -> Forgotten:
    """Take versions out of every place that keeps them, in one commit.

    * ``author, message``: Recorded in the version.

    Raises `CorruptError` if a version that is kept is missing or damaged and `ConflictError` or
    `UncertainError` as :func:`sdb.table.commit.commit.commit` does.
    """
    forgotten = Forgotten(branch)

    def plan(index: TableIndex) -> TableChange | None:
        nonlocal forgotten
        forgotten = versions_to_forget(root, index, branch, leading)
        state = state_of(index.user_data)
        # The newest version itself may have merged a version with such rows.
        merged = None if state is None else state.merged
        is_second = merged is not None and leading.version(merged)
        if forgotten.is_nothing and not is_second:
            return None
        return TableChange(
            PURGE,
            expired=frozenset(forgotten.versions),
            untagged=frozenset(forgotten.tags),
            unmerged=frozenset(forgotten.merges),
            unjoined=frozenset(forgotten.joined),
            author=author,
            message=message,
        )

    commit(root, keys, plan, env=env, branch=branch)
    return forgotten


def objects_describing(root: TableRoot, keys: TableKeys, leading: Leading) -> set[str]:
    """Return the keys of all objects of a table that describe packfiles.

    These are versions, also those that nothing leads to any more, leases, and lists of packfiles.
    A list that no version has is among them: what it describes is not known.
    Raises `CorruptError` or `UnsupportedError` if a version or lease cannot be read.
    """
    listed = objects_of(root, keys)
    leading_keys: set[str] = set()
    listed_keys: set[str] = set()
    for key in listed:
        if keys.version_of(key) is None and not keys.is_lease(key):
            continue
        data = look(root, key)
        if data is None:
            continue
        try:
            index = TableIndex.decode(data[0], root.keyring)
        except CorruptError as error:
            raise error.within(f"reading {key}", path=key) from None
        refs = [ref for ref in index.indirect.refs if ref.key in listed]
        listed_keys.update(ref.key for ref in refs)
        leading_keys.update(ref.key for ref in refs if leading.listing(ref))
        # A version whose lists are gone may have described anything.
        if len(refs) < len(index.indirect.refs) or leading.index(index):
            leading_keys.add(key)
    lists = {key for key in listed if _is_list(keys, key)}
    return leading_keys | (lists - listed_keys)


def _is_list(keys: TableKeys, key: str) -> bool:
    return key.startswith(f"{keys.folder}/{_LIST}") and "/" not in key[len(keys.folder) + 1 :]
