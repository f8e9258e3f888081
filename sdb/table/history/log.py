"""The log of a table: what each version has changed, when, its author, and why."""

from __future__ import annotations

from itertools import islice

from sdb import instants, ion, notes
from sdb.errors import CorruptError, SdbError
from sdb.records import field, record, replace
from sdb.table.catalog.lookup import Versions
from sdb.table.commit.chain import changes_of, told_rows
from sdb.table.commit.change import inputs_between, packfiles_between, rows_of
from sdb.table.format import ionstruct
from sdb.table.format.history import VersionPointer, any_struct, required_instant
from sdb.table.format.index import TableIndex
from sdb.table.format.state import MEMBER, VersionChanges
from sdb.table.schema.versions import schema_changes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from sdb.table.catalog.handle import TableHandle
    from sdb.table.format.descriptor import Descriptor
    from sdb.table.format.history import PastVersion
    from sdb.table.schema.difference import ColumnChange

FOREIGN = "foreign"
_AT_ONCE = 10


@record
class LoggedVersion:
    """A version in a log.

    Attributes
    ----------
    version : int or None
        Its number; None: another program has written the index since, which is no version yet.
    at_us : int
        When it was committed, in microseconds since 1970; `at` is the same as a datetime.
    commit : str
        Id of its commit.
    operation, author, message : str
        What made it, its author, and why.
    rows : int or None
        Rows of all packfiles; None: not known, since the original does not count them.
    size_bytes : int
        Bytes of all packfiles.
    changes : VersionChanges
        What is different from the parent.
    parents : tuple of int
        The version before it; of a merge, that of the other branch as well.
    names : tuple of str
        Tags and branches that are this version.
    """

    version: int | None
    at_us: int
    commit: str
    operation: str
    author: str
    message: str
    rows: int | None
    size_bytes: int
    changes: VersionChanges
    parents: tuple[int, ...]
    names: tuple[str, ...] = ()

    @property
    def at(self) -> datetime:
        """The time when it was committed."""
        return instants.from_us(self.at_us)

    def as_dict(self) -> dict[str, object]:
        """Return it as plain values with stable names, for JSON."""
        changes = self.changes.as_dict()
        return {
            "version": self.version,
            "at": instants.text(self.at_us),
            "id": self.commit,
            "operation": self.operation,
            "author": self.author,
            "message": self.message,
            "rows": self.rows,
            "bytes": self.size_bytes,
            "changes": {name.replace("-", "_"): value for name, value in changes.items()},
            "parents": list(self.parents),
            "names": list(self.names),
        }


@record
class ShownVersion:
    """A version with all that it has changed.

    Attributes
    ----------
    name : str
        The table.
    logged : LoggedVersion
        The version in the log.
    packfiles : int
        Number of packfiles that it has.
    added, removed : tuple of Descriptor
        Packfiles that came in, and that went.
    inputs : tuple of str
        Inputs that it took, or that failed then.
    schema : tuple of ColumnChange
        What it changed of the schema.
    """

    name: str
    logged: LoggedVersion
    packfiles: int
    added: tuple[Descriptor, ...] = field(repr=False)
    removed: tuple[Descriptor, ...] = field(repr=False)
    inputs: tuple[str, ...] = field(repr=False)
    schema: tuple[ColumnChange, ...] = field(default=(), repr=False)

    def as_dict(self) -> dict[str, object]:
        """Return it as plain values with stable names, for JSON."""
        schema = {"schema": [change.as_dict() for change in self.schema]} if self.schema else {}
        return {
            "table": self.name,
            **self.logged.as_dict(),
            "packfiles": self.packfiles,
            "added": [packfile_dict(descriptor) for descriptor in self.added],
            "removed": [packfile_dict(descriptor) for descriptor in self.removed],
            "inputs": list(self.inputs),
            **schema,
        }


def shown(handle: TableHandle, logged: LoggedVersion) -> ShownVersion:
    """Report what a version in the log of a table has changed; see :func:`show`."""
    if logged.version is None or handle.state is None or logged.commit == handle.state.commit:
        return show(handle)
    key = handle.keys.version(logged.version, logged.commit)
    return replace(show(handle.version(key)), logged=logged)


def packfile_dict(descriptor: Descriptor) -> dict[str, object]:
    """Return a packfile as plain values with stable names, for JSON."""
    return {"path": descriptor.key, "rows": descriptor.rows, "bytes": descriptor.size_bytes}


def log(handle: TableHandle) -> Iterator[LoggedVersion]:
    """Iterate over the versions of a table, the newest first.

    * ``handle``: The table; a version, for those up to it.

    Yields: A version. Its own index is read for it; one that is missing or damaged is reported, and
    has what the list of versions says.
    Raises `CorruptError` if a list of versions is missing or damaged.
    """
    versions = Versions(handle)
    names = names_of(handle)
    if versions.head_number is None:
        if handle.state is None or versions.is_foreign:
            yield _stranger(handle)
    else:
        yield _logged(handle.data, handle, names)
    for version, data in _read(handle, versions.newest_first()):
        try:
            if isinstance(data, SdbError):
                raise data
            yield _logged(data, handle, names)
        except SdbError as error:
            notes.warn(f"{handle.name}: {error.message}")
            yield _listed(version, handle, names)


def _read(
    handle: TableHandle, versions: Iterator[PastVersion]
) -> Iterator[tuple[PastVersion, bytes | SdbError]]:
    """Read the indexes of versions; where each is a request, several at a time."""

    def read(version: PastVersion) -> bytes | SdbError:
        try:
            return (
                handle.root.fetch(version.key, version.etag)
                if version.etag
                else _kept(handle, version)
            )
        except SdbError as error:
            return error

    if not handle.root.store.is_remote:
        for version in versions:
            yield version, read(version)
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        while several := list(islice(versions, _AT_ONCE)):
            yield from zip(several, pool.map(read, several), strict=True)


def show(handle: TableHandle) -> ShownVersion:
    """Report what a version has changed.

    Raises `CorruptError` if an object that it leads to is missing or damaged.
    """
    state = handle.state
    is_strange = state is None or Versions(handle).is_foreign
    logged = _stranger(handle) if is_strange else _logged(handle.data, handle, names_of(handle))
    before = _overwritten(handle) if is_strange else None
    if state is not None and state.parent is not None and not is_strange:
        before = _before(handle, state.version, state.parent)
    added, removed = packfiles_between(before, handle.index, handle.root.fetch)
    taken = inputs_between(before, handle.index, handle.root.fetch)
    count = sum(ref.objects for ref in handle.index.indirect.refs) + len(handle.index.inline)
    return ShownVersion(
        handle.name,
        logged,
        count,
        added,
        removed,
        tuple(entry.path for entry in taken),
        schema_changes(before, handle.index),
    )


def _before(handle: TableHandle, version: int, parent: VersionPointer) -> TableIndex:
    """Read the version before one; the same where it has expired, and was collected."""
    try:
        return handle.version(parent.key, parent.etag).index
    except CorruptError:
        if handle.root.has(parent.key):
            raise
    message = (
        f"the packfiles that version {version} of {handle.name} changed are not known any more"
    )
    notes.warn(f"{message}: version {parent.version} has expired, and was collected")
    return handle.index


def names_of(handle: TableHandle) -> dict[str, tuple[str, ...]]:
    """Return the tags of versions, by the keys of their indexes."""
    names: dict[str, tuple[str, ...]] = {}
    for name, tag in ({} if handle.state is None else handle.state.tags).items():
        names[tag.key] = (*names.get(tag.key, ()), name)
    return names


def _kept(handle: TableHandle, version: PastVersion) -> bytes:
    return handle.version(version.key).data


def _stranger(handle: TableHandle) -> LoggedVersion:
    """Warn about an index that another program has written, and that no commit has followed yet."""
    before, fetch = _overwritten(handle), handle.root.fetch
    descriptors = list(handle.descriptors())
    size = sum(descriptor.size_bytes for descriptor in descriptors)
    added, removed = packfiles_between(before, handle.index, fetch)
    changes = changes_of(added, removed)
    at_us = handle.index.created_us
    return LoggedVersion(None, at_us, "", FOREIGN, "", "", rows_of(descriptors), size, changes, ())


def _overwritten(handle: TableHandle) -> TableIndex | None:
    """Read the version that another program has read, and passed on; None: it is not known."""
    state = handle.state
    if state is None:
        return None
    try:
        return handle.version(handle.keys.version(state.version, state.commit)).index
    except CorruptError as error:
        notes.warn(f"{error.message}: the changes of another program since then are not known")
        return None


def _listed(
    version: PastVersion, handle: TableHandle, names: dict[str, tuple[str, ...]]
) -> LoggedVersion:
    numbered = handle.keys.version_of(version.key)
    commit = "" if numbered is None else numbered[1]
    facts = (version.version, version.at_us, commit, version.operation, "", "", version.rows, 0)
    return LoggedVersion(*facts, VersionChanges(), (), names.get(version.key, ()))


def _recounted(
    data: bytes, handle: TableHandle, rows: int | None, changes: VersionChanges
) -> tuple[int | None, VersionChanges]:
    """Count the rows of a version of an older `sdb`, which took packfiles of others for empty."""
    index = TableIndex.decode(data, handle.root.keyring)
    rows = told_rows(index, rows)
    if rows is None:
        added, removed = changes.rows_added or None, changes.rows_removed or None
        changes = replace(changes, rows_added=added, rows_removed=removed)
    return rows, changes


def _logged(data: bytes, handle: TableHandle, names: dict[str, tuple[str, ...]]) -> LoggedVersion:
    """Read what an index says of its version, and nothing else of it."""
    value, _, _ = ion.decode(handle.root.keyring.open(data))
    user_data = any_struct(any_struct(value, "the index").get("user-data"), "the user data")
    state = any_struct(user_data.get(MEMBER), "the state of the table")
    version, commit = ionstruct.count(state, "version"), ionstruct.text(state, "id")
    parents = [
        VersionPointer.from_struct(state[name]).version
        for name in ("parent", "merged")
        if name in state
    ]
    try:
        key = handle.keys.version(version, commit)
    except SdbError as error:
        raise CorruptError(error.message) from None
    rows = ionstruct.count_if_present(state, "rows")
    changes = VersionChanges.from_struct(state.get("changes", {}))
    if ionstruct.count(state, "adopted", 0) != version:
        rows, changes = _recounted(data, handle, rows, changes)
    return LoggedVersion(
        version,
        required_instant(state, "at"),
        commit,
        ionstruct.text(state, "operation"),
        ionstruct.text(state, "author", ""),
        ionstruct.text(state, "message", ""),
        rows,
        ionstruct.count(state, "bytes"),
        changes,
        tuple(parents),
        names.get(key, ()),
    )
