"""Statements that change tables, in every store: blocks that stay are copied by the store."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import sdb
from sdb.table.catalog.handle import open_table

if TYPE_CHECKING:
    import pytest

    from tests.store.conftest import Backend, Requests, S3Backend


def test_blocks_are_rewritten_and_others_copied(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SNELLER_INDEX_KEY", base64.b64encode(b"k" * 32).decode())
    db = sdb.connect(backend.root)
    db.execute("CREATE TABLE web.t")
    rows = [{"id": number, "s": f"{number:0500}"} for number in range(400)]
    db.append("web.t", rows, block_bytes=1 << 16, align_bytes=1 << 14)
    (before,) = open_table(db.root, "web", "t").descriptors()
    (done,) = db.execute("DELETE FROM web.t WHERE id = 77")
    assert (done.effects[0].blocks_rewritten, done.effects[0].rows_deleted) == (1, 1)
    db.execute("UPDATE web.t SET a.b = id * 2, s = MISSING WHERE id >= 390")
    db.execute(
        "MERGE INTO web.t AS t USING web.t@2 AS s ON t.id = s.id WHEN NOT MATCHED THEN INSERT"
    )
    with db.sql("SELECT id, a.b AS b FROM web.t ORDER BY id") as actual:
        assert [(row["id"], row.get("b")) for row in actual] == [
            (number, number * 2 if number >= 390 else None) for number in range(400)
        ]
    assert not db.table("web.t").validate().findings
    assert db.root.has(before.key), "the versions before still have their packfiles"


def test_large_blocks_do_not_come_over_the_network(
    bucket: S3Backend, requests: Requests, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SNELLER_INDEX_KEY", base64.b64encode(b"k" * 32).decode())
    db = sdb.connect(bucket.root)
    db.execute("CREATE TABLE web.t")
    import random

    dice = random.Random(1)
    rows = ({"id": number, "s": dice.randbytes(3000).hex()} for number in range(6000))
    db.append("web.t", rows, block_bytes=8 << 20)
    (reported,) = open_table(db.root, "web", "t").descriptors()
    assert len(reported.trailer.blocks) >= 4
    requests.clear()
    (done,) = db.execute("DELETE FROM web.t WHERE id = 2500")
    assert done.effects[0].blocks_rewritten == 1
    largest = max(stop - start for start, stop in map(reported.trailer.block_range, range(4)))
    assert requests.count("UploadPartCopy") >= 1
    assert requests.sent_bytes("UploadPart", "PutObject") < 2 * largest
