"""Tables with a schema through a server: the same names, rows and types."""

from __future__ import annotations

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
