"""Reachability: all objects that a table needs, as far back as readers may still be reading.

What counts: the version that is the newest, those of its history, its tags, and what could be read
at any time since a given moment: versions that have expired since. An object that cannot be read or
understood is an error: what it leads to is not known.
"""

from __future__ import annotations

from sdb.errors import ConflictError, CorruptError
from sdb.records import replace
from sdb.table.catalog.handle import find_table
from sdb.table.commit.gcbarrier import MARGIN_US
from sdb.table.commit.objects import look
from sdb.table.commit.parents import parents_of, read_version
from sdb.table.format import etags
from sdb.table.format.columns import DescriptorList
from sdb.table.format.history import VersionPointer, read_history
from sdb.table.format.index import TableIndex
from sdb.table.format.inputtree import InputsTree
from sdb.table.format.state import state_of
from sdb.table.format.versionref import MAIN
from sdb.table.history.holds import holder_of
from sdb.table.maintenance import held
from sdb.table.maintenance.held import FoundObjects, KeepReason
from sdb.table.maintenance.versionreads import fetched_ahead

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot
    from sdb.table.commit.parents import Fetch, ReadVersion
    from sdb.table.format.history import PastVersion
    from sdb.table.format.inputtree import StoredInputs
    from sdb.table.format.keys import TableKeys
    from sdb.table.format.state import VersionState

_MOST_NODES = 64


class Reach:
    """Collects the keys of objects that a table needs.

    * ``times``: When versions appeared, by their keys and the clock of the store.
    * ``reads_ahead``: Whether objects of a remote store are read before they are needed.
    """

    def __init__(
        self,
        root: TableRoot,
        keys: TableKeys,
        since_us: int,
        times: Mapping[str, int],
        *,
        reads_ahead: bool = True,
    ) -> None:
        self._reads_ahead = reads_ahead
        self._times = times
        self._root = root
        self._keys = keys
        self._since_us = since_us
        self._read: dict[str, bytes] = {}
        self._lists: set[str] = set()
        self._versions: set[tuple[str, str]] = set()
        self._merged: set[str] = set()
        self._heads: list[tuple[VersionState, str, int | None]] = []
        self.found = FoundObjects()

    @property
    def versions(self) -> int:
        """Number of versions that were read."""
        return len(self._versions)

    def add_head(
        self,
        index: TableIndex,
        state: VersionState | None,
        branch: str,
        current_us: int | None = None,
    ) -> None:
        """Add the newest version, and all that it keeps; see :meth:`add_recent`, too.

        * ``current_us``: When it became the newest; None: just now.

        Raises `CorruptError` or `UnsupportedError` if an object is missing or damaged, or of a
        later format.
        """
        newest = reason_of(branch)
        self.found.reason = newest
        self._content(index, is_head=True)
        if state is not None:
            self.found.add(self._keys.version(state.version, state.commit))
            self._kept_by(state, newest)
            self._heads.append((state, branch, current_us))
        # The original lets its readers go on with these until their time is over.
        for quarantined in index.to_delete:
            if quarantined.expiry_us > self._since_us:
                self.found.reason = KeepReason(held.QUARANTINE, ended_us=quarantined.expiry_us)
                self.found.add(quarantined.key)

    def add_branch(
        self, branch: str, head: TableHandle | ReadVersion, current_us: int | None = None
    ) -> None:
        """Add what the newest version of a branch keeps, see :meth:`add_head`.

        Of a branch that was deleted since, only what is left: another collector may have deleted
        the rest.
        """
        try:
            self.add_head(head.index, head.state, branch, current_us)
        except CorruptError:
            if branch == MAIN:
                raise
            # Only what is left of a branch that was deleted since is needed; one that was begun
            # anew is read.
            again = self._now(branch)
            if again is not None:
                self.add_head(again.index, again.state, branch)

    def _now(self, branch: str) -> TableHandle | None:
        """Open a branch again: it may be gone, or begun anew."""
        keys = self._keys
        return find_table(self._root, keys.database, keys.table, branch=branch)

    def add_leases(self, indexes: Mapping[str, TableIndex]) -> None:
        """Add what is read under leases, by their keys.

        An index of a transaction over several tables may stand for the version before it, whatever
        has become of the transaction since: other programs write leases, too.
        """
        for key, index in indexes.items():
            self.found.reason = KeepReason(held.LEASE, key.rpartition("/")[2])
            self.found.add(key)
            self._content(index)
            state = state_of(index.user_data)
            if state is not None and state.transaction and state.parent is not None:
                self._version_if_there(state.parent)

    def _version_if_there(self, pointer: VersionPointer) -> None:
        """Add a version that may be gone: then no reader needs what it leads to."""
        data = look(self._root, pointer.key)
        if data is None or etags.of_content([data[0]]) != pointer.etag:
            return
        try:
            self._version(pointer, read_version(pointer.key, data[0], self._root.keyring))
        except CorruptError:
            if self._root.has(pointer.key):  # else another collector deletes it just now
                raise

    def add_recent(self) -> None:
        """Add what could be read within the time, after all that lasts longer was added.

        Raises `CorruptError` or `UnsupportedError` if an object is missing or damaged, or of a
        later format; `ConflictError` if it is not known what could be read within the time.
        """
        for state, branch, current_us in self._heads:
            self.found.reason = reason_of(branch)
            try:
                self._since(state, branch, current_us)
            except CorruptError:
                if branch == MAIN:
                    raise
                again = self._now(branch)
                if again is not None and again.state is not None:
                    self._since(again.state, branch, None)

    def _since(self, state: VersionState, branch: str, current_us: int | None) -> None:
        """Add what was the newest version within the time, and what these kept.

        A version has the time when it was made, and may have become the newest much later. It was,
        however, before the one after it was made. What was before the version that a branch began
        with was never the newest of that branch.
        """
        later, ended_us = state, current_us
        if ended_us is None or ended_us > self._since_us:
            self._replaced_by(state)
        if (later.branch or MAIN) != branch:
            self._begun_with(later)
            return
        fetch = self._ahead(self._newest_first(state), may_stop=True)
        parents = parents_of(state.parent, fetch, self._root.keyring)
        while ended_us is None or ended_us > self._since_us:
            version = next(parents, None)  # another collector may have deleted what is not needed
            if version is None:
                break
            over_us = 0 if ended_us is None else ended_us
            self.found.reason = KeepReason(held.GRACE, ended_us=over_us)
            self._version(VersionPointer(version.state.version, version.key, version.etag), version)
            if (version.state.branch or MAIN) != branch:
                # The branch began here, with what was left of the history.
                self.found.update(ref.key for ref in version.state.older)
                return
            self._kept_by(version.state, self.found.reason)
            ended_us = later.parent_since_us or self._made_us(later)
            if ended_us is None or ended_us > self._since_us:
                self._replaced_by(version.state)
            later = version.state
        else:
            return
        if later.version > 1:
            raise ConflictError(
                f"the versions before {later.version} are not known: another program has "
                "written the table anew",
                path=self._keys.index,
                hint="collect when the grace time is over",
            )

    def _replaced_by(self, state: VersionState) -> None:
        """Add what another program had written, where its packfiles were adopted.

        It was the newest until then. If it is gone, no reader could need it any more.
        """
        if state.replaced is not None and look(self._root, state.replaced.key) is not None:
            self._version(state.replaced)

    def _made_us(self, state: VersionState) -> int | None:
        """Report when a version was made, at the latest; None: just now.

        Its writer may have had a clock that is behind that of the store.
        """
        since_us = self._times.get(self._keys.version(state.version, state.commit))
        return None if since_us is None else max(state.at_us, since_us + MARGIN_US)

    def _begun_with(self, state: VersionState) -> None:
        """Add the lists of the version that a branch began with.

        They stay as long as it has no version of its own, and for the grace time after that.
        """
        key = self._keys.version(state.version, state.commit)
        data = look(self._root, key)
        if data is not None:
            before = read_version(key, data[0], self._root.keyring).state
            self.found.update(ref.key for ref in before.older)

    def _kept_by(self, state: VersionState, reason: KeepReason) -> None:
        """Add the versions of a history, and those with tags; those that a branch keeps are its."""
        is_newest = reason.kind == held.NEWEST
        if is_newest:
            reason = KeepReason(held.VERSIONS)
        unread = [version for version in state.history if not self._is_read(version)]
        fetch = self._ahead((version.key, version.etag) for version in unread)
        for name, tag in state.tags.items():
            self.found.reason = KeepReason(held.TAG, name) if is_newest else reason
            self._version(tag)
        for name, merged in state.merges.items():
            self.found.reason = KeepReason(held.MERGE, name) if is_newest else reason
            self._version(merged, is_merged=True)
        self.found.reason = reason
        for version in state.history:
            self._past(state, version, fetch)
        for ref in state.older:
            self.found.add(ref.key)
            if ref.key not in self._lists:
                self._lists.add(ref.key)
                listed = read_history(self._fetch(ref.key, ref.etag), ref)
                fetch = self._ahead((version.key, version.etag) for version in listed)
                for version in listed:
                    self._past(state, version, fetch)
        self._joined_by(state)

    def _joined_by(self, state: VersionState) -> None:
        """Add what a version has merged, and those before it that `merges` does not have."""
        if state.merged is not None:
            self._version(state.merged)
        for joined in state.joined or ():  # a branch may have some that were collected
            if look(self._root, joined.key) is not None:
                self._version(joined, is_merged=True)

    def _version(
        self,
        pointer: VersionPointer,
        opened: ReadVersion | None = None,
        *,
        is_merged: bool = False,
        fetch: Fetch | None = None,
    ) -> None:
        """Add a version; of one that was merged it is asked, too, where it came from."""
        if is_merged:
            self._lists_of(pointer)
        if (pointer.key, pointer.etag) in self._versions:
            return
        self._versions.add((pointer.key, pointer.etag))
        self.found.add(pointer.key)
        if opened is not None:
            self._content(opened.index)
            return
        data = (fetch or self._root.fetch)(pointer.key, pointer.etag)
        try:
            index = TableIndex.decode(data, self._root.keyring)
        except CorruptError as error:
            raise error.within(f"reading {pointer.key}", path=pointer.key) from None
        self._content(index)

    def _newest_first(self, state: VersionState) -> Iterator[tuple[str, str]]:
        """Iterate over keys and ETags of all versions of a history."""
        yield from ((version.key, version.etag) for version in reversed(state.history))
        for ref in reversed(state.older):
            listed = read_history(self._fetch(ref.key, ref.etag), ref)
            yield from ((version.key, version.etag) for version in reversed(listed))

    def _is_read(self, version: PastVersion) -> bool:
        return (version.key, version.etag) in self._versions

    def _ahead(self, objects: Iterable[tuple[str, str]], *, may_stop: bool = False) -> Fetch:
        ahead = self._reads_ahead
        return fetched_ahead(self._root, objects, may_stop=may_stop, ahead=ahead)

    def _past(self, state: VersionState, version: PastVersion, fetch: Fetch) -> None:
        """Add a version of a history; of one that merged a part of another, that too."""
        pointer = VersionPointer(version.version, version.key, version.etag)
        self._version(pointer, fetch=fetch)
        if version.version in state.picked:
            data = self._root.fetch(version.key, version.etag)
            merged = read_version(version.key, data, self._root.keyring).state.merged
            if merged is not None and look(self._root, merged.key) is not None:
                self._version(merged)

    def _lists_of(self, pointer: VersionPointer) -> None:
        """Add the lists of what was before a version, and not these versions themselves."""
        if pointer.key in self._merged:
            return
        self._merged.add(pointer.key)
        data = self._root.fetch(pointer.key, pointer.etag)
        state = read_version(pointer.key, data, self._root.keyring).state
        self.found.update(ref.key for ref in state.older)

    def _content(self, index: TableIndex, *, is_head: bool = False) -> None:
        """Add what an index leads to: packfiles, their lists, and nodes of the inputs tree."""
        self.found.update(descriptor.key for descriptor in index.inline)
        for ref in index.indirect.refs:
            self.found.add(ref.key)
            if ref.key not in self._lists:
                self._lists.add(ref.key)
                listed = DescriptorList(self._fetch(ref.key, ref.etag), ref)
                self.found.update(listed.keys())
        # Most versions share their inputs tree, which is walked once.
        if not {ref.key for ref in index.inputs.root} <= self._lists:
            self._inputs(index.inputs, is_head=is_head)
            self._lists.update(ref.key for ref in index.inputs.root)

    def _inputs(self, inputs: StoredInputs, *, is_head: bool) -> None:
        """Add the nodes of an inputs tree.

        The original deletes those that its own index does not refer to: what they led to is of use
        only to versions that reach it otherwise.
        """
        try:
            self.found.update(InputsTree(replace(inputs, journal=None), self._fetch).nodes())
        except CorruptError as error:
            if is_head or error.path is None or self._root.has(error.path):
                raise

    def _fetch(self, key: str, etag: str) -> bytes:
        """Read a node; inner nodes of the inputs tree are those of many versions."""
        if key not in self._read:
            self._read[key] = self._root.fetch(key, etag)
            while len(self._read) > _MOST_NODES:
                del self._read[next(iter(self._read))]
        return self._read[key]


def reason_of(branch: str) -> KeepReason:
    """Return why what the newest version of a branch leads to is needed."""
    if branch == MAIN:
        return KeepReason(held.NEWEST)
    other = holder_of(branch)
    if other is not None:
        return KeepReason(held.FORK, f"{other.database}.{other.table}")
    return KeepReason(held.BRANCH, branch)
