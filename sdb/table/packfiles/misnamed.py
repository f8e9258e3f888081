"""New rows that have the name of a column where its values lie in a field of another name."""

from __future__ import annotations

from sdb import notes
from sdb.packfile.prune.unknownfields import has
from sdb.table.schema.columns import ITEMS, VALUES, shown, steps_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from sdb.packfile.trailer.fieldcounts import FieldPath
    from sdb.packfile.trailer.trailer import Trailer
    from sdb.table.schema.columns import TableSchema
    from sdb.table.schema.types import TableColumn


def warn_misnamed(name: str, schema: TableSchema, trailer: Trailer, *, is_frame: bool) -> None:
    """Warn of new rows with names of columns that were renamed, or added again.

    * ``name``: That of the table.
    * ``trailer``: That of the new packfile.
    * ``is_frame``: Whether the rows were a data frame. Its names often are those of columns, also
      where one is the field of another column; other rows that have such a field mean that column.
    """
    for text in misnamed(schema, trailer, is_frame=is_frame):
        notes.warn(f"{name}: {text}")


def misnamed(schema: TableSchema, trailer: Trailer, *, is_frame: bool = False) -> Iterator[str]:
    """Find such names; see :func:`warn_misnamed`.

    Yields: A line on each.
    """
    return _misnamed(schema.columns, (), trailer, is_frame=is_frame)


def _misnamed(
    columns: tuple[TableColumn, ...], base: FieldPath, trailer: Trailer, *, is_frame: bool
) -> Iterator[str]:
    for column in columns:
        path = (*base, *column.path)
        lies = f"the column {column.name} lies in the field {_shown(path)} of rows"
        for label in (column.name, *column.aliases):
            if label == column.path[0] or not has(trailer, (*base, label)):
                continue
            owner = next((other for other in columns if other.path[0] == label), None)
            own = _shown((*base, label))
            if owner is None:
                yield f"no column has the field {own} of the new rows: {lies}"
            elif is_frame and label == column.name and not has(trailer, path):
                yield f"the field {own} of the new rows is the column {owner.name}: {lies}"
        steps = steps_of(column.type)
        if column.columns and VALUES not in steps:
            inner = (*path, *[None if step == ITEMS else step for step in steps])
            yield from _misnamed(column.columns, inner, trailer, is_frame=is_frame)


def _shown(path: FieldPath) -> str:
    """Return a path of fields as people write it."""
    return shown(tuple([name for name in path if name is not None]))
