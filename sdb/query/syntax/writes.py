"""The syntax tree of statements that change tables; see :mod:`sdb.query.syntax.ast`."""

from __future__ import annotations

from sdb.query.syntax.ast import Expr, Node, Statement, Table
from sdb.records import field, record
from sdb.table.format.keys import joined

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from sdb.table.schema.types import ColumnType

    FieldPath: TypeAlias = tuple[str, ...]


@record
class WrittenTable(Node):
    """A table that is written: ``db.table``."""

    # Its names
    database: str
    table: str
    branch: str = ""  # the branch that is written; empty: the main one

    @property
    def name(self) -> str:
        """All names."""
        branch = f"@{self.branch}" if self.branch else ""
        return f"{joined(self.database, self.table)}{branch}"


@record
class InsertValues(Node):
    """``INSERT INTO table [(paths)] VALUES (...), ...``."""

    table: WrittenTable  # the table
    paths: tuple[FieldPath, ...] | None  # where the values go; None: each row is one struct
    rows: tuple[tuple[Expr, ...], ...]  # the values


@record
class InsertQuery(Node):
    """``INSERT INTO table [(paths)] SELECT ...``."""

    table: WrittenTable  # the table
    paths: tuple[FieldPath, ...] | None  # where the columns go; None: each under its own name
    query: Statement  # what gives the rows


@record
class CreateTable(Node):
    """``CREATE TABLE [IF NOT EXISTS] table [AS SELECT ...]``."""

    table: WrittenTable
    if_not_exists: bool
    query: Statement | None
    columns: tuple[AddedColumn, ...] = ()  # those of its schema; none: it has none


@record
class Assignment(Node):
    """``path = value``; a value that is MISSING takes the field away."""

    path: FieldPath
    value: Expr


@record
class Update(Node):
    """``UPDATE table [AS alias] SET path = value, ... [WHERE condition]``."""

    table: WrittenTable
    alias: str | None
    assignments: tuple[Assignment, ...]
    where: Expr | None


@record
class Delete(Node):
    """``DELETE FROM table [AS alias] [WHERE condition]``."""

    table: WrittenTable
    alias: str | None
    where: Expr | None


@record
class Truncate(Node):
    """``TRUNCATE [TABLE] table``."""

    table: WrittenTable


@record
class DropTable(Node):
    """``DROP TABLE [IF EXISTS] table``."""

    table: WrittenTable
    if_exists: bool


@record
class UndropTable(Node):
    """``UNDROP TABLE table``."""

    table: WrittenTable


@record
class CreateView(Node):
    """``CREATE [OR REPLACE] VIEW [IF NOT EXISTS] view AS SELECT ...``."""

    table: WrittenTable
    or_replace: bool
    if_not_exists: bool
    query: Statement  # the query; the view is its text
    text: str = field(compare=False, repr=False)


@record
class DropView(Node):
    """``DROP VIEW [IF EXISTS] view``."""

    table: WrittenTable
    if_exists: bool


@record
class UndropView(Node):
    """``UNDROP VIEW view``."""

    table: WrittenTable


@record
class Vacuum(Node):
    """``VACUUM table [DRY RUN]``."""

    table: WrittenTable  # one of no name: each table of the database
    is_dry: bool
    is_one_of_many: bool = False  # whether a table without a policy is passed over, not refused


@record
class CreateDatabase(Node):
    """``CREATE SCHEMA [IF NOT EXISTS] db``: nothing, for a database comes with its first table."""

    table: WrittenTable  # that of no name


@record
class AddedColumn(Node):
    """``ADD COLUMN [IF NOT EXISTS] path type [DEFAULT value] [NOT NULL] [FIRST | AFTER name]``."""

    path: FieldPath
    type: ColumnType
    default: Expr | None
    required: bool
    position: tuple[str | None] | None  # behind which column; (None,): the first; None: the last
    if_not_exists: bool


@record
class DroppedColumn(Node):
    """``DROP COLUMN [IF EXISTS] path``."""

    path: FieldPath
    if_exists: bool


@record
class RenamedColumn(Node):
    """``RENAME COLUMN path TO name``."""

    path: FieldPath
    name: str
    if_exists: bool


@record
class WidenedColumn(Node):
    """``ALTER COLUMN path TYPE type``."""

    path: FieldPath
    type: ColumnType


@record
class MovedColumn(Node):
    """``ALTER COLUMN path FIRST | AFTER name``."""

    path: FieldPath
    after: str | None


@record
class RequiredColumn(Node):
    """``ALTER COLUMN path SET NOT NULL | DROP NOT NULL``."""

    path: FieldPath
    required: bool


@record
class DescribedColumn(Node):
    """``COMMENT ON COLUMN table.path IS text``, or ``ALTER COLUMN path COMMENT text``."""

    path: FieldPath
    text: str


@record
class AlterTable(Node):
    """``ALTER TABLE [IF EXISTS] table action, ...``."""

    table: WrittenTable
    actions: tuple[ColumnAction, ...]
    if_exists: bool = False


@record
class DescribedTable(Node):
    """``COMMENT ON TABLE table IS text``."""

    table: WrittenTable
    text: str


ColumnAction = (
    AddedColumn
    | DroppedColumn
    | RenamedColumn
    | WidenedColumn
    | MovedColumn
    | RequiredColumn
    | DescribedColumn
)


@record
class WhenMatched(Node):
    """``WHEN MATCHED [AND condition] THEN UPDATE SET ... | DELETE``; DELETE has none."""

    condition: Expr | None
    assignments: tuple[Assignment, ...]
    is_whole: bool = False  # whether all fields of the row of the source are set


@record
class WhenNotMatched(Node):
    """``WHEN NOT MATCHED [AND condition] THEN INSERT [(paths)] VALUES (...)``."""

    condition: Expr | None  # which rows of the source are inserted
    paths: tuple[FieldPath, ...] | None  # where the values go
    # The values; one struct without paths; none: the row of the source as it is
    values: tuple[Expr, ...]


@record
class Merge(Node):
    """``MERGE INTO table [AS alias] USING source [AS alias] ON condition WHEN ...``."""

    table: WrittenTable
    alias: str | None
    source: Table
    source_alias: str | None
    on: Expr
    matched: tuple[WhenMatched, ...]
    not_matched: tuple[WhenNotMatched, ...]


@record
class Control(Node):
    """``BEGIN``, ``COMMIT`` or ``ROLLBACK``."""

    word: str


Write = (
    InsertValues
    | InsertQuery
    | CreateDatabase
    | CreateTable
    | Update
    | Delete
    | Truncate
    | Merge
    | DropTable
    | UndropTable
    | CreateView
    | DropView
    | UndropView
    | Vacuum
    | AlterTable
    | DescribedTable
)


@record
class WriteStatement(Node):
    """A statement that changes a table, or that begins or ends a transaction."""

    write: Write | Control  # what it does
    is_explained: bool = False  # whether EXPLAIN stands in front of it
    text: str = field(default="", compare=False, repr=False)  # the statement as it was written
    dialect: str = ""  # where SET says so


__all__ = [
    "AddedColumn",
    "AlterTable",
    "Assignment",
    "ColumnAction",
    "Control",
    "CreateDatabase",
    "CreateTable",
    "CreateView",
    "Delete",
    "DescribedColumn",
    "DescribedTable",
    "DropTable",
    "DropView",
    "DroppedColumn",
    "InsertQuery",
    "InsertValues",
    "Merge",
    "MovedColumn",
    "RenamedColumn",
    "RequiredColumn",
    "Truncate",
    "UndropTable",
    "UndropView",
    "Update",
    "Vacuum",
    "WhenMatched",
    "WhenNotMatched",
    "WidenedColumn",
    "Write",
    "WriteStatement",
    "WrittenTable",
]
