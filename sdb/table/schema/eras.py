"""Eras: which columns the rows of older packfiles have.

A column that is added at a path where a dropped column lay must not show the values of that one.
Such an addition, and nothing else, begins an *era*: packfiles record the era in which their rows
were written, and the new column has rows from its era on. Eras follow each other as versions do,
and come together when branches are merged; a number tells an era from those of other branches.
"""

from __future__ import annotations

from sdb.records import replace
from sdb.table.schema.columns import walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from sdb.table.schema.columns import Path, TableSchema
    from sdb.table.schema.types import TableColumn

_ERA_BYTES = 6


def follows(era: int, since: int, eras: Mapping[int, tuple[int, ...]]) -> bool:
    """Return whether an era is another one, or came after it."""
    pending, seen = [era], set()
    while pending:
        era = pending.pop()
        if era == since or not since:
            return True
        if era not in seen:
            seen.add(era)
            pending += eras.get(era, ())
    return False


def has_rows(schema: TableSchema, column: TableColumn, era: int) -> bool:
    """Return whether a packfile of an era can have values of a column."""
    return follows(era, column.since, schema.eras)


def hidden(schema: TableSchema, era: int) -> tuple[Path, ...]:
    """Return the paths, from the row on, at which a packfile has values of dropped columns only.

    * ``era``: The era of the packfile.
    """
    paths: list[Path] = []
    for _, path, column in walk(schema.columns):
        if column.since and not has_rows(schema, column, era):
            paths.append(path)
    return tuple(paths)


def begun(schema: TableSchema, cause: str) -> TableSchema:
    """Return a schema in a new era.

    * ``cause``: What begins it. The same in the same era is the same era, on another branch too.
    """
    number = _number(cause, schema.era)
    return replace(schema, era=number, eras={**schema.eras, number: (schema.era,)})


def joined(first: TableSchema, second: TableSchema) -> tuple[int, dict[int, tuple[int, ...]]]:
    """Return the era, and all eras, of the merge of two schemas."""
    eras = {**second.eras, **first.eras}
    if follows(first.era, second.era, eras):
        return first.era, eras
    if follows(second.era, first.era, eras):
        return second.era, eras
    number = _number("merge", first.era, second.era)
    return number, {**eras, number: (first.era, second.era)}


def _number(cause: str, *parents: int) -> int:
    from hashlib import blake2b

    text = "\n".join([*map(str, sorted(parents)), cause])
    return 1 + int.from_bytes(blake2b(text.encode(), digest_size=_ERA_BYTES).digest(), "big")
