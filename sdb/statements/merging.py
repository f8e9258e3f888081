"""MERGE: rows of a source that change rows of a table, or come in where there are none."""

from __future__ import annotations

import tempfile

from sdb.errors import QueryError
from sdb.progress import counted
from sdb.query.syntax import ast, writes
from sdb.records import replace
from sdb.statements.effects import Effect
from sdb.statements.insertion import columns_at
from sdb.statements.matching import dropping, tell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from sdb.packfile.rewrite.rewrite import RowChanges
    from sdb.query.syntax.writes import Merge, WhenNotMatched
    from sdb.statements.apply import StatementRunner
    from sdb.statements.matching import MatchedRows, Target
    from sdb.table.format.descriptor import Descriptor

_TRUE = ast.Literal(value=True)


def merged(work: StatementRunner, merge: Merge) -> Effect:
    """Carry a MERGE out.

    Raises `QueryError` if a row of the table matches more than one row of the source, or the tables
    have no names.
    """
    if merge.alias is None or merge.source_alias is None:
        raise QueryError(
            "MERGE needs names for both tables",
            query=work.statement.text,
            offset=merge.span[0],
            length=len("MERGE"),
            hint="MERGE INTO db.t AS t USING db.s AS s ON t.id = s.id ...",
        )
    target = work.target(merge.alias)
    # Rows that come in are found first: they match nothing afterwards.
    with tempfile.TemporaryFile() as spool:
        for number in range(len(merge.not_matched)):
            with work.context.run(_missing(work, merge, target, number), target.known) as result:
                result.write(spool, "ion")
                tell(result)
        effect = _changed(work, merge, target)
        return effect + work.insert_stream(spool, "merge")


def written_out(work: StatementRunner, merge: Merge) -> Merge:
    """Return a MERGE whose ``UPDATE SET *`` sets each column of the source."""
    if merge.source_alias is None or not any(clause.is_whole for clause in merge.matched):
        return merge
    source = ast.Source(merge.source, merge.source_alias)
    columns = ast.Select((ast.Item(ast.Star()),), sources=(source,), limit=0)
    with work.context.run(ast.Statement(columns, text=work.statement.text)) as result:
        names = result.columns
    row = ast.Name(merge.source_alias)
    assigned = tuple([writes.Assignment((name,), ast.Dot(row, name)) for name in names])
    matched = [
        replace(clause, assignments=assigned) if clause.is_whole else clause
        for clause in merge.matched
    ]
    return replace(merge, matched=tuple(matched))


def _changed(work: StatementRunner, merge: Merge, target: Target) -> Effect:
    """Change and drop the rows that match."""
    others = (ast.Source(merge.source, merge.source_alias, "INNER", merge.on),)
    packs: dict[str, _PackfileChanges] = {}
    for number, clause in enumerate(merge.matched):
        where = _turn([clause.condition for clause in merge.matched], number)
        for matched in target.matches(where, others):
            pack = packs.setdefault(matched.descriptor.key, _PackfileChanges(matched.descriptor))
            pack.add(matched, is_dropped=not clause.assignments)
            if clause.assignments and not work.is_dry:
                assigned = [
                    (assignment.path, assignment.value) for assignment in clause.assignments
                ]
                work.check_set(matched, [path for path, _ in assigned])
                alone = work.view.table(only={matched.descriptor.key})
                pack.values.append(target.values(matched, where, assigned, alone, others))
    effect = Effect("merge", work.table)
    for pack in packs.values():
        if pack.is_twice:
            raise QueryError(
                "a row of the table matches more than one row of the source",
                query=work.statement.text,
                offset=merge.on.span[0],
                length=max(1, merge.on.span[1] - merge.on.span[0]),
                hint="let USING (SELECT ...) give one row for each",
            )
        effect += Effect(
            "merge",
            work.table,
            rows_updated=pack.rows - len(pack.dropped),
            rows_deleted=len(pack.dropped),
        )
        effect += pack.carried_out(work)
    return effect


class _PackfileChanges:
    """Changes of a packfile, by all clauses."""

    def __init__(self, descriptor: Descriptor) -> None:
        self.descriptor = descriptor
        self.values: list[RowChanges] = []
        self._dropped: list[NDArray[np.int64]] = []
        self._all: list[NDArray[np.int64]] = []

    def add(self, matched: MatchedRows, *, is_dropped: bool) -> None:
        """Take rows that match."""
        self._all.append(matched.rows)
        if is_dropped:
            self._dropped.append(matched.rows)

    @property
    def rows(self) -> int:
        """Number of rows that change."""
        return sum(map(len, self._all))

    @property
    def dropped(self) -> NDArray[np.int64]:
        """The rows that go, ascending."""
        import numpy as np

        return np.sort(np.concatenate([np.empty(0, np.int64), *self._dropped]))

    @property
    def is_twice(self) -> bool:
        """True if a row came more than once."""
        import numpy as np

        return len(np.unique(np.concatenate(self._all))) < self.rows

    def carried_out(self, work: StatementRunner) -> Effect:
        """Rewrite the packfile, once for each clause that sets other fields."""
        effect = Effect("merge", work.table)
        if work.is_dry:
            return effect
        # Values come first: they leave the numbers of rows as they are.
        *first, last = self.values or [dropping(self.dropped)]
        if self.values:
            last = replace(last, dropped=self.dropped)
        descriptor: Descriptor | None = self.descriptor
        for changes in (*first, last):
            if descriptor is not None:
                size_bytes = descriptor.trailer.offset
                more, descriptor = work.rewrite(
                    descriptor, changes, "merge", counted(work.context.progress, size_bytes)
                )
                effect += more
        return effect


def _turn(conditions: Sequence[ast.Expr | None], number: int) -> ast.Expr | None:
    """Return the condition under which it is a clause's turn: no clause before it has been."""
    parts = [
        ast.Unary("NOT", ast.Is(condition or _TRUE, "TRUE", negated=False))
        for condition in conditions[:number]
    ]
    own = conditions[number]
    joined: ast.Expr | None = own
    for part in parts:
        joined = part if joined is None else ast.Binary("AND", joined, part)
    return joined


def _missing(work: StatementRunner, merge: Merge, target: Target, number: int) -> ast.Statement:
    """Return the query of rows of the source that match none, as they come in."""
    clause = merge.not_matched[number]
    joined = replace(target.source, join="ANTI", on=merge.on)
    turn = _turn([clause.condition for clause in merge.not_matched], number)
    select = ast.Select(
        _items(work, clause),
        star=not clause.values,
        sources=(ast.Source(merge.source, merge.source_alias), joined),
        where=turn,
    )
    return ast.Statement(select, text=work.statement.text)


def _items(work: StatementRunner, clause: WhenNotMatched) -> tuple[ast.Item, ...]:
    """Return what comes in; nothing for whole rows of the source."""
    if not clause.values:
        return ()
    if clause.paths is not None:
        return columns_at(clause.paths, clause.values)
    (row,) = clause.values
    if not isinstance(row, ast.MakeStruct):
        raise QueryError(
            "a row is a struct, as in VALUES ({'a': s.a})",
            query=work.statement.text,
            offset=row.span[0],
            length=max(1, row.span[1] - row.span[0]),
        )
    return tuple([ast.Item(value, name) for name, value in row.members])
