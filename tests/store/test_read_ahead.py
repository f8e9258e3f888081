"""Blocks and packfiles of S3 are read several at a time, in the order in which they are wanted."""

from __future__ import annotations

import base64
import gzip
import io
import json
import os
import signal
import subprocess
import sys
import time
from threading import Event, Lock
from typing import TYPE_CHECKING

import pytest

import sdb
from sdb.cli.main import run
from sdb.errors import InputError
from sdb.packfile.export.tail import last_lines
from sdb.packfile.inputs import heads
from sdb.packfile.read.ahead import MOST, MOST_BYTES, MOST_SMALL, ReadAhead
from sdb.store.url import atomic_write
from sdb.table.catalog.root import table_root
from sdb.table.maintenance.compact import compact_table

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.store.conftest import Requests, S3Backend
    from tests.store.proxy import Proxy, Request

COUNT = 12


class Flights:
    """Counts requests for packfiles, or others, and how many are under way at a time."""

    def __init__(self, part: str = ".zion") -> None:
        self.part = part
        self._lock, self._now = Lock(), 0
        self.most = self.total = 0
        self.trips = 0  # requests that waited for others before them

    def __call__(self, request: Request) -> str:
        if request.kind != "GetObject" or self.part not in request.path:
            return ""
        with self._lock:
            self._now += 1
            self.total += 1
            self.most = max(self.most, self._now)
            trips = self.trips + 1
        time.sleep(0.1)
        with self._lock:
            self._now -= 1
            self.trips = max(self.trips, trips)
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


@pytest.mark.parametrize("command", ["ls", "status"])
def test_tables_are_looked_at_several_at_a_time(
    root: str, proxy: Proxy, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    for at in range(COUNT):
        sdb.connect(root).execute(f"CREATE TABLE web.t{at:02}")
    proxy.choose = flights = Flights("/web/t")
    run([command, "--json", "--root", root])
    tables = json.loads(capsys.readouterr().out)["tables"]
    names = [str(table["table"]).rpartition(".")[2] for table in tables]
    assert names == ["t", *(f"t{at:02}" for at in range(COUNT))]
    assert 4 <= flights.most <= MOST


@pytest.mark.parametrize("kilobytes", [0, 100])
def test_inputs_of_a_query_are_read_several_at_a_time(
    bucket: S3Backend,
    proxy: Proxy,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kilobytes: int,
) -> None:
    monkeypatch.setenv("SDB_CACHE", str(tmp_path))
    for at in range(COUNT):
        with atomic_write(bucket.at(f"inputs/{at:02}.json")) as file:
            file.write(json.dumps({"n": at, "text": "x" * 1000 * kilobytes}).encode())
    # Its state, its beginning, and what is behind that; then its state alone.
    for requests in (3 if kilobytes else 2) * COUNT, COUNT:
        proxy.choose = flights = Flights(".json")
        with sdb.sql(f"SELECT SUM(n) AS n FROM '{bucket.at('inputs/*.json')}'") as result:
            assert list(result) == [{"n": sum(range(COUNT))}]
        assert flights.total == requests
        assert flights.trips < COUNT
        assert 4 <= flights.most <= MOST


def test_an_input_that_changes_while_a_query_opens_it_is_read_as_it_is_then(
    bucket: S3Backend, proxy: Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SDB_CACHE", str(tmp_path))

    def write(number: int) -> None:
        with atomic_write(bucket.at("inputs/a.json"), overwrite=True) as file:
            file.write(b'{"n": %d}' % number)

    seen = []

    def choose(request: Request) -> str:
        if request.kind == "GetObject" and "a.json" in request.path:
            seen.append(request)
            if len(seen) == 2:  # behind the look at its state
                proxy.choose = lambda _: ""
                write(2)
        return ""

    query = f"SELECT n FROM '{bucket.at('inputs/*.json')}'"
    write(1)
    proxy.choose = choose
    for _ in range(2):  # the second time from the cache
        with sdb.sql(query) as result:
            assert list(result) == [{"n": 2}]
    write(3)
    with sdb.sql(query) as result:
        assert list(result) == [{"n": 3}]


def test_the_first_row_waits_for_no_others(root: str, flights: Flights) -> None:
    with sdb.sql("SELECT type FROM web.t LIMIT 1", root=root) as result:
        assert len(list(result)) == 1
    assert flights.total == 1


COMMANDS: dict[str, Callable[[str], int]] = {
    "describe": lambda many: len(sdb.describe(many).files),
    "fields": lambda many: sdb.fields(many).fields[0].rows or 0,
    "field statistics": lambda many: sdb.field_stats(many).rows,
    "unpack": lambda many: unpacked(many).count(b"\n"),
    "grep": lambda many: len(list(sdb.grep("type", many))),
    "tail": lambda many: len(last_lines(many, COUNT)),
    "concat": lambda many: sdb.concat(many, many.replace("*", "all")).inputs,
    "pack": lambda many: sdb.pack(many, many.replace("many/*", "packed")).rows,
    "query": lambda many: len(list(sdb.sql(f"SELECT n FROM '{many}'"))),
}


def unpacked(many: str) -> bytes:
    output = io.BytesIO()
    sdb.unpack(many, output)
    return output.getvalue()


@pytest.mark.parametrize("name", COMMANDS)
def test_many_packfiles_are_opened_several_at_a_time(
    bucket: S3Backend, proxy: Proxy, name: str
) -> None:
    for at in range(COUNT):
        sdb.pack([{"n": at, "type": f"type {at}"}], bucket.at(f"many/{at:02}.zion"))
    proxy.choose = flights = Flights()
    assert COMMANDS[name](bucket.at("many/*.zion")) == COUNT
    assert 4 <= flights.most <= MOST
    assert flights.total == COUNT


def test_compaction_opens_packfiles_several_at_a_time(root: str, flights: Flights) -> None:
    assert compact_table(table_root(root), "web", "t").packfiles_after < COUNT
    assert 4 <= flights.most <= MOST


def test_validation_of_a_table_reads_packfiles_and_versions_several_at_a_time(
    root: str, proxy: Proxy
) -> None:
    proxy.choose = packfiles = Flights()
    assert sdb.connect(root).table("web.t").validate().ok
    assert 4 <= packfiles.most <= MOST
    assert packfiles.total == COUNT
    proxy.choose = versions = Flights("/versions/")
    assert sdb.connect(root).table("web.t").validate().ok
    assert 4 <= versions.most <= MOST
    assert versions.total == COUNT


def test_collection_reads_versions_several_at_a_time(root: str, flights: Flights) -> None:
    flights.part = "/versions/"
    sdb.connect(root).table("web.t").gc(dry_run=True)
    assert 4 <= flights.most <= MOST
    assert flights.total <= 3 * COUNT


@pytest.mark.parametrize("lines", [1, 4000])
def test_inputs_are_read_several_at_a_time_and_packed_in_their_order(
    bucket: S3Backend, proxy: Proxy, tmp_path: Path, lines: int
) -> None:
    for at in range(COUNT):
        text = b"".join(
            b'{"n": %d, "x": "%s"}\n' % (at, os.urandom(16).hex().encode()) for _ in range(lines)
        )
        with atomic_write(bucket.at(f"inputs/{at:02}.json.gz")) as file:
            file.write(gzip.compress(text, 1))
    proxy.choose = flights = Flights(".json.gz")
    packfile = tmp_path / "packed.zion"
    assert sdb.pack(bucket.at("inputs/*.json.gz"), packfile).rows == COUNT * lines
    assert 4 <= flights.most <= MOST_SMALL
    assert flights.total == (COUNT if lines == 1 else 2 * COUNT)
    with sdb.open(packfile) as opened:
        assert [row["n"] for row in opened] == [at for at in range(COUNT) for _ in range(lines)]


def test_beginnings_of_inputs_take_bounded_memory(
    bucket: S3Backend, requests: Requests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those for which there is no room come in one request more, in their order."""
    line = b'{"at": "2026-01-01T00:00:00Z"}\n'
    monkeypatch.setattr(heads, "MOST_BYTES", 5 * len(line))
    for at in range(COUNT):
        with atomic_write(bucket.at(f"inputs/{at:02}.json")) as file:
            file.write(line.replace(b"00:00Z", b"00:%02dZ" % at))
    requests.clear()
    packfile = tmp_path / "packed.zion"
    assert sdb.pack(bucket.at("inputs/*.json"), packfile).rows == COUNT
    assert requests.count("GetObject") == 2 * COUNT - 5
    with sdb.open(packfile) as opened:
        assert [row["at"].second for row in opened] == list(range(COUNT))


def test_the_first_bad_input_is_the_one_that_is_told(bucket: S3Backend, tmp_path: Path) -> None:
    for at in range(COUNT):
        with atomic_write(bucket.at(f"inputs/{at:02}.json.gz")) as file:
            file.write(gzip.compress(b'{"n": 1}\n' + (b"{bad" if at > 4 else b"")))
    with pytest.raises(InputError, match=r"05\.json\.gz"):
        sdb.pack(bucket.at("inputs/*.json.gz"), tmp_path / "packed.zion")


@pytest.mark.parametrize(
    "command", ["describe-file", "unpack", "grep x", "validate", "pack -o /dev/null --force"]
)
def test_ctrl_c_waits_for_no_answer(bucket: S3Backend, proxy: Proxy, command: str) -> None:
    for at in range(COUNT):
        sdb.pack([{"n": at}], bucket.at(f"many/{at:02}.zion"))
    some, end = Event(), Event()

    def wait(request: Request) -> str:
        if ".zion" in request.path:
            some.set()
            end.wait(60)
        return ""

    proxy.choose = wait
    words = [sys.executable, "-m", "sdb", *command.split(), bucket.at("many/*.zion")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert some.wait(60)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert not end.is_set()
        end.set()


class Blocks:
    """Blocks that are their numbers; some cannot be read."""

    def __init__(self, *bad: int) -> None:
        self.bad, self.read = bad, set[int]()

    def read_block(self, number: int) -> bytes:
        self.read.add(number)
        if number in self.bad:
            raise OSError(f"block {number}")
        return str(number).encode()


def ahead(blocks: Blocks, count: int, *, size: int = 1 << 20, may_stop: bool = False) -> ReadAhead:
    return ReadAhead(blocks.read_block, range(count), lambda _: size, may_stop=may_stop)


@pytest.mark.parametrize("may_stop", [False, True])
def test_blocks_come_in_any_order_that_the_scan_wants(may_stop: bool) -> None:
    read = ahead(Blocks(), 100, may_stop=may_stop)
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


class Waiting:
    """Blocks that do not come before all that are expected are under way."""

    def __init__(self, expected: int) -> None:
        self._lock, self._expected, self.read = Lock(), expected, set[int]()
        self._all = Event()

    def read_block(self, number: int) -> bytes:
        with self._lock:
            self.read.add(number)
            if len(self.read) >= self._expected:
                self._all.set()
        assert number == 0 or self._all.wait(60)
        return b""


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (1000, MOST_SMALL),
        (1 << 20, MOST),
        (MOST_BYTES // 4, 5),  # and the one that is wanted
        (MOST_BYTES + 1, 1),
    ],
)
def test_after_the_first_block_as_many_are_under_way_as_memory_allows(
    size: int, expected: int
) -> None:
    blocks = Waiting(1 + expected)
    read = ReadAhead(blocks.read_block, range(100), lambda _: size)
    read(0)
    read(1)
    assert len(blocks.read) == 1 + expected


def test_where_few_blocks_may_be_enough_the_second_one_is_waited_for() -> None:
    blocks = Blocks()
    read = ahead(blocks, 100, may_stop=True)
    read(0)
    assert blocks.read == {0}
    read(1)
    read(2)
    assert len(blocks.read) <= 6
