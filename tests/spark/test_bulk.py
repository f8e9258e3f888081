"""Packing on Spark gives the rows that `sdb pack` gives, each once, whatever happens to tasks."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import warnings
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
import zstandard
from pyarrow import parquet

import sdb
from sdb import errors, notes
from sdb.packfile.read import manifest
from sdb.packfile.read.manifest import NAME
from sdb.spark.bulk.attempt import Options
from sdb.spark.bulk.pack import pack_on_spark
from sdb.times import Times
from tests.folders import contents
from tests.spark import accidents

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from tests.store.conftest import S3Backend

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

ROOT = Path(__file__).parents[2]
GITHUB = gzip.decompress((ROOT / "testdata/gh2015_1k.json.gz").read_bytes())
EVENTS = gzip.decompress((ROOT / "testdata/cloudtrail_sneller.json.gz").read_bytes())


def listed(folder: str | Path) -> list[str]:
    return [key.location for key in contents(folder)]


def rows(packfiles: list[str]) -> Counter[str]:
    """Return the rows of packfiles, as often as they are there; their fields have no order."""
    output = io.BytesIO()
    sdb.unpack(packfiles, output)
    actual = map(json.loads, output.getvalue().splitlines())
    return Counter(json.dumps(row, sort_keys=True) for row in actual)


def packed_alone(folder: Path, inputs: list[Path | str], **options: object) -> Counter[str]:
    """Return the rows that `sdb pack` makes of inputs."""
    target = str(folder / "alone.zion")
    sdb.pack(inputs, target, overwrite=True, **options)  # type: ignore[arg-type]
    return rows([target])


def check_clean(prefix: Path) -> None:
    """Check that only published files are there."""
    names = {Path(path).name for path in listed(str(prefix))}
    assert set(os.listdir(prefix)) == names | {NAME}  # noqa: PTH208


def table(separator: str) -> bytes:
    lines = [separator.join(map(str, (n, f"text {n}", n / 7, n % 2 == 0))) for n in range(900)]
    return "\n".join([separator.join(["number", "text", "share", "even"]), *lines, ""]).encode()


def records() -> bytes:
    return b'{"Records": ' + array(EVENTS) + b"}"


def array(text: bytes) -> bytes:
    return b"[" + b",\n".join(text.splitlines()) + b"]"


def ion(folder: Path) -> bytes:
    (folder / "source.json").write_bytes(GITHUB[:100_000].rpartition(b"\n")[0])
    sdb.pack([folder / "source.json"], folder / "source.zion")
    output = io.BytesIO()
    sdb.unpack([folder / "source.zion"], output, fmt="ion")
    return output.getvalue()


def columns() -> bytes:
    output = io.BytesIO()
    parquet.write_table(pa.table({"a": range(500), "b": [f"b{n}" for n in range(500)]}), output)
    return output.getvalue()


KINDS: dict[str, Callable[[Path], dict[str, bytes]]] = {
    "ndjson": lambda _: {"a.json": GITHUB},
    "gzip": lambda _: {"a.json.gz": gzip.compress(GITHUB), "b.gz": gzip.compress(GITHUB[:0])},
    "zstd": lambda _: {"a.json.zst": zstandard.compress(GITHUB)},
    "csv": lambda _: {"a.csv": table(","), "b.csv": table(";")},
    "tsv": lambda _: {"a.tsv": table("\t")},
    "cloudtrail": lambda _: {"a.json.gz": gzip.compress(records()), "b.json": records()},
    "ion": lambda folder: {"a.ion": ion(folder)},
    "parquet": lambda _: {"a.parquet": columns()},
    "arrays": lambda _: {"a.json": array(GITHUB), "b.json": b'[{"a": 1}]\n{"a": 2}\n[{"a": 3}]'},
    "many": lambda _: {f"{n}.json": b'{"n": %d}\n' % n * n for n in range(30)},
}


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_those_of_sdb_pack(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    inputs: list[Path | str] = []
    for name, data in KINDS[kind](tmp_path).items():
        inputs.append(tmp_path / name)
        (tmp_path / name).write_bytes(data)
    result = pack_on_spark(inputs, tmp_path / "out", spark=spark, tasks=3)
    assert rows(listed(tmp_path / "out")) == packed_alone(tmp_path, inputs)
    assert [outcome.task for outcome in result.outcomes] == list(range(len(result.outcomes)))
    assert len(result.outcomes) == {"ndjson": 3, "many": 3, "gzip": 2}.get(kind, len(inputs))
    check_clean(tmp_path / "out")


def test_what_tasks_find_is_said_once(spark: SparkSession, tmp_path: Path) -> None:
    sources = [tmp_path / f"{number}.json" for number in range(3)]
    for number, source in enumerate(sources):
        at = "04/03/2024" if number == 2 else f"2024-03-04T05:06:0{number}.1234567Z"
        source.write_text(json.dumps({"at": at, "other": "x"}))
    forms = ((("at",), "%d/%m/%Y"), (("other",), "%d/%m/%Y"))
    options = Options(times=Times(forms=forms))
    with notes.heard() as lines:
        pack_on_spark(sources, tmp_path / "out", options, spark=spark, tasks=3)
    assert lines == [
        "2 times have digits beyond microseconds, which are cut off",
        "no value of other has the form that was told for it",
    ]


def test_options_carry_over(spark: SparkSession, tmp_path: Path) -> None:
    source = tmp_path / "a.json"
    source.write_bytes(GITHUB + b'{"sent": 1400000000, "bad": }\n')
    how = {
        "algorithm": "zion+iguana_v0",
        "block_bytes": 1 << 20,
        "constants": {"region": "eu"},
        "hints": b'{"payload": "ignore", "sent": "unix_seconds"}',
        "format": "json",
        "time_fields": (("created_at",),),
    }
    options = Options(**how, on_error="quarantine")  # type: ignore[arg-type]
    result = pack_on_spark([source], tmp_path / "out", options, spark=spark, tasks=2)
    skipped: list[object] = []
    alone = packed_alone(tmp_path, [source], **how, on_error=skipped.append)
    assert rows(listed(tmp_path / "out")) == alone
    remaining = [record for outcome in result.outcomes for record in outcome.records]
    assert [record.text for record in remaining] == [b'{"sent": 1400000000, "bad": }\n']
    assert len(skipped) == sum(outcome.rejected for outcome in result.outcomes) == 1
    for path in listed(tmp_path / "out"):
        with sdb.open(path) as pack:
            assert pack.trailer.algorithm == "zion+iguana_v0"


def test_a_bad_input_is_named_and_nothing_is_left(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_bytes(GITHUB * 2 + b'{"a": nothing}\n')
    good = tmp_path / "good.json"
    good.write_bytes(GITHUB)
    inputs = [good, tmp_path / "bad.json"]
    with pytest.raises(errors.InputError, match=r"bad\.json from byte") as caught:
        pack_on_spark(inputs, tmp_path / "out", spark=spark, tasks=4)
    assert caught.value.path == str(tmp_path / "bad.json")
    assert caught.value.offset == 2 * len(GITHUB) + len('{"a": ')
    assert f"byte {caught.value.offset:,} of" in str(caught.value.hint)
    assert os.listdir(tmp_path / "out") == []  # noqa: PTH208


def test_modes(spark: SparkSession, tmp_path: Path) -> None:
    for number in (1, 2, 3):
        (tmp_path / f"{number}.json").write_text(json.dumps({"n": number}))
    out = tmp_path / "out"
    pack_on_spark([tmp_path / "1.json"], out, spark=spark)
    with pytest.raises(errors.ExistsError):
        pack_on_spark([tmp_path / "2.json"], out, spark=spark)
    pack_on_spark([tmp_path / "2.json"], out, spark=spark, mode="append")
    assert rows(listed(out)) == Counter(['{"n": 1}', '{"n": 2}'])
    check_clean(out)
    result = pack_on_spark([tmp_path / "3.json"], out, spark=spark, mode="overwrite")
    assert rows(listed(out)) == Counter(['{"n": 3}'])
    assert result.removed == 2
    check_clean(out)


def test_packfiles_stay_while_it_is_unknown_whether_they_count(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The request that publishes may take place after nobody waits for it any more."""
    (tmp_path / "a.json").write_bytes(GITHUB)
    failures: list[Exception] = [errors.UncertainError("no answer"), errors.ConflictError("lost")]
    for left, failure in zip((1, 0), failures, strict=True):

        def fail(*_: object, failure: Exception = failure, **__: object) -> None:
            raise failure

        monkeypatch.setattr(manifest, "publish", fail)
        with pytest.raises(type(failure)):
            pack_on_spark([tmp_path / "a.json"], tmp_path / f"out{left}", spark=spark, tasks=1)
        assert len(os.listdir(tmp_path / f"out{left}")) == left  # noqa: PTH208


def test_options_are_tried_before_anything_starts(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b"{}")
    for options in (Options(algorithm="lz4"), Options(hints=b"{"), Options(format="yaml")):
        with pytest.raises(errors.SdbError):
            pack_on_spark([tmp_path / "a.json"], tmp_path / "out", options, master="nowhere")
    assert not (tmp_path / "out").exists()


def test_warnings_are_about_the_whole_job(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b'{"a": 1}')
    (tmp_path / "empty.json").write_bytes(b"\n")
    for names, expected in ((["a.json", "empty.json"], []), (["empty.json"], ["no rows in"])):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", errors.SdbWarning)
            pack_on_spark([tmp_path / n for n in names], tmp_path / f"out{len(names)}", spark=spark)
        reported = [str(item.message) for item in caught if item.category is errors.SdbWarning]
        assert [text[:10] for text in reported] == expected
        assert all(str(tmp_path / "empty.json") in text for text in reported)


@pytest.mark.s3
def test_from_s3_to_s3(
    spark: SparkSession, bucket: S3Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compressed = gzip.compress(GITHUB)
    inputs: list[Path | str] = [bucket.put(f"logs/{n}.json.gz", compressed) for n in range(3)]
    inputs.append(bucket.put("logs/3.json", GITHUB))
    for name in filter(re.compile("AWS_").match, os.environ):
        monkeypatch.setitem(spark.sparkContext.environment, name, os.environ[name])
    out = f"{bucket.root}/out/"
    result = pack_on_spark([f"{bucket.root}/logs/*"], out, spark=spark, tasks=5)
    assert rows(listed(out)) == packed_alone(tmp_path, inputs)
    assert rows([f"{out}*.zion"]) == packed_alone(tmp_path, inputs)
    assert len(result.outcomes) == 5
    names = [Path(path).name for path in listed(out)]
    assert bucket.names() == sorted(
        [*(f"logs/{n}.json.gz" for n in range(3)), "logs/3.json", f"out/{NAME}"]
        + [f"out/{name}" for name in names]
    )
    assert bucket.uploads() == []


def test_killed_workers_cost_no_row_and_double_none(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs: list[Path | str] = []
    for number in range(4):
        inputs.append(tmp_path / f"{number}.json")
        (tmp_path / f"{number}.json").write_bytes(GITHUB)
    path = accidents.prepare(tmp_path / "accidents", middle=3, end=2)
    monkeypatch.setitem(spark.sparkContext.environment, "PYTHONPATH", path)
    result = pack_on_spark(inputs, tmp_path / "out", spark=spark, tasks=4)
    assert accidents.left(tmp_path / "accidents") == []
    assert rows(listed(tmp_path / "out")) == packed_alone(tmp_path, inputs)
    assert result.removed == 2
    check_clean(tmp_path / "out")


def test_a_task_that_always_dies_is_an_error(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.json").write_bytes(GITHUB)
    path = accidents.prepare(tmp_path / "accidents", end=20)
    monkeypatch.setitem(spark.sparkContext.environment, "PYTHONPATH", path)
    with pytest.raises(errors.SdbError, match=r"a\.json: the task failed 4 times") as raised:
        pack_on_spark([tmp_path / "a.json"], tmp_path / "out", spark=spark, tasks=1)
    assert type(raised.value) is errors.SdbError
    assert os.listdir(tmp_path / "out") == []  # noqa: PTH208


def test_folders_are_fields(spark: SparkSession, tmp_path: Path) -> None:
    for day in (1, 2):
        folder = tmp_path / f"in/day=2026-11-0{day}"
        folder.mkdir(parents=True)
        lines = [json.dumps({"n": n, "text": "x" * 50}) for n in range(5000)]
        (folder / "a.json").write_text("\n".join([*lines, ""]))
    inputs = [str(tmp_path / "in")]
    for hive in (True, False):
        prefix = tmp_path / f"out{hive}"
        # Files are cut in pieces, each of which gets the fields.
        options = Options(hive=hive)
        result = pack_on_spark(inputs, str(prefix), options, spark=spark, target_bytes=100_000)
        assert len(result.outcomes) > 2
        actual = rows(listed(prefix))
        assert actual == packed_alone(
            tmp_path, sorted((tmp_path / "in").rglob("*.json")), hive=hive
        )
        assert all(("day" in row) == hive for row in actual)
