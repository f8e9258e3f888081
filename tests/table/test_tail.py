"""Log files that are followed: each line once, whatever happens to files, programs and tables."""

from __future__ import annotations

import gzip
import os
import shutil
import threading
import time
from collections import Counter
from contextlib import suppress
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sdb
from sdb.errors import UsageError
from sdb.records import replace
from sdb.table.catalog.handle import find_table
from sdb.table.catalog.root import TableRoot, table_root
from sdb.table.commit.commit import commit
from sdb.table.feed import lines, logs
from sdb.table.feed.events import Remark
from sdb.table.feed.lines import BatchBounds, LineFeed, LineTarget, Streamed
from sdb.table.feed.logs import LogFiles, LogSource
from sdb.table.format.keys import TableKeys
from sdb.table.format.positions import SAMPLE_BYTES, LogPosition, is_position
from sdb.table.tail import folders, followed, lookout
from sdb.table.tail.logtext import FileFacts, LogCursor, PlainText, open_text
from sdb.table.tail.names import LogNames, is_kin, rotated_base

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from sdb.table.feed.events import FeedEvent


class Follower:
    """A program that follows files, which can be looked at between its steps."""

    def __init__(self, root: TableRoot, *names: str, settle: float = 0.0, **more: Any) -> None:
        self.said: list[str] = []
        self.so_far = Streamed()
        target = LineTarget(
            root,
            TableKeys("d", "t"),
            partition=None,
            on_errors=more.pop("on_errors", None),
            options={"threads": 1},
        )
        self.feed = LineFeed(target, threading.Event(), self._hear, self.so_far)
        bounds = more.pop("batch", BatchBounds(0.1))
        files = LogFiles(
            LogNames(names), bounds, settle_seconds=settle, format=more.pop("form", None)
        )
        self.source = LogSource(self.feed, files)
        self.source.begin()

    def _hear(self, event: FeedEvent) -> None:
        if isinstance(event, Remark):
            self.said.append(event.text)

    def take(self) -> None:
        while (batch := self.source.next(is_due=True)) is not None:
            self.feed.take(batch)
            if not batch.has_more:
                break

    def close(self) -> None:
        self.source.lookout.close()


@pytest.fixture
def root(tmp_path: Path) -> TableRoot:
    return made(tmp_path)


def made(folder: Path) -> TableRoot:
    (folder / "lake").mkdir()
    sdb.connect(folder / "lake").create("d.t", "in/*.json")
    return table_root(folder / "lake")


@pytest.fixture
def follow(root: TableRoot, tmp_path: Path) -> Iterator[Callable[..., Follower]]:
    running: list[Follower] = []

    def begin(*names: str, **more: Any) -> Follower:
        paths = [str(tmp_path / name) for name in names or ("app.log",)]
        running.append(Follower(root, *paths, **more))
        return running[-1]

    yield begin
    for follower in running:
        follower.close()


def numbers(root: TableRoot) -> list[int]:
    table = sdb.connect(root.location).table("d.t")
    return sorted(table.to_arrow().column("n").to_pylist()) if len(table) else []


def write(path: Path, *wanted: int, end: str = "\n") -> None:
    text = "\n".join(f'{{"n": {number}}}' for number in wanted) + end
    with path.open("a") as file:
        file.write(text)


def test_lines_are_taken_once_over_restarts(
    root: TableRoot, tmp_path: Path, follow: Callable[..., Follower]
) -> None:
    log = tmp_path / "app.log"
    write(log, 1, 2)
    first = follow()
    first.take()
    write(log, 3)
    first.take()
    assert numbers(root) == [1, 2, 3]
    write(log, 4)
    follow().take()
    assert numbers(root) == [1, 2, 3, 4]
    assert first.so_far.versions == 2


def test_a_line_without_its_end_waits_until_the_file_was_rotated(
    root: TableRoot, tmp_path: Path, follow: Callable[..., Follower]
) -> None:
    log = tmp_path / "app.log"
    write(log, 1)
    write(log, 2, end="")
    first = follow()
    first.take()
    assert numbers(root) == [1]
    write(log, 3, end="")  # one line now, {"n": 2}{"n": 3}
    log.rename(tmp_path / "app.log.1")
    write(log, 4)
    first.take()
    assert numbers(root) == [1, 2, 3, 4]
    assert "app.log.1: the last line has no end: taken, since it was rotated" in str(first.said)


@pytest.mark.parametrize("is_running", [True, False])
def test_several_rotations_between_two_looks(
    root: TableRoot, tmp_path: Path, follow: Callable[..., Follower], *, is_running: bool
) -> None:
    log = tmp_path / "app.log"
    write(tmp_path / "app.log.7", 99)  # rotated before anybody followed it
    os.utime(tmp_path / "app.log.7", (1, 1))
    write(log, 1)
    follower = follow()
    follower.take()
    for number in range(2, 5):
        write(log, number * 10, number * 10 + 1)
        for old in (3, 2, 1):
            path = tmp_path / f"app.log.{old}"
            if path.exists():
                path.rename(tmp_path / f"app.log.{old + 1}")
        log.rename(tmp_path / "app.log.1")
    write(log, 50)
    (follower if is_running else follow()).take()
    assert numbers(root) == [1, 20, 21, 30, 31, 40, 41, 50]


def test_what_was_rotated_and_compressed_is_the_same_file(
    root: TableRoot, tmp_path: Path, follow: Callable[..., Follower]
) -> None:
    log = tmp_path / "app.log"
    write(log, 1, 2)
    follow("app.log*").take()
    write(log, 3)
    pack(log, tmp_path / "app.log.1.gz")
    write(log, 4)
    follower = follow("app.log*")
    follower.take()
    assert numbers(root) == [1, 2, 3, 4]
    follow("app.log*").take()
    assert numbers(root) == [1, 2, 3, 4]


def pack(path: Path, to: Path) -> None:
    """As gzip does it."""
    facts = path.stat()
    to.write_bytes(gzip.compress(path.read_bytes()))
    os.utime(to, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    path.unlink()


def test_truncation_is_said(
    root: TableRoot, tmp_path: Path, follow: Callable[..., Follower]
) -> None:
    log = tmp_path / "app.log"
    write(log, 1, 2)
    follower = follow()
    follower.take()
    log.write_text("")
    write(log, 3)
    follower.take()
    assert numbers(root) == [1, 2, 3]
    assert follower.said == [
        f"{log}: truncated; what was written behind byte 18 before that is lost, if anything was"
    ]


def test_copytruncate_loses_no_line_of_the_copy(
    root: TableRoot, tmp_path: Path, follow: Callable[..., Follower]
) -> None:
    log = tmp_path / "app.log"
    write(log, 1)
    follower = follow("app.log*")
    follower.take()
    write(log, 2)
    shutil.copyfile(log, tmp_path / "app.log.1")
    follower.take()  # before it is truncated
    assert numbers(root) == [1, 2]
    write(log, 3)
    shutil.copyfile(log, tmp_path / "app.log.1")
    log.write_text("")
    write(log, 4, 5, 6, 7, 8)  # it is longer than before
    follower.take()
    assert numbers(root) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert f"{log}: truncated; {log}.1 is a copy, and read on" in follower.said


def test_a_hole_at_the_start_is_skipped(
    root: TableRoot, tmp_path: Path, follow: Callable[..., Follower]
) -> None:
    log = tmp_path / "app.log"
    write(log, 1)
    follower = follow()
    follower.take()
    with log.open("r+b") as file:  # a program that writes on where it was
        file.truncate(0)
        file.seek(5 << 20)
        file.write(b'{"n": 2}\n')
    follower.take()
    write(log, 3)
    follow().take()
    assert numbers(root) == [1, 2, 3]
    assert f"{log}: a hole of 5,242,880 bytes at its start" in follower.said


def test_two_programs_take_each_line_once(
    root: TableRoot, tmp_path: Path, follow: Callable[..., Follower]
) -> None:
    log = tmp_path / "app.log"
    write(log, 1)
    both = follow(), follow()
    for number in range(2, 12):
        both[number % 2].take()
        write(log, number)
    both[0].take()
    both[1].take()
    assert numbers(root) == list(range(1, 12))
    assert "another program" in str(both[1].said)


def test_several_machines(root: TableRoot, tmp_path: Path, follow: Callable[..., Follower]) -> None:
    def on(host: str, name: str) -> Follower:
        with patch("os.uname", lambda: SimpleNamespace(nodename=host)):
            return follow(name)

    # Logs of other machines, of which the first lines are the same.
    write(tmp_path / "a.log", 1)
    write(tmp_path / "b.log", 1)
    machines = on("one", "a.log"), on("two", "b.log")
    for machine in machines:
        machine.take()
    assert numbers(root) == [1, 1]
    # One file that both can see.
    shared = tmp_path / "c.log"
    write(shared, *range(10, 200))
    first = on("one", "c.log")
    first.take()
    second = on("two", "c.log")
    second.take()
    assert numbers(root) == [1, 1, *range(10, 200)]
    assert "one has taken it up to byte" in str(second.said)
    for number in range(200, 220):
        write(shared, number)
        (first, second)[number // 3 % 2].take()
    first.take()
    second.take()
    assert numbers(root) == [1, 1, *range(10, 220)]
    # Copies that go on, each by itself.
    shutil.copyfile(shared, tmp_path / "d.log")
    third = on("three", "d.log")
    third.take()
    write(shared, 300)
    write(tmp_path / "d.log", 400)
    for machine in (first, third, second, first, third):
        machine.take()
    assert numbers(root) == [1, 1, *range(10, 220), 300, 400]


def test_a_restored_version_takes_again_what_it_has_not(
    root: TableRoot, tmp_path: Path, follow: Callable[..., Follower]
) -> None:
    log = tmp_path / "app.log"
    write(log, 1)
    follower = follow()
    follower.take()
    write(log, 2)
    follower.take()
    sdb.connect(root.location).table("d.t").restore("1")
    assert numbers(root) == [1]
    write(log, 3)
    follower.take()
    assert numbers(root) == [1, 2, 3]


def test_positions_outlive_a_program_that_overwrites_the_index(
    root: TableRoot, tmp_path: Path, follow: Callable[..., Follower]
) -> None:
    log = tmp_path / "app.log"
    write(log, 1)
    follower = follow()
    follower.take()
    index = tmp_path / "lake/db/d/t/index"
    before = find_table(root, "d", "t")
    assert before is not None
    for number in range(2, 5):
        write(log, number)
        follower.take()
    # As the original does, which has read the index before, and knows of no versions.
    theirs = replace(before.index, created_us=before.index.created_us + 10**9)
    index.write_bytes(theirs.encode(root.keyring))
    write(log, 5)
    follower.take()
    assert numbers(root) == [1, 2, 3, 4, 5]
    assert [position.offset for position in positions(root)] == [45]
    follow().take()
    assert numbers(root) == [1, 2, 3, 4, 5]


def test_files_of_equal_lines_are_files_of_their_own(
    root: TableRoot, tmp_path: Path, follow: Callable[..., Follower]
) -> None:
    write(tmp_path / "a.log", 1)
    write(tmp_path / "b.log", 1)
    follower = follow("*.log")
    follower.take()
    assert numbers(root) == [1, 1]
    (tmp_path / "a.log").unlink()
    write(tmp_path / "a.log", 1)
    write(tmp_path / "c.log", 2)  # it appears later
    follower.take()
    follow("*.log").take()
    assert numbers(root) == [1, 1, 1, 2]


def tick(path: Path, count: int) -> None:
    """Write lines that are all the same."""
    with path.open("a") as file:
        file.write('{"n": 0, "msg": "health check passed"}\n' * count)


@pytest.mark.parametrize("is_running", [True, False])
@pytest.mark.parametrize("name", ["app.log", "app.log*"])
def test_a_new_log_with_the_lines_of_the_rotated_one_is_taken(
    root: TableRoot, tmp_path: Path, follow: Callable[..., Follower], name: str, *, is_running: bool
) -> None:
    log = tmp_path / "app.log"
    tick(log, 100)
    follower = follow(name)
    follower.take()
    log.rename(tmp_path / "app.log.2")
    tick(tmp_path / "app.log.1", 140)  # it came, and was rotated, while nobody looked
    time.sleep(0.02)  # times of files are no finer
    tick(log, 150)
    follower = follower if is_running else follow(name)
    follower.take()
    assert len(numbers(root)) == 390
    write(log, 1, 2)
    follower.take()
    follow(name).take()
    assert len(numbers(root)) == 392
    assert follower.said == []


@pytest.mark.parametrize("is_running", [True, False])
def test_lines_behind_a_banner_are_those_of_their_file(
    root: TableRoot, tmp_path: Path, follow: Callable[..., Follower], *, is_running: bool
) -> None:
    log = tmp_path / "app.log"
    tick(log, 40)
    follower = follow()
    follower.take()
    write(log, *range(100, 110))
    log.rename(tmp_path / "app.log.1")
    tick(log, 40)
    write(log, *range(200, 210))
    (follower if is_running else follow()).take()
    assert numbers(root) == [0] * 80 + [*range(100, 110), *range(200, 210)]


def test_a_new_log_with_the_inode_of_one_that_was_packed_is_taken(
    root: TableRoot, tmp_path: Path, follow: Callable[..., Follower]
) -> None:
    log = tmp_path / "app.log"
    tick(log, 100)
    inode = log.stat().st_ino
    follow().take()
    pack(log, tmp_path / "app.log.1.gz")
    others = []
    for number in range(100):  # a file system gives inodes away again
        others.append(tmp_path / f"other{number}")
        tick(others[-1], 150)
        if others[-1].stat().st_ino == inode:
            break
    others[-1].rename(log)
    follow().take()
    assert len(numbers(root)) == 250


def test_logs_of_other_names_with_equal_lines_are_both_taken(
    root: TableRoot, tmp_path: Path, follow: Callable[..., Follower]
) -> None:
    tick(tmp_path / "a.log", 100)
    tick(tmp_path / "b.log", 120)
    follower = follow("*.log")
    follower.take()
    assert len(numbers(root)) == 220
    assert "b.log: begins as" in str(follower.said)
    assert ": both are taken" in str(follower.said)


@pytest.mark.parametrize("is_running", [True, False])
def test_a_log_that_was_replaced_by_a_copy_is_read_on_which_is_said(
    root: TableRoot, tmp_path: Path, follow: Callable[..., Follower], *, is_running: bool
) -> None:
    log = tmp_path / "app.log"
    write(log, *range(200))
    with log.open("a") as file:
        file.write('{"n": 2')
    follower = follow()
    follower.take()
    shutil.copyfile(log, tmp_path / "new")
    with (tmp_path / "new").open("a") as file:
        file.write("00}\n")
    (tmp_path / "new").rename(log)
    follower = follower if is_running else follow()
    follower.take()
    follower.take()
    assert numbers(root) == list(range(201))
    assert "another file than before, which begins with what was taken" in str(follower.said)
    assert len(follower.said) == 1


def test_a_copy_that_nobody_truncates_is_not_taken(
    root: TableRoot, tmp_path: Path, follow: Callable[..., Follower]
) -> None:
    log = tmp_path / "app.log"
    tick(log, 100)
    time.sleep(0.02)
    shutil.copyfile(log, tmp_path / "app.log.1")
    tick(log, 10)
    for _ in range(2):
        follow("app.log*").take()
        assert len(numbers(root)) == 110


@pytest.mark.parametrize("days", [-1, 1])
def test_a_wrong_clock_cuts_no_line_that_is_being_written(
    root: TableRoot,
    tmp_path: Path,
    follow: Callable[..., Follower],
    monkeypatch: pytest.MonkeyPatch,
    days: int,
) -> None:
    log, ahead = tmp_path / "app.log", 86_400.0 * days
    moved, good = [0.0], time.monotonic
    monkeypatch.setattr(followed.time, "time", lambda: time.time_ns() / 1e9 + ahead)
    monkeypatch.setattr(followed.time, "monotonic", lambda: good() + moved[0])
    write(log, 1)
    follower = follow("app.log", settle=5.0)
    follower.take()
    write(log, 2, end="")
    follower.take()
    log.rename(tmp_path / "app.log.1")
    write(log, 3)
    follower.take()
    assert numbers(root) == [1, 3], "the program may go on with the line"
    moved[0] = 6.0
    follower.take()
    assert numbers(root) == [1, 2, 3]


class Rotator:
    """Rotates a log twice at one of the moments at which a program looks at files."""

    def __init__(self, folder: Path, moment: int) -> None:
        self.folder, self.log, self.left = folder, folder / "app.log", moment
        self.count = 0

    def write(self, lines: int = 12) -> None:  # more bytes than a sample has
        write(self.log, *range(self.count, self.count + lines))
        self.count += lines

    def rotate(self) -> None:
        ages = {int(path.name.split(".")[2]): path for path in self.folder.glob("app.log.*")}
        for age, path in sorted(ages.items(), reverse=True):
            path.rename(self.folder / path.name.replace(f".{age}", f".{age + 1}"))
        self.log.rename(self.folder / "app.log.1")
        second = self.folder / "app.log.2"
        if second.exists():
            packed = second.with_suffix(".2.gz")
            packed.write_bytes(gzip.compress(second.read_bytes()))
            shutil.copystat(second, packed)
            second.unlink()
        self.write()

    def at_each(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def called(*args: Any) -> Any:
            self.left -= 1
            if self.left == 0:
                self.rotate()
                self.rotate()
            return call(*args)

        return called


@pytest.mark.parametrize("name", ["app.log", "app.log*"])
@pytest.mark.parametrize("state", ["killed", "open", "quiet"])
def test_a_rotation_at_any_moment_of_a_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, state: str
) -> None:
    if state == "quiet":  # files are closed soon
        monkeypatch.setattr(lookout, "QUIET_SECONDS", 0)
        monkeypatch.setattr(logs, "QUIET_SECONDS", 0)
    moment, rotator = 0, Rotator(tmp_path, 1)
    while rotator.left <= 0 or not moment:
        moment += 1
        folder = tmp_path / str(moment)
        folder.mkdir()
        root, rotator = made(folder), Rotator(folder, moment)
        follower = Follower(root, str(folder / name))
        for _ in range(3):
            rotator.write()
            follower.take()
            rotator.rotate()
        if state == "killed":
            follower.close()
            follower = Follower(root, str(folder / name))
        with (
            patch.object(folders, "_inodes", rotator.at_each(folders._inodes)),
            patch.object(FileFacts, "of", rotator.at_each(FileFacts.of)),
            patch.object(lookout, "open_text", rotator.at_each(open_text)),
            patch.object(followed, "open_text", rotator.at_each(open_text)),
        ):
            follower.take()
        for _ in range(2):
            follower.take()
        follower.close()
        assert numbers(root) == list(range(rotator.count)), (moment, follower.said)
    assert moment > 5


@pytest.mark.parametrize("are_files_ahead", [True, False])
def test_a_clock_that_was_ahead_hides_no_rotated_files(
    root: TableRoot, tmp_path: Path, follow: Callable[..., Follower], *, are_files_ahead: bool
) -> None:
    log, now = tmp_path / "app.log", time.time()
    write(tmp_path / "app.log.9", 99)
    os.utime(tmp_path / "app.log.9", (now - 9, now - 9))  # rotated before anybody followed it
    write(log, 1)
    if are_files_ahead:
        os.utime(log, (now + 3600, now + 3600))
    with patch("time.time", lambda: now + 3600):
        follow().take()
    for number in (2, 4):
        log.rename(tmp_path / f"app.log.{8 - number}")
        write(tmp_path / f"app.log.{7 - number}", number)
        write(log, number + 1)
        follow().take()
    assert numbers(root) == [1, 2, 3, 4, 5]


def test_inputs_of_the_table_are_refused(tmp_path: Path, follow: Callable[..., Follower]) -> None:
    (tmp_path / "lake/in").mkdir()
    write(tmp_path / "lake/in/a.json", 1)
    with pytest.raises(UsageError, match=r"a\.json: fits the pattern file://in/\*\.json of"):
        follow("lake/in/*.json").take()


def test_an_entry_is_used_again_after_a_month(
    root: TableRoot, tmp_path: Path, follow: Callable[..., Follower]
) -> None:
    log = tmp_path / "app.log"
    with patch.object(lookout, "FORGET_SECONDS", -1), patch.object(lookout, "QUIET_SECONDS", 0):
        follower = follow()
        for number in range(6):
            write(log, number)
            follower.take()
            log.rename(tmp_path / "app.log.1")
            follower.take()
            follower.take()
    assert numbers(root) == list(range(6))
    assert len(positions(root)) < 4


def positions(root: TableRoot) -> list[LogPosition]:
    table = sdb.connect(root.location).table("d.t")
    handle = find_table(root, "d", "t")
    assert table.validate().ok
    assert handle is not None
    entries = list(handle.inputs.walk())
    assert all(is_position(entry.path) for entry in entries)
    return [LogPosition.from_text(entry.etag) for entry in entries]


def test_lines_are_cut_to_the_size_of_a_batch(
    root: TableRoot, tmp_path: Path, follow: Callable[..., Follower]
) -> None:
    write(tmp_path / "a.log", *range(10))
    write(tmp_path / "b.log", *range(10, 13))
    follower = follow("*.log", batch=BatchBounds(0.1, most_lines=4))
    follower.take()
    assert numbers(root) == list(range(13))
    assert follower.so_far.versions == 4
    follower = follow("*.log", batch=BatchBounds(0.1, most_bytes=20))
    write(tmp_path / "b.log", *range(13, 20))
    follower.take()
    assert numbers(root) == list(range(20))
    assert follower.so_far.versions == 4


@pytest.mark.parametrize(
    ("name", "base"),
    [
        ("app.log.1", "app.log"),
        ("app.log.12.gz", "app.log"),
        ("app.log-20261126", "app.log"),
        ("app.log-20261126.gz", "app.log"),
        ("app-20261126.log", "app.log"),
        ("app.2026-11-26.log.gz", "app.log"),
        ("app.log.old", "app.log"),
        ("app.log.gz", "app.log"),
        ("0.log.20261126-120000", "0.log"),
        ("app.log", ""),
        ("app2.log", ""),
        ("syslog", ""),
    ],
)
def test_names_of_rotated_files(name: str, base: str) -> None:
    assert rotated_base(f"/var/log/{name}") == (f"/var/log/{base}" if base else "")
    assert is_kin(f"/l/{name}", f"/l/{base}") is bool(base)


def test_long_lines_are_cut(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    path.write_bytes(b"a\n" + b"x" * (5 << 20))
    opened = open_text(str(path))
    assert opened is not None
    text = opened[0]
    assert isinstance(text, PlainText)
    first = LogCursor().piece(text, 1000)
    assert first is not None
    assert (first.data, first.end) == (b"a\n", 2)
    behind = LogCursor().behind(first)
    assert behind.piece(text, 1000) is None
    with path.open("ab") as file:
        file.write(b"x\nb\n")
    long = behind.piece(text, 1000)
    assert long is not None
    assert (long.data, long.is_shortened) == (b"x" * (4 << 20) + b"\n", True)
    last = behind.behind(long).piece(text, 1000)
    assert last is not None
    assert last.data == b"b\n"
    text.close()


STEPS = st.lists(
    st.sampled_from(
        "append append part late rotate gzip copytruncate truncate replace look look restart "
        "crash-before crash-after".split()
    ),
    max_size=25,
)


class Model:
    """A folder with a log that is written and rotated, and what has become of each line.

    * ``kind``: Whether all lines are equal, or each file begins with the same ones.
    """

    def __init__(self, folder: Path, kind: str = "") -> None:
        self.folder, self.log, self.kind = folder, folder / "app.log", kind
        self.wanted: Counter[int] = Counter()  # lines that must be in the table in the end
        self.maybe: Counter[int] = Counter()  # lines that were truncated, or are not over
        self.count = 0
        self.unread: list[int] = []  # lines of the log that nobody may have read

    def line(self) -> int:
        self.count += 1
        return 0 if self.kind == "equal" else self.count

    def write(self, path: Path, number: int, *, is_cut: bool = False) -> None:
        """Write a line, of which three are longer than a sample if all are equal."""
        if not path.exists() or not path.stat().st_size:
            self.begin(path)
        pad = f', "p": "{"x" * 400}"' if number <= 0 else ""
        with path.open("a") as file:
            file.write(f'{{"n": {number}{pad}')
        if is_cut:
            self.step()
        with path.open("a") as file:
            file.write("}\n")
        self.wanted[number] += 1
        if path == self.log:
            self.unread.append(number)

    def begin(self, path: Path) -> None:
        if self.kind == "banner":
            path.write_text(f'{{"n": -1, "p": "{"b" * 1100}"}}\n' * 2)
            self.wanted[-1] += 2
            self.unread += [-1, -1]

    def append(self) -> None:
        self.write(self.log, self.line())

    def part(self) -> None:
        """Write a line in two pieces."""
        self.write(self.log, self.line(), is_cut=True)

    def step(self) -> None:
        """Is replaced by a look of the program."""

    def late(self) -> None:
        """Write to the file that was just rotated, as programs do that have not heard of it."""
        rotated = self.folder / "app.log.1"
        if rotated.exists():
            self.write(rotated, self.line())

    def rotate(self) -> None:
        self.shift()
        if self.log.exists():
            self.log.rename(self.folder / "app.log.1")
            self.unread = []

    def shift(self) -> None:
        for old in range(30, 0, -1):
            for ending in ("", ".gz"):
                path = self.folder / f"app.log.{old}{ending}"
                if path.exists():
                    path.rename(self.folder / f"app.log.{old + 1}{ending}")

    def gzip(self) -> None:
        for old in range(2, 30):
            path = self.folder / f"app.log.{old}"
            if path.exists():
                pack(path, self.folder / f"app.log.{old}.gz")

    def copytruncate(self) -> None:
        if self.log.exists() and self.log.stat().st_size:
            self.shift()
            shutil.copyfile(self.log, self.folder / "app.log.1")
            self.empty()

    def truncate(self) -> None:
        if self.log.exists():
            self.wanted -= Counter(self.unread)
            self.maybe += Counter(self.unread)
            self.empty()

    def empty(self) -> None:
        """Truncate the log; what grows again with the same lines beyond its size tells nobody."""
        self.log.write_text("")
        self.unread = []
        if self.kind:
            self.step()
            self.append()
            self.step()

    def replace(self) -> None:
        """Replace the log by a copy, as programs do that bring it from elsewhere."""
        if self.log.exists() and self.log.stat().st_size > SAMPLE_BYTES:
            self.step()  # fewer bytes are no proof
            shutil.copyfile(self.log, self.folder / "new")
            (self.folder / "new").rename(self.log)


class KilledError(BaseException):
    """Ends a program where it is."""


@pytest.mark.parametrize("quiet", [0, 60])
@pytest.mark.parametrize(
    "steps",
    [
        "rotate part rotate rotate gzip",
        "look copytruncate append",
        "rotate part rotate gzip look rotate gzip look restart",
    ],
)
def test_what_was_lost_once(tmp_path: Path, steps: str, quiet: int) -> None:
    for name in ("app.log", "app.log*"):
        folder = tmp_path / name.replace("*", "x")
        folder.mkdir()
        with patch.object(lookout, "QUIET_SECONDS", quiet):
            play(folder, steps.split(), name, has_late=bool(quiet))


@pytest.mark.timeout(3600 if "SDB_TAIL_EXAMPLES" in os.environ else 300)
@settings(
    deadline=None,
    max_examples=int(os.environ.get("SDB_TAIL_EXAMPLES", "40")),
    derandomize="SDB_TAIL_EXAMPLES" not in os.environ,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(
    STEPS,
    st.sampled_from(["app.log", "app.log*"]),
    st.sampled_from([0, 60]),
    st.sampled_from(["", "equal", "banner"]),
)
def test_each_line_is_taken_once(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str], name: str, quiet: int, kind: str
) -> None:
    folder = tmp_path_factory.mktemp("model")
    with patch.object(lookout, "QUIET_SECONDS", quiet):
        play(folder, steps, name, kind, has_late=bool(quiet))


def play(folder: Path, steps: list[str], name: str, kind: str = "", *, has_late: bool) -> None:
    root, model = made(folder), Model(folder, kind)
    model.append()  # rotated files before the first look are of no interest without a pattern
    follower = Follower(root, str(folder / name))
    follower.take()
    model.unread = []

    def look() -> None:
        follower.take()
        model.unread = []

    model.step = look  # type: ignore[method-assign]
    for step in steps:
        if step == "look":
            look()
        elif step == "restart":
            follower.close()
            follower = Follower(root, str(folder / name))
        elif step.startswith("crash"):
            with suppress(KilledError), patch.object(lines, "commit", killed(step)):
                follower.take()
            follower.close()
            follower = Follower(root, str(folder / name))
        elif step != "late" or has_late:
            getattr(model, step)()
    look()
    follower.close()
    follower = Follower(root, str(folder / name))
    look()
    follower.close()
    rows = Counter(numbers(root))
    assert model.wanted <= rows <= model.wanted + model.maybe, (kind, steps, follower.said)


def killed(step: str) -> Any:
    def die(*arguments: Any, **more: Any) -> None:
        if step == "crash-after":
            commit(*arguments, **more)
        raise KilledError

    return die


def test_a_record_of_several_lines_is_taken_as_a_whole(
    root: TableRoot, tmp_path: Path, follow: Callable[..., Follower]
) -> None:
    log = tmp_path / "app.log"

    def add(text: str) -> None:
        with log.open("a") as file:
            file.write(text)

    def messages() -> list[str]:
        table = sdb.connect(root.location).table("d.t")
        return [row["message"] for row in table.rows()]

    add("2026-11-28 12:00:00,123 ERROR [main] com.x.Y - one\n\tat a.b(C.java:1)\n")
    first = follow(settle=3600, form="java")
    first.take()
    assert first.so_far.rows == 0
    add("\tat a.b(C.java:2)\n2026-11-28 12:00:01,123 INFO [main] com.x.Y - two\n")
    first.take()
    assert messages() == ["one\n\tat a.b(C.java:1)\n\tat a.b(C.java:2)"]
    first.close()  # what was held back is read again
    add("more of two\n2026-11-28 12:00:02,123 INFO [main] com.x.Y - three\n")
    again = follow(settle=3600, form="java", batch=BatchBounds(0.1, most_lines=1))
    again.take()
    assert messages()[1:] == ["two\nmore of two"]
    follow(form="java").take()  # nobody has written to it for long enough
    assert messages()[2:] == ["three"]
