"""That the dialect `sneller` leaves out rows without a key, in one line for a query."""

from __future__ import annotations

from sdb.query.plan.hints.storedpaths import counted, path_of, stored_path, table_packs
from sdb.query.plan.rewrite import conjuncts, own
from sdb.query.syntax import ast, visitor
from sdb.query.syntax.operators import MIRRORED
from sdb.query.syntax.outputnames import output_names
from sdb.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sdb.packfile.read.reader import Packfile
    from sdb.query.plan.hints.storedpaths import Packs

_OPTIONAL = frozenset({"LEFT", "ASOF LEFT", "RIGHT", "FULL"})


def left_out(statement: ast.Statement, packs: Packs, *, is_cut: bool) -> list[str]:
    """Say that rows without a key of GROUP BY, ORDER BY or DISTINCT are left out.

    * ``packs``: Gives the packfiles of a table, which are open.
    * ``is_cut``: Whether something else than the condition leaves out rows of a table.

    Returns: One line if rows may lack a key, as far as metadata tells; with their number, where it
    is known.
    """
    withs = {name for name, _ in statement.with_}
    nodes = visitor.nodes(_sorted(statement))
    selects = [node for node in nodes if isinstance(node, ast.Select)]
    lacking = [
        pair for select in selects if select.original for pair in _lacking(select, packs, withs)
    ]
    if not lacking:
        return []
    is_alone = len(selects) == len(lacking) == len(selects[0].sources) == 1
    is_whole = is_alone and not (selects[0].where or selects[0].qualify or is_cut)
    count = lacking[0][1] if is_whole else None
    who = "rows without a key are"
    if count is not None:
        who = f"{count:,} {who}" if count > 1 else "1 row without a key is"
    return [f"note: {who} left out: the dialect is sneller"]


def _sorted(statement: ast.Statement) -> ast.Statement:
    """Return a statement each of whose selects of a UNION has the order of all their rows."""
    if not statement.unions:
        return statement
    order = statement.unions[-1][1].order_by

    def ordered(select: ast.Select) -> ast.Select:
        named: dict[ast.Expr, ast.Expr] = {
            ast.Name(name): item.expr
            for name, item in zip(output_names(select), select.items, strict=False)
        }
        keys = [replace(sort, expr=named.get(sort.expr, sort.expr)) for sort in order]
        return replace(select, order_by=tuple(keys))

    unions = tuple([(every, ordered(select)) for every, select in statement.unions])
    return replace(statement, select=ordered(statement.select), unions=unions)


def _lacking(
    select: ast.Select, packs: Packs, withs: set[str]
) -> Iterator[tuple[ast.Expr, int | None]]:
    """Yield paths of keys that some rows lack, and how many do; None: that is not known."""
    paths = {path for key in _keys(select) for path in _paths(key)}
    paths -= {operand for part in conjuncts(select.where) for operand in _required(part)}
    for path in paths:
        opened, names = _place(path, select, packs, withs)
        stored = None if names is None else stored_path(opened, names)
        counts = None if stored is None else counted(opened, stored)
        if counts is None:
            yield path, None
        elif 0 < counts[0] < counts[1]:  # of a field that no row has another note tells
            yield path, counts[0]


def _place(
    path: ast.Expr, select: ast.Select, packs: Packs, withs: set[str]
) -> tuple[Sequence[Packfile], tuple[str, ...] | None]:
    """Return the packfiles that a path is about, and the path in their rows; none: not known."""
    joins = {source.join for source in select.sources}
    alone = len(select.sources) == 1
    for source in select.sources:
        stripped = own(path, source.alias, alone=alone) or (path if alone else None)
        if stripped is None or source.join in _OPTIONAL or joins & {"RIGHT", "FULL"}:
            continue
        bare = replace(select, sources=(replace(source, alias=None, join="FIRST", on=None),))
        if opened := table_packs(bare, packs, withs):
            return opened, path_of(stripped, bare)
    return [], None


def _keys(select: ast.Select) -> list[ast.Expr]:
    """Return the keys that rows must have."""
    keys = [item.expr for item in select.group_by or ()]
    if select.distinct:
        keys += select.distinct_on or [item.expr for item in select.items]
    return keys if select.group_by is not None else keys + [sort.expr for sort in select.order_by]


def _required(condition: ast.Expr) -> tuple[ast.Node, ...]:
    """Return what has to be there for a condition to be TRUE."""
    if isinstance(condition, ast.Binary) and condition.op in MIRRORED:
        return condition.left, condition.right
    if isinstance(condition, ast.Is):
        return (condition.operand,) if condition.negated else ()
    return (condition.operand,) if isinstance(condition, ast.In | ast.Match | ast.Between) else ()


def _paths(key: ast.Expr) -> Iterator[ast.Expr]:
    """Yield the paths without which a key has no value."""
    match key:
        case ast.Name() | ast.Dot() | ast.Index():
            yield key
        case ast.Is() | ast.Exists() | ast.Aggregate():  # never MISSING
            return
        case ast.Call(name="COALESCE", args=(*_, ast.Literal())):
            return
        case _:
            for part in visitor.children(key):
                if isinstance(part, ast.Expr):
                    yield from _paths(part)
