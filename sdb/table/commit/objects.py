"""Writing objects of tables: most of them once, under a name that no other object ever has."""

from __future__ import annotations

from sdb.errors import ConflictError, NotFoundError, UncertainError
from sdb.records import record
from sdb.table.commit.environment import REAL, Environment
from sdb.table.format import etags
from sdb.table.format.keys import TableKeys, new_uid
from sdb.table.format.versionref import MAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from sdb.store.base import Reader
    from sdb.table.catalog.root import TableRoot

_ATTEMPTS = 5


def put_new(root: TableRoot, key: str, data: bytes, *, durable: bool = True) -> str:
    """Create an object that is never overwritten; idempotent for the same content.

    * ``durable``: See :meth:`sdb.store.base.Store.put_if_match`; otherwise the commit that leads to
      it makes it so.

    Raises `ConflictError` if there is an object of this name with another content and
    `UncertainError` if it is not known whether it was written.
    """
    location = root.place(key)
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            version = root.store.put_if_match(location, data, None, durable=durable)
        except NotFoundError as error:
            make_missing_folder(root, location, error)
        except UncertainError:
            # No other object has the name: writing again is safe, and finds what a lost answer has
            # left.
            if attempt == _ATTEMPTS:
                raise
        except ConflictError:
            stored = look(root, key)
            if stored is None:
                continue
            if stored[0] == data:
                return stored[1]
            raise
        else:
            if version and root.store.is_remote:
                return version
            return etags.of_content([data])
    message = f"writing {location}: other writers create and delete it"
    raise ConflictError(message, path=location, hint="run it again")


def put_in_place(root: TableRoot, key: str, data: bytes, replaced: Reader | None) -> None:
    """Store an object in the place of the one that was read; None: there was none.

    Raises `ConflictError` if another program was faster, `NotFoundError` if the object is gone
    since and `UncertainError` if it is not known whether it was written.
    """
    if replaced is None:
        put_new(root, key, data)
        return
    location = root.place(key)
    with root.store.lock(location):
        root.store.put_if_match(location, data, replaced)


def make_missing_folder(root: TableRoot, location: str, error: NotFoundError) -> None:
    """Make the folder of an object that could not be written for want of it.

    Raises `NotFoundError` likewise: over a network it is the S3 bucket that is gone.
    """
    if root.store.is_remote:
        raise error
    root.store.make_folder(location.rpartition("/")[0])


def look(root: TableRoot, key: str) -> tuple[bytes, str] | None:
    """Return the content and the ETag of a small object; None: it does not exist."""
    try:
        reader = root.open(key)
    except NotFoundError:
        return None
    try:
        data = reader.read(0, reader.size_bytes)
        return data, reader.etag or etags.of_content([data])
    finally:
        reader.close()


def store_now_us(root: TableRoot, keys: TableKeys, env: Environment) -> int:
    """Report what time it is by the clock of the store, by an object that is there for a moment."""
    key = f"{keys.folder}/.{new_uid(env.random_bytes)}.tmp"
    put_new(root, key, b"")
    location = root.place(key)
    entry = root.store.head(location)
    root.store.delete(location)
    return env.now_us() if entry is None else entry.modified_us


@record
class ObjectWriter:
    """Writes the objects of a table that get random names."""

    root: TableRoot  # the root
    keys: TableKeys  # the names of the table
    env: Environment = REAL  # gives randomness and time
    branch: str = MAIN  # the branch that the objects are for

    @property
    def head(self) -> str:
        """Key of the index of the branch."""
        return self.keys.branch(self.branch)

    def indirect(self, data: bytes) -> tuple[str, str, int | None]:
        """Write a list of descriptors: gives key, ETag and when it was written."""
        return (*self._put(self.keys.indirect, data), self.env.now_us())

    def inputs(self, data: bytes) -> tuple[str, str]:
        """Write a node of the inputs tree: gives key and ETag."""
        return self._put(self.keys.inputs, data)

    def history(self, data: bytes) -> str:
        """Write a list of versions: gives the key."""
        return self._put(self.keys.history, data)[0]

    def _put(self, key_of: Callable[[str], str], data: bytes) -> tuple[str, str]:
        key = key_of(new_uid(self.env.random_bytes))
        return key, put_new(self.root, key, data)
