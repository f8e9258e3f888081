"""Inventory: the fields of packfiles, from their trailers alone."""

from __future__ import annotations

from sdb import errors, notes
from sdb.packfile.trailer.fieldcounts import FieldCount, FieldCounts, field_name, join, type_names
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Sequence

    from sdb.packfile.trailer.fieldcounts import FieldPath
    from sdb.packfile.trailer.trailer import Trailer

_LIST = 1 << 11


@record
class FieldDescription:
    """One field of packfiles.

    Attributes
    ----------
    path : tuple of str or None
        The names from the outside to the inside; None stands for the elements of a list.
    types : tuple of str
        The types of its values.
    rows : int or None
        Number of rows that have a value there, null included; None when it is not known.
    """

    path: FieldPath
    types: tuple[str, ...]
    rows: int | None

    @property
    def name(self) -> str:
        """The path as it is written, as in ``items[].price``."""
        return field_name(self.path)


@record
class Inventory:
    """The fields of one or more packfiles.

    Attributes
    ----------
    fields : tuple of FieldDescription
        Each behind the one that it is in, and else in the order in which they occur.
    rows : int or None
        Number of rows; None when a packfile has no row counts.
    complete : bool
        Whether there are no others.
    silent : tuple of str
        The packfiles without any metadata of their fields.
    """

    fields: tuple[FieldDescription, ...]
    rows: int | None
    complete: bool
    silent: tuple[str, ...] = ()

    def matching(self, pattern: str) -> Inventory:
        """Keep the fields whose name matches a pattern.

        * ``pattern``: ``*`` stands for any text, dots included, and ``?`` for one character.
          Brackets mean themselves, as in ``items[].*``.
        """
        regex = pattern_of(pattern)
        matches = [field for field in self.fields if regex.fullmatch(field.name)]
        return Inventory(tuple(matches), self.rows, self.complete, self.silent)


def pattern_of(pattern: str) -> re.Pattern[str]:
    """Compile a pattern of names of fields; see :meth:`Inventory.matching`."""
    import re

    wild = {"*": ".*", "?": "."}
    regex = "".join(wild.get(character) or re.escape(character) for character in pattern)
    return re.compile(regex, re.DOTALL)


def inventory(trailers: Sequence[tuple[str, Trailer]]) -> Inventory:
    """Join the fields that trailers list."""
    counts: list[FieldCounts] = []
    silent = []
    is_counted = True
    for name, trailer in trailers:
        presence = _presence(name, trailer)
        if presence is None and trailer.blocks:
            presence, is_counted = _types(trailer), False
        if presence is None and trailer.blocks:
            silent.append(name)
        elif presence is not None:
            counts.append(presence)
    rows = [0 if not trailer.blocks else trailer.rows for _, trailer in trailers]
    counted = [count for count in rows if count is not None]
    joined = join(counts)
    listed = [
        FieldDescription(
            path, tuple(type_names(field_count.types)), field_count.rows if is_counted else None
        )
        for path, field_count in joined.fields.items()
    ]
    total = sum(counted) if len(counted) == len(rows) else None
    complete = joined.complete and is_counted and not silent
    return Inventory(tuple(listed), total, complete, tuple(silent))


def _presence(name: str, trailer: Trailer) -> FieldCounts | None:
    try:
        return trailer.sparse.presence()
    except errors.CorruptError as error:
        notes.warn(f"{name} does not tell in how many rows its fields are: {error.message}")
        return None


def _types(trailer: Trailer) -> FieldCounts | None:
    """Return what older packfiles have: the types of paths that lead through structs only."""
    summary = trailer.sparse.summary
    if summary is None:
        return None
    lists = any(mask & _LIST for mask in summary.types.values())
    return FieldCounts(
        {path: FieldCount(mask, 0) for path, mask in summary.types.items()},
        complete=summary.complete and not lists,
    )


def as_facts(inventory: Inventory) -> dict[str, object]:
    """Return an inventory as plain values with stable names, for JSON."""
    return {
        "rows": inventory.rows,
        "complete": inventory.complete,
        "fields": [
            {
                "name": field.name,
                "path": list(field.path),
                "types": list(field.types),
                "rows": field.rows,
            }
            for field in inventory.fields
        ],
        "untold": list(inventory.silent),
    }
