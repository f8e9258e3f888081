"""Times that the rows of views must have: in their own columns, and not in what they leave out.

Who may read a view would find out by halving periods what is in a column that it does not show.
"""

from __future__ import annotations

from sdb.errors import UsageError
from sdb.query.catalog.reduction import field_path
from sdb.query.syntax import ast
from sdb.query.syntax.clauses.stars import any_in
from sdb.query.syntax.outputnames import output_names
from sdb.table.catalog.handle import obvious

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sdb.query.catalog.period import Period

    Path = tuple[str, ...]

_MOST_NAMED = 20


class ViewPeriod:
    """Chooses rows of views by time.

    * ``times_below``: Returns where a table below a view has times.
    """

    def __init__(self, period: Period, times_below: Callable[[ast.Table], set[Path]]) -> None:
        self._period, self._times_below = period, times_below

    def chosen(self, select: ast.Select, view: str) -> ast.Select:
        """Return the rows of a view that are of the period.

        * ``select``: What the view stands for, written out.

        Raises `UsageError` if the view has no such column, or none is obvious.
        """
        path = self._path(select, view)
        time: ast.Expr = ast.Name(path[0])
        for name in path[1:]:
            time = ast.Dot(time, name)
        sides = ((">=", self._period.start_us), ("<", self._period.stop_us))
        tests = [_compared(time, op, us) for op, us in sides if us is not None]
        where = tests[0] if len(tests) == 1 else ast.Binary("AND", *tests)
        source = ast.Source(ast.QueryTable(select), None)
        return ast.Select((), star=True, sources=(source,), where=where)

    def _path(self, select: ast.Select, view: str) -> Path:
        names, field = _columns(select), self._period.field
        if field is None:
            path = obvious(self._times(select))
            if path is None:
                hint = f"name a column of it as the time field{_listed(names)}"
                raise UsageError(f"the view {view} has no obvious time", hint=hint)
            return path
        if isinstance(field, str):
            path = (field,) if names is not None and field in names else tuple(field.split("."))
        else:
            path = tuple(field)
        if names is not None and path[0] not in names:
            hint = f"since and until take a column that the view has{_listed(names)}"
            raise UsageError(f"the view {view} has no column {'.'.join(path)[:200]}", hint=hint)
        return path

    def _times(self, select: ast.Select) -> set[Path]:
        """Return where the rows of a select have times, as far as the tables below it tell."""
        of = [(source.alias, self._times_of(source.table)) for source in select.sources]
        if any_in(select.items):
            return set()
        if select.star:
            every = set().union(*(times for _, times in of))
            return {path for path in every if path[0] not in select.excluded}
        known = {(alias, *path) for alias, times in of for path in times}
        if len(of) == 1:
            known |= of[0][1]  # no alias is needed
        named = zip(select.items, output_names(select), strict=True)
        return {(name,) for item, name in named if field_path(item.expr) in known}

    def _times_of(self, table: ast.Table) -> set[Path]:
        match table:
            case ast.QueryTable(select=inner):
                return self._times(inner)
            case ast.SetTable(left=left, right=right):
                return self._times(left) & self._times(right)
            case ast.CallTable():
                return self._times_below(table)
            case _:
                return set()


def _compared(time: ast.Expr, op: str, us: int) -> ast.Expr:
    return ast.Binary(op, time, ast.Literal(ast.Instant(us)))


def _columns(select: ast.Select) -> list[str] | None:
    """Return the names of the columns of a view; None: they are those of its tables."""
    while select.star and not select.excluded and len(select.sources) == 1:
        match select.sources[0].table:
            case ast.QueryTable(select=inner) | ast.SetTable(left=inner):
                select = inner
            case _:
                return None
    return None if select.star or any_in(select.items) else output_names(select)


def _listed(names: Sequence[str] | None) -> str:
    return "" if not names else f": it has {', '.join(names[:_MOST_NAMED])}"
