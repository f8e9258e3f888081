"""Typed texts of values under a schema, for queries: columns by their names, and nothing else."""

from __future__ import annotations

from functools import lru_cache
from json import loads

from sdb.query.exec.jsonkeys import key_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def under_schema(key: str | None, request: str | None) -> str | None:
    """Return the key of a value under a schema, of its key as it is stored.

    * ``request``: ``k`` for the members of structs by name, ``v`` for the order of the columns;
      behind it what has to change, see
      :func:`sdb.query.duckdb_sql.values.schemavalues.request_of`.

    >>> under_schema("{1:x2:n11:y2:n2", 'v[["a", ["y"], null, null], ["b", ["z"], [0], null]]')
    '{1:a2:n21:b2:n0'
    """
    if key is None or request is None:
        return None
    return _changed(key.encode(), _parsed(request[1:]), is_sorted=request[0] == "k").decode()


@lru_cache(maxsize=256)
def _parsed(request: str) -> Any:  # noqa: ANN401 - JSON
    return loads(request)


def _changed(key: bytes, request: Any, *, is_sorted: bool) -> bytes:  # noqa: ANN401 - JSON
    if request is None:
        return key
    if isinstance(request, list) and key[:1] == b"{":
        members = dict(_pairs(key))
        new = []
        for name, path, default, inner in request:
            value = None if path is None else _at(members, path)
            if value is not None:
                new.append((name.encode(), _changed(value, inner, is_sorted=is_sorted)))
            elif default is not None:
                new.append((name.encode(), _key_of_default(*default)))
        if is_sorted:
            new.sort()
        return b"{" + b"".join(_sized(name) + _sized(value) for name, value in new)
    if isinstance(request, dict) and "item" in request and key[:1] == b"[":
        items = [_changed(part, request["item"], is_sorted=is_sorted) for part in _parts(key)]
        return b"[" + b"".join(map(_sized, items))
    if isinstance(request, dict) and "value" in request and key[:1] == b"{":
        pairs = [
            (name, _changed(value, request["value"], is_sorted=is_sorted))
            for name, value in reversed(_pairs(key))
        ]
        return b"{" + b"".join(_sized(name) + _sized(value) for name, value in pairs)
    return key


def _key_of_default(value: Any) -> bytes:  # noqa: ANN401 - a constant
    """Return the key of a default; that of an instant is an object with its microseconds."""
    key = f"t{value['us']}" if isinstance(value, dict) else key_of(value)
    return key.encode()


def _at(members: dict[bytes, bytes], path: list[str]) -> bytes | None:
    value = members.get(path[0].encode())
    for name in path[1:]:
        if value is None or value[:1] != b"{":
            return None
        value = dict(_pairs(value)).get(name.encode())
    return value


def _parts(key: bytes) -> list[bytes]:
    """Return the parts of a list or struct, each of which stands behind its length."""
    parts, at = [], 1
    while at < len(key):
        colon = key.index(b":", at)
        stop = colon + 1 + int(key[at:colon])
        parts.append(key[colon + 1 : stop])
        at = stop
    return parts


def _pairs(key: bytes) -> list[tuple[bytes, bytes]]:
    parts = _parts(key)
    # Of two members of one name the first counts, so it comes last here.
    return list(zip(parts[::2], parts[1::2], strict=True))[::-1]


def _sized(text: bytes) -> bytes:
    return b"%d:%s" % (len(text), text)
