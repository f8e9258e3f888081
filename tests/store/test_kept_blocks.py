"""Blocks of S3 stay for later queries of a process, within the memory for columns."""

from __future__ import annotations

import base64
import random
from typing import TYPE_CHECKING

import pytest

import sdb
from sdb import _core
from sdb.packfile.read import keptblocks

if TYPE_CHECKING:
    from sdb.client.connection import Connection
    from tests.store.conftest import Requests, S3Backend

pytestmark = pytest.mark.s3

MIB = 1 << 20
ROWS = 3000


@pytest.fixture
def db(bucket: S3Backend, monkeypatch: pytest.MonkeyPatch) -> Connection:
    monkeypatch.setenv("SNELLER_INDEX_KEY", base64.b64encode(b"k" * 32).decode())
    db = sdb.connect(bucket.root)
    db.create("web.t", "in/*.json")
    for part in range(3):
        chosen = random.Random(part)
        rows = ({"n": n, "part": part, "text": chosen.randbytes(40).hex()} for n in range(ROWS))
        db.append("web.t", list(rows))
    return db


def count(db: Connection, number: int) -> int:
    with db.sql(f"SELECT COUNT(text) AS c FROM web.t WHERE n < {number} AND text <> 'x'") as result:
        return int(next(iter(result))["c"])


def test_a_later_query_asks_for_no_block_again(db: Connection, requests: Requests) -> None:
    keptblocks.keep(64 * MIB)
    asked = []
    for number in (100, 200, 300):
        requests.clear()
        assert count(db, number) == 3 * number
        asked.append(requests.count("GetObject"))
    # The index alone: the first query has read the blocks of each packfile.
    assert asked[0] > 3
    assert asked[1:] == [1, 1]


def test_nothing_stays_where_nothing_is_wanted(db: Connection, requests: Requests) -> None:
    counts = []
    for number in (100, 200):
        requests.clear()
        assert count(db, number) == 3 * number
        counts.append(requests.count("GetObject"))
    assert counts[1] > 3


def test_rows_that_come_later_are_seen(db: Connection) -> None:
    keptblocks.keep(64 * MIB)
    assert count(db, 100) == 300
    db.append("web.t", [{"n": 1, "text": "y"}])
    assert count(db, 100) == 301
    db.execute("DELETE FROM web.t WHERE part = 1")
    assert count(db, 100) == 201


def test_blocks_and_columns_share_the_memory() -> None:
    keptblocks.keep(16 * MIB)
    assert _core.column_cache() == (16 * MIB, 0)
    for number in range(10):
        keptblocks.put(b"%d" % number, bytes(MIB - 1))
    # Four of them fit into a quarter of it; the columns have what they leave.
    held = [number for number in range(10) if keptblocks.kept(b"%d" % number) is not None]
    assert held == [6, 7, 8, 9]
    assert _core.column_cache()[0] == 16 * MIB - 4 * (MIB - 1)
    keptblocks.keep(16 * MIB)  # as each connection does: what is kept stays
    assert keptblocks.kept(b"9") is not None
    assert _core.column_cache()[0] == 16 * MIB - 4 * (MIB - 1)
    keptblocks.put(b"large", bytes(2 * MIB))
    assert keptblocks.kept(b"large") is None
    keptblocks.keep(0)
    assert keptblocks.kept(b"9") is None
    keptblocks.put(b"9", b"block")
    assert keptblocks.kept(b"9") is None
    assert _core.column_cache()[0] == 0
