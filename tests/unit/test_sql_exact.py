"""Integers beyond 2^63 and doubles beside them stay what they are on every way through a query."""

from __future__ import annotations

import io
import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sdb
from sdb.errors import QueryError
from sdb.packfile.export.unpack import unpack

if TYPE_CHECKING:
    from pathlib import Path

MOST = 2**64 - 1
ROWS = [
    {"i": 0, "u": MOST, "w": MOST, "f": 0.5},
    {"i": 1, "u": MOST - 1, "w": -1, "f": MOST},
    {"i": 2, "u": 2**63, "w": 2**53 + 1, "f": 2**63},
    {"i": 3, "u": 2**63 - 1, "w": -(2**63), "f": 1e19},
]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exact")
    (folder / "t.json").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    sdb.pack([str(folder / "t.json")], str(folder / "t.zion"))
    return folder


def ask(root: Path, query: str, **params: object) -> list[dict[str, Any]]:
    with sdb.sql(query, root=str(root), params=params or None) as result:
        return list(result)


def written(root: Path, query: str, fmt: str) -> bytes:
    with sdb.sql(query, root=str(root)) as result:
        out = io.BytesIO()
        result.write(out, fmt)
        return out.getvalue()


@pytest.mark.parametrize("name", ["u", "w", "f"])
def test_values_of_python(root: Path, name: str) -> None:
    actual = [row[name] for row in ask(root, f"SELECT {name} FROM read_file('t.zion')")]
    assert actual == [row[name] for row in ROWS]
    assert all(isinstance(value, (int, float)) for value in actual)


@pytest.mark.parametrize(
    ("name", "of"),
    [("u", pa.uint64()), ("w", pa.decimal128(20, 0)), ("f", pa.float64()), ("i", pa.int64())],
)
@pytest.mark.parametrize("query", ["SELECT {} FROM t", "SELECT COALESCE({}, i) AS {} FROM t"])
def test_columns_of_arrow(root: Path, name: str, of: pa.DataType, query: str) -> None:
    text = query.format(name, name)
    with sdb.sql(text, root=str(root)) as result:
        table = result.to_arrow()
    assert table.schema.field(name).type == of
    assert [value if name == "f" else int(value) for value in table[name].to_pylist()] == [
        float(row[name]) if name == "f" else row[name] for row in ROWS
    ]
    stored = pq.read_table(io.BytesIO(written(root, text, "parquet")))
    assert stored.equals(table)


def test_texts(root: Path) -> None:
    query = "SELECT u, w FROM t"
    assert written(root, query, "csv").decode().splitlines()[1] == f"{MOST},{MOST}"
    assert json.loads(written(root, query, "json").splitlines()[1]) == {"u": MOST - 1, "w": -1}


def test_ion_is_packed_again(root: Path, tmp_path: Path) -> None:
    (tmp_path / "u.ion").write_bytes(written(root, "SELECT u, w FROM t", "ion"))
    sdb.pack([str(tmp_path / "u.ion")], str(tmp_path / "u.zion"))
    with sdb.open(str(tmp_path / "u.zion")) as packfile:
        assert list(packfile) == [{"u": row["u"], "w": row["w"]} for row in ROWS]


@pytest.mark.parametrize("value", [MOST, MOST - 1, 2**63, 2**63 - 1])
def test_parameters(root: Path, value: int) -> None:
    expected = [{"i": row["i"]} for row in ROWS if row["u"] == value]
    assert ask(root, "SELECT i FROM t WHERE u = $u", u=value) == expected
    query = f"SELECT i FROM t WHERE COALESCE(u, '') = {value}"
    assert ask(root, query) == expected


def test_parameters_beyond_64_bits_are_refused(root: Path) -> None:
    with pytest.raises(QueryError, match="beyond 64 bits"):
        ask(root, "SELECT $u AS u", u=2**64)


@pytest.mark.parametrize(
    ("expr", "value"),
    [
        ("18446744073709551615", MOST),
        ("-18446744073709551615", -MOST),
        ("18446744073709551615 - 1", MOST - 1),
        ("18446744073709551615 + 1", 2.0**64),
        ("0xFFFFFFFFFFFFFFFF", MOST),
        ("0xFFFFFFFFFFFFFFFF & 0xFF00", 0xFF00),
        ("18446744073709551615 = 18446744073709551614", False),
        ("[18446744073709551615][0]", MOST),
        ("CAST(18446744073709551615 AS STRING)", str(MOST)),
        ("CAST(18446744073709551615 AS INTEGER)", MOST),
        ("18446744073709551616", 2.0**64),
    ],
)
def test_constants(root: Path, expr: str, value: object) -> None:
    assert ask(root, f"SELECT {expr} AS c") == [{"c": value}]


@pytest.mark.parametrize(
    ("expr", "values"),
    [
        ("CAST(u AS INTEGER)", [row["u"] for row in ROWS]),
        ("CAST(CAST(u AS INTEGER) AS STRING)", [str(row["u"]) for row in ROWS]),
        ("ABS(CAST(w AS INTEGER))", [MOST, 1, 2**53 + 1, -(2**63)]),
        ("CAST(u AS INTEGER) % 10", [5, 4, 8, 7]),
        # Integers wrap around at 64 bits with a sign.
        ("CAST(u AS INTEGER) + 1", [0, -1, -(2**63) + 1, -(2**63)]),
        ("u & 255", [255, 254, 0, 255]),
        ("u >>> 60", [15, 15, 8, 7]),
        ("BIT_COUNT(u)", [64, 63, 1, 63]),
        # Other arithmetic is that of doubles.
        ("u + 0", [2.0**64, 2.0**64, 2.0**63, 2.0**63]),
        ("COALESCE(u, 1)", [row["u"] for row in ROWS]),
        ("CASE WHEN i < 9 THEN u ELSE 0.5 END", [row["u"] for row in ROWS]),
        ("NULLIF(u, 18446744073709551614)", [MOST, None, 2**63, 2**63 - 1]),
        ("LEAST(u, 18446744073709551614)", [MOST - 1, MOST - 1, 2**63, 2**63 - 1]),
        ("GREATEST(w, f)", [MOST, MOST, 2**63, 10**19]),
        ("MAX(u) OVER (PARTITION BY i)", [row["u"] for row in ROWS]),
    ],
)
def test_expressions(root: Path, expr: str, values: list[object]) -> None:
    rows = ask(root, f"SELECT i, {expr} AS c FROM t")
    assert [row["c"] for row in sorted(rows, key=lambda row: row["i"])] == values


@pytest.mark.parametrize(
    ("call", "where", "value"),
    [
        ("SUM(u)", "i = 0", MOST),
        ("SUM(u)", "i > 1", MOST),
        ("SUM(u)", "i < 2", float(2 * MOST - 1)),
        ("SUM(w)", "i IN (0, 1)", MOST - 1),
        ("SUM(w)", "i IN (2, 3)", 2**53 + 1 - 2**63),
        ("SUM(CAST(u AS INTEGER))", "i = 0", -1),
        ("AVG(CAST(u AS INTEGER))", "i < 2", float(MOST - 1)),
        ("MAX(CAST(u AS INTEGER))", "i < 4", MOST),
        ("MIN(u)", "i < 3", 2**63),
        ("COUNT(DISTINCT u)", "i < 9", 4),
    ],
)
def test_aggregates(root: Path, call: str, where: str, value: object) -> None:
    assert ask(root, f"SELECT {call} AS c FROM t WHERE {where}") == [{"c": value}]
    # The scan alone knows no windows, so this is the engine's.
    inner = f"SELECT {call} AS c, ROW_NUMBER() OVER (ORDER BY COUNT(*)) AS r FROM t WHERE {where}"
    outer = f"SELECT c FROM ({inner})"
    assert ask(root, outer) == [{"c": value}]


def test_joins(root: Path) -> None:
    query = "SELECT a.i, b.i AS j FROM t AS a JOIN t AS b ON a.u = b.w"
    assert ask(root, query) == [{"i": 0, "j": 0}]


def test_rows_with_chosen_fields(root: Path) -> None:
    with sdb.open(str(root / "t.zion")) as packfile:
        table = packfile.to_arrow(fields=["u", "w"])
    assert table["u"].to_pylist() == [row["u"] for row in ROWS]
    assert table["w"].to_pylist() == [Decimal(row["w"]) for row in ROWS]
    out = io.BytesIO()
    unpack([str(root / "t.zion")], out, fields=["u"])
    rows = [json.loads(line) for line in out.getvalue().splitlines()]
    assert rows == [{"u": row["u"]} for row in ROWS]


def test_sums_of_integers_and_constants_are_rounded_once(root: Path) -> None:
    query = (
        "SELECT SUM({0} + 1) AS a, SUM(2 + {0} - 7) AS b, AVG({0} - 2) AS c, SUM({0}) AS d FROM t"
    )
    for name in ("i", "u", "w"):
        values = [int(row[name]) for row in ROWS]
        assert ask(root, query.format(name)) == [
            {
                "a": float(sum(values) + 4),
                "b": float(sum(values) - 20),
                "c": (sum(values) - 8) / 4,
                "d": pytest.approx(sum(values)),
            }
        ]
    by = "SELECT i, SUM(w + 1) FILTER (WHERE i < 2) AS a FROM t GROUP BY i ORDER BY i LIMIT 3"
    assert [row["a"] for row in ask(root, by)] == [2.0**64, 0, None]
    assert ask(root, "SELECT SUM(w + 1) AS a FROM t WHERE i > 9") == [{"a": None}]
    running = "SELECT SUM(i + 1) OVER (ORDER BY i) AS a FROM t ORDER BY i"
    assert [row["a"] for row in ask(root, running)] == [1, 3, 6, 10]


def test_sums_of_computed_doubles_lose_nothing(tmp_path: Path) -> None:
    values = [1e300, 0.25, -1e300, 1e31, 2, 0.5, -1e31, 3e20]
    (tmp_path / "t.json").write_text("".join(json.dumps({"x": x}) + "\n" for x in values))
    query = "SELECT SUM(x * 1) AS a, AVG(x * 1) AS b, SUM(x * 0.5) AS c FROM 't.json'"
    assert ask(tmp_path, query) == [{"a": 3e20, "b": 3e20 / 8, "c": 1.5e20}]
    small = ask(tmp_path, "SELECT SUM(x * 1) AS a FROM 't.json' WHERE x < 1e20 AND x > -1e20")
    assert small == [{"a": 2.75}]
