"""The syntax tree of statements that change tables; see :mod:`sdb.query.syntax.ast`."""

from __future__ import annotations

from sdb.query.syntax.ast import Expr, Node, Statement, Table
from sdb.records import field, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    FieldPath: TypeAlias = tuple[str, ...]


@record
class WrittenTable(Node):
    """A table that is written: ``db.table``.

    Attributes
    ----------
    database, table : str
        Its names.
    branch : str
        The branch that is written; empty: the main one.
    """

    database: str
    table: str
    branch: str = ""

    @property
    def name(self) -> str:
        """All names."""
        branch = f"@{self.branch}" if self.branch else ""
        return f"{self.database}.{self.table}{branch}"


@record
class InsertValues(Node):
    """``INSERT INTO table [(paths)] VALUES (...), ...``.

    Attributes
    ----------
    table : WrittenTable
        The table.
    paths : tuple of path or None
        Where the values go; None: each row is one struct.
    rows : tuple of tuple of Expr
        The values.
    """

    table: WrittenTable
    paths: tuple[FieldPath, ...] | None
    rows: tuple[tuple[Expr, ...], ...]


@record
class InsertQuery(Node):
    """``INSERT INTO table [(paths)] SELECT ...``.

    Attributes
    ----------
    table : WrittenTable
        The table.
    paths : tuple of path or None
        Where the columns go; None: each under its own name.
    query : Statement
        What gives the rows.
    """

    table: WrittenTable
    paths: tuple[FieldPath, ...] | None
    query: Statement


@record
class CreateTable(Node):
    """``CREATE TABLE [IF NOT EXISTS] table [AS SELECT ...]``."""

    table: WrittenTable
    if_not_exists: bool
    query: Statement | None


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
class Vacuum(Node):
    """``VACUUM table [DRY RUN]``."""

    table: WrittenTable
    is_dry: bool


@record
class WhenMatched(Node):
    """``WHEN MATCHED [AND condition] THEN UPDATE SET ... | DELETE``; no assignments: DELETE."""

    condition: Expr | None
    assignments: tuple[Assignment, ...]


@record
class WhenNotMatched(Node):
    """``WHEN NOT MATCHED [AND condition] THEN INSERT [(paths)] VALUES (...)``.

    Attributes
    ----------
    condition : Expr or None
        Which rows of the source are inserted.
    paths : tuple of path or None
        Where the values go.
    values : tuple of Expr
        The values; one struct without paths; none: the row of the source as it is.
    """

    condition: Expr | None
    paths: tuple[FieldPath, ...] | None
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
    | CreateTable
    | Update
    | Delete
    | Truncate
    | Merge
    | DropTable
    | UndropTable
    | Vacuum
)


@record
class WriteStatement(Node):
    """A statement that changes a table, or that begins or ends a transaction.

    Attributes
    ----------
    write : Write or Control
        What it does.
    is_explained : bool
        Whether EXPLAIN stands in front of it.
    text : str
        The statement as it was written.
    """

    write: Write | Control
    is_explained: bool = False
    text: str = field(default="", compare=False, repr=False)


__all__ = [
    "Assignment",
    "Control",
    "CreateTable",
    "Delete",
    "DropTable",
    "InsertQuery",
    "InsertValues",
    "Merge",
    "Truncate",
    "UndropTable",
    "Update",
    "Vacuum",
    "WhenMatched",
    "WhenNotMatched",
    "Write",
    "WriteStatement",
    "WrittenTable",
]
