"""Rows that come as Arrow data, into Ion and into packfiles: ``pytest benchmarks``."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyarrow import parquet

import sdb
from sdb._core import dump_batch
from sdb.packfile.write.pack import pack

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_benchmark.fixture import BenchmarkFixture

ROWS = 20_000


@pytest.fixture(scope="module")
def events() -> pa.Table:
    """Rows of a few hundred bytes, with a column of each sort that is frequent in Parquet."""
    numbers = range(ROWS)
    commits = [
        [{"sha": f"{n * 7919:040x}", "distinct": n % 3 == 0} for n in range(at % 4)]
        for at in numbers
    ]
    return pa.table(
        {
            "id": numbers,
            "type": pa.array([f"{'Push' * (n % 3)}Event" for n in numbers]).dictionary_encode(),
            "created_at": pa.array([1_600_000_000_000 + n for n in numbers], pa.timestamp("ms")),
            "actor": [{"id": n % 999, "login": f"user-{n % 999}"} for n in numbers],
            "payload": [{"size": n % 4, "commits": commits[n]} for n in numbers],
            "ratio": [None if n % 5 == 0 else n / 7 for n in numbers],
            "price": [Decimal(n) / 100 for n in numbers],
            "public": [n % 2 == 0 for n in numbers],
            "note": ["plain text of some length " * (n % 5) for n in numbers],
        }
    )


@pytest.mark.parametrize("keep_nulls", [False, True])
def test_dump_batch(benchmark: BenchmarkFixture, events: pa.Table, *, keep_nulls: bool) -> None:
    (batch,) = events.combine_chunks().to_batches()
    assert benchmark(dump_batch, batch, keep_nulls=keep_nulls)


def test_pack_parquet(benchmark: BenchmarkFixture, events: pa.Table, tmp_path: Path) -> None:
    source, target = tmp_path / "events.parquet", tmp_path / "events.zion"
    parquet.write_table(events, source)
    benchmark(pack, [source], target, overwrite=True)
    with sdb.open(target) as packed:
        assert sum(1 for _ in packed.rows()) == ROWS
