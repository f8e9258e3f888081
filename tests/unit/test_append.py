from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb import ion
from sdb.errors import (
    ConflictError,
    CorruptError,
    ExistsError,
    InputError,
    NotFoundError,
    UnsupportedError,
    UsageError,
)
from sdb.packfile.write import append as module
from tests.property.test_append import assert_sound, stored

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from sdb.store.base import Draft

ROOT = Path(__file__).parents[2]
DAY = "2021-01-{:02}T00:00:00Z"
SMALL: dict[str, Any] = {"block_bytes": 4096}


def lines(*rows: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def times(start: int, stop: int, field: str = "ts", **more: object) -> bytes:
    return lines(*({field: DAY.format(day), "day": day, **more} for day in range(start, stop)))


class Folder:
    """Writes inputs and packs them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.pack = path / "x.zion"

    def input(self, data: bytes, name: str = "x.json") -> Path:
        (self.path / name).write_bytes(data)
        return self.path / name

    def new(self, data: bytes, **options: Any) -> Path:
        sdb.pack([self.input(data)], self.pack, overwrite=True, **options)
        return self.pack

    def append(self, data: bytes, **options: Any) -> Any:
        return sdb.append(self.pack, [self.input(data)], **options)

    def indexed(self) -> list[str]:
        assert_sound(self.pack)
        with sdb.open(self.pack) as pack:
            return [".".join(path) for path in pack.time_indexes]

    def without_summary(self) -> None:
        """Make the file one of another writer."""
        data = self.pack.read_bytes()
        with sdb.open(self.pack) as pack:
            old = pack.trailer
        sparse = replace(old.sparse, summary=None)
        self.pack.write_bytes(data[: old.offset] + replace(old, sparse=sparse).encode())


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_result(folder: Folder) -> None:
    folder.new(times(1, 5))
    before = folder.pack.stat().st_size
    result = folder.append(times(5, 9))
    assert (result.rows_added, result.rows_total, result.inputs, result.attempts) == (4, 8, 1, 1)
    assert result.output_bytes == folder.pack.stat().st_size
    assert result.copied_bytes + result.written_bytes == result.output_bytes
    assert 0 < result.read_bytes <= 2 * before
    assert result.seconds > 0
    assert result.trailer.rows == 8
    assert result.text_bytes == len(times(5, 9))


def test_ranges_of_what_stays_go_on(folder: Folder) -> None:
    """The new rows lack the field (D5), or have it before or after the old ones."""
    folder.new(times(10, 15), align_bytes=512, **SMALL)
    folder.append(lines(*({"other": n} for n in range(100))), **SMALL)
    assert folder.indexed() == ["ts"]
    folder.append(times(1, 3), **SMALL)
    folder.append(times(20, 22), **SMALL)
    assert folder.indexed() == ["ts"]
    with sdb.open(folder.pack) as pack:
        assert pack.time_index().first_us == ion.instant_to_us(_day(1))
        assert len(list(pack.rows(since=DAY.format(21)))) == 1


def _day(day: int) -> object:
    from datetime import UTC, datetime

    return datetime(2021, 1, day, tzinfo=UTC)


@pytest.mark.parametrize("summary", [True, False])
def test_new_paths_are_indexed_only_where_the_old_rows_have_none(
    folder: Folder, *, summary: bool
) -> None:
    rows = times(1, 3) * 50 + lines({"rare": DAY.format(9)})
    folder.new(rows, align_bytes=512, **SMALL)
    if not summary:
        folder.without_summary()
    assert folder.indexed() == ["ts"]
    result = folder.append(times(1, 9, "new", rare=DAY.format(1)) * 50, **SMALL)
    assert folder.indexed() == (["new", "ts"] if summary else ["ts"])
    assert result.rows_total == (501 if summary else None)


def test_a_summary_is_made_when_all_rows_were_seen(folder: Folder) -> None:
    folder.new(times(1, 3))
    folder.without_summary()
    result = folder.append(times(1, 9, "new"))
    assert result.copied_bytes == 0, "one chunk, which is packed again"
    assert folder.indexed() == ["new", "ts"]
    assert result.rows_total == 10


def test_a_field_is_indexed_only_if_all_inputs_count_its_times(folder: Folder) -> None:
    """Of Ion only the top level is indexed, of JSON one level more, but an index stays right."""
    nested = lines(*({"n": {"t": DAY.format(day)}} for day in range(1, 9)))
    ion_file = folder.path / "x.ion"
    folder.new(nested)
    with ion_file.open("wb") as file:
        sdb.unpack([folder.pack], file, fmt="ion")
    sdb.pack([ion_file], folder.pack, overwrite=True)
    assert folder.indexed() == []
    sdb.pack([folder.input(nested), ion_file], folder.pack, overwrite=True)
    assert folder.indexed() == []
    folder.new(nested)
    assert folder.indexed() == ["n.t"]
    sdb.append(folder.pack, [ion_file])
    assert folder.indexed() == ["n.t"], "an old index makes all of them count"


def test_hints_cannot_hide_times_from_an_index(folder: Folder) -> None:
    folder.new(times(1, 9))
    hints = b'{"ts": ["datetime", "no_index"], "*": "default"}'
    sdb.append(folder.pack, [folder.input(times(9, 20))], hints=hints)
    assert folder.indexed() == ["ts"]


def test_deep_fields_that_are_asked_for(folder: Folder) -> None:
    deep = lines(*({"a": {"b": {"t": DAY.format(day)}}} for day in range(1, 9)))
    folder.new(deep)
    assert folder.indexed() == []
    folder.new(deep, time_fields=[("a", "b", "t")])
    folder.append(deep)
    assert folder.indexed() == ["a.b.t"]


def test_a_time_field_that_comes_too_late(folder: Folder) -> None:
    folder.new(times(1, 3) * 50 + lines({"rare": DAY.format(9)}), align_bytes=512, **SMALL)
    before = folder.pack.read_bytes()
    with pytest.raises(UsageError, match="rare cannot be indexed"):
        folder.append(times(3, 4), time_fields=[("rare",)], **SMALL)
    assert folder.pack.read_bytes() == before
    folder.append(times(3, 4, "late"), time_fields=[("late",)], **SMALL)
    assert folder.indexed() == ["late", "ts"]


def test_constants(folder: Folder) -> None:
    constants = {"a": "eu", "b": 1}
    folder.new(times(1, 3), constants=constants)
    for item in ({"a": "eu"}, {}, {"a": "eu", "b": True}, {"x": 1}):
        with pytest.raises(UsageError, match="has other constants: a=eu, b=1"):
            folder.append(times(3, 4), constants=item)
    folder.append(times(3, 4))
    folder.append(times(4, 5), constants=constants)
    assert [row["a"] for row in stored(folder.pack)] == ["eu"] * 4
    assert_sound(folder.pack)


@pytest.mark.parametrize("data", [b"", b" \n\n", b"[]"])
def test_nothing_changes_nothing(folder: Folder, data: bytes) -> None:
    before = folder.new(times(1, 9)).read_bytes()
    status = folder.pack.stat()
    result = folder.append(data)
    assert (result.rows_added, result.rows_total, result.copied_by) == (0, 8, None)
    assert folder.pack.read_bytes() == before
    assert folder.pack.stat() == status
    other = folder.path / "other.zion"
    result = folder.append(data, output=other)
    assert other.read_bytes() == before
    assert result.copied_bytes == len(before)
    result = sdb.append(folder.pack, [folder.input(data), folder.input(times(9, 10), "y.json")])
    assert result.rows_total == 9
    assert_sound(folder.pack)


def test_a_packfile_without_rows_can_grow(folder: Folder) -> None:
    folder.new(b"", algorithm="zion+iguana_v0")
    assert folder.append(times(1, 3)).rows_total == 2
    assert folder.indexed() == ["ts"]
    with sdb.open(folder.pack) as pack:
        assert pack.trailer.algorithm == "zion+iguana_v0"


def test_old_block_lists(folder: Folder) -> None:
    folder.new(times(1, 3) * 50, align_bytes=512, **SMALL)
    data = folder.pack.read_bytes()
    with sdb.open(folder.pack) as pack:
        trailer = pack.trailer
        index = pack.time_index()
    blocks = [
        {
            "offset": block.offset,
            "chunks": block.chunks,
            "ranges": [{"path": ["ts"], "min": _day(1), "max": _day(2)}],
        }
        for block in trailer.blocks
    ]
    value = {"version": 1, "offset": trailer.offset, "algo": "zion+zstd", "blockshift": 9}
    tail = ion.dumps({**value, "blocks": blocks})
    folder.pack.write_bytes(data[: trailer.offset] + tail + len(tail).to_bytes(4, "little"))
    result = folder.append(times(9, 12), **SMALL)
    assert result.rows_total is None
    assert folder.indexed() == ["ts"]
    assert result.trailer.sparse.indices["ts",].first_us == index.first_us
    assert len(stored(folder.pack)) == 103


def test_errors_leave_everything_as_it_was(folder: Folder) -> None:
    before = folder.new(times(1, 3)).read_bytes()
    good, bad = folder.input(times(3, 9), "good.json"), folder.input(b'{"a": ', "bad.json")
    with pytest.raises(InputError):
        sdb.append(folder.pack, [good, bad])
    with pytest.raises(NotFoundError):
        sdb.append(folder.pack, [good, folder.path / "none.json"])
    with pytest.raises(UsageError):
        sdb.append(folder.pack, [])
    there = shutil.copy(folder.pack, folder.path / "there.zion")
    with pytest.raises(ExistsError):
        sdb.append(folder.pack, [good], output=there)
    with pytest.raises(UsageError):
        sdb.append(folder.pack, [good], output=bad)
    with pytest.raises(CorruptError):
        sdb.append(bad, [good])
    assert folder.pack.read_bytes() == before
    assert there.read_bytes() == before
    assert len(list(folder.path.iterdir())) == 5


def test_output_elsewhere(folder: Folder) -> None:
    before = folder.new(times(1, 3)).read_bytes()
    other = folder.path / "other.zion"
    assert folder.append(times(3, 4), output=other).path == str(other)
    assert (len(stored(other)), folder.pack.read_bytes()) == (3, before)
    folder.append(times(3, 4), output=str(folder.pack))
    assert len(stored(folder.pack)) == 3


def disturbed(monkeypatch: pytest.MonkeyPatch, disturbances: Iterator[Any]) -> None:
    """Change the packfile each time after it was opened."""
    real = module.create_from_prefix

    def create_from_prefix(*arguments: Any, **options: Any) -> AbstractContextManager[Draft]:
        next(disturbances, None)
        return real(*arguments, **options)

    monkeypatch.setattr(module, "create_from_prefix", create_from_prefix)
    monkeypatch.setattr(module, "_FIRST_PAUSE_SECONDS", 0.002)


def test_who_comes_second_starts_over(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another packfile takes the place of the one that was read, twice; input is a pipe."""
    folder.new(times(1, 2))
    disturbed(monkeypatch, (folder.new(times(1, 2 + n)) for n in (1, 2)))
    pipe = folder.path / "pipe"
    os.mkfifo(pipe)
    data = times(20, 22) * 20_000 + b"nonsense\n" + times(22, 24)
    writer = threading.Thread(target=pipe.write_bytes, args=[data])
    writer.start()
    rejected: list[Any] = []
    result = sdb.append(folder.pack, [pipe], format="json", on_error=rejected.append)
    writer.join(10)
    assert (result.attempts, result.rows_added, result.rows_total) == (3, 40_002, 40_005)
    assert (len(rejected), result.rejected) == (1, 1)
    assert_sound(folder.pack)


def test_giving_up(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.new(times(1, 2))
    disturbed(monkeypatch, (folder.new(times(1, 2 + n)) for n in range(9)))
    with pytest.raises(ConflictError, match="gave up after 3 attempts"):
        folder.append(times(20, 22), attempts=3)
    assert len(stored(folder.pack)) == 3


def test_permissions_and_links_stay(folder: Folder) -> None:
    folder.new(times(1, 2)).chmod(0o600)
    link = folder.path / "link.zion"
    link.symlink_to("x.zion")
    sdb.append(link, [folder.input(times(2, 3))])
    assert link.is_symlink()
    assert stat.S_IMODE(folder.pack.stat().st_mode) == 0o600
    assert len(stored(folder.pack)) == 2


def test_the_file_does_not_depend_on_threads(folder: Folder) -> None:
    folder.new(times(1, 9) * 1000, align_bytes=1 << 16)
    data = times(1, 20, text="x" * 100) * 3000
    grown = []
    for threads in (1, 2, 5):
        other = folder.path / f"{threads}.zion"
        folder.append(data, output=other, threads=threads, block_bytes=1 << 20)
        grown.append(other.read_bytes())
    assert grown[0] == grown[1] == grown[2]


def test_later_versions_can_only_be_read(folder: Folder) -> None:
    folder.new(times(1, 3))
    data = folder.pack.read_bytes()
    with sdb.open(folder.pack) as pack:
        old = pack.trailer
    folder.pack.write_bytes(data[: old.offset] + replace(old, version=2).encode())
    with pytest.raises(UnsupportedError, match="version 2"):
        folder.append(times(1, 3))
    with pytest.raises(UnsupportedError, match="version 2"):
        sdb.concat([folder.pack], folder.path / "other.zion")


def test_a_summary_that_is_wrong_is_found(folder: Folder) -> None:
    folder.new(times(1, 3) * 50, align_bytes=512, **SMALL)
    data = folder.pack.read_bytes()
    with sdb.open(folder.pack) as pack:
        old = pack.trailer
    assert old.sparse.summary
    summary = replace(old.sparse.summary, rows=(0,) * len(old.blocks))
    sparse = replace(old.sparse, summary=summary)
    folder.pack.write_bytes(data[: old.offset] + replace(old, sparse=sparse).encode())
    with pytest.raises(CorruptError, match="more rows than the trailer says"):
        folder.append(times(1, 3), block_bytes=1 << 30)


APPENDER = """
import json, sys, sdb
name, pack, folder = sys.argv[1:]
for number in range(25):
    path = f"{folder}/{name}.json"
    with open(path, "w") as file:
        file.write("".join(json.dumps({"who": name, "batch": number, "n": n}) for n in range(7)))
    sdb.append(pack, [path], threads=1)
"""


def test_eight_processes_append_to_one_file(folder: Folder) -> None:
    folder.new(lines({"who": "first", "batch": 0, "n": 0}))
    command = [sys.executable, "-c", APPENDER]
    processes = [
        subprocess.Popen(
            [*command, str(number), str(folder.pack), str(folder.path)],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        for number in range(8)
    ]
    assert [process.wait(100) for process in processes] == [0] * 8
    rows = stored(folder.pack)[1:]
    batches = [tuple(row.values()) for row in rows]
    for start in range(0, len(batches), 7):
        who, number, _ = batches[start]
        assert batches[start : start + 7] == [(who, number, n) for n in range(7)]
    assert len(set(batches)) == len(batches) == 8 * 25 * 7
    assert_sound(folder.pack)
    assert len(list(folder.path.iterdir())) == 8 + 2
