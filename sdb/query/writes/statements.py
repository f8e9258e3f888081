"""Statements that change tables: what each kind does to the packfiles of its table."""

from __future__ import annotations

import tempfile

from sdb.errors import QueryError, UnsupportedError
from sdb.packfile.inputs import Input
from sdb.query.syntax import ast, visitor, writes
from sdb.query.writes import insertion
from sdb.query.writes.matching import QueryContext, Target
from sdb.records import record
from sdb.table.tablepacking import pack_rows
from sdb.table.tablerewrite import rewrite

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Generator
    from typing import Any, BinaryIO

    import numpy as np
    from numpy.typing import NDArray

    from sdb.packfile.rewriting import RowChanges
    from sdb.query.writes.matching import MatchedRows
    from sdb.query.writes.tableview import TableView
    from sdb.table.descriptor import Descriptor

_SMALL_BYTES = 8 << 20
_PIECE_BYTES = 1 << 20


@record
class Effect:
    """What a statement does to a table.

    Attributes
    ----------
    operation : str
        ``insert``, ``update``, ``delete``, ``truncate``, ``create`` or ``merge``.
    table : str
        The table, as ``db.table``.
    rows_inserted, rows_updated, rows_deleted : int
        Numbers of rows.
    packfiles_added, packfiles_removed : int
        Numbers of packfiles; one that is rewritten is both.
    copied_bytes, written_bytes : int
        Size of what is taken over as it is, and of blocks that are written.
    """

    operation: str
    table: str
    rows_inserted: int = 0
    rows_updated: int = 0
    rows_deleted: int = 0
    packfiles_added: int = 0
    packfiles_removed: int = 0
    copied_bytes: int = 0
    written_bytes: int = 0

    def __add__(self, other: Effect) -> Effect:
        """Give what two parts of one statement do."""
        numbers = [getattr(self, name) + getattr(other, name) for name in _NUMBERS]
        return Effect(self.operation, self.table, *numbers)

    def as_dict(self) -> dict[str, object]:
        """Give it as plain values with stable names, for JSON."""
        return {"operation": self.operation, "table": self.table} | {
            name: getattr(self, name) for name in _NUMBERS
        }


_NUMBERS = (
    "rows_inserted",
    "rows_updated",
    "rows_deleted",
    "packfiles_added",
    "packfiles_removed",
    "copied_bytes",
    "written_bytes",
)


@record
class Work:
    """A statement, and all that it is carried out with.

    Attributes
    ----------
    statement : WriteStatement
        The statement, parameters bound.
    view : TableView
        The table as the transaction sees it, which changes.
    context : QueryContext
        How queries run.
    directory : str
        Where new packfiles go below ``data/``.
    is_dry : bool
        Whether nothing is written: rows are counted alone.
    only : collection of str or None
        Keys of the packfiles to look at; None: all.
    """

    statement: writes.WriteStatement
    view: TableView
    context: QueryContext
    directory: str
    is_dry: bool
    only: Collection[str] | None = None

    @property
    def table(self) -> str:
        """The table, as ``db.table``."""
        write = self.statement.write
        return "" if isinstance(write, writes.Control) else write.table.name

    def run(self) -> Effect:
        """Carry the statement out."""
        write = self.statement.write
        match write:
            case writes.InsertValues():
                effect = self.insert_rows(insertion.rows_of_values(write, self.context), "insert")
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
            case _:
                raise RuntimeError(f"no statement that changes a table: {write!r}")
        return effect

    def target(self, alias: str | None) -> Target:
        """Give the table as a source of queries."""
        name = f"{str(self.statement.write.__class__.__name__).upper()} {self.table}"
        return Target(name, alias, self.view.table(only=self.only), self.context)

    def insert_rows(self, rows: list[Any], operation: str) -> Effect:
        """Insert rows that are values of Python."""
        if self.is_dry:
            return Effect(operation, self.table, rows_inserted=len(rows))
        return self._packed(rows, operation)

    def _insert_query(self, insert: writes.InsertQuery, operation: str) -> Effect:
        with tempfile.TemporaryFile() as spool:
            insertion.write_query(insert, self.context, spool)
            return self.insert_stream(spool, operation)

    def insert_stream(self, spool: BinaryIO, operation: str) -> Effect:
        """Insert rows that were written to a file as Ion."""

        def pieces() -> Generator[bytes]:
            spool.seek(0)
            while piece := spool.read(_PIECE_BYTES):
                yield piece

        if self.is_dry:
            return Effect(operation, self.table, rows_inserted=_count(pieces()))
        return self._packed([Input("the query", "ion", source=pieces)], operation)

    def _packed(self, inputs: Any, operation: str) -> Effect:  # noqa: ANN401 - those of packing
        done = pack_rows(
            self.view.root, self.view.keys, inputs, self.directory, threads=self.context.threads
        )
        if done.descriptor is None:
            return Effect(operation, self.table)
        self.view.add([done.descriptor])
        size = done.result.output_bytes
        rows = done.result.rows
        return Effect(operation, self.table, rows, packfiles_added=1, written_bytes=size)

    def _create(self, create: writes.CreateTable) -> Effect:
        if create.query is None:
            return Effect("create", self.table)
        return self._insert_query(writes.InsertQuery(create.table, None, create.query), "create")

    def _truncate(self, operation: str) -> Effect:
        rows = 0
        removed = list(self.view.descriptors())
        for one in removed:
            rows += one.rows or 0
            self.view.replace(one.key, ())
        return Effect(operation, self.table, rows_deleted=rows, packfiles_removed=len(removed))

    def _delete(self, delete: writes.Delete) -> Effect:
        if delete.where is None and self.only is None:
            return self._truncate("delete")
        effect = Effect("delete", self.table)
        for matched in self.target(delete.alias).matches(delete.where):
            effect += Effect("delete", self.table, rows_deleted=len(matched.rows))
            if not self.is_dry:
                effect += self.rewrite(matched.told, _dropping(matched.rows), "delete")
        return effect

    def _update(self, update: writes.Update) -> Effect:
        target = self.target(update.alias)
        assigned = [(one.path, one.value) for one in update.assignments]
        effect = Effect("update", self.table)
        for matched in target.matches(update.where):
            effect += Effect("update", self.table, rows_updated=len(matched.rows))
            if not self.is_dry:
                self.check_constants(matched, [path for path, _ in assigned])
                alone = self.view.table(only={matched.told.key})
                changes = target.values(matched, update.where, assigned, alone)
                effect += self.rewrite(matched.told, changes, "update")
        return effect

    def check_constants(self, matched: MatchedRows, paths: list[writes.FieldPath]) -> None:
        """Refuse to set what all rows of a packfile have, as fields of partitions are."""
        constants = matched.told.trailer.sparse.constants
        for path in paths:
            if path[0] in constants:
                raise UnsupportedError(
                    f"setting {path[0]}: all rows of {matched.told.key} have it, so that one "
                    "row cannot change it"
                )

    def rewrite(self, told: Descriptor, changes: RowChanges, operation: str) -> Effect:
        """Rewrite a packfile, and let it take the place of the old one."""
        done = rewrite(
            self.view.root,
            self.view.keys,
            told,
            changes,
            self.directory,
            threads=self.context.threads,
        )
        new = () if done.descriptor is None else (done.descriptor,)
        self.view.replace(told.key, new)
        return Effect(
            operation,
            self.table,
            packfiles_added=len(new),
            packfiles_removed=1,
            copied_bytes=done.copied_bytes,
            written_bytes=done.packed_bytes,
        )


def _dropping(rows: NDArray[np.int64]) -> RowChanges:
    from sdb.packfile.rewriting import RowChanges

    return RowChanges(rows, rows[:0])


def _count(pieces: Generator[bytes]) -> int:
    """Count the rows of an Ion stream."""
    from sdb import _core
    from sdb.packfile.writer import Feeder
    from sdb.progress import silent

    with _core.Packer(algorithm="zstd", level=1) as packer:
        Feeder(packer, len, None).feed_all(
            [Input("the query", "ion", source=lambda: pieces)], silent
        )
        return packer.rows


def reads_tables(statement: writes.WriteStatement) -> bool:
    """Tell whether a statement reads more than the rows that it changes."""
    write = statement.write
    if isinstance(write, writes.Merge | writes.InsertQuery | writes.CreateTable):
        return True
    return any(isinstance(node, ast.Select) for node in visitor.nodes(statement))


def not_a_table(statement: writes.WriteStatement, message: str) -> QueryError:
    """Make the error for a statement, at the name of its table."""
    write = statement.write
    start, stop = (0, 0) if isinstance(write, writes.Control) else write.table.span
    return QueryError(message, query=statement.text, offset=start, length=stop - start)
