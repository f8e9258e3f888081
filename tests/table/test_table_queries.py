"""Queries on tables: the recorded roots, and which parts of a table they read."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sdb
from sdb import errors
from sdb.query.catalog import storedtable
from sdb.query.catalog.storedtable import TableSource
from sdb.query.catalog.tablescan import PackfileScan
from sdb.records import replace
from sdb.table.catalog.foreign import seal_of
from sdb.table.catalog.handle import open_table
from sdb.table.format.columns import DescriptorList
from sdb.table.format.state import VersionState, with_state
from sdb.table.packfiles import lazy
from sdb.table.packfiles.lazy import OpenObjects, StatsCache, TablePackfile
from tests.amounts import usual
from tests.table import roots
from tests.table.made import made_table, write_index

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DAYS = 6
HOUR_US = 3_600_000_000


def day(number: int) -> datetime:
    return datetime(2024, 1, 1 + number, tzinfo=UTC)


def rows_of(number: int) -> list[dict[str, Any]]:
    return [
        {"ts": f"2024-01-{1 + number:02}T{hour:02}:00:00Z", "n": 24 * number + hour}
        for hour in range(24)
    ]


ROWS = [row for number in range(DAYS) for row in rows_of(number)]


def parts(folder: Path) -> list[Path]:
    results = []
    for number in range(DAYS):
        part = folder / f"{number}.json"
        part.write_text("".join(json.dumps(row) + "\n" for row in rows_of(number)))
        results.append(part)
    return results


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a table of six days: four lists of one packfile each, and two in the index."""
    folder = tmp_path_factory.mktemp("days")
    constants = [
        {"region": "eu" if number % 2 else "us", "shard": number % 3, "day": day(number)}
        for number in range(DAYS)
    ]
    root = folder / "lake"
    return made_table(root, "web", "logs", parts(folder), constants=constants, indirect=4)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record each packfile that is opened."""
    results: list[str] = []
    before = lazy.LazyReader._opened

    def open_(self: lazy.LazyReader, *count: int) -> Any:
        results.append(self.path)
        return before(self, *count)

    monkeypatch.setattr(lazy.LazyReader, "_opened", open_)
    # What other tests have asked of the same packfiles is not known here.
    monkeypatch.setattr(lazy, "_KNOWN", StatsCache(64 << 20))
    return results


def answer(text: str, root: Path, **options: Any) -> list[dict[str, Any]]:
    with sdb.sql(text, root=str(root), **options) as result:
        return list(result)


def counts() -> Iterator[tuple[str, str, int]]:
    path = roots.FOLDER / "roots/15-defect-compaction.transcript.json"
    for step in json.loads(path.read_text())["steps"] if path.exists() else ():
        if "correct_count" in step:
            yield (
                "15-defect-compaction-1",
                step["cmd"].partition("-fmt json ")[2],
                (step["correct_count"]),
            )


@pytest.mark.parametrize(("archive", "query", "count"), list(counts()))
def test_indexes_that_compaction_damaged_lose_no_row(
    archive: str, query: str, count: int, tmp_path: Path
) -> None:
    """T 11.3: the original answers less."""
    assert answer(query, roots.unpacked(archive, tmp_path)) == [{"count": count}]


@pytest.mark.parametrize(
    ("archive", "name"), [(root, name) for root, name in roots.recorded() if "gc-1" not in root]
)
def test_rows_of_recorded_tables_are_those_of_their_packfiles(
    archive: str, name: str, tmp_path: Path
) -> None:
    root = roots.unpacked(archive, tmp_path)
    _, database, table, *_ = name.split(".")
    index = json.loads((roots.FOLDER / "roots" / name).read_text())["index"]
    wanted = 0
    for descriptor in [*index["indirect_descriptors"], *index["inline"]]:
        with sdb.open(root / descriptor["path"]) as pack:
            wanted += sum(1 for _ in pack)
    assert answer(f"SELECT COUNT(*) FROM {database}.{table}", root) == [{"count": wanted}]
    assert len(answer(f"SELECT * FROM {database}.{table}", root)) == wanted


def test_names_of_tables(lake: Path) -> None:
    for name in ("web.logs", '"web"."logs"', "'web.logs'", '"web.logs"', 'web."logs"'):
        assert answer(f"SELECT COUNT(*) FROM {name}", lake) == [{"count": len(ROWS)}]
    joined = "SELECT COUNT(*) FROM web.logs a JOIN web.logs b ON a.n = b.n WHERE a.shard = 1"
    assert answer(joined, lake) == [{"count": 48}]
    assert answer("SELECT COUNT(*) FROM web.logs ++ web.logs", lake) == [{"count": 2 * len(ROWS)}]


def test_patterns_of_tables(tmp_path: Path) -> None:
    root = roots.unpacked("14-two-tables-1", tmp_path)
    alone = [
        answer(f"SELECT COUNT(*) AS n FROM demo.{name}", root)[0]["n"] for name in ("ta", "tb")
    ]
    for text, wanted in {
        'TABLE_GLOB(demo."t*")': sum(alone),
        'TABLE_GLOB(demo."?b")': alone[1],
        'TABLE_PATTERN(demo."t[a]")': alone[0],
        'TABLE_PATTERN(demo."t.") ++ demo.ta': sum(alone) + alone[0],
    }.items():
        assert answer(f"SELECT COUNT(*) AS n FROM {text}", root) == [{"n": wanted}], text
    for text in ('TABLE_GLOB(demo."x*")', 'TABLE_GLOB(nope."*")'):
        with pytest.raises(errors.NotFoundError):
            answer(f"SELECT COUNT(*) FROM {text}", root)
    with pytest.raises(errors.UsageError, match="not a regular expression"):
        answer('SELECT COUNT(*) FROM TABLE_PATTERN(demo."(")', root)


def test_a_query_sees_one_version_of_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = roots.unpacked("02-append-1", tmp_path / "lake")
    newer = roots.unpacked("02-append-2", tmp_path / "newer")
    counted = [answer("SELECT COUNT(*) AS n FROM demo.t", item)[0]["n"] for item in (root, newer)]
    assert counted[0] < counted[1]
    read = storedtable.find_table

    def found(*names: Any) -> Any:
        handle = read(*names)
        shutil.copytree(newer, root, dirs_exist_ok=True)  # someone commits between two reads
        return handle

    monkeypatch.setattr(storedtable, "find_table", found)
    text = """SELECT COUNT(*) AS n FROM demo.t ++ "demo"."t" ++ 'demo.t'"""
    assert answer(text, root) == [{"n": 3 * counted[0]}]
    assert answer(text, root) == [{"n": 3 * counted[1]}]


@pytest.mark.parametrize("name", ["web.lugs", "'web.lugs'"])
def test_unknown_tables_are_told_with_what_may_be_meant(lake: Path, name: str) -> None:
    with pytest.raises(errors.NotFoundError, match="there is no table") as raised:
        answer(f"SELECT * FROM {name}", lake)
    assert raised.value.hint == "did you mean web.logs?"


def test_files_beside_tables_are_what_they_were(lake: Path, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    sdb.pack([{"a": 1}], tmp_path / "logs/x.zion")
    assert answer("SELECT a FROM logs.x", tmp_path) == [{"a": 1}]
    with pytest.raises(errors.NotFoundError, match=r"nope\.zion"):
        answer("SELECT a FROM 'nope.zion'", lake)
    with pytest.raises(errors.NotFoundError, match=r"logs/y"):
        answer("SELECT a FROM logs.y", tmp_path)


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("SELECT COUNT(*) AS n FROM web.logs", [{"n": 144}]),
        (
            "SELECT region, COUNT(*) AS n FROM web.logs GROUP BY region ORDER BY region",
            [{"region": "eu", "n": 72}, {"region": "us", "n": 72}],
        ),
        (
            """SELECT COUNT(*) AS n, shard, region FROM web.logs GROUP BY region, shard
            ORDER BY shard DESC, region LIMIT 2 OFFSET 1""",
            [{"n": 24, "shard": 2, "region": "us"}, {"n": 24, "shard": 1, "region": "eu"}],
        ),
        (
            "SELECT day, COUNT(*) AS n FROM web.logs GROUP BY day ORDER BY day DESC LIMIT 1",
            [{"day": day(5), "n": 24}],
        ),
    ],
)
def test_counts_come_from_the_index_alone(
    lake: Path, opened: list[str], query: str, wanted: list[dict[str, Any]]
) -> None:
    assert answer(query, lake) == wanted
    with sdb.sql(query, root=str(lake), typed=False) as result:
        lines = b"".join(result.lines())
        assert result.blocks_read == 0
    assert [json.loads(line)["n"] for line in lines.splitlines()] == [item["n"] for item in wanted]
    assert opened == []


def test_counts_make_no_object_of_packfiles_in_lists(
    lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(listed: DescriptorList, number: int, **_: bool) -> None:
        raise AssertionError((listed, number))

    whole = answer("SELECT COUNT(*) AS n FROM web.logs", lake)
    monkeypatch.setattr(DescriptorList, "_made", refused)
    with sdb.sql("SELECT COUNT(*) AS n FROM web.logs", root=str(lake)) as result:
        assert list(result) == whole
        reading = result.reading
    assert reading.files == reading.all_files == DAYS
    assert reading.stored_bytes == reading.all_stored_bytes > 0
    with pytest.raises(AssertionError):
        answer("SELECT * FROM web.logs LIMIT 1", lake)


def test_packfiles_of_lists_are_those_that_their_descriptors_tell_of(lake: Path) -> None:
    handle = open_table(lake, "web", "logs")
    packs = TableSource(handle).packs()
    reported = [described.checked() for described in handle.descriptors()]
    assert len(packs) == len(reported) > handle.index.indirect.original_objects > 0
    for pack, described in zip(packs, reported, strict=True):
        trailer = described.trailer
        facts = (pack.block_count, pack.row_count, pack.stored_bytes, pack.decompressed_bytes)
        whole = (len(trailer.blocks), trailer.rows, trailer.offset, trailer.decompressed_bytes)
        assert facts == whole
        assert (pack.path, pack.size_bytes) == (
            handle.root.place(described.key),
            described.size_bytes,
        )
        assert (pack.trailer, pack.etag, pack.is_remote) == (trailer, described.etag, False)
        assert isinstance(pack, TablePackfile)
        assert (pack.descriptor, pack.key, pack.verify) == (described, described.key, True)


def test_no_packfile_is_opened_for_a_plan(lake: Path, opened: list[str]) -> None:
    late = "ts >= `2024-01-05T00:00:00Z` AND ts < `2024-01-05T05:00:00Z`"
    with sdb.sql(f"SELECT n FROM web.logs WHERE {late}", root=str(lake)) as result:
        (table,) = result.tables
        (step,) = table.steps
        assert (step.lists, step.all_lists, step.packfiles, step.all_packfiles) == (0, 4, 2, 6)
        assert (result.reading.files, result.reading.all_files) == (1, 6)
        assert opened == []
        assert len(list(result)) == 5
    assert len(set(opened)) == 1


def test_only_lists_that_matter_are_read(lake: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(lake, copy)
    lists = list(copy.glob("db/web/logs/indirect-*"))
    assert len(lists) == 4
    for path in lists:
        path.unlink()
    query = "SELECT COUNT(*) FROM web.logs WHERE ts >= `2024-01-05T00:00:00Z`"
    assert answer(query, copy) == [{"count": 48}]
    assert answer("SELECT COUNT(*) FROM web.logs", copy, since="2024-01-06") == [{"count": 24}]
    with pytest.raises(errors.CorruptError, match=r"indirect-.* is missing"):
        answer("SELECT COUNT(*) FROM web.logs", copy)


@given(
    st.integers(-30, 24 * DAYS + 30),
    st.integers(0, 80),
    st.sampled_from([None, "region = 'eu'", "shard IN (0, 2)", "shard <> 1 OR region = 'us'"]),
)
@settings(max_examples=usual(60), deadline=None)
def test_pruning_loses_no_row(lake: Path, start: int, hours: int, also: str | None) -> None:
    first = datetime.fromtimestamp(day(0).timestamp() + 3600 * start, UTC)
    last = datetime.fromtimestamp(day(0).timestamp() + 3600 * (start + hours), UTC)
    where = f"ts >= `{first:%Y-%m-%dT%H:%M:%SZ}` AND ts < `{last:%Y-%m-%dT%H:%M:%SZ}`"
    text = "SELECT n FROM web.logs WHERE " + (f"{where} AND ({also})" if also else where)
    pruned, whole = answer(text, lake), answer(text, lake, prune=False)
    key = [item["n"] for item in ROWS if start <= item["n"] < start + hours]
    assert sorted(item["n"] for item in pruned) == sorted(item["n"] for item in whole)
    assert also or sorted(item["n"] for item in pruned) == key
    period = answer("SELECT n FROM web.logs", lake, since=first, until=last)
    assert sorted(item["n"] for item in period) == key


@pytest.mark.parametrize("per_list", [1, 2, 3])
def test_times_that_few_rows_have_are_found_in_old_lists(tmp_path: Path, per_list: int) -> None:
    """A packfile has no index of them, and those beside it have."""
    made = []
    for number, month in enumerate([1, 6, 2]):
        part = tmp_path / f"{number}.json"
        rows = [{"u": f"2024-{month:02}-01T00:00:00Z"}, {}] if month != 6 else [{}] * 9
        rows += [{"u": "2024-06-01T00:00:00Z"}] if month == 6 else []
        part.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        made.append(part)
    root = made_table(tmp_path / "lake", "web", "few", made, indirect=3, per_list=per_list)
    handle = open_table(root, "web", "few")
    assert len(handle.index.indirect.refs) == -(-3 // per_list)
    counts = {
        text: answer(f"SELECT COUNT(*) AS n FROM web.few WHERE {text}", root)
        for text in ("u >= `2024-05-01T00:00:00Z`", "u < `2024-02-02T00:00:00Z`")
    }
    assert [count for (count,) in counts.values()] == [{"n": 1}, {"n": 2}]


def test_lists_of_another_program_over_ours_are_all_read(tmp_path: Path) -> None:
    root = made_table(tmp_path / "lake", "web", "logs", parts(tmp_path)[:2], indirect=1)
    handle = open_table(root, "web", "logs")
    seal = seal_of(handle.index)
    state = VersionState(bytes(16), 1, "a", 1, handle.index.created_us, "insert", seal=seal)
    late = "SELECT COUNT(*) AS n FROM web.logs WHERE ts > `2024-01-02T12:00:00Z`"
    for created_us, lists in [(handle.index.created_us, 0), (handle.index.created_us + 1, 1)]:
        index = replace(handle.index, user_data=with_state({}, state), created_us=created_us)
        write_index(root, handle.keys, index)
        with sdb.sql(late, root=str(root)) as result:
            assert list(result) == [{"n": 11}]
            assert result.tables[0].steps[0].lists == lists


def test_partitions_prune(lake: Path, opened: list[str]) -> None:
    text = "SELECT n FROM web.logs WHERE region = 'eu' AND shard = 0"
    assert sorted(item["n"] for item in answer(text, lake)) == list(range(72, 96))
    assert len(set(opened)) == 1


def test_few_objects_are_open_at_once(
    lake: Path, monkeypatch: pytest.MonkeyPatch, opened: list[str]
) -> None:
    monkeypatch.setattr(OpenObjects.__init__, "__defaults__", (2,))
    text = "SELECT SUM(n) AS s FROM web.logs"
    for _ in range(3):
        with sdb.sql(text, root=str(lake), threads=4) as result:
            assert list(result) == [{"s": sum(range(144))}]
    assert len(set(opened)) == DAYS


def test_an_empty_table_has_no_rows(tmp_path: Path) -> None:
    root = roots.unpacked("13-empty-1", tmp_path)
    assert answer("SELECT COUNT(*) FROM demo.t", root) == [{"count": 0}]
    assert answer("SELECT * FROM demo.t", root) == []
    assert answer("SELECT a, COUNT(*) FROM demo.t GROUP BY a", root) == []
    assert answer("SELECT a, MAX(b) FROM demo.t WHERE c > 1 GROUP BY a ORDER BY a", root) == []
    assert answer("SELECT a FROM demo.t", root, since="1h", time_field="ts") == []
    assert list(sdb.sql("DESCRIBE demo.t", root=str(root))) == []


def test_fields_of_a_table(lake: Path) -> None:
    actual = answer("DESCRIBE web.logs", lake)
    assert {item["field"] for item in actual} == {"ts", "n", "region", "shard", "day"}
    (row,) = answer("SELECT * EXCLUDE (ts, day) FROM web.logs WHERE n = 30", lake)
    assert row == {"n": 30, "region": "eu", "shard": 1}


@pytest.mark.parametrize("harm", ["missing", "short", "longer"])
def test_packfiles_that_are_not_what_was_written(tmp_path: Path, harm: str) -> None:
    root = made_table(tmp_path / "lake", "web", "logs", parts(tmp_path)[:2])
    path = min(root.glob("db/web/logs/packed-*"))
    data = path.read_bytes()
    path.unlink()
    if harm != "missing":
        path.write_bytes(data[:-9] if harm == "short" else data + b"x")
    with pytest.raises(errors.CorruptError, match=path.name) as raised:
        answer("SELECT SUM(n) FROM web.logs", root)
    assert raised.value.exit_code == 6


def test_tables_in_python(lake: Path) -> None:
    db = sdb.connect(lake)
    (facts,) = db.tables()
    assert (facts.name, facts.packfiles, facts.newest_us) == (
        "web.logs",
        DAYS,
        int(day(5).timestamp() * 1e6) + 23 * HOUR_US,
    )
    assert db.tables("web") == [facts]
    table = db.table("web.logs")
    assert table.describe().facts.rows == len(ROWS)
    assert [entry.number for entry in table.inputs()] == list(range(DAYS))
    report = table.validate()
    assert (report.ok, report.rows, report.packfiles) == (True, len(ROWS), DAYS)
    assert table.to_arrow(fields=["n"], since="2024-01-06", limit=3).to_pydict() == {
        "n": [120, 121, 122]
    }
    assert table.to_arrow().num_rows == len(ROWS)
    assert db.sql("SELECT COUNT(*) AS n FROM web.logs").to_arrow().to_pydict() == {"n": [144]}
    with pytest.raises(errors.NotFoundError, match=r"no table web\.x"):
        db.table("web.x")
    with pytest.raises(errors.UsageError):
        db.table("web")


def test_plans_of_counts_read_no_block(lake: Path, opened: list[str]) -> None:
    text = "SELECT COUNT(*) AS n, COUNT(*) AS m FROM web.logs WHERE n >= 10 AND n < 30"
    with sdb.sql(text, root=str(lake)) as result:
        assert result.reading.files == DAYS
        # The ends of packfiles tell what is known of the numbers in their blocks, once.
        assert result.blocks_read == 0
        assert len(set(opened)) in {0, DAYS}
        assert list(result) == list(result) == [{"n": 20, "m": 20}]
        assert len(set(opened)) == result.blocks_read == DAYS


@pytest.mark.parametrize(
    ("sql", "packfiles"),
    [
        ("SELECT n FROM web.logs LIMIT 30", 2),
        ("SELECT n FROM web.logs WHERE n >= 0 LIMIT 30", DAYS),
        ("SELECT n FROM web.logs LIMIT 1000", DAYS),
    ],
)
def test_a_limit_looks_at_the_first_packfiles_alone(
    lake: Path, monkeypatch: pytest.MonkeyPatch, sql: str, packfiles: int
) -> None:
    looked: list[object] = []
    good = PackfileScan.source
    monkeypatch.setattr(
        PackfileScan, "source", lambda part, *more: (looked.append(part), good(part, *more))[1]
    )
    assert len(answer(sql, lake)) == (30 if "30" in sql else len(ROWS))
    assert len(looked) == packfiles
