"""`kill -9` of what writes: the old file or the whole new one; the rest is in tests/kill."""

from __future__ import annotations

import gzip
import re
from typing import TYPE_CHECKING

import pytest

from sdb import pack
from sdb.store.s3.address import HIDDEN as HIDDEN_ON_S3
from tests.attack.harness import COMMAND, SAMPLE, batches, dice
from tests.kill.moments import kill, timed
from tests.store.conftest import Direct, S3Backend, bucket, direct, endpoint

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["bucket", "direct", "endpoint"]  # fixtures

KILLS = 15
HIDDEN = re.compile(r"\.x\.\w+\.tmp")
VERBS = ("pack", "append", "append elsewhere", "concat", "unpack", "query")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Return a folder with a text and packfiles."""
    text = gzip.decompress(SAMPLE.read_bytes())
    (tmp_path / "in.json").write_bytes(text * 15)
    pack([tmp_path / "in.json"], tmp_path / "a.zion", block_bytes=4 << 20)
    pack([SAMPLE], tmp_path / "b.zion")
    return tmp_path


def command(verb: str, files: Path, target: str) -> list[str]:
    """Return the words that write to a target."""
    text, a, b = (str(files / name) for name in ("in.json", "a.zion", "b.zion"))
    match verb:
        case "pack":
            words = ["pack", "--force", "-o", target, text]
        case "append":
            words = ["append", target, text]
        case "append elsewhere":
            words = ["append", "--force", "-o", target, b, text]
        case "concat":
            words = ["concat", "--force", "-o", target, a, b, a]
        case "unpack":
            words = ["unpack", "--force", "--fmt", "json", "-o", target, a]
        case _:
            words = ["query", "--force", "-o", target, f'SELECT * FROM "{a}"', "--fmt", "json"]
    return [*COMMAND, *words]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("batch", batches(1))
@pytest.mark.parametrize("verb", VERBS)
def test_local_target_is_old_or_new(files: Path, verb: str, batch: int) -> None:
    folder = files / "out"
    folder.mkdir()
    target = folder / "x"
    old = (files / "b.zion").read_bytes()
    target.write_bytes(old)
    words = command(verb, files, str(target))
    seconds = timed(words)
    whole = [old, target.read_bytes()]
    assert whole[0] != whole[1]

    def check() -> None:
        assert target.read_bytes() in whole
        strays = [path.name for path in folder.iterdir() if path.name != "x"]
        assert all(map(HIDDEN.fullmatch, strays)), strays

    kill(
        words,
        KILLS,
        seconds,
        dice("kills", verb, batch),
        before=lambda: target.write_bytes(old),
        after=check,
    )
    target.write_bytes(old)
    timed(words)
    assert target.read_bytes() == whole[1], "a run after the killed ones is not disturbed by them"


@pytest.mark.s3
@pytest.mark.timeout(600)
@pytest.mark.parametrize("batch", batches(1))
@pytest.mark.parametrize("verb", VERBS)
def test_object_is_old_or_new(
    files: Path, bucket: S3Backend, direct: Direct, verb: str, batch: int
) -> None:
    old = (files / "b.zion").read_bytes()
    lock, key = f"{HIDDEN_ON_S3}lock-x", bucket.prefix + "x"
    bucket.put("x", old)
    words = command(verb, files, bucket.at("x"))
    seconds = timed(words)
    whole = [old, bucket.get("x")]
    assert whole[0] != whole[1]

    def check() -> None:
        assert direct.get(key) in whole
        assert set(bucket.names()) <= {"x", lock}

    def again() -> None:
        """Put the old object back; the lock would hold others for minutes."""
        direct.delete(bucket.prefix + lock)
        direct.put(key, old)

    kill(
        words,
        KILLS,
        seconds,
        dice("kills of S3", verb, batch),
        before=again,
        after=check,
    )
    again()
    timed(words)
    assert bucket.get("x") == whole[1], "a run after the killed ones is not disturbed by them"
