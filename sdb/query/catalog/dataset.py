"""Tables of a query as the logical plan sees them: names, and rows to read."""

from __future__ import annotations

import time

from sdb.errors import UnsupportedError
from sdb.packfile.inputs.rawreading import USUAL, of_options
from sdb.progress import silent
from sdb.query.analyze.refusals import rejected
from sdb.query.syntax import ast, versions
from sdb.records import field, record, replace
from sdb.typed import Protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, TypeAlias

    from sdb.cancellation import Cancellation
    from sdb.packfile.inputs.rawreading import RawReading
    from sdb.progress import Progress
    from sdb.query.catalog.blockfronts import Front
    from sdb.query.catalog.period import Period
    from sdb.query.catalog.storedtable import TableSource
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import Visible
    from sdb.table.schema.columns import TableSchema

ValuePath: TypeAlias = tuple[str | int, ...]
"""Path from a row to a value: field names and 0-based list indexes; empty for the row itself."""


@record
class TableName:
    """A table as a query names it."""

    # ``file`` (read_file), ``path`` (a table path), ``glob`` or ``pattern`` (TABLE_GLOB,
    # TABLE_PATTERN), ``system`` (what ``sdb.versions('db.t')`` and the like tell)
    kind: str
    # The one argument of read_file, or the parts of the path; of a system table its name and what
    # it tells of
    parts: tuple[str, ...]
    span: ast.Span  # where it stands in the query
    # The version: by what (``ANY``, ``VERSION``, ``TIMESTAMP``, ``TAG``, ``BRANCH``), and which;
    # None: that of the query
    at: tuple[str, str | int] | None = None
    reading: RawReading | None = None  # how a file is read that is no packfile; None: as the others
    through: str = ""  # the view that names it; empty: the query does itself

    @property
    def text(self) -> str:
        """The name, for people."""
        if self.kind == "system":
            return f"sdb.{self.parts[0]}({', '.join(self.parts[1:])})"
        return "/".join(self.parts) + ("" if self.at is None else f"@{self.at[1]}")


class MixedSchemasError(UnsupportedError):
    """Tables that are read as one have several schemas."""


class Dataset(Protocol):
    """Rows to read: packfiles, and of each the blocks that may hold rows of interest."""

    @property
    def sources(self) -> Sequence[Any]:
        """First argument of `_core.LaneScan`, which reads each block when it is wanted."""

    def streamed(self, limit: int | None, *, takes_each: bool = False) -> Sequence[Any]:
        """Return the same for a scan; one of all blocks reads them ahead over a network.

        * ``limit``: How many rows the scan takes at most; None: all.
        """

    @property
    def is_remote(self) -> bool:
        """Report that blocks come whole, over a network, however little of them is needed."""

    @property
    def times(self) -> tuple[Any, ...] | None:
        """Report what times rows must have, in the form of `_core.LaneScan`; ``None``: any."""

    def types(self, path: ValuePath) -> int | None:
        """Mask of the types that occur under a path (with MISSING), ``None`` when not known."""

    def integers(self, path: ValuePath) -> tuple[int, int] | None:
        """Bounds of the values at a path if all are integers, ``None`` when that is not known."""

    def row_count(self) -> int | None:
        """Rows in all the blocks, from metadata; ``None`` when not known."""

    def origins(self) -> list[tuple[str, list[int]]]:
        """For each source the name of its file, and the numbers of the first rows of its blocks."""

    def bounds(self, path: ValuePath, *, latest: bool, beside: int) -> list[list[Front]]:
        """For each source and each of its blocks a value that no other is in front of at a path.

        `latest` asks for one that none is greater than, and not less. ``None`` stands for blocks of
        which this is not known. Of the mask `beside` are the types that are behind times in that
        order; all types, if only rows with a time count.
        """

    def visited(self, blocks: Sequence[tuple[int, int]]) -> None:
        """Record the blocks that were read after all: numbers of sources, and in them."""


OpenDataset: TypeAlias = "Callable[[tuple[TableName, ...], ast.Expr | None], Dataset]"
"""Finds the rows of tables; the condition, whose paths (Name, Dot, Index) start at the row, may
serve to leave out blocks where it is never TRUE."""

SchemaOf: TypeAlias = "Callable[[tuple[TableName, ...]], TableSchema | None]"
"""Returns the schema of tables, whose rows follow each other; ``None``: they have none."""


# Tables of FROM: how a query names them.


def table_name(table: ast.Table) -> TableName | None:  # noqa: PLR0911 - a case each
    """Return the name of a table that is read as it is; ``None`` for other sources.

    Raises `QueryError` if it is no path, or more than one file.
    """
    if isinstance(table, ast.PathTable):
        return TableName("path", _parts(table.expr), table.span)
    if not isinstance(table, ast.CallTable):
        return None
    if table.name == "READ_FILE":
        if len(table.args) != 1:
            raise rejected("read_file() should have 1 argument", table)
        return _file(table.args[0], table)
    if table.name == "READ_FILE_WITH":
        texts = [str(getattr(arg, "value", "")) for arg in table.args[1:]]
        reading = of_options(zip(texts[::2], texts[1::2], strict=True))
        return replace(_file(table.args[0], table), reading=reading)
    if table.name == versions.AT:
        path, word, value = table.args
        is_file = isinstance(path, ast.Literal)
        name = _file(path, table) if is_file else TableName("path", _parts(path), table.span)
        return replace(name, at=_version(word, value))
    if table.name == versions.THROUGH:
        return _read_through(table)
    if table.name == versions.OF:
        words = tuple([str(arg.value) for arg in table.args if isinstance(arg, ast.Literal)])
        return TableName("system", words, table.span)
    kind = {"TABLE_GLOB": "glob", "TABLE_PATTERN": "pattern"}[table.name]
    return TableName(kind, _parts(table.args[0]), table.span)


def _read_through(table: ast.CallTable) -> TableName:
    path, view, *at = table.args
    name = TableName("path", _parts(path), table.span, through=str(view.value))  # type: ignore[union-attr]
    return replace(name, at=_version(*at)) if at else name


def _file(arg: ast.Expr, table: ast.Table) -> TableName:
    if not isinstance(arg, ast.Literal):
        raise rejected("read_file() takes a path in quotes", arg)
    return TableName("file", (str(arg.value),), table.span)


def _version(word: ast.Expr, value: ast.Expr) -> tuple[str, str | int]:
    """Return the kind of a reference, and a time in microseconds since 1970, or its text."""
    kind = str(word.value)  # type: ignore[union-attr]
    version = value.value if isinstance(value, ast.Literal) else None
    if isinstance(value, ast.Unary) and value.op == "-" and isinstance(value.operand, ast.Literal):
        version = -value.operand.value  # type: ignore[operator]
    if kind == "TIMESTAMP" and isinstance(version, ast.Instant):
        return kind, version.us
    is_number = type(version) is int and kind == "VERSION"
    if isinstance(version, str) or is_number:
        return kind, version  # type: ignore[return-value]
    wanted = {"VERSION": "a number", "TIMESTAMP": "a time"}.get(kind, "a name")
    raise rejected(f"{kind} of a table takes {wanted}", value)


def _parts(node: ast.Expr) -> tuple[str, ...]:
    if isinstance(node, ast.Dot):
        return (*_parts(node.base), node.name)
    if isinstance(node, ast.Name):
        return (node.name,)
    raise rejected("a table is named by a path", node)


def last_name(node: ast.Expr) -> str:
    """Return the name that a path ends with; empty for an element of a list."""
    return node.name if isinstance(node, (ast.Name, ast.Dot)) else ""


# A query, and all that its answer and its cost depend on.

_NOTHING = ast.Statement(ast.Select((), star=True))


def now() -> int:
    """Return the present, in microseconds since 1970."""
    return time.time_ns() // 1000


@record
class QueryRequest:
    """A query that was parsed, with its parameters, and where and how it is to be answered.

    What is not said here has the meaning that :func:`sdb.query.run.api.sql` gives it.
    """

    statement: ast.Statement = field(default=_NOTHING, repr=False)
    root: str = ""  # folder or URL where relative paths start; the current folder when empty
    dialect: str | None = None
    reading: RawReading = USUAL  # how files are read that are no packfiles
    period: Period | None = None  # times that the rows of all tables must have
    at: str = ""  # the version of tables of which the query names none; the newest when empty
    # Tables as they were read, by names with that of the database
    tables: Mapping[str, TableHandle] = field(default_factory=dict)
    # Tables that have their own meaning here, by the parts of their names, and ``@`` with the
    # name of a branch behind them
    known: Mapping[tuple[str, ...], TableSource] = field(default_factory=dict)
    visible: Visible | None = None  # the tables that it may name; it may name no file then
    now_us: int = field(default_factory=now)  # the instant of UTCNOW()
    prune: bool = True  # whether blocks are left out where the condition cannot be TRUE
    typed: bool = True  # whether values of unknown type are wanted with their types
    strict: bool = False  # whether a field that no row has is an error
    threads: int | None = None
    memory_bytes: int | None = None
    cancellation: Cancellation | None = None  # stops it, also before there are rows
    progress: Progress = silent
