"""Queries of fields and a condition alone: tasks run them, each for its part of the packfiles."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pyspark.sql.types import StructField, StructType

from sdb.errors import CorruptError, InputError
from sdb.query.analyze import dialects
from sdb.query.rows.splits import splits, table_splits
from sdb.query.syntax import ast, printer, visitor
from sdb.query.syntax.parser import parse
from sdb.records import replace
from sdb.spark.options.namedtable import NamedTable
from sdb.spark.read.listing import listed, looked_at
from sdb.spark.read.schema import schema_of
from sdb.spark.read.tablelisting import described

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pyspark.sql.types import DataType

    from sdb.query.rows.splits import Split
    from sdb.spark.options.settings import ReadOptions
    from sdb.table.catalog.handle import TableHandle


@dataclass(frozen=True, slots=True)
class Divided:
    """A query in parts, which need nothing of each other."""

    columns: StructType  # the columns of the answer
    items: str  # the select list
    splits: tuple[Split, ...]  # the parts, for each of which the condition holds

    def schema(self, options: ReadOptions) -> StructType:  # noqa: ARG002 - as of computed rows
        """Return the columns that Spark sees."""
        return self.columns


def divided(text: str, root: str, options: ReadOptions) -> Divided | None:
    """Divide a query; None: its parts need each other, or what it reads are no packfiles.

    Raises `SdbError` as :func:`sdb.splits`.
    """
    statement = dialects.settled(parse(text), None)
    select = statement.select
    if not _is_simple(statement) or options.fields:
        return None
    table = select.sources[0].table
    handle = _handle(table, root)
    name = _path(table) if handle is None else handle.name
    if not name:
        return None
    try:
        packs = looked_at(listed([name], options.files)) if handle is None else described(handle)
    except (CorruptError, InputError):
        return None  # inputs that are not packed
    columns = _columns(select, name, schema_of(packs, options))
    if columns is None:
        return None
    where = None if select.where is None else printer.text(select.where)
    size = options.partition_bytes
    if handle is None:
        parts = splits(name, size=size, where=where)
    else:
        parts = table_splits(handle, size=size, where=where)
    parts.release()  # as the plans of other readers, which have no lease either
    items = ", ".join(_item(item) for item in select.items)
    return Divided(columns, items or "*", tuple(parts))


def _is_simple(statement: ast.Statement) -> bool:
    """Return whether a statement has one source, and at most a select list and a condition."""
    select = statement.select
    rest = replace(select, items=(), star=False, sources=(), where=None)
    if rest != ast.Select(()) or replace(statement, dialect="") != ast.Statement(select):
        return False
    tree = [] if select.where is None else list(visitor.nodes(select.where))
    return (
        statement.dialect == dialects.STANDARD
        and len(select.sources) == 1
        and select.sources[0].alias is None
        and not any(isinstance(node, ast.Select) for node in tree)
        and all(isinstance(item.expr, ast.Name | ast.Dot) for item in select.items)
    )


def _handle(table: ast.Table, root: str) -> TableHandle | None:
    """Open a table without a schema by its name, if that is what is read."""
    path = table.expr if isinstance(table, ast.PathTable) else None
    if not root or not isinstance(path, ast.Dot) or not isinstance(path.base, ast.Name):
        return None
    named = NamedTable.of({"path": f"{path.base.name}.{path.name}", "root": root})
    handle = None if named is None else named.find()
    return None if handle is None or handle.schema is not None else handle


def _path(table: ast.Table) -> str:
    """Return a path that is the same on all machines, if that is what is read, or nothing."""
    if not isinstance(table, ast.CallTable) or table.name != "READ_FILE" or len(table.args) != 1:
        return ""
    path = table.args[0].value if isinstance(table.args[0], ast.Literal) else ""
    return path if isinstance(path, str) and (path.startswith("/") or "://" in path) else ""


def _columns(select: ast.Select, source: str, rows: StructType) -> StructType | None:
    """Return the columns of the answer, if all names are those of fields and not of the source."""
    labels = set(re.split(r"\W+", source.casefold()))
    written = [select.where, *(item.expr for item in select.items)]
    nodes = [node for part in written if part is not None for node in visitor.nodes(part)]
    names = {node.name for node in nodes if isinstance(node, ast.Name)}
    if any(name not in rows.names or name.casefold() in labels for name in names):
        return None
    if select.star:
        return rows
    kinds = {_name(item): _kind(item.expr, rows) for item in select.items}
    fields = [StructField(name, kind) for name, kind in kinds.items() if kind is not None]
    return StructType(fields) if len(fields) == len(select.items) else None


def _kind(path: ast.Expr, rows: StructType) -> DataType | None:
    """Return the type of a field of rows."""
    inside: DataType | None = rows
    if isinstance(path, ast.Dot):
        inside = _kind(path.base, rows)
    name = path.name if isinstance(path, ast.Name | ast.Dot) else ""
    is_known = isinstance(inside, StructType) and name in inside.names
    return inside[name].dataType if isinstance(inside, StructType) and is_known else None


def _name(item: ast.Item) -> str:
    return item.alias or (item.expr.name if isinstance(item.expr, ast.Name | ast.Dot) else "")


def _item(item: ast.Item) -> str:
    return f"{printer.text(item.expr)} AS {printer.name(_name(item))}"
