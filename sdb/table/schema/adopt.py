"""A schema as a user has written it, in the place of another: what each column is, or becomes.

Columns with ids are those of the ids; columns without one are those of their names, or new. What
is not mentioned is dropped. All that is against the rules of :mod:`sdb.table.schema.evolve` is one
error.
"""

from __future__ import annotations

from sdb.errors import UsageError
from sdb.records import replace
from sdb.table.schema import eras
from sdb.table.schema.columns import overlaps, problems, shown, steps_of, walk, with_columns
from sdb.table.schema.evolve import flaw_of_widening, with_ids
from sdb.table.schema.names import named
from sdb.table.schema.types import VARIANT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from sdb.table.schema.columns import Path, TableSchema
    from sdb.table.schema.types import TableColumn


def first(wished: TableSchema) -> TableSchema:
    """Return the first schema of a table: its columns get new ids."""
    columns, next_id = [], 1
    for column in wished.columns:
        new, next_id = with_ids(_without_ids(column), next_id)
        columns.append(new)
    return replace(
        wished,
        columns=tuple(columns),
        next_id=next_id,
        era=0,
        eras={},
        dropped=frozenset(),
    )


def adopted(
    current: TableSchema,
    wished: TableSchema,
    *,
    has_rows: bool = True,
    largest: Callable[[Path], int | None] | None = None,
) -> TableSchema:
    """Return the schema that a table has when a user wishes another one.

    * ``largest``: Returns the largest absolute value of the integers at a path; None: not known.

    Raises `UsageError` if a change is against the rules; the message has all of them.
    """
    adoption = _Adoption(current, has_rows=has_rows, largest=largest)
    columns = adoption.columns(current.columns, wished.columns, (), ())
    schema = replace(
        current,
        columns=columns,
        mode=wished.mode,
        next_id=adoption.next_id,
        dropped=current.dropped | adoption.dropped,
    )
    shadowed = {
        column.id
        for _, path, column in walk(columns)
        if column.id >= current.next_id and any(overlaps(path, old) for old in schema.dropped)
    }
    if shadowed:
        schema = eras.begun(schema, "adopted " + " ".join(map(str, sorted(shadowed))))
        schema = replace(schema, columns=_since(columns, shadowed, schema.era))
    flaws = adoption.flaws or problems(schema)
    if flaws:
        raise UsageError("; ".join(flaws))
    return schema


class _Adoption:
    """Matches columns, and collects what is against the rules."""

    def __init__(
        self,
        current: TableSchema,
        *,
        has_rows: bool,
        largest: Callable[[Path], int | None] | None,
    ) -> None:
        self.next_id = current.next_id
        self.flaws: list[str] = []
        self.dropped: set[Path] = set()
        self._all = current.dropped
        self._first_new = current.next_id
        self._has_rows = has_rows
        self._largest = largest

    def columns(
        self,
        current: tuple[TableColumn, ...],
        wished: tuple[TableColumn, ...],
        names: Path,
        path: Path,
    ) -> tuple[TableColumn, ...]:
        """Return the columns of a row, or of a struct."""
        by_id = {column.id: column for column in current}
        taken: set[int] = set()
        matches: list[TableColumn | None] = []
        for column in wished:
            own = shown((*names, column.name))
            old = by_id.get(column.id) if column.id else None
            if column.id and old is None and column.id < self._first_new:
                self.flaws.append(f"the column {own}: no column there has the id {column.id}")
            matches.append(old)
            taken |= {old.id} if old is not None else set()
        for at, column in enumerate(wished):
            if not column.id or column.id >= self._first_new:
                rest = tuple([old for old in current if old.id not in taken])
                matches[at] = old = named(rest, column.name)
                taken |= {old.id} if old is not None else set()
        used = [old.path for old in matches if old is not None]
        result = []
        for column, old in zip(wished, matches, strict=True):
            own_names = (*names, column.name)
            if old is None:
                result.append(self._new(column, own_names, used))
                used.append(result[-1].path)
            else:
                result.append(self._changed(old, column, own_names, (*path, *old.path)))
        self.dropped |= {(*path, *old.path) for old in current if old.id not in taken}
        return tuple(result)

    def _new(self, column: TableColumn, names: Path, used: list[Path]) -> TableColumn:
        if column.required and column.default is None and self._has_rows:
            self.flaws.append(
                f"the column {shown(names)} is new, and cannot be required without a default"
            )
        path, number = column.path, 2
        while any(overlaps(path, other) for other in used) and len(column.path) == 1:
            path, number = (f"{column.path[0]}_{number}",), number + 1
        new, self.next_id = with_ids(_without_ids(replace(column, path=path)), self.next_id)
        return new

    def _changed(
        self, old: TableColumn, wished: TableColumn, names: Path, path: Path
    ) -> TableColumn:
        own = f"the column {shown(names)}"
        if wished.path not in {old.path, (wished.name,)}:
            self.flaws.append(
                f"{own}: its path is {'.'.join(old.path)}, where rows have its values"
            )
        if wished.default != old.default or type(wished.default) is not type(old.default):
            self.flaws.append(
                f"{own}: its default is {old.default!r}, and rows without a value show it; "
                f"a column with another default is a new one"
            )
        if wished.required and not old.required and old.default is None and self._has_rows:
            self.flaws.append(f"{own}: cannot become required, since rows may have no value of it")
        kind = old.type
        is_same_shape = with_columns(wished.type, ()) == with_columns(kind, ())
        if is_same_shape:
            inner = (*path, *steps_of(kind))
            kind = with_columns(kind, self.columns(old.columns, wished.columns, names, inner))
        else:
            kind = wished.type
            largest = None if self._largest is None else self._largest(path)
            flaw = flaw_of_widening(old.type, kind, largest=largest)
            if not flaw and kind == VARIANT:
                has_dropped = any(gone != path and gone[: len(path)] == path for gone in self._all)
                has_dropped |= any(child.since for _, _, child in walk(old.columns))
                flaw = "dropped columns of it would be seen again" if has_dropped else ""
            if flaw:
                self.flaws.append(f"{own} cannot become {kind}: {flaw}")
        return replace(
            old,
            name=wished.name,
            type=kind,
            required=wished.required,
            description=wished.description,
            aliases=wished.aliases,
        )


def _without_ids(column: TableColumn) -> TableColumn:
    inner = tuple([_without_ids(child) for child in column.columns])
    return replace(column, id=0, since=0, type=with_columns(column.type, inner))


def _since(columns: tuple[TableColumn, ...], ids: set[int], era: int) -> tuple[TableColumn, ...]:
    changed = []
    for column in columns:
        kind = with_columns(column.type, _since(column.columns, ids, era))
        since = era if column.id in ids else column.since
        changed.append(replace(column, type=kind, since=since))
    return tuple(changed)
