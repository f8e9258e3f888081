"""Levels: their names, what they make of a packfile, and who remembers them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import sdb
from sdb import levels
from sdb.errors import UsageError
from sdb.packfile.trailer.extension import Extension

if TYPE_CHECKING:
    from pathlib import Path

ROWS = b"".join(
    json.dumps({"id": i, "user": f"u-{i * 7919 % 997}", "text": f"{i * i} said {i % 13}"}).encode()
    + b"\n"
    for i in range(20_000)
)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "a.json"
    path.write_bytes(ROWS)
    return path


def test_names_and_numbers() -> None:
    assert [levels.number(name) for name in ("fast", "default", "small", "max")] == [1, 3, 12, 19]
    assert levels.read("22") == levels.number(22) == 22
    assert levels.read("max") == 19
    assert [levels.name(number) for number in (1, 3, 12, 19, 7)] == [*levels.NAMES, "7"]


@pytest.mark.parametrize("wrong", ["tiny", "0", "23", "-1", "", "1.5", "²", 0, 23])
def test_what_is_no_level_is_told(wrong: str | int, text: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="level"):
        sdb.pack([text], tmp_path / "a.zion", level=wrong)
    assert not (tmp_path / "a.zion").exists()


@pytest.mark.parametrize("wrong", ["tiny", "0", "23", "-1", "", "1.5", "²"])
def test_people_write_names_and_digits(wrong: str) -> None:
    with pytest.raises(UsageError, match="level"):
        levels.read(wrong)


@pytest.mark.parametrize("algorithm", ["zion+zstd", "zstd"])
def test_more_time_for_fewer_bytes(algorithm: str, text: Path, tmp_path: Path) -> None:
    sizes = [
        sdb.pack([text], tmp_path / f"{level}.zion", algorithm=algorithm, level=level).output_bytes
        for level in ("fast", "default", "small", "max")
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert len({*sizes}) == len(sizes)
    for level in levels.NAMES:
        with sdb.open(tmp_path / f"{level}.zion") as packfile:
            assert sum(1 for _ in packfile.rows()) == 20_000
        assert sdb.validate(tmp_path / f"{level}.zion").ok


@pytest.mark.parametrize("level", ["default", "small", 5])
def test_threads_change_no_byte(level: str | int, tmp_path: Path) -> None:
    """Also where later parts decide by themselves what is worth the time."""
    text = tmp_path / "long.json"
    text.write_bytes(ROWS * 18)
    made = []
    for threads in (1, 2, 4):
        path = tmp_path / f"{threads}.zion"
        sdb.pack([text], path, level=level, threads=threads)
        made.append(path.read_bytes())
    assert made[0] == made[1] == made[2]


def test_what_is_appended_has_the_level_of_the_packfile(text: Path, tmp_path: Path) -> None:
    """Unless another one is asked for, which counts from then on."""
    grown = {}
    for level in ("fast", "max"):
        path = tmp_path / f"{level}.zion"
        sdb.pack([text], path, level=level)
        grown[level] = sdb.append(path, [text])
        with sdb.open(path) as packfile:
            assert packfile.trailer.sparse.level == levels.NAMES[level]
    assert grown["max"].output_bytes < grown["fast"].output_bytes
    reported = sdb.append(tmp_path / "fast.zion", [text], level="small").trailer
    assert reported.sparse.level == 12
    assert reported.packed_as == "zion+zstd, level small"
    reported = sdb.append(tmp_path / "fast.zion", [text], level="default").trailer
    assert reported.sparse.level is None
    assert reported.packed_as == "zion+zstd"


def test_joined_packfiles_keep_a_level_that_all_have(text: Path, tmp_path: Path) -> None:
    for name, level in (("a", "small"), ("b", "small"), ("c", "fast")):
        sdb.pack([text], tmp_path / f"{name}.zion", level=level)
    for names, expected in (("ab", 12), ("ac", None)):
        parts = [tmp_path / f"{name}.zion" for name in names]
        sdb.concat(parts, tmp_path / f"{names}.zion")
        with sdb.open(tmp_path / f"{names}.zion") as packfile:
            assert packfile.trailer.sparse.level == expected


def test_compressions_without_levels_say_so(text: Path, tmp_path: Path) -> None:
    with pytest.warns(sdb.errors.SdbWarning, match=r"zion\+iguana_v0 has no levels: level small"):
        made = sdb.pack([text], tmp_path / "a.zion", algorithm="zion+iguana_v0", level="small")
    assert made.trailer.sparse.level is None
    with pytest.warns(sdb.errors.SdbWarning, match="has no levels"):
        sdb.append(tmp_path / "a.zion", [text], level="max")


def test_levels_of_others_are_passed_over() -> None:
    """A number out of bounds tells nothing; what is no number is a flaw like any other."""
    assert Extension.read({"version": 1, "level": 12}, 0).level == 12
    assert Extension.read({"version": 1, "level": 99}, 0).level is None
    assert Extension.read({"version": 1, "level": 99}, 0).flaw == ""
    assert "level" in Extension.read({"version": 1, "level": "high"}, 0).flaw
    assert "level" in Extension.read({"version": 1, "level": True}, 0).flaw
    assert Extension(level=7).encode() == {"version": 1, "level": 7}
