"""`sdb sync`: each input once, whatever is wrong with others, and after the original."""

from __future__ import annotations

import json
import os
import random
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb.errors import AccessError, SdbWarning
from sdb.packfile.rewrite import cluster
from sdb.table.catalog.handle import open_table
from sdb.table.catalog.root import table_root
from sdb.table.commit.chain import FOREIGN
from sdb.table.definition.cache import read_definition
from sdb.table.format.inputtree import InputsTree
from sdb.table.format.keys import TableKeys, own_key
from sdb.table.format.state import state_of
from sdb.table.inputs.listing import ListedInput
from sdb.table.sync import inputrows, packing, sync
from sdb.table.sync.packing import LocalPacking
from sdb.table.sync.plan import plan_sync
from sdb.table.sync.sync import sync_table, tables_to_sync, take
from tests.kill.moments import kill, timed
from tests.table import roots

if TYPE_CHECKING:
    from sdb.table.format.index import TableIndex
    from sdb.table.inputs.etagcache import EtagCache
    from tests.cli.conftest import Run

LAKE = ("--root", "lake")


def rows(run: Run, columns: str = "*") -> list[Any]:
    result = run("query", f"SELECT {columns} FROM d.t", *LAKE, "--fmt", "jsonl")
    assert result.returncode == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def synced(run: Run, *words: str, code: int = 0) -> dict[str, Any]:
    done = run("sync", *LAKE, "--json", *words, "d")
    assert done.returncode == code, done.stderr
    [actual] = json.loads(done.stdout)["tables"]
    return dict(actual)


def put(lake: Path, name: str, text: str) -> None:
    path = lake / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def lake(run: Run, tmp_path: Path) -> Path:
    (tmp_path / "lake").mkdir()
    assert run("create", *LAKE, "d", "t", "--input", "in/{n}.json").returncode == 0
    return tmp_path / "lake"


def test_each_input_is_taken_once(run: Run, lake: Path) -> None:
    assert synced(run)["version"] is None
    assert not (lake / "db/d/t/index").exists()
    put(lake, "in/b.json", '{"a": 2}\n{"a": 3}')
    put(lake, "in/a.json", '{"a": 1}')
    put(lake, "in/.json", '{"a": "T 9.2: one that only the listing finds"}')
    put(lake, "in/other.csv", "a")
    put(lake, "in/deep/x.json", '{"a": 9}')
    dry = synced(run, "--dry-run")
    assert (dry["taken"], dry["version"]) == (["file://in/a.json", "file://in/b.json"], None)
    assert not (lake / "db/d/t/index").exists()
    first = synced(run)
    assert (first["version"], first["rows"]) == (1, 3)
    before = (lake / "db/d/t/index").read_bytes()
    assert synced(run)["taken"] == []
    assert (lake / "db/d/t/index").read_bytes() == before
    put(lake, "in/c.json", '{"a": 4}')
    assert synced(run)["taken"] == ["file://in/c.json"]
    assert [row["a"] for row in rows(run)] == [1, 2, 3, 4]
    listed = run("inputs", *LAKE, "d", "t").stdout.decode().splitlines()
    assert [line.split()[0] for line in listed] == [f"file://in/{name}.json" for name in "abc"]
    assert run("validate", *LAKE, "d", "t").returncode == 0
    assert run("sync", *LAKE, "d", "x*").returncode == 0


def test_bad_inputs_do_not_block_good_ones(run: Run, lake: Path) -> None:
    """T 12: in the original each costs a sync that fails."""
    for number in range(3):
        put(lake, f"in/bad{number}.json", '{"a": ')
        put(lake, f"in/good{number}.json", '{"a": 1}')
    put(lake, "in/empty.json", "")
    done = run("sync", *LAKE, "d")
    assert done.returncode == 1
    assert done.stderr.decode().count("d/t: rejecting object: path file://in/bad") == 3
    assert len(rows(run)) == 3
    assert run("sync", *LAKE, "d").returncode == 0
    states = json.loads(run("inputs", *LAKE, "--json", "d", "t").stdout)["inputs"]
    assert [state["state"] for state in states] == ["failed"] * 3 + ["taken"] * 4
    assert all("bad" in state["path"] and state["reason"] for state in states[:3])
    assert not any("reason" in state for state in states[3:])
    assert len(synced(run, "--retry", code=1)["rejected"]) == 3
    put(lake, "in/bad0.json", '{"a": 5}')
    assert synced(run)["taken"] == ["file://in/bad0.json"]
    assert sorted(state["a"] for state in rows(run)) == [1, 1, 1, 5]
    assert run("validate", *LAKE, "d", "t").returncode == 0


@pytest.mark.parametrize("count", [1, 2, 5])
def test_all_bad_inputs_are_found_by_one_sync(run: Run, lake: Path, count: int) -> None:
    for number in range(6):
        put(lake, f"in/{number}.json", '{"a": [1 2]}' if number < count else '{"a": 1}\n' * 3)
    done = synced(run, code=1)
    rejected = [f"file://in/{number}.json" for number in range(count)]
    assert [refused["path"] for refused in done["rejected"]] == rejected
    assert done["taken"] == [f"file://in/{number}.json" for number in range(count, 6)]
    assert done["rows"] == 3 * (6 - count)


def test_changed_and_vanished_inputs_are_told(run: Run, lake: Path) -> None:
    """T 12: the original ignores them without a word."""
    put(lake, "in/a.json", '{"a": 1}')
    put(lake, "in/b.json", '{"a": 2}')
    assert synced(run)["rows"] == 2
    put(lake, "in/a.json", '{"a": 10}')
    (lake / "in/b.json").unlink()
    actual = synced(run)
    assert (actual["changed"], actual["vanished"]) == (["file://in/a.json"], ["file://in/b.json"])
    assert actual["version"] is None
    messages = run("sync", *LAKE, "d").stderr.decode()
    assert "in/a.json changed after it was taken" in messages
    assert "in/b.json vanished after it was taken" in messages
    assert run("sync", *LAKE, "--changed", "fail", "d").returncode == 5
    assert [row["a"] for row in rows(run)] == [1, 2]


def test_changed_inputs_replace_their_rows_and_vanished_ones_take_theirs(
    run: Run, lake: Path
) -> None:
    """T 12: whatever has become of inputs, the table has their rows, once."""
    for name, number in (("a", 1), ("b", 2), ("c", 3), ("empty", 0)):
        put(lake, f"in/{name}.json", f'{{"a": {number}}}\n' * number)
    put(lake, "in/d.json", '{"a": 4}')
    assert synced(run)["rows"] == 7
    put(lake, "in/a.json", '{"a": 10}\n{"a": 11}')
    put(lake, "in/c.json", "{no")
    put(lake, "in/empty.json", '{"a": 7}')
    (lake / "in/b.json").unlink()
    words = ("--changed", "replace", "--vanished", "delete")
    reported = synced(run, "-n", *words)
    assert (reported["version"], reported["deleted"]) == (None, ["file://in/b.json"])
    actual = synced(run, *words, code=1)
    assert actual["replaced"] == ["file://in/a.json", "file://in/empty.json"]
    assert (actual["deleted"], actual["rows_removed"]) == (["file://in/b.json"], 3)
    assert [row["path"] for row in actual["rejected"]] == ["file://in/c.json"]
    assert actual["changed"] == ["file://in/c.json"]
    assert sorted(row["a"] for row in rows(run)) == [3, 3, 3, 4, 7, 10, 11]
    assert run("validate", *LAKE, "d", "t").returncode == 0
    assert synced(run, *words, code=1)["version"] is None, "only what is bad is left"
    put(lake, "in/b.json", '{"a": 2}\n{"a": 2}\n')
    put(lake, "in/c.json", '{"a": 5}')
    again = synced(run, *words)
    assert (again["taken"], again["version"]) == (["file://in/b.json", "file://in/c.json"], 3)
    assert sorted(row["a"] for row in rows(run)) == [2, 2, 4, 5, 7, 10, 11]
    assert run("validate", *LAKE, "d", "t").returncode == 0


def test_rows_are_replaced_wherever_others_have_put_them(
    lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is to go is looked for again when packfiles were merged before the commit."""
    connection = sdb.connect(lake)
    for number in range(9):
        put(lake, f"in/{number}.json", f'{{"a": {number}}}')
        connection.sync("d.t")
    put(lake, "in/4.json", '{"a": 40}')
    good = inputrows.rewrite
    merged = []

    def rewrite(*value: Any, **named: Any) -> Any:
        synced = good(*value, **named)
        if not merged:
            merged.append(connection.table("d.t").compact())
        return synced

    monkeypatch.setattr(inputrows, "rewrite", rewrite)
    synced = connection.sync("d.t", changed="replace")
    assert (synced.replaced, synced.rows_removed) == (("file://in/4.json",), 1)
    table = connection.table("d.t")
    assert [len(item.runs) for item in merged] == [1]
    assert sorted(table.to_arrow()["a"].to_pylist()) == [0, 1, 2, 3, 5, 6, 7, 8, 40]
    assert table.validate().ok


def test_rows_are_replaced_in_all_blocks_that_they_were_sorted_to(
    lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "BLOCK_BYTES", 1 << 20)
    connection = sdb.connect(lake)
    for number in range(8):
        rows = [f'{{"a": {number}, "b": {n * 13 % 500}, "pad": "{n:0900}"}}' for n in range(500)]
        put(lake, f"in/{number}.json", "\n".join(rows))
        connection.sync("d.t")
    table = connection.table("d.t")
    (run,) = table.compact(cluster_by=["b"]).runs
    assert (run.is_sorted, run.are_inputs_known, run.rows) == (True, True, 4000)
    put(lake, "in/4.json", '{"a": 40}')
    (lake / "in/5.json").unlink()
    synced = connection.sync("d.t", changed="replace", vanished="delete")
    assert (synced.replaced, synced.rows_removed) == (("file://in/4.json",), 1000)
    table = connection.table("d.t")
    counts = Counter(table.to_arrow()["a"].to_pylist())
    assert counts == {0: 500, 1: 500, 2: 500, 3: 500, 6: 500, 7: 500, 40: 1}
    assert table.validate().ok


def test_what_someone_else_has_replaced_is_not_replaced_twice(
    lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = sdb.connect(lake)
    put(lake, "in/a.json", '{"a": 1}')
    connection.sync("d.t")
    put(lake, "in/a.json", '{"a": 2}')
    good = inputrows.rewrite
    others = []

    def rewrite(*value: Any, **named: Any) -> Any:
        if not others:
            others.append(None)
            others.append(connection.sync("d.t", changed="replace"))
        return good(*value, **named)

    monkeypatch.setattr(inputrows, "rewrite", rewrite)
    synced = connection.sync("d.t", changed="replace")
    assert (synced.version, synced.replaced) == (None, ())
    assert connection.table("d.t").to_arrow()["a"].to_pylist() == [2]


def test_rows_that_others_have_moved_are_replaced_where_they_are_then(
    lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = sdb.connect(lake)
    put(lake, "in/a.json", '{"a": 1}')
    put(lake, "in/b.json", '{"a": 5}')
    connection.sync("d.t")
    put(lake, "in/a.json", '{"a": 2}')
    root, keys = table_root(lake), TableKeys("d", "t")
    definition = read_definition(root, keys)
    taken = {entry.path: entry for entry in open_table(root, "d", "t").inputs.walk()}
    plan = plan_sync(root, definition, taken)
    good = inputrows.rewrite
    calls = []

    def rewrite(*value: Any, **named: Any) -> Any:
        calls.append(None)
        if len(calls) == 1:
            connection.execute("DELETE FROM d.t WHERE a = 5")
        return good(*value, **named)

    monkeypatch.setattr(inputrows, "rewrite", rewrite)
    assert take(root, keys, definition, plan, changed="replace").replaced == ("file://in/a.json",)
    assert len(calls) == 2
    assert connection.table("d.t").to_arrow()["a"].to_pylist() == [2]


def test_a_sync_without_other_writers_reads_the_inputs_of_its_table_once(
    lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = sdb.connect(lake)
    put(lake, "in/a.json", '{"a": 1}')
    connection.sync("d.t")
    put(lake, "in/b.json", '{"a": 2}')
    trees = []
    good = sync.InputsTree
    monkeypatch.setattr(sync, "InputsTree", lambda *item: trees.append(None) or good(*item))
    assert connection.sync("d.t").rows == 1
    assert not trees
    put(lake, "in/c.json", '{"a": 3}')
    good_pack = LocalPacking.pack

    def pack(packing: LocalPacking, groups: Any) -> Any:
        with monkeypatch.context() as patch:
            patch.setattr(LocalPacking, "pack", good_pack)
            put(lake, "in/d.json", '{"a": 4}')
            connection.sync("d.t")
        return good_pack(packing, groups)

    monkeypatch.setattr(LocalPacking, "pack", pack)
    assert connection.sync("d.t").version is None
    assert trees, "inputs of another version are checked"
    assert sorted(connection.table("d.t").to_arrow()["a"].to_pylist()) == [1, 2, 3, 4]


def test_inputs_that_may_not_be_read_are_left_for_later(
    lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        put(lake, f"in/{number}.json", json.dumps({"a": number}))
    root = table_root(lake)
    good_etag, good_recognise = ListedInput.etag, packing.understood

    def etag(listed: ListedInput, cache: EtagCache) -> str:
        if listed.uri.endswith("/1.json"):
            raise AccessError("opening in/1.json: permission denied")
        return good_etag(listed, cache)

    def recognise(location: str, *words: Any, **more: Any) -> Any:
        if location.endswith("/2.json"):
            raise AccessError("opening in/2.json: permission denied")
        return good_recognise(location, *words, **more)

    with monkeypatch.context() as patch:
        patch.setattr(ListedInput, "etag", etag)
        patch.setattr(packing, "understood", recognise)
        with pytest.warns(SdbWarning, match=r"left out: opening in/[12]\.json"):
            synced = sync_table(root, "d", "t")
    assert (synced.taken, synced.rejected) == (("file://in/0.json",), ())
    assert sync_table(root, "d", "t").rows == 2


def test_old_inputs_are_read_once(run: Run, lake: Path) -> None:
    """Their ETags are kept by size, place and time; whatever is different is read again."""
    for number in range(3):
        put(lake, f"in/{number}.json", json.dumps({"a": number}))
        os.utime(lake / f"in/{number}.json", (1_700_000_000, 1_700_000_000))
    assert synced(run)["rows"] == 3
    put(lake, "in/1.json", '{"a": 8}')  # in the same place, as large
    os.utime(lake / "in/1.json", (1_700_000_000, 1_700_000_000))
    assert synced(run)["changed"] == []  # nobody has looked inside
    put(lake, "in/1.json", '{"a": 7}')
    os.utime(lake / "in/1.json", (1_700_000_001, 1_700_000_001))
    assert synced(run)["changed"] == ["file://in/1.json"]
    for broken in (b"no database", b""):
        for path in Path(os.environ["SDB_CACHE"]).glob("etags.sqlite*"):
            path.write_bytes(broken)
        assert synced(run)["changed"] == ["file://in/1.json"]
    result = run("sync", *LAKE, "--json", "d", SDB_CACHE="/dev/null/no")
    assert json.loads(result.stdout)["tables"][0]["changed"] == ["file://in/1.json"]


def test_partitions_get_packfiles_and_constants_of_their_own(run: Run, lake: Path) -> None:
    definition = {
        "input": [{"pattern": "file://in/{day}/*.json"}],
        "partitions": [{"field": "day", "type": "int"}],
    }
    put(lake, "definition.json", json.dumps(definition))
    path = str(lake / "definition.json")
    assert run("create", *LAKE, "--force", "d", "t", path).returncode == 0
    put(lake, "in/1/a.json", '{"a": 1, "day": "x"}')
    put(lake, "in/2/a.json", '{"a": 2}')
    put(lake, "in/2/b.json", '{"a": 3}')
    put(lake, "in/no/a.json", '{"a": 4}')
    actual = synced(run, code=1)
    assert len(actual["taken"]) == 3
    assert [descriptor["reason"] for descriptor in actual["rejected"]] == [
        "invalid integer 'no': expected one of 64 bits"
    ]
    assert sorted(rows(run, "day, a"), key=str) == [
        {"day": 1, "a": 1},
        {"day": 2, "a": 2},
        {"day": 2, "a": 3},
    ]
    keys = [
        descriptor.key.split("/data/")[1].split("/")[0]
        for descriptor in open_table(lake, "d", "t").descriptors()
    ]
    assert keys == ["1", "2"]


@pytest.mark.parametrize("archive", sorted({archive for archive, _ in roots.recorded()}))
def test_syncs_go_on_after_those_of_the_original(archive: str, tmp_path: Path) -> None:
    roots.unpacked(archive, tmp_path)
    root = table_root(tmp_path)
    for database in root.databases():
        for table in tables_to_sync(root, database):
            if not root.has(TableKeys(database, table).index):
                assert sync_table(root, database, table).version is None  # nothing is listed
                continue
            before = open_table(root, database, table)
            synced = sync_table(root, database, table)
            after = open_table(root, database, table)
            if not (synced.taken or synced.rejected or synced.retired):
                assert after.data == before.data
                continue
            keys = [descriptor.key for descriptor in after.descriptors()]
            theirs_then = [own_key(descriptor.key) for descriptor in before.descriptors()]
            if synced.retired:  # the recorded rows have become older than the table keeps them
                assert set(keys) < set(theirs_then)
                continue
            assert keys[: -1 if synced.taken else None] == theirs_then
            known = {descriptor.path for descriptor in before.inputs.walk()}
            assert {descriptor.path for descriptor in after.inputs.walk()} >= known | set(
                synced.taken
            )
            assert after.state is not None
            assert [descriptor.operation for descriptor in after.state.history] == [FOREIGN]
            [theirs] = after.state.history
            remaining = root.fetch(theirs.key, theirs.etag)
            index = type(before.index).decode(remaining, root.keyring)
            assert [descriptor.key for descriptor in index.inline] == list(
                map(own_key, _keys(before.index))
            )
            assert state_of(index.user_data) is not None
            again = sync_table(root, database, table)
            assert again.version is None
            # What the original reads next: an input tree by its own rules.
            assert list(InputsTree(after.index.inputs, root.fetch).walk())


def _keys(index: TableIndex) -> list[str]:
    return [descriptor.key for descriptor in index.inline]


def test_many_syncs_at_the_same_time_take_each_input_once(run: Run, lake: Path) -> None:
    for number in range(30):
        put(lake, f"in/{number}.json", json.dumps({"a": number}))
    with ThreadPoolExecutor(4) as pool:
        runs = [pool.submit(run, "sync", *LAKE, "d") for _ in range(6)]
        for row in runs:
            assert row.result().returncode == 0, row.result().stderr
    assert sorted(row["a"] for row in rows(run)) == list(range(30))
    assert run("validate", *LAKE, "d", "t").returncode == 0


@pytest.mark.parametrize(
    "count", [8, pytest.param(50, marks=[pytest.mark.slow, pytest.mark.timeout(600)])]
)
def test_killed_syncs_have_taken_all_or_nothing(run: Run, lake: Path, count: int) -> None:
    command = [sys.executable, "-m", "sdb.cli.main", "sync", "--root", str(lake), "d"]
    made = 0

    def more() -> None:
        nonlocal made
        for number in range(made, made + 5):
            put(lake, f"in/{number}.json", json.dumps({"a": number}))
        made += 5

    def after() -> None:
        if (lake / "db/d/t/index").exists():
            assert len(rows(run)) % 5 == 0
            assert run("validate", *LAKE, "d", "t").returncode == 0

    more()
    seconds = timed(command)
    kill(command, count, seconds, random.Random(count), before=more, after=after)
    assert run("sync", *LAKE, "d").returncode == 0
    assert sorted(row["a"] for row in rows(run)) == list(range(made))


def test_no_table_that_fits_is_told(run: Run, tmp_path: Path) -> None:
    (tmp_path / "lake").mkdir()
    done = run("sync", *LAKE, "nowhere", "x*")
    assert (done.returncode, done.stdout) == (0, b""), "as the original"
    assert done.stderr == (
        b"warning: no table of nowhere below lake has a definition and fits 'x*'\n"
    )


def test_a_sync_that_finds_nothing_says_why(run: Run, tmp_path: Path) -> None:
    (tmp_path / "lake/in").mkdir(parents=True)
    (tmp_path / "lake/in/a.json").write_text('{"n": 1}\n')
    assert run("create", "-q", *LAKE, "d", "t", "--input", "in/*.json").returncode == 0
    assert run("create", "-q", *LAKE, "d", "none", "--input", "no/*.json").returncode == 0
    first = run("sync", "-v", *LAKE, "d.t")
    assert b"1 row of 1 input, version 1" in first.stderr
    again = run("sync", "-v", *LAKE, "d.t")
    assert again.stderr == b"d/t: nothing new: 1 input known already\n"
    nothing = run("sync", *LAKE, "d.none")
    why = b"d/none: file://no/*.json finds nothing: there is no folder no\n"
    assert (nothing.returncode, nothing.stderr) == (0, why)
    assert run("sync", "--quiet", *LAKE, "d.none").stderr == b""
    for name, message in (
        ("d.tt", b"there is no table d.tt below lake\nhint: did you mean d.t?"),
        ("e", b"there is no database e below lake"),
        ("dd.t", b"there is no database dd below lake\nhint: did you mean d?"),
    ):
        missing = run("sync", *LAKE, name)
        assert (missing.returncode, message in missing.stderr) == (3, True), missing.stderr
