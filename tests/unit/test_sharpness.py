"""Selectivity of paths: the numbers are what queries read."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb.packfile.inspect.selectivity import PathSharpness, sharpness
from sdb.packfile.prune.predicate import Compare
from sdb.packfile.read.reader import open_packfile

if TYPE_CHECKING:
    from pathlib import Path

START = datetime(2026, 1, 1, tzinfo=UTC)
ALIGN = 1 << 12


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = random.Random(7)
    rows: list[dict[str, Any]] = [
        {
            "at": START + timedelta(seconds=number),
            "number": number,
            "user": f"user-{rng.randrange(300):04}",
            "kind": rng.choice(["push", "pull"]),
            "items": [{"id": rng.randrange(1 << 40)}],
            "odd": rng.choice([None, float("nan"), number, f"{number}", number % 2 == 0]),
            "pad": f"{rng.getrandbits(256):064x}",
        }
        for number in range(4000)
    ]
    path = tmp_path_factory.mktemp("sharp") / "a.zion"
    sdb.pack(rows, path, align_bytes=ALIGN, block_bytes=8 * ALIGN)
    return path


def by_name(path: Path) -> dict[str, PathSharpness]:
    with open_packfile(path) as pack:
        return {item.name: item for item in sharpness([pack]).paths}


def test_what_is_told_is_what_queries_read(packed: Path) -> None:
    actual = by_name(packed)
    assert next(iter(actual)) in {"at", "number"}, "the sharpest first"
    with open_packfile(packed) as pack:
        blocks = len(pack.blocks)
        assert blocks > 10
        assert actual["kind"].read == 1
        assert actual["number"].read <= 2 / blocks
        assert actual["at"].read <= 2 / blocks
        for name in ("number", "user", "kind"):
            rows = list(pack.rows(fields=[name]))
            tests = [Compare((name,), "=", row[name]) for row in rows[::97]]
            read = [sum(b - a for a, b in pack.pruned(test)) for test in tests]
            assert abs(sum(read) / len(read) / blocks - actual[name].read) < 0.15, name
        assert actual["odd"].present < 1
        assert actual["items[].id"].clustered is None


def test_what_clustering_would_bring(packed: Path) -> None:
    with open_packfile(packed) as pack:
        reported = sharpness([pack])
        blocks = len(pack.blocks)
    assert "user" in [item.name for item in reported.advised]
    assert not {"at", "number", "kind"}.intersection(item.name for item in reported.advised)
    actual = {item.name: item for item in reported.paths}
    assert actual["user"].clustered is not None
    assert 1 / blocks <= actual["user"].clustered < 0.1 < actual["user"].read
    assert actual["kind"].clustered is not None
    assert 0.3 < actual["kind"].clustered < 0.7, "half of the rows are half of the blocks"
    assert reported.statistics_bytes > 0
    assert reported.as_dict()["cluster_by"] == [item.name for item in reported.advised]


def test_one_block_and_no_packfile(tmp_path: Path) -> None:
    sdb.pack([{"a": 1}, {"a": None}], tmp_path / "a.zion")
    (item,) = by_name(tmp_path / "a.zion").values()
    assert (item.present, item.read, item.clustered) == (1.0, 1, 1)
    assert sharpness([]).paths == ()
