"""`sdb create` and `sdb insert`, by one and by many at a time."""

from __future__ import annotations

import json
import random
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb.errors import UsageError
from sdb.table.catalog.handle import open_table
from sdb.table.catalog.root import table_root
from sdb.table.format.signature import Keyring
from sdb.table.insert.insert import insert
from tests.cli.conftest import SAMPLE
from tests.kill.moments import kill, timed

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run


def rows(run: Run) -> list[Any]:
    result = run("query", "SELECT * FROM d.t", "--root", "lake", "--fmt", "jsonl")
    assert result.returncode == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.fixture
def lake(run: Run, tmp_path: Path) -> Path:
    (tmp_path / "lake").mkdir()
    assert run("create", "--root", "lake", "d", "t", "--input", "in/*.json").returncode == 0
    return tmp_path / "lake"


def test_create_stores_what_the_original_reads(run: Run, tmp_path: Path, lake: Path) -> None:
    stored = (lake / "db/d/t/definition.json").read_text()
    assert stored.startswith(
        '{\n\t"input": [\n\t\t{\n\t\t\t"pattern": "file://in/*.json"\n\t\t}\n\t]'
    )
    assert json.loads(stored) == {
        "input": [{"pattern": "file://in/*.json"}],
        "versions": {"keep_last": 10, "keep_for": "7d", "thin": "1h:all,1d:1m,7d:1h"},
    }
    (tmp_path / "other.json").write_text('{"input": [{"pattern": "file://b/*.json"}]}')
    refused = run("create", "--root", "lake", "d", "t", "other.json")
    assert refused.returncode == 4
    assert b"has a definition already" in refused.stderr
    assert (lake / "db/d/t/definition.json").read_text() == stored
    forced = run("create", "--root", "lake", "--force", "--json", "d", "t", "other.json")
    assert json.loads(forced.stdout)["definition"]["input"] == [{"pattern": "file://b/*.json"}]
    assert run("create", "--root", "lake", "--force", "d", "new", "other.json").returncode == 0
    assert not (lake / "db/d/t/index").exists()


def test_create_tells_all_that_is_wrong(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text(
        '{"inputs": [], "input": [{"pattern": "file://a/*.jsn"}],'
        ' "retention_policy": {"field": "t"}}'
    )
    result = run("create", "d", "t", "bad.json")
    assert result.returncode == 2
    for text in ("did you mean input?", "'.jsn'", "valid_for is missing"):
        assert text in result.stderr.decode()
    assert not (tmp_path / "db").exists()
    assert run("create", "..", "t", "--input", "a/*.json").returncode == 2
    assert run("create", "d", "t").returncode == 2
    assert run("create", "d", "t", "no.json").returncode == 3


def test_rows_are_there_at_once_and_only_all_of_them(run: Run, lake: Path) -> None:
    done = run("insert", "--root", "lake", "--json", "d.t", SAMPLE)
    assert json.loads(done.stdout)["rows"] == 1000
    assert json.loads(done.stdout)["version"] == 1
    assert len(rows(run)) == 1000
    bad = run("insert", "--root", "lake", "d.t", SAMPLE, "-", data=b'{"a": 1}\n{')
    assert bad.returncode == 6
    assert len(rows(run)) == 1000
    part = run("insert", "--root", "lake", "--on-error", "skip", "d.t", data=b'{"a":1}\n{"a:\n')
    assert part.returncode == 0, part.stderr
    assert b"1 " in part.stderr
    assert len(rows(run)) == 1001
    empty = run("insert", "--root", "lake", "--json", "d.t", data=b"")
    assert (empty.returncode, json.loads(empty.stdout)["packfile"]) == (0, None)
    assert run("validate", "--root", "lake", "d", "t").returncode == 0
    handle = open_table(lake, "d", "t")
    assert handle.state is not None
    assert (handle.state.version, handle.state.rows) == (2, 1001)


@pytest.mark.usefixtures("lake")
def test_the_same_rows_are_there_twice_unless_the_id_is_the_same(run: Run) -> None:
    for _ in range(2):
        assert run("insert", "--root", "lake", "d.t", data=b'{"a": 1}').returncode == 0
    for _ in range(3):
        done = run("insert", "--root", "lake", "--txn-id", "job", "d.t", data=b'{"a": 2}')
        assert done.returncode == 0
    assert b"job is version 3 of d.t already" in done.stderr
    assert rows(run) == [{"a": 1}, {"a": 1}, {"a": 2}]
    assert run("insert", "--root", "lake", "--txn-id", "a/b", "d.t", data=b"1").returncode == 2


def test_what_cannot_be_inserted_into(run: Run, lake: Path, tmp_path: Path) -> None:
    missing = run("insert", "--root", "lake", "d.x", data=b"{}")
    assert missing.returncode == 3
    assert run("insert", "--root", "lake", "d", data=b"{}").returncode == 2
    (tmp_path / "parts.json").write_text(
        '{"input": [{"pattern": "file://{day}/*.json"}], "partitions": [{"field": "day"}]}'
    )
    assert run("create", "--root", "lake", "d", "parts", "parts.json").returncode == 0
    refused = run("insert", "--root", "lake", "d.parts", data=b"{}")
    assert refused.returncode == 8
    assert b"partitions by day" in refused.stderr
    assert b"hint: --partition day=VALUE; or inputs" in refused.stderr
    for words in (["day"], ["day=1", "--partition", "day=2"], ["hour=1"], ["day=1/../2"]):
        bad = run("insert", "--root", "lake", "d.parts", "--partition", *words, data=b"{}")
        assert bad.returncode in {2, 6}, words
    bad = run("insert", "--root", "lake", "d.t", "--partition", "day=1", data=b"{}")
    assert (bad.returncode, b"it has no partitions" in bad.stderr) == (2, True)
    with pytest.raises(UsageError, match="no key to sign"):
        insert(table_root(lake, keyring=Keyring()), "d", "t", [{"a": 1}])


def test_rows_of_a_partition_are_where_a_sync_would_put_them(
    run: Run, lake: Path, tmp_path: Path
) -> None:
    fields = [{"field": "day", "type": "date"}, {"field": "n", "type": "int", "value": "$number"}]
    pattern = "file://in/{day}/{number}/*.json"
    definition = {"input": [{"pattern": pattern}], "partitions": fields}
    (tmp_path / "parts.json").write_text(json.dumps(definition))
    assert run("create", "--root", "lake", "d", "parts", "parts.json").returncode == 0
    folder = lake / "in/2026-11-01/7"
    folder.mkdir(parents=True)
    (folder / "a.json").write_text('{"a": 1}\n')
    assert run("sync", "--root", "lake", "d", "parts").returncode == 0
    words = ["--partition", "n=7", "--partition", "day=2026-11-01"]
    done = run("insert", "--root", "lake", "d.parts", *words, data=b'{"a": 2, "n": 0}')
    assert done.returncode == 0, done.stderr
    where = {"day": "2026-11-02", "n": 8}
    sdb.connect(lake).append("d.parts", [{"a": 3}], partition=where)
    handle = open_table(lake, "d", "parts")
    first, second, third = handle.index.inline
    assert first.key.rpartition("/")[0] == second.key.rpartition("/")[0]
    assert first.trailer.sparse.constants == second.trailer.sparse.constants
    assert third.key.startswith("db/d/parts/data/2026-11-02/8/")
    query = "SELECT a FROM d.parts WHERE day >= TIMESTAMP '2026-11-02' OR n = 7 ORDER BY a"
    result = run("query", "--root", "lake", query)
    assert result.stdout.split() == b'{"a": 1} {"a": 2} {"a": 3}'.split()
    again = run("query", "--root", "lake", "SELECT n, COUNT(*) AS c FROM d.parts GROUP BY n")
    assert sorted(map(json.loads, again.stdout.splitlines()), key=str) == [
        {"n": 7, "c": 2},
        {"n": 8, "c": 1},
    ]
    assert run("validate", "--root", "lake", "d", "parts").returncode == 0


def test_many_writers_lose_and_double_nothing(run: Run, lake: Path) -> None:
    """Real processes, at the same time: 8 writers with 10 inserts each."""

    def write(writer: int) -> None:
        for number in range(10):
            data = json.dumps({"writer": writer, "number": number}).encode()
            done = run("insert", "--root", "lake", "d.t", data=data)
            assert done.returncode == 0, done.stderr

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    actual = rows(run)
    assert len(actual) == 80
    assert {(item["writer"], item["number"]) for item in actual} == {
        (writer, number) for writer in range(8) for number in range(10)
    }
    handle = open_table(lake, "d", "t")
    assert handle.state is not None
    assert (handle.state.version, handle.state.rows) == (80, 80)
    assert run("validate", "--root", "lake", "d", "t").returncode == 0


@pytest.mark.parametrize(
    "count", [6, pytest.param(60, marks=[pytest.mark.slow, pytest.mark.timeout(600)])]
)
def test_killed_inserts_are_there_or_not(run: Run, lake: Path, count: int) -> None:
    base = [sys.executable, "-m", "sdb.cli.main", "insert", "--root", str(lake), "d.t", str(SAMPLE)]
    seconds = timed(base)

    def after() -> None:
        handle = open_table(lake, "d", "t")
        assert handle.state is not None
        assert handle.state.rows % 1000 == 0
        assert sum(descriptor.rows or 0 for descriptor in handle.descriptors()) == handle.state.rows
        assert run("validate", "--root", "lake", "d", "t").returncode == 0

    kill(base, count, seconds, random.Random(count), before=lambda: None, after=after)
    assert run("insert", "--root", "lake", "d.t", SAMPLE).returncode == 0


@pytest.mark.parametrize("size", [129, 255, 5000])
def test_ids_of_transactions_are_bounded(run: Run, tmp_path: Path, size: int) -> None:
    """A text that does not fit into the name of an object is refused before anything is written."""
    (tmp_path / "a.json").write_text('{"n": 1}')
    lake = tmp_path / "lake"
    db = sdb.connect(lake)
    db.execute("CREATE TABLE d.t")
    before = sorted(lake.rglob("*"))
    long = "x" * size
    for words in (
        ("insert", "--root", "lake", "d.t", "a.json", "--txn-id", long),
        ("exec", "--root", "lake", "INSERT INTO d.t VALUES ({'n': 1})", "--txn-id", long),
    ):
        done = run(*words)
        err = done.stderr.decode()
        assert done.returncode == 2, err
        assert f"the id of a transaction has {size:,} bytes" in err
        assert "at most 128" in err
        assert "versions" not in err
    for act in (
        lambda: db.append("d.t", [{"n": 1}], txn_id=long),
        lambda: db.execute("DELETE FROM d.t", txn_id=long),
        lambda: insert(db.root, "d", "t", ["a.json"], txn_id=long),
    ):
        with pytest.raises(UsageError, match="the id of a transaction has"):
            act()
    assert sorted(lake.rglob("*")) == before


def test_the_longest_id_fits_on_the_longest_branch(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"n": 1}')
    db = sdb.connect(tmp_path / "lake")
    db.execute("CREATE TABLE d.t")
    branch, long = "b" * 100, "ü" * 64
    for name, kind in ((f"{branch}b", "branch"), ("t" * 101, "tag")):
        done = run(kind, "--root", "lake", "d.t", name)
        assert done.returncode == 2
        assert b"the name of a branch or tag has 101 bytes" in done.stderr
    assert run("branch", "--root", "lake", "d.t", branch).returncode == 0
    words = ("insert", "--root", "lake", "d.t", "a.json", "--branch", branch, "--txn-id", long)
    for _ in range(2):
        done = run(*words)
        assert done.returncode == 0, done.stderr
    assert db.table(f"d.t@{branch}").to_arrow().num_rows == 1


def test_create_says_what_fits_and_what_to_do_next(run: Run, tmp_path: Path) -> None:
    (tmp_path / "lake/in").mkdir(parents=True)
    (tmp_path / "lake/in/a.json").write_text('{"n": 1}\n')
    (tmp_path / "lake/in/b.json.tmp").write_text('{"n": 2}\n')
    done = run("create", "--root", "lake", "d", "t", "--input", "in/*.json")
    assert not done.stdout
    assert done.stderr.decode().splitlines() == [
        "d.t: file://in/*.json finds 1 input, 9 bytes now",
        "paths of patterns start at the root, lake",
        "next: sdb sync --root lake d.t loads it, once; sdb follow goes on",
    ]
    assert run("create", "--root", "lake", "--quiet", "d", "q", "--input", "no/*").stderr == b""


OUTSIDE = (
    "there is no folder out; did you mean ../out/*.json, with --allow-inputs out here and for sync?"
)


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("no/*.json", "there is no folder no"),
        ("in/x*.json", "the folder in has no file that fits x*.json: it has a.json"),
        ("in/*/*.json", "the folder in has no folders"),
        ("lake/in/*.json", "there is no folder lake; did you mean in/*.json?"),
        ("out/*.json", OUTSIDE),
    ],
)
def test_create_says_why_nothing_fits(run: Run, tmp_path: Path, pattern: str, reason: str) -> None:
    for folder in ("lake/in", "out"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "a.json").write_text('{"n": 1}\n')
    done = run("create", "--root", "lake", "d", "t", "--input", pattern)
    assert done.returncode == 0
    assert (
        done.stderr.decode().splitlines()[0] == f"d.t: file://{pattern} finds nothing now: {reason}"
    )
