"""Definitions of tables that rows are inserted into, over a network read once in ten seconds.

What an insert needs of one is by which fields the table has partitions, and which statistics its
packfiles have. Who replaces a definition
waits for inserts that have begun anyway.
"""

from __future__ import annotations

import time

from sdb.errors import CorruptError, InputError, NotFoundError
from sdb.table.definition.definition import MAX_BYTES, Definition

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.store.base import Store
    from sdb.table.catalog.root import TableRoot
    from sdb.table.format.keys import TableKeys

FRESH_SECONDS = 10.0
_MOST_KEPT = 64
_KEPT: dict[tuple[Store, str, TableKeys], tuple[float, Definition]] = {}


def read_definition(root: TableRoot, keys: TableKeys) -> Definition:
    """Read the definition of a table.

    Parameters
    ----------
    root : TableRoot
        The root that it is below.
    keys : TableKeys
        The names of the table.

    Returns
    -------
    Definition
        What the table takes.

    Raises
    ------
    NotFoundError
        There is none.
    InputError
        It is malformed.
    """
    key = keys.definition
    try:
        reader = root.open(key)
    except NotFoundError:
        message = f"there is no definition of {keys.database}.{keys.table} below {root.location}"
        raise NotFoundError(message, path=key, hint="sdb create makes one") from None
    try:
        if reader.size_bytes > MAX_BYTES:
            message = f"{key}: {reader.size_bytes:,} bytes, the limit is {MAX_BYTES:,}"
            raise CorruptError(message, path=key)
        data = reader.read(0, reader.size_bytes)
    finally:
        reader.close()
    try:
        return Definition.parse(data.decode(), is_stored=True)
    except UnicodeDecodeError as error:
        message = f"{key} is not UTF-8 at byte {error.start:,}"
        raise InputError(message, path=key) from None
    except InputError as error:
        raise error.within(key, path=key) from None


def recent_definition(root: TableRoot, keys: TableKeys) -> Definition:
    """Read a definition, or give that of a few seconds ago on a remote store.

    Parameters
    ----------
    root : TableRoot
        The root that the table is below.
    keys : TableKeys
        Its names.

    Returns
    -------
    Definition
        What the table takes.

    Raises
    ------
    NotFoundError, InputError
        See :func:`sdb.table.catalog.handle.read_definition`.
    """
    if not root.store.is_remote:
        return read_definition(root, keys)
    key, now = (root.store, root.location, keys), time.monotonic()
    kept = _KEPT.get(key)
    if kept is not None and now - kept[0] < FRESH_SECONDS:
        return kept[1]
    found = read_definition(root, keys)
    _KEPT[key] = (now, found)
    while len(_KEPT) > _MOST_KEPT:
        _KEPT.pop(next(iter(_KEPT)), None)
    return found


def statistics_of(root: TableRoot, keys: TableKeys) -> str:
    """Give the statistics that the definition of a table asks for; of a table without one: auto."""
    try:
        return recent_definition(root, keys).statistics
    except NotFoundError:
        return "auto"


def forget_definition(root: TableRoot, keys: TableKeys) -> None:
    """Let the next insert of this program read the definition, which was replaced."""
    _KEPT.pop((root.store, root.location, keys), None)
