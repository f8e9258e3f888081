"""Changes of a schema, one by one. Rows stay as they are: each rule says what they show then.

=========  ======================================================================================
add        rows without the field have the default, or nothing; a required column needs a default,
           unless there are no rows
drop       rows keep the field, and no reader of the new schema sees it
rename     another name for the same column; the field of rows stays
widen      integer to double, where no integer is beyond 2^53, and to decimal; decimal to more
           digits; date to timestamp; anything to variant; items of lists and values of maps
move       the order of ``SELECT *``
comment    the description
=========  ======================================================================================
"""

from __future__ import annotations

from sdb.errors import ExistsError, UsageError
from sdb.records import replace
from sdb.table.schema import eras
from sdb.table.schema.columns import MODES, overlaps, problems, shown, steps_of, walk, with_columns
from sdb.table.schema.names import absent, column_at, named
from sdb.table.schema.types import (
    DATE,
    DOUBLE,
    INTEGER,
    TIMESTAMP,
    VARIANT,
    DecimalType,
    ListType,
    MapType,
    StructType,
    TableColumn,
    columns_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sdb.table.schema.columns import Path, TableSchema
    from sdb.table.schema.types import ColumnType

_INTEGER_DIGITS = 19


def add(
    schema: TableSchema,
    names: Path,
    column: TableColumn,
    *,
    before: str | None = None,
    has_rows: bool = True,
) -> TableSchema:
    """Add a column, behind the others.

    * ``names``: The columns that lead to the struct that gets it; empty: the row itself.
    * ``column``: The column. It and those inside it get ids. A path of one name that another column
      lies at is replaced by a free one.
    * ``before``: The column that it stands before; None: it is the last one.
    * ``has_rows``: Whether there are rows, which lack it.

    Raises `ExistsError` if there is such a column and `UsageError` if it cannot be added.
    """
    own = (*names, column.name)
    siblings = schema.columns if not names else _struct_at(schema, names)
    if named(siblings, column.name) is not None:
        raise ExistsError(f"the schema has a column {shown(own)} already")
    if column.required and column.default is None and has_rows:
        raise UsageError(
            f"the column {shown(own)} cannot be NOT NULL without a default",
            hint="rows that are there have no value: DEFAULT gives them one",
        )
    column = replace(column, path=_free_path(column.path, siblings))
    column, next_id = with_ids(column, schema.next_id)
    schema = replace(schema, next_id=next_id)
    outer = _path_to(schema, names)
    if any(overlaps((*outer, *path), old) for path in _paths(column) for old in schema.dropped):
        schema = eras.begun(schema, f"{column.id} {shown(own)} {column.type}")
        column = replace(column, since=schema.era)
    columns = _inserted(siblings, column, before, own)
    return _checked(_with_siblings(schema, names, columns))


def drop(schema: TableSchema, names: Path) -> TableSchema:
    """Remove a column, and those inside it.

    Raises `UsageError` if there is no such column, or it is the last one of a struct.
    """
    dropped = column_at(schema, names)
    path = _path_to(schema, names, is_inner=False)
    siblings = schema.columns if not names[:-1] else _struct_at(schema, names[:-1])
    columns = tuple([column for column in siblings if column is not dropped])
    if not columns and names[:-1]:
        outer = shown(names[:-1])
        raise UsageError(
            f"{shown(names)} is the only column of {outer}", hint=f"DROP COLUMN {outer}"
        )
    schema = replace(schema, dropped=schema.dropped | {path})
    return _with_siblings(schema, names[:-1], columns)


def rename(schema: TableSchema, names: Path, name: str) -> TableSchema:
    """Call a column by another name; where its values lie stays the same.

    Raises `ExistsError` if another column of the struct has the name and `UsageError` if there is
    no such column.
    """
    renamed = column_at(schema, names)
    siblings = schema.columns if not names[:-1] else _struct_at(schema, names[:-1])
    other = named(siblings, name)
    if other is not None and other is not renamed:
        raise ExistsError(f"the schema has a column {shown((*names[:-1], name))} already")
    aliases = tuple([alias for alias in renamed.aliases if alias != name])
    return _changed(schema, names, lambda column: replace(column, name=name, aliases=aliases))


def widen(
    schema: TableSchema, names: Path, kind: ColumnType, *, largest: int | None = None
) -> TableSchema:
    """Change the type of a column to one that has all values of the old type.

    * ``largest``: The largest absolute value of the column's integers; None: not known.

    Raises `UsageError` if there is no such column, or its type has values that the new one does not
    have.
    """
    column = column_at(schema, names)
    kind, next_id = _with_type_ids(_fitted(kind, column.type), schema.next_id)
    if flaw := flaw_of_widening(column.type, kind, largest=largest):
        raise UsageError(f"the column {shown(names)} cannot become {kind}: {flaw}")
    if kind == VARIANT and column.type != VARIANT:
        path = _path_to(schema, names, is_inner=False)
        below = [old for old in schema.dropped if old[: len(path)] == path and old != path]
        inner = [new for new, _, child in walk(column.columns) if child.since]
        if below or inner:
            raise UsageError(
                f"the column {shown(names)} cannot become variant: "
                f"dropped columns of it would be seen again"
            )
    schema = replace(schema, next_id=next_id)
    return _checked(_changed(schema, names, lambda old: replace(old, type=kind)))


def relax(schema: TableSchema, names: Path) -> TableSchema:
    """Allow rows without a value of a column. Raises `UsageError` if there is no such column."""
    return _changed(schema, names, lambda column: replace(column, required=False))


def require(schema: TableSchema, names: Path, *, has_gaps: bool) -> TableSchema:
    """Require a value of a column in each row.

    * ``has_gaps``: Whether rows without one are there, or it is not known.

    Raises `UsageError` if there is no such column, or rows lack it.
    """
    column = column_at(schema, names)
    if has_gaps and column.default is None and not column.required:
        raise UsageError(
            f"the column {shown(names)} cannot become NOT NULL: rows may have no value of it"
        )
    return _changed(schema, names, lambda old: replace(old, required=True))


def move(schema: TableSchema, names: Path, *, after: str | None) -> TableSchema:
    """Move a column among those of its struct.

    * ``after``: The column that it stands behind; None: it is the first one.

    Raises `UsageError` if there is no such column.
    """
    moved = column_at(schema, names)
    siblings = schema.columns if not names[:-1] else _struct_at(schema, names[:-1])
    others = [column for column in siblings if column is not moved]
    at = 0
    if after is not None:
        anchor = named(siblings, after)
        if anchor is None:
            raise absent(siblings, (*names[:-1], after))
        if anchor is moved:
            return schema
        at = others.index(anchor) + 1
    return _with_siblings(schema, names[:-1], (*others[:at], moved, *others[at:]))


def comment(schema: TableSchema, names: Path, description: str) -> TableSchema:
    """Describe a column; an empty text removes the description.

    Raises `UsageError` if there is no such column.
    """
    return _changed(schema, names, lambda column: replace(column, description=description))


def alias(schema: TableSchema, names: Path, aliases: tuple[str, ...]) -> TableSchema:
    """Call a column by other names too.

    Raises `UsageError` if there is no such column, or another one has the name.
    """
    return _checked(_changed(schema, names, lambda column: replace(column, aliases=aliases)))


def with_mode(schema: TableSchema, mode: str) -> TableSchema:
    """Change what becomes of rows that depart from the schema.

    Raises `UsageError` if there is no such mode.
    """
    if mode not in MODES:
        raise UsageError(f"invalid mode {mode!r}: expected {', '.join(MODES)}")
    return replace(schema, mode=mode)


def flaw_of_widening(old: ColumnType, new: ColumnType, *, largest: int | None = None) -> str:  # noqa: PLR0911 - a rule each
    """Return the reason why a type does not have all values of another one; empty: it has.

    * ``largest``: The largest absolute value of integers that are there; None: not known.
    """
    if new in (old, VARIANT) or (old, new) == (DATE, TIMESTAMP):
        return ""
    if old == INTEGER and new == DOUBLE:
        if largest is None:
            return "its integers may be beyond 2^53, where a double does not have all of them"
        return "" if largest <= 1 << 53 else f"it has {largest:,}, which is beyond 2^53"
    if isinstance(new, DecimalType):
        whole = new.precision - new.scale
        if old == INTEGER:
            least = f"an integer has up to {_INTEGER_DIGITS} digits"
            return "" if whole >= _INTEGER_DIGITS else f"{least}, and it has {whole}"
        if isinstance(old, DecimalType):
            fits = new.scale >= old.scale and whole >= old.precision - old.scale
            return "" if fits else f"{old} has digits that it has not"
    if isinstance(old, ListType) and isinstance(new, ListType):
        return flaw_of_widening(old.item, new.item, largest=largest)
    if isinstance(old, MapType) and isinstance(new, MapType):
        return flaw_of_widening(old.value, new.value, largest=largest)
    if isinstance(old, StructType) and isinstance(new, StructType):
        return "columns of a struct are added, dropped and widened one by one"
    return f"values that are {old} would be none of it"


def with_ids(column: TableColumn, next_id: int) -> tuple[TableColumn, int]:
    """Make a column with ids, for those inside it too.

    Returns: The column, and the id of the next one.
    """
    kind, after = _with_type_ids(column.type, next_id + 1)
    return replace(column, id=next_id, type=kind, since=0), after


def _with_type_ids(kind: ColumnType, next_id: int) -> tuple[ColumnType, int]:
    columns = []
    for column in columns_of(kind):
        numbered = column
        if not column.id:
            numbered, next_id = with_ids(column, next_id)
        columns.append(numbered)
    return (with_columns(kind, tuple(columns)) if columns else kind), next_id


def _fitted(kind: ColumnType, old: ColumnType) -> ColumnType:
    """Return a type with the columns of another one, where both have the same of them."""
    mine, theirs = columns_of(kind), columns_of(old)
    if not mine or [_bare(column) for column in mine] != [_bare(column) for column in theirs]:
        return kind
    return with_columns(kind, theirs)


def _bare(column: TableColumn) -> tuple[str, str]:
    return column.name, str(column.type)


def _paths(column: TableColumn) -> list[Path]:
    return [path for _, path, _ in walk((column,))]


def _free_path(path: Path, siblings: Sequence[TableColumn]) -> Path:
    """Return the path of a new column: the name of another, renamed one is taken."""
    used = [column.path for column in siblings]
    if len(path) != 1 or not any(overlaps(path, other) for other in used):
        return path
    number = 2
    while any(overlaps((f"{path[0]}_{number}",), other) for other in used):
        number += 1
    return (f"{path[0]}_{number}",)


def _inserted(
    siblings: tuple[TableColumn, ...], column: TableColumn, before: str | None, own: Path
) -> tuple[TableColumn, ...]:
    if before is None:
        return (*siblings, column)
    anchor = named(siblings, before)
    if anchor is None:
        raise absent(siblings, (*own[:-1], before))
    at = siblings.index(anchor)
    return (*siblings[:at], column, *siblings[at:])


def _struct_at(schema: TableSchema, names: Path) -> tuple[TableColumn, ...]:
    outer = column_at(schema, names)
    if not outer.columns:
        raise UsageError(f"the column {shown(names)} is {outer.type}, and has no columns")
    return outer.columns


def _path_to(schema: TableSchema, names: Path, *, is_inner: bool = True) -> Path:
    """Return the path of a column from the row on; of the columns inside it if `is_inner`."""
    path: Path = ()
    columns = schema.columns
    for at, name in enumerate(names):
        column = named(columns, name)
        if column is None:
            raise absent(columns, names[: at + 1])
        is_last = at == len(names) - 1
        path = (*path, *column.path)
        if is_inner or not is_last:
            path = (*path, *steps_of(column.type))
        columns = column.columns
    return path


def _changed(
    schema: TableSchema, names: Path, change: Callable[[TableColumn], TableColumn]
) -> TableSchema:
    column = column_at(schema, names)
    siblings = schema.columns if not names[:-1] else _struct_at(schema, names[:-1])
    columns = tuple([change(other) if other is column else other for other in siblings])
    return _with_siblings(schema, names[:-1], columns)


def _with_siblings(
    schema: TableSchema, names: Path, columns: tuple[TableColumn, ...]
) -> TableSchema:
    if not names:
        return replace(schema, columns=columns)
    return _changed(
        schema, names, lambda outer: replace(outer, type=with_columns(outer.type, columns))
    )


def _checked(schema: TableSchema) -> TableSchema:
    if flaws := problems(schema):
        raise UsageError("; ".join(flaws))
    return schema
