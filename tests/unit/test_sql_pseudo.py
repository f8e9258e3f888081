"""`_file` and `_row`: where rows come from, whatever is read of their files."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb import instants
from sdb.errors import CorruptError
from sdb.records import replace
from tests.unit.test_reader import make

if TYPE_CHECKING:
    from pathlib import Path

COUNT = 4000


def rows(start: int) -> list[dict[str, Any]]:
    """A row for each second, in order, the first of which has the number `start`."""
    return [
        {"id": at, "at": instants.text(at * 1_000_000), "l": [at, at + 1], "w": f"{at} " * 9}
        for at in range(start, start + COUNT)
    ]


def asked(query: str, root: Path, **more: Any) -> list[Any]:
    with sdb.sql(query, root=str(root), **more) as result:
        return [json.loads(line) for line in b"".join(result.lines()).splitlines()]


@pytest.fixture(params=["zion+zstd", "zstd", "zion+iguana_v0"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Two packfiles of many blocks each; `id` is the number of the row in both together."""
    for name, start in (("a", 0), ("b", COUNT)):
        make(tmp_path / f"{name}.zion", rows(start), algorithm=request.param)
    return tmp_path


BOTH = 'TABLE_GLOB("[ab]")'


@pytest.mark.parametrize(
    ("rest", "ids"),
    [
        ("", range(2 * COUNT)),
        ("LIMIT 7", range(7)),
        ("LIMIT 3 OFFSET 4500", range(4500, 4503)),
        ("WHERE id > 6000 LIMIT 3", range(6001, 6004)),
        ("WHERE at >= `1970-01-01T01:50:00Z`", range(6600, 2 * COUNT)),
        ("ORDER BY at DESC LIMIT 5", range(2 * COUNT - 1, 2 * COUNT - 6, -1)),
        ("ORDER BY at LIMIT 2 OFFSET 4010", range(4010, 4012)),
        ("WHERE _row = 17", [17, COUNT + 17]),
        ("WHERE _row BETWEEN 17 AND 18 AND _file LIKE '%b.zion'", [COUNT + 17, COUNT + 18]),
        ("WHERE _row IN (0, 3999) ORDER BY _file DESC, _row", [COUNT, 2 * COUNT - 1, 0, 3999]),
        ("ORDER BY _row DESC, id LIMIT 3", [3999, 7999, 3998]),
    ],
)
def test_rows_know_where_they_stand(root: Path, rest: str, ids: Any) -> None:
    actual = asked(f"SELECT id, _file, _row FROM {BOTH} {rest}", root)
    assert [row["id"] for row in actual] == list(ids)
    for row in actual:
        assert row["_row"] == row["id"] % COUNT
        assert row["_file"] == f"{root}/{'ab'[row['id'] // COUNT]}.zion"


def test_blocks_that_are_not_read_count(root: Path) -> None:
    text = "SELECT _row, id FROM 'a.zion' WHERE at >= `1970-01-01T01:05:00Z`"
    with sdb.sql(text, root=str(root)) as result:
        items = list(result)
        assert result.reading.blocks < result.reading.all_blocks / 2
    assert [(row["_row"], row["id"]) for row in items] == [(at, at) for at in range(3900, COUNT)]
    cut = asked("SELECT _row FROM 'a.zion'", root, since="1970-01-01T01:05:00Z", time_field="at")
    assert [row["_row"] for row in cut] == list(range(3900, COUNT))


def test_they_are_keys_and_operands(root: Path) -> None:
    query = f"SELECT _file, COUNT(*) n, MAX(_row) m, SUM(id - _row) d FROM {BOTH} GROUP BY _file"
    names = sorted(asked(query, root), key=lambda row: row["_file"])
    assert [(row["n"], row["m"], row["d"]) for row in names] == [
        (COUNT, COUNT - 1, 0),
        (COUNT, COUNT - 1, COUNT * COUNT),
    ]
    assert asked(f"SELECT COUNT(DISTINCT _row) n FROM {BOTH}", root) == [{"n": COUNT}]
    assert asked(f"SELECT COUNT(*) n FROM {BOTH} WHERE _row % 1000 = 999", root) == [{"n": 8}]


def test_sources_with_names_have_their_own(root: Path) -> None:
    unfolded = "SELECT t._row, x FROM 'b.zion' t, t.l AS x WHERE t._row < 2"
    assert asked(unfolded, root) == [
        {"_row": row, "x": COUNT + row + more} for row in range(2) for more in range(2)
    ]
    joined = (
        "SELECT a._row AS r, b._row AS s, b._file AS f FROM 'a.zion' a "
        "LEFT JOIN 'b.zion' b ON a.id + 2 = b.id WHERE a._row BETWEEN 3997 AND 3998"
    )
    assert sorted(asked(joined, root), key=lambda row: row["r"]) == [
        {"r": 3997, "s": None, "f": None},
        {"r": 3998, "s": 0, "f": f"{root}/b.zion"},
    ]
    inner = "SELECT r FROM (SELECT _row AS r, id FROM 'a.zion' LIMIT 9) WHERE id = 5"
    assert asked(inner, root) == [{"r": 5}]


def test_nobody_sees_what_is_not_named(root: Path) -> None:
    assert list(asked("SELECT * FROM 'a.zion' LIMIT 1", root)[0]) == ["id", "at", "l", "w"]
    described = asked("DESCRIBE 'a.zion'", root)
    assert not any("_row" in str(row) or "_file" in str(row) for row in described)


def test_fields_go_before_them(tmp_path: Path) -> None:
    make(tmp_path / "t.zion", [{"_row": "mine", "x": 1}, {"x": 2}])
    query = "SELECT x, _row, _file FROM 't.zion' ORDER BY x"
    assert asked(query, tmp_path) == [
        {"x": 1, "_row": "mine", "_file": f"{tmp_path}/t.zion"},
        {"x": 2, "_file": f"{tmp_path}/t.zion"},
    ]
    assert asked("SELECT x FROM 't.zion' WHERE _row = 'mine'", tmp_path) == [{"x": 1}]


def test_nothing_is_said_of_them(root: Path) -> None:
    query = "SELECT _file, COUNT(*) FROM 'a.zion' WHERE _row > 5 GROUP BY _file"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = sdb.sql(query, root=str(root), strict=True)
        assert len(list(result)) == 1
        assert result.notes == []


def test_rows_that_no_writer_counted_are_counted(root: Path) -> None:
    path = root / "b.zion"
    with sdb.open(path) as pack:
        trailer = pack.trailer
    bare = replace(trailer, sparse=replace(trailer.sparse, summary=None))
    path.write_bytes(path.read_bytes()[: trailer.offset] + bare.encode())
    actual = asked("SELECT id, _row FROM 'b.zion' WHERE at >= `1970-01-01T02:10:00Z`", root)
    assert [(row["_row"], row["id"]) for row in actual] == [
        (at - COUNT, at) for at in range(7800, 2 * COUNT)
    ]


@pytest.mark.usefixtures("root")
def test_damage_is_told_in_front_of_rows_behind_it(root: Path) -> None:
    """Rows in front of what is damaged come out; those behind it have no number that is known."""
    path = root / "a.zion"
    with sdb.open(path) as pack:
        start, stop = pack.trailer.block_range(0)
    content = bytearray(path.read_bytes())
    content[(start + 3 * stop) // 4 : stop] = bytes(stop - (start + 3 * stop) // 4)
    path.write_bytes(content)
    with pytest.raises(CorruptError):
        asked("SELECT _row, id, at, l, w FROM 'a.zion'", root)
    assert asked("SELECT _row FROM (SELECT _row, w FROM 'a.zion' LIMIT 2)", root) == [
        {"_row": 0},
        {"_row": 1},
    ]
