"""Indexes that were put back: versions that are newer than the index are there, and go on.

A restore from a backup, or a copy, may put an older index in the place of the newest one. The
versions after it were acknowledged, and their objects are still there: the next commit follows
the newest of them. A version just behind the index may be one whose writer was killed before it
counted: that the index was put back tells one more version, that its file was made later, or
somebody who knows it.
"""

from __future__ import annotations

from sdb import notes
from sdb._core import file_born_ns
from sdb.errors import CorruptError, UnsupportedError
from sdb.lru import LruCache
from sdb.records import record, replace
from sdb.table.catalog.foreign import is_overwritten
from sdb.table.catalog.handle import find_head
from sdb.table.catalog.intents import COMMITTED, find_intent
from sdb.table.commit.chain import NewVersion, VersionChain
from sdb.table.commit.objects import ObjectWriter, look
from sdb.table.commit.parents import ReadVersion, read_version
from sdb.table.format import etags
from sdb.table.format.history import HistoryRef, PastVersion, VersionPointer, read_history
from sdb.table.format.versionref import MAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.store.base import Store
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.format.state import VersionState


@record
class NewerVersion:
    """A version behind the index."""

    key: str
    text: str  # what it means, and what to do
    command: str  # the command that does it
    was_put_back: bool = True  # whether the index is certainly older than it was


_MOST_READ = 16
_SEEN: LruCache[tuple[Store, str, bytes], int] = LruCache(most_entries=256)
"""The newest version that this program knows of, by store, location of the index, and table."""


def take_note(head: TableHandle, number: int) -> None:
    """Record that a version is there, or was.

    * ``head``: The index of its branch.
    """
    if head.state is not None:
        _SEEN.put((head.root.store, head.reader.path, head.state.table), number)


def newer_versions(head: TableHandle, branch: str) -> list[ReadVersion]:
    """Read the versions that came of the index as it is, the newest first."""
    state = head.state
    if state is None or head.joint is not None or is_overwritten(head):
        return []
    if (state.branch or MAIN) != branch:  # it has just begun: a branch of its name may have gone
        return []
    folder = f"{head.keys.folder}/versions"
    after = f"{state.version + 1:020}"
    entries = head.root.store.list(head.root.place(folder), after=after)
    newer = []
    for entry in [*reversed(entries)][:_MOST_READ]:
        version = _read(head, f"{folder}/{entry.name}")
        if version is not None and _came_of(version.state, head, state):
            newer.append(version)
    return newer


def was_put_back(head: TableHandle, branch: str) -> ReadVersion | None:
    """Return the version to go on with if an older index was put back; None: it was not.

    Where listing costs a request, this is looked up only if this program has seen a newer version.
    """
    state = head.state
    if state is None:
        return None
    seen = _SEEN.get((head.root.store, head.reader.path, state.table))
    is_known = seen is not None and seen > state.version
    if not is_known:
        take_note(head, state.version)
        if seen is not None or head.root.store.is_remote:
            return None
    newer = newer_versions(head, branch)
    is_next = bool(newer) and newer[0].state.version == state.version + 1
    if is_next and not is_known and not _is_younger(head, newer[0]):
        notes.warn(
            f"{newer[0].key} is there, and not in {head.name}: its commit was interrupted, or an "
            "older index was put back"
        )
        newer = []
    for version in newer:
        handle = replace(head, index=version.index)
        if all(head.root.has(packfile.key) for packfile in handle.descriptors()):
            take_note(head, version.state.version)
            return version
        notes.warn(f"{version.key} is newer than the index, and packfiles of it are missing")
    return None


def _is_younger(head: TableHandle, version: ReadVersion) -> bool:
    """Return whether the file of an index was made after a version that came of it."""
    if head.root.store.is_remote or (head.state is not None and head.state.kept_etag):
        return False  # tags and branches are set in the index, which makes no version
    born = file_born_ns(head.root.place(version.key))
    return 0 < born < file_born_ns(head.reader.path)


def chain_of(version: ReadVersion, head: TableHandle, writer: ObjectWriter) -> VersionChain:
    """Return the chain that goes on with a version, which has yet to become the index."""
    old = head.state
    number = 0 if old is None else old.version
    notes.warn(
        f"{head.name}: {writer.head} was that of version {number:,}, an older one that was put in "
        f"its place: version {version.state.version:,} goes on"
    )
    state = version.state
    if old is not None:
        branches = tuple(dict.fromkeys([*old.branches, *state.branches]))
        state = replace(state, tags=old.tags | state.tags, branches=branches)
    data = writer.root.fetch(version.key, version.etag)
    pointer = VersionPointer(state.version, version.key, version.etag)
    pending = (NewVersion(version.key, data, ()),)
    return VersionChain(writer, version.index, state, pointer, pending, is_put_back=True)


def described(head: TableHandle) -> NewerVersion | None:
    """Describe the newest version behind the index, if there are any.

    It is looked at again where others commit meanwhile.
    """
    branch = MAIN if head.state is None else head.state.branch or MAIN
    newer = newer_versions(head, branch)
    while newer:
        now = find_head(head.root, head.keys, branch)
        if now is None or now.data == head.data:
            break
        head, newer = now, newer_versions(now, branch)
    if not newer or head.state is None:
        return None
    key, number, before = newer[0].key, newer[0].state.version, head.state.version
    restore = f"sdb restore {head.name} {number}"
    restore += "" if branch == MAIN else f" --branch {branch}"
    if number == before + 1 and not _is_younger(head, newer[0]):
        why = "its commit was interrupted, or an older index was put back"
        text = f"is there, and not in the table: {why}; {restore} takes it"
        return NewerVersion(key, text, restore, was_put_back=False)
    text = f"is newer than the index, that of version {before:,}, an older one that was put back"
    return NewerVersion(key, f"{text}; the next commit, or {restore}, goes on from there", restore)


def _read(head: TableHandle, key: str) -> ReadVersion | None:
    if head.keys.version_of(key) is None:
        return None
    data = look(head.root, key)
    try:
        return None if data is None else read_version(key, data[0], head.root.keyring)
    except (CorruptError, UnsupportedError) as error:
        notes.warn(error.message)
        return None


def _came_of(newer: VersionState, head: TableHandle, state: VersionState) -> bool:
    """Return whether a version has another one in its history, or came after it has expired."""
    if (newer.table, newer.branch) != (state.table, state.branch):
        return False
    if newer.transaction:
        intent = find_intent(head.root, newer.transaction)
        if intent is None or intent.intent.step != COMMITTED:
            return False  # it may have been given up
    etag = state.kept_etag or etags.of_content([head.data])
    key, listing = head.keys.version(state.version, state.commit), newer.place_of(state.version)
    if isinstance(listing, HistoryRef):
        listed = read_history(head.root.fetch(listing.key, listing.etag), listing)
        return any((past.key, past.etag) == (key, etag) for past in listed)
    if isinstance(listing, PastVersion):
        return (listing.key, listing.etag) == (key, etag)
    oldest = [ref.first for ref in newer.older] + [past.version for past in newer.history]
    return not state.branch and min(oldest, default=newer.version) > state.version
