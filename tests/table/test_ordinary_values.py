"""Texts and numbers of JSON and CSV that mean values of columns of a schema."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb.errors import InputError, SdbWarning
from sdb.packfile.read.reader import Packfile
from sdb.table.schema.conform import meant
from sdb.table.schema.types import type_of

if TYPE_CHECKING:
    from pathlib import Path

DAY = datetime(2026, 11, 1, tzinfo=UTC)
COLUMNS: list[object] = [
    {"name": "day", "type": "date"},
    {"name": "at", "type": "timestamp"},
    {"name": "price", "type": "decimal(10,2)"},
    {"name": "code", "type": "string"},
    {"name": "who", "type": "struct<name string, born date>"},
]
ROW = {"day": DAY, "at": DAY, "price": 12.5, "code": "12345"}


@pytest.fixture
def db(tmp_path: Path) -> Any:
    made = sdb.connect(tmp_path / "lake")
    made.execute("CREATE TABLE web.t")
    made.append("web.t", [{**ROW, "who": {"name": "a", "born": DAY}}])
    return made


def rows(db: Any, table: str = "web.t") -> list[dict[str, Any]]:
    with db.sql(f"SELECT * FROM {table}") as result:
        return [dict(row) for row in result]


def test_json_and_csv_bring_ordinary_texts(db: Any) -> None:
    db.table("web.t").set_schema(COLUMNS, mode="reject")
    text = b'{"day":"2026-11-01","at":"2026-11-01","price":"12.50","code":12345}\n'
    db.append("web.t", io.BytesIO(text))
    with_struct = b'{"code":true,"who":{"name":7,"born":"2026-11-01"}}\n{"who":{"name":"b"}}\n'
    db.append("web.t", io.BytesIO(with_struct))
    csv = b"day,at,price,code\n2026-11-01,2026-11-01,12.50,12345\n"
    db.append("web.t", io.BytesIO(csv), format="csv")
    assert rows(db)[1:] == [
        ROW,
        {"code": "true", "who": {"name": "7", "born": DAY}},
        {"who": {"name": "b"}},
        ROW,
    ]


def test_what_means_no_value_departs_and_the_rest_is_taken(db: Any) -> None:
    db.table("web.t").set_schema(COLUMNS, mode="quarantine")
    lines = [
        b'{"day":"2026-11-31","code":1}',
        b'{"day":"2026-11-01","code":2}',
        b'{"price":"12.505"}',
    ]
    with pytest.warns(SdbWarning, match="web.rejected got 2 rows"):
        db.append("web.t", io.BytesIO(b"\n".join(lines)))
    assert rows(db)[1:] == [{"day": DAY, "code": "2"}]
    assert rows(db, "web.rejected")[0]["row"] == {"day": "2026-11-31", "code": 1}
    db.table("web.t").set_schema(COLUMNS, mode="reject")
    with pytest.raises(InputError, match=r"row 1: price: expected decimal\(10,2\), got string"):
        db.append("web.t", io.BytesIO(lines[2]))


INNER: list[object] = [
    {"name": "days", "type": "list<date>"},
    {"name": "prices", "type": "map<string, decimal(10,2)>"},
    {"name": "seen", "type": "list<struct<at timestamp, codes list<string>>>"},
    {"name": "n", "type": "integer"},
]


@pytest.mark.parametrize("mode", ["observe", "quarantine", "reject"])
def test_other_values_of_rows_that_are_mended_stay(db: Any, mode: str) -> None:
    db.table("web.t").set_schema([*COLUMNS, *INNER], mode=mode)
    rest = {"at": DAY, "price": 1.5, "code": "c", "who": {"name": "n"}, "days": [DAY], "n": 3}
    db.append("web.t", [{"day": "2026-11-01", **rest}, {"day": DAY, **rest}])
    assert rows(db)[1:] == [{"day": DAY, **rest}] * 2


@pytest.mark.parametrize("mode", ["observe", "quarantine", "reject"])
def test_texts_inside_of_lists_maps_and_structs_are_taken(db: Any, mode: str) -> None:
    db.table("web.t").set_schema([*COLUMNS, *INNER], mode=mode)
    lines = [
        b'{"days":["2026-11-01",null],"prices":{"a":"12.50","b":1}}',
        b'{"seen":[{"at":"2026-11-01","codes":[1,"b",true]},{"codes":null},null]}',
        b'{"code":7,"who":{"born":"2026-11-01"},"n":1}',
    ]
    db.append("web.t", io.BytesIO(b"\n".join(lines)))
    assert rows(db)[1:] == [
        {"days": [DAY, None], "prices": {"a": 12.5, "b": 1}},
        {"seen": [{"at": DAY, "codes": ["1", "b", "true"]}, {"codes": None}, None]},
        {"code": "7", "who": {"born": DAY}, "n": 1},
    ]


def test_rows_that_are_observed_keep_what_means_nothing(db: Any) -> None:
    db.table("web.t").set_schema([*COLUMNS, *INNER])
    lines = [
        b'{"day":"soon","code":1,"n":"x","other":[1]}',
        b'{"days":["2026-11-01","soon"],"who":7,"seen":{"at":"2026-11-01"}}',
        b'{"day":7}',
    ]
    db.append("web.t", io.BytesIO(b"\n".join(lines)))
    texts = [{"day": "soon", "code": "1", "n": "x"}, {"days": [DAY, "soon"], "who": 7}]
    stored = [dict(row) for row in rows(db)[1:]]
    assert stored == [texts[0], texts[1] | {"seen": {"at": "2026-11-01"}}, {"day": 7}]


def test_rows_are_not_read_where_nothing_can_mean_something_else(
    db: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    db.table("web.t").set_schema([*COLUMNS, *INNER])
    monkeypatch.setattr(Packfile, "selected_rows", None)
    db.append("web.t", [{**ROW, "days": [DAY], "prices": {"a": 1}, "n": "x", "other": {"a": [1]}}])
    with pytest.raises(TypeError):
        db.append("web.t", [{"days": ["2026-11-01"]}])


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("date", "2026-11-01", DAY),
        ("date", "2026-11-01T01:00:00Z", None),
        ("date", "20261101", None),
        ("timestamp", "2026-11-01 00:00:00", DAY),
        ("timestamp", "soon", None),
        ("decimal(20,2)", "12345678901234567.89", None),
        ("decimal(20,2)", "-0.50", -0.5),
        ("decimal(20,2)", "1e3", None),
        ("decimal(20,0)", "18446744073709551615", 2**64 - 1),
        ("string", 1.5, "1.5"),
        ("string", DAY, "2026-11-01T00:00:00Z"),
        ("string", [1], None),
        ("integer", "1", None),
    ],
)
def test_meanings(kind: str, value: object, expected: object) -> None:
    assert meant(type_of(kind), value) == expected
