"""Keys of the small side of a join leave out blocks of the large one."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb.packfile.prune import inlist, prune
from sdb.packfile.prune.inlist import SortedValues
from sdb.packfile.prune.predicate import Compare, Instant, OneOf
from sdb.packfile.trailer.zonemap import Zone
from sdb.query.catalog.dataset import QueryRequest
from sdb.query.result.reading import facts
from sdb.query.run import joinkeys
from sdb.query.run.api import PlannedQuery
from sdb.query.syntax.parser import parse
from sdb.table.packfiles import lazy

if TYPE_CHECKING:
    from pathlib import Path

    from sdb.client.connection import Connection

ROWS = 8000


def large(number: int) -> dict[str, Any]:
    return {
        "id": f"e{number * 7919 % ROWS:05}",
        "n": number,
        "user": {"id": number // 10},
        "t": datetime(2026, 1, 1 + number // 1000, 0, 0, number % 60, tzinfo=UTC),
        "pad": str(number) * 20,
    }


def small(number: int) -> dict[str, Any]:
    return {
        "k": f"e{number * 100:05}",
        "m": number * 3,
        "f": float(number * 3),
        "u": 5 + number,
        "t": datetime(2026, 1, 5, 0, 0, 1, tzinfo=UTC),
        "g": number % 5,
        "l": [number],
        "mixed": [number, f"e{number}", True, None, number + 0.5][number % 5],
        **({"nothing": None} if number == 3 else {}),
    }


OPTIONS = {"block_bytes": 1 << 15, "align_bytes": 1 << 13, "threads": 1}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("joins")
    rows = list(map(large, range(ROWS)))
    sdb.pack(rows, folder / "large.zion", stats="id,n,user.id", **OPTIONS)
    sdb.pack(list(map(small, range(30))), folder / "small.zion")
    sdb.pack([{"n": number} for number in range(20_000)], folder / "many.zion")
    return folder


def asked(folder: Path, text: str, **options: Any) -> tuple[list[dict[str, Any]], int, int]:
    names = {name: f"read_file('{folder / name}.zion')" for name in ("large", "small", "many")}
    with sdb.sql(f"SELECT {text.format(**names)}", **options) as result:
        rows = sorted(result, key=repr)
        read = [sum(part.block_count for part in table.parts) for table in result.tables]
        return rows, max(read), result.reading.all_blocks


FEW = {
    "a.n, b.m FROM {large} a JOIN {small} b ON a.id = b.k AND b.g = 1": 8,
    "a.n, b.m FROM {small} b JOIN {large} a ON a.n = b.m WHERE b.g < 3": 1,
    "a.n, b.m FROM {large} a, {small} b WHERE b.f = a.n": 1,
    "a.n, b.m FROM {small} b LEFT JOIN {large} a ON a.user.id = b.u": 1,
    "a.n, b.m FROM {large} a RIGHT JOIN {small} b ON a.n = b.m": 1,
    "a.n FROM {large} a JOIN {small} b ON a.n = b.m LEFT JOIN {small} c ON c.m = b.m": 1,
    "a.n FROM {large} a JOIN (SELECT m AS x FROM {small} WHERE g = 1) b ON a.n = b.x": 1,
    "n FROM {large} WHERE n IN (SELECT m FROM {small})": 1,
    "a.n FROM {large} AS a WHERE a.n IN (SELECT s.m FROM {small} AS s WHERE s.g = 2)": 1,
    "n FROM {large} WHERE id IN (SELECT k FROM {small} WHERE g = 2)": 8,
    "n FROM {large} WHERE t IN (SELECT t FROM {small})": 5,
    "COUNT(*) AS n FROM (SELECT a.n FROM {large} a JOIN {small} b ON a.n = b.m) AS x": 1,
    "n FROM {large} WHERE n IN (SELECT mixed FROM {small})": 1,
    "n FROM {large} WHERE n IN (SELECT nothing FROM {small} WHERE nothing IS NULL)": 0,
    "n FROM {large} WHERE n IN (SELECT m FROM {small} WHERE g > 7)": 0,
}
ALL = [
    "a.n FROM {large} a LEFT JOIN {small} b ON a.n = b.m",
    "a.n, b.m FROM {small} b RIGHT JOIN {large} a ON a.n = b.m",
    "n FROM {large} WHERE NOT (n IN (SELECT m FROM {small}))",
    "n FROM {large} WHERE n IN (SELECT m FROM {small}) OR n = 5000",
    "n FROM {large} WHERE n IN (SELECT n FROM {small})",  # that is the n around
    "n FROM {large} WHERE n IN (SELECT m FROM {small} LIMIT 3) AND n IS NOT NULL",
    "n FROM {large} WHERE n + 0 IN (SELECT m FROM {small})",
    "n FROM {large} WHERE n IN (SELECT n FROM {many})",
    "a.n FROM {large} a JOIN {small} b ON a.n + 0 = b.m",
    "a.n FROM {large} a JOIN {small} b ON a.n = b.m OR a.n = 7",
    "a.n FROM {large} a JOIN {large} b ON a.n = b.n",
    "a.n FROM {large} a JOIN {small} b ON a.pad = b.k",
]


@pytest.mark.parametrize("text", FEW)
def test_a_query_that_was_planned_reads_the_same(folder: Path, text: str) -> None:
    names = {name: f"read_file('{folder / name}.zion')" for name in ("large", "small", "many")}
    planned = PlannedQuery(QueryRequest(parse(f"SELECT {text.format(**names)}")))
    with planned.run() as result:
        rows = sorted(result, key=repr)
        read = [sum(part.block_count for part in table.parts) for table in result.tables]
    assert (rows, max(read), result.reading.all_blocks) == asked(folder, text)


@pytest.mark.parametrize("text", FEW)
def test_few_blocks_are_read(folder: Path, text: str) -> None:
    rows, read, blocks = asked(folder, text)
    whole, everything, same = asked(folder, text, prune=False)
    assert rows == whole
    assert read <= FEW[text] + 1 < everything  # one block of the small side
    assert blocks == same


@pytest.mark.parametrize("text", ALL)
def test_all_blocks_are_read(folder: Path, text: str) -> None:
    rows, read, _ = asked(folder, text)
    whole, everything, _ = asked(folder, text, prune=False)
    assert rows == whole
    assert read == everything > 20


def test_lists_and_many_keys_are_no_keys(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "n FROM {large} WHERE n IN (SELECT l FROM {small})"
    assert asked(folder, text)[1] > 20
    text = "n FROM {large} WHERE n IN (SELECT m FROM {small})"
    monkeypatch.setattr(joinkeys, "MOST_KEYS", 30)
    assert asked(folder, text)[1] == 1
    monkeypatch.setattr(joinkeys, "MOST_KEYS", 29)
    assert asked(folder, text)[1] > 20


def test_keys_that_leave_out_nothing_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bounds of values in no order are alike; filters are asked for few keys."""
    rows = [{"n": number * 7919 % ROWS, "s": number % 5, "pad": "-" * 99} for number in range(ROWS)]
    sdb.pack(rows, tmp_path / "large.zion", stats="n", **OPTIONS)
    sdb.pack([{"k": n, "g": n % 5} for n in range(300)], tmp_path / "small.zion")
    limits = []
    run = joinkeys.engine.run

    def watched(statement: Any, **options: Any) -> Any:
        limits.extend([] if statement.select.limit is None else [statement.select.limit])
        return run(statement, **options)

    monkeypatch.setattr(joinkeys.engine, "run", watched)
    for text, most, shares in (
        ("s IN (SELECT g FROM {small})", [], (1, 1)),
        ("n IN (SELECT k FROM {small})", [inlist.MOST_FILTERED + 1], (1, 1)),
        ("n IN (SELECT k FROM {small} WHERE k < 3)", [inlist.MOST_FILTERED + 1], (0.01, 0.5)),
    ):
        limits.clear()
        actual, read, blocks = asked(tmp_path, f"n FROM {{large}} WHERE {text}")
        assert actual == asked(tmp_path, f"n FROM {{large}} WHERE {text}", prune=False)[0]
        assert limits == most, text
        assert shares[0] * (blocks - 1) <= read <= shares[1] * blocks, text


def test_each_time_and_constant_is_asked_for(tmp_path: Path) -> None:
    days = [datetime(2026, 1, day, 0, 0, 1, tzinfo=UTC) for day in (2, 5, 7)]
    keys = [Instant(int(day.timestamp()) * 1_000_000) for day in days]
    path = tmp_path / "a.zion"
    rows = list(map(large, range(ROWS)))
    sdb.pack(rows, path, stats="off", constants={"c": 7}, **OPTIONS)
    with sdb.open(path) as pack:
        item = [pack.pruned(Compare(("t",), "=", key)) for key in keys]
        several = pack.pruned(OneOf(("t",), (*keys, "text", 1)))
        assert several == prune.union(interval for intervals in item for interval in intervals)
        assert len(several) == 3
        assert pack.pruned(OneOf(("c",), (6, 7, 8)))
        assert not pack.pruned(OneOf(("c",), (6, 8)))


def test_plans_tell_of_keys(folder: Path) -> None:
    names = [f"read_file('{folder / name}.zion')" for name in ("large", "small")]
    text = "SELECT a.n FROM {} a JOIN {} b ON a.n = b.m WHERE b.g = 1".format(*names)
    with sdb.sql(text) as result:
        actual = facts(result)
    assert actual["blocks"] == 2 < actual["all_blocks"]
    tables = [next(reason["reasons"] for reason in table["files"]) for table in actual["tables"]]
    shown = [(reason["condition"], reason["source"]) for reasons in tables for reason in reasons]
    assert ("n IN (6 keys)", "zone map") in shown


@pytest.mark.parametrize("most", [1, inlist.MOST_FILTERED])
def test_sorted_values_find_what_bounds_reach(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inlist, "MOST_FILTERED", most)
    numbers, texts, times = 0b100, 1 << 8, 1 << 6
    values = SortedValues([1, 20, 10.5, "b", "", "ü", Instant(5), None, True, float("nan")])

    def fit(**known: Any) -> bool:
        return values.fit(Zone(**{"values": 1, **known}))

    for least, greatest, held in ((2, 10, False), (2, 10.5, True), (20, 30, True), (21, 30, False)):
        assert SortedValues([1, 20, 10.5]).fit(Zone(numbers, 1, 0, (least, greatest))) is held
    assert fit(types=numbers, numbers=(2, 3))  # NaN is among the values
    assert SortedValues([1]).fit(Zone(numbers, 1, has_nan=True, numbers=(2, 3)))
    assert SortedValues([1]).fit(Zone(numbers, 1))
    for least, upper, held in ((b"a", b"az", False), (b"a", None, True), (b"c", b"\xc3\xbc", True)):
        assert fit(types=texts, texts=(least, upper)) is held
    assert not fit(types=texts, texts=(b"\xc3\xbd", None))
    assert fit(types=texts | 1 << 10, texts=(b"\xc3\xbd", None))  # bytes read as any text
    assert [fit(types=times, times=pair) for pair in ((1, 4), (5, 5), (6, 9))] == [
        False,
        True,
        False,
    ]
    assert fit(types=1, nulls=1)
    assert fit(types=2, booleans=2)
    assert not fit(types=2, booleans=1)
    assert not fit(types=1 << 11)


@pytest.fixture
def db(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Connection:
    monkeypatch.setenv("SNELLER_INDEX_KEY", base64.b64encode(b"k" * 32).decode())
    monkeypatch.setattr(lazy, "MOST_PLAIN_BYTES", 0)
    connection = sdb.connect(str(tmp_path / "lake"))
    connection.execute("CREATE TABLE web.t; CREATE TABLE web.s")
    rows = list(map(large, range(ROWS)))
    connection.append("web.t", rows, stats="id,n,user.id", **OPTIONS)
    connection.append("web.s", list(map(small, range(30))))
    return connection


STATEMENTS = {
    "DELETE FROM web.t WHERE id = 'e00100'": (1, 2),
    "DELETE FROM web.t WHERE n BETWEEN 500 AND 510": (11, 2),
    "UPDATE web.t SET x = 1 WHERE user.id = 7": (10, 2),
    "UPDATE web.t SET x = 1 WHERE user.id = 7 AND pad <> ''": (10, 2),
    "DELETE FROM web.t WHERE n IN (SELECT m FROM web.s WHERE g = 1)": (6, 3),
    "DELETE FROM web.t AS t WHERE t.id IN (SELECT s.k FROM web.s AS s WHERE s.g = 1)": (6, 9),
    "MERGE INTO web.t AS t USING web.s AS s ON t.n = s.m WHEN MATCHED THEN UPDATE SET x = s.g": (
        30,
        6,
    ),
    "MERGE INTO web.t AS t USING web.s AS s ON t.id = s.k WHEN MATCHED THEN DELETE": (30, 16),
    "MERGE INTO web.t AS t USING (SELECT k, m FROM web.s WHERE g = 1) AS s ON t.id = s.k "
    "WHEN NOT MATCHED THEN INSERT VALUES ({'n': s.m})": (0, 9),
}


@pytest.mark.parametrize("text", STATEMENTS)
def test_statements_find_their_rows_by_statistics(
    db: Connection, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed, most = STATEMENTS[text]
    scans: list[Any] = []
    run = joinkeys.engine.run

    def watched(*arguments: Any, **options: Any) -> Any:
        result = run(*arguments, **options)
        scans.extend(result.scans)
        return result

    monkeypatch.setattr(joinkeys.engine, "run", watched)
    (done,) = db.execute(text)
    (effect,) = done.effects
    assert effect.rows_updated + effect.rows_deleted == changed
    assert sum(scan.stats[0] for scan in scans) <= most
