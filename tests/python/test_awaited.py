"""The asyncio face: in threads, and cancelled in time."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import pytest

import sdb
from sdb.errors import QueryError

if TYPE_CHECKING:
    from pathlib import Path

ENDLESS = "SELECT COUNT(*) AS n FROM web.t a JOIN web.t b ON a.k = b.k JOIN web.t c ON b.k = c.k"


@pytest.fixture
def db(tmp_path: Path) -> sdb.Connection:
    db = sdb.connect(tmp_path)
    db.create("web.t", "in/*.json")
    return db


def test_rows_queries_and_statements(db: sdb.Connection) -> None:
    async def main() -> None:
        await asyncio.gather(*[db.aappend("web.t", [{"n": number}]) for number in range(30)])
        assert (await db.table("web.t").aappend([{"n": 30}])).is_new
        with await db.asql("SELECT SUM(n) AS n FROM web.t") as result:
            assert result.head() == [{"n": 465}]
        (done,) = await db.aexecute("DELETE FROM web.t WHERE n > $n", params={"n": 9})
        assert done.effects[0].rows_deleted == 21
        with pytest.raises(QueryError, match="NO_FUNCTION"):
            await db.asql("SELECT NO_FUNCTION(n) FROM web.t")

    asyncio.run(main())
    assert sorted(row["n"] for row in db.table("web.t")) == list(range(10))
    assert len(list(db.table("web.t").log())) < 32  # tasks have shared commits


def test_the_loop_goes_on_meanwhile(db: sdb.Connection) -> None:
    db.append("web.t", [{"k": 1, "n": number} for number in range(300)])

    async def main() -> int:
        query = asyncio.create_task(db.asql(ENDLESS))
        turns = 0
        while not query.done():
            await asyncio.sleep(0.001)
            turns += 1
        assert (await query).head() == [{"n": 300**3}]
        return turns

    assert asyncio.run(main()) > 3


def test_a_cancelled_task_interrupts_its_query(db: sdb.Connection) -> None:
    db.append("web.t", [{"k": 1, "n": number} for number in range(20_000)])

    async def main() -> float:
        query = asyncio.create_task(db.asql(ENDLESS))  # 8,000,000,000,000 rows
        await asyncio.sleep(1)
        assert not query.done()
        began = time.monotonic()
        query.cancel()
        with pytest.raises(asyncio.CancelledError):
            await query
        took = time.monotonic() - began
        with await db.asql("SELECT COUNT(*) AS n FROM web.t") as result:
            assert result.head() == [{"n": 20_000}]  # the connection is as good as before
        return took

    assert asyncio.run(main()) < 1


def test_a_cancelled_append_is_whole(db: sdb.Connection) -> None:
    async def main() -> None:
        rows = [{"n": number} for number in range(50_000)]
        append = asyncio.create_task(db.aappend("web.t", rows, txn_id="mine"))
        await asyncio.sleep(0.01)
        append.cancel()
        with pytest.raises(asyncio.CancelledError):
            await append
        repeated = await db.aappend("web.t", rows, txn_id="mine")
        assert (repeated.version, repeated.is_new) == (1, False)

    asyncio.run(main())
    assert len(db.table("web.t")) == 50_000
