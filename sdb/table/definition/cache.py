"""A cache of definitions for inserts, which over a network are read once in ten seconds.

An insert needs the partition fields and the statistics of a definition. A new definition does not
change inserts that have begun anyway.
"""

from __future__ import annotations

from sdb.errors import CorruptError, InputError, NotFoundError
from sdb.lru import LruCache
from sdb.records import replace
from sdb.table.catalog.handle import find_table
from sdb.table.definition import rawjson
from sdb.table.definition.definition import MAX_BYTES, Definition

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.store.base import Reader, Store
    from sdb.table.catalog.root import TableRoot
    from sdb.table.format.keys import TableKeys

FRESH_SECONDS = 10.0
_KNOWN: LruCache[tuple[Store, str, TableKeys], Definition] = LruCache(
    most_entries=64, fresh_seconds=FRESH_SECONDS
)


def read_definition(root: TableRoot, keys: TableKeys) -> Definition:
    """Read the definition of a table.

    Raises `NotFoundError` if the table has no definition and `InputError` if it is malformed.
    """
    return open_definition(root, keys)[0]


def open_definition(root: TableRoot, keys: TableKeys) -> tuple[Definition, Reader]:
    """Read the definition of a table, and the version of its object, which is closed.

    Raises `NotFoundError` or `InputError` as :func:`read_definition` does.
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
        return Definition.parse(data.decode(), is_stored=True), reader
    except UnicodeDecodeError as error:
        message = f"{key} is not UTF-8 at byte {error.start:,}"
        raise InputError(message, path=key) from None
    except InputError as error:
        raise error.within(key, path=key) from None


def current_definition(root: TableRoot, keys: TableKeys) -> Definition:
    """Read the definition of a table, with the schema that the table has now.

    Raises `NotFoundError` or `InputError` as :func:`read_definition` does.
    """
    import json

    definition = read_definition(root, keys)
    head = find_table(root, keys.database, keys.table)
    schema = None if head is None or head.is_dropped else head.schema
    if schema is None and head is None:
        return definition
    text = "" if schema is None else json.dumps(schema.as_dict(), ensure_ascii=False)
    return replace(definition, schema=rawjson.compact(text))


def recent_definition(root: TableRoot, keys: TableKeys) -> Definition:
    """Read a definition, or give that of a few seconds ago on a remote store.

    Raises `NotFoundError` or `InputError` as :func:`sdb.table.catalog.handle.read_definition` does.
    """
    if not root.store.is_remote:
        return read_definition(root, keys)
    key = root.store, root.location, keys
    definition = _KNOWN.get(key)
    if definition is None:
        definition = read_definition(root, keys)
        _KNOWN.put(key, definition)
    return definition


def statistics_of(root: TableRoot, keys: TableKeys) -> str:
    """Return statistics that the definition of a table asks for; of a table without one: auto."""
    try:
        return recent_definition(root, keys).statistics
    except NotFoundError:
        return "auto"


def forget_definition(root: TableRoot, keys: TableKeys) -> None:
    """Drop a definition that was replaced, so that the next insert reads the new one."""
    _KNOWN.forget((root.store, root.location, keys))
