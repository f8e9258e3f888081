"""Rows that a query leaves out because a key is MISSING there, as trailers or scans count them."""

from __future__ import annotations

from sdb.errors import CorruptError
from sdb.query.analyze.namescope import scope_of
from sdb.query.catalog.tables import table_name
from sdb.query.syntax import ast, printer, visitor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from sdb.packfile.read.reader import Packfile
    from sdb.query.catalog.dataset import TableName

    Packs = Callable[[TableName], Sequence[Packfile]]
    Fields = tuple[str, ...]
    Seen = Callable[[Fields], tuple[int, int] | None]

_TIMES = 1 << 6
"""The Ion type of timestamps, as a mask."""
_MOST_PACKFILES = 64
"""Of more than these, counts are not looked up."""


def left_out(
    statement: ast.Statement, packs: Packs, seen: Seen = lambda _: None, *, is_cut: bool = False
) -> list[str]:
    """Warn about rows without a key of GROUP BY, ORDER BY or DISTINCT.

    * ``packs``: Gives the packfiles of a table, which are open.
    * ``seen``: Tells how many rows without a path the query has left out, and of how many; None as
      long as it has not read all that it has to.
    * ``is_cut``: Whether something else than the condition leaves out rows of the table.

    Returns: A line for each path that is a key and not in all rows of the only table; with their
    number, where it is known.
    """
    select = statement.select
    opened = [] if statement.dialect != "sneller" else only_table(statement, packs)
    is_cut = is_cut or select.where is not None
    lines = []
    for expr, keeps in _keys(select) if opened else ():
        path = _watched_path(expr, select)
        if path is None:
            continue
        text = printer.text(expr)
        stored = stored_path(opened, path)
        if path_of(expr, select) is None and (stored is None or _has_others(opened, stored)):
            # Those that have something else than a time are not counted.
            if not _is_named(select.where, _operand(expr)):
                lines.append(_without(text, keeps))
            continue
        dropped = seen(path)
        if dropped is None and not is_cut and stored is not None:
            dropped = counted(opened, stored)
        if dropped is not None:
            verb = "has" if dropped[0] == 1 else "have"
            who = f"{dropped[0]:,} of {dropped[1]:,} rows {verb}"
            is_told = 0 < dropped[0] < dropped[1] + is_cut
        else:
            # Of a condition that names the path nobody knows whether such rows satisfy it.
            is_unknown = stored is None or _is_named(select.where, expr)
            counts = None if is_unknown or stored is None else counted(opened, stored)
            who = "rows that have"
            is_told = counts is not None and 0 < counts[0] < counts[1]
        if is_told:
            lines.append(_left_out(who, text, keeps, 0 if dropped is None else dropped[0]))
    return lines


def _left_out(who: str, text: str, keeps: str, count: int) -> str:
    """Return the note about rows that are left out; a count of 0: it is not known."""
    verb = "and is" if count == 1 else "and are" if count else "are"
    them = "it" if count == 1 else "them"
    return f"note: {who} no {text} {verb} left out ({keeps.format(text)} keeps {them})"


def only_table(statement: ast.Statement, packs: Packs) -> list[Packfile]:
    """Return the packfiles of the only table of a statement.

    * ``packs``: Gives the packfiles of a table, which are open.

    Returns: None where there are other sources, or too many packfiles to look into.
    """
    source = _only_source(statement)
    return [] if source is None else _packs_of(source, packs)


def table_packs(select: ast.Select, packs: Packs, withs: AbstractSet[str]) -> list[Packfile]:
    """Return the packfiles of the only table of a select, unless WITH defines it; or nothing."""
    if len(select.sources) != 1:
        return []
    table = select.sources[0].table
    name = table.expr if isinstance(table, ast.PathTable) else None
    if isinstance(name, ast.Name) and name.name in withs:
        return []
    return _packs_of(select.sources[0], packs)


def _packs_of(source: ast.Source, packs: Packs) -> list[Packfile]:
    parts = source.table.tables if isinstance(source.table, ast.ConcatTable) else (source.table,)
    names = [None if isinstance(p, ast.UnpivotTable) else table_name(p) for p in parts]
    opened: list[Packfile] = []
    for name in names:
        more = packs(name) if name is not None else []
        if hasattr(more, "rows"):  # packfiles of columns with other names
            return list(more[:0]) if len(names) > 1 or len(more) > _MOST_PACKFILES else more  # type: ignore[return-value]
        opened += more
    return [] if None in names or len(opened) > _MOST_PACKFILES else opened


def _only_source(statement: ast.Statement) -> ast.Source | None:
    sources = statement.select.sources
    return sources[0] if len(sources) == 1 and not (statement.unions or statement.with_) else None


def watched(statement: ast.Statement) -> list[Fields]:
    """Return paths of which rows without them are left out, to be counted while rows are read."""
    if _only_source(statement) is None or statement.dialect != "sneller":
        return []
    select = statement.select
    paths = [_watched_path(expr, select) for expr, _ in _keys(select)]
    return list(dict.fromkeys(path for path in paths if path is not None))


def remarks(statement: ast.Statement) -> list[str]:
    """Report what a plan should say of COUNT, which counts NULL too."""
    lines = []
    for node in visitor.nodes(statement) if statement.dialect == "sneller" else ():
        if isinstance(node, ast.Aggregate) and node.name == "COUNT" and node.args:
            text = printer.text(node.args[0])
            lines.append(
                f"note: COUNT({text}) counts NULL, as all that is there;"
                f" COUNT(*) FILTER (WHERE {text} IS NOT NULL) does not"
            )
    return list(dict.fromkeys(lines))


_GIVEN = "the key COALESCE({}, '-')"


def key(expr: ast.Expr) -> str:
    """Say that rows without a key of GROUP BY or DISTINCT are left out."""
    return _without(printer.text(expr), _GIVEN)


def partition_key(expr: ast.Expr) -> str:
    """Say that windows leave out rows without a key of PARTITION BY."""
    text = printer.text(expr)
    return (
        f"note: rows that have no {text} are in no partition: aggregates of windows are NULL or 0"
        f" there ({_GIVEN.format(text)} makes it one)"
    )


def unjoined(text: str, keeper: str) -> str:
    """Say that rows without a key of a join are left out.

    * ``keeper``: The join that keeps them.
    """
    return f"note: rows that have no {text} join nothing and are left out ({keeper} keeps them)"


def key_of_set(expr: ast.Expr) -> str:
    """Say that rows without a key are left out of the sets of keys that have it."""
    text = printer.text(expr)
    return _without(text, _GIVEN).replace("are left out", f"are in no set with {text}, left out")


def sort_key(sort: ast.Sort) -> str:
    """Say that rows without a key of ORDER BY are left out."""
    return _without(printer.text(sort.expr), _order(sort))


def _without(text: str, keeps: str) -> str:
    return f"note: rows that have no {text} are left out ({keeps.format(text)} keeps them)"


def added(lines: Sequence[str], others: Sequence[str]) -> list[str]:
    """Add lines about rows that are left out to those that know their number.

    * ``lines``: Those of :func:`left_out`.
    * ``others``: Those of :func:`key` and :func:`sort_key`.
    """
    ends = {line.partition("left out (")[2] for line in lines}
    return [
        *lines,
        *(line for line in others if line.partition("left out (")[2] not in ends - {""}),
    ]


def _order(sort: ast.Sort) -> str:
    return (
        f"ORDER BY COALESCE({{}}, NULL){' DESC' * sort.descending}{' NULLS LAST' * sort.nulls_last}"
    )


def _keys(select: ast.Select) -> Iterator[tuple[ast.Expr, str]]:
    """Yield the keys that rows must have, and what would keep the others."""
    # A row without a key is in the sets that do not have it.
    for item in () if select.grouping_sets else select.group_by or ():
        yield item.expr, _GIVEN
    if select.qualify is not None:  # some of the rows are gone: the engine tells of the others
        return
    if select.distinct:
        for expr in select.distinct_on or [item.expr for item in select.items]:
            yield expr, _GIVEN
    if select.group_by is None:
        for sort in select.order_by:
            yield sort.expr, _order(sort)


def path_of(expr: ast.Expr, select: ast.Select) -> Fields | None:
    """Return the names of a path from the row on; None for what is no such path.

    * ``select``: The select that it stands in, which has one source.
    """
    path = scope_of(select, None, frozenset()).place(expr)
    steps = () if path is None else path.steps
    names = tuple([step for step in steps if isinstance(step, str)])
    return names if names and names == steps else None


def _operand(expr: ast.Expr) -> ast.Expr:
    """Return what has to be there for an expression to be."""
    is_time = isinstance(expr, ast.Call) and expr.name in {"DATE_TRUNC", "DATE_BIN"}
    return expr.args[0] if isinstance(expr, ast.Call) and is_time else expr


def _watched_path(expr: ast.Expr, select: ast.Select) -> Fields | None:
    """Return the path that a key is, or that a key of times is made of by a scan."""
    return path_of(_operand(expr), select)


def stored_path(opened: Sequence[Packfile], path: Fields) -> Fields | None:
    """Return the path of a column in the rows of packfiles; None: it is no stored field alone.

    * ``opened``: What :func:`only_table` or :func:`table_packs` returned.
    """
    rows = getattr(opened, "rows", None)
    if rows is None:
        return path
    stored: Fields | None = rows.stored(path)
    return stored


def _has_others(opened: Sequence[Packfile], path: Fields) -> bool:
    """Check whether it is known that some rows have something else than a time at a path."""
    summaries = [pack.trailer.sparse.summary for pack in opened]
    return any(
        summary is not None and summary.types.get(path, 0) & ~_TIMES for summary in summaries
    )


def _is_named(where: ast.Expr | None, expr: ast.Expr) -> bool:
    """Return whether a condition is about a path, which rows without it may not satisfy."""
    return where is not None and any(node == expr for node in visitor.nodes(where))


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
