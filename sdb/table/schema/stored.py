"""Schemas as versions keep them: the member `schema` of a state, JSON in a frame of zstd.

It is inside the version, so that nothing else has to be collected, copied or checked with it. The
schema of GitHub's events, 700 columns, takes some 8 KB there.
"""

from __future__ import annotations

from sdb import _core
from sdb.errors import CorruptError, InputError, UnsupportedError
from sdb.lru import LruCache
from sdb.table.schema.columns import MOST_JSON_BYTES, TableSchema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.table.format.state import VersionState

MOST_BYTES = 64 << 10
_KNOWN: LruCache[bytes, TableSchema] = LruCache(most_entries=16)


def schema_of(state: VersionState | None) -> TableSchema | None:
    """Return the schema of a version; None: it has none.

    Raises `CorruptError` if it is malformed.
    """
    data = b"" if state is None else state.schema
    return unpacked_schema(data) if data else None


def unpacked_schema(data: bytes) -> TableSchema:
    """Return the schema that a version keeps. Raises `CorruptError` if it is malformed."""
    schema = _KNOWN.get(data)
    if schema is None:
        try:
            schema = TableSchema.loads(_core.zstd_decompress(data, MOST_JSON_BYTES))
        except InputError as error:
            raise CorruptError(f"the schema of the table: {error.message}") from None
        _KNOWN.put(data, schema)
    return schema


def packed_schema(schema: TableSchema | None) -> bytes:
    """Return what a version keeps of a schema.

    Raises `UnsupportedError` if it is too large for a version.
    """
    if schema is None:
        return b""
    data = _core.zstd_compress(schema.dumps())
    if len(data) > MOST_BYTES:
        raise UnsupportedError(
            f"the schema takes {len(data):,} bytes, and a version has {MOST_BYTES:,} for it",
            hint="structs with many names may be variant",
        )
    return data
