"""Blocks of S3 are read several at a time, in the order in which a scan takes them."""

from __future__ import annotations

import base64
import time
from threading import Lock
from typing import TYPE_CHECKING

import pytest

import sdb
from sdb.packfile.read.ahead import MOST, ReadAhead

if TYPE_CHECKING:
    from typing import Any

    from tests.store.conftest import S3Backend
    from tests.store.proxy import Proxy, Request

COUNT = 12


class Flights:
    """Counts requests for packfiles, and how many of them are under way at a time."""

    def __init__(self) -> None:
        self._lock, self._now = Lock(), 0
        self.most = self.total = 0

    def __call__(self, request: Request) -> str:
        if request.kind != "GetObject" or ".zion" not in request.path:
            return ""
        with self._lock:
            self._now += 1
            self.total += 1
            self.most = max(self.most, self._now)
        time.sleep(0.1)
        with self._lock:
            self._now -= 1
        return ""


@pytest.fixture
def root(bucket: S3Backend, monkeypatch: pytest.MonkeyPatch) -> str:
    """A table with many packfiles of one block."""
    monkeypatch.setenv("SNELLER_INDEX_KEY", base64.b64encode(b"k" * 32).decode())
    db = sdb.connect(bucket.root)
    db.execute("CREATE TABLE web.t")
    for at in range(COUNT):
        db.append("web.t", [{"n": at, "type": f"t{at}"}])
    return bucket.root


@pytest.fixture
def flights(proxy: Proxy) -> Flights:
    proxy.choose = flights = Flights()
    return flights


def test_packfiles_of_a_table_are_read_several_at_a_time(root: str, flights: Flights) -> None:
    answer = [{"m": "t9", "n": COUNT}]
    with sdb.sql("SELECT MAX(type) AS m, COUNT(type) AS n FROM web.t", root=root) as result:
        assert list(result) == answer
    assert 4 <= flights.most <= MOST
    assert flights.total == COUNT
    with sdb.sql("SELECT type FROM web.t ORDER BY n", root=root) as result:
        assert [row["type"] for row in result] == [f"t{at}" for at in range(COUNT)]


def test_the_first_row_waits_for_no_others(root: str, flights: Flights) -> None:
    with sdb.sql("SELECT type FROM web.t LIMIT 1", root=root) as result:
        assert len(list(result)) == 1
    assert flights.total == 1


class Blocks:
    """A packfile whose blocks are their numbers; some cannot be read."""

    class trailer:  # noqa: N801 - the name of the attribute
        @staticmethod
        def block_range(number: int) -> tuple[int, int]:
            return number, number + (1 << 20)

    def __init__(self, *bad: int) -> None:
        self.bad, self.read = bad, set[int]()

    def read_block(self, number: int) -> bytes:
        self.read.add(number)
        if number in self.bad:
            raise OSError(f"block {number}")
        return str(number).encode()


def ahead(blocks: Any, count: int) -> Any:
    return ReadAhead([(blocks, number) for number in range(count)]).reader(0)


def test_blocks_come_in_any_order_that_the_scan_wants() -> None:
    read = ahead(Blocks(), 100)
    for number in (*range(20), 5, 6, 7, 99, 0, *range(50, 100)):
        assert read(number) == str(number).encode()


def test_a_block_that_cannot_be_read_fails_when_it_is_wanted() -> None:
    read = ahead(Blocks(2), 8)
    assert [read(0), read(1)] == [b"0", b"1"]
    with pytest.raises(OSError, match="block 2"):
        read(2)
    assert read(3) == b"3"


def test_few_blocks_are_read_that_nobody_wants() -> None:
    blocks = Blocks()
    ahead(blocks, 100)(0)
    assert len(blocks.read) <= 4
