"""Rows that a query leaves out because a key is MISSING there, as trailers or scans count them."""

from __future__ import annotations

from sdb.errors import CorruptError
from sdb.query.analyze.namescope import scope_of
from sdb.query.plan.tables import table_name
from sdb.query.syntax import ast, printer, visitor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from sdb.packfile.read.reader import Packfile
    from sdb.query.plan.dataset import TableName

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
    """Tell of rows without a key of GROUP BY, ORDER BY or DISTINCT.

    Parameters
    ----------
    statement : Statement
        The query, with its names bound.
    packs : callable
        Gives the packfiles of a table, which are open.
    seen : callable
        Tells how many rows without a path the query has left out, and of how many; None as long as
        it has not read all that it has to.
    is_cut : bool
        Whether something else than the condition leaves out rows of the table.

    Returns
    -------
    list of str
        A line for each path that is a key and not in all rows of the only table; with their number,
        where it is known.
    """
    select = statement.select
    opened = only_table(statement, packs)
    is_cut = is_cut or select.where is not None
    lines = []
    for expr, keeps in _keys(select) if opened else ():
        path = _watched_path(expr, select)
        if path is None:
            continue
        text = printer.text(expr)
        if path_of(expr, select) is None and _has_others(opened, path):
            # Those that have something else than a time are not counted.
            if not _is_named(select.where, _operand(expr)):
                lines.append(_without(text, keeps))
            continue
        found = seen(path)
        if found is None and not is_cut:
            found = counted(opened, path)
        if found is not None:
            who = f"{found[0]:,} of {found[1]:,} rows have"
            is_told = 0 < found[0] < found[1] + is_cut
        else:
            # Of a condition that names the path nobody knows whether such rows satisfy it.
            counts = None if _is_named(select.where, expr) else counted(opened, path)
            who = "rows that have"
            is_told = counts is not None and 0 < counts[0] < counts[1]
        if is_told:
            verb = "are" if found is None else "and are"
            lines.append(f"note: {who} no {text} {verb} left out ({keeps.format(text)} keeps them)")
    return lines


def only_table(statement: ast.Statement, packs: Packs) -> list[Packfile]:
    """Give the packfiles of the only table of a statement.

    Parameters
    ----------
    statement : Statement
        The query, with its names bound.
    packs : callable
        Gives the packfiles of a table, which are open.

    Returns
    -------
    list of Packfile
        None where there are other sources, or too many packfiles to look into.
    """
    source = _only_source(statement)
    return [] if source is None else _packs_of(source, packs)


def table_packs(select: ast.Select, packs: Packs, withs: AbstractSet[str]) -> list[Packfile]:
    """Give the packfiles of the only table of a select, which is none of WITH; or nothing."""
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
    opened = [pack for name in names if name is not None for pack in packs(name)]
    return [] if None in names or len(opened) > _MOST_PACKFILES else opened


def _only_source(statement: ast.Statement) -> ast.Source | None:
    sources = statement.select.sources
    return sources[0] if len(sources) == 1 and not (statement.unions or statement.with_) else None


def watched(statement: ast.Statement) -> list[Fields]:
    """Give the paths of which rows without them are left out, to be counted while rows are read.

    Parameters
    ----------
    statement : Statement
        The query, with its names bound.

    Returns
    -------
    list of tuple of str
        The names of each, from the row on.
    """
    if _only_source(statement) is None:
        return []
    select = statement.select
    paths = [_watched_path(expr, select) for expr, _ in _keys(select)]
    return list(dict.fromkeys(path for path in paths if path is not None))


def remarks(statement: ast.Statement) -> list[str]:
    """Tell what a plan should say of COUNT, which counts NULL too.

    Parameters
    ----------
    statement : Statement
        The query.

    Returns
    -------
    list of str
        A line for each such count.
    """
    lines = []
    for node in visitor.nodes(statement):
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


def sort_key(sort: ast.Sort) -> str:
    """Say that rows without a key of ORDER BY are left out."""
    return _without(printer.text(sort.expr), _order(sort))


def _without(text: str, keeps: str) -> str:
    return f"note: rows that have no {text} are left out ({keeps.format(text)} keeps them)"


def added(told: Sequence[str], others: Sequence[str]) -> list[str]:
    """Add lines about rows that are left out to those that know their number.

    Parameters
    ----------
    told : sequence of str
        The lines of :func:`left_out`.
    others : sequence of str
        Those of :func:`key` and :func:`sort_key`.

    Returns
    -------
    list of str
        All of these, each key once.
    """
    ends = {line[line.index("left out (") :] for line in told}
    return [*told, *(line for line in others if line[line.index("left out (") :] not in ends)]


def _order(sort: ast.Sort) -> str:
    return (
        f"ORDER BY COALESCE({{}}, NULL){' DESC' * sort.descending}{' NULLS LAST' * sort.nulls_last}"
    )


def _keys(select: ast.Select) -> Iterator[tuple[ast.Expr, str]]:
    """Give the keys that rows must have, and what would keep the others."""
    for item in select.group_by or ():
        yield item.expr, _GIVEN
    if select.distinct:
        for expr in select.distinct_on or [item.expr for item in select.items]:
            yield expr, _GIVEN
    if select.group_by is None:
        for sort in select.order_by:
            yield sort.expr, _order(sort)


def path_of(expr: ast.Expr, select: ast.Select) -> Fields | None:
    """Give the names of a path from the row on; None for what is no such path.

    Parameters
    ----------
    expr : Expr
        The expression.
    select : Select
        The select that it stands in, which has one source.

    Returns
    -------
    tuple of str or None
        The names.
    """
    place = scope_of(select, None, frozenset()).place(expr)
    steps = () if place is None else place.steps
    names = tuple([step for step in steps if isinstance(step, str)])
    return names if names and names == steps else None


def _operand(expr: ast.Expr) -> ast.Expr:
    """Give what has to be there for an expression to be."""
    is_time = isinstance(expr, ast.Call) and expr.name in {"DATE_TRUNC", "DATE_BIN"}
    return expr.args[0] if isinstance(expr, ast.Call) and is_time else expr


def _watched_path(expr: ast.Expr, select: ast.Select) -> Fields | None:
    """Give the path that a key is, or that a key of times is made of by a scan."""
    return path_of(_operand(expr), select)


def _has_others(opened: Sequence[Packfile], path: Fields) -> bool:
    """Check whether it is known that some rows have something else than a time at a path."""
    found = [pack.trailer.sparse.summary for pack in opened]
    return any(one is not None and one.types.get(path, 0) & ~_TIMES for one in found)


def _is_named(where: ast.Expr | None, expr: ast.Expr) -> bool:
    """Tell whether a condition is about a path, which rows without it may not satisfy."""
    return where is not None and any(node == expr for node in visitor.nodes(where))


def counted(packs: Sequence[Packfile], path: Fields) -> tuple[int, int] | None:
    """Count the rows that lack a path.

    Parameters
    ----------
    packs : sequence of Packfile
        The packfiles.
    path : tuple of str
        The names from the row on.

    Returns
    -------
    (int, int) or None
        The number of these rows, and of all; None where a packfile does not tell.
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
        found = presence.fields.get(path)
        having += 0 if found is None else found.rows
        rows += sum(sparse.summary.rows)
    return rows - having, rows
