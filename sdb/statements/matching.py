"""Finds the rows that a statement changes: a query tells their packfiles and numbers."""

from __future__ import annotations

import io
from contextlib import contextmanager, nullcontext

from sdb.packfile.rewrite.rewrite import RowChanges
from sdb.progress import silent
from sdb.query.catalog.dataset import QueryRequest
from sdb.query.catalog.pseudo import Certain
from sdb.query.run.api import run
from sdb.query.syntax import ast
from sdb.records import record
from sdb.statements.targettable import told_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from typing import TypeAlias

    import numpy as np
    from numpy.typing import NDArray

    from sdb.progress import Progress
    from sdb.query.catalog.storedtable import TableSource
    from sdb.query.result.result import Result
    from sdb.query.syntax.writes import FieldPath
    from sdb.statements.targettable import OverlaySource
    from sdb.table.catalog.root import Visible
    from sdb.table.format.descriptor import Descriptor

    Follow: TypeAlias = Callable[[Result], AbstractContextManager[object]]

_FILE = Certain("_file")
_ROW = Certain("_row")


@record
class QueryContext:
    """Settings that queries of a transaction have in common."""

    root: str  # the root that tables are below, and where relative paths start
    text: str  # the statement, for messages
    # Tables as the transaction sees them, by the parts of their names
    known: Mapping[tuple[str, ...], TableSource]
    now_us: int  # the instant of UTCNOW(), the same in all of them
    threads: int | None = None  # how many threads decode and compute
    memory_bytes: int | None = None  # how much memory groups, joins and sorts may take
    # See :func:`sdb.statements.execute.execute`
    progress: Progress = silent
    follow: Follow = nullcontext
    dialect: str | None = None
    is_strict: bool = False  # whether a field that no row has is an error
    visible: Visible | None = None  # tables that it may name; all if not given

    @contextmanager
    def run(
        self,
        statement: ast.Statement,
        more: Mapping[tuple[str, ...], TableSource] | None = None,
    ) -> Iterator[Result]:
        """Run a query; the result is open inside the context."""
        with (
            run(
                QueryRequest(
                    statement,
                    root=self.root,
                    threads=self.threads,
                    memory_bytes=self.memory_bytes,
                    dialect=self.dialect,
                    strict=self.is_strict,
                    known={**self.known, **(more or {})},
                    now_us=self.now_us,
                    visible=self.visible,
                )
            ) as result,
            self.follow(result),
        ):
            yield result


class Target:
    """The table whose rows change, as a source of queries that find them.

    * ``name``: The statement's word and the name of the table: no query can name the target by it.
    """

    def __init__(
        self, name: str, alias: str | None, table: OverlaySource, context: QueryContext
    ) -> None:
        self._name = name
        self._alias = alias
        self._table = table
        self._context = context

    @property
    def source(self) -> ast.Source:
        """Its place in FROM."""
        return ast.Source(ast.PathTable(ast.Name(self._name)), self._alias)

    @property
    def row(self) -> ast.Expr:
        """The number of a row in its packfile."""
        return self._origin(_ROW)

    @property
    def known(self) -> dict[tuple[str, ...], TableSource]:
        """The table by the name that stands for it in queries."""
        return {(self._name,): self._table}

    def _origin(self, name: Certain) -> ast.Expr:
        return ast.Name(name) if self._alias is None else ast.Dot(ast.Name(self._alias), name)

    def run(
        self,
        items: Sequence[tuple[str, ast.Expr]],
        where: ast.Expr | None,
        *,
        others: tuple[ast.Source, ...] = (),
        table: TableSource | None = None,
    ) -> AbstractContextManager[Result]:
        """Run a query on it: values and `_row`, of rows for which a condition is TRUE."""
        fields = [*items, ("row", self._origin(_ROW))]
        select = ast.Select(
            tuple([ast.Item(expr, name) for name, expr in fields]),
            sources=(self.source, *others),
            where=where,
        )
        statement = ast.Statement(select, text=self._context.text)
        return self._context.run(statement, {(self._name,): table or self._table})

    def matches(
        self,
        where: ast.Expr | None,
        others: tuple[ast.Source, ...] = (),
        *,
        is_told: bool = True,
    ) -> list[MatchedRows]:
        """Find the rows for which a condition is TRUE.

        * ``others``: Other tables that it is joined with; a row may come more than once then.
        * ``is_told``: Whether to warn of what the query leaves out.

        Returns: The packfiles with such rows, in the order of the table.
        """
        import numpy as np

        matches: dict[str, list[NDArray[np.int64]]] = {}
        with self.run([("file", self._origin(_FILE))], where, others=others) as result:
            for file, rows in _by_file(result):
                matches.setdefault(file, []).append(rows)
            if is_told:
                tell(result)
            packs = {part.pack.path: part.pack for table in result.tables for part in table.parts}
        return [
            MatchedRows(told_of(pack), np.sort(np.concatenate(matches[path])))
            for path, pack in packs.items()
            if path in matches
        ]

    def values(
        self,
        matched: MatchedRows,
        where: ast.Expr | None,
        assigned: Sequence[tuple[FieldPath, ast.Expr]],
        table: TableSource,
        others: tuple[ast.Source, ...] = (),
    ) -> RowChanges:
        """Compute the values that rows of a packfile get."""
        import numpy as np

        items = [(str(number), expr) for number, (_, expr) in enumerate(assigned)]
        stream = io.BytesIO()
        with self.run(items, where, others=others, table=table) as result:
            result.write(stream, "ion")
        paths = tuple([path for path, _ in assigned])
        return RowChanges(np.empty(0, np.int64), matched.rows, stream.getvalue(), paths)


@record
class MatchedRows:
    """Rows of a packfile that a statement is about."""

    descriptor: Descriptor  # the packfile
    rows: NDArray[np.int64]  # their numbers, ascending


def _by_file(result: Result) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """Iterate over the rows that were found; neighbours of one packfile come together."""
    import numpy as np
    import pyarrow as pa

    for batch in result._batches():  # noqa: SLF001 - a result of ours
        if not batch.num_rows:
            continue
        files = batch.column(0)
        if not pa.types.is_dictionary(files.type):  # a scan's is one
            files = files.dictionary_encode()
        # Not `to_numpy`, which imports pandas.
        rows = np.from_dlpack(batch.column(1)).astype(np.int64)
        numbers = np.from_dlpack(files.indices)
        for number, file in enumerate(files.dictionary.to_pylist()):
            if len(matching := rows[numbers == number]):
                yield file, matching


def tell(result: Result) -> None:
    """Warn of what a query leaves out, or may not mean."""
    result._tell()  # noqa: SLF001 - a result of ours


def dropping(rows: NDArray[np.int64]) -> RowChanges:
    """Return the changes of a packfile that lets rows go."""
    return RowChanges(rows, rows[:0])
