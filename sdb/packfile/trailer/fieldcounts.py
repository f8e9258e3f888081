"""Presence of fields: in how many rows each path has a value, through lists too.

It is a member of the extension of the trailer, compressed, and read only by who asks for it. See
the section on the extension in docs/format.md.
"""

from __future__ import annotations

from sdb import ion
from sdb.errors import CorruptError
from sdb.ion import IonSymbol
from sdb.packfile.trailer.timeindex import integers, malformed
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Self

    from sdb import _core
    from sdb.packfile.trailer.extension import Summary

FieldPath = tuple[str | None, ...]
"""The names from the outside to the inside; None stands for the elements of a list."""

MAX_FIELDS = 8192
MAX_DEPTH = 32
MAX_NAMES_BYTES = 1 << 20
_MAX_CONTENT_BYTES = 8 << 20
_MASKS = range(1, 1 << 16)
_ION_TYPES = {
    0: "null",
    1: "bool",
    2: "int",
    3: "int",
    4: "float",
    6: "timestamp",
    7: "string",
    8: "string",
    10: "blob",
    11: "list",
    13: "struct",
}


@record
class FieldCount:
    """Types and number of rows of a path."""

    types: int  # the Ion types that occur there, as a bit mask
    rows: int  # number of rows that have a value there, null included


@record
class FieldCounts:
    """The fields of a packfile."""

    # Types and rows of each path, in the order in which they came up, each path behind the one that
    # it is in.
    fields: dict[FieldPath, FieldCount]
    complete: bool  # whether a path that is missing in `fields` occurs nowhere

    @classmethod
    def of(cls, fields: Iterable[_core.FieldCount], *, complete: bool) -> Self:
        """Take what the core counted."""
        return cls({field.path: FieldCount(field.types, field.rows) for field in fields}, complete)

    def with_constants(self, constants: Mapping[str, int], rows: int) -> FieldCounts:
        """Add the fields that every row has.

        * ``constants``: The Ion type of each constant.

        Returns: With the constants first, as they are in the rows.
        """
        fields: dict[FieldPath, FieldCount] = {
            (name,): FieldCount(1 << kind, rows) for name, kind in constants.items() if rows
        }
        return FieldCounts(
            fields | {p: f for p, f in self.fields.items() if p not in fields}, self.complete
        )

    def encode(self, summary: Summary) -> bytes:
        """Return the bytes that are stored.

        * ``summary``: Row counts and types that are stored with it.
        """
        numbers = _names(summary)
        counts = _bounded({path: count for path, count in self.fields.items() if count.rows})
        complete = self.complete and len(counts) == sum(f.rows > 0 for f in self.fields.values())
        ordered = nested(counts)
        rows: dict[FieldPath, int] = {(): sum(summary.rows)}
        rows |= {path: count.rows for path, count in counts.items()}
        value = [
            complete,
            [len(path) for path in ordered],
            [_reference(path[-1], numbers) for path in ordered],
            [counts[path].types for path in ordered],
            [rows[path[:-1]] - rows[path] for path in ordered],
        ]
        from sdb import _core

        return _core.zstd_compress(ion.dumps(value))

    @classmethod
    def decode(cls, data: bytes, summary: Summary) -> Self:
        """Read the bytes that are stored.

        * ``summary``: Row counts and types that are stored with it.

        Returns: What they say.
        Raises `CorruptError` if they are malformed.
        """
        from sdb import _core

        value = ion.loads(_core.zstd_decompress(data, _MAX_CONTENT_BYTES))
        if not isinstance(value, list) or [*map(type, value)] != [bool, list, list, list, list]:
            raise malformed("field counts", "a truth value and 4 lists", value)
        complete, depths, names, masks, missing = value
        for numbers in (depths, masks, missing):
            integers(numbers, "the field counts")
        if not len(depths) == len(names) == len(masks) == len(missing):
            raise CorruptError("invalid field counts: their lists differ in length")
        if len(depths) > MAX_FIELDS:
            raise CorruptError(
                f"invalid field counts: expected at most {MAX_FIELDS:,} fields, got {len(depths):,}"
            )
        names_of_summary = list(_names(summary))
        fields: dict[FieldPath, FieldCount] = {}
        above: list[tuple[FieldPath, int]] = [((), sum(summary.rows))]
        for depth, name, mask, less in zip(depths, names, masks, missing, strict=True):
            if not 0 < depth <= min(len(above), MAX_DEPTH):
                raise CorruptError(f"invalid depth in field counts: {depth}")
            del above[depth:]
            outer, rows = above[-1]
            path = (*outer, _name(name, names_of_summary))
            if path in fields or mask not in _MASKS or not 0 <= less < rows:
                raise CorruptError(f"invalid field count of {field_name(path)}")
            fields[path] = FieldCount(mask, rows - less)
            above.append((path, rows - less))
        return cls(fields, complete)


def join(parts: Iterable[FieldCounts]) -> FieldCounts:
    """Join what is known of parts of a file.

    Returns: The same for the whole. Where a part may have left out a path, the path is left out.
    """
    counts = list(parts)
    partial = [part.fields for part in counts if not part.complete]
    joined: dict[FieldPath, FieldCount] = {}
    for part in counts:
        for path, count in part.fields.items():
            if all(path in fields for fields in partial):
                before = joined.get(path, FieldCount(0, 0))
                joined[path] = FieldCount(before.types | count.types, before.rows + count.rows)
    return FieldCounts({path: joined[path] for path in nested(joined)}, not partial)


def type_names(mask: int) -> list[str]:
    """Name the types of a bit mask.

    >>> type_names(0b1_0000_1100)
    ['int', 'string']
    """
    names = [name for kind, name in _ION_TYPES.items() if mask >> kind & 1]
    return list(dict.fromkeys(names))


def field_name(path: FieldPath) -> str:
    """Write a path for people, as in ``items[].price``.

    Names that the dots would part, or that are empty, stand in quotation marks, as in SQL.

    >>> field_name(("items", None, "price")), field_name(("id.orig_h",))
    ('items[].price', '"id.orig_h"')
    """
    text = ""
    for name in path:
        text += "[]" if name is None else ("." if text else "") + quoted(name)
    return text


def quoted(name: str) -> str:
    """Write a name as SQL takes it in a path: in quotation marks where it needs them."""
    if name.isascii() and name.replace("_", "a").isalnum() and not name[0].isdigit():
        return name
    return '"' + name.replace('"', '""') + '"'


def _names(summary: Summary) -> dict[str, int]:
    """Return the names in the types with their numbers."""
    names: dict[str, int] = {}
    for path in summary.types:
        for name in path:
            names.setdefault(name, len(names))
    return names


def _reference(name: str | None, numbers: dict[str, int]) -> object:
    return None if name is None else numbers[name] if name in numbers else IonSymbol(name)


def _name(value: object, names: list[str]) -> str | None:
    if value is None:
        return None
    if isinstance(value, str):
        return str(value)
    if type(value) is int and 0 <= value < len(names):
        return names[value]
    raise CorruptError(f"invalid name in field counts: {value!r}")


def nested(fields: Iterable[FieldPath]) -> list[FieldPath]:
    """Order paths so that each follows the one that it is in; else they stay in their order."""
    inner: dict[FieldPath, list[FieldPath]] = {}
    for path in fields:
        inner.setdefault(path[:-1], []).append(path)
    ordered: list[FieldPath] = []
    waiting = inner.get((), [])[::-1]
    while waiting:
        path = waiting.pop()
        ordered.append(path)
        waiting += inner.get(path, [])[::-1]
    return ordered


def _bounded(fields: dict[FieldPath, FieldCount]) -> dict[FieldPath, FieldCount]:
    """Keep the shallowest paths when not all of them fit the format."""
    paths: set[FieldPath] = set()
    size_bytes = 0
    for path in sorted(fields, key=len):
        size_bytes += len((path[-1] or "").encode())
        if len(paths) == MAX_FIELDS or len(path) > MAX_DEPTH or size_bytes > MAX_NAMES_BYTES:
            break
        paths.add(path)
    return {path: count for path, count in fields.items() if path in paths}
