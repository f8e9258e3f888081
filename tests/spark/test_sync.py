"""`sdb sync --spark`: the table of a plain sync, packed by tasks; what is packed stays packed."""

from __future__ import annotations

import json
import os
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb.errors import SdbError, SdbWarning
from sdb.spark.bulk import sync
from sdb.spark.bulk.sync import SparkSyncs
from sdb.table.catalog.root import table_root
from sdb.table.sync.sync import sync_table
from tests.cli.conftest import COMMAND, environment, run  # noqa: F401 - a fixture
from tests.spark import accidents
from tests.spark.drivers import kill_driver, with_accidents

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.cli.conftest import Run
    from tests.store.conftest import S3Backend

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

DEFINITION = {
    "input": [{"pattern": "file://in/{day}/*.json"}, {"pattern": "file://csv/{day}.csv"}],
    "partitions": [{"field": "day", "type": "date"}],
}


def fill(lake: Path, days: int = 3, files: int = 4) -> None:
    for day in range(1, days + 1):
        folder = lake / f"in/2026-01-{day:02}"
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(files):
            rows = [{"n": 100 * day + 10 * number + row} for row in range(5)]
            text = "".join(f"{json.dumps(row)}\n" for row in rows)
            (folder / f"{number}.json").write_text(text)
    (lake / "csv").mkdir(exist_ok=True)
    (lake / "csv/2026-01-01.csv").write_text("n\n-1\n-2\n")
    keep = lake / "db/d/t/definition.json"
    keep.parent.mkdir(parents=True, exist_ok=True)
    keep.write_text(json.dumps(DEFINITION))


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    fill(tmp_path / "lake")
    return tmp_path / "lake"


def rows(lake: Path | str) -> list[tuple[str, int]]:
    actual = sdb.connect(lake).sql("SELECT day, n FROM d.t").to_arrow().to_pylist()
    return sorted((str(row["day"])[:10], row["n"]) for row in actual)


def data(lake: Path) -> dict[str, int]:
    return {path.name: path.stat().st_ino for path in (lake / "db/d/t/data").rglob("*.zion")}


def test_a_table_is_that_of_a_plain_sync(spark: SparkSession, lake: Path, tmp_path: Path) -> None:
    fill(tmp_path / "plain")
    for folder in (lake, tmp_path / "plain"):
        (folder / "in/2026-01-02/bad.json").write_text('{"n": 1}\n{"n": \n')
        (folder / "in/no day").mkdir()
        (folder / "in/no day/a.json").write_text('{"n": 1}\n')
    plain = sync_table(table_root(tmp_path / "plain"), "d", "t")
    with SparkSyncs(spark=spark, tasks=6) as syncs:
        done = syncs.sync(table_root(lake), "d", "t")
        again = syncs.sync(table_root(lake), "d", "t")
    assert (again.synced.version, again.packed, again.resumed) == (None, 0, 0)
    assert done.resumed == 0
    assert done.packed >= 6
    synced = done.synced
    assert (synced.version, sorted(synced.taken)) == (1, sorted(plain.taken))
    assert (synced.rows, synced.text_bytes) == (plain.rows, plain.text_bytes)
    assert {(entry.uri, entry.etag, entry.reason) for entry in synced.rejected} == {
        (entry.uri, entry.etag, entry.reason) for entry in plain.rejected
    }
    assert len(synced.rejected) == 2
    assert rows(lake) == rows(tmp_path / "plain")
    table = sdb.connect(lake).table("d.t")
    assert table.validate().ok
    states = {entry.path: (entry.etag, entry.state) for entry in table.inputs()}
    other = sdb.connect(tmp_path / "plain").table("d.t")
    assert states == {entry.path: (entry.etag, entry.state) for entry in other.inputs()}
    folders = {entry.key.rpartition("/")[0] for entry in table.handle.descriptors()}
    assert folders == {f"db/d/t/data/2026-01-0{day}" for day in (1, 2, 3)}


def test_tasks_follow_the_definition_in_statistics(spark: SparkSession, lake: Path) -> None:
    definition = lake / "db/d/t/definition.json"
    results = []
    for item, stats in (("off", None), ("n", None), ("off", "n,day")):
        definition.write_text(json.dumps(DEFINITION | {"stats": item}))
        folder = lake / f"in/2026-02-0{len(results) + 1}"
        folder.mkdir()
        text = "".join(f'{{"n": {number}}}\n' for number in range(2000))
        (folder / "x.json").write_text(text)
        before = set(data(lake))
        with SparkSyncs(spark=spark, tasks=1) as syncs:
            syncs.sync(table_root(lake), "d", "t", stats=stats)
        (path, *_) = [
            entry
            for entry in (lake / "db/d/t/data").rglob("*.zion")
            if entry.name not in before and "2026-02" in str(entry)
        ]
        with sdb.open(path) as pack:
            known = pack.known[1]
            results.append(None if known is None else {field for field, _ in known.sizes})
    assert results == [None, {("n",)}, {("n",), ("day",)}]


def test_what_was_packed_is_not_packed_again(
    spark: SparkSession, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver dies before the commit; inputs change, come and go meanwhile."""
    root = table_root(lake)

    def die(*_: object, **__: object) -> None:
        raise SdbError("the driver is gone")

    with monkeypatch.context() as patch, SparkSyncs(spark=spark, tasks=6) as syncs:
        patch.setattr("sdb.table.sync.sync.commit", die)
        with pytest.raises(SdbError, match="the driver is gone"):
            syncs.sync(root, "d", "t")
    before = data(lake)
    assert len(before) >= 6
    assert not (lake / "db/d/t/index").exists()
    (lake / "in/2026-01-01/0.json").write_text('{"n": 7}\n')
    (lake / "in/2026-01-02/9.json").write_text('{"n": 8}\n')
    (lake / "in/2026-01-03/0.json").unlink()
    some = next((lake / "db/d/t/data/2026-01-02").iterdir())
    damaged = some.read_bytes()[:-40]
    some.write_bytes(damaged)
    with SparkSyncs(spark=spark, tasks=2) as syncs:
        done = syncs.sync(root, "d", "t")
    assert done.synced.version == 1
    assert done.resumed > 0
    assert done.packed > 0
    after = data(lake)
    used = {
        descriptor.key.rpartition("/")[2]
        for descriptor in sdb.connect(lake).table("d.t").handle.descriptors()
    }
    assert (
        len([descriptor for descriptor in used if before.get(descriptor) == after[descriptor]])
        == done.resumed
    )
    assert some.name not in used or some.read_bytes() != damaged
    expected = [("2026-01-01", -2), ("2026-01-01", -1), ("2026-01-01", 7), ("2026-01-02", 8)]
    for day in (1, 2, 3):
        for number in range(4):
            if (day, number) not in {(1, 0), (3, 0)}:
                first = 100 * day + 10 * number
                expected += [(f"2026-01-0{day}", first + row) for row in range(5)]
    assert rows(lake) == sorted(expected)
    assert sdb.connect(lake).table("d.t").validate().ok


def test_inputs_of_days_apart_are_in_packfiles_of_their_own(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a plain sync, so that whole ones leave a table with a retention policy."""
    noon = datetime.now(UTC).replace(hour=12)
    (tmp_path / "in").mkdir()
    for number in range(6):
        at = (noon - timedelta(days=number // 2)).isoformat()
        (tmp_path / f"in/{number}.json").write_text(json.dumps({"at": at, "n": number}))
    (tmp_path / "in/none.json").write_text('{"n": 6}')
    (tmp_path / "in/bad.json").write_text("nonsense")
    policy = {"field": "at", "valid_for": "30d"}
    definition = {"input": [{"pattern": "file://in/*.json"}], "retention_policy": policy}
    (tmp_path / "db/d/t").mkdir(parents=True)
    (tmp_path / "db/d/t/definition.json").write_text(json.dumps(definition))
    root = table_root(tmp_path)
    with monkeypatch.context() as patch, SparkSyncs(spark=spark, tasks=1) as syncs:
        patch.setattr("sdb.table.sync.sync.commit", None)
        with pytest.raises(TypeError):
            syncs.sync(root, "d", "t")
    whole, *parts = sorted((tmp_path / "db/d/t/data").iterdir(), key=lambda path: -_inputs(path))
    assert [_inputs(whole), *map(_inputs, parts)] == [7, 3, 2, 2]
    for path in parts[1:]:  # of what was killed meanwhile
        path.unlink()
    with SparkSyncs(spark=spark, tasks=1) as syncs:
        done = syncs.sync(root, "d", "t")
        again = syncs.sync(root, "d", "t")
    assert (done.packed, done.resumed, again.packed) == (2, 1, 0)
    assert [rejected.uri for rejected in done.synced.rejected] == ["file://in/bad.json"]
    table = sdb.connect(tmp_path).table("d.t")
    assert sorted(table.to_arrow()["n"].to_pylist()) == list(range(7))
    assert sorted(descriptor.rows for descriptor in table.handle.descriptors()) == [2, 2, 3]


def _inputs(path: Path) -> int:
    with sdb.open(path) as pack:
        provenance = pack.trailer.sparse.provenance()
    assert provenance is not None
    return len(provenance.origins)


def test_a_packfile_that_was_not_cut_yet_is_not_taken(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    test_inputs_of_days_apart_are_in_packfiles_of_their_own(spark, tmp_path, monkeypatch)
    db = sdb.connect(tmp_path)
    keys = [tmp_path / entry.key for entry in db.table("d.t").handle.descriptors()]
    (tmp_path / "db/d/t/index").unlink()
    for path in keys:
        path.unlink()
    with SparkSyncs(spark=spark, tasks=1) as syncs:
        done = syncs.sync(table_root(tmp_path), "d", "t")
    assert (done.packed, done.resumed) == (3, 0)


def test_changed_and_vanished_inputs(spark: SparkSession, lake: Path) -> None:
    root = table_root(lake)
    with SparkSyncs(spark=spark) as syncs:
        syncs.sync(root, "d", "t")
        (lake / "in/2026-01-01/0.json").write_text('{"n": 7}\n')
        (lake / "csv/2026-01-01.csv").unlink()
        foreseen = syncs.sync(root, "d", "t", dry_run=True, changed="replace", vanished="delete")
        assert foreseen.synced.version is None
        done = syncs.sync(root, "d", "t", changed="replace", vanished="delete")
    assert (done.synced.rows_removed, len(done.synced.replaced)) == (7, 1)
    actual = rows(lake)
    assert ("2026-01-01", 7) in actual
    assert len(actual) == 5 * 11 + 1


def test_tasks_that_die_double_nothing(
    java: None,
    lake: Path,
    tmp_path: Path,
    run: Run,  # noqa: F811
) -> None:
    del java
    words = ["--spark", "--master", "local[2,4]", "--tasks", "6", "--root", "lake", "d"]
    result = run("sync", "--json", *with_accidents(tmp_path, middle=2), *words)
    assert result.returncode == 0, result.stderr
    assert accidents.left(tmp_path / "accidents") == []
    assert len(rows(lake)) == 5 * 12 + 2
    assert sdb.connect(lake).table("d.t").validate().ok


def test_a_driver_that_is_killed_is_resumed(
    java: None,
    lake: Path,
    tmp_path: Path,
    run: Run,  # noqa: F811
) -> None:
    del java
    words = ["--spark", "--master", "local[2]", "--tasks", "8", "--root", "lake", "d"]
    command = ["sync", *with_accidents(tmp_path, stall=1), *words]
    kill_driver(command, tmp_path, when=lambda: len(data(lake)) >= 4)
    before = data(lake)
    assert not (lake / "db/d/t/index").exists()
    result = run("sync", *words)
    assert result.returncode == 0, result.stderr
    match = re.search(rb"d/t: (\d+) packfiles? of an earlier run taken as", result.stderr)
    assert match is not None
    # Spark's Python workers may live a moment longer than the driver, and finish one more each.
    assert len(before) <= int(match[1]) <= len(before) + 2
    after = data(lake)
    assert before.items() <= after.items()
    assert len(rows(lake)) == 5 * 12 + 2
    log = json.loads(run("log", "--json", "--root", "lake", "d.t").stdout)
    assert len(log["versions"]) == 1


@pytest.mark.s3
def test_objects_of_s3(
    spark: SparkSession, bucket: S3Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in filter(re.compile("AWS_").match, os.environ):
        monkeypatch.setitem(spark.sparkContext.environment, name, os.environ[name])
    monkeypatch.setenv("SNELLER_INDEX_KEY", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
    definition = {
        "input": [{"pattern": f"{bucket.root}/in/{{day}}/*.json"}],
        "partitions": [{"field": "day"}],
    }
    bucket.put("db/d/t/definition.json", json.dumps(definition).encode())
    for number in range(6):
        bucket.put(f"in/{number % 2}/{number}.json", f'{{"n": {number}}}\n'.encode())
    root = table_root(bucket.root)
    with SparkSyncs(spark=spark, tasks=4) as syncs:
        done = syncs.sync(root, "d", "t")
    assert (done.synced.rows, done.synced.rejected) == (6, ())
    assert rows(bucket.root) == [(str(n % 2), n) for n in (0, 2, 4, 1, 3, 5)]


def test_what_changes_or_is_gone_is_left(
    spark: SparkSession, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files go away, and change, between listing and packing."""
    good = sync.find_orphans

    def find_orphans(*words: Any) -> Any:
        (lake / "in/2026-01-01/0.json").unlink()
        (lake / "in/2026-01-02/0.json").write_text('{"n": 1}\n')
        return good(*words)

    with monkeypatch.context() as patch, SparkSyncs(spark=spark) as syncs:
        patch.setattr(sync, "find_orphans", find_orphans)
        with pytest.warns(SdbWarning, match=r"in/2026-01-02/0\.json: changes while it is read"):
            done = syncs.sync(table_root(lake), "d", "t")
    assert len(done.synced.taken) == 11


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--tasks", "4"], "are for Spark: --tasks"),
        (["--spark", "--follow"], "--spark"),
        (["--spark", "--queue", "."], "--spark"),
        (["--spark", "--threads", "2"], "spark.task.cpus"),
        (["--spark", "--target-size", "huge"], "not a size"),
        (["--spark", "--conf", "x"], "NAME=VALUE"),
    ],
)
def test_what_makes_no_sense(run: Run, lake: Path, words: list[str], expected: str) -> None:  # noqa: F811
    result = run("sync", *words, "--root", "lake", "d")
    assert result.returncode == 2, result.stderr
    assert expected in result.stderr.decode()
    assert not (lake / "db/d/t/index").exists()


def test_the_command_for_a_cluster(run: Run, lake: Path) -> None:  # noqa: F811
    result = run("sync", "--spark", "--print-submit", "--master", "yarn", "--root", "lake", "d")
    text = result.stdout.decode()
    assert text.startswith("spark-submit --master yarn --files sdb.pex")
    assert text.endswith("sync --spark --root lake d\n")
    assert not (lake / "db/d/t/index").exists()
