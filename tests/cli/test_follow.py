"""`sdb sync --follow`, as a service runs it."""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from tests.cli.conftest import COMMAND, environment
from tests.cli.service import SECONDS, Service

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.cli.conftest import Run


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    (tmp_path / "lake/in").mkdir(parents=True)
    sdb.connect(tmp_path / "lake").create("d.t", "in/*.json")
    return tmp_path / "lake"


@pytest.fixture
def serve(lake: Path) -> Iterator[Callable[..., Service]]:
    running: list[Service] = []

    def start(*more: str) -> Service:
        running.append(Service(lake.parent, "--follow", "--settle", "200ms", *more))
        return running[-1]

    yield start
    for process in running:
        process.close()


def put(lake: Path, number: int, text: str = "") -> None:
    """Publish an input in one step."""
    new = lake / "new"
    new.write_text(text or json.dumps({"n": number}) + "\n")
    new.rename(lake / f"in/{number:04}.json")


def numbers(lake: Path) -> list[int]:
    actual = sdb.connect(lake).sql("SELECT n FROM d.t").to_arrow().to_pylist()
    return sorted(row["n"] for row in actual)


def test_what_appears_is_taken_until_it_is_told_to_stop(
    run: Run, lake: Path, serve: Callable[..., Service]
) -> None:
    put(lake, 0)
    service = serve()
    first = service.event()
    assert (first["event"], first["table"], first["version"]) == ("synced", "t", 1)
    assert first["taken"] == ["file://in/0000.json"]
    put(lake, 1)
    put(lake, 2, '{"n": \n')
    put(lake, 3)
    taken: list[str] = []
    rejected: list[str] = []
    while len(taken) < 2 or not rejected:
        event = service.event()
        taken += event["taken"]
        rejected += [entry["path"] for entry in event["rejected"]]
    assert rejected == ["file://in/0002.json"]
    put(lake, 4)
    assert service.event()["taken"] == ["file://in/0004.json"]
    code, err = service.end(signal.SIGTERM)
    assert code == 0
    assert err.count("rejecting object: path file://in/0002.json") == 1
    assert "Traceback" not in err
    assert numbers(lake) == [0, 1, 3, 4]
    assert run("validate", "--root", "lake", "d", "t").returncode == 0
    assert [entry.name for entry in lake.rglob("*.tmp")] == []
    code, err = serve().end(signal.SIGINT)  # it has hardly begun: Python itself may not have
    is_before = code == 1 and "KeyboardInterrupt" in err and "sdb/cli" not in err
    assert code in {-signal.SIGINT, 130} or is_before, (code, err)


def test_follow_takes_inputs_into_the_branch_behind_the_name(lake: Path) -> None:
    put(lake, 0)
    db = sdb.connect(lake)
    db.sync("d.t")
    db.table("d.t").branch("b")
    put(lake, 1)
    words = ["follow", "--root", "lake", "--settle", "0s", "--json", "d.t@b"]
    with subprocess.Popen(
        [*COMMAND, *words], cwd=lake.parent, env=environment(), stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        event = json.loads(process.stdout.readline())
        process.send_signal(signal.SIGTERM)
        assert process.wait(SECONDS) == 0
    assert event["taken"] == ["file://in/0001.json"]
    assert numbers(lake) == [0]
    assert sorted(row["n"] for row in db.table("d.t@b").to_arrow().to_pylist()) == [0, 1]


def test_trouble_is_told_once_and_survived(lake: Path, serve: Callable[..., Service]) -> None:
    put(lake, 0)
    service = serve()
    assert service.event()["version"] == 1
    index = lake / "db/d/t/index"
    good = index.read_bytes()
    index.write_bytes(good[:-1] + b"x")
    put(lake, 1)
    trouble = service.event()
    assert (trouble["event"], trouble["exit_code"]) == ("trouble", 6)
    assert "signature" in trouble["error"]
    time.sleep(0.5)
    index.write_bytes(good)
    assert [service.event()["event"] for _ in range(2)] == ["recovered", "synced"]
    other = lake / "db/d/other/definition.json"
    other.parent.mkdir()
    other.write_text('{"input": [{"pattern": "file://in/*.json"}]}')
    event = service.event()
    assert (event["table"], len(event["taken"])) == ("other", 2)
    code, err = service.end(signal.SIGINT)
    assert code == 130
    assert err.count("trying again") == 1
    assert err.count("it works again") == 1
    assert numbers(lake) == [0, 1]


SWALLOWING = """
import sys, time
from sdb.cli.main import main
from sdb.table.feed import tables as feedtables

def tables(*_):
    print("listing", flush=True)
    try:
        time.sleep(9)
    except KeyboardInterrupt:
        pass
    return []

feedtables.tables_to_sync = tables
sys.argv = ["sdb", "sync", "--follow", "--interval", "200ms", "--root", "lake", "d"]
main()
"""


def test_an_interrupt_that_is_swallowed_ends_it(lake: Path) -> None:
    """As code does that runs while objects are let go."""
    words = [sys.executable, "-c", SWALLOWING]
    with subprocess.Popen(
        words, cwd=lake.parent, env=environment(), stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"listing\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
        assert process.stdout.read() == b""


@pytest.mark.parametrize(
    "count", [4, pytest.param(40, marks=[pytest.mark.slow, pytest.mark.timeout(600)])]
)
def test_what_was_killed_goes_on_where_the_table_is(
    run: Run, lake: Path, serve: Callable[..., Service], count: int
) -> None:
    dice = random.Random(count)
    made = 0
    for _ in range(count):
        service = serve()
        until = time.monotonic() + dice.uniform(0.3, 1.2)
        while time.monotonic() < until:
            put(lake, made)
            made += 1
            time.sleep(dice.uniform(0, 0.03))
        service.end(signal.SIGKILL)
    service = serve()
    put(lake, made)
    stop = time.monotonic() + SECONDS
    while not (actual := (lake / "db/d/t/index").exists() and numbers(lake)) or len(actual) <= made:
        assert time.monotonic() < stop
        time.sleep(0.1)
    assert actual == list(range(made + 1))
    assert service.end(signal.SIGTERM)[0] == 0
    assert run("validate", "--root", "lake", "d", "t").returncode == 0


def test_what_makes_no_sense_is_refused(run: Run, lake: Path) -> None:
    for words in (
        ["--follow", "--dry-run"],
        ["--follow", "--retry"],
        ["--follow", "--vanished", "delete"],
        ["--follow", "--interval", "soon"],
        ["--follow", "--settle", "-1s"],
        ["--queue", "q", "--changed", "fail"],
        ["--queue", "q", "--settle", "1s"],
        ["--settle", "1s"],
    ):
        result = run("sync", *words, "--root", "lake", "d")
        assert result.returncode == 2, words
    assert [path.name for path in (lake / "db/d/t").iterdir()] == ["definition.json"]


WRITER = """
import sys, time
for number in range(12):
    with open(sys.argv[1], "a") as file:
        file.write('{"n": %d}\\n' % number)
    time.sleep(float(sys.argv[2]))
"""


def define(lake: Path, table: str, *patterns: str) -> None:
    """Write a definition of inputs that are JSON whatever their names are."""
    path = lake / f"db/d/{table}/definition.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    inputs = [{"pattern": f"file://{pattern}", "format": "json"} for pattern in patterns]
    path.write_text(json.dumps({"input": inputs}))


def grows(path: Path, gap: float) -> subprocess.Popen[bytes]:
    """Append twelve rows to a file from another program, one by one."""
    return subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(gap)])


def wait_for(lake: Path, expected: list[int]) -> None:
    """Wait until the table has these rows, each once."""
    stop = time.monotonic() + SECONDS
    while not (lake / "db/d/t/index").exists() or numbers(lake) != expected:
        assert time.monotonic() < stop, numbers(lake)
        time.sleep(0.05)


def test_a_file_that_is_still_being_written_is_taken_when_it_stands_still(
    lake: Path, serve: Callable[..., Service]
) -> None:
    service = serve("--settle", "1500ms")
    with grows(lake / "in/log.json", 0.02) as writer:
        assert service.event()["rows"] == 12
        assert writer.wait() == 0
    assert numbers(lake) == list(range(12))
    assert service.end(signal.SIGTERM) == (0, "")


def test_a_growing_file_is_taken_again_also_by_one_that_follows_a_killed_one(
    run: Run, lake: Path, serve: Callable[..., Service]
) -> None:
    dice = random.Random(7)
    with grows(lake / "in/log.json", 0.25) as writer:
        while writer.poll() is None:
            service = serve("--changed", "replace")
            time.sleep(dice.uniform(0.3, 1.2))
            service.end(signal.SIGKILL)
    service = serve("--changed", "replace")
    wait_for(lake, list(range(12)))
    put(lake, 12)
    wait_for(lake, list(range(13)))  # and so it has come so far as to end in good order
    assert service.end(signal.SIGTERM)[0] == 0
    assert run("validate", "--root", "lake", "d", "t").returncode == 0


def test_growth_of_what_was_taken_is_told_once(lake: Path, serve: Callable[..., Service]) -> None:
    put(lake, 0)
    service = serve()
    assert service.event()["version"] == 1
    with (lake / "in/0000.json").open("a") as file:
        file.write('{"n": 1}\n')
    event = service.event()
    assert (event["version"], event["changed"]) == (None, ["file://in/0000.json"])
    put(lake, 2)
    assert service.event()["taken"] == ["file://in/0002.json"]
    with (lake / "in/0000.json").open("a") as file:
        file.write('{"n": 3}\n')
    assert service.event()["changed"] == ["file://in/0000.json"]
    put(lake, 4)
    assert service.event()["taken"] == ["file://in/0004.json"]
    code, err = service.end(signal.SIGTERM)
    assert code == 0
    line = "d/t: file://in/0000.json changed after it was taken: the table keeps its rows"
    assert err == f"{line}; --changed replace takes the new ones\n" * 2
    assert numbers(lake) == [0, 2, 4]


@contextmanager
def held(service: Service) -> Iterator[None]:
    service.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        service.process.send_signal(signal.SIGCONT)


def test_whatever_becomes_of_a_file_its_rows_are_those_that_it_has(
    lake: Path, serve: Callable[..., Service]
) -> None:
    service = serve("--changed", "replace")
    path = lake / "in/0000.json"
    put(lake, 0, '{"n": 1}\n{"n": 2}\n')
    assert service.event()["taken"] == ["file://in/0000.json"]
    with held(service):  # else it may see the file while it is empty
        path.write_text('{"n": 3}\n')  # shrinks, as with copytruncate
    event = service.event()
    assert event["taken"] == event["replaced"] == ["file://in/0000.json"]
    assert event["rows_removed"] == 2
    wait_for(lake, [3])
    other = lake / "other"
    other.write_text('{"n": 4}\n')
    os.utime(other, (1_000_000_000, 1_000_000_000))
    with held(service):
        shutil.copy2(other, path)  # as cp -p: just as large, and its time goes back
    assert service.event()["replaced"] == ["file://in/0000.json"]
    wait_for(lake, [4])
    code, err = service.end(signal.SIGTERM)
    line = "d/t: file://in/0000.json changed after it was taken: its rows make room for the new"
    assert (code, err) == (0, f"{line} ones\n" * 2)


def test_a_changed_file_ends_it_where_that_is_asked_for(
    lake: Path, serve: Callable[..., Service]
) -> None:
    put(lake, 0)
    service = serve("--changed", "fail")
    assert service.event()["version"] == 1
    put(lake, 0, '{"n": 9}\n')
    assert service.process.wait(SECONDS) == 5
    assert service.process.stderr is not None
    assert b"file://in/0000.json changed after it was taken" in service.process.stderr.read()


def test_a_file_that_was_half_copied_is_tried_again_when_it_has_changed(
    lake: Path, serve: Callable[..., Service]
) -> None:
    sdb.connect(lake).create("d.z", "in/*.json.gz")
    whole = gzip.compress(b"".join(b'{"n": %d}\n' % number for number in range(9_999)))
    path = lake / "in/1.json.gz"
    path.write_bytes(whole[:5_000])
    service = serve()
    assert [entry["path"] for entry in service.event()["rejected"]] == ["file://in/1.json.gz"]
    time.sleep(0.5)
    with path.open("ab") as file:
        file.write(whole[5_000:])
    assert service.event()["rows"] == 9_999
    assert service.end(signal.SIGTERM)[0] == 0


def test_temporary_names_are_passed_over(
    run: Run, lake: Path, serve: Callable[..., Service]
) -> None:
    define(lake, "all", "in/*", "in/.asked/*.tmp", "in/*/*")
    names = ("a.json.tmp", "b.json.part", ".c.json", ".asked/d.json.tmp", ".x/e.json", "f.PART")
    for name in names:
        (lake / "in" / name).parent.mkdir(exist_ok=True)
        (lake / "in" / name).write_text('{"n": 1}\n')
    put(lake, 0)
    result = run("sync", "--json", "--root", "lake", "d", "all")
    actual = json.loads(result.stdout)["tables"][0]
    assert actual["taken"] == ["file://in/0000.json", "file://in/.asked/d.json.tmp"]
    assert len(actual["passed"]) == 5
    line = "d/all: passed over 5 inputs with temporary names, such as file://in/.c.json; a pattern"
    assert result.stderr.decode() == f"{line} that has the ending or the dot itself takes them\n"
    again = run("sync", "--root", "lake", "d", "all")
    assert (again.returncode, again.stderr) == (0, result.stderr)
    (lake / "in/a.json.tmp").rename(lake / "in/a.json")
    (lake / "db/d/t/definition.json").unlink()
    service = serve()
    event = service.event()
    assert len(event["passed"]) == 4
    if not event["taken"]:  # it has not stood still for long enough
        event = service.event()
    assert event["taken"] == ["file://in/a.json"]
    (lake / "in/b.json.part").rename(lake / "in/b.json")
    event = service.event()
    assert (event["taken"], event["passed"]) == (["file://in/b.json"], [])
    code, err = service.end(signal.SIGTERM)
    assert (code, err.count("passed over")) == (0, 1)


def test_what_was_taken_under_a_temporary_name_stays_known(run: Run, lake: Path) -> None:
    """By the original, or by an sdb that did not pass over it."""
    define(lake, "old", "in/*.tmp")
    (lake / "in/a.tmp").write_text('{"n": 1}\n')
    assert run("sync", "--root", "lake", "d", "old").returncode == 0
    define(lake, "old", "in/*")
    result = run("sync", "--vanished", "delete", "--json", "--root", "lake", "d", "old")
    actual = json.loads(result.stdout)["tables"][0]
    assert (actual["vanished"], actual["deleted"], actual["passed"]) == ([], [], [])


def test_a_table_that_is_dropped_meanwhile_is_told_of_once(
    lake: Path, serve: Callable[..., Service]
) -> None:
    put(lake, 0)
    service = serve()
    assert service.event()["version"] == 1
    db = sdb.connect(lake)
    db.execute("DROP TABLE d.t")
    before = sorted(lake.rglob("*.zion"))
    put(lake, 1)
    trouble = service.event()
    assert (trouble["event"], trouble["exit_code"]) == ("trouble", 3)
    time.sleep(0.7)
    assert sorted(lake.rglob("*.zion")) == before, "nothing is packed for it"
    db.execute("UNDROP TABLE d.t")
    assert [service.event()["event"] for _ in range(2)] == ["recovered", "synced"]
    assert numbers(lake) == [0, 1]
    code, err = service.end(signal.SIGTERM)
    assert (code, err.count("\n")) == (0, 2)


def test_a_definition_that_goes_after_it_was_listed_is_passed_over(
    lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sdb.cli import syncing
    from sdb.table.catalog.root import table_root
    from sdb.table.feed import folders, tables
    from sdb.table.sync import sync

    good, root, stop = sync.tables_to_sync, table_root(lake), threading.Event()

    def listed(*value: Any) -> list[str]:
        actual = good(*value)
        (lake / "db/d/t/definition.json").unlink(missing_ok=True)
        monkeypatch.setattr(stop, "wait", lambda _: stop.set())
        return actual

    monkeypatch.setattr(tables, "tables_to_sync", listed)
    reports: list[object] = []
    folders.follow(tables.FeedTables(root, "d"), stop, reports.append)
    assert reports == []
    names = (root, "d", ["t"])
    options = {"progress": "off", "dry_run": False, "verbose": False, "quiet": False}
    with pytest.warns(sdb.errors.SdbWarning, match="its definition has just gone"):
        actual = syncing.sync_tables(sync.sync_table, names, **options)  # type: ignore[arg-type]
    assert actual == ([], [])
