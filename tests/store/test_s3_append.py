"""Packfiles on S3: what reading and appending cost, and many who append at the same time."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb.errors import NotFoundError, UnsupportedError, UsageError
from sdb.packfile.inspect.describe import describe
from sdb.packfile.trailer import read as storedtrailer
from sdb.store import url as stores
from sdb.store.base import TAIL_BYTES
from sdb.store.s3 import client, lock, objectstore, probe
from tests.kill.moments import kill, timed
from tests.patience import soon
from tests.store.conftest import BUCKET, open_uploads
from tests.store.test_contract import MIB

if TYPE_CHECKING:
    from tests.store.conftest import Direct, Requests, S3Backend
    from tests.store.proxy import Proxy

pytestmark = pytest.mark.s3
ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "testdata/gh2015_1k.json.gz"
COMMAND = [sys.executable, "-m", "sdb.cli.main"]


def rows_of(location: str) -> int:
    with sdb.open(location) as pack:
        return sum(1 for _ in pack)


def noisy(path: Path, megabytes: float, seed: int = 5) -> Path:
    """Write rows that hardly compress."""
    dice = random.Random(seed)
    with path.open("w") as file:
        for number in range(int(megabytes * 128)):
            file.write(json.dumps({"n": number, "noise": dice.randbytes(4096).hex()}) + "\n")
    return path


def test_packfiles_go_there_and_come_back(bucket: S3Backend, tmp_path: Path) -> None:
    result = sdb.pack([SAMPLE], bucket.at("x.zion"))
    sdb.pack([SAMPLE], tmp_path / "x.zion")
    assert result.output_bytes == (tmp_path / "x.zion").stat().st_size
    assert bucket.get("x.zion") == (tmp_path / "x.zion").read_bytes()
    assert sdb.validate(bucket.at("x.zion")).ok
    assert sdb.append(bucket.at("x.zion"), [SAMPLE]).rows_total == 2000
    sdb.append(tmp_path / "x.zion", [SAMPLE])
    assert bucket.get("x.zion") == (tmp_path / "x.zion").read_bytes()
    sdb.concat([bucket.at("x.zion"), tmp_path / "x.zion"], bucket.at("y.zion"))
    assert rows_of(bucket.at("y.zion")) == 4000
    sdb.append(bucket.at("y.zion"), [SAMPLE], output=tmp_path / "z.zion")
    assert rows_of(str(tmp_path / "z.zion")) == 5000
    assert bucket.uploads() == []


def test_describing_takes_one_request(
    bucket: S3Backend, requests: Requests, monkeypatch: pytest.MonkeyPatch
) -> None:
    sdb.pack([SAMPLE], bucket.at("x.zion"), block_bytes=MIB)
    requests.clear()
    actual = describe([bucket.at("x.zion")]).files[0]
    assert [name for name, _ in requests.sent] == ["GetObject"]
    assert actual.etag.startswith('"')
    assert actual.url == bucket.at("x.zion")
    monkeypatch.setattr(objectstore, "TAIL_BYTES", 10)
    monkeypatch.setattr(storedtrailer, "TAIL_BYTES", 10)
    requests.clear()
    again = describe([bucket.at("x.zion")]).files[0]
    assert again.trailer == actual.trailer
    assert [name for name, _ in requests.sent] == ["GetObject"] * 2
    assert requests.received_bytes("GetObject") < 20_000


def test_inputs_come_with_two_requests(
    bucket: S3Backend, requests: Requests, tmp_path: Path
) -> None:
    data = noisy(tmp_path / "x.json", 3).read_bytes()
    bucket.put("in/a.json", data)
    bucket.put("in/b.json", b'{"a": 1}\n')
    requests.clear()
    assert sdb.pack([bucket.at("in/*.json")], tmp_path / "x.zion").rows == 385
    kinds = Counter(name for name, _ in requests.sent)
    assert kinds == {"ListObjectsV2": 1, "GetObject": 3}
    assert requests.received_bytes("GetObject") == len(data) + 9


@pytest.mark.parametrize(
    ("megabytes", "block_bytes"),
    [
        (24, 4 * MIB),
        pytest.param(2000, 50 * MIB, marks=[pytest.mark.slow, pytest.mark.timeout(1200)]),
    ],
)
def test_appending_costs_what_is_added(
    bucket: S3Backend, requests: Requests, tmp_path: Path, megabytes: int, block_bytes: int
) -> None:
    base = sdb.pack(
        [noisy(tmp_path / "base.json", megabytes)], bucket.at("x"), block_bytes=block_bytes
    )
    new = noisy(tmp_path / "new.json", 1, seed=6)
    requests.clear()
    result = sdb.append(bucket.at("x"), [new], block_bytes=block_bytes)
    kinds = Counter(name for name, _ in requests.sent)
    read = requests.received_bytes("GetObject")
    written = requests.sent_bytes("UploadPart", "PutObject")
    end = base.output_bytes - base.trailer.offset
    # One block, and the end of the file with the trailer.
    assert read <= block_bytes + max(end, TAIL_BYTES)
    assert written <= block_bytes + new.stat().st_size
    assert result.copied_by == "server"
    assert result.copied_bytes + result.written_bytes == result.output_bytes
    assert result.copied_bytes >= base.output_bytes - block_bytes
    assert kinds["CompleteMultipartUpload"] == 1 + ((client.endpoint().url, BUCKET) in _probed())
    assert kinds["GetObject"] <= 3
    assert rows_of(bucket.at("x")) == base.rows + result.rows_added
    assert bucket.uploads() == []
    print(f"{base.output_bytes:,} bytes; {dict(kinds)}; read {read:,}, sent {written:,}")  # noqa: T201


def _probed() -> set[tuple[str, str]]:
    return {(url, bucket) for url, bucket, kind in probe._known if kind.startswith("complete")}


@pytest.fixture(autouse=True)
def _unprobed() -> None:
    probe._known.clear()
    lock._excluding.clear()


def test_compressing_goes_on_while_parts_are_sent(bucket: S3Backend, tmp_path: Path) -> None:
    source = noisy(tmp_path / "x.json", 64)
    sent: list[float] = []
    packed: list[float] = []

    def on_send(**_: object) -> None:
        sent.append(time.monotonic())

    def on_progress(_: int, __: int | None) -> None:
        packed.append(time.monotonic())

    client.connect().meta.events.register("before-send.s3.UploadPart", on_send, "overlap")
    sdb.pack([source], bucket.at("x"), progress=on_progress)
    client.disconnect()
    assert len(sent) >= 3
    assert sum(moment < packed[-1] for moment in sent) >= 2, "parts are sent while it is packed"
    sdb.pack([source], tmp_path / "x.zion")
    assert bucket.get("x") == (tmp_path / "x.zion").read_bytes()


def start(arguments: list[str], stderr: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
    nowhere = subprocess.DEVNULL
    return subprocess.Popen([*COMMAND, *arguments], cwd=ROOT, stdout=nowhere, stderr=stderr)


MANY = """
import json, sys, pathlib, sdb
target, folder, who, count = sys.argv[1:]
for number in range(int(count)):
    path = pathlib.Path(folder, f"{who}.json")
    path.write_text(json.dumps({"batch": f"{who}/{number}", "part": 1}) + "\\n")
    sdb.append(target, [path], threads=1, block_bytes=4 << 20)
"""


@pytest.mark.parametrize(
    ("processes", "count", "big"),
    [
        (4, 4, False),
        (3, 3, True),
        pytest.param(8, 25, False, marks=[pytest.mark.slow, pytest.mark.timeout(1800)]),
        pytest.param(8, 25, True, marks=[pytest.mark.slow, pytest.mark.timeout(1800)]),
    ],
)
def test_many_who_append_at_the_same_time(
    bucket: S3Backend, tmp_path: Path, processes: int, count: int, *, big: bool
) -> None:
    base = noisy(tmp_path / "base.json", 12) if big else SAMPLE
    rows = sdb.pack([base], bucket.at("x"), block_bytes=4 * MIB).rows
    running = [
        subprocess.Popen(
            [sys.executable, "-c", MANY, bucket.at("x"), str(tmp_path), str(who), str(count)],
            cwd=ROOT,
            stderr=subprocess.PIPE,
        )
        for who in range(processes)
    ]
    for process in running:
        _, errors = process.communicate()
        assert process.returncode == 0, errors.decode()
    with sdb.open(bucket.at("x")) as pack:
        counts = Counter(row["batch"] for row in pack.rows() if "batch" in row)
    wanted = {f"{who}/{number}" for who in range(processes) for number in range(count)}
    assert counts == Counter(wanted)
    report = sdb.validate(bucket.at("x"))
    assert report.ok
    assert report.rows == rows + len(wanted)
    assert bucket.uploads() == []


@pytest.mark.parametrize(
    "moments", [4, pytest.param(50, marks=[pytest.mark.slow, pytest.mark.timeout(900)])]
)
def test_kill_leaves_the_old_object_or_the_new_one(
    bucket: S3Backend, tmp_path: Path, moments: int
) -> None:
    sdb.pack([noisy(tmp_path / "base.json", 12)], tmp_path / "old", block_bytes=4 * MIB)
    source = noisy(tmp_path / "new.json", 16, seed=7)
    old = (tmp_path / "old").read_bytes()
    bucket.put("x", old)
    command = [*COMMAND, "append", "--block-size", "4MiB", bucket.at("x"), str(source)]
    seconds = timed(command)
    whole = [old, bucket.get("x")]

    def check() -> None:
        assert bucket.get("x") in whole

    kill(
        command,
        moments,
        seconds,
        random.Random(11),
        before=lambda: bucket.put("x", old),
        after=check,
    )
    # Nobody can give up what a killed process began; doctor tells of it.
    uploads = stores.diagnose(bucket.at("")).uploads
    assert [upload.address.key for upload in uploads] == open_uploads(bucket.prefix)


def test_whoever_waits_for_a_lock_says_so(bucket: S3Backend, tmp_path: Path) -> None:
    """An outage has left it, and it is taken over after three minutes: too long for silence."""
    bucket.put("x", sdb_bytes(tmp_path))
    bucket.put(".sdb-lock-x", b"")
    with start(["append", bucket.at("x"), str(SAMPLE)], stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        text = process.stderr.readline().decode()
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
    assert text.startswith(f"warning: waiting for {bucket.at('.sdb-lock-x')} until ")


def sdb_bytes(folder: Path) -> bytes:
    """A packfile of the sample."""
    sdb.pack([SAMPLE], folder / "sample.zion")
    return (folder / "sample.zion").read_bytes()


def test_interrupt_gives_the_upload_up(bucket: S3Backend, tmp_path: Path) -> None:
    fifo = tmp_path / "rows"
    os.mkfifo(fifo)
    with start(["pack", "-f", "json", "-o", bucket.at("x"), str(fifo)]) as process:
        with fifo.open("w") as file:
            dice = random.Random(3)
            stop = time.monotonic() + 30
            while not bucket.uploads() and time.monotonic() < stop:
                file.write(json.dumps({"noise": dice.randbytes(1 << 16).hex()}) + "\n")
            assert bucket.uploads()
            began = time.monotonic()
            process.send_signal(2)
            assert process.wait(30) == 130
        assert time.monotonic() - began < soon(5)
    assert (bucket.uploads(), bucket.names()) == ([], [])


def test_an_endpoint_that_ignores_conditions_is_refused(
    bucket: S3Backend, proxy: Proxy, direct: Direct, tmp_path: Path
) -> None:
    proxy.ignored = frozenset({"if-match", "if-none-match"})
    probe._known.clear()
    for name, source in (("small", SAMPLE), ("big", noisy(tmp_path / "base.json", 12))):
        sdb.pack([source], bucket.at(name), block_bytes=4 * MIB)
        before = direct.get(bucket.prefix + name)
        with pytest.raises(UnsupportedError, match="ignores conditions") as caught:
            sdb.append(bucket.at(name), [SAMPLE])
        assert "--unsafe-single-writer" in str(caught.value.hint)
        assert direct.get(bucket.prefix + name) == before
        sdb.append(bucket.at(name), [SAMPLE], unsafe_single_writer=True)
        assert len(direct.get(bucket.prefix + name)) > len(before)
    assert sorted(bucket.names()) == ["big", "small"]
    assert bucket.uploads() == []
    diagnosis = stores.diagnose(bucket.at(""))
    assert not diagnosis.append_is_safe
    assert not diagnosis.new_is_safe
    assert {check.name for check in diagnosis.checks if not check.ok} == {
        "read-if-match",
        "put-if-none-match",
        "put-if-match",
        "complete-if-none-match",
        "complete-if-match",
    }
    assert (sorted(bucket.names()), bucket.uploads()) == (["big", "small"], [])


def test_doctor(bucket: S3Backend, tmp_path: Path) -> None:
    diagnosis = stores.diagnose(bucket.at(""))
    assert [check.detail for check in diagnosis.checks if not check.ok] == []
    assert diagnosis.append_is_safe
    assert (bucket.names(), bucket.uploads(), diagnosis.uploads) == ([], [], ())
    done = subprocess.run(
        [*COMMAND, "doctor", "--json", bucket.at("")], capture_output=True, check=True
    )
    facts: dict[str, Any] = json.loads(done.stdout)
    assert facts["append_is_safe"] is True
    assert facts["open_uploads"] == []
    done = subprocess.run([*COMMAND, "doctor", bucket.at("")], capture_output=True, check=True)
    assert b"append:    safe" in done.stdout
    with pytest.raises(UsageError):
        stores.diagnose(tmp_path)
    with pytest.raises(NotFoundError):
        stores.diagnose("s3://no-such-bucket/")


@pytest.mark.parametrize("text", ["little", "much"])
def test_what_others_said_of_the_object_stays(bucket: S3Backend, tmp_path: Path, text: str) -> None:
    source = SAMPLE if text == "little" else noisy(tmp_path / "base.json", 12)
    sdb.pack([source], tmp_path / "x", block_bytes=4 * MIB)
    said: dict[str, Any] = {"Metadata": {"owner": "team-a"}, "ContentType": "application/x-zion"}
    names = {"Bucket": BUCKET, "Key": bucket.prefix + "x"}
    client.connect().put_object(**names, Body=(tmp_path / "x").read_bytes(), **said)
    for _ in range(2):
        sdb.append(bucket.at("x"), [SAMPLE], block_bytes=4 * MIB)
    now = client.connect().head_object(**names)
    assert now["ContentType"] == "application/x-zion"
    assert now["Metadata"].keys() == {"owner", "sdb-writes"}
    assert len(now["Metadata"]["sdb-writes"].split()) == 2


def test_parquet_comes_from_there(bucket: S3Backend, tmp_path: Path) -> None:
    sdb.pack([SAMPLE], tmp_path / "x.zion")
    with stores.atomic_write(bucket.at("x.parquet")) as file:
        sdb.unpack([tmp_path / "x.zion"], file, fmt="parquet", fields=["id", "type"])
    assert sdb.pack([bucket.at("x.parquet")], bucket.at("y.zion")).rows == 1000


def test_an_open_upload_is_told(bucket: S3Backend) -> None:
    first = client.connect().create_multipart_upload(Bucket=BUCKET, Key=bucket.prefix + "x")
    open_ones = stores.diagnose(bucket.at("")).uploads
    assert [upload.id for upload in open_ones] == [first["UploadId"]]
    assert -2 < open_ones[0].age_seconds < 60


def test_a_packfile_that_is_read_while_it_grows(bucket: S3Backend) -> None:
    sdb.pack([SAMPLE], bucket.at("x"))
    with closing(stores.open_read(bucket.at("x"))) as reader:
        sdb.append(bucket.at("x"), [SAMPLE])
        assert reader.reopen().size_bytes == reader.size_bytes
