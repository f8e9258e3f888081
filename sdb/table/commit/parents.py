"""Versions as they are stored, and their ancestors, also those that have expired.

Expiry takes versions out of a history, and a version goes on naming its parent. `gc` leaves alone
what was the newest version a short while ago.
"""

from __future__ import annotations

from sdb.errors import CorruptError, UncertainError, UnsupportedError
from sdb.records import record
from sdb.table.format import etags
from sdb.table.format.index import TableIndex
from sdb.table.format.state import state_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sdb.table.commit.chain import VersionChain
    from sdb.table.format.history import VersionPointer
    from sdb.table.format.signature import Keyring
    from sdb.table.format.state import VersionState

    Fetch = Callable[[str, str], bytes]


@record
class ReadVersion:
    """A version as it is kept below ``versions/``."""

    # Where it is, by the digest of the content
    key: str
    etag: str
    index: TableIndex  # its index
    state: VersionState  # its state


def read_version(key: str, data: bytes, keyring: Keyring) -> ReadVersion:
    """Read a version.

    * ``keyring``: The keys: one of them must have signed it.

    Raises `CorruptError` or `UnsupportedError` if it is no version, or damaged, or of a later
    format.
    """
    try:
        index = TableIndex.decode(data, keyring)
        state = state_of(index.user_data)
        if state is None:
            raise CorruptError("invalid version object: it has no state of a version")  # noqa: TRY301
    except (CorruptError, UnsupportedError) as error:
        raise error.within(f"reading {key}", path=key) from None
    return ReadVersion(key, etags.of_content([data]), index, state)


def parents_of(
    pointer: VersionPointer | None, fetch: Fetch, keyring: Keyring
) -> Iterator[ReadVersion]:
    """Iterate over a version and those that it came from, the newest first.

    Raises `CorruptError` if one is missing or damaged.
    """
    while pointer is not None:
        version = read_version(pointer.key, fetch(pointer.key, pointer.etag), keyring)
        yield version
        if (
            version.state.parent is not None
            and version.state.parent.version >= version.state.version
        ):
            raise CorruptError(f"{version.key} is not after its parent", path=version.key)
        pointer = version.state.parent


def expired_version(last: VersionChain, commit: str, since: int) -> int | None:
    """Find the version that a commit has made, and that the history may not tell any more.

    Raises `CorruptError` if a version is gone, so that nobody can tell; `UncertainError` if it was
    purged.
    """
    if last.state is None or last.state.version - since <= 1:
        return None
    numbers = {version.version for version in last.state.history}
    if all(number in numbers for number in range(since + 1, last.state.version)):
        return None
    new = {version.key: version.data for version in last.pending}
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
