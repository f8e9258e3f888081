"""Joins whose keys on one side can leave out blocks on the other.

Where ``a.x = b.y`` has to be TRUE for rows to come out, a row of `a` matters only if its `x` is one
of the values of `y` in the rows of `b` that matter. So it is where it is part of the condition of
an inner join, or of WHERE, and for the source behind LEFT JOIN (or in front of RIGHT JOIN): rows of
it without a partner never come out. Of the other side of an outer join all rows do, so that its
blocks stay. ``a.x IN (SELECT y FROM b)`` is such a join, too.

This finds them in the tree of a statement, as far as it is certain what names mean: in queries of
FROM, WITH and UNION, for paths on both sides, and tables that are read as they are.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import chain

from sdb.errors import QueryError
from sdb.query.analyze.binder import columns
from sdb.query.catalog.dataset import last_name, table_name
from sdb.query.catalog.reduction import field_path
from sdb.query.plan.rewrite import about, conjunction, conjuncts, own
from sdb.query.syntax import ast
from sdb.query.syntax.visitor import nodes, rewrite, root_name
from sdb.records import record, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_OUTER = {"LEFT", "RIGHT", "ANTI"}
_OTHERS = {"FULL", "SEMI", "ASOF", "ASOF LEFT"}


@record
class KeyTable:
    """A table, and what a query asks of its rows alone; paths start at the row."""

    table: ast.Table  # the table, as FROM has it
    where: ast.Expr | None  # the condition that its rows have to satisfy
    path: ast.Expr  # where the keys are
    # Names that mean its fields only if it has them; else they are those of a query around
    lent: tuple[str, ...] = ()
    dialect: str = ""  # that of the condition; empty: that of the statement


@record
class KeyFilter:
    """Keys of one table that leave out blocks of another one."""

    source: ast.Source  # the table whose blocks are left out, in FROM
    # That table, and the one that has the keys
    target: KeyTable
    keys: KeyTable


def key_filters(statement: ast.Statement) -> list[KeyFilter]:
    """Find joins in a statement that can leave out blocks by keys."""
    withs = frozenset(name for name, _ in statement.with_)
    tops = [statement.select, *(query for _, query in (*statement.unions, *statement.with_))]
    return [
        key_filter
        for top in tops
        for select in _selects(top)
        for key_filter in _Joins(select, withs).filters()
    ]


def with_keys(statement: ast.Statement, keys: Mapping[int, Sequence[ast.Among]]) -> ast.Statement:
    """Send sources of a statement the keys that matter."""

    def change(node: ast.Node) -> ast.Node:
        filters = keys.get(id(node)) if isinstance(node, ast.Source) else None
        return replace(node, keys=tuple(filters)) if filters else node

    return rewrite(statement, change)


def _selects(select: ast.Select) -> Iterator[ast.Select]:
    """Yield a query and those in its FROM, which no query is around that lends names."""
    yield select
    for source in select.sources:
        if isinstance(source.table, ast.QueryTable):
            yield from _selects(source.table.select)
        elif isinstance(source.table, ast.SetTable):
            yield from _selects(source.table.left)
            yield from _selects(source.table.right)


class _Joins:
    """The joins of one SELECT."""

    def __init__(self, select: ast.Select, withs: frozenset[str]) -> None:
        self._select = select
        self._withs = withs
        sources = list(select.sources)
        self._is_alone = len(sources) == 1
        self._aliases = {_alias(source) for source in sources if source.alias or not self._is_alone}
        if len(sources) > 1 and sources[-1].join == "RIGHT":
            left, right = sources[0], sources[-1]
            self._optional = {id(left): right.on}
            self._inner = [right]
        else:
            # Of an anti join, too, rows on the right matter only as partners of those on the left.
            without = {"LEFT", "ANTI"}
            self._optional = {id(source): source.on for source in sources if source.join in without}
            self._inner = [source for source in sources if id(source) not in self._optional]
        parts = [select.where]
        parts += [source.on for source in self._inner if source.join not in _OUTER]
        # What is TRUE of all rows that come out.
        self._certain = list(chain.from_iterable(map(conjuncts, parts)))

    def filters(self) -> Iterator[KeyFilter]:
        """Yield what is found."""
        sources = self._select.sources
        # Where two sources have one name, a path may lead to either.
        if len({source.alias for source in sources}) < len(sources) or self._is_other():
            return
        for part in self._certain:
            for target in self._inner:
                yield from self._by_condition(part, target)
        for target in sources:
            for part in conjuncts(self._optional.get(id(target))):
                yield from self._by_condition(part, target)

    def _is_other(self) -> bool:
        """Return whether rows matter by more than the keys of their partners."""
        sources = self._select.sources
        joins = {source.join for source in sources}
        is_lateral = any(
            isinstance(source.table, ast.QueryTable) and source.table.lateral for source in sources
        )
        is_long = "RIGHT" in joins and len(sources) > 2  # noqa: PLR2004
        return is_lateral or is_long or bool(joins & _OTHERS)

    def _by_condition(self, part: ast.Expr, target: ast.Source) -> Iterator[KeyFilter]:
        """Yield the filters of a source that a condition is good for."""
        if isinstance(part, ast.In) and isinstance(part.items, ast.Subquery):
            keys = self._of_query(part.items.select, is_inside=True)
            yield from self._made(target, part.operand, keys)
        elif isinstance(part, ast.Binary) and part.op == "=":
            for mine, other in ((part.left, part.right), (part.right, part.left)):
                for source in self._inner:
                    if source is not target:
                        yield from self._made(target, mine, self._keys(source, other))

    def _made(
        self, source: ast.Source, path: ast.Expr, keys: KeyTable | None
    ) -> Iterator[KeyFilter]:
        key_path = self._path(source, path)
        if keys is not None and key_path is not None and self._is_read(source.table, source.alias):
            # WHERE is about rows that come out, and these may come out without a partner.
            where = None if id(source) in self._optional else self._conditions(source)
            yield KeyFilter(source, KeyTable(source.table, where, key_path), keys)

    def _keys(self, source: ast.Source, path: ast.Expr) -> KeyTable | None:
        """Return the keys that a source has at a path."""
        key_path = self._path(source, path)
        if key_path is None:
            return None
        if not isinstance(source.table, ast.QueryTable):
            if not self._is_read(source.table, source.alias):
                return None
            where, dialect = self._conditions(source), self._select.dialect
            return KeyTable(source.table, where, key_path, dialect=dialect)
        inner = source.table.select
        if not isinstance(key_path, ast.Name) or inner.star:
            return None
        outputs = columns(inner)
        if key_path.name not in outputs or len(outputs) < len(inner.items):
            return None
        item = ast.Item(outputs[key_path.name])
        return self._of_query(replace(inner, items=(item,)), is_inside=False)

    def _of_query(self, inner: ast.Select, *, is_inside: bool) -> KeyTable | None:
        """Return the keys that a query of one path of a table has, if that is all it does.

        One that is cut may give other rows each time, and is left alone.
        """
        has_more = inner.star or inner.distinct_on or inner.group_by is not None or inner.having
        has_more = has_more or inner.qualify
        is_cut = inner.limit is not None or inner.offset or inner.sample is not None
        if has_more or is_cut or len(inner.items) != 1 or len(inner.sources) != 1:
            return None
        ((source,), (item,)) = inner.sources, inner.items
        path = own(item.expr, source.alias, alone=True)
        is_read = self._is_read(source.table, source.alias)
        if path is None or field_path(path) is None or not is_read:
            return None
        if is_inside and source.alias in self._aliases:
            return None
        where = about(_simple(conjuncts(inner.where)), source.alias, alone=True)
        lent: tuple[str, ...] = ()
        if is_inside and source.alias is None:
            parts = [path] if where is None else [path, where]
            tree_nodes = chain.from_iterable(map(nodes, parts))
            lent = tuple(
                dict.fromkeys(node.name for node in tree_nodes if isinstance(node, ast.Name))
            )
        return KeyTable(source.table, where, path, lent, inner.dialect or self._select.dialect)

    def _conditions(self, source: ast.Source) -> ast.Expr | None:
        """Return what is certain of the rows of a source alone."""
        return about(_simple(self._certain), source.alias, alone=self._is_alone)

    def _path(self, source: ast.Source, path: ast.Expr) -> ast.Expr | None:
        """Return a path relative to the rows of a source; None: it leads elsewhere."""
        own_path = own(path, source.alias, alone=self._is_alone)
        return None if own_path is None or field_path(own_path) is None else own_path

    def _is_read(self, table: ast.Table, alias: str | None) -> bool:
        """Return whether something in FROM is a table that is read as it is."""
        if isinstance(table, ast.PathTable):
            root = root_name(table.expr)
            others = self._aliases - ({alias} if root == table.expr else set())
            if root is None or root.name in self._withs or root.name in others:
                return False
        with suppress(QueryError):  # told when it is planned
            return table_name(table) is not None
        return False


def _alias(source: ast.Source) -> str | None:
    """Return the name that a path in FROM may start with for what a source has."""
    is_path = source.alias is None and isinstance(source.table, ast.PathTable)
    return last_name(source.table.expr) if is_path else source.alias  # type: ignore[union-attr]


def _simple(parts: Sequence[ast.Expr]) -> ast.Expr | None:
    """Join those of some conditions that have no query in them."""
    inner = (ast.Select, ast.Aggregate)
    return conjunction(
        [part for part in parts if not any(isinstance(node, inner) for node in nodes(part))]
    )
