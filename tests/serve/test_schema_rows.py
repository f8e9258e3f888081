"""Rows and statements that come over HTTP into a table with a schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb import errors

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .conftest import Server

COLUMNS: list[object] = [{"name": "id", "type": "integer"}]


@pytest.fixture
def local(lake: Path) -> Any:
    db = sdb.connect(lake)
    db.execute("CREATE TABLE web.t")
    db.append("web.t", [{"id": 1}])
    return db


def test_the_rules_hold_over_http(local: Any, serve: Callable[..., Server]) -> None:
    local.table("web.t").set_schema(COLUMNS, mode="reject")
    remote = sdb.connect(serve("--write").url)
    with pytest.raises(errors.SdbError, match="row 2: id: expected integer, got string") as raised:
        remote.append("web.t", [{"id": 2}, {"id": "x"}])
    assert raised.value.exit_code == 6
    with pytest.raises(errors.SdbError, match="id: expected integer"):
        remote.execute("INSERT INTO web.t (id) VALUES ('x')")
    remote.append("web.t", [{"id": 2}])
    assert len(remote.table("web.t")) == 2
    remote.execute("ALTER TABLE web.t ADD COLUMN n STRING")
    remote.append("web.t", [{"id": 3, "n": "x"}])
    assert [column.name for column in local.table("web.t").schema.columns] == ["id", "n"]


def test_rows_are_quarantined_over_http(local: Any, serve: Callable[..., Server]) -> None:
    local.table("web.t").set_schema(COLUMNS, mode="quarantine")
    remote = sdb.connect(serve("--write").url)
    with pytest.warns(errors.SdbWarning, match="web.rejected got 1 row"):
        remote.append("web.t", [{"id": 2}, {"id": "x"}])
    assert len(remote.table("web.t")) == 2
    assert len(remote.table("web.rejected")) == 1


def test_answers_tell_what_was_quarantined(local: Any, serve: Callable[..., Server]) -> None:
    local.table("web.t").set_schema(COLUMNS, mode="quarantine")
    server = serve("--write")
    headers = {"idempotency-key": "k", "content-type": "application/x-ndjson"}
    body = b'{"id": 2}\n{"id": "x"}\n{"id": 3, "n": 1}\n'
    answers = [
        server.post("/v1/tables/web.t/rows", data=body, headers=headers).json() for _ in range(2)
    ]
    reasons = (
        'row 2: id: expected integer, got string, as "x"; row 3: n: no column has the field, as 1'
    )
    for answer in answers:
        assert answer["rows"] == 1
        quarantined = answer["quarantined"]
        assert (quarantined["rows"], quarantined["table"]) == (2, "web.rejected")
        assert quarantined["reasons"] == reasons
