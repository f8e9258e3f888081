"""Queries answered by scans alone, and by the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdb import _core
from sdb.query import engine
from sdb.query.binding import bind
from sdb.query.check import check
from sdb.query.dataset import Catalog
from sdb.query.native import Grouped
from sdb.query.parser import parse
from sdb.query.results import Result

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Any

    from sdb.query import ast, plan


class Blind:
    """A table of which nothing is known but its rows."""

    def __init__(self, table: plan.Dataset) -> None:
        self._table = table

    @property
    def sources(self) -> Sequence[Any]:
        return self._table.sources

    def types(self, _: plan.Path) -> None:
        return None

    def row_count(self) -> None:
        return None


class Answers:
    """Answers a query by scans alone, if they can, or by the engine."""

    def __init__(self, root: Path, text: str, *, typed: bool = False, blind: bool = False) -> None:
        self._root = root
        self._text = text
        self._typed = typed
        self._blind = blind

    def result(self, *, native: bool, **more: Any) -> tuple[Result, bool]:
        catalog = Catalog(str(self._root))

        def opened(tables: tuple[plan.TableName, ...], where: ast.Expr | None) -> plan.Dataset:
            table = catalog(tables, where)
            return Blind(table) if self._blind else table

        statement = check(bind(parse(self._text), {}))
        found = engine.run(statement, datasets=opened, typed=self._typed, native=native, **more)
        found.on_close(catalog.close)
        counted = found.values is not None  # noqa: PD011 - no data frame
        alone = counted or isinstance(found.reader, (Grouped, _core.LaneScan))
        return Result(self._text, found, catalog.tables), alone

    def lines(self, *, native: bool, threads: int = 1) -> list[str] | None:
        """Give the rows; ``None`` when they are wanted from scans and these cannot answer."""
        result, alone = self.result(native=native, threads=threads)
        with result:
            if native and not alone:
                return None
            return b"".join(result.lines()).decode().splitlines()
