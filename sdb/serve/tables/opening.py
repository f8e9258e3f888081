"""Tables that requests name: who may see them, and which version is meant."""

from __future__ import annotations

import hashlib

from sdb import notes
from sdb.errors import NotFoundError
from sdb.lru import LruCache
from sdb.serve.problems import HttpError
from sdb.table.catalog.handle import find_table
from sdb.table.format.keys import TableKeys, flaw_of_name, split_name
from sdb.table.format.versionref import MAIN, split_reference
from sdb.version import VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from sdb.packfile.read.fields import FieldDescription, Inventory
    from sdb.serve.access import Rights
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot

    Fields: TypeAlias = "tuple[Inventory, tuple[FieldDescription, ...]]"

_FIELD_BYTES = 256  # of a field beside its names
_MOST_FIELD_BYTES = 16 << 20


def _size_bytes(listed: Fields) -> int:
    """Return about the memory that fields take."""
    inventoried, named_too = listed
    names = [name or "" for field in (*inventoried.fields, *named_too) for name in field.path]
    count = len(inventoried.fields) + len(named_too)
    return count * _FIELD_BYTES + sum(map(len, [*names, *inventoried.silent]))


_FIELDS: LruCache[tuple[str, str, str], Fields] = LruCache(
    most_bytes=_MOST_FIELD_BYTES, size_of=_size_bytes
)


def named(name: str) -> tuple[TableKeys, str]:
    """Split the name of a table into its keys and the reference behind it.

    Raises `NotFoundError` if no table can have the name.
    """
    text, at = split_reference(name)
    database, table = split_name(text)
    if flaw_of_name(database) or flaw_of_name(table):
        raise absent(text)
    return TableKeys(database, table), at


def absent(name: str) -> NotFoundError:
    """Return the error for a table that is not there, and for one that may not be seen."""
    return NotFoundError(f"there is no table {name[:200]}", hint="GET /v1/tables lists them")


def check_right(keys: TableKeys, rights: Rights, verb: str) -> None:
    """Check that something may be done with a table.

    Raises `NotFoundError` if it may not be seen either: the same error as where it is not there;
    `HttpError` if it may be seen only.
    """
    if rights.may(verb, keys.database, keys.table):
        return
    name = keys.name
    if rights.reads(keys.database, keys.table):
        raise HttpError(403, f"the token may not change {name}", code="forbidden")
    raise absent(name)


def opened(root: TableRoot, name: str, rights: Rights, verb: str = "read") -> TableHandle:
    """Open the table that a request names, as ``db.table`` or ``db.table@version``.

    Raises `NotFoundError` if the table does not exist, or the token may not know of it: the same
    error.
    """
    keys, at = named(name)
    check_right(keys, rights, verb)
    handle = find_table(root, keys.database, keys.table)
    if handle is None or handle.is_dropped:
        raise absent(keys.name)
    return handle.at(at) if at else handle


def fields_of(handle: TableHandle) -> Fields:
    """Return the fields of a table, also by the names of its schema; those of a version are kept.

    The trailers of all packfiles are read for them.
    """
    from sdb.packfile.read.fields import inventory
    from sdb.query.catalog.storedtable import TableSource
    from sdb.query.exec.described import named_fields

    key = handle.root.location, handle.name, index_tag(handle)
    if (known := _FIELDS.get(key)) is not None:
        return known
    source = TableSource(handle)
    try:
        with notes.collected() as warnings:
            inventoried = inventory(source.trailers())
    finally:
        source.close()
    listed = inventoried, named_fields(inventoried, handle.schema)
    for warning in warnings:
        notes.warn(warning)
    if not warnings:
        _FIELDS.put(key, listed)
    return listed


def version_text(handle: TableHandle) -> str:
    """Return the reference to a version behind the name of its table; empty: it has no number."""
    state = handle.state
    if state is None:
        return ""
    branch = state.branch or MAIN
    return str(state.version) if branch == MAIN else f"{branch}@{state.version}"


def version_tag(handle: TableHandle) -> str:
    """Return the tag of a table: the number of its version; empty: it has none."""
    state = handle.state
    return "" if state is None else f'"{state.version}"'


def index_tag(handle: TableHandle) -> str:
    """Return the tag of what an index leads to: the version, and all else that the index says.

    The index has tags and branches as well, and other packfiles after a purge: the number of the
    version alone would stay the same. Another `sdb` may write the answer in other words.
    """
    digest = hashlib.sha256(VERSION.encode() + b"\0" + handle.data).hexdigest()[:16]
    state = handle.state
    return f'W/"{0 if state is None else state.version}-{digest}"'
