from __future__ import annotations

import math
import shutil
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb import instants
from tests.spark import events

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame, Row, SparkSession

pytestmark = pytest.mark.spark

COUNT = 4000
AT = instants.text(events.START_US + 1000 * events.STEP_US)
UNTIL = instants.text(events.START_US + 1040 * events.STEP_US)

# The same question in both dialects; where there is one text, it is the same.
SAME = [
    "SELECT COUNT(*) AS n FROM {t}",
    "SELECT COUNT(score) AS n, COUNT(note) AS m FROM {t}",
    "SELECT type, COUNT(*) AS n FROM {t} GROUP BY type",
    "SELECT type, AVG(score) AS a, MAX(id) AS m FROM {t} GROUP BY type",
    "SELECT SUM(id) AS s, MIN(id) AS lo, MAX(id) AS hi, AVG(id) AS a FROM {t}",
    "SELECT id, type FROM {t} WHERE id < 10",
    "SELECT id FROM {t} WHERE type = 'ForkEvent' AND public = TRUE ORDER BY id LIMIT 20",
    "SELECT id FROM {t} WHERE type IN ('ForkEvent', 'WatchEvent') AND id >= 3990",
    "SELECT id FROM {t} WHERE NOT (type = 'PushEvent') AND id BETWEEN 100 AND 120",
    "SELECT id, actor.login AS who FROM {t} WHERE actor.id = 31",
    "SELECT actor.login AS who, COUNT(*) AS n FROM {t} GROUP BY actor.login",
    "SELECT repo.name AS r, COUNT(*) AS n FROM {t} GROUP BY repo.name HAVING COUNT(*) > 79",
    "SELECT COUNT(DISTINCT actor.login) AS n, COUNT(DISTINCT type) AS m FROM {t}",
    "SELECT SUM(payload.size) AS s, COUNT(payload.size) AS n FROM {t}",
    (
        "SELECT payload.size AS s, COUNT(*) AS n FROM {t} WHERE type = 'PushEvent'"
        " GROUP BY payload.size"
    ),
    "SELECT id, score FROM {t} WHERE score > 490.5",
    "SELECT id, score * 2 + 1 AS d FROM {t} WHERE score < 2",
    "SELECT id FROM {t} WHERE score = 12.5 OR id = 7",
    "SELECT COUNT(*) AS n FROM {t} WHERE score <> 0.5",
    "SELECT id FROM {t} WHERE actor.login LIKE 'user1%' AND id < 100",
    "SELECT UPPER(type) AS u, COUNT(*) AS n FROM {t} GROUP BY UPPER(type)",
    "SELECT public, COUNT(*) AS n, SUM(score) AS s FROM {t} GROUP BY public",
    "SELECT type, public, COUNT(*) AS n FROM {t} GROUP BY type, public",
    (
        "SELECT CASE WHEN id < 1000 THEN 'old' ELSE 'new' END AS age, COUNT(*) AS n FROM {t}"
        " GROUP BY CASE WHEN id < 1000 THEN 'old' ELSE 'new' END"
    ),
    "SELECT DISTINCT type FROM {t} WHERE public = FALSE",
    "SELECT id, COALESCE(score, -1) AS s FROM {t} WHERE id < 9",
    "SELECT id FROM {t} ORDER BY score DESC, id LIMIT 5",
]
PAIRS = [
    (
        "SELECT id, type FROM {t} WHERE created_at >= `{at}` AND created_at < `{until}`",
        (
            "SELECT id, type FROM {t} WHERE created_at >= timestamp'{at}'"
            " AND created_at < timestamp'{until}'"
        ),
    ),
    (
        (
            "SELECT EARLIEST(created_at) AS lo, LATEST(created_at) AS hi FROM {t}"
            " WHERE type = 'ForkEvent'"
        ),
        "SELECT MIN(created_at) AS lo, MAX(created_at) AS hi FROM {t} WHERE type = 'ForkEvent'",
    ),
    (
        (
            "SELECT DATE_TRUNC(DAY, created_at) AS d, COUNT(*) AS n FROM {t}"
            " GROUP BY DATE_TRUNC(DAY, created_at)"
        ),
        (
            "SELECT DATE_TRUNC('DAY', created_at) AS d, COUNT(*) AS n FROM {t}"
            " GROUP BY DATE_TRUNC('DAY', created_at)"
        ),
    ),
    (
        "SELECT COUNT(*) AS n FROM {t} WHERE note LIKE 'n%'",
        "SELECT COUNT(*) AS n FROM {t} WHERE CAST(note AS STRING) LIKE 'n%'",
    ),
    (
        "SELECT SUM(note) AS n FROM {t}",
        "SELECT SUM(TRY_VARIANT_GET(note, '$', 'bigint')) AS n FROM {t}",
    ),
    (
        "SELECT id, SIZE(payload.commits) AS n FROM {t} WHERE id < 50 AND type = 'PushEvent'",
        "SELECT id, SIZE(payload.commits) AS n FROM {t} WHERE id < 50 AND type = 'PushEvent'",
    ),
    (
        "SELECT c.sha AS sha, COUNT(*) AS n FROM {t} e, e.payload.commits c GROUP BY c.sha",
        (
            "SELECT VARIANT_GET(c, '$.sha', 'string') AS sha, COUNT(*) AS n FROM"
            " (SELECT EXPLODE(payload.commits) AS c FROM {t}) GROUP BY 1"
        ),
    ),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two packfiles with 4,000 rows, in many blocks."""
    folder = tmp_path_factory.mktemp("events")
    events.make(folder / "a.zion", 0, COUNT // 2)
    events.make(folder / "b.zion", COUNT // 2, COUNT)
    return folder


@pytest.fixture(scope="module")
def load(spark: SparkSession, folder: Path) -> Callable[..., DataFrame]:
    """Loads the folder with options."""
    from sdb.spark import register

    register(spark)

    def load(**options: str) -> DataFrame:
        return spark.read.format("zion").options(**options).load(str(folder))

    return load


@pytest.fixture(scope="module")
def view(load: Callable[..., DataFrame]) -> str:
    """Return the name of a view of all rows."""
    load(variants="variant").createOrReplaceTempView("events")
    return "events"


def plain(value: Any) -> Any:
    """Return what values have in common that stand for the same."""
    match value:
        case bool() | str() | None:
            return value
        case int() | float():
            return float(f"{value:.12g}") if math.isfinite(value) else value
        case list():
            return tuple(map(plain, value))
        case _:
            return instants.text(int(value.timestamp() * 1e6)) if hasattr(value, "year") else value


def rows_of_sdb(text: str) -> Counter[tuple[Any, ...]]:
    with sdb.sql(text) as result:
        return Counter(
            tuple(sorted((k, plain(v)) for k, v in row.items() if v is not None)) for row in result
        )


def rows_of_spark(actual: list[Row]) -> Counter[tuple[Any, ...]]:
    return Counter(
        tuple(sorted((k, plain(v)) for k, v in row.asDict().items() if v is not None))
        for row in actual
    )


@pytest.mark.parametrize(
    ("ours", "theirs"), [*((text, text) for text in SAME), *PAIRS], ids=range(len(SAME + PAIRS))
)
def test_the_answers_are_those_of_sdb_query(
    spark: SparkSession, view: str, folder: Path, ours: str, theirs: str
) -> None:
    expected = rows_of_sdb(ours.format(t=f"'{folder}/*.zion'", at=AT, until=UNTIL))
    assert expected
    collected = spark.sql(theirs.format(t=view, at=AT[:-1], until=UNTIL[:-1])).collect()
    assert rows_of_spark(collected) == expected


def test_there_are_thirty_questions() -> None:
    assert len(SAME) + len(PAIRS) >= 30


def allowed(folder: Path) -> int:
    """Count the blocks that the time indexes leave for the window."""
    count = 0
    for path in folder.glob("*.zion"):
        with sdb.open(path) as pack:
            count += len(pack.select(since=AT, until=UNTIL).blocks)
    return count


def test_a_window_reads_the_blocks_that_the_index_allows(
    load: Callable[..., DataFrame], folder: Path
) -> None:
    from sdb.spark.read.planned import plan

    actual = load(since=AT, until=UNTIL, fields="id,created_at")
    (planned,) = plan(actual)
    assert planned.blocks_total > 10
    assert 0 < planned.blocks <= allowed(folder)
    assert planned.files == 1
    assert planned.files_total == 2
    assert sorted(row.id for row in actual.collect()) == list(range(1000, 1040))


WINDOW = f"created_at >= timestamp'{AT[:-1]}' AND created_at < timestamp'{UNTIL[:-1]}'"


def test_filters_of_one_query_leave_out_nothing_for_others(
    load: Callable[..., DataFrame],
) -> None:
    # Spark keeps what a data source has planned: the second query would miss the rows of the blocks
    # that the first one did not need.
    actual = load(fields="id,created_at")
    assert actual.where(WINDOW).count() == 40
    assert actual.count() == COUNT
    assert actual.where(WINDOW).union(actual.where("id < 5")).count() == 45


def test_a_column_of_several_kinds_can_be_compared_joined_and_grouped(
    load: Callable[..., DataFrame],
) -> None:
    mixed = load(fields="id,note")
    assert dict(mixed.dtypes)["note"] == "string"
    assert mixed.distinct().count() == COUNT
    assert mixed.where("note = '17'").count() == load(fields="note").where("note = '17'").count()
    assert sum(row["count"] for row in mixed.groupBy("note").count().collect()) == COUNT
    keys = mixed.select("note").distinct().where("note IS NOT NULL")
    assert mixed.join(keys, "note").count() == mixed.where("note IS NOT NULL").count()
    assert dict(load(variants="variant").dtypes)["note"] == "variant"


def test_a_query_of_sdb_gives_its_rows(spark: SparkSession, folder: Path) -> None:
    text = f"SELECT type, COUNT(*) AS n FROM read_file('{folder}/*.zion') GROUP BY type"
    frame = spark.read.format("zion").option("query", text).load()
    assert frame.dtypes == [("type", "string"), ("n", "bigint")]
    assert sum(row.n for row in frame.collect()) == COUNT
    assert frame.where("type = 'ForkEvent'").count() == 1


@pytest.mark.parametrize(
    ("select", "is_divided"),
    [
        ("id, actor.login AS who FROM {packfiles} WHERE id % 7 = 3", True),
        ("* FROM {packfiles} WHERE type = 'ForkEvent' AND score IS NULL", True),
        ("id FROM {packfiles} WHERE type = 'none'", True),
        ("note AS n, id FROM web.t WHERE NOT public", True),
        ("t.id FROM web.t WHERE t.id < 9", False),
        ("id, score * 2 AS d FROM {packfiles} WHERE id < 9", False),
        ("DISTINCT type FROM {packfiles}", False),
        ("id FROM {packfiles} ORDER BY id LIMIT 5", False),
        ("id FROM {packfiles} WHERE id IN (SELECT MAX(id) FROM {packfiles})", False),
    ],
)
def test_a_query_of_fields_and_a_condition_is_run_in_parts(
    spark: SparkSession, folder: Path, tmp_path: Path, select: str, *, is_divided: bool
) -> None:
    root = str(tmp_path)
    db = sdb.connect(root)
    db.execute("CREATE TABLE web.t")
    for path in folder.glob("*.zion"):
        db.append("web.t", path)
    text = f"SELECT {select}".format(packfiles=f"'{folder}/*.zion'")
    options = {"query": text, "root": root, "partitionBytes": "64KiB"}
    frame = spark.read.format("zion").options(**options).load()
    assert (frame.rdd.getNumPartitions() > 1) == is_divided
    with sdb.sql(text, root=root) as result:
        expected = list(result)
    made = [row.asDict(recursive=True) for row in frame.select(*frame.columns).collect()]
    assert len(made) == len(expected)
    if "id" in frame.columns:
        assert {row["id"] for row in made} == {row["id"] for row in expected}
    if "who" in frame.columns:
        assert {row["id"]: row["who"] for row in made} == {r["id"]: r["who"] for r in expected}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"sinse": AT}, "did you mean since"),
        ({"filds": "id"}, "did you mean fields"),
        ({"pushdown": "true"}, "unknown option 'pushdown'"),
        ({"txnId": "x"}, "an option of writing"),
        ({"query": "SELECT 1 AS n"}, "query goes without path"),
        ({"mergeSchema": "yes"}, "expected true or false"),
        ({"pathGlobFilter": "c*.zion"}, "none of 2 packfiles fits"),
        ({"modifiedAfter": "2100-01-01"}, "none of 2 packfiles fits"),
    ],
)
def test_options_that_mean_nothing_are_errors(
    load: Callable[..., DataFrame], options: dict[str, str], said: str
) -> None:
    with pytest.raises(Exception, match=said):
        load(**options).count()


def test_options_of_files_mean_what_they_mean_in_spark(
    spark: SparkSession, folder: Path, tmp_path: Path
) -> None:
    reader = spark.read.format("zion")
    assert reader.option("pathGlobFilter", "a*").load(str(folder)).count() == COUNT // 2
    assert reader.option("modifiedBefore", "2100-01-01").load(str(folder)).count() == COUNT // 2
    (tmp_path / "deep" / "er").mkdir(parents=True)
    shutil.copy(folder / "a.zion", tmp_path / "top.zion")
    shutil.copy(folder / "b.zion", tmp_path / "deep" / "er")
    read = spark.read.format("zion").option("fields", "id")
    assert read.load(str(tmp_path)).count() == COUNT // 2
    assert read.option("recursiveFileLookup", "true").load(str(tmp_path)).count() == COUNT


def test_a_packfile_that_is_gone_is_left_out_when_asked(
    spark: SparkSession, folder: Path, tmp_path: Path
) -> None:
    for name in ("a.zion", "b.zion"):
        shutil.copy(folder / name, tmp_path / name)
    read = spark.read.format("zion").option("fields", "id").option("partitionBytes", "64KiB")
    lost, skipped = read.load(str(tmp_path)), read.option("ignoreMissingFiles", "true")
    left = skipped.load(str(tmp_path))
    assert lost.rdd.getNumPartitions() == left.rdd.getNumPartitions()  # both are planned
    (tmp_path / "b.zion").unlink()
    with pytest.raises(Exception, match=r"b\.zion"):
        lost.count()
    assert left.count() == COUNT // 2


def test_a_damaged_packfile_is_left_out_when_asked(
    spark: SparkSession, folder: Path, tmp_path: Path
) -> None:
    for name in ("a.zion", "b.zion"):
        shutil.copy(folder / name, tmp_path / name)
    damaged = bytearray((tmp_path / "b.zion").read_bytes())
    damaged[100] ^= 1
    (tmp_path / "b.zion").write_bytes(damaged)
    read = spark.read.format("zion").option("fields", "id").option("partitionBytes", "64KiB")
    with pytest.raises(Exception, match=r"b\.zion: block 0"):
        read.load(str(tmp_path)).count()
    read = read.option("ignoreCorruptFiles", "true")
    assert COUNT // 2 <= read.load(str(tmp_path)).count() < COUNT
    (tmp_path / "b.zion").write_bytes(damaged[:1000])
    assert read.load(str(tmp_path)).count() == COUNT // 2


def test_fields_choose_columns_and_what_is_in_them(load: Callable[..., DataFrame]) -> None:
    actual = load(fields="type,actor.login,nope")
    assert actual.schema.simpleString() == (
        "struct<type:string,actor:struct<login:string>,nope:string>"
    )
    row = actual.where("type = 'ForkEvent'").first()
    assert row is not None
    assert row.actor.login.startswith("user")
    assert row.nope is None


def test_partitions_are_of_the_size_that_is_asked_for(load: Callable[..., DataFrame]) -> None:
    from sdb.spark.read.planned import plan

    (item,) = plan(load(fields="id"))
    (many,) = plan(load(fields="id", partitionBytes="64KiB"))
    (placed,) = plan(load(fields="id", partitionBytes="64KiB", workers="3"))
    assert item.partitions == 1
    assert many.partitions > 5
    assert item.blocks == many.blocks == placed.blocks == item.blocks_total
    assert load(fields="id", partitionBytes="64KiB", workers="3").distinct().count() == COUNT


def test_a_value_that_does_not_fit_is_named(
    spark: SparkSession, load: Callable[..., DataFrame], folder: Path
) -> None:
    del load
    reader = spark.read.format("zion").schema("id BIGINT, note BIGINT")
    with pytest.raises(Exception, match=r"a\.zion: block 0: note: a text that the column"):
        reader.load(str(folder / "a.zion")).collect()
    lenient = reader.option("mode", "PERMISSIVE").load(str(folder))
    assert lenient.where("note IS NOT NULL").count() == 400


def test_a_file_that_changed_after_it_was_loaded(
    spark: SparkSession, load: Callable[..., DataFrame], tmp_path: Path
) -> None:
    del load
    path = events.make(tmp_path / "a.zion", 0, 10)
    actual = spark.read.format("zion").option("fields", "id").load(str(path))
    assert actual.count() == 10
    events.append(path, 10, 20)
    with pytest.raises(Exception, match="changed since this was loaded"):
        actual.count()
    assert spark.read.format("zion").option("fields", "id").load(str(path)).count() == 20


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("nope.zion", {}, "nope.zion"),
        ("*.nope", {}, "no file matches"),
        ("a.json", {}, "a.json"),
        ("a.zion", {"fields": ","}, "not a list of names"),
        ("a.zion", {"mode": "LOUD"}, "expected one of FAILFAST, PERMISSIVE"),
        ("a.zion", {"partitionBytes": "0"}, "partitionBytes: 0 is less than 1"),
    ],
)
def test_errors_say_what_is_wrong(
    spark: SparkSession,
    load: Callable[..., DataFrame],
    folder: Path,
    name: str,
    options: dict[str, str],
    message: str,
) -> None:
    del load
    with pytest.raises(Exception, match=message):
        spark.read.format("zion").options(**options).load(str(folder / name))
