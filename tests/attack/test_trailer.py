"""Trailers with numbers that cannot be, or that cause far more work than their file has bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from sdb import bounds, sizes
from sdb.errors import CorruptError
from sdb.packfile.trailer.timeindex import TimeIndex
from sdb.packfile.trailer.trailer import Trailer
from tests.attack import craft

if TYPE_CHECKING:
    from pathlib import Path

    from tests.attack.conftest import Limited

CHUNK = craft.zion_rows(craft.table(b"a") + b"\x01\x0e", {14: b"\x8a\x21\x05"})
SIZE = len(craft.frame(CHUNK))
MANY = 300_000


def packfile(sparse: dict[str, Any] | None = None, **fields: Any) -> bytes:
    """Put a file together from one good chunk and a trailer with these fields."""
    struct = {
        "version": 1,
        "offset": SIZE,
        "algo": "zion+zstd",
        "blockshift": 20,
        "sparse": {"blocks": 1, "indices": []} | (sparse or {}),
        "blocks-delta": [0, 1],
    }
    return craft.closed(craft.frame(CHUNK), craft.stream(struct | fields))


def summary(rows: int, paths: int) -> dict[str, Any]:
    types = [{"path": [f"p{number:06}"], "mask": 4} for number in range(paths)]
    return {"sdb": {"version": 1, "rows": [rows], "types": types, "complete": False}}


def index(number: int) -> dict[str, Any]:
    return {"path": [f"p{number:06}"], "ranges": {"max": [9, 1], "min": [0, 0]}}


BAD = {
    "chunks": ({"blocks-delta": [0, 1 << 62]}, f"{1 << 62:,} chunks in {SIZE} bytes"),
    "one chunk too many": (
        {"blocks-delta": [0, SIZE // 6 + 1]},
        f"{SIZE // 6 + 1} chunks in {SIZE} bytes",
    ),
    "indexes": (
        {"sparse": {"indices": [index(number) for number in range((1 << 16) + 1)]}},
        "65,537 time indexes, the limit is 65,536",
    ),
    "alignment": ({"blockshift": 25}, "33,554,432 bytes, the limit is 16,777,216"),
}


IGNORED = {
    "rows": (summary((1 << 20) + 1, 0), f"{(1 << 20) + 1:,} rows in block 0"),
    "most rows": (summary((1 << 63) - 1, 0), f"{(1 << 63) - 1:,} rows in block 0"),
    "summary": (summary(1, 4097), "a summary of 4,097 paths, the limit is 4,096"),
}


@pytest.mark.parametrize("name", IGNORED)
def test_what_is_ignored(tmp_path: Path, limited: Limited, name: str) -> None:
    """A file is as good without its extension, so nothing in there makes it unreadable."""
    sparse, message = IGNORED[name]
    source = tmp_path / "odd.zion"
    source.write_bytes(packfile(sparse))
    (tmp_path / "more.json").write_bytes(b"{}")
    described = limited("describe-file", "--json", "--blocks", source)
    assert (described.code, b'"rows": null' in described.output) == (0, True)
    assert limited("head", source).output == b'{"a": 5}\n'
    counted = limited("query", "-v", f'SELECT COUNT(*) AS n FROM "{source}"')
    assert counted.output == b'{"n": 1}\n'
    assert counted.errors.count("the sdb extension is ignored") == 1
    assert message in counted.errors
    assert limited("head", source).errors == ""
    assert limited("append", "-o", "longer", source, "more.json").code == 0
    checked = limited("validate-file", source)
    assert checked.code == 1
    assert message in checked.errors
    assert limited("validate-file", tmp_path / "longer").code == 0


@pytest.mark.parametrize("name", BAD)
def test_what_is_refused(tmp_path: Path, limited: Limited, name: str) -> None:
    fields, message = BAD[name]
    source = tmp_path / "bad.zion"
    source.write_bytes(packfile(**fields))
    (tmp_path / "more.json").write_bytes(b"{}")
    commands: list[tuple[str | Path, ...]] = [
        ("describe-file", source),
        ("describe-file", "--json", "--blocks", source),
        ("head", source),
        ("append", source, "more.json"),
        ("concat", "-o", "out", source, source),
    ]
    for command in commands[:: 1 if len(source.read_bytes()) < 1 << 16 else 3]:
        ended = limited(*command)
        assert ended.code == 6, (command, ended.errors)
        assert message in ended.errors, (command, ended.errors)
        assert ended.output == b""
        assert not (tmp_path / "out").exists()
    assert limited("validate-file", source).code == 1


def test_the_most_that_is_taken(tmp_path: Path, limited: Limited) -> None:
    source = tmp_path / "good.zion"
    source.write_bytes(packfile(summary(1, 4096), blockshift=24))
    assert limited("describe-file", "--json", "--blocks", source).code == 0
    assert limited("head", source).output == b'{"a": 5}\n'
    assert Trailer.decode(packfile({"blocks": 1})[SIZE:-4]).check(SIZE).sparse.blocks == 1


@pytest.mark.parametrize("text", ["flag", "environment"])
def test_trust(tmp_path: Path, limited: Limited, text: str) -> None:
    source = tmp_path / "large.zion"
    source.write_bytes(packfile(blockshift=26))
    if text == "flag":
        ended = limited("--trust", "head", source)
    else:
        ended = limited("head", source, SDB_TRUST="1")
    assert (ended.code, ended.output) == (0, b'{"a": 5}\n'), ended.errors
    assert limited("head", source, SDB_TRUST="0").code == 6


def test_what_is_read_can_be_written() -> None:
    assert bounds.ALIGN.most == 1 << 24


def test_a_list_of_minimums_that_is_longer_than_the_blocks() -> None:
    """It says nothing of the blocks that are there, and is not searched."""
    most = TimeIndex([(MANY, 2)], [(at, at) for at in range(3)])
    assert most.check(2)
    longer = TimeIndex([(MANY, 1)], [(at, at) for at in range(MANY)])
    assert not longer.check(1)
    with pytest.raises(CorruptError, match="covers 1 blocks of 2"):
        TimeIndex([(1, 1)], [(0, 0)]).check(2)


def test_sizes_beyond_all_files() -> None:
    assert sizes.human(1 << 90) == "1073741824.000 EiB"


def test_many_small_blocks_are_checked(tmp_path: Path, limited: Limited) -> None:
    """What is made for a block must not cost more than to read it."""
    frame, count = craft.frame(CHUNK), MANY // 2
    blocks = [(number * SIZE, 1) for number in range(count)]
    trailer = craft.stream(craft.described(count * SIZE, blocks, "zion+zstd"))
    (tmp_path / "many.zion").write_bytes(craft.closed(frame * count, trailer))
    ended = limited("validate-file", "--json", "many.zion", seconds=4)
    assert (ended.code, ended.errors) == (0, "")
    assert f'"blocks": {count}' in ended.output.decode()
