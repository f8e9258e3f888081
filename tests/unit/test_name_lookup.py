"""Names whose meaning depends on the rows: how much of a file is read to plan a query."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from sdb.query.analyze.check import check
from sdb.query.catalog.catalog import Catalog
from sdb.query.catalog.dataset import QueryRequest
from sdb.query.exec import engine
from sdb.query.result.result import Result
from sdb.query.syntax.parser import parse
from tests.engines import Blind
from tests.unit.test_reader import make

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

ROWS: list[dict[str, Any]] = [{"id": n, "a": {"b": n % 5}, "pad": "é" * 40} for n in range(4000)]


class Counted(Blind):
    """A table of which nothing is known but its rows, and how often a block of it is read."""

    def __init__(self, table: Any) -> None:
        super().__init__(table)
        self.reads = 0

    @property
    def sources(self) -> Sequence[Any]:
        return [(partial(self._read, read), *others) for read, *others in self._table.sources]

    def _read(self, read: Callable[[int], object], block: int) -> object:
        self.reads += 1
        return read(block)


class Planned:
    """A query: how many blocks are read to plan it, and its rows."""

    def __init__(self, root: Path, text: str) -> None:
        self.tables: list[Counted] = []
        self._catalog = Catalog(QueryRequest(root=str(root)))
        execution = engine.run(check(parse(text)), datasets=self._open, typed=False)
        execution.on_close(self._catalog.close)
        self.reads = sum(table.reads for table in self.tables)
        self.blocks = sum(len(chunks) for table in self.tables for _, chunks, *_ in table.sources)
        with Result("", execution, self._catalog.tables) as result:
            self.rows = [json.loads(line) for line in b"".join(result.lines()).splitlines()]

    def _open(self, tables: Any, where: Any) -> Counted:
        self.tables.append(Counted(self._catalog(tables, where)))
        return self.tables[-1]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a.b AS v FROM 't.zion'",
        "SELECT SUM(a.b) + 0 AS v, a.b AS k FROM 't.zion' GROUP BY a.b",
        "SELECT MAX(a.b + a.c) AS v FROM 't.zion'",
        "SELECT v FROM (SELECT a.b AS v FROM 't.zion' WHERE a.b > 3 AND nosuch.b IS MISSING)",
        "SELECT (SELECT MAX(a.b) FROM 't.zion') AS v",
    ],
)
def test_a_path_without_alias_costs_nothing_to_plan(tmp_path: Path, text: str) -> None:
    make(tmp_path / "t.zion", ROWS)
    assert Planned(tmp_path, text).reads == 0


def test_what_rows_have_is_looked_up_once_and_no_further_than_needed(tmp_path: Path) -> None:
    """`id` may be a field of the inner rows or of those around them: the rows decide."""
    make(tmp_path / "t.zion", ROWS)
    make(tmp_path / "s.zion", [{"id": 3}])
    inner = "SELECT COUNT(*) AS c FROM 't.zion' WHERE id < 5 AND id > 1 AND id + 0 > 2"
    planned = Planned(tmp_path, f"SELECT ({inner}) AS n FROM 's.zion'")
    assert 0 < planned.reads < planned.blocks / 4
    assert planned.rows == [{"n": 2}]


def test_what_no_row_has_is_looked_up_once(tmp_path: Path) -> None:
    make(tmp_path / "t.zion", ROWS)
    make(tmp_path / "s.zion", [{"x": 7}])
    inner = "SELECT COUNT(*) AS c FROM 't.zion' WHERE id = x AND id < x + 1 AND x > 0"
    planned = Planned(tmp_path, f"SELECT ({inner}) AS n FROM 's.zion'")
    # Before blocks are left out, and again of those that are left.
    assert planned.reads < 2.5 * planned.blocks
    assert planned.rows == [{"n": 1}]
