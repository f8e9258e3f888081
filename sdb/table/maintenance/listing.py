"""Objects of a table as they are in the store: by key, and the branches among them."""

from __future__ import annotations

from sdb.table.format.keys import flaw_of_ref
from sdb.table.format.versionref import MAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from sdb.store.base import Entry
    from sdb.table.catalog.root import TableRoot
    from sdb.table.format.keys import TableKeys

_INDEX = "/index"


def objects_of(root: TableRoot, keys: TableKeys) -> dict[str, Entry]:
    """List the objects of a table, by key."""
    return _by_key(root, keys, root.store.below(root.place(keys.folder)))


def _by_key(root: TableRoot, keys: TableKeys, entries: Iterable[Entry]) -> dict[str, Entry]:
    """Return objects of a table by key."""
    return {key_of(root, keys, entry): entry for entry in entries}


def key_of(root: TableRoot, keys: TableKeys, entry: Entry) -> str:
    """Return the key of an object or upload of a table."""
    return entry.location[root.key_start(keys.folder) :]


def branches_of(
    root: TableRoot, keys: TableKeys, objects: Iterable[str] | None = None
) -> list[str]:
    """Return the names of the branches that have an index, main first.

    * ``objects``: Keys of the objects of the table; they are listed if not given.
    """
    above = f"{keys.folder}/branches/"
    if objects is None:
        objects = _by_key(root, keys, root.store.below(root.place(above.rstrip("/"))))
    names = [
        key[len(above) : -len(_INDEX)]
        for key in objects
        if key.startswith(above) and key.endswith(_INDEX)
    ]
    return [MAIN, *sorted(name for name in names if not flaw_of_ref(name))]
