from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from sdb.spark.read.cache import BlockCache
from sdb.spark.read.placement import block_etag

if TYPE_CHECKING:
    from pathlib import Path

BLOCK = bytes(range(256)) * 4
FULL = len(BLOCK) + 16


def names(count: int) -> list[str]:
    return [block_etag('"x"', at) for at in range(count)]


def absent() -> bytes:
    pytest.fail("the block should have been in the cache")


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_a_block_is_read_once(tmp_path: Path) -> None:
    cache = BlockCache(tmp_path / "new", 10 * FULL)
    assert cache.get(names(1)[0], len(BLOCK), lambda: BLOCK) == BLOCK
    assert cache.get(names(1)[0], len(BLOCK), absent) == BLOCK
    assert (cache.hits, cache.misses) == (1, 1)


@pytest.mark.parametrize("damage", ["flip", "cut", "grow", "empty"])
def test_a_damaged_block_is_read_again(tmp_path: Path, damage: str) -> None:
    cache = BlockCache(tmp_path, 10 * FULL)
    cache.get(names(1)[0], len(BLOCK), lambda: BLOCK)
    (path,) = files(tmp_path)
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    damaged = {"flip": data, "cut": data[:-1], "grow": data + b"x", "empty": b""}[damage]
    path.write_bytes(damaged)
    assert cache.get(names(1)[0], len(BLOCK), lambda: BLOCK) == BLOCK
    assert cache.get(names(1)[0], len(BLOCK), absent) == BLOCK


def test_what_was_used_longest_ago_goes_first(tmp_path: Path) -> None:
    cache = BlockCache(tmp_path, 4 * FULL)
    for age, name in enumerate(names(4)):
        cache.get(name, len(BLOCK), lambda: BLOCK)
        (path,) = [path for path in files(tmp_path) if path.stem == name]
        os.utime(path, (1000 + age, 1000 + age))
    cache.get(names(4)[0], len(BLOCK), absent)
    cache.get(names(5)[4], len(BLOCK), lambda: BLOCK)
    stems = {path.stem for path in files(tmp_path)}
    assert names(5)[0] in stems
    assert names(5)[4] in stems
    assert names(5)[1] not in stems
    assert sum(path.stat().st_size for path in files(tmp_path)) <= 4 * FULL


def test_a_block_above_the_limit_is_not_kept(tmp_path: Path) -> None:
    cache = BlockCache(tmp_path, FULL - 1)
    assert cache.get(names(1)[0], len(BLOCK), lambda: BLOCK) == BLOCK
    assert not files(tmp_path)


def test_what_a_killed_process_left_goes_in_time(tmp_path: Path) -> None:
    cache = BlockCache(tmp_path, FULL)
    (tmp_path / "00").mkdir()
    old, new = tmp_path / "00" / "a.1.part", tmp_path / "00" / "b.1.part"
    for path in (old, new):
        path.write_bytes(b"half a block")
    os.utime(old, (1000, 1000))
    cache.get(names(1)[0], len(BLOCK), lambda: BLOCK)
    assert not old.exists()
    assert new.exists()


def test_a_folder_that_cannot_be_written_costs_no_answer(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = BlockCache(tmp_path / "file", 10 * FULL)
    assert cache.get(names(1)[0], len(BLOCK), lambda: BLOCK) == BLOCK


WRITER = """
import sys
from sdb.spark.read.cache import BlockCache
from sdb.spark.read.placement import block_etag
cache = BlockCache(sys.argv[1], 20 * 1040)
for turn in range(300):
    at = turn * 7 % 40
    block = bytes([at]) * 1024
    assert cache.get(block_etag("x", at), 1024, lambda: block) == block
"""


def test_processes_share_a_folder(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    running = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(3)]
    for process in running:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors.decode()
    BlockCache(tmp_path, 20 * 1040).sweep()
    assert sum(path.stat().st_size for path in files(tmp_path)) <= 20 * 1040
