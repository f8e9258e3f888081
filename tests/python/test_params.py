"""Objects of Python as parameters of queries."""

from __future__ import annotations

import datetime as dt
import decimal
import uuid
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import sdb
from sdb.errors import QueryError

if TYPE_CHECKING:
    from pathlib import Path

ID = uuid.UUID(int=5)
ROW = {"id": ID, "n": 7, "at": dt.date(2026, 11, 1), "f": 0.5}


@pytest.mark.parametrize(
    ("condition", "value"),
    [
        ("id = $v", ID),
        ("id IN ($v)", [uuid.UUID(int=4), ID]),
        ("id IN ($v)", {ID}),
        ("n = $v", np.int16(7)),
        ("n IN ($v)", np.array([1, 7])),
        ("n = $v", decimal.Decimal(7)),
        ("f = $v", np.float32(0.5)),
        ("f = $v", decimal.Decimal("0.5")),
        ("at = $v", dt.date(2026, 11, 1)),
        ("at >= $v", np.datetime64("2026-11-01T00:00:00").item().replace(tzinfo=dt.UTC)),
    ],
)
def test_values_mean_what_they_are_in_rows(tmp_path: Path, condition: str, value: Any) -> None:
    path = tmp_path / "x.zion"
    sdb.pack([ROW, {"id": "other", "n": 8, "f": 1}], path)
    query = f"SELECT n FROM '{path}' WHERE {condition}"
    with sdb.sql(query, params={"v": value}) as result:
        assert list(result) == [{"n": 7}]


def test_what_is_no_constant(tmp_path: Path) -> None:
    sdb.pack([ROW], tmp_path / "x.zion")
    with pytest.raises(QueryError, match=r"parameter \$v: object is no type of a constant"):
        sdb.sql(f"SELECT n FROM '{tmp_path / 'x.zion'}' WHERE n = $v", params={"v": object()})
