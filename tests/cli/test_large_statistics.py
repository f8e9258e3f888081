"""Packfiles with more statistics than the first reads of a trailer have, through the commands."""

from __future__ import annotations

import json
import random
import shutil
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb.packfile.trailer.blockstats import TEXTS, WORDS, ZONES
from sdb.packfile.trailer.lazybytes import LazyBytes

if TYPE_CHECKING:
    from pathlib import Path

COUNT = 4000
ROWS = [
    {"n": n, "id": f"{n * 2654435761 % 2**32:08x}", "text": random.Random(n).randbytes(1500).hex()}
    for n in range(COUNT)
]
OPTIONS: dict[str, Any] = {"stats": "id,n,words", "block_bytes": 1 << 20, "align_bytes": 1 << 18}


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("large") / "rows.zion"
    sdb.pack(ROWS, path, **OPTIONS)
    return path


@pytest.fixture
def path(packed: Path, tmp_path: Path) -> Path:
    shutil.copy(packed, tmp_path / "x.zion")
    return tmp_path / "x.zion"


def body_of(path: Path) -> LazyBytes:
    with sdb.open(path) as pack:
        stored = pack.trailer.sparse.stored_statistics
    assert stored is not None
    assert isinstance(stored.body, LazyBytes)
    return stored.body


def asked(run: Any, where: str, name: str = "x.zion") -> tuple[list[int], int, int, str]:
    """Return the numbers of the rows, the blocks that were read and all, and what was told."""
    text = f"SELECT n FROM '{name}' WHERE {where}"
    done = run("query", "--verbose", "--fmt", "json", text)
    facts = json.loads(run("query", "--explain", "--json", text).stdout)
    rows = [json.loads(line)["n"] for line in done.stdout.splitlines()]
    return rows, facts["blocks"], facts["all_blocks"], done.stderr.decode()


def test_commands_know_all_of_it(path: Path, run: Any) -> None:
    assert len(body_of(path)) > 600_000
    rows, read, known, _ = asked(run, f"id = '{ROWS[1234]['id']}'")
    assert (rows, read <= 2, known > 5) == ([1234], True, True)
    rows, read, _, _ = asked(run, "n > 3990")
    assert (len(rows), read) == (9, 1)
    assert run("grep", "--count", ROWS[77]["text"][100:180], "x.zion").stdout.strip() == b"1"
    (reported,) = json.loads(run("describe-file", "--json", "x.zion").stdout)["files"]
    assert reported["statistics"]["size_bytes"] > 600_000
    assert run("describe-file", "--stats", "x.zion").returncode == 0
    assert run("validate-file", "x.zion").returncode == 0


def test_what_an_append_of_nothing_leaves_can_be_asked(path: Path) -> None:
    """The packfile is closed then, and opened again."""
    (path.parent / "empty.json").write_bytes(b"")
    sparse = sdb.append(path, [path.parent / "empty.json"]).trailer.sparse
    known = sparse.statistics()
    assert known is not None
    assert sparse.stored_statistics is not None
    assert isinstance(sparse.stored_statistics.body, LazyBytes)
    assert known.texts(("id",)) is not None
    known.load()


def test_what_grows_keeps_it(path: Path, run: Any) -> None:
    done = run("append", "x.zion", "-", data=b'{"n": 4000, "id": "ffffffff"}\n')
    assert done.returncode == 0, done.stderr
    assert run("concat", "-o", "y.zion", "x.zion", "x.zion").returncode == 0
    with sdb.open(path.parent / "y.zion") as pack:
        known = pack.known[1]
    assert known is not None
    assert {(("id",), TEXTS), (("n",), ZONES), ((), WORDS)} <= known.sizes.keys()
    assert run("validate-file", "y.zion").returncode == 0
    rows, read, blocks, _ = asked(run, "id = 'ffffffff'", "y.zion")
    assert (rows, read <= 4 < blocks) == ([4000, 4000], True)


def test_a_damaged_section_costs_only_time(path: Path, run: Any) -> None:
    with sdb.open(path) as pack:
        known = pack.known[1]
        assert known is not None
        at = known._sections[("id",), TEXTS][0]
    data = bytearray(path.read_bytes())
    data[data.index(bytes(body_of(path))) + at + 50] ^= 1
    path.write_bytes(data)
    rows, read, blocks, reported = asked(run, f"id = '{ROWS[1234]['id']}'")
    assert (rows, read) == ([1234], blocks)
    assert reported.count("a section of the statistics is damaged") == 1, reported
    rows, read, _, reported = asked(run, "n > 3990")
    assert (len(rows), read, "damaged" in reported) == (9, 1, False)
    done = run("validate-file", "x.zion")
    assert b"statistics of id: a section of the statistics is damaged" in done.stdout + done.stderr
