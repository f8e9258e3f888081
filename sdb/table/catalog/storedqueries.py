"""Stored queries: ``queries/<name>.json`` below a root, each a SELECT with typed parameters."""

from __future__ import annotations

import json
import re

from sdb import notes
from sdb.errors import (
    CorruptError,
    ExistsError,
    NotFoundError,
    SdbError,
    UnsupportedError,
    UsageError,
)
from sdb.records import field, record
from sdb.store.url import atomic_write
from sdb.table.format.keys import flaw_of_name
from sdb.table.format.view import DIALECTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from sdb.table.catalog.root import TableRoot

_FOLDER = "queries"
_SUFFIX = ".json"
_FORMAT = 1
_MOST_BYTES = 256 << 10
_PARAM = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
TYPES = ("text", "integer", "number", "boolean", "time", "list")
"""Types of parameters; the values of a list are JSON."""


@record
class QueryParam:
    """A parameter of a stored query."""

    name: str
    type: str
    default: str | None = None  # as a request writes it; None: each request has to

    @property
    def text(self) -> str:
        """The parameter as ``--param`` takes it."""
        return f"{self.name}:{self.type}" + ("" if self.default is None else f"={self.default}")


@record
class StoredQuery:
    """A query with a name."""

    name: str
    text: str
    params: tuple[QueryParam, ...] = ()
    description: str = ""
    dialect: str = "standard"  # what its text means, in all requests
    data: bytes = field(default=b"", repr=False, compare=False)  # the object that was read

    def as_dict(self) -> dict[str, object]:
        """Return it as plain values with stable names, for JSON."""
        return {
            "name": self.name,
            "sql": self.text,
            "params": [
                {"name": each.name, "type": each.type, "default": each.default}
                for each in self.params
            ],
            "description": self.description or None,
            "dialect": self.dialect,
        }


def param(text: str) -> QueryParam:
    """Read a parameter as ``--param`` takes it.

    Raises `UsageError` if it cannot be read as such.

    >>> param("user:text=eve")
    QueryParam(name='user', type='text', default='eve')
    """
    head, equals, default = text.partition("=")
    name, _, kind = head.partition(":")
    if not _PARAM.fullmatch(name) or (kind or "text") not in TYPES:
        raise UsageError(
            f"{text[:80]!r} is no parameter",
            expected=f"NAME:TYPE or NAME:TYPE=VALUE, of the types {', '.join(TYPES)}",
        )
    return QueryParam(name, kind or "text", default if equals else None)


def put(root: TableRoot, query: StoredQuery, *, replace: bool = False) -> None:
    """Store a query.

    Raises `UsageError` if its name cannot be one; `ExistsError` if there is one of that name, and
    it is not to be replaced.
    """
    members = {"format": _FORMAT, **query.as_dict()}
    data = json.dumps(members, ensure_ascii=False, indent=2).encode() + b"\n"
    if len(data) > _MOST_BYTES:
        raise UsageError(f"a stored query has at most {_MOST_BYTES:,} bytes")
    location = _location(root, query.name)
    root.store.make_folder(root.place(_FOLDER))
    try:
        with atomic_write(location, overwrite=replace) as output:
            output.write(data)
    except ExistsError:
        raise ExistsError(
            f"there is a query {query.name!r} already", path=location, hint="--replace replaces it"
        ) from None


def find(root: TableRoot, name: str) -> StoredQuery | None:
    """Return a stored query, or None where nothing has the name.

    Raises `CorruptError` if its object is damaged, or of a later format; `UnsupportedError` if its
    dialect is unknown here.
    """
    if flaw_of_name(name) or "." in name:
        return None
    location = _location(root, name)
    try:
        reader = root.store.open(location)
    except NotFoundError:
        return None
    try:
        if reader.size_bytes > _MOST_BYTES:
            raise CorruptError(f"{location} is too large for a stored query", path=location)
        data = reader.read(0, reader.size_bytes)
    finally:
        reader.close()
    return _query(name, data, location)


def queries(root: TableRoot) -> Iterator[StoredQuery]:
    """Iterate over the stored queries, sorted by name; damaged ones are left out."""
    for entry in root.store.list(root.place(_FOLDER)):
        name = entry.name.removesuffix(_SUFFIX)
        if name == entry.name or name.startswith("."):
            continue
        try:
            query = find(root, name)
        except SdbError as error:
            notes.warn(f"left out: {error.message}")
            continue
        if query is not None:
            yield query


def drop(root: TableRoot, name: str) -> None:
    """Delete a stored query. Raises `NotFoundError` if nothing has the name."""
    if find(root, name) is None:
        raise NotFoundError(f"there is no query {name!r}", hint="sdb query-store list")
    root.store.delete(_location(root, name))


def _location(root: TableRoot, name: str) -> str:
    flaw = flaw_of_name(name) or ("a name has no dot" if "." in name else "")
    if flaw:
        raise UsageError(f"the name of a query: {flaw}")
    return root.place(f"{_FOLDER}/{name}{_SUFFIX}")


def _query(name: str, data: bytes, location: str) -> StoredQuery:
    try:
        members: dict[str, Any] = json.loads(data)
        if members["format"] != _FORMAT:
            raise ValueError  # noqa: TRY301 - one message for all of it
        params = tuple(
            param(QueryParam(str(p["name"]), str(p["type"]), p["default"]).text)
            for p in members["params"]
        )
        text, description = members["sql"], members["description"] or ""
        dialect = members.get("dialect", "standard")  # queries of before have none
        if not isinstance(text, str) or not isinstance(description, str):
            raise TypeError  # noqa: TRY301 - the same
    except (ValueError, TypeError, KeyError, AttributeError):
        raise CorruptError(f"{location} is no stored query", path=location) from None
    if dialect != "standard" and dialect not in DIALECTS:
        raise UnsupportedError(f"{location}: a query in the dialect {dialect!r:.40}", path=location)
    return StoredQuery(name, text, params, description, dialect or "standard", data)
