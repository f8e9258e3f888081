"""A needle on S3: a request for the end of each packfile that is asked, and one for its block."""

from __future__ import annotations

import base64
import random
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb.packfile.trailer import TAIL_BYTES
from sdb.table import tablepackfile

if TYPE_CHECKING:
    from tests.store.conftest import Requests, S3Place

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
    bucket: S3Place, requests: Requests
) -> None:
    place = bucket.at("x.zion")
    assert sdb.pack(rows(0), place, **OPTIONS).output_bytes > 2 * TAIL_BYTES
    for condition, blocks in ((f"id = '{EARLY}'", 1), ("n = 40.0", 1), ("n = 99999", 0)):
        requests.clear()
        with sdb.sql(f"SELECT n FROM read_file('{place}') WHERE {condition}") as result:
            assert len(list(result)) == blocks
            assert result.reading.blocks == blocks < result.reading.all_blocks
        assert requests.count() == requests.count("GetObject") == 1 + blocks


def test_a_table_takes_one_for_each_end_and_remembers_it(
    bucket: S3Place, requests: Requests, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SNELLER_INDEX_KEY", base64.b64encode(b"k" * 32).decode())
    monkeypatch.setattr(tablepackfile, "MOST_PLAIN_BYTES", 2 * TAIL_BYTES)
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
    monkeypatch.setattr(tablepackfile, "MOST_PLAIN_BYTES", 1 << 30)
    blocks, every = asked(f"id = '{EARLY}'")
    assert blocks > PACKFILES
    assert every > first
