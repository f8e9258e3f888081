"""Bad networks and servers: nothing is lost, nothing doubled, nothing left lying around."""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb.errors import (
    AccessError,
    ConflictError,
    ExistsError,
    NotFoundError,
    SdbError,
    SdbWarning,
    UncertainError,
    UnsupportedError,
    UsageError,
)
from sdb.store import url
from sdb.store.s3 import client, lock, probe
from tests.patience import soon
from tests.store import proxy as proxies
from tests.store.conftest import BUCKET
from tests.store.test_contract import MIB, noise

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.store.conftest import Direct, S3Backend
    from tests.store.proxy import Proxy, Request

pytestmark = pytest.mark.s3


def on(kind: str, *faults: str) -> Callable[[Request], str]:
    """Do something to the first requests of a kind."""
    left = list(faults)

    def choose(request: Request) -> str:
        return left.pop(0) if request.kind == kind and left else ""

    return choose


def grown(backend: S3Backend, kept_count: int) -> None:
    with (
        closing(url.open_read(backend.at("x"))) as source,
        url.create_from_prefix(source, kept_count, backend.at("x")) as draft,
    ):
        draft.write(b"new")


LOST = ["reset", "500", "503", "lost", "twice", "twice, first answer"]
FEW = [
    "lost",
    "500",
    *(
        pytest.param(fault, marks=pytest.mark.slow)
        for fault in LOST
        if fault not in {"lost", "500"}
    ),
]


@pytest.mark.parametrize("fault", LOST)
@pytest.mark.parametrize("kept_count", [3, 6 * MIB])
@pytest.mark.parametrize("times", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_what_becomes_of_the_last_request(
    bucket: S3Backend, proxy: Proxy, direct: Direct, kept_count: int, fault: str, times: int
) -> None:
    old = noise(7 * MIB)
    bucket.put("x", old)
    kind = "PutObject" if kept_count == 3 else "CompleteMultipartUpload"
    probe._known[proxy.url, BUCKET, "puts_conditionally"] = True
    probe._known[proxy.url, BUCKET, "completes_conditionally"] = True
    proxy.choose = on(kind, *[fault] * times)
    grown(bucket, kept_count)
    assert direct.get(bucket.prefix + "x") == old[:kept_count] + b"new"
    assert direct.uploads(bucket.prefix) == []


@pytest.mark.parametrize("fault", FEW)
@pytest.mark.parametrize("request_kind", ["Lock PUT", "Lock DELETE", "Lock HEAD"])
def test_what_becomes_of_the_lock(
    bucket: S3Backend, proxy: Proxy, direct: Direct, request_kind: str, fault: str
) -> None:
    old = noise(7 * MIB)
    bucket.put("x", old)
    proxy.choose = on(request_kind, fault)
    grown(bucket, 6 * MIB)
    assert direct.get(bucket.prefix + "x") == old[: 6 * MIB] + b"new"
    assert (bucket.names(), direct.uploads(bucket.prefix)) == (["x"], [])


def test_the_lock_of_a_writer_that_died(bucket: S3Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "LEASE_SECONDS", 3)
    bucket.put("x", noise(7 * MIB))
    bucket.put(".sdb-lock-x", b"")
    began = time.monotonic()
    reported = r"waiting for s3://.*/\.sdb-lock-x until \d\d:\d\d:\d\d: another writer"
    with pytest.warns(SdbWarning, match=reported) as caught:
        grown(bucket, 6 * MIB)
    assert len(caught) == 1
    assert 1 < time.monotonic() - began < soon(20)
    assert bucket.names() == ["x"]


@pytest.mark.parametrize("size", [3, 9 * MIB])
@pytest.mark.parametrize("fault", FEW)
def test_what_becomes_of_a_new_object(
    bucket: S3Backend, proxy: Proxy, direct: Direct, size: int, fault: str
) -> None:
    proxy.choose = on("PutObject" if size == 3 else "CompleteMultipartUpload", fault)
    bucket.put("x", noise(size), overwrite=False)
    assert direct.get(bucket.prefix + "x") == noise(size)
    assert direct.uploads(bucket.prefix) == []


@pytest.mark.parametrize("fault", FEW)
def test_a_lost_answer_does_not_hide_the_version(
    bucket: S3Backend, proxy: Proxy, fault: str
) -> None:
    store = url.store_of(bucket.root)
    bucket.put("x", b"old")
    probe._known[proxy.url, BUCKET, "puts_conditionally"] = True
    with closing(store.open(bucket.at("x"))) as reader:
        proxy.choose = on("PutObject", fault)
        version = store.put_if_match(bucket.at("x"), b"new", reader)
    assert version == store.version(bucket.at("x")) != reader.version


@pytest.mark.parametrize("kept_count", [3, 6 * MIB])
def test_a_late_writer_recognises_its_own_write_under_those_of_others(
    bucket: S3Backend,
    proxy: Proxy,
    direct: Direct,
    monkeypatch: pytest.MonkeyPatch,
    kept_count: int,
) -> None:
    """The answer is lost, and before anyone looks, someone else appends to what was written."""
    old = noise(7 * MIB)
    bucket.put("x", old)
    # S3 needs no lock, which would keep the other one waiting.
    monkeypatch.setattr(client.Endpoint, "is_aws", property(lambda _: True))
    kind = "PutObject" if kept_count == 3 else "CompleteMultipartUpload"
    state = {"sent": 0}

    def choose(request: Request) -> str:
        if request.kind == kind:
            state["sent"] += 1
            return "lost" if state["sent"] == 1 else ""
        if request.kind == "HeadObject" and state["sent"] == 1:
            state["sent"] += 1
            grown(bucket, kept_count)
        return ""

    proxy.choose = choose
    grown(bucket, kept_count)
    assert direct.get(bucket.prefix + "x") == old[:kept_count] + b"new"
    assert state["sent"] == 3


@pytest.mark.parametrize("fault", ["reset", "500"])
@pytest.mark.parametrize("kept_count", [3, 6 * MIB])
def test_a_server_that_does_not_complete(
    bucket: S3Backend, proxy: Proxy, direct: Direct, kept_count: int, fault: str
) -> None:
    old = noise(7 * MIB)
    bucket.put("x", old)
    probe._known[proxy.url, BUCKET, "puts_conditionally"] = True
    probe._known[proxy.url, BUCKET, "completes_conditionally"] = True
    kind = "PutObject" if kept_count == 3 else "CompleteMultipartUpload"
    proxy.choose = on(kind, *[fault] * 20)
    # A single request may still arrive; an upload that was given up cannot be completed.
    with pytest.raises(UncertainError if kept_count == 3 else SdbError):
        grown(bucket, kept_count)
    proxy.choose = lambda _: ""
    assert direct.get(bucket.prefix + "x") == old
    assert direct.uploads(bucket.prefix) == []


def test_a_server_that_goes_away(bucket: S3Backend, proxy: Proxy, direct: Direct) -> None:
    old = noise(7 * MIB)
    bucket.put("x", old)
    probe._known[proxy.url, BUCKET, "completes_conditionally"] = True
    gone = threading.Event()

    def choose(request: Request) -> str:
        if request.kind == "CompleteMultipartUpload":
            gone.set()
        return "reset" if gone.is_set() else ""

    proxy.choose = choose
    with pytest.raises(UncertainError) as caught:
        grown(bucket, 6 * MIB)
    assert caught.value.exit_code == 9
    assert direct.get(bucket.prefix + "x") == old


@pytest.mark.parametrize(
    ("refusal", "kind"), [("403", AccessError), ("400", UsageError), ("501", UnsupportedError)]
)
@pytest.mark.parametrize("look", ["403", "reset", ""])
@pytest.mark.parametrize("kept_count", [3, 6 * MIB])
def test_a_refusal_is_no_riddle(
    bucket: S3Backend,
    proxy: Proxy,
    direct: Direct,
    kept_count: int,
    look: str,
    refusal: str,
    kind: type[SdbError],
) -> None:
    """Who was refused knows that nothing was written, though nobody may look or give up."""
    old = noise(7 * MIB)
    bucket.put("x", old)
    proxy.log.clear()
    probe._known[proxy.url, BUCKET, "puts_conditionally"] = True
    probe._known[proxy.url, BUCKET, "completes_conditionally"] = True
    last = "PutObject" if kept_count == 3 else "CompleteMultipartUpload"
    refused = threading.Event()

    def choose(request: Request) -> str:
        if request.kind == last:
            refused.set()
            return refusal
        return look if refused.is_set() else ""

    proxy.choose = choose
    with pytest.raises(kind) as caught:
        grown(bucket, kept_count)
    assert caught.value.exit_code == {"403": 7, "400": 2, "501": 8}[refusal]
    assert sum(name == last for name, _ in proxy.log) == 1
    assert direct.get(bucket.prefix + "x") == old


@pytest.mark.parametrize(
    ("refusal", "kind", "message"),
    [
        ("403", AccessError, "trying conditional writes"),
        ("400", UsageError, "trying conditional writes"),
        ("501", UnsupportedError, "ignores conditions"),
    ],
)
def test_a_trial_that_is_refused_shows_nothing(
    bucket: S3Backend, proxy: Proxy, refusal: str, kind: type[SdbError], message: str
) -> None:
    """A store that takes no requests at all is not one that ignores conditions."""
    bucket.put("x", b"old")
    probe._known.clear()
    proxy.choose = lambda request: refusal if request.kind == "PutObject" else ""
    with pytest.raises(kind, match=message) as caught:
        grown(bucket, 3)
    assert "--unsafe-single-writer" in str(caught.value.hint)


@pytest.mark.parametrize("refusal", ["403", "400"])
@pytest.mark.parametrize("kept_count", [3, 6 * MIB])
def test_a_refusal_after_no_answer_is_one(
    bucket: S3Backend, proxy: Proxy, direct: Direct, kept_count: int, refusal: str
) -> None:
    """What was sent first took place; that the store refuses later requests says nothing of it."""
    old = noise(7 * MIB)
    bucket.put("x", old)
    probe._known[proxy.url, BUCKET, "puts_conditionally"] = True
    probe._known[proxy.url, BUCKET, "completes_conditionally"] = True
    last = "PutObject" if kept_count == 3 else "CompleteMultipartUpload"
    lost = threading.Event()

    def choose(request: Request) -> str:
        if request.kind == last and not lost.is_set():
            lost.set()
            return "lost"
        return refusal if lost.is_set() else ""

    proxy.choose = choose
    with pytest.raises(UncertainError):
        grown(bucket, kept_count)
    assert direct.get(bucket.prefix + "x") == old[:kept_count] + b"new"


def test_an_upload_that_may_not_be_looked_at_is_a_riddle(
    bucket: S3Backend, proxy: Proxy, direct: Direct, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket.put("x", noise(7 * MIB))
    monkeypatch.setattr(client.Endpoint, "is_aws", property(lambda _: True))
    probe._known[proxy.url, BUCKET, "completes_conditionally"] = True

    def choose(request: Request) -> str:
        if request.kind == "HeadObject" and any(fault == "lost" for _, fault in proxy.log):
            direct.put(bucket.prefix + "x", b"replaced at once")
        if request.kind == "CompleteMultipartUpload":
            return "lost"
        return "403" if request.kind == "ListParts" else ""

    proxy.choose = choose
    with pytest.raises(UncertainError):
        grown(bucket, 6 * MIB)


def test_what_was_never_sent_is_no_riddle(bucket: S3Backend, proxy: Proxy, direct: Direct) -> None:
    proxy.choose = on("Lock PUT", "goodbye")
    with pytest.raises(SdbError, match="could not connect") as caught:
        bucket.put("x", b"new", overwrite=False)
    assert caught.value.exit_code == 1
    assert "Contents" not in direct.client.list_objects_v2(
        Bucket=BUCKET, Prefix=bucket.prefix + "x"
    )


@pytest.mark.parametrize("fault", ["reset", "500", "503", "truncated", "lost", "slow"])
def test_reading_goes_on_where_it_broke(bucket: S3Backend, proxy: Proxy, fault: str) -> None:
    data = noise(5 * MIB)
    bucket.put("x", data)
    proxy.log.clear()
    proxy.choose = on("GetObject", "", fault, fault)
    with closing(url.open_read(bucket.at("x"), head_bytes=9)) as reader:
        assert b"".join(reader.pieces(0, len(data))) == data
    proxy.choose = on("GetObject", fault, fault)
    assert bucket.get("x") == data


def test_reading_gives_up_in_the_end(bucket: S3Backend, proxy: Proxy) -> None:
    bucket.put("x", noise(5 * MIB))
    with closing(url.open_read(bucket.at("x"))) as reader:
        proxy.choose = lambda _: "truncated"
        with pytest.raises(SdbError, match="the connection broke 5 times"):
            # Nothing arrives of a body of one byte that is cut in half.
            reader.read(0, 1)


def test_an_object_that_changes_while_it_is_read(bucket: S3Backend) -> None:
    bucket.put("x", noise(5 * MIB))
    with closing(url.open_read(bucket.at("x"))) as reader:
        bucket.put("x", noise(5 * MIB, 2))
        with pytest.raises(ConflictError, match="another writer changed it"):
            reader.read(0, 10)
        with suppress(NotFoundError):
            reader.close()


@pytest.mark.parametrize("fault", FEW)
@pytest.mark.parametrize("kind", ["CreateMultipartUpload", "UploadPart", "UploadPartCopy"])
def test_parts_are_sent_again(
    bucket: S3Backend, proxy: Proxy, direct: Direct, kind: str, fault: str
) -> None:
    old, new = noise(7 * MIB), noise(9 * MIB, 2)
    bucket.put("x", old)
    proxy.choose = on(kind, fault)
    with (
        closing(url.open_read(bucket.at("x"))) as source,
        url.create_from_prefix(source, 6 * MIB, bucket.at("x")) as draft,
    ):
        draft.write(new)
    assert direct.get(bucket.prefix + "x") == old[: 6 * MIB] + new
    if not (kind == "CreateMultipartUpload" and fault in {"twice", "twice, first answer"}):
        assert direct.uploads(bucket.prefix) == []


class Watcher(threading.Thread):
    """Reads an object all the time and counts its batches."""

    def __init__(self, direct: Direct, key: str, folder: Path) -> None:
        super().__init__(daemon=True)
        self._direct, self._key, self._path = direct, key, folder / "seen.zion"
        self._stopped = threading.Event()
        self.failures: list[str] = []
        self.looks = 0

    def run(self) -> None:
        least = 0
        while not self._stopped.wait(0.05):
            try:
                count = len(batches(self._direct.get(self._key), self._path))
            except Exception as error:  # noqa: BLE001 - told by the test
                self.failures.append(repr(error))
                return
            if count < least:
                self.failures.append(f"{count} batches after {least}")
            least = count
            self.looks += 1

    def stop(self) -> None:
        self._stopped.set()
        self.join()


def batches(data: bytes, path: Path) -> Counter[str]:
    path.write_bytes(data)
    with sdb.open(path) as pack:
        return Counter(row["batch"] for row in pack.rows(fields=["batch"]) if "batch" in row)


def base_rows(count: int) -> bytes:
    dice = random.Random(5)
    return b"".join(
        json.dumps({"n": n, "noise": dice.randbytes(3000).hex()}).encode() + b"\n"
        for n in range(count)
    )


@pytest.mark.parametrize(
    "runs", [25, pytest.param(1000, marks=[pytest.mark.slow, pytest.mark.timeout(7200)])]
)
def test_random_faults(
    bucket: S3Backend,
    proxy: Proxy,
    direct: Direct,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    runs: int,
) -> None:
    monkeypatch.setattr(lock, "LEASE_SECONDS", 20)
    dice = random.Random(runs)
    proxy.slow_seconds = 0.1
    (tmp_path / "base.json").write_bytes(base_rows(2400))
    options: dict[str, Any] = {"block_bytes": 4 << 20}
    sdb.pack([tmp_path / "base.json"], tmp_path / "base.zion", **options)
    base = (tmp_path / "base.zion").read_bytes()
    assert len(base) > 6 * MIB
    for first in range(0, runs, 25):
        key = f"{bucket.prefix}{first}"
        small = first // 25 % 4 == 3
        if small:
            (tmp_path / "small.json").write_text('{"n": 1}\n')
            sdb.pack([tmp_path / "small.json"], tmp_path / "small.zion", overwrite=True)
        direct.put(key, (tmp_path / "small.zion").read_bytes() if small else base)
        watcher = Watcher(direct, key, tmp_path)
        watcher.start()
        try:
            _append_under_faults(
                bucket, proxy, direct, dice, first, min(25, runs - first), tmp_path
            )
        finally:
            watcher.stop()
        assert watcher.failures == []
        assert watcher.looks > 0


def _append_under_faults(
    bucket: S3Backend,
    proxy: Proxy,
    direct: Direct,
    dice: random.Random,
    first: int,
    runs: int,
    folder: Path,
) -> None:
    guard = threading.Lock()

    def choose(_: Request) -> str:
        with guard:
            return dice.choice(proxies.FAULTS) if dice.random() < chance else ""

    expected: set[str] = set()
    for run in range(first, first + runs):
        name = f"batch {run}"
        (folder / "new.json").write_text(json.dumps({"batch": name}) + "\n")
        chance = dice.choice([0.05, 0.15, 0.3])
        proxy.choose = choose
        probe._known.clear()
        lock._excluding.clear()
        outcome = ""
        try:
            sdb.append(bucket.at(str(first)), [folder / "new.json"], block_bytes=4 << 20)
        except SdbError as error:
            outcome = type(error).__name__
        actual = batches(direct.get(bucket.prefix + str(first)), folder / "now.zion")
        assert set(actual.values()) <= {1}, f"doubled in run {run}: {actual}"
        if not outcome:
            expected.add(name)
        if outcome == "UncertainError" and name in actual:
            expected.add(name)
        assert set(actual) == expected, f"run {run}: {outcome or 'appended'}"
    proxy.choose = lambda _: ""
    left = direct.uploads(bucket.prefix)
    assert len(left) <= sum(
        kind == "CreateMultipartUpload" and fault in {"twice", "twice, first answer"}
        for kind, fault in proxy.log
    )


def test_exists_is_told_before_anything_is_sent(bucket: S3Backend) -> None:
    bucket.put("x", b"old")
    with pytest.raises(ExistsError):
        bucket.put("x", b"new", overwrite=False)
