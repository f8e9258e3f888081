"""Casts of texts, differences of times, JSON in texts, and operators of standard SQL."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sdb
from sdb import _core
from sdb.errors import QueryError
from sdb.query.exec import jsonkeys

if TYPE_CHECKING:
    from pathlib import Path

ROWS: list[dict[str, Any]] = [
    {"x": "12", "a": "2026-11-01T00:00:00Z", "b": "2026-11-01T00:05:30.5Z", "n": 5},
    {"x": " 7.5 ", "a": "2026-11-01T23:59:00Z", "b": "2026-11-02T00:01:00Z", "n": 2.5},
    {"x": "1e3", "a": 9, "b": 4, "n": None},
    {"x": "9007199254740993", "a": "2026-01-01T00:00:00Z", "b": 4},
    {"x": "no number", "n": "text"},
    {"x": '{"b": {"y": 1, "a": [1.5, null, "é"]}, "a": true}', "n": True},
    {"x": 4, "n": {"b": {"y": 2}}},
    {"x": True},
    {"x": None},
    {"x": ["l"]},
    {},
]
TEXTS = ["12", " 7.5 ", "-3", "1e3", "abc", "", "nan", "0x1F", ".5", "5.", "+4", "--4", "t", "No"]


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("casts")
    (folder / "rows.json").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    sdb.pack([str(folder / "rows.json")], str(folder / "rows.zion"))
    texts = "".join(json.dumps({"x": text}) + "\n" for text in TEXTS)
    (folder / "texts.json").write_text(texts)
    sdb.pack([str(folder / "texts.json")], str(folder / "texts.zion"))
    return folder


def values(folder: Path, expression: str, table: str = "rows") -> list[Any]:
    """Return an expression for each row; MISSING is ``...``."""
    query = f"SELECT {expression} AS v FROM read_file('{table}.zion')"
    with sdb.sql(query, root=str(folder), dialect="sneller") as result:
        return [row.get("v", ...) for row in result]


def value(expression: str) -> Any:
    with sdb.sql(f"SELECT {expression} AS v", dialect="sneller") as result:
        return next(iter(result)).get("v", ...)


def test_casts_of_fields(packed: Path) -> None:
    as_in_the_original = [..., ..., ..., ..., ..., ..., 4, 1, ..., ..., ...]
    assert values(packed, "CAST(x AS INTEGER)") == as_in_the_original
    whole = [12, 7, 1000, 9007199254740993, ..., ..., 4, 1, ..., ..., ...]
    assert values(packed, "x::INTEGER") == whole
    assert values(packed, "TRY_CAST(x AS BIGINT)") == whole
    number = [12, 7.5, 1000, 9007199254740993, ..., ..., 4, 1, ..., ..., ...]
    assert values(packed, "NUMBER(x)") == number
    doubles = [12.0, 7.5, 1000.0, 9007199254740992.0, ..., ..., 4.0, 1.0, ..., ..., ...]
    assert values(packed, "x::double") == doubles
    assert values(packed, "n::DECIMAL(4, 0)")[:4] == [5, 3, ..., ...]
    texts = ["5", "2.5", ..., ..., "text", "true", '{"b": {"y": 2}}', ..., ..., ..., ...]
    assert values(packed, "n::text") == texts


@pytest.mark.parametrize("type_", ["DOUBLE", "BOOLEAN"])
def test_texts_say_what_they_say_to_duckdb(packed: Path, type_: str) -> None:
    with duckdb.connect() as connection:
        wanted = [
            connection.execute(f"SELECT TRY_CAST(trim(?) AS {type_})", [text]).fetchall()[0][0]
            for text in TEXTS
        ]
    if type_ == "DOUBLE":
        wanted[TEXTS.index("nan")] = None
    actual = values(packed, f"TRY_CAST(x AS {type_})", "texts")
    assert actual == [... if answer is None else answer for answer in wanted]


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("CAST('12' AS INTEGER)", 12),
        ("CAST('7.9' AS INTEGER)", 7),
        ("CAST('18446744073709551616'::text AS INTEGER)", ...),
        ("TRY_CAST('abc' AS INTEGER)", ...),
        ("CAST(SPLIT_PART('id=42', '=', 2) AS INTEGER) + 1", 43),
        ("'1e400'::float", ...),
        ("CAST(2.345 AS DECIMAL(10, 2))", 2.35),
        ("CAST(12345 AS DECIMAL(4, 0))", ...),
        ("'3'::numeric", 3),
        ("'2026-01-01T02:00:00+02:00'::timestamp", datetime(2026, 1, 1, tzinfo=UTC)),
        ("'2026-01-01 02:00'::timestamp", datetime(2026, 1, 1, 2, tzinfo=UTC)),
        ("'2026-01-01'::timestamp", datetime(2026, 1, 1, tzinfo=UTC)),
        ("CAST('2026-01-01 02:00' AS DATE)", datetime(2026, 1, 1, tzinfo=UTC)),
        ("'infinity'::timestamp", ...),
        ("TIMESTAMP '2026-01-02' - TIMESTAMP '2026-01-01'", 86400),
        ("AGE(TIMESTAMP '2026-01-01 00:00:01.5', TIMESTAMP '2026-01-01')", 1.5),
        ("EXTRACT(EPOCH FROM TIMESTAMP '1970-01-01 00:01:00.25')", 60.25),
        ("DATE_PART('epoch', TIMESTAMP '1970-01-02')", 86400),
        ("INTERVAL '1 day 1 second'", 86401),
        ("INTERVAL '1500 milliseconds'", 1.5),
        ("TIMESTAMP '2026-01-02' - TIMESTAMP '2026-01-01' > INTERVAL '23 hours'", True),
        ("DATE_DIFF('hour', TIMESTAMP '2026-01-01 10:59', TIMESTAMP '2026-01-01 11:01')", 1),
        ("DATE_DIFF(HOUR, TIMESTAMP '2026-01-01 10:59', TIMESTAMP '2026-01-01 11:01')", 0),
        ("DATE_DIFF('weeks', TIMESTAMP '2026-11-01', TIMESTAMP '2026-11-02')", 1),
        ("WEEK(TIMESTAMP '2027-01-01')", 53),
        ("EXTRACT(WEEK FROM TIMESTAMP '2026-01-01')", 1),
        ("YEAR(DATE '2026-05-06') * 100 + MONTH(DATE '2026-05-06')", 202605),
        ("DAYOFWEEK(DATE '2026-11-01')", 0),
        ("CURRENT_DATE <= CURRENT_TIMESTAMP", True),
        ("2 ** 3 ** 2", 64),
        ("-2 ** 2", 4),
        ("7 // 2 + -7 // 2", 0),
        ("ROUND(2.345, 2)", 2.35),
        ("ROUND(1234.5, -2)", 1200),
        ("GREATEST('a', 'b')", "b"),
        ("LEAST(TRUE, FALSE)", False),
        ("NULL IS DISTINCT FROM MISSING", False),
        ("""'{"a": {"b": [1, 2]}}' -> 'a' -> 'b' -> 1""", 2),
        ("""'{"a": {"b": [1, 2]}}' ->> 'a'""", '{"b": [1, 2]}'),
        ("""('{"n": "5"}' ->> 'n')::int + 1""", 6),
        ("""PARSE_JSON('{"b": 1, "a": [2.5, null]}')""", {"b": 1, "a": [2.5, None]}),
        ("""PARSE_JSON('[1, {"z": 3}]')[1].z""", 3),
        ("PARSE_JSON('nothing')", ...),
        ("""PARSE_JSON('{"a": 1, "a": 2}').a""", 1),
        ("PARSE_JSON('[5]')[1]", ...),
        ("PARSE_JSON('[5]').a", ...),
        ("""'{"é": {"x y": 7}}' -> 'é' -> 'x y'""", 7),
        ("PARSE_JSON('null')", None),
        ("TO_JSON([1, 'x', {'a': TRUE}])", '[1, "x", {"a": true}]'),
        ("""JSON_VALUE('{"a": [1]}', '$.a')""", ...),
        ("""JSON_EXTRACT('{"a b": [1]}', '$."a b"[0]')""", 1),
    ],
)
def test_value(expression: str, wanted: object) -> None:
    actual = value(expression)
    if isinstance(wanted, datetime) and isinstance(actual, str):
        actual = datetime.fromisoformat(actual)
    assert (actual, type(actual) is bool) == (wanted, type(wanted) is bool)


LIMITS = {
    "-9223372036854775809": None,
    "-9223372036854775808": -(2**63),
    "9223372036854775807": 2**63 - 1,
    "9223372036854775808": 2**63,
    "18446744073709551615": 2**64 - 1,
    "18446744073709551616": None,
    "-1e30": None,
    "1e300": None,
}


@pytest.mark.parametrize("cast", ["{}::INTEGER", "TRY_CAST({} AS BIGINT)", "CAST({} AS INTEGER)"])
def test_no_integer_stands_for_a_number_beyond_it(cast: str, tmp_path: Path) -> None:
    for text, wanted in LIMITS.items():
        assert _standard(cast.format(f"'{text}'")) == wanted, text
        (tmp_path / "x.json").write_text(f'{{"n": {text}, "s": "{text}"}}')
        assert _standard(cast.format("n"), tmp_path) == wanted, text
        is_read = not cast.startswith("CAST")
        assert _standard(cast.format("s"), tmp_path) == (wanted if is_read else None), text
    assert _standard(cast.format("(-9223372036854775809)")) is None
    assert _standard(cast.format("'-9223372036854775809.5'")) is None
    assert _standard(cast.format("'-9223372036854775808.5'")) == -(2**63)
    assert _standard(cast.format("'9007199254740993.5'")) == 2**53 + 1
    assert _standard(f"COALESCE({cast.format('1e30')}, 7)") == 7


def _standard(expression: str, folder: Path | None = None) -> Any:
    source = "" if folder is None else " FROM 'x.json'"
    with sdb.sql(f"SELECT {expression} AS v{source}", root=folder) as result:
        return next(iter(result))["v"]


def test_the_original_takes_the_least_integer_for_numbers_beyond() -> None:
    assert value("CAST(1e30 AS INTEGER)") == -(2**63)
    assert value("'-9223372036854775809'::INTEGER") is ...


def test_differences_of_fields(packed: Path) -> None:
    assert values(packed, "b - a") == [330.5, 120.0, -5, *[...] * 8]
    assert values(packed, "b - a > INTERVAL '2 minutes'")[:2] == [True, False]
    query = "SELECT SUM(b - a) AS s, AVG(AGE(b, a)) AS m FROM read_file('rows.zion') WHERE n > 0"
    with sdb.sql(query, root=str(packed), dialect="sneller") as result:
        assert list(result) == [{"s": 450.5, "m": 225.25}]
    assert values(packed, "EXTRACT(EPOCH FROM b - a)")[:2] == [330.5, 120.0]
    day = values(packed, "a::date")[1]
    assert day == datetime(2026, 11, 1, tzinfo=UTC) or day == "2026-11-01T00:00:00Z"


def test_averages_of_lengths_are_not_cut(packed: Path) -> None:
    query = "SELECT AVG(LENGTH(x)) AS a, AVG(CHAR_LENGTH(x)) AS b FROM read_file('texts.zion')"
    with sdb.sql(query, root=str(packed), dialect="sneller") as result:
        (row,) = result
    mean = sum(map(len, TEXTS)) / len(TEXTS)
    assert row == {"a": pytest.approx(mean), "b": int(mean)}


def test_json_in_texts_and_in_structures(packed: Path) -> None:
    inside = [*[...] * 5, 1, *[...] * 5]
    assert values(packed, "x -> 'b' -> 'y'") == inside
    assert values(packed, "JSON_EXTRACT(n, '$.b.y')") == [*[...] * 6, 2, *[...] * 4]
    assert values(packed, "x ->> 'a'")[5] == "true"
    assert values(packed, "PARSE_JSON(x)")[:5] == [12, 7.5, 1000, 9007199254740993, ...]
    assert values(packed, "TO_JSON(x)")[6:] == ["4", "true", "null", '["l"]', ...]


def test_null_and_missing_are_not_distinct(packed: Path) -> None:
    distinct = [False, True, True, True, True, True, True, True, True, True, True]
    assert values(packed, "n IS DISTINCT FROM 5") == distinct
    assert values(packed, "n IS NOT DISTINCT FROM NULL")[2:5] == [True, True, False]


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.text(st.characters(exclude_categories=["Cs"]), max_size=4), inner, max_size=3
        )
    ),
    max_leaves=8,
)


@given(JSON)
def test_keys_of_json_are_those_of_the_core(tree: Any) -> None:
    key = jsonkeys.key(json.dumps(tree), "v[]")
    assert key is not None
    text = pa.array(_core.call_function("sdb_key_json", pa.array([key])))[0].as_py()
    assert json.loads(text) == _as_numbers(tree)
    if isinstance(tree, float):
        assert key == pa.array(_core.call_function("sdb_key_n", pa.array([tree])))[0].as_py()


def _as_numbers(tree: Any) -> Any:
    """Return integers beyond 64 bits as doubles."""
    match tree:
        case bool():
            return tree
        case int():
            return tree if abs(tree) <= 2**64 else float(tree)
        case list():
            return [_as_numbers(item) for item in tree]
        case dict():
            return {name: _as_numbers(item) for name, item in tree.items()}
    return tree


@pytest.mark.parametrize(
    ("query", "message", "hint"),
    [
        ("SELECT CAST('abc' AS INTEGER)", "will never succeed", "the text says no number"),
        ("SELECT x::blob FROM 'rows.zion'", 'bad CAST type "blob"', "DATE, DECIMAL, FLOAT"),
        ("SELECT 5::DECIMAL(2, 3)", "there is no such DECIMAL", "as in DECIMAL(10, 2)"),
        ("SELECT INTERVAL '1 month'", "no fixed length", "as in created_at > NOW()"),
        ("SELECT '5' + 1", "arguments are not numeric", "NUMBER('5') is the number"),
        ("SELECT DATE '2026-01-01' + 1", "arguments are not numeric", "t + INTERVAL '90 seconds'"),
        ("SELECT x -> y FROM 'rows.zion'", "a name or an index is expected", "x -> 'name'"),
        ("SELECT JSON_EXTRACT(x, '/a') FROM 'rows.zion'", "a path into JSON", "'$.a.b[0]'"),
        ("SELECT LEAST('a', 1)", "not compatible with type", "all numbers, texts, times"),
    ],
)
def test_errors_say_what_to_write(packed: Path, query: str, message: str, hint: str) -> None:
    command = [sys.executable, "-m", "sdb", "query", "--root", str(packed), query]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert message in done.stderr
    assert hint in done.stderr
    assert "Traceback" not in done.stderr
    with pytest.raises(QueryError):
        sdb.sql(query, root=str(packed))


def test_a_cast_as_in_the_original_names_the_one_that_reads_texts(packed: Path) -> None:
    query = "SELECT CAST(x AS INTEGER) AS v FROM 'texts.zion'"
    command = [sys.executable, "-m", "sdb", "query", "--root", str(packed), query]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    note = "note: CAST(x AS INTEGER) is NULL where x is a string (x::INTEGER reads it)\n"
    assert done.stderr == note
