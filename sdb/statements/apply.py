"""Carries out UPDATE, DELETE, MERGE and other statements on the packfiles of their table."""

from __future__ import annotations

import tempfile

from sdb import notes, sizes
from sdb.errors import QueryError, UnsupportedError, UsageError
from sdb.packfile.inputs.inputs import Input
from sdb.packfile.rewrite.rewrite import blocks_with
from sdb.progress import counted
from sdb.query.syntax import ast, visitor, writes
from sdb.records import record, replace
from sdb.statements import insertion
from sdb.statements.effects import Effect
from sdb.statements.matching import QueryContext, Target, dropping, tell
from sdb.table.format.keys import era_of
from sdb.table.packfiles.lazy import OpenObjects, whole_packfile
from sdb.table.packfiles.rewrite import rewrite

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterable, Sequence
    from typing import Any, BinaryIO

    import numpy as np
    from numpy.typing import NDArray

    from sdb.packfile.rewrite.rewrite import RowChanges
    from sdb.query.syntax.writes import FieldPath
    from sdb.statements.matching import MatchedRows
    from sdb.statements.targettable import TransactionOverlay
    from sdb.table.catalog.root import TableRoot
    from sdb.table.format.descriptor import Descriptor
    from sdb.table.schema.columns import TableSchema

_PIECE_BYTES = 1 << 20
_ION_VERSION = b"\xe0\x01\x00\xea"


@record
class StatementRunner:
    """A statement, and all that it is carried out with."""

    statement: writes.WriteStatement  # the statement, parameters bound
    view: TransactionOverlay  # the table as the transaction sees it, which changes
    context: QueryContext  # how queries run
    commit_id: str  # the id of the commit, which new packfiles have in their keys
    is_dry: bool  # whether nothing is written: rows are counted alone
    only: Collection[str] | None = None  # keys of the packfiles to look at; None: all

    @property
    def table(self) -> str:
        """The table, as ``db.table``."""
        write = self.statement.write
        return "" if isinstance(write, writes.Control) else write.table.name

    def run(self) -> Effect:
        """Carry the statement out."""
        write = with_stored_paths(self._named(), self.schema).write
        match write:
            case writes.InsertValues():
                rows = insertion.rows_of_values(write, self.context)
                if write.paths is None:
                    rows = self._stored(rows)
                effect = self.insert_rows(rows, "insert")
            case writes.InsertQuery():
                effect = self._insert_query(write, "insert")
            case writes.CreateTable():
                effect = self._create(write)
            case writes.Update():
                effect = self._update(write)
            case writes.Delete():
                effect = self._delete(write)
            case writes.Truncate():
                effect = self._truncate("truncate")
            case writes.DropTable():
                effect = self._truncate("drop")
            case writes.Merge():
                from sdb.statements.merging import merged

                effect = merged(self, write)
            case _:
                raise RuntimeError(f"no statement that changes a table: {write!r}")
        return effect

    def _named(self) -> writes.WriteStatement:
        """Return the statement with the names of all columns that it writes."""
        if isinstance(self.statement.write, writes.Merge):
            from sdb.statements.merging import written_out

            return replace(self.statement, write=written_out(self, self.statement.write))
        return insertion.with_columns(self.statement, self.schema)

    @property
    def schema(self) -> TableSchema | None:
        """The schema of the table; None: it has none."""
        return self.view.schema

    def _stored(self, rows: Iterable[Any]) -> list[Any]:
        """Return rows by the names of columns as they are stored."""
        if self.schema is None or not has_renamed(self.schema):
            return list(rows)
        from sdb.table.schema.names import stored_row

        return [stored_row(self.schema.columns, row) for row in rows]

    def target(self, alias: str | None) -> Target:
        """Return the table as a source of queries."""
        name = f"{str(self.statement.write.__class__.__name__).upper()} {self.table}"
        return Target(name, alias, self.view.table(only=self.only), self.context)

    def insert_rows(self, rows: list[Any], operation: str) -> Effect:
        """Insert rows that are values of Python."""
        if self.is_dry:
            return Effect(operation, self.table, rows_inserted=len(rows))
        return self._packed(rows, operation)

    def _insert_query(self, insert: writes.InsertQuery, operation: str) -> Effect:
        if insert.paths is None and has_renamed(self.schema):
            query = replace(insert.query, text=self.context.text)
            with self.context.run(query) as result:
                rows = self._stored(result)
                tell(result)
            return self.insert_rows(rows, operation) if rows else Effect(operation, self.table)
        with tempfile.TemporaryFile() as spool:
            insertion.write_query(insert, self.context, spool)
            return self.insert_stream(spool, operation)

    def insert_stream(self, spool: BinaryIO, operation: str) -> Effect:
        """Insert rows that were written to a file as Ion."""

        def pieces() -> Generator[bytes]:
            spool.seek(0)
            while piece := spool.read(_PIECE_BYTES):
                yield piece

        if _has_no_rows(spool):
            return Effect(operation, self.table)
        if self.is_dry:
            return Effect(operation, self.table, rows_inserted=_count(pieces()))
        return self._packed([Input("the query", "ion", source=pieces)], operation)

    def _packed(self, inputs: Any, operation: str) -> Effect:  # noqa: ANN401 - those of packing
        from sdb.table.definition.cache import statistics_of
        from sdb.table.packfiles.pack import pack_rows
        from sdb.table.packfiles.rules import rules_of

        view = self.view
        mark = view.mark(self.commit_id)
        done = pack_rows(
            view.root,
            view.keys,
            inputs,
            rules=rules_of(view.keys, view.schema),
            commit_id=mark,
            stats=statistics_of(view.root, view.keys),
            progress=self.context.progress,
            threads=self.context.threads,
        )
        if done.descriptor is None:
            return Effect(operation, self.table)
        view.add([done.descriptor])
        size = done.result.output_bytes
        rows = done.result.rows
        return Effect(operation, self.table, rows, packfiles_added=1, written_bytes=size)

    def _create(self, create: writes.CreateTable) -> Effect:
        if create.query is None:
            return Effect("create", self.table)
        return self._insert_query(writes.InsertQuery(create.table, None, create.query), "create")

    def _truncate(self, operation: str) -> Effect:
        removed = list(self.view.descriptors())
        known = [descriptor.rows for descriptor in removed if descriptor.rows is not None]
        rows = sum(known)
        for descriptor in removed:
            self.view.replace(descriptor.key, ())
        if number := len(removed) - len(known):
            notes.warn(
                f"rows of {sizes.counted(number, 'packfile')} of the original are not counted"
            )
        return Effect(operation, self.table, rows_deleted=rows, packfiles_removed=len(removed))

    def _delete(self, delete: writes.Delete) -> Effect:
        if delete.where is None and self.only is None:
            return self._truncate("delete")
        effect = Effect("delete", self.table)
        matches = self.target(delete.alias).matches(delete.where)
        progress = self._counted(matches)
        for matched in matches:
            effect += Effect("delete", self.table, rows_deleted=len(matched.rows))
            if self.is_dry:
                effect += self.expected(matched, "delete")
            else:
                effect += self.rewrite(
                    matched.descriptor, dropping(matched.rows), "delete", progress
                )[0]
        return effect

    def _update(self, update: writes.Update) -> Effect:
        target = self.target(update.alias)
        assigned = [(assignment.path, assignment.value) for assignment in update.assignments]
        effect = Effect("update", self.table)
        matches = target.matches(update.where)
        if matches and self.only is None:
            self._warn_of_new_fields([path for path, _ in assigned])
        progress = self._counted(matches)
        for matched in matches:
            effect += Effect("update", self.table, rows_updated=len(matched.rows))
            self.check_set(matched, [path for path, _ in assigned])
            if self.is_dry:
                effect += self.expected(matched, "update")
            else:
                changes = insertion.constant_changes(matched.rows, assigned, self.context.now_us)
                if changes is None:
                    alone = self.view.table(only={matched.descriptor.key})
                    changes = target.values(matched, update.where, assigned, alone)
                effect += self.rewrite(matched.descriptor, changes, "update", progress)[0]
        return effect

    def _warn_of_new_fields(self, paths: Sequence[writes.FieldPath]) -> None:
        """Warn of fields to set that no row of the table has: they may be slips."""
        from sdb.packfile.prune.unknownfields import warn_unknown
        from sdb.table.packfiles.knownfields import trailers_with_fields

        packs = self.view.table().packs()
        warn_unknown(paths, trailers_with_fields(packs, paths), of=self.table)

    def _counted(self, matches: Sequence[MatchedRows]) -> Callable[[int], None]:
        """Return what tells how much of packfiles that are rewritten is done."""
        return counted(
            self.context.progress, sum(matched.descriptor.trailer.offset for matched in matches)
        )

    def expected(self, matched: MatchedRows, operation: str) -> Effect:
        """Report what rewriting a packfile would come to, from what the index says of it."""
        trailer = matched.descriptor.trailer
        summary = trailer.sparse.summary
        touched = len(trailer.blocks)
        if summary is not None:
            touched = blocks_with(summary.rows, matched.rows)
        is_left = operation != "delete" or len(matched.rows) != trailer.rows
        return Effect(
            operation,
            self.table,
            packfiles_added=int(is_left),
            packfiles_removed=1,
            blocks_kept=len(trailer.blocks) - touched,
            blocks_rewritten=touched,
        )

    def check_set(self, matched: MatchedRows, paths: list[writes.FieldPath]) -> None:
        """Refuse to set what rows of a packfile cannot have."""
        self.check_constants(matched, paths)
        check_visible(self.schema, matched.descriptor, paths)

    def check_constants(self, matched: MatchedRows, paths: list[writes.FieldPath]) -> None:
        """Refuse to set what all rows of a packfile have, as fields of partitions are."""
        constants = matched.descriptor.trailer.sparse.constants
        for path in paths:
            if path[0] in constants:
                raise UnsupportedError(
                    f"setting {path[0]}: all rows of {matched.descriptor.key} have it, so that one "
                    "row cannot change it"
                )

    def rewrite(
        self,
        descriptor: Descriptor,
        changes: RowChanges,
        operation: str,
        progress: Callable[[int], None],
    ) -> tuple[Effect, Descriptor | None]:
        """Rewrite a packfile, let the new one take its place, and give that, if a row is left."""
        done = rewrite(
            self.view.root,
            self.view.keys,
            descriptor,
            changes,
            self.view.mark(self.commit_id),
            threads=self.context.threads,
            progress=progress,
        )
        if done.descriptor is not None:
            check_changed(self.view.root, self.table, self.schema, done.descriptor, changes)
        self.view.are_rows_traced &= done.are_rows_traced
        new = () if done.descriptor is None else (done.descriptor,)
        self.view.replace(descriptor.key, new)
        effect = Effect(
            operation,
            self.table,
            packfiles_added=len(new),
            packfiles_removed=1,
            blocks_kept=done.blocks_kept,
            blocks_rewritten=done.blocks_rewritten,
            copied_bytes=done.copied_bytes,
            written_bytes=done.packed_bytes,
        )
        return effect, done.descriptor


def _has_no_rows(spool: BinaryIO) -> bool:
    """Return whether an Ion stream consists of version markers alone."""
    spool.seek(0)
    head = spool.read(1 << 10)
    return len(head) < 1 << 10 and head == _ION_VERSION * (len(head) // len(_ION_VERSION))


def _count(pieces: Generator[bytes]) -> int:
    """Count the rows of an Ion stream."""
    from sdb import _core
    from sdb.packfile.write.pack import Feeder
    from sdb.progress import silent

    with _core.Packer(algorithm="zstd", level=1) as packer:
        Feeder(packer, len, None).feed_all(
            [Input("the query", "ion", source=lambda: pieces)], silent
        )
        return packer.rows


def reads_tables(statement: writes.WriteStatement) -> bool:
    """Return whether a statement reads more than the rows that it changes."""
    write = statement.write
    if isinstance(write, writes.Merge | writes.InsertQuery | writes.CreateTable):
        return True
    return any(isinstance(node, ast.Select) for node in visitor.nodes(statement))


# Columns that statements write, by the names of the schema: where their values lie in rows.


def has_renamed(schema: TableSchema | None) -> bool:
    """Return whether values of a column lie elsewhere than its name says."""
    if schema is None:
        return False
    from sdb.table.schema.columns import walk

    return any(column.path != (column.name,) for _, _, column in walk(schema.columns))


def with_stored_paths(
    statement: writes.WriteStatement, schema: TableSchema | None
) -> writes.WriteStatement:
    """Return a statement that writes to the fields of rows, and not to columns.

    Raises `QueryError` if the schema has no such column; the hint has a similar name;
    `UnsupportedError` if MERGE inserts whole rows where columns were renamed.
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
        from sdb.table.schema.names import stored_path

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

    Raises `UnsupportedError` if a column was added again since the packfile was written.
    """
    if schema is None or not schema.era:
        return
    from sdb.table.schema import eras
    from sdb.table.schema.columns import overlaps, shown, walk

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

    Raises `DepartingRowsError` if rows depart from the schema, and its mode is not ``observe``.
    """
    if schema is None or not len(changes.changed):
        return
    from contextlib import closing

    from sdb.table.packfiles.conformance import departing_rows, is_checked
    from sdb.table.packfiles.rules import departed

    if not is_checked(schema):
        return

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
