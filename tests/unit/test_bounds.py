"""The same bounds hold where Python calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb import bounds, errors
from sdb._core import Packer
from sdb.spark.options.settings import read_options

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HUGE = [-1, 10**20, 2**64, 10**5000, 1.5, float("nan"), float("inf"), "4", b"1"]


@pytest.fixture
def packfile(tmp_path: Path) -> Path:
    source = tmp_path / "rows.json"
    source.write_text('{"a": 1}\n')
    sdb.pack([source], tmp_path / "rows.zion")
    return tmp_path / "rows.zion"


def _pack(packfile: Path, **options: Any) -> object:
    source = packfile.with_suffix(".json")
    return sdb.pack([source], packfile.with_name("x.zion"), overwrite=True, **options)


def _append(packfile: Path, **options: Any) -> object:
    return sdb.append(packfile, [packfile.with_suffix(".json")], **options)


def _unpack(packfile: Path, **options: Any) -> object:
    with packfile.with_name("x.json").open("wb") as output:
        return sdb.unpack([packfile], output, **options)


def _rows(packfile: Path, **options: Any) -> object:
    with sdb.open(packfile) as pack:
        return list(pack.rows(**options))


def _arrow(packfile: Path, **options: Any) -> object:
    with sdb.open(packfile) as pack:
        return pack.to_arrow(**options)


def _sql(packfile: Path, **options: Any) -> object:
    with sdb.sql(f"SELECT a FROM '{packfile}'", **options) as result:
        return list(result)


def _validate(packfile: Path, **options: Any) -> object:
    return sdb.validate(packfile, **options)


CALLS: list[tuple[Callable[..., object], str]] = [
    (_pack, "threads"),
    (_pack, "block_bytes"),
    (_pack, "align_bytes"),
    (_pack, "level"),
    (_append, "threads"),
    (_append, "block_bytes"),
    (_append, "level"),
    (_append, "attempts"),
    (_unpack, "threads"),
    (_unpack, "limit"),
    (_rows, "limit"),
    (_arrow, "limit"),
    (_sql, "threads"),
    (_sql, "memory_bytes"),
    (_validate, "threads"),
    (_validate, "max_findings"),
]


@pytest.mark.parametrize(
    "value",
    HUGE,
    ids=lambda value: (
        str(type(value).__name__) + repr(value)[:9]
        if not isinstance(value, int)
        else hex(value)[:9]
    ),
)
@pytest.mark.parametrize(("call", "name"), CALLS)
def test_python_refuses_what_the_command_line_does(
    packfile: Path, call: Callable[..., object], name: str, value: object
) -> None:
    before = packfile.read_bytes()
    with pytest.raises(errors.UsageError) as raised:
        call(packfile, **{name: value})
    assert isinstance(raised.value, ValueError)
    assert len(str(raised.value)) < 200
    assert packfile.read_bytes() == before


@pytest.mark.parametrize(("call", "name"), CALLS)
def test_what_is_in_bounds_works(packfile: Path, call: Callable[..., object], name: str) -> None:
    call(packfile, **{name: {"align_bytes": 4096, "memory_bytes": 1 << 30}.get(name, 2)})


def test_constants_are_of_64_bits(packfile: Path) -> None:
    with pytest.raises(errors.UsageError, match="outside"):
        _pack(packfile, constants={"n": 10**20})


@pytest.mark.parametrize("name", ["partitionBytes", "workers", "cacheBytes", "maxRowsPerTrigger"])
@pytest.mark.parametrize("value", ["-1", "9" * 20, "9" * 5000, "nan", "inf", ""])
def test_options_of_spark(name: str, value: str) -> None:
    with pytest.raises(errors.UsageError):
        read_options({"path": "x.zion", name: value})


def test_sizes_are_exact() -> None:
    assert bounds.CACHE.read("9007199254740993") == 9007199254740993
    assert bounds.BLOCK.read("0.5k") == 512
    with pytest.raises(errors.UsageError, match=r"block size: .* is more than 1\.000 TiB"):
        bounds.BLOCK.read("16EiB")


@pytest.mark.parametrize("size", [0, (1 << 30) + 1, 1 << 32, (1 << 64) - 1])
def test_parts_are_no_larger_than_positions_count(size: int) -> None:
    with pytest.raises(errors.UsageError, match="size of a part"):
        Packer(algorithm="zstd", part_bytes=size)
