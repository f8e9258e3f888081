"""Columns that statements write, by the names of the schema: where their values lie in rows."""

from __future__ import annotations

from sdb.errors import QueryError, UnsupportedError, UsageError
from sdb.query.syntax import ast, writes
from sdb.records import replace
from sdb.table.format.keys import era_of
from sdb.table.packfiles.conformance import departing_rows, is_checked
from sdb.table.packfiles.lazy import OpenObjects, whole_packfile
from sdb.table.packfiles.rules import departed
from sdb.table.schema import eras
from sdb.table.schema.columns import overlaps, shown, walk
from sdb.table.schema.names import stored_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    from numpy.typing import NDArray

    from sdb.packfile.rewrite.rewrite import RowChanges
    from sdb.query.syntax.writes import FieldPath
    from sdb.table.catalog.root import TableRoot
    from sdb.table.format.descriptor import Descriptor
    from sdb.table.schema.columns import TableSchema


def has_renamed(schema: TableSchema | None) -> bool:
    """Return whether values of a column lie elsewhere than its name says."""
    if schema is None:
        return False
    return any(column.path != (column.name,) for _, _, column in walk(schema.columns))


def with_stored_paths(
    statement: writes.WriteStatement, schema: TableSchema | None
) -> writes.WriteStatement:
    """Return a statement that writes to the fields of rows, and not to columns.

    Raises
    ------
    QueryError
        The schema has no such column; the hint has a similar name.
    UnsupportedError
        MERGE inserts whole rows where columns were renamed.
    """
    if schema is None:
        return statement
    names = _Names(schema, statement.text)
    write = statement.write
    match write:
        case writes.InsertValues(paths=paths) | writes.InsertQuery(paths=paths):
            if paths is None:
                return statement
            return replace(statement, write=replace(write, paths=names.paths(paths, write)))
        case writes.Update():
            assigned = names.assigned(write.assignments)
            return replace(statement, write=replace(write, assignments=assigned))
        case writes.Merge():
            matched = tuple(
                [
                    replace(clause, assignments=names.assigned(clause.assignments))
                    for clause in write.matched
                ]
            )
            missing = tuple([names.inserted(clause) for clause in write.not_matched])
            return replace(statement, write=replace(write, matched=matched, not_matched=missing))
    return statement


class _Names:
    """Finds the paths of columns that a statement names."""

    def __init__(self, schema: TableSchema, text: str) -> None:
        self._schema = schema
        self._text = text

    def paths(self, paths: Iterable[FieldPath], node: ast.Node) -> tuple[FieldPath, ...]:
        """Return the paths of columns."""
        return tuple([self._path(path, node) for path in paths])

    def assigned(self, assignments: Iterable[writes.Assignment]) -> tuple[writes.Assignment, ...]:
        """Return assignments to the paths of columns."""
        return tuple([replace(each, path=self._path(each.path, each)) for each in assignments])

    def inserted(self, clause: writes.WhenNotMatched) -> writes.WhenNotMatched:
        """Return a clause that inserts values at the paths of columns."""
        if clause.paths is not None:
            return replace(clause, paths=self.paths(clause.paths, clause))
        if not has_renamed(self._schema):
            return clause
        if clause.values and isinstance(clause.values[0], ast.MakeStruct):
            members = clause.values[0].members
            paths = self.paths([(name,) for name, _ in members], clause)
            return replace(clause, paths=paths, values=tuple([value for _, value in members]))
        raise UnsupportedError(
            "MERGE inserts whole rows, and columns of the table were renamed",
            hint="name the columns: INSERT (a, b) VALUES (s.a, s.b)",
        )

    def _path(self, names: FieldPath, node: ast.Node) -> FieldPath:
        try:
            return stored_path(self._schema, names)
        except UsageError as error:
            start, stop = node.span
            raise QueryError(
                error.message,
                query=self._text,
                offset=start,
                length=max(1, stop - start),
                hint=error.hint,
            ) from None


def check_visible(
    schema: TableSchema | None, descriptor: Descriptor, paths: Iterable[FieldPath]
) -> None:
    """Refuse to set a column in a packfile of an era whose rows do not have it.

    Raises
    ------
    UnsupportedError
        A column was added again since the packfile was written.
    """
    if schema is None or not schema.era:
        return
    era = era_of(descriptor.key)
    for names, own, column in walk(schema.columns):
        if eras.has_rows(schema, column, era):
            continue
        if any(overlaps(own, path) for path in paths):
            raise UnsupportedError(
                f"{shown(names)} was dropped and added again: rows from before cannot get a value",
                hint="DELETE them, and INSERT them with it",
            )


def check_changed(
    root: TableRoot,
    name: str,
    schema: TableSchema | None,
    descriptor: Descriptor,
    changes: RowChanges,
) -> None:
    """Check the rows of a packfile that a statement has changed.

    * ``name``: That of the table.
    * ``descriptor``: The packfile with the changes.

    Raises
    ------
    DepartingRowsError
        Rows depart from the schema, and its mode is not ``observe``.
    """
    if schema is None or not is_checked(schema) or not len(changes.changed):
        return
    from contextlib import closing

    numbers = set(_numbers(changes).tolist())
    with closing(OpenObjects()) as objects:
        pack = whole_packfile(root, descriptor, objects)
        era = era_of(descriptor.key)
        listed = [
            row for row in departing_rows(pack, schema, era, is_new=False) if row.number in numbers
        ]
    if listed:
        raise departed(name, listed)


def _numbers(changes: RowChanges) -> NDArray[np.int64]:
    """Return the numbers that the changed rows have once the dropped ones are gone."""
    import numpy as np

    return changes.changed - np.searchsorted(changes.dropped, changes.changed)
