"""Appending to the golden packfiles, and to the corrupt ones."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb.errors import CorruptError, UnsupportedError
from sdb.packfile.inspect import describe
from tests.conftest import VECTORS, golden, json_lines
from tests.property.test_append import assert_sound

if TYPE_CHECKING:
    from pathlib import Path

APPENDS = [folder for folder in golden() if "-append" in folder.name or "-trim-" in folder.name]
APPENDS = [folder for folder in APPENDS if not folder.name.endswith("-base")]
RECODED = {"a05", "a06", "a07"}  # the original packs everything again
REORDERED = {"a08"}  # two streams side by side
LATER = "o11-unknown-field-v2.zion"  # can be read, but not written again with all that it says
HEALED = {"v09-time-after.zion"}  # the range of rows that are packed again is the right one
CORRUPT = json_lines("packfile/corrupt/expect.jsonl")


def facts(folder: Path) -> dict[str, Any]:
    summary: dict[str, Any] = json.loads((folder / "meta.json").read_text())
    return summary


def key(row: dict[str, Any]) -> str:
    return json.dumps(row, sort_keys=True, default=str)


@pytest.mark.parametrize("folder", APPENDS, ids=lambda folder: folder.name)
def test_golden(folder: Path, tmp_path: Path) -> None:
    meta = facts(folder)
    base = folder.parent / meta["prepend"]
    grown = tmp_path / meta["pack"]
    shutil.copyfile(base / facts(base)["pack"], grown)
    sources = [folder / source["stored"] for source in meta["inputs"]]
    result = sdb.append(grown, sources, block_bytes=meta["flushmeta"], format="json")
    number = folder.name[:3]
    with sdb.open(grown) as ours, sdb.open(folder / meta["pack"]) as theirs:
        answers, expected = list(ours.rows()), list(theirs.rows())
        order: Any = key if number in REORDERED else None
        assert (sorted(answers, key=order) if order else answers) == (
            sorted(expected, key=order) if order else expected
        )
        with sdb.open(base / facts(base)["pack"]) as old:
            assert result.rows_added == len(answers) - sum(1 for _ in old.rows())
            assert set(old.time_indexes) <= set(ours.time_indexes)
        if number not in RECODED:
            assert ours.blocks[:-1] == theirs.blocks[:-1] or number == "a15"
            shape = [block.chunks for block in ours.blocks]
            assert shape == [block.chunks for block in theirs.blocks]
        if meta["class"] == "normative" and number not in RECODED | REORDERED:
            assert ours.time_indexes == theirs.time_indexes
            assert _lines(grown) == _lines(folder / meta["pack"])
    assert_sound(grown)


def _lines(path: Path) -> list[str]:
    """Return the description without the sizes: the compression effort is ours."""
    text = describe.text(describe.describe([path.name], root=str(path.parent)))
    return [line for line in text.splitlines() if "index" in line or "total blocks" in line]


@pytest.mark.parametrize("entry", CORRUPT, ids=lambda entry: entry["file"])
def test_corrupt_targets_are_refused_or_kept(entry: dict[str, Any], tmp_path: Path) -> None:
    target = tmp_path / entry["file"]
    shutil.copyfile(VECTORS / "packfile/corrupt" / entry["file"], target)
    before = target.read_bytes()
    source = tmp_path / "new.json"
    source.write_text('{"new": 1}\n')
    if entry["file"] == LATER:
        with pytest.raises(UnsupportedError):
            sdb.append(target, [source])
        return
    try:
        result = sdb.append(target, [source], block_bytes=1 << 30)
    except CorruptError:
        assert entry["must_fail_at"] != "none"
        assert target.read_bytes() == before
        assert sorted(tmp_path.iterdir()) == sorted([source, target])
        return
    # Damage in blocks that an append does not read stays as it is, for `validate-file` to find.
    assert entry["must_fail_at"] != "open"
    assert result.rows_added == 1
    assert target.read_bytes()[: result.copied_bytes] == before[: result.copied_bytes]
    sound = entry["must_fail_at"] == "none" or entry["file"] in HEALED
    assert (sdb.validate(target).findings == ()) is sound
