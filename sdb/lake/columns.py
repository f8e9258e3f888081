"""Columns of a table: their names now, and where data files have them.

Columns of data files keep the name, or the id, that they had when the table first had them. Their
types stay those of the file. Columns that a file does not have are missing from its rows.
"""

from __future__ import annotations

from sdb.errors import UnsupportedError
from sdb.records import field, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import TypeAlias

    import pyarrow as pa

    # Names and types in a file, from a column to a field in it
    Way: TypeAlias = list[tuple[str, pa.DataType]]

STRUCT = "struct"
LIST = "list"
MAP = "map"
VARIANT = "variant"
_ID = b"PARQUET:field_id"
_VARIANT_PARTS = ("value", "metadata")


@record
class LakeType:
    """The type of a column, as far as names of what is in it need it."""

    name: str  # ``struct``, ``list``, ``map``, ``variant``, or the name of a primitive type
    # The fields of a struct, the element of a list, key and value of a map
    parts: tuple[LakeColumn, ...] = ()

    @property
    def is_renamed(self) -> bool:
        """True if a file may have something in it under another name."""
        if self.name == VARIANT:
            return True
        return any(
            part.stored != part.name or part.id is not None or part.type.is_renamed
            for part in self.parts
        )


@record
class LakeColumn:
    """A column of a table, or a field of a struct."""

    name: str  # its name in rows
    stored: str  # its name in data files
    type: LakeType
    id: int | None = None  # the id that it has in data files, if these are what counts
    # Names that it has in files without ids
    aliases: tuple[str, ...] = ()

    def find_in(self, fields: Sequence[pa.Field]) -> int | None:
        """Return the number of its field in a file; None: the file does not have it."""
        has_ids = False
        if self.id is not None:
            for number, stored in enumerate(fields):
                stored_id = (stored.metadata or {}).get(_ID)
                has_ids = has_ids or stored_id is not None
                if stored_id is not None and int(stored_id) == self.id:
                    return number
        if has_ids:
            return None
        names = self.aliases or (self.stored,)
        return next((number for number, stored in enumerate(fields) if stored.name in names), None)

    def way_in(self, source: pa.Field, path: Sequence[str]) -> Way:
        """Return the way to a field in the column.

        * ``source``: The field of the column in the file.
        * ``path``: Names of fields that follow the column's; the way ends where they lead through
          something else than structs, or the file has none of the name.
        """
        import pyarrow as pa

        way = [(source.name, source.type)]
        kind = self.type
        for name in path:
            part = next((part for part in kind.parts if part.name == name), None)
            above = way[-1][1]
            if kind.name != STRUCT or part is None or not pa.types.is_struct(above):
                break
            fields = [above.field(number) for number in range(above.num_fields)]
            number = part.find_in(fields)
            if number is None:
                break
            way.append((fields[number].name, fields[number].type))
            kind = part.type
        return way


@record
class LakeColumns:
    """The columns of a version of a table."""

    columns: tuple[LakeColumn, ...]
    # Names in data files of the columns whose values the metadata have for each file
    partitions: frozenset[str] = field(default=frozenset())

    def paths(self) -> dict[str, str]:
        """Return the paths of columns and of fields in them, by what files know them by."""
        return dict(_paths(self.columns, "", ""))

    def digest(self) -> str:
        """Return the digest of names, where columns have others in files; empty: they have not."""
        from hashlib import blake2b

        paths = self.paths()
        if all(stored == name for stored, name in paths.items()):
            return ""
        return blake2b(repr(sorted(paths.items())).encode(), digest_size=16).hexdigest()


def has_other_names(before: LakeColumns, after: LakeColumns) -> bool:
    """Return whether columns that files may have are named otherwise, or not at all any more."""
    new = after.paths()
    return any(new.get(path) != name for path, name in before.paths().items())


def _paths(columns: Sequence[LakeColumn], stored: str, name: str) -> Iterator[tuple[str, str]]:
    for column in columns:
        mark = column.stored if column.id is None else f"#{column.id}"
        yield stored + mark, name + column.name
        yield from _paths(column.type.parts, f"{stored}{mark}/", f"{name}{column.name}/")


def reshaped(array: pa.Array, kind: LakeType, where: str) -> pa.Array:
    """Return a column of a file with the names that a table has for what is in it.

    * ``where``: The column, for messages.

    Raises `UnsupportedError` for a variant that is in pieces.
    """
    import pyarrow as pa

    if isinstance(array, pa.ExtensionArray) and not isinstance(array, pa.UuidArray):
        array = array.storage
    if not kind.is_renamed:
        return array
    if kind.name == VARIANT:
        return _variant(array, where)
    if kind.name == STRUCT and pa.types.is_struct(array.type):
        return _struct(array, kind, where)
    if kind.name == LIST and isinstance(array, pa.ListArray | pa.LargeListArray):
        values = reshaped(array.values, kind.parts[0].type, where)
        mask = array.is_null() if array.null_count else None
        return type(array).from_arrays(_offsets(array), values, mask=mask)
    if kind.name == MAP and pa.types.is_map(array.type):
        keys = reshaped(array.keys, kind.parts[0].type, where)
        items = reshaped(array.items, kind.parts[1].type, where)
        mask = array.is_null() if array.null_count else None
        return pa.MapArray.from_arrays(_offsets(array), keys, items, mask=mask)
    return array


def _offsets(array: pa.Array) -> pa.Array:
    return array.offsets


def _struct(array: pa.StructArray, kind: LakeType, where: str) -> pa.Array:
    import pyarrow as pa

    stored = [array.type.field(number) for number in range(array.type.num_fields)]
    parts, fields = [], []
    for column in kind.parts:
        number = column.find_in(stored)
        if number is not None:
            part = reshaped(array.field(number), column.type, f"{where}.{column.name}")
            parts.append(part)
            fields.append(pa.field(column.name, part.type))
    mask = array.is_null() if array.null_count else None
    if not parts:  # nothing is left of it but whether it is there
        there: list[dict[str, object] | None] = [
            None if is_null else {} for is_null in array.is_null().to_pylist()
        ]
        return pa.array(there, pa.struct([]))
    return pa.StructArray.from_arrays(parts, fields=fields, mask=mask)


def _variant(array: pa.Array, where: str) -> pa.Array:
    """Mark a variant as Spark does, so that rows get what it holds."""
    import pyarrow as pa

    names = [array.type.field(number).name for number in range(array.type.num_fields)]
    if sorted(names) != sorted(_VARIANT_PARTS):
        message = f"{where}: a variant in pieces (shredded), which cannot be read yet"
        raise UnsupportedError(message)
    value, metadata = (array.field(names.index(name)) for name in _VARIANT_PARTS)
    fields = [
        pa.field("value", value.type),
        pa.field("metadata", metadata.type, metadata={"variant": "true"}),
    ]
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays([value, metadata], fields=fields, mask=mask)
