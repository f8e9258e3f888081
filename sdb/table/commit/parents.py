"""Parents: the versions that a version came from, also those that its history does not tell.

Expiry takes versions out of a history; a version goes on naming the one that it followed. What was
the newest version a short while ago is there still: collectors leave it alone.
"""

from __future__ import annotations

from sdb.errors import CorruptError, UncertainError
from sdb.records import record
from sdb.table.format import etags
from sdb.table.format.index import TableIndex
from sdb.table.format.state import state_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sdb.table.commit.chain import Succession
    from sdb.table.format.history import VersionPointer
    from sdb.table.format.signature import Keyring
    from sdb.table.format.state import VersionState

    Fetch = Callable[[str, str], bytes]


@record
class ReadVersion:
    """A version as it is kept below ``versions/``.

    Attributes
    ----------
    key, etag : str
        Where it is, by the digest of the content.
    index : TableIndex
        Its index.
    state : VersionState
        Its state.
    """

    key: str
    etag: str
    index: TableIndex
    state: VersionState


def read_version(key: str, data: bytes, keyring: Keyring) -> ReadVersion:
    """Read a version.

    Parameters
    ----------
    key : str
        Where it is kept.
    data : bytes
        Its index.
    keyring : Keyring
        The keys: one of them must have signed it.

    Returns
    -------
    ReadVersion
        The version.

    Raises
    ------
    CorruptError, UnsupportedError
        It is none, or damaged, or of a later format.
    """
    try:
        index = TableIndex.decode(data, keyring)
        state = state_of(index.user_data)
        if state is None:
            raise CorruptError("it is no version")  # noqa: TRY301
    except CorruptError as error:
        raise error.within(f"reading {key}", path=key) from None
    return ReadVersion(key, etags.of_content([data]), index, state)


def parents_of(
    pointer: VersionPointer | None, fetch: Fetch, keyring: Keyring
) -> Iterator[ReadVersion]:
    """Go over a version and those that it came from, the newest first.

    Parameters
    ----------
    pointer : VersionPointer or None
        The version.
    fetch : callable
        Reads an object by key and ETag.
    keyring : Keyring
        The keys.

    Yields
    ------
    ReadVersion
        The versions.

    Raises
    ------
    CorruptError
        One is missing or damaged.
    """
    while pointer is not None:
        found = read_version(pointer.key, fetch(pointer.key, pointer.etag), keyring)
        yield found
        if found.state.parent is not None and found.state.parent.version >= found.state.version:
            raise CorruptError(f"{found.key} is not after its parent", path=found.key)
        pointer = found.state.parent


def expired_place(last: Succession, commit: str, since: int) -> int | None:
    """Find the version that a commit has made, and that the history may not tell any more.

    Parameters
    ----------
    last : Succession
        The last version.
    commit : str
        The id of the commit.
    since : int
        It is no version up to this one.

    Returns
    -------
    int or None
        Its number; None: it has made none.

    Raises
    ------
    CorruptError
        A version is gone, so that nobody can tell.
    UncertainError
        It was purged.
    """
    if last.state is None or last.state.version - since <= 1:
        return None
    numbers = {one.version for one in last.state.history}
    if all(number in numbers for number in range(since + 1, last.state.version)):
        return None
    new = {one.key: one.data for one in last.pending}
    root, keys = last.writer.root, last.writer.keys

    def fetch(key: str, etag: str) -> bytes:
        return new[key] if key in new else root.fetch(key, etag)

    pointer = last.pointer
    while pointer is not None and pointer.version > since:
        if keys.version_of(pointer.key) == (pointer.version, commit):
            return pointer.version
        if pointer.version <= since + 1:
            break
        try:
            data = fetch(pointer.key, pointer.etag)
        except CorruptError as error:
            if last.state.purged < pointer.version:
                raise
            message = f"whether {commit} was done cannot be told: {pointer.key} was purged"
            raise UncertainError(message, path=error.path) from None
        pointer = read_version(pointer.key, data, root.keyring).state.parent
    return None
