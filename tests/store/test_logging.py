"""What is logged of work in real stores: lost races, requests, versions; and no secrets."""

from __future__ import annotations

import base64
import logging
import os
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb import retry
from sdb.errors import NotFoundError
from sdb.store import url
from sdb.table.commit.change import TableChange
from sdb.table.commit.commit import commit
from sdb.table.commit.environment import Environment
from sdb.table.format.keys import TableKeys

if TYPE_CHECKING:
    from collections.abc import Callable

    from sdb.client.connection import Connection
    from tests.store.conftest import Backend, S3Backend

KEYS = TableKeys("d", "t")


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SNELLER_INDEX_KEY", base64.b64encode(b"k" * 32).decode())


def table_in(backend: Backend) -> Connection:
    url.store_of(backend.root).make_folder(backend.root)
    db = sdb.connect(backend.root)
    if backend.root.startswith("mem"):
        pytest.skip("definitions know files and S3")
    pattern = f"{backend.root}/in/*.json" if backend.root.startswith("s3:") else "in/*.json"
    db.create("d.t", pattern)
    db.append("d.t", [{"a": 0}])
    return db


def overtaken(db: Connection, times: int) -> Callable[[Any], TableChange]:
    """Make a plan before which another writer commits, this many times."""
    left = [times]

    def plan(_: Any) -> TableChange:
        if left[0]:
            left[0] -= 1
            commit(db.root, KEYS, TableChange("insert"))
        return TableChange("insert", message="the loser")

    return plan


def messages(caplog: pytest.LogCaptureFixture, logger: str) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == logger]


def test_a_lost_race_is_logged_with_its_retry(
    bucket: S3Backend, caplog: pytest.LogCaptureFixture
) -> None:
    db = table_in(bucket)
    caplog.set_level(logging.INFO, "sdb")
    slept: list[float] = []
    # No lock is taken of the local queue: the other writer is this very thread.
    env = Environment(sleep=slept.append)
    done = commit(db.root, KEYS, overtaken(db, 2), env=env)
    assert done.attempts == 3
    reported = messages(caplog, "sdb.table.commit")
    lost = [text for text in reported if text.startswith("committing to d.t: attempt ")]
    assert len(lost) == len(slept) == 2
    for number, (text, seconds) in enumerate(zip(lost, slept, strict=True), 1):
        assert f"attempt {number} failed: " in text
        assert "another writer changed it" in text
        assert text.endswith(f"retry in {seconds:.3f} s")
    assert any("lost the compare-and-swap of " in text for text in reported)
    assert f"d.t: committed version {done.version} as {done.commit}, attempts: 3" in reported[-1]


def test_who_loses_all_the_time_says_how_long_it_tried(
    bucket: S3Backend, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    db = table_in(bucket)
    caplog.set_level(logging.INFO, "sdb")
    monkeypatch.setattr(retry, "_patience", None)
    monkeypatch.setenv(retry.VARIABLE, "100ms")
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    env = Environment(sleep=sleep, elapsed=lambda: now[0], uniform=lambda _, most: most)
    with pytest.raises(sdb.errors.ConflictError) as info:
        commit(db.root, KEYS, overtaken(db, 99), env=env)
    assert info.value.message.endswith("; gave up after 3 attempts in 0.1 s")
    assert "gave up after 3 attempts in 0.1 s" in messages(caplog, "sdb.table.commit")[-1]


def test_versions_are_logged(backend: Backend, caplog: pytest.LogCaptureFixture) -> None:
    db = table_in(backend)
    caplog.set_level(logging.INFO, "sdb")
    done = db.append("d.t", [{"a": 1}], txn_id="again")
    db.append("d.t", [{"a": 1}], txn_id="again")
    reported = messages(caplog, "sdb.table.commit")
    assert reported[0] == f"d.t: committed version {done.version} as again, attempts: 1"
    assert not any("retry" in text for text in reported)


def test_decisions_of_pruning_and_gc_are_logged(
    backend: Backend, caplog: pytest.LogCaptureFixture
) -> None:
    db = table_in(backend)
    caplog.set_level(logging.DEBUG, "sdb")
    db.sql("SELECT * FROM d.t WHERE a = 7")
    assert any("blocks to read, by its " in text for text in messages(caplog, "sdb.packfile.prune"))
    db.table("d.t").gc(dry_run=True)
    assert any("boundary" in text for text in messages(caplog, "sdb.table.gc"))


def test_requests_are_logged_without_secrets(
    bucket: S3Backend, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "sdb")
    location = bucket.put("a b.bin", b"0123456789")
    with pytest.raises(NotFoundError):
        url.open_read(bucket.at("none"))
    reader = url.open_read(location, head_bytes=4)
    assert reader.read(0, 4) == b"0123"
    list(url.store_of(location).list(bucket.root))
    reported = messages(caplog, "sdb.store.s3")
    folder = bucket.root.removeprefix("s3://")
    put = next(text for text in reported if text.startswith("PUT ") and "a b.bin:" in text)
    assert f"/{folder}/a b.bin: status 200, 10 bytes, " in put
    assert put.endswith(" ms")
    assert any(f"/{folder}/a b.bin bytes=0-3: status 206, 4 bytes, " in text for text in reported)
    assert any(f"/{folder}/none bytes=" in text and "status 404" in text for text in reported)
    assert any(f"prefix={folder.partition('/')[2]}" in text for text in reported)
    everything = "\n".join(record.getMessage() for record in caplog.records)
    secrets = [os.environ[name] for name in ("AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID")]
    for secret in (*secrets, "Authorization", "Signature", "Credential", "X-Amz"):
        assert secret not in everything


def test_nothing_is_logged_when_it_is_off(
    bucket: S3Backend, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    db = table_in(bucket)
    commit(db.root, KEYS, overtaken(db, 1), env=Environment(sleep=lambda _: None))
    assert [record for record in caplog.records if record.name.startswith("sdb")] == []
    assert capfd.readouterr() == ("", "")
