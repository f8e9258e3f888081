"""`sdb sync --follow`, as a service runs it."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

import sdb
from tests.cli.conftest import environment
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
        running.append(Service(lake.parent, "--follow", *more))
        return running[-1]

    yield start
    for one in running:
        one.close()


def put(lake: Path, number: int, text: str = "") -> None:
    """Let an input appear in one step."""
    new = lake / "new"
    new.write_text(text or json.dumps({"n": number}) + "\n")
    new.rename(lake / f"in/{number:04}.json")


def numbers(lake: Path) -> list[int]:
    found = sdb.connect(lake).sql("SELECT n FROM d.t").to_arrow().to_pylist()
    return sorted(row["n"] for row in found)


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
        rejected += [one["path"] for one in event["rejected"]]
    assert rejected == ["file://in/0002.json"]
    put(lake, 4)
    assert service.event()["taken"] == ["file://in/0004.json"]
    code, err = service.end(signal.SIGTERM)
    assert code == 0
    assert err.count("rejecting object: path file://in/0002.json") == 1
    assert "Traceback" not in err
    assert numbers(lake) == [0, 1, 3, 4]
    assert run("validate", "--root", "lake", "d", "t").returncode == 0
    assert [one.name for one in lake.rglob("*.tmp")] == []
    assert serve().end(signal.SIGINT)[0] in {-signal.SIGINT, 130}  # it has hardly begun


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
from sdb.table import tablefollow

def tables(*_):
    print("listing", flush=True)
    try:
        time.sleep(9)
    except KeyboardInterrupt:
        pass
    return []

tablefollow.tables_to_sync = tables
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
    while not (found := (lake / "db/d/t/index").exists() and numbers(lake)) or len(found) <= made:
        assert time.monotonic() < stop
        time.sleep(0.1)
    assert found == list(range(made + 1))
    assert service.end(signal.SIGTERM)[0] == 0
    assert run("validate", "--root", "lake", "d", "t").returncode == 0


def test_what_makes_no_sense_is_refused(run: Run, lake: Path) -> None:
    for words in (["--dry-run"], ["--retry"], ["--changed", "fail"], ["--interval", "soon"]):
        result = run("sync", "--follow", *words, "--root", "lake", "d")
        assert result.returncode == 2, words
    assert [one.name for one in (lake / "db/d/t").iterdir()] == ["definition.json"]
