"""Queries answered by scans alone, and by the engine."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any

from sdb.query import engine
from sdb.query.binding import bind
from sdb.query.check import check
from sdb.query.dataset import Catalog
from sdb.query.parser import parse
from sdb.query.results import Result
from sdb.query.translate.statement import translate

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from sdb.query import ast, plan


class Blind:
    """A table of which nothing is known but its rows."""

    def __init__(self, table: plan.Dataset) -> None:
        self._table = table

    @property
    def sources(self) -> Sequence[Any]:
        return self._table.sources

    @property
    def is_remote(self) -> bool:
        return self._table.is_remote

    def types(self, _: plan.Path) -> None:
        return None

    def row_count(self) -> None:
        return None

    def bounds(self, _: plan.Path, **__: object) -> list[list[int | None]]:
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
        """Tell whether scans answer it alone."""
        with closing(Catalog(str(self._root))) as catalog:
            opened = partial(self._opened, catalog)
            plan = translate(self._statement, datasets=opened, holds=_holds, now_us=0)
            return plan.native is not None or plan.counts is not None

    def lines(self, *, native: bool, threads: int = 1, **more: Any) -> list[str]:
        """Give the rows."""
        catalog = Catalog(str(self._root))
        opened = partial(self._opened, catalog)
        found = engine.run(
            self._statement,
            datasets=opened,
            typed=self._typed,
            native=native,
            threads=threads,
            **more,
        )
        found.on_close(catalog.close)
        with Result("", found, catalog.tables) as result:
            return b"".join(result.lines()).decode().splitlines()

    def _opened(
        self, catalog: Catalog, tables: tuple[plan.TableName, ...], where: ast.Expr | None
    ) -> plan.Dataset:
        table = catalog(tables, where)
        return Blind(table) if self._blind else table


def _holds(_: plan.Dataset, __: plan.Path) -> bool:
    return True
