"""What DuckDB knows of the scans that it joins, and the memory that it takes."""

from __future__ import annotations

import json
import random
import time
from typing import TYPE_CHECKING

import duckdb
import pytest

import sdb
from sdb import _core
from sdb.query.catalog.catalog import Catalog
from sdb.query.catalog.dataset import QueryRequest, TableName
from sdb.query.exec import engine
from sdb.query.plan.scans import ScanNode
from tests.patience import soon

if TYPE_CHECKING:
    from pathlib import Path

_RNG = random.Random(5)
FACTS = [{"a": _RNG.randrange(20_000), "b": _RNG.randrange(20_000)} for _ in range(1000)]
KEYS = [{"k": number, "s": f"s{_RNG.randrange(10)}"} for number in range(20_000)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("order")
    for name, rows in (("f", FACTS), ("d", KEYS)):
        (folder / f"{name}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
        sdb.pack([str(folder / f"{name}.json")], str(folder / f"{name}.zion"))
    return folder


def test_joins_of_three_tables_go_through_no_product_of_two(folder: Path) -> None:
    same = {row["k"]: row["s"] for row in KEYS}
    expected = sum(same[row["a"]] == same[row["b"]] for row in FACTS)
    query = (
        "SELECT COUNT(*) AS n FROM f JOIN d AS d1 ON f.a = d1.k JOIN d AS d2 ON f.b = d2.k"
        " WHERE d1.s = d2.s"
    )
    start = time.monotonic()
    with sdb.sql(query, root=str(folder)) as result:
        assert [row["n"] for row in result] == [expected]
    # By way of all pairs of equal s it takes 20 times as long.
    assert time.monotonic() - start < soon(1.5)


@pytest.mark.parametrize(
    ("sql", "relation"),
    [
        ("FROM s1", "~1 row "),
        ("FROM s1 JOIN t ON true", "~1,000 rows"),
        ("FROM s1 JOIN t ON true JOIN t AS u ON true", "Seq Scan"),
    ],
)
def test_the_engine_knows_rows_of_what_it_joins(folder: Path, sql: str, relation: str) -> None:
    catalog = Catalog(QueryRequest(root=str(folder)))
    scan = ScanNode("s1", (TableName("path", ("f",), (0, 0)),), None, catalog)
    lanes = _core.LaneScan(list(scan.dataset.sources), [(0, ["a"], "i")])
    with duckdb.connect() as connection:
        engine.register(connection, scan, lanes, sql)
        ((_, plan),) = connection.sql("EXPLAIN SELECT * FROM s1").fetchall()
        assert relation in plan
        assert len(connection.sql("FROM s1").fetchall()) == len(FACTS)
    catalog.close()


def test_a_large_side_is_read_as_a_stream(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "MOST_ROWS", 999)
    test_the_engine_knows_rows_of_what_it_joins(folder, " JOIN  JOIN ", "~1,000 rows")
