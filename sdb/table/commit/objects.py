"""Writing objects of tables: each once, under a name that no other object ever has."""

from __future__ import annotations

from sdb.errors import ConflictError, NotFoundError, UncertainError
from sdb.records import record
from sdb.table.commit.environment import REAL, Surroundings
from sdb.table.format import etags
from sdb.table.format.keys import TableKeys, new_uid
from sdb.table.format.versionref import MAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from sdb.table.catalog.root import TableRoot

_ATTEMPTS = 5


def put_new(root: TableRoot, key: str, data: bytes, *, ahead: bool = False) -> str:
    """Write an object that nobody overwrites; the same content a second time is the same object.

    Parameters
    ----------
    root : TableRoot
        The root that it is below.
    key : str
        Its key.
    data : bytes
        Its content.
    ahead : bool
        See :meth:`sdb.store.base.Store.put_if`: the commit that leads to it makes it durable.

    Returns
    -------
    str
        Its ETag.

    Raises
    ------
    ConflictError
        There is an object of this name with another content.
    UncertainError
        It is not known whether it was written.
    """
    place = root.place(key)
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            version = root.store.put_if(place, data, None, ahead=ahead)
        except NotFoundError:
            root.store.make(place.rpartition("/")[0])
        except UncertainError:
            if attempt == _ATTEMPTS:
                raise
        except ConflictError:
            found = look(root, key)
            if found is None:
                continue
            if found[0] == data:
                return found[1]
            raise
        else:
            if version and root.store.is_remote:
                return version
            return etags.of_content([data])
    message = f"writing {place}: it comes and goes"
    raise ConflictError(message, path=place, hint="run it again")


def look(root: TableRoot, key: str) -> tuple[bytes, str] | None:
    """Give the content and the ETag of a small object; None: there is none."""
    try:
        reader = root.open(key)
    except NotFoundError:
        return None
    try:
        data = reader.read(0, reader.size_bytes)
        return data, reader.etag or etags.of_content([data])
    finally:
        reader.close()


def store_now_us(root: TableRoot, keys: TableKeys, around: Surroundings) -> int:
    """Tell what time it is by the clock of the store, by an object that is there for a moment."""
    key = f"{keys.folder}/.{new_uid(around.random_bytes)}.tmp"
    put_new(root, key, b"")
    place = root.place(key)
    found = root.store.look(place)
    root.store.delete(place)
    return around.now_us() if found is None else found.modified_us


@record
class ObjectWriter:
    """Writes the objects of a table that get random names.

    Attributes
    ----------
    root : TableRoot
        The root.
    keys : TableKeys
        The names of the table.
    around : Surroundings
        Gives randomness and time.
    branch : str
        The branch that the objects are for.
    """

    root: TableRoot
    keys: TableKeys
    around: Surroundings = REAL
    branch: str = MAIN

    @property
    def head(self) -> str:
        """Key of the index of the branch."""
        return self.keys.branch(self.branch)

    def indirect(self, data: bytes) -> tuple[str, str, int | None]:
        """Write a list of descriptors: gives key, ETag and when it was written."""
        return (*self._put(self.keys.indirect, data), self.around.now_us())

    def inputs(self, data: bytes) -> tuple[str, str]:
        """Write a node of the inputs tree: gives key and ETag."""
        return self._put(self.keys.inputs, data)

    def history(self, data: bytes) -> str:
        """Write a list of versions: gives the key."""
        return self._put(self.keys.history, data)[0]

    def _put(self, key_of: Callable[[str], str], data: bytes) -> tuple[str, str]:
        key = key_of(new_uid(self.around.random_bytes))
        return key, put_new(self.root, key, data)
