"""Tables of a query as the logical plan sees them: names, and rows to read."""

from __future__ import annotations

from sdb.errors import UnsupportedError
from sdb.records import record
from sdb.typed import Protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, TypeAlias

    from sdb.packfile.inputs.rawreading import RawReading
    from sdb.query.catalog.blockfronts import Front
    from sdb.query.syntax import ast
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

    def streamed(self, limit: int | None) -> Sequence[Any]:
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
