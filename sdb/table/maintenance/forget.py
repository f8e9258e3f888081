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
from sdb.table.commit.environment import REAL, Surroundings
from sdb.table.commit.objects import look
from sdb.table.format.columns import DescriptorList
from sdb.table.format.index import TableIndex
from sdb.table.format.state import state_of
from sdb.table.format.versionref import MAIN
from sdb.table.maintenance.expire import history_of

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
    """Finds what leads to some packfiles; each object is read once.

    Parameters
    ----------
    root : TableRoot
        The root.
    packfiles : collection of str
        Their keys.
    """

    def __init__(self, root: TableRoot, packfiles: Collection[str]) -> None:
        self._root = root
        self._packfiles = frozenset(packfiles)
        self._lists: dict[str, bool] = {}
        self._versions: dict[str, bool] = {}

    def index(self, index: TableIndex) -> bool:
        """Return True if an index leads to one of them."""
        inline = not self._packfiles.isdisjoint(one.key for one in index.inline)
        return inline or any(self.listing(ref) for ref in index.indirect.refs)

    def listing(self, ref: IndirectRef) -> bool:
        """Return True if a list of packfiles has one of them."""
        if ref.key not in self._lists:
            listed = DescriptorList(self._root.fetch(ref.key, ref.etag), ref)
            self._lists[ref.key] = not self._packfiles.isdisjoint(listed.keys())
        return self._lists[ref.key]

    def version(self, one: VersionPointer | PastVersion) -> bool:
        """Return True if a version leads to one of them.

        Raises
        ------
        CorruptError
            It is missing or damaged.
        """
        if one.key not in self._versions:
            data = self._root.fetch(one.key, one.etag)
            self._versions[one.key] = self.index(TableIndex.decode(data, self._root.keyring))
        return self._versions[one.key]

    def picked(self, one: PastVersion) -> bool:
        """Return True if a version has merged a part of one that leads to one of them."""
        data = self._root.fetch(one.key, one.etag)
        state = state_of(TableIndex.decode(data, self._root.keyring).user_data)
        merged = None if state is None else state.merged
        return merged is not None and self._root.has(merged.key) and self.version(merged)


def forgettable(root: TableRoot, index: TableIndex, branch: str, leading: Leading) -> Forgotten:
    """Return the places that versions lose which lead to packfiles.

    Parameters
    ----------
    root : TableRoot
        The root.
    index : TableIndex
        The newest version of the branch.
    branch : str
        The branch.
    leading : Leading
        The packfiles.
    """
    state = state_of(index.user_data)
    if state is None:
        return Forgotten(branch)
    versions = [
        one.version
        for one in history_of(state, root)
        if leading.version(one) or (one.version in state.picked and leading.picked(one))
    ]
    tags = [name for name, tag in state.tags.items() if leading.version(tag)]
    merges = [name for name, one in state.merges.items() if leading.version(one)]
    there = (one for one in state.joined or () if root.has(one.key))
    joined = tuple([one.key for one in there if leading.version(one)])
    return Forgotten(branch, tuple(versions), tuple(sorted(tags)), tuple(sorted(merges)), joined)


def forget(
    root: TableRoot,
    keys: TableKeys,
    branch: str,
    leading: Leading,
    *,
    author: str = "",
    message: str = "",
    around: Surroundings = REAL,
) -> Forgotten:
    """Take versions out of every place that keeps them, in one commit.

    Parameters
    ----------
    root : TableRoot
        The root that the table is below.
    keys : TableKeys
        Its names.
    branch : str
        The branch.
    leading : Leading
        Versions that lead to these packfiles go.
    author, message : str
        Who does it, and why; the version tells it.
    around : Surroundings
        The clock and the dice.

    Returns
    -------
    Forgotten
        What went; there is a new version if anything did.

    Raises
    ------
    CorruptError
        A version that is kept is missing or damaged.
    ConflictError, UncertainError
        See :func:`sdb.table.commit.commit.commit`.
    """
    found = Forgotten(branch)

    def plan(index: TableIndex) -> TableChange | None:
        nonlocal found
        found = forgettable(root, index, branch, leading)
        state = state_of(index.user_data)
        merged = None if state is None else state.merged
        is_second = merged is not None and leading.version(merged)
        if found.is_nothing and not is_second:
            return None
        return TableChange(
            PURGE,
            expired=frozenset(found.versions),
            untagged=frozenset(found.tags),
            unmerged=frozenset(found.merges),
            unjoined=frozenset(found.joined),
            author=author,
            message=message,
        )

    commit(root, keys, plan, around=around, branch=branch)
    return found


def describing(root: TableRoot, keys: TableKeys, leading: Leading) -> set[str]:
    """Return the keys of all objects of a table that describe packfiles.

    These are versions, also those that nothing leads to any more, leases, and lists of packfiles.
    A list that no version has is among them: nobody knows what it describes.

    Raises
    ------
    CorruptError, UnsupportedError
        A version or lease cannot be read.
    """
    start = root.key_start(keys.folder)
    listed = {one.location[start:] for one in root.store.below(root.place(keys.folder))}
    found: set[str] = set()
    known: set[str] = set()
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
        known.update(ref.key for ref in refs)
        found.update(ref.key for ref in refs if leading.listing(ref))
        if len(refs) < len(index.indirect.refs) or leading.index(index):
            found.add(key)
    lists = {key for key in listed if _is_list(keys, key)}
    return found | (lists - known)


def _is_list(keys: TableKeys, key: str) -> bool:
    return key.startswith(f"{keys.folder}/{_LIST}") and "/" not in key[len(keys.folder) + 1 :]


def branches_of(root: TableRoot, keys: TableKeys) -> list[str]:
    """Return the names of the branches that a table has, main first, as their indexes are there."""
    above = root.place(f"{keys.folder}/branches/")
    found = [
        one.location[len(above) :].removesuffix("/index")
        for one in root.store.below(above.rstrip("/"))
        if one.name == "index"
    ]
    return [MAIN, *sorted(found)]
