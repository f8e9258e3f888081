"""Tables with a schema through a server: the same names, rows and types."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import sdb
from sdb.errors import QueryError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .conftest import Server


def test_the_schema_counts_there_too(lake: Path, serve: Callable[..., Server]) -> None:
    columns = [
        {"name": "number", "path": ["n"], "type": "decimal(6,2)"},
        {"name": "gone", "type": "struct<a date>"},
    ]
    sdb.connect(lake).table("logs.app").set_schema(columns)
    db = sdb.connect(serve().url)
    assert db.table("logs.app").head(2) == [{"number": 0}, {"number": 1}]
    arrow = db.table("logs.app").to_arrow()
    assert arrow.schema.types == [pa.decimal128(6, 2), pa.struct([("a", pa.date32())])]
    with db.sql("SELECT number FROM logs.app WHERE number = 3") as result:
        assert list(result) == [{"number": 3}]
    with pytest.raises(QueryError, match="no column n"), db.sql("SELECT n FROM logs.app") as result:
        list(result)


def test_renamed_columns_have_their_names_in_all_requests(
    lake: Path, serve: Callable[..., Server]
) -> None:
    db = sdb.connect(lake)
    db.create("web.t", "in/*.json")
    start = datetime(2026, 1, 1, tzinfo=UTC)
    db.append("web.t", [{"t": start + timedelta(hours=n), "kind": f"k{n % 2}"} for n in range(6)])
    columns = [
        {"name": "at", "path": ["t"], "type": "timestamp"},
        {"name": "sort", "path": ["kind"], "type": "string"},
    ]
    db.table("web.t").set_schema(columns)
    db.execute("CREATE VIEW web.v AS SELECT at, sort FROM web.t")
    server = serve()
    listed = server.get("/v1/tables/web.t/fields").json()["fields"]
    assert [(each["path"], each["rows"]) for each in listed] == [(["at"], 6), (["sort"], 6)]
    times = {"since": "2026-01-01T04:00Z"}
    for path in ("/v1/tables/web.t/hits", "/v1/tables/web.t/timeline"):
        for more in ({}, {"time_field": "at"}):
            answer = server.get(path, params=times | more)
            assert answer.status_code == 200, answer.text
    hits = server.get("/v1/tables/web.t/hits", params=times).json()["rows"]
    assert sum(row["rows"] for row in hits) == 2
    facets = server.get("/v1/tables/web.t/facets").json()["rows"]
    assert {(row["field"], row["value"], row["rows"]) for row in facets} == {
        ("sort", "k0", 3),
        ("sort", "k1", 3),
    }
    viewed = server.query("SELECT COUNT(*) AS n FROM web.v", **times)
    assert viewed.content == b'{"n": 2}\n'
