"""What block statistics are good for, from the query to the blocks that it reads."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb import notes
from sdb.query.result.reading import facts
from sdb.table.packfiles import lazy
from tests.blockoracle import add_statistics

if TYPE_CHECKING:
    from pathlib import Path

ROWS = 400


def row(number: int) -> dict[str, Any]:
    """Make a row; its number tells what is in it, and about where it is."""
    return {
        "id": f"{number * 7919 % ROWS:04x}-{'x' * 40}",
        "n": number,
        "f": number / 8,
        "tags": [{"k": number}, {"k": -number}],
        "user": {"name": "even" if number % 2 == 0 else "odd"},
        **({"error": f"E{number}"} if number == 250 else {}),
        "t": f"2021-03-04T05:{number // 60:02}:{number % 60:02}Z",
        "late": f"2021-03-04T05:{number // 60:02}:{number % 60:02}.5Z" if number % 50 == 0 else 1,
    }


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("needles")
    source, path = folder / "rows.json", folder / "rows.zion"
    source.write_text("".join(json.dumps(row(number)) + "\n" for number in range(ROWS)))
    sdb.pack([source], path, block_bytes=4096, align_bytes=4096, threads=1)
    add_statistics(path)
    return path


def asked(path: Path, rest: str, *, prune: bool = True) -> tuple[list[dict[str, Any]], int]:
    with sdb.sql(f"SELECT {rest.format(path)}", prune=prune, threads=1) as result:
        rows = list(result)
        return rows, result.reading.blocks


CONDITIONS = {
    "id = '00c8-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'": 2,
    "n = 123": 1,
    "n BETWEEN 100 AND 110": 2,
    "f < 1": 1,
    "id LIKE '0%' AND n > 395": 1,
    "error IS NOT NULL": 1,
    "error LIKE 'E2%'": 1,
    "error = 'E251'": 0,
    "tags[0].k = 77": 1,
    "ARRAY_CONTAINS(tags, 7)": 0,
    "late = '2021-03-04T05:00:50.5Z'": 1,
    "user.name = 'none'": 0,
    "n IN (1, 399)": 2,
}


@pytest.mark.parametrize("condition", CONDITIONS)
def test_queries_read_few_blocks(packed: Path, condition: str) -> None:
    query = f"n FROM read_file('{{}}') WHERE {condition}"
    actual, blocks = asked(packed, query)
    everything, all_blocks = asked(packed, query, prune=False)
    assert actual == everything
    assert all_blocks >= 10
    assert blocks <= CONDITIONS[condition]


def test_blocks_of_which_all_rows_have_a_value(tmp_path: Path) -> None:
    path = tmp_path / "rows.zion"
    options: dict[str, Any] = {"align_bytes": 4096, "stats": "n,s.a,l[]", "threads": 1}

    def rows(first: int, last: int, lacking: int) -> list[dict[str, Any]]:
        made = [
            {"n": None, "s": {"a": at}, "l": [at] * 3, "pad": str(at) * 40}
            for at in range(first, last)
        ]
        del made[lacking]["n"], made[lacking]["s"]["a"], made[lacking]["l"]
        return made

    def check() -> None:
        for condition in (
            "n IS MISSING",
            "s.a IS MISSING AND pad <> ''",
            "NOT (s.a IS NOT NULL)",
            "NOT (n IS NOT MISSING) OR n = 5",
        ):
            actual, blocks = asked(path, f"* FROM read_file('{{}}') WHERE {condition}")
            whole, everything = asked(
                path, f"* FROM read_file('{{}}') WHERE {condition}", prune=False
            )
            assert actual == whole
            assert len(whole) <= 2 * blocks < everything, condition
        actual, blocks = asked(path, "l FROM read_file('{}') WHERE l[0] IS MISSING")
        assert blocks == everything

    sdb.pack(rows(0, 400, 210), path, block_bytes=4096, **options)
    check()
    # The last block grows: rows of it that are packed again are counted once.
    for first in (400, 407):
        sdb.append(path, rows(first, first + 7, 3), stats="n,s.a,l[]")
        check()


def test_plans_tell_what_left_out_blocks(packed: Path) -> None:
    query = f"SELECT n FROM read_file('{packed}') WHERE id = '00c8-{'x' * 40}' AND n < 300"
    with sdb.sql(query) as result:
        reasons = facts(result)["tables"][0]["files"][0]["reasons"]
    actual = [(reason["condition"].split()[0], reason["source"]) for reason in reasons]
    assert actual == [("id", "filter"), ("n", "zone map")]


TOTALS = "COUNT(*), COUNT(error), MIN(n), MAX(f), MIN(f), EARLIEST(late), LATEST(t), MAX(user)"


def test_totals_take_no_rows(packed: Path) -> None:
    actual, blocks = asked(packed, TOTALS + " FROM read_file('{}')")
    rows, all_blocks = asked(packed, TOTALS + " FROM read_file('{}') WHERE n IS NOT MISSING")
    assert actual == rows
    assert (blocks, all_blocks >= 10) == (0, True)


def test_damaged_statistics_are_told_and_ignored(packed: Path, tmp_path: Path) -> None:
    data = bytearray(packed.read_bytes())
    with sdb.open(packed) as pack:
        stored = pack.trailer.sparse.stored_statistics
    assert stored is not None
    at = data.rindex(stored.body)
    for item in range(at, at + len(stored.body), 7):
        data[item] ^= 0xFF
    path = tmp_path / "damaged.zion"
    path.write_bytes(data)
    reports: list[str] = []
    notes.listen(reports.append)
    actual, _ = asked(path, "n FROM read_file('{}') WHERE n = 123")
    assert actual == [{"n": 123}]
    assert any("statistics are ignored" in line for line in reports)


ORDERS = ["n", "n DESC", "f DESC", "id", "id DESC", "error", "error DESC NULLS LAST", "late DESC"]


@pytest.mark.parametrize("order", ORDERS)
def test_first_rows_are_looked_for_where_they_may_be(packed: Path, order: str) -> None:
    # One row has an error: the second row may be any.
    most = 1 if "error" in order else 2
    query = f"n FROM read_file('{{}}') ORDER BY {order} LIMIT {most}"
    actual, blocks = asked(packed, query)
    everything, all_blocks = asked(packed, query, prune=False)
    assert actual == everything
    assert all_blocks >= 10
    assert blocks <= (all_blocks if "id" in order else 4 if "late" in order else 2)


UNNESTED = {
    "e.k = 77": 1,
    "e.k > 390 AND a.n > 0": 2,
    "NOT (e.k < 398) AND a.user.name = 'odd'": 1,
    "e IS NOT MISSING": 10,
    "e.k = 5 OR a.n = 300": 2,
}


@pytest.mark.parametrize("condition", UNNESTED)
def test_conditions_on_elements_leave_out_blocks(packed: Path, condition: str) -> None:
    query = f"a.n, e.k AS k FROM read_file('{{}}') AS a, a.tags AS e WHERE {condition}"
    for some in (query, f"DISTINCT {query}"):
        actual, blocks = asked(packed, some)
        everything, _ = asked(packed, some, prune=False)
        assert sorted(map(str, actual)) == sorted(map(str, everything))
        assert blocks <= UNNESTED[condition]


@pytest.mark.parametrize(("most_plain", "expected"), [(0, 1), (1 << 20, ROWS // 100)])
def test_packfiles_of_tables_are_asked_when_that_costs_less_than_their_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most_plain: int, expected: int
) -> None:
    monkeypatch.setattr(lazy, "MOST_PLAIN_BYTES", most_plain)
    db, dice = sdb.connect(tmp_path), random.Random(1)
    db.create("d.t", "in/*.json")
    for start in range(0, ROWS, 100):
        numbers = range(start, start + 100)
        db.append(
            "d.t",
            [{"n": number, "text": dice.randbytes(150).hex()} for number in numbers],
            stats="n",
        )
    with db.sql("SELECT n FROM d.t WHERE n = 250") as result:
        assert list(result) == [{"n": 250}]
        assert result.reading.blocks == expected
