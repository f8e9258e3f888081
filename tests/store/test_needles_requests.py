"""A needle on S3: a request for the end of each packfile that is asked, and one for its block."""

from __future__ import annotations

import base64
import random
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb.packfile.trailer import read as storedtrailer
from sdb.packfile.trailer.blockstats import TEXTS, WORDS
from sdb.packfile.trailer.read import TAIL_BYTES
from sdb.store.s3 import objectstore
from sdb.table.packfiles import lazy
from sdb.table.packfiles.lazy import StatsCache

if TYPE_CHECKING:
    from tests.store.conftest import Requests, S3Backend

pytestmark = pytest.mark.s3

COUNT = 2000
PACKFILES = 6
EARLY = f"0-{3 * 7919 % COUNT:06}"
OPTIONS: dict[str, Any] = {"stats": "id,n,user", "block_bytes": 1 << 18, "align_bytes": 1 << 16}


def rows(part: int) -> list[dict[str, Any]]:
    rng = random.Random(part)
    return [
        {
            "id": f"{part}-{number * 7919 % COUNT:06}",
            "n": part * COUNT + number,
            "user": f"user-{part}",
            "noise": rng.randbytes(300).hex(),
        }
        for number in range(COUNT)
    ]


def test_a_packfile_takes_a_request_and_one_for_each_block(
    bucket: S3Backend, requests: Requests
) -> None:
    url = bucket.at("x.zion")
    assert sdb.pack(rows(0), url, **OPTIONS).output_bytes > 2 * TAIL_BYTES
    for condition, blocks in ((f"id = '{EARLY}'", 1), ("n = 40.0", 1), ("n = 99999", 0)):
        requests.clear()
        with sdb.sql(f"SELECT n FROM read_file('{url}') WHERE {condition}") as result:
            assert len(list(result)) == blocks
            assert result.reading.blocks == blocks < result.reading.all_blocks
        assert requests.count() == requests.count("GetObject") == 1 + blocks


def test_a_table_takes_one_for_each_end_and_remembers_it(
    bucket: S3Backend, requests: Requests, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SNELLER_INDEX_KEY", base64.b64encode(b"k" * 32).decode())
    monkeypatch.setattr(lazy, "MOST_PLAIN_BYTES", 2 * TAIL_BYTES)
    db = sdb.connect(bucket.root)
    db.execute("CREATE TABLE web.t")
    for part in range(PACKFILES):
        db.append("web.t", rows(part), **OPTIONS)

    def asked(condition: str) -> tuple[int, int]:
        requests.clear()
        with db.sql(f"SELECT n FROM web.t WHERE {condition}") as result:
            list(result)
            return result.reading.blocks, requests.count()

    blocks, first = asked(f"id = '{EARLY}'")
    assert blocks == 1
    assert first <= 1 + PACKFILES + blocks  # the index, the ends, the block
    blocks, again = asked(f"n = {3 * COUNT + 40}")
    assert (blocks, again) == (1, 1 + blocks)
    blocks, again = asked("user = 'user-4'")
    assert again <= 1 + blocks
    monkeypatch.setattr(lazy, "MOST_PLAIN_BYTES", 1 << 30)
    blocks, every = asked(f"id = '{EARLY}'")
    assert blocks > PACKFILES
    assert every > first


SMALL = 2048
WORDY = OPTIONS | {"stats": "id,n,user,words"}


@pytest.fixture
def large_trailers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read little of a trailer at once, as if statistics had megabytes."""
    monkeypatch.setattr(objectstore, "TAIL_BYTES", SMALL)
    monkeypatch.setattr(storedtrailer, "TAIL_BYTES", SMALL)
    monkeypatch.setattr(storedtrailer, "AHEAD_BYTES", SMALL)


@pytest.mark.usefixtures("large_trailers")
def test_only_what_a_condition_asks_for_is_read(bucket: S3Backend, requests: Requests) -> None:
    url = bucket.at("x.zion")
    timed = [
        row | {"time": f"2026-01-01T00:{at // 60:02}:{at % 60:02}Z"}
        for at, row in enumerate(rows(0))
    ]
    sdb.pack(timed, url, **WORDY)
    with sdb.open(url) as pack:
        trailer_bytes = pack.size_bytes - pack.trailer.offset
        known = pack.known[1]
        assert known is not None
        sizes = known.sizes
    assert sizes[("id",), TEXTS] > SMALL
    assert sizes[(), WORDS] > 4 * SMALL

    def asked(condition: str) -> tuple[int, int, int]:
        requests.clear()
        with sdb.sql(f"SELECT n FROM read_file('{url}') WHERE {condition}") as result:
            list(result)
            reading = result.reading
        ends = requests.count() - reading.blocks
        return ends, requests.received_bytes("GetObject") - reading.stored_bytes, reading.blocks

    opened = 2 * SMALL
    assert asked("TRUE")[:2] == (2, opened)
    assert asked("time < '2026-01-01T00:00:09Z'")[:2] == (2, opened)
    ends, read, blocks = asked(f"id = '{EARLY}'")
    assert (ends, blocks) == (3, 1)
    assert read <= opened + sizes[("id",), TEXTS]
    ends, read, blocks = asked("n = 40")
    assert ends <= 4
    assert blocks == 1
    assert read <= opened + trailer_bytes - sizes[(), WORDS]
    missing = random.Random(99).randbytes(100).hex()
    requests.clear()
    assert list(sdb.grep(missing, url)) == []
    assert requests.count() == 3
    assert requests.received_bytes("GetObject") <= opened + sizes[(), WORDS]


@pytest.mark.usefixtures("large_trailers")
def test_of_a_large_filter_two_slices_are_read(bucket: S3Backend, requests: Requests) -> None:
    url = bucket.at("x.zion")
    sdb.pack([{"id": f"{n * 7919:08}"} for n in range(150_000)], url, stats="id")
    with sdb.open(url) as pack:
        known = pack.known[1]
        assert known is not None
        size = known.sizes[("id",), TEXTS]
    assert size > 150_000
    for number, blocks in ((149_999, 1), (7, 1), (3_000_000, 0)):
        requests.clear()
        condition = f"id = '{number * 7919:08}'"
        with sdb.sql(f"SELECT * FROM read_file('{url}') WHERE {condition}") as result:
            assert len(list(result)) == blocks
            reading = result.reading
        read = requests.received_bytes("GetObject") - reading.stored_bytes
        assert requests.count() <= 4 + reading.blocks  # two to open, the head, and slices
        assert read < 2 * SMALL + size // 2


@pytest.mark.usefixtures("large_trailers")
def test_who_needs_all_reads_it_at_once(bucket: S3Backend, requests: Requests) -> None:
    places = [bucket.at(f"{part}.zion") for part in range(2)]
    for part, path in enumerate(places):
        sdb.pack(rows(part), path, **WORDY)
    requests.clear()
    sdb.concat(places, bucket.at("both.zion"))
    # Two to open, one for the statistics, one for the blocks that are sent again.
    assert requests.count("GetObject") <= 8
    with sdb.open(bucket.at("both.zion")) as pack:
        requests.clear()
        known = pack.known[1]
        assert known is not None
        assert known.words(()) is not None
        assert requests.count("GetObject") == 1


@pytest.mark.usefixtures("large_trailers")
def test_a_table_reads_the_beginning_of_each_end(
    bucket: S3Backend, requests: Requests, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index tells where it is: a request opens a packfile and has what its statistics are."""
    monkeypatch.setenv("SNELLER_INDEX_KEY", base64.b64encode(b"k" * 32).decode())
    monkeypatch.setattr(lazy, "AHEAD_BYTES", SMALL)
    monkeypatch.setattr(lazy, "MOST_PLAIN_BYTES", 2 * SMALL)
    monkeypatch.setattr(lazy, "_KNOWN", StatsCache(64 << 20))
    db = sdb.connect(bucket.root)
    db.execute("CREATE TABLE web.t")
    for part in range(PACKFILES):
        db.append("web.t", rows(part), **WORDY)

    def asked(condition: str) -> tuple[int, int, int]:
        requests.clear()
        with db.sql(f"SELECT n FROM web.t WHERE {condition}") as result:
            list(result)
            reading = result.reading
        read = requests.received_bytes("GetObject") - reading.stored_bytes
        return reading.blocks, requests.count(), read

    blocks, first, _ = asked("user = 'user-4'")
    assert blocks > 1
    assert first <= 2 + 2 * PACKFILES + blocks  # the index, ends, zones of users, the blocks
    blocks, again, read = asked(f"id = '{EARLY}'")
    assert blocks == 1
    assert again <= 2 + 2 * PACKFILES + 1  # the index, zones and filters of ids, the block
    assert read < PACKFILES * 8192  # none of the words
    assert asked(f"id = '{EARLY}'")[1] <= 3  # no more than the index and the block
    assert asked("user LIKE '%nobody-of-all%'")[0] == 0
