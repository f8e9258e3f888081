"""Strings that look like times stay strings, and times stay times, wherever a query shows them."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb import errors, ion
from sdb.query.analyze.check import check
from sdb.query.analyze.params import bind
from sdb.query.catalog.catalog import Catalog
from sdb.query.catalog.dataset import QueryRequest
from sdb.query.exec import engine
from sdb.query.result.result import Result
from sdb.query.syntax.parser import parse

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "2024-05-01T00:00:00Z"
AT = datetime(2024, 5, 1, tzinfo=UTC)
FIRST = {"id": 1, "t": AT, "a": TEXT, "b": [TEXT], "c": {"z": AT, "d": TEXT}, "l": [AT, TEXT]}
SECOND = {"id": 2, "t": AT, "a": AT, "b": [AT, "2024-05-01"], "c": {}, "l": []}
QUERIES: list[tuple[str, Any]] = [
    ("SELECT * FROM 'x.zion' WHERE id = 1", FIRST),
    ("SELECT * FROM 'x.zion' ORDER BY id LIMIT 1", FIRST),
    ("WITH q AS (SELECT * FROM 'x.zion') SELECT * FROM q WHERE id = 1", FIRST),
    ("SELECT b, c, l FROM 'x.zion' WHERE id = 1", {name: FIRST[name] for name in "bcl"}),
    ("SELECT a FROM 'x.zion' ORDER BY id LIMIT 1", {"a": TEXT}),
    ("SELECT [a, t, NULL, missing] AS v FROM 'x.zion' WHERE id = 1", {"v": [TEXT, AT, None, None]}),
    (
        "SELECT {'s': a, 'n': NULL, 'c': c} AS v FROM 'x.zion' WHERE id = 1",
        {"v": {"s": TEXT, "n": None, "c": FIRST["c"]}},
    ),
    ("SELECT COALESCE(missing, c, a) AS v FROM 'x.zion' WHERE id = 1", {"v": FIRST["c"]}),
    (
        "SELECT CASE WHEN id = 1 THEN l ELSE a END AS v FROM 'x.zion' WHERE id = 1",
        {"v": FIRST["l"]},
    ),
    (
        "SELECT l, COUNT(*) AS n FROM 'x.zion' WHERE id = 1 GROUP BY l",
        {"l": FIRST["l"], "n": 1},
    ),
    (
        "SELECT (SELECT t, a FROM 'x.zion' WHERE id = 1) AS v FROM 'x.zion' WHERE id = 1",
        {"v": [{"t": AT, "a": TEXT}]},
    ),
    (
        "SELECT c FROM 'x.zion' WHERE id = 1 UNION ALL SELECT c FROM 'x.zion' WHERE id = 3",
        {"c": FIRST["c"]},
    ),
    ("SELECT e FROM 'x.zion' AS r, r.l AS e WHERE e LIKE '2024-05-01T00:00:00Z'", {"e": TEXT}),
    ("SELECT LATEST(t) AS m, [LATEST(t)] AS l FROM 'x.zion'", {"m": AT, "l": [AT]}),
    ("SELECT ['2024-05-01T00:00:00Z', 1.5, 2] AS v FROM 'x.zion' LIMIT 1", {"v": [TEXT, 1.5, 2]}),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("types")
    (folder / "x.10n").write_bytes(b"".join(map(ion.dumps, [FIRST, SECOND])))
    sdb.pack([folder / "x.10n"], folder / "x.zion")
    return folder


def asked(query: str, folder: Path, *, native: bool) -> Result:
    catalog = Catalog(QueryRequest(root=str(folder)))
    statement = check(bind(parse(query), {}))
    result = engine.run(statement, datasets=catalog, native=native, threads=1)
    result.on_close(catalog.close)
    return Result(query, result, catalog.tables)


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize(("query", "expected"), QUERIES)
def test_values_have_the_types_of_their_rows(
    folder: Path, query: str, expected: dict[str, Any], native: bool
) -> None:
    ask = partial(asked, query, folder, native=native)
    with ask() as result:
        (row,) = result
        assert row == expected
        assert text_of(row) == text_of(expected)  # the order of members, too
    with ask() as result:
        out = io.BytesIO()
        result.write(out, "ion")
        assert ion.loads(out.getvalue()[4:]) == expected
    with ask() as result:
        (line,) = b"".join(result.lines()).splitlines()
        assert text_of(json.loads(line)) == text_of(expected)


def text_of(row: dict[str, Any]) -> str:
    return json.dumps(row, default=lambda at: at.isoformat().replace("+00:00", "Z"))


@pytest.mark.parametrize("query", ["SELECT * FROM 'x.zion'", "SELECT b, c, l FROM 'x.zion'"])
def test_columns_of_arrow_have_the_types_of_their_values(folder: Path, query: str) -> None:
    with sdb.sql(query, root=str(folder)) as result:
        schema = result.to_arrow().schema
    assert str(schema.field("c").type) == "struct<z: timestamp[us, tz=UTC], d: string>"
    # Strings beside times: texts of JSON, as docs/arrow.md has it.
    assert str(schema.field("b").type) == "list<item: string>"


def test_json_text_is_not_taken_for_typed_values(folder: Path) -> None:
    for form in ("rows", "ion", "arrow"):
        with (
            sdb.sql("SELECT a, c FROM 'x.zion'", root=str(folder), typed=False) as result,
            pytest.raises(errors.UsageError, match="JSON text, which does not tell types"),
        ):
            list(result) if form == "rows" else result.write(io.BytesIO(), form)
    with sdb.sql("SELECT a, c FROM 'x.zion'", root=str(folder), typed=False) as result:
        assert len(b"".join(result.lines()).splitlines()) == 2
