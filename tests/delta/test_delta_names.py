"""`delta:PATH@3` in `pack`, `insert`, `append` and queries."""

from __future__ import annotations

import json
import shutil
import warnings
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

import sdb
from tests.lake.made import delete_by_vector, oracle, stored, write

if TYPE_CHECKING:
    from tests.cli.conftest import Run

TESTDATA = Path(__file__).parents[2] / "testdata"


def numbers(start: int, count: int) -> pa.Table:
    return pa.table({"n": range(start, start + count), "p": ["a", "b"] * (count // 2)})


def answer(run: Run, source: str, *words: str) -> Any:
    done = run(
        "query", "--fmt", "jsonl", *words, f"SELECT COUNT(*) AS c, SUM(n) AS s FROM {source}"
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_queries(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "lake/t"
    write(path, numbers(0, 10), partition_by=["p"])
    write(path, numbers(10, 10))
    assert answer(run, "'delta:lake/t'") == {"c": 20, "s": 190}
    assert answer(run, "'delta:lake/t@0'") == {"c": 10, "s": 45}
    assert answer(run, "read_file('delta+file://lake/t@0')") == {"c": 10, "s": 45}
    assert answer(run, "'delta:t@0'", "--root", "lake") == {"c": 10, "s": 45}
    assert answer(run, f"'delta:{path}@1' AS x") == {"c": 20, "s": 190}
    # From the cache, also when the files are gone; but not when another table is there.
    shutil.move(path / "p=a", tmp_path / "away")
    assert answer(run, "'delta:lake/t@0'") == {"c": 10, "s": 45}
    shutil.rmtree(path)
    write(path, numbers(100, 2))
    assert answer(run, "'delta:lake/t@0'") == {"c": 2, "s": 201}
    assert answer(run, "'delta:lake/t'") == {"c": 2, "s": 201}
    delete_by_vector(path, 1, "u", [0])
    assert answer(run, "'delta:lake/t'") == {"c": 1, "s": 101}


def test_pack_insert_append(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "t"
    write(path, numbers(0, 10), partition_by=["p"])
    write(path, numbers(10, 10))
    done = run("pack", "-o", "x.zion", "delta:t@0", "delta:t")
    assert (done.returncode, b"delta:t: version 1" in done.stderr) == (0, True)
    assert answer(run, "'x.zion'") == {"c": 30, "s": 235}
    assert run("append", "x.zion", "delta:t@0").returncode == 0
    assert answer(run, "'x.zion'") == {"c": 40, "s": 280}
    (tmp_path / "root").mkdir()
    created = run("create", "--root", "root", "web.t", "--input", "file://in/*.json")
    assert created.returncode == 0, created.stderr
    create = run("insert", "--root", "root", "web.t", "delta:t@1")
    assert create.returncode == 0, create.stderr
    assert answer(run, "web.t", "--root", "root") == {"c": 20, "s": 190}
    DeltaTable(str(path)).delete()
    empty = run("pack", "-o", "y.zion", "delta:t")
    assert (empty.returncode, b"no rows in" in empty.stderr) == (0, True)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("pack", "-o", "x.zion", "delta:nix"), 3, b"sdb: nix: there is no Delta table\n"),
        (("pack", "-o", "x.zion", "delta:t@7"), 3, b"there is no version 7: there are 0 to 0\n"),
        (("pack", "-f", "json", "-o", "x.zion", "delta:t"), 2, b"a format cannot be given"),
        (("query", "SELECT * FROM 'delta:nix'"), 3, b"nix: there is no Delta table\n"),
        (("query", "SELECT * FROM 'delta:t@99'"), 3, b"there is no version 99"),
        (("grep", "a", "delta:t"), 2, b"no packfile, but a table of Delta\n"),
        (("head", "delta:t"), 2, b"no packfile, but a table of Delta\n"),
        (("create", "d.t", "--input", "delta:t@3", "--root", "."), 2, b"takes all versions"),
        (("create", "d.t", "--input", "delta+file://*", "--root", "."), 2, b"has no wildcards"),
        (("create", "d.t", "--input", "delta+s3://b/t", "--root", "."), 2, b"delta+file://"),
        (("create", "d.t", "--input", "delta+file:///t", "--root", "."), 2, b"below the root"),
    ],
)
def test_errors(
    run: Run, tmp_path: Path, words: tuple[str, ...], code: int, message: bytes
) -> None:
    write(tmp_path / "t", numbers(0, 2))
    done = run(*words)
    assert (done.returncode, message in done.stderr) == (code, True), done.stderr
    assert b"Traceback" not in done.stderr
    assert not (tmp_path / "x.zion").exists()


def test_the_command(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "lake/in/t"
    write(path, numbers(0, 10))
    made = run("create", "d.t", "--input", "delta:in/t", "--root", "lake")
    assert b"delta+file://in/t finds 1 input" in made.stderr
    first = run("sync", "-v", "--root", "lake", "d")
    assert b"the first sync takes version 0 as a whole" in first.stderr
    write(path, numbers(10, 4))
    DeltaTable(str(path)).delete("n < 2")
    synced = run("sync", "--json", "--root", "lake", "d.t")
    [table] = json.loads(synced.stdout)["tables"]
    assert table["sources"] == [
        {
            "source": "delta+file://in/t",
            "source_version": version,
            "version": version + 1,
            "rows": rows,
            "rows_removed": removed,
        }
        for version, rows, removed in [(1, 4, 0), (2, 8, 10)]
    ]
    assert (
        b"nothing new: 2 inputs known already\n" in run("sync", "-v", "--root", "lake", "d").stderr
    )
    inputs = json.loads(run("inputs", "--check", "--json", "--root", "lake", "d.t").stdout)[
        "inputs"
    ]
    assert [entry["state"] for entry in inputs].count("taken") == 3
    assert {"version 2"} <= {entry.get("reason") for entry in inputs}
    spark = run("sync", "--spark", "--root", "lake", "d.t")
    assert (spark.returncode, b"which Spark does not sync" in spark.stderr) == (8, True), (
        spark.stderr
    )


def test_upkeep(run: Run, tmp_path: Path) -> None:
    path, folder = tmp_path / "lake/t", tmp_path / "lake/db/d/t"
    folder.mkdir(parents=True)
    definition = {"input": [{"pattern": "delta+file://t"}], "upkeep": {"sync": True}}
    (folder / "definition.json").write_text(json.dumps(definition))
    write(path, numbers(0, 10))
    assert b"took 1 input " in run("maintain", "--once", "--root", "lake", "d.t").stderr
    DeltaTable(str(path)).delete()
    foreseen = run("maintain", "--once", "--dry-run", "--root", "lake", "d.t").stderr
    assert b"would have removed rows of 1 input" in foreseen
    assert b"removed rows of 1 input" in run("maintain", "--once", "--root", "lake", "d.t").stderr
    assert answer(run, "d.t", "--root", "lake") == {"c": 0, "s": None}
    shutil.rmtree(path)
    done = run("sync", "--root", "lake", "d")
    assert (done.returncode, done.stderr) == (3, b"sdb: d.t: lake/t: there is no Delta table\n")


def test_types(tmp_path: Path) -> None:
    """All types of Delta become what those of Parquet files do."""
    moment = datetime(2026, 11, 27, 1, 2, 3, 4567)  # noqa: DTZ001
    table = pa.table(
        {
            "byte": pa.array([1, None], pa.int8()),
            "short": pa.array([1, None], pa.int16()),
            "int": pa.array([1, None], pa.int32()),
            "long": pa.array([2**60, None], pa.int64()),
            "float": pa.array([1.5, None], pa.float32()),
            "double": pa.array([0.1, None], pa.float64()),
            "bool": pa.array([True, None]),
            "text": pa.array(["ä", None]),
            "binary": pa.array([b"\x00\xff", None]),
            "date": pa.array([date(2026, 11, 27), None]),
            "at": pa.array([moment.replace(tzinfo=UTC), None], pa.timestamp("us", "UTC")),
            "local": pa.array([moment, None], pa.timestamp("us")),
            "whole": pa.array([Decimal("7.00"), None], pa.decimal128(10, 2)),
            "decimal": pa.array([Decimal("7.25"), None], pa.decimal128(10, 2)),
            "list": pa.array([[1, None], None], pa.list_(pa.int64())),
            "map": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int64())),
            "struct": pa.array([{"a": {"b": [{"c": 1}]}}, None]),
        }
    )
    path, parquet = tmp_path / "t", tmp_path / "x.parquet"
    write(path, table)
    pq.write_table(table, parquet)
    assert stored(f"'delta:{path}'") == stored(f"'{parquet}'") == oracle(path)
    partitioned = table.drop_columns(["list", "map", "struct", "binary"]).append_column(
        "n", [[1, 2]]
    )
    for number, name in enumerate(partitioned.column_names[:-1]):
        path = tmp_path / f"p{number}"
        write(path, partitioned.select([name, "n"]), partition_by=[name])
        pq.write_table(partitioned.select([name, "n"]), parquet)
        assert stored(f"'delta:{path}'") == stored(f"'{parquet}'") == oracle(path), name


SAMPLES = {
    "gh2015_1k.json.gz": "id, type, actor, repo, created_at, public",
    "cloudtrail_sneller.json.gz": "eventTime, eventName, readOnly, userIdentity.type AS who",
    "parking2.json.gz": "*",
    "winevents_sample.json.zst": "EventID, Channel, Hostname, EventTime",
}
WARNINGS = {
    "winevents_sample.json.zst": ["3 times have digits beyond microseconds, which are cut off"],
}
"""What reading the files warns of."""


@pytest.mark.parametrize("name", SAMPLES)
def test_samples(tmp_path: Path, name: str) -> None:
    """Rows of real logs, written as a Delta table of several files, come back."""
    query = f"SELECT {SAMPLES[name]} FROM '{TESTDATA / name}' LIMIT 300"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with sdb.sql(query) as result:
            table = pa.table(result)
    assert [str(warning.message) for warning in caught] == WARNINGS.get(name, [])
    path = tmp_path / "t"
    for start in range(0, table.num_rows, 100):
        write(path, table.slice(start, 100))
    assert stored(f"'delta:{path}'") == oracle(path)
    assert sum(stored(f"'delta:{path}'").values()) == table.num_rows
