"""The packfiles that a select is about, and where the fields that it names are in them."""

from __future__ import annotations

from sdb.errors import CorruptError
from sdb.query.analyze.namescope import scope_of
from sdb.query.catalog.dataset import table_name
from sdb.query.syntax import ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from collections.abc import Set as AbstractSet

    from sdb.packfile.read.reader import Packfile
    from sdb.query.catalog.dataset import TableName

    Packs = Callable[[TableName], Sequence[Packfile]]
    Fields = tuple[str, ...]

MOST_PACKFILES = 64
"""Of more than these, counts are not looked up."""


def table_packs(select: ast.Select, packs: Packs, withs: AbstractSet[str]) -> list[Packfile]:
    """Return the packfiles of the only table of a select, unless WITH defines it; or nothing.

    * ``packs``: Gives the packfiles of a table, which are open.
    """
    if len(select.sources) != 1:
        return []
    table = select.sources[0].table
    first = table.expr if isinstance(table, ast.PathTable) else None
    if isinstance(first, ast.Name) and first.name in withs:
        return []
    parts = table.tables if isinstance(table, ast.ConcatTable) else (table,)
    names = [None if isinstance(part, ast.UnpivotTable) else table_name(part) for part in parts]
    opened: list[Packfile] = []
    for name in names:
        more = packs(name) if name is not None else []
        if hasattr(more, "rows"):  # packfiles of columns with other names
            return list(more[:0]) if len(names) > 1 or len(more) > MOST_PACKFILES else more  # type: ignore[return-value]
        opened += more
    return [] if None in names or len(opened) > MOST_PACKFILES else opened


def path_of(expr: ast.Expr, select: ast.Select) -> Fields | None:
    """Return the names of a path from the row on; None for what is no such path.

    * ``select``: The select that it stands in, which has one source.
    """
    path = scope_of(select, None, frozenset()).place(expr)
    steps = () if path is None else path.steps
    names = tuple([step for step in steps if isinstance(step, str)])
    return names if names and names == steps else None


def stored_path(opened: Sequence[Packfile], path: Fields) -> Fields | None:
    """Return the path of a column in the rows of packfiles; None: it is no stored field alone.

    * ``opened``: What :func:`table_packs` returned.
    """
    rows = getattr(opened, "rows", None)
    if rows is None:
        return path
    stored: Fields | None = rows.stored(path)
    return stored


def counted(packs: Sequence[Packfile], path: Fields) -> tuple[int, int] | None:
    """Count the rows that lack a path.

    Returns: The number of these rows, and of all; None where a packfile does not tell.
    """
    having = rows = 0
    for pack in packs:
        sparse = pack.trailer.sparse
        try:
            presence = sparse.presence()
        except CorruptError:
            return None
        if presence is None or sparse.summary is None or not presence.complete:
            return None
        field_presence = presence.fields.get(path)
        having += 0 if field_presence is None else field_presence.rows
        rows += sum(sparse.summary.rows)
    return rows - having, rows
