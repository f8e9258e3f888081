"""`sdb compact --spark`: the table of a plain compaction, whatever becomes of tasks and driver."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb.errors import CorruptError, SdbError
from sdb.spark.bulk import compact
from sdb.spark.bulk.compact import _attempt, compact_on_spark
from sdb.table.catalog.handle import open_table
from sdb.table.catalog.root import TableRoot, table_root
from sdb.table.definition.definition import Definition
from sdb.table.format.keys import TableKeys
from sdb.table.maintenance.compact import compact_table
from sdb.table.maintenance.gc import collect
from tests.cli.conftest import COMMAND, environment, run  # noqa: F401 - a fixture
from tests.spark import accidents
from tests.spark.drivers import kill_driver, with_accidents

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.cli.conftest import Run
    from tests.store.conftest import S3Backend

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
BY = ["user"]
BLOCK = 16 << 10
GROUPS = ("a", "b")


def fill(root: str | Path) -> None:
    """Make a table with two partitions, whose packfiles are merged and sorted each by itself."""
    db = sdb.connect(root)
    above = str(root) if "://" in str(root) else "file:/"
    definition = {
        "input": [{"pattern": f"{above}/in/{{part}}/*.json"}],
        "partitions": [{"field": "part"}],
    }
    db.create("d.t", Definition.parse(json.dumps(definition)))
    dice = random.Random(7)
    for part in GROUPS:
        for number in range(8):
            rows = [
                {"user": f"u{dice.randrange(500):03}", "n": 1000 * number + n, "text": "x" * 90}
                for n in range(250)
            ]
            sizes = {"align_bytes": BLOCK // 4, "block_bytes": BLOCK}
            db.append("d.t", rows, partition={"part": part}, **sizes)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("filled")
    fill(folder / "lake")
    return folder / "lake"


@pytest.fixture
def lake(filled: Path, tmp_path: Path) -> Path:
    return shutil.copytree(filled, tmp_path / "lake")


def content(root: TableRoot) -> list[tuple[Any, ...]]:
    """Return what is in each packfile: its rows in their order, where blocks end, and its mark."""
    handle = open_table(root, "d", "t")
    results: list[tuple[Any, ...]] = []
    for descriptor in handle.descriptors():
        with sdb.open(root.place(descriptor.key)) as pack:
            rows = [(row["part"], row["user"], row["n"]) for row in pack.rows()]
            sparse = pack.trailer.sparse
            summary = sparse.summary
            assert summary is not None
            mark = descriptor.trailer.sparse.clustered
            results.append((tuple(rows), summary.rows, mark, sparse.clustered, len(pack.blocks)))
    return sorted(results, key=repr)


def rows_of(root: TableRoot) -> list[Any]:
    return sorted(row for item in content(root) for row in item[0])


def files(lake: Path) -> set[str]:
    return {str(path) for path in (lake / "db/d/t/data").rglob("*") if path.is_file()}


def test_packfiles_are_those_of_one_machine(
    spark: SparkSession, lake: Path, tmp_path: Path
) -> None:
    shutil.copytree(lake, tmp_path / "plain")
    here, there = table_root(tmp_path / "plain"), table_root(lake)
    plain = compact_table(here, "d", "t", cluster_by=BY)
    reports: list[tuple[int, int | None]] = []
    foreseen = compact_on_spark(there, "d", "t", spark=spark, cluster_by=BY, dry_run=True)
    assert (foreseen.version, len(foreseen.runs)) == (None, 2)
    done = compact_on_spark(
        there, "d", "t", spark=spark, cluster_by=BY, progress=lambda *item: reports.append(item)
    )
    assert (len(done.runs), done.packfiles_after, done.version) == (2, 2, plain.version)
    assert content(there) == content(here)
    assert all(item[2] == item[3] == (("user",),) for item in content(there))
    assert min(item[4] for item in content(there)) > 1
    assert [item.parts for item in done.runs] == [item.parts for item in plain.runs]
    whole = sum(item.input_bytes for item in done.runs)
    assert reports[-1][1] == whole
    assert sdb.connect(lake).table("d.t").validate().ok
    again = compact_on_spark(there, "d", "t", spark=spark, cluster_by=BY)
    assert again.version is None


def test_what_is_not_sorted_is_merged(spark: SparkSession, lake: Path, tmp_path: Path) -> None:
    shutil.copytree(lake, tmp_path / "plain")
    here, there = table_root(tmp_path / "plain"), table_root(lake)
    compact_table(here, "d", "t")
    done = compact_on_spark(there, "d", "t", spark=spark)
    assert [merged_run.is_sorted for merged_run in done.runs] == [False, False]
    assert content(there) == content(here)


def test_rows_that_come_in_meanwhile_stay(
    spark: SparkSession, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others append, and replace packfiles of one of the groups, while tasks are at work."""
    root = table_root(lake)
    db = sdb.connect(lake)
    good = compact.Job.run

    def work(job: Any, progress: Any) -> Any:
        actual = good(job, progress)
        db.append("d.t", [{"user": "late", "n": -1}], partition={"part": "a"})
        db.execute("DELETE FROM d.t WHERE part = 'b' AND n = 7000")
        return actual

    monkeypatch.setattr(compact.Job, "run", work)
    before = db.sql("SELECT COUNT(*) AS n FROM d.t").to_arrow().to_pylist()[0]["n"]
    done = compact_on_spark(root, "d", "t", spark=spark, cluster_by=BY)
    assert len(done.runs) == 1
    after = db.sql("SELECT COUNT(*) AS n, COUNT(DISTINCT n) AS d FROM d.t").to_arrow().to_pylist()
    assert after[0]["n"] == before
    assert {item[2] for item in content(root)} == {(), (("user",),)}
    assert db.table("d.t").validate().ok


def test_a_damaged_packfile_ends_it(spark: SparkSession, lake: Path) -> None:
    root = table_root(lake)
    first = next(iter(open_table(root, "d", "t").descriptors()))
    path = lake / first.key
    data = bytearray(path.read_bytes())
    data[200] ^= 0xFF
    path.write_bytes(data)
    version = open_table(root, "d", "t").state
    with pytest.raises(CorruptError):
        compact_on_spark(root, "d", "t", spark=spark, cluster_by=BY)
    assert open_table(root, "d", "t").state == version


def dying(flag: Path, *value: Any) -> Any:
    """Make a packfile, and be killed before it can be told; the first time only."""
    actual = _attempt(*value)
    if flag.exists():
        flag.unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    return actual


def test_a_worker_that_is_killed_leaves_garbage(
    spark: SparkSession, lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its attempt is made again, as it is when Spark runs one twice."""
    root, flag = table_root(lake), tmp_path / "flag"
    before, known = rows_of(root), files(lake)
    flag.touch()
    monkeypatch.setattr(compact, "_attempt", partial(dying, flag))
    done = compact_on_spark(root, "d", "t", spark=spark, cluster_by=BY)
    assert not flag.exists()
    assert [merged_run.is_sorted for merged_run in done.runs] == [True, True]
    assert rows_of(root) == before
    assert sdb.connect(lake).table("d.t").validate().ok
    assert len(unused(root, lake) - known) == 1
    assert unused(root, lake) - known <= collected(root, lake)


def test_a_driver_that_dies_leaves_the_table(
    spark: SparkSession, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = table_root(lake)
    before, known = content(root), files(lake)

    def die(*_: object, **__: object) -> None:
        raise SdbError("the driver is gone")

    with monkeypatch.context() as patch:
        patch.setattr("sdb.table.maintenance.compact.commit", die)
        with pytest.raises(SdbError, match="the driver is gone"):
            compact_on_spark(root, "d", "t", spark=spark, cluster_by=BY)
    assert content(root) == before
    left = files(lake) - known
    assert len(left) == 2
    assert left <= collected(root, lake)
    assert len(compact_on_spark(root, "d", "t", spark=spark, cluster_by=BY).runs) == 2


def unused(root: TableRoot, lake: Path) -> set[str]:
    """Return the files that the newest version does not have."""
    used = {str(lake / descriptor.key) for descriptor in open_table(root, "d", "t").descriptors()}
    return files(lake) - used


def collected(root: TableRoot, lake: Path) -> set[str]:
    """Return the files that would be collected after the grace time."""
    doomed = collect(root, TableKeys("d", "t"), grace_seconds=0, dry_run=True)
    return {str(lake / leftover.key) for leftover in doomed.garbage}


def test_tasks_that_die_double_nothing(
    java: None,
    lake: Path,
    tmp_path: Path,
    run: Run,  # noqa: F811
) -> None:
    del java
    before = rows_of(table_root(lake))
    words = ["--spark", "--master", "local[2,4]", "--cluster-by", "user", "--root", "lake", "d.t"]
    result = run("compact", "--json", *with_accidents(tmp_path, middle=1), *words)
    assert result.returncode == 0, result.stderr
    assert accidents.left(tmp_path / "accidents") == []
    assert [item["clustered"] for item in json.loads(result.stdout)["runs"]] == [True, True]
    assert rows_of(table_root(lake)) == before


@pytest.mark.slow
def test_a_driver_that_is_killed_leaves_the_table(java: None, lake: Path, tmp_path: Path) -> None:
    del java
    root = table_root(lake)
    before, known = content(root), files(lake)
    words = ["--spark", "--master", "local[2]", "--cluster-by", "user", "--root", "lake", "d.t"]
    command = ["compact", *with_accidents(tmp_path, stall=1), *words]
    kill_driver(command, tmp_path, when=lambda: files(lake) != known)
    assert content(root) == before
    time.sleep(3)  # Spark's Python workers may live a moment longer than the driver
    left = files(lake) - known
    assert left
    assert left <= collected(root, lake)


@pytest.mark.s3
def test_objects_of_s3(
    spark: SparkSession, bucket: S3Backend, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compact_table(table_root(lake), "d", "t", cluster_by=BY)
    monkeypatch.setenv("SNELLER_INDEX_KEY", KEY)
    for name in filter(re.compile("AWS_").match, os.environ):
        monkeypatch.setitem(spark.sparkContext.environment, name, os.environ[name])
    fill(bucket.root)
    root = table_root(bucket.root)
    done = compact_on_spark(root, "d", "t", spark=spark, cluster_by=BY)
    assert [merged_run.is_sorted for merged_run in done.runs] == [True, True]
    actual = content(root)
    monkeypatch.delenv("SNELLER_INDEX_KEY")
    assert actual == content(table_root(lake))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--master", "yarn"], "are for Spark: --master"),
        (["--print-submit"], "are for Spark: --print-submit"),
        (["--spark", "--conf", "x"], "NAME=VALUE"),
    ],
)
def test_what_makes_no_sense(run: Run, lake: Path, words: list[str], expected: str) -> None:  # noqa: F811
    del lake
    result = run("compact", *words, "--root", "lake", "d.t")
    assert result.returncode == 2, result.stderr
    assert expected in result.stderr.decode()


def test_the_command_for_a_cluster(run: Run, lake: Path) -> None:  # noqa: F811
    del lake
    result = run(
        "compact", "--spark", "--print-submit", "--master", "yarn", "--root", "lake", "d.t"
    )
    text = result.stdout.decode()
    assert text.startswith("spark-submit --master yarn --files sdb.pex")
    assert text.endswith("compact --spark --root lake d.t\n")
