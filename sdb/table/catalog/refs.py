"""Named versions of a table: its tags and branches, and where the version is kept.

Reads only; :mod:`sdb.table.history.setrefs` sets them.
"""

from __future__ import annotations

from sdb import instants
from sdb.errors import CorruptError, UsageError
from sdb.records import record
from sdb.table.catalog.foreign import is_foreign
from sdb.table.catalog.handle import find_table, open_table
from sdb.table.format import etags
from sdb.table.format.history import HistoryRef, VersionPointer, read_history
from sdb.table.format.versionref import MAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

    from sdb.table.catalog.handle import TableHandle


@record
class NamedVersion:
    """A tag or a branch.

    Attributes
    ----------
    kind : {"tag", "branch"}
        What it is.
    name : str
        Its name.
    version : int or None
        The version of a tag, or the newest of a branch; None: another program has written it.
    at_us : int
        When that was committed.
    """

    kind: str
    name: str
    version: int | None
    at_us: int

    @property
    def at(self) -> datetime:
        """The time when the version was committed."""
        return instants.from_us(self.at_us)

    def as_dict(self) -> dict[str, object]:
        """Return it as plain values with stable names, for JSON."""
        at = instants.text(self.at_us)
        return {"kind": self.kind, "name": self.name, "version": self.version, "at": at}


def refs(handle: TableHandle) -> list[NamedVersion]:
    """Return the tags and branches of a table, sorted by name; the index of each is read.

    Raises `CorruptError` if an index is missing or damaged.
    """
    state = handle.state
    named = [named_version("branch", MAIN, handle)]
    if state is None:
        return named
    keys = handle.keys
    for name in sorted(state.branches):
        head = find_table(handle.root, keys.database, keys.table, branch=name)
        named += [] if head is None else [named_version("branch", name, head)]
    for name, tag in sorted(state.tags.items()):
        try:
            named.append(named_version("tag", name, handle.version(tag.key, tag.etag)))
        except CorruptError:
            now = open_table(handle.root, keys.database, keys.table).state
            if now is not None and now.tags.get(name) == tag:
                raise
    return named  # without tags that were taken away, and collected, meanwhile


def named_version(kind: str, name: str, handle: TableHandle) -> NamedVersion:
    """Describe a tag or branch, whose version a handle has open."""
    state = handle.state
    if state is None or is_foreign(handle.index, state):
        return NamedVersion(kind, name, None, handle.index.created_us)
    return NamedVersion(kind, name, state.version, state.at_us)


def is_told(handle: TableHandle, head: TableHandle | None = None) -> bool:
    """Return whether the history of main has a version, if it is one of main; `head`: its head."""
    state, keys = handle.state, handle.keys
    head = head or find_table(handle.root, keys.database, keys.table)
    if state is None or state.branch or head is None or head.state is None:
        return True
    if (head.state.version, head.state.commit) == (state.version, state.commit):
        return True
    key = keys.version(state.version, state.commit)
    pointer = head.state.place_of(state.version)
    if isinstance(pointer, HistoryRef):
        listed = read_history(handle.root.fetch(pointer.key, pointer.etag), pointer)
        return any(past.key == key for past in listed)
    return pointer is not None and pointer.key == key


def pointer_to(handle: TableHandle) -> VersionPointer:
    """Return where the version is kept that a handle has open, which must be one of ours."""
    state = handle.state
    if state is None:
        raise UsageError(f"{handle.name}: no sdb has written this version")
    key = handle.keys.version(state.version, state.commit)
    return VersionPointer(state.version, key, state.kept_etag or etags.of_content([handle.data]))
