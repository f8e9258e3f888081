"""Queries answered by scans alone, and by the engine."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any

from sdb.query.analyze.check import check
from sdb.query.analyze.params import bind
from sdb.query.catalog.catalog import Catalog
from sdb.query.catalog.dataset import QueryRequest
from sdb.query.duckdb_sql.statement import translate
from sdb.query.exec import engine
from sdb.query.plan.choice import choose
from sdb.query.result.result import Result
from sdb.query.syntax.parser import parse

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from sdb.query.catalog import dataset
    from sdb.query.syntax import ast


class Blind:
    """A table of which nothing is known but its rows."""

    def __init__(self, table: dataset.Dataset) -> None:
        self._table = table

    @property
    def sources(self) -> Sequence[Any]:
        return self._table.sources

    def streamed(self, limit: int | None, *, takes_each: bool = False) -> Sequence[Any]:
        return self._table.streamed(limit, takes_each=takes_each)

    @property
    def is_remote(self) -> bool:
        return self._table.is_remote

    @property
    def times(self) -> None:
        return None

    def types(self, _: dataset.Path) -> None:
        return None

    def integers(self, _: dataset.Path) -> None:
        return None

    def row_count(self) -> None:
        return None

    def origins(self) -> list[tuple[str, list[int]]]:
        return self._table.origins()

    def bounds(self, _: dataset.Path, **__: object) -> list[list[int | None]]:
        return [[None] * len(chunks) for _, chunks, *_ in self.sources]

    def visited(self, _: Sequence[tuple[int, int]]) -> None:
        pass


class Answers:
    """A query, and its answers."""

    def __init__(self, root: Path, text: str, *, typed: bool = False, blind: bool = False) -> None:
        self._root = root
        self._statement = check(bind(parse(text), {}))
        self._typed = typed
        self._blind = blind

    def by_scans(self) -> bool:
        """Return whether scans answer it alone."""
        with closing(Catalog(QueryRequest(root=str(self._root)))) as catalog:
            opened = partial(self._opened, catalog)
            return choose(self._statement, opened) is not None

    def columns(self, *, native: bool) -> list[tuple[str, list[str], int]] | None:
        """Return names, lanes and types of the output; ``None`` when it is not the way asked."""
        with closing(Catalog(QueryRequest(root=str(self._root)))) as catalog:
            opened = partial(self._opened, catalog)
            plan: Any = (
                choose(self._statement, opened, typed=self._typed)
                if native
                else translate(
                    self._statement,
                    datasets=opened,
                    holds=lambda *_: True,
                    typed=self._typed,
                )
            )
            if plan is None:
                return None
            return [(column.name, sorted(column.lanes), column.types) for column in plan.columns]

    def lines(self, *, native: bool, threads: int = 1, **more: Any) -> list[str]:
        """Return the rows."""
        catalog = Catalog(QueryRequest(root=str(self._root)))
        opened = partial(self._opened, catalog)
        actual = engine.run(
            self._statement,
            datasets=opened,
            typed=self._typed,
            native=native,
            threads=threads,
            **more,
        )
        actual.on_close(catalog.close)
        with Result("", actual, catalog.tables) as result:
            return b"".join(result.lines()).decode().splitlines()

    def _opened(
        self, catalog: Catalog, tables: tuple[dataset.TableName, ...], where: ast.Expr | None
    ) -> dataset.Dataset:
        table = catalog(tables, where)
        return Blind(table) if self._blind else table
