"""Bare names: each is put behind the source of a join that has it; of several it is ambiguous.

A name is looked for in what the sources of its query are known to have: columns of sub-queries and
schemas, and fields of packfiles by the facts of their trailers; then in the queries around it. What
has one meaning only is left as it was written, and nothing is opened for it.
"""

from __future__ import annotations

from collections import Counter

from sdb import notes
from sdb.errors import QueryError, UsageError
from sdb.query.analyze.binder import has_aggregates, has_windows
from sdb.query.analyze.dialects import SNELLER, STANDARD, is_standard
from sdb.query.analyze.refusals import refuse
from sdb.query.catalog.dataset import last_name
from sdb.query.catalog.pseudo import PSEUDO
from sdb.query.plan.sourcefields import Holder, SourceFields
from sdb.query.syntax import ast, visitor
from sdb.query.syntax.clauses.joins import HIDDEN
from sdb.query.syntax.outputnames import output_names
from sdb.records import changing_record, field, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from sdb.query.plan.sourcefields import HasField


def resolved(statement: ast.Statement, has: HasField, *, strict: bool = False) -> ast.Statement:
    """Return a statement whose names stand behind the sources that have them.

    * ``has``: Tells whether any row of tables has a field, or their schema such a column.
    * ``strict``: Whether a name that no source has is an error; else a warning.

    Raises `QueryError` if several sources have a field of a name; `UsageError` if no source has
    one, and `strict` is set.
    """
    selects = [node for node in visitor.nodes(statement) if isinstance(node, ast.Select)]
    around = statement.dialect
    if not any(_is_asked(each, is_standard=is_standard(each, around)) for each in selects):
        return statement
    resolver = _Resolver(statement, has)
    try:
        new = resolver.statement()
    except QueryError as error:
        raise error.inside(statement.text) from None
    for text in resolver.unknown:
        if strict:
            raise UsageError(text)
        notes.warn(text)
    return new


def _is_asked(select: ast.Select, *, is_standard: bool) -> bool:
    """Return whether a name in a select may have several meanings."""
    if len(select.sources) > 1 or (is_standard and any(map(_renames, select.items))):
        return True
    if is_standard and any(isinstance(sort.expr, ast.Name) for sort in select.order_by):
        return True
    labels = {source.alias for source in select.sources if source.alias}
    folded = {label.lower() for label in labels}
    return any(
        isinstance(node, ast.Subquery | ast.Exists)
        or (isinstance(node, ast.Name) and node.name not in labels and node.name.lower() in folded)
        for node in visitor.nodes(select, into_selects=False)
    )


def _renames(item: ast.Item) -> bool:
    return bool(item.alias) and item.expr != ast.Name(str(item.alias))


@changing_record
class _Names:
    """The names that expressions of a select may use."""

    outer: _Names | None  # those of the select around it
    is_alone: bool = False  # whether they are those of one source, with no select around it
    holders: list[Holder] = field(default_factory=list)  # its sources
    merged: set[str] = field(default_factory=set)  # fields of USING
    aliases: dict[str, ast.Expr] = field(default_factory=dict)  # all of the select list

    def labelled(self, name: str) -> bool:
        """Return whether a source here is called so."""
        return any(name in {holder.label, holder.lent_label} for holder in self.holders)

    def label_like(self, name: str) -> str | None:
        """Return the name of the only source that is called so in another case, if no field is."""
        labels = [holder.label for holder in self.holders if holder.label]
        alike = [label for label in labels if label.lower() == name.lower()]
        if len(alike) != 1 or self.has_word(name):
            return None
        return None if any(holder.has(name) for holder in self.holders) else alike[0]

    def has_word(self, name: str) -> bool:
        """Return whether a value here is called so."""
        return any(name in holder.words for holder in self.holders)

    def leads_to_list(self, path: ast.Expr) -> bool:
        """Return whether a table is a list in the rows of a source, here or further out."""
        root = visitor.root_name(path)
        scope: _Names | None = self
        while root is not None and scope is not None:
            if scope.has_word(root.name) or (root is not path and scope.labelled(root.name)):
                return True
            scope = scope.outer
        return False


@changing_record
class _Seen:
    """Where an expression stands."""

    names: _Names
    aliases: Mapping[str, ast.Expr] = field(default_factory=dict)  # those that it may use
    # Those that it may use where no source has the name
    late: Mapping[str, ast.Expr] = field(default_factory=dict)


class _Resolver:
    def __init__(self, statement: ast.Statement, has: HasField) -> None:
        self.whole = statement
        # Whether fields go before aliases of the select list, but in ORDER BY
        self.is_standard = statement.dialect != SNELLER
        self.fields = SourceFields(statement, has)
        self.labels: dict[int, str] = {}  # new names of sources that have none
        self._labelled: list[ast.Source] = []
        self.unknown: dict[str, None] = {}  # a line for each name that nothing has
        every = list(visitor.nodes(statement))
        self._uses = Counter(node.name for node in every if isinstance(node, ast.Name))
        self._taken = {name for name, _ in statement.with_}
        self._taken |= {
            str(node.alias) for node in every if isinstance(node, ast.Source | ast.Item)
        }

    def statement(self) -> ast.Statement:
        """Return the statement with all its names resolved."""
        whole = self.whole
        while True:
            count = len(self.labels)
            self.unknown.clear()
            with_ = tuple([(name, self._select(node, None)) for name, node in whole.with_])
            first = self._select(whole.select, None)
            # What orders the last one is about all rows of the UNION.
            others = [
                (every, replace(self._select(replace(node, order_by=()), None), order_by=order))
                for every, node in whole.unions
                for order in (node.order_by,)
            ]
            if len(self.labels) == count:  # else names before it want the new label too
                return replace(whole, with_=with_, select=first, unions=tuple(others))

    def _select(self, node: ast.Select, outer: _Names | None) -> ast.Select:
        around = self.is_standard
        self.is_standard = is_standard(node, STANDARD if around else SNELLER)
        try:
            return self._resolved(node, outer)
        finally:
            self.is_standard = around

    def _resolved(self, node: ast.Select, outer: _Names | None) -> ast.Select:
        names = _Names(outer, is_alone=len(node.sources) < 2 and outer is None)  # noqa: PLR2004 - no other
        sources = self._sources(node, names)
        keyed = {item.alias: item.expr for item in node.group_by or () if item.alias}
        every = keyed | {item.alias: item.expr for item in node.items if item.alias}
        late = _Seen(names, {}, every if self.is_standard else {})
        where = self._maybe(node.where, late)
        items: list[ast.Item] = []
        seen = dict(keyed)
        for item in node.items:
            items.append(replace(item, expr=self._expr(item.expr, _Seen(names, dict(seen)))))
            if item.alias:
                seen[item.alias] = item.expr
                names.aliases[item.alias] = item.expr
        behind = _Seen(names, every)
        keys = tuple([self._key(item, node, _Seen(names, seen)) for item in node.group_by or ()])
        new = replace(
            node,
            items=self._renamed(items),
            where=where,
            group_by=None if node.group_by is None else keys,
            having=self._maybe(node.having, behind),
            qualify=self._maybe(node.qualify, behind),
            distinct_on=tuple([self._expr(expr, behind) for expr in node.distinct_on]),
            order_by=tuple([self._sort(sort, node, behind) for sort in node.order_by]),
        )
        labelled = [
            replace(new_source, alias=self.labels[id(source)])
            if id(source) in self.labels
            else new_source
            for source, new_source in zip(node.sources, sources, strict=True)
        ]
        return replace(new, sources=tuple(labelled))

    def _renamed(self, items: list[ast.Item]) -> tuple[ast.Item, ...]:
        """Return items under different names: what an earlier one is called gets a number."""
        if not self.is_standard or all(item.alias is None for item in items):
            return tuple(items)
        listed = output_names(ast.Select(tuple(items)))
        taken: set[str] = set()
        for at, name in enumerate(listed):
            label, number = name, 0
            while label in taken or (number and label in listed):
                number += 1
                label = f"{name}_{number}"
            taken.add(label)
            if number:
                items[at] = replace(items[at], alias=label)
        return tuple(items)

    def _sources(self, node: ast.Select, names: _Names) -> list[ast.Source]:
        """Resolve FROM, from left to right: each sees those before it."""
        sources = []
        for source in node.sources:
            before = replace(names, holders=list(names.holders))

            def inner(part: ast.Node, before: _Names = before) -> ast.Node | None:
                if isinstance(part, ast.QueryTable) and part.lateral:
                    return replace(part, select=self._select(part.select, before))
                if isinstance(part, ast.Select):
                    return self._select(part, before.outer)
                return part if isinstance(part, ast.PathTable | ast.CallTable) else None

            if isinstance(source.table, ast.ListTable):
                seen = _Seen(before)
                args = tuple([self._expr(arg, seen) for arg in source.table.args])
                table: ast.Table = replace(source.table, args=args)
            else:
                table = visitor.rewrite(source.table, stop=inner)
            is_list = isinstance(source.table, ast.PathTable) and before.leads_to_list(
                source.table.expr
            )
            holder = self.fields.holder(source, is_list=is_list)
            holder.lent_label = self.labels.get(id(source))
            names.holders.append(holder)
            on = self._maybe(source.on, _Seen(names))
            for name in source.using:
                self._merge(name, names)
            if source.join in HIDDEN:
                names.holders.remove(holder)
            sources.append(replace(source, table=table, on=on))
        return sources

    def _merge(self, name: str, names: _Names) -> None:
        """Take a name of USING, which both sides of the join have to have."""
        *before, last = names.holders
        sides = [[last], [] if name in names.merged else before]
        for side in sides:
            if side and not any(name in holder.words or holder.has(name) for holder in side):
                titles = ", ".join([holder.title for holder in side if holder.title])
                text = f'USING ({name}) joins nothing: "{name}" is no field of {titles or "a side"}'
                self.unknown[text] = None
        names.merged.add(name)

    def _key(self, item: ast.Item, node: ast.Select, seen: _Seen) -> ast.Item:
        """Resolve a key of GROUP BY, which may be the name of a column."""
        expr = self._expr(item.expr, seen)
        if self.is_standard and item.alias is None and expr == item.expr:
            expr = self._column(expr, node, seen, is_first=False)
        return replace(item, expr=expr)

    def _sort(self, sort: ast.Sort, node: ast.Select, seen: _Seen) -> ast.Sort:
        """Resolve a key of ORDER BY: a bare name is a column before it is a field."""
        column = self._column(sort.expr, node, seen, is_first=True)
        is_column = column is not sort.expr
        return replace(sort, expr=column if is_column else self._expr(sort.expr, seen))

    def _column(self, expr: ast.Expr, node: ast.Select, seen: _Seen, *, is_first: bool) -> ast.Expr:
        """Return the item that a bare name stands for by its number, or the name.

        * ``is_first``: Whether it goes before a field of that name.
        """
        if not self.is_standard or not isinstance(expr, ast.Name) or not node.items:
            return expr
        listed = output_names(node)
        numbers = [at for at, name in enumerate(listed, 1) if name == expr.name]
        if not numbers or node.items[numbers[0] - 1].expr == expr:
            return expr
        if not is_first and (expr.certain or self._held(expr.name, seen.names)):
            return expr
        if len(numbers) > 1 and len({node.items[at - 1].expr for at in numbers}) > 1:
            refuse(f"{expr.name} is the name of several columns", expr, "give them other aliases")
        return ast.Position(numbers[0], span=expr.span)

    def _maybe(self, expr: ast.Expr | None, seen: _Seen) -> ast.Expr | None:
        return None if expr is None else self._expr(expr, seen)

    def _expr(self, expr: ast.Expr, seen: _Seen) -> ast.Expr:
        def stop(part: ast.Node) -> ast.Node | None:
            match part:
                case ast.Select():
                    return self._select(part, seen.names)
                case ast.Dot() | ast.Index():
                    return self._path(part, seen)
                case ast.Name():
                    return self._name(part, seen)
                case ast.Aggregate(over=None) if part is not expr:
                    return self._expr(part, replace(seen, aliases=_plain(seen.aliases)))
            return None

        if isinstance(expr, ast.Aggregate) and expr.over is None:
            seen = replace(seen, aliases=_plain(seen.aliases))
        return visitor.rewrite(expr, stop=stop)

    def _path(self, path: ast.Dot | ast.Index, seen: _Seen) -> ast.Expr | None:
        root, names = visitor.root_name(path), seen.names
        if root is None:
            return None
        if names.labelled(root.name):
            return path
        if self._is_label_outside(root.name, names) and not self._hides(root.name, names):
            return path
        label = names.label_like(root.name)
        new = self._name(root, seen) if label is None else ast.Name(label, span=root.span)
        if new is root:
            return path
        return visitor.rewrite(path, lambda node: new if node is root else node)

    @staticmethod
    def _is_label_outside(name: str, names: _Names) -> bool:
        scope = names.outer
        while scope is not None:
            if scope.labelled(name):
                return True
            scope = scope.outer
        return False

    @staticmethod
    def _hides(name: str, names: _Names) -> bool:
        """Return whether a source without a name has a field that is called as one further out."""
        bare = [holder for holder in names.holders if holder.label is None]
        return names.has_word(name) or any(holder.has(name) for holder in bare)

    def _name(self, name: ast.Name, seen: _Seen) -> ast.Expr:
        """Return what a name stands for."""
        names, text = seen.names, name.name
        is_alias = text in seen.aliases
        if name.certain or names.labelled(text) or (is_alias and not self.is_standard):
            return name
        is_asked = (
            is_alias or text in seen.late or any(holder.lent_label for holder in names.holders)
        )
        # A name of the only source means its field, also where no row has one: nothing has to be
        # opened.
        if names.is_alone and not is_asked:
            return name
        meaning = self._found(name, names)
        if meaning is not None or is_alias:
            return meaning or name
        return self._late(name, seen) if text in seen.late else self._of_none(name, names)

    def _found(self, name: ast.Name, names: _Names) -> ast.Expr | None:
        """Return what a name stands for, in the nearest query that has it; None: in none."""
        scope: _Names | None = names
        while scope is not None:
            meaning = self._in(scope, name, is_here=scope is names)
            if meaning is not None:
                return meaning
            if scope is not names and name.name in scope.aliases:
                return name
            scope = scope.outer
        return None

    def _held(self, text: str, names: _Names) -> list[Holder]:
        """Return the sources that have a value of a name, else those that have such a field."""
        holders = [holder for holder in names.holders if text in holder.words][:1]
        holders = holders or [holder for holder in names.holders if holder.has(text)]
        if holders or text not in PSEUDO:
            return holders
        tables = [holder for holder in names.holders if holder.is_table]
        bare = [table for table in tables if table.label is None]
        return bare if len(bare) == 1 else tables

    def _in(self, names: _Names, name: ast.Name, *, is_here: bool) -> ast.Expr | None:
        """Return what a name stands for in a select, ``None`` for nothing."""
        text = name.name
        if text in names.merged:
            return name
        holders = self._held(text, names)
        if len(holders) > 1:
            labels = [holder.label or holder.lent_label or holder.title for holder in holders]
            hint = " or ".join(f"{label}.{text}" for label in labels if label)
            refuse(f"{text} is a field of several tables", name, f"write {hint}" if hint else None)
        if not holders:
            return None
        (holder,) = holders
        if text in holder.words:
            return replace(name, certain=True) if is_here else name
        is_plain = len(names.holders) == 1 and holder.label is None and holder.lent_label is None
        if is_here and is_plain:
            return replace(name, certain=True)
        return ast.Dot(ast.Name(self._label(holder), span=name.span), text, span=name.span)

    def _label(self, holder: Holder) -> str:
        """Return the name of a source, which gets one if it has none."""
        if holder.label is not None:
            return holder.label
        source = holder.source
        if id(source) not in self.labels:
            path = source.table.expr if isinstance(source.table, ast.PathTable) else None
            label = "" if path is None else last_name(path)
            most = isinstance(path, ast.Name)
            number = 0
            while not label or label in self._taken or self._uses[label] > most:
                number, most = number + 1, False
                label = f"t{number}"
            self._taken.add(label)
            self.labels[id(source)] = label
            self._labelled.append(source)  # while it lives, no other source has its identity
        return self.labels[id(source)]

    def _late(self, name: ast.Name, seen: _Seen) -> ast.Expr:
        """Return what an alias stands for in WHERE, where no source has the name."""
        expr = seen.late[name.name]
        for is_wrong, what, word in (
            (has_aggregates(expr), "an aggregate", "HAVING"),
            (has_windows(expr), "a window function", "QUALIFY"),
        ):
            if is_wrong:
                refuse(f"{name.name} is {what}, which WHERE comes before", name, f"use {word}")
        return self._expr(expr, _Seen(seen.names))

    def _of_none(self, name: ast.Name, names: _Names) -> ast.Expr:
        """Return a name that nothing is known to have, behind the source that may have it."""
        if len(names.holders) < 2:  # noqa: PLR2004 - it is that one
            return name
        for holder in names.holders:
            if holder.is_table and holder.label is None:
                label = ast.Name(self._label(holder), span=name.span)
                return ast.Dot(label, name.name, span=name.span)
        if any(holder.is_open and not holder.is_table for holder in names.holders):
            self.unknown[f'no source of FROM has "{name.name}"'] = None
        return name


def _plain(aliases: Mapping[str, ast.Expr]) -> Mapping[str, ast.Expr]:
    """Return the aliases that an aggregate may use: those of no aggregates."""
    return {name: expr for name, expr in aliases.items() if not has_aggregates(expr)}
