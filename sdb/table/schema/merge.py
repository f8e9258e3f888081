"""Three-way merge of the schemas of branches.

What one side has changed is taken; what both have changed otherwise is a conflict, which names the
column. Columns that the other side has added get new ids, since the branch has its own of the same
numbers.
"""

from __future__ import annotations

from sdb.errors import ConflictError
from sdb.records import changing_record, record, replace
from sdb.table.schema import eras
from sdb.table.schema.columns import overlaps, problems, shown, steps_of, with_columns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdb.table.schema.columns import Path, TableSchema
    from sdb.table.schema.types import TableColumn

_ROW = 0
_MEMBERS = ("name", "type", "required", "default", "description", "aliases")


class SchemaConflictError(ConflictError):
    """Two schemas that do not merge; `conflicts` has a line for each column."""

    def __init__(self, conflicts: Sequence[str]) -> None:
        super().__init__(f"the schemas do not merge: {'; '.join(conflicts)}")
        self.conflicts = tuple(conflicts)


@record
class _Leaf:
    """A column without those inside it, and where it is."""

    outer: int  # the id of the column that has it; 0: the row
    names: Path  # the names that lead to it
    path: Path  # its path from the row on
    column: TableColumn


@changing_record
class _Flat:
    """The columns of a schema by their ids, and their order in each struct."""

    leaves: dict[int, _Leaf]
    order: dict[int, list[int]]

    @classmethod
    def of(cls, schema: TableSchema) -> _Flat:
        """Take a schema apart."""
        flat = cls({}, {_ROW: []})
        flat.take(schema.columns, _ROW, (), ())
        return flat

    def take(self, columns: tuple[TableColumn, ...], outer: int, names: Path, path: Path) -> None:
        """Take the columns of a row or a struct apart."""
        self.order[outer] = [column.id for column in columns]
        for column in columns:
            bare = replace(column, type=with_columns(column.type, ()))
            own, own_path = (*names, column.name), (*path, *column.path)
            self.leaves[column.id] = _Leaf(outer, own, own_path, bare)
            if column.columns:
                inner = (*own_path, *steps_of(column.type))
                self.take(column.columns, column.id, own, inner)


def merged(base: TableSchema, ours: TableSchema, theirs: TableSchema) -> TableSchema:
    """Merge the changes that a branch has made into the schema of another.

    * ``base``: The schema that both began with.
    * ``ours``: That of the branch that takes the changes, whose ids stay.
    * ``theirs``: That of the branch with the changes.

    Raises `SchemaConflictError` if both have changed the same otherwise.
    """
    if theirs in (base, ours):
        return ours
    merge = _SchemaMerge(base, ours, theirs)
    schema = merge.result()
    conflicts = merge.conflicts or problems(schema)
    if conflicts:
        raise SchemaConflictError(conflicts)
    return schema


class _SchemaMerge:
    def __init__(self, base: TableSchema, ours: TableSchema, theirs: TableSchema) -> None:
        self.conflicts: list[str] = []
        self._schemas = base, ours, theirs
        self._base, self._ours, self._theirs = map(_Flat.of, (base, ours, theirs))
        self._next_id = max(ours.next_id, base.next_id)
        # Of columns that the other side has added, by their ids there, those that they get
        self._ids: dict[int, int] = {}

    def result(self) -> TableSchema:
        """Return the schema, which is no good where there are conflicts."""
        base, ours, theirs = self._schemas
        leaves = self._common()
        leaves |= self._added(leaves)
        era, all_eras = eras.joined(ours, theirs)
        mode = ours.mode
        if theirs.mode not in {base.mode, ours.mode}:
            mode = theirs.mode
            if ours.mode != base.mode:
                self.conflicts.append(f"the mode is {ours.mode} here, and {theirs.mode} there")
        return replace(
            ours,
            columns=self._built(leaves, _ROW),
            mode=mode,
            next_id=self._next_id,
            era=era,
            eras=all_eras,
            dropped=ours.dropped | theirs.dropped,
        )

    def _common(self) -> dict[int, _Leaf]:
        """Return the columns that ours has, as they are after the changes of theirs."""
        leaves = {}
        for number, mine in self._ours.leaves.items():
            before, other = self._base.leaves.get(number), self._theirs.leaves.get(number)
            if before is None:
                leaves[number] = mine
            elif other is None:
                if mine.column != before.column:
                    self._conflict(mine, "changed here, and dropped there")
            else:
                leaves[number] = self._joined(before, mine, other)
        for number, other in self._theirs.leaves.items():
            before = self._base.leaves.get(number)
            is_gone = before is not None and number not in self._ours.leaves
            if is_gone and before is not None and other.column != before.column:
                self._conflict(other, "dropped here, and changed there")
        return leaves

    def _joined(self, before: _Leaf, mine: _Leaf, other: _Leaf) -> _Leaf:
        changes = {}
        for name in _MEMBERS:
            old, new, here = (getattr(leaf.column, name) for leaf in (before, other, mine))
            if new in {old, here}:
                continue
            if here != old:
                self._conflict(mine, f"its {name} is {here} here, and {new} there")
            changes[name] = new
        return replace(mine, column=replace(mine.column, **changes)) if changes else mine

    def _added(self, common: dict[int, _Leaf]) -> dict[int, _Leaf]:
        """Return the columns that theirs has added, with ids of ours."""
        base, ours, theirs = self._schemas
        leaves: dict[int, _Leaf] = {}
        for number, other in self._theirs.leaves.items():
            if number in self._base.leaves:
                continue
            is_inner_new = other.outer and other.outer not in self._base.leaves
            outer = self._ids[other.outer] if is_inner_new else other.outer
            if outer and outer not in common and outer not in leaves:
                self._conflict(other, "added there, to a column that is dropped here")
                continue
            twin = self._twin(other, outer)
            if twin is not None:
                self._ids[number] = twin
                continue
            if any(overlaps(other.path, old) for old in ours.dropped - base.dropped):
                self._conflict(other, "added there, where a column was dropped here")
            self._ids[number] = self._next_id
            column = replace(other.column, id=self._next_id)
            leaves[self._next_id] = replace(other, outer=outer, column=column)
            self._next_id += 1
        for number, mine in self._ours.leaves.items():
            is_new = number not in self._base.leaves
            gone = theirs.dropped - base.dropped
            if is_new and number not in self._ids.values():
                if any(overlaps(mine.path, old) for old in gone):
                    self._conflict(mine, "added here, where a column was dropped there")
                if mine.outer in self._base.leaves and mine.outer not in self._theirs.leaves:
                    self._conflict(mine, "added here, to a column that is dropped there")
        return leaves

    def _twin(self, other: _Leaf, outer: int) -> int | None:
        """Find the column that ours has added in the same way."""
        for number, mine in self._ours.leaves.items():
            if number in self._base.leaves or mine.outer != outer:
                continue
            if mine.column.name == other.column.name:
                if replace(mine.column, id=0) == replace(other.column, id=0):
                    return number
                self._conflict(
                    mine,
                    f"added as {mine.column.type} here, and as "
                    f"{other.column.type} there, or with another default or path",
                )
                return number
        return None

    def _built(self, leaves: dict[int, _Leaf], outer: int) -> tuple[TableColumn, ...]:
        columns = []
        for number in self._order(outer):
            if number in leaves:
                column = leaves[number].column
                inner = self._built(leaves, number)
                columns.append(replace(column, type=with_columns(column.type, inner)))
        return tuple(columns)

    def _order(self, outer: int) -> list[int]:
        """Return the ids of a struct's columns, in the order of the side that has moved them."""
        before = self._base.order.get(outer, [])
        mine = self._ours.order.get(outer, [])
        there = {new: old for old, new in self._ids.items()}
        theirs = self._theirs.order.get(there.get(outer, outer), [])
        other = [self._ids.get(number, number) for number in theirs]
        common = set(before) & set(mine) & set(other)
        is_moved_here = [n for n in mine if n in common] != [n for n in before if n in common]
        first, second = (mine, other) if is_moved_here else (other, mine)
        if not is_moved_here and [n for n in other if n in common] == [
            n for n in before if n in common
        ]:
            first, second = mine, other
        return list(dict.fromkeys([*first, *second]))

    def _conflict(self, leaf: _Leaf, reason: str) -> None:
        self.conflicts.append(f"the column {shown(leaf.names)}: {reason}")
