"""Functions of texts: the answers, and NULL where a value is of another type or too large."""

from __future__ import annotations

import json
import resource
from datetime import datetime
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

import sdb
from sdb.errors import ExhaustedError, QueryError

if TYPE_CHECKING:
    from pathlib import Path

ROWS: list[dict[str, Any]] = [
    {"s": "héllo wörld", "n": 5, "t": "2026-11-01T10:05:00Z"},
    {"s": "", "n": 2.5, "t": "1970-01-01T00:00:00Z"},
    {"s": None, "n": -3},
    {"s": 7, "n": "text", "t": "no time"},
    {"s": "https://ann@shop.example:8443/a/b?q=caf%C3%A9+au&x=1#top"},
    {},
]


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("texts")
    (folder / "rows.json").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    sdb.pack([str(folder / "rows.json")], str(folder / "rows.zion"))
    return folder


def _plain(value: object) -> object:
    return value.isoformat() if isinstance(value, datetime) else value


def values(folder: Path, expression: str) -> list[Any]:
    """Return an expression for each row; what is NULL is MISSING, ``...``, in dialect sneller."""
    query = f"SELECT {expression} AS x FROM read_file('rows.zion')"
    answers = {}
    for dialect in ("standard", "sneller"):
        with sdb.sql(query, root=str(folder), typed=False, dialect=dialect) as result:
            answers[dialect] = [_plain(row.get("x", ...)) for row in result]
    standard = answers["standard"]
    assert answers["sneller"] == [... if value is None else value for value in standard]
    return standard


@pytest.mark.parametrize(
    "expression",
    [
        "LEFT(s, 3)",
        "LEFT(s, -2)",
        "RIGHT(s, 4)",
        "LPAD(s, 3, '-')",
        "RPAD(s, 14, 'xy')",
        "REPEAT(s, 3)",
        "REVERSE(s)",
        "STRPOS(s, 'l')",
        "POSITION('w' IN s)",
        "INSTR(s, 'zz')",
        "MD5(s)",
        "SHA1(s)",
        "SHA256(s)",
        "HEX(s)",
        "URL_ENCODE(s)",
        "LEVENSHTEIN(s, 'hello')",
        "TRANSLATE(s, 'lo', 'L')",
        "SUBSTR(s, 2, 3)",
    ],
)
def test_texts_agree_with_duckdb(packed: Path, expression: str) -> None:
    texts = [row.get("s") for row in ROWS]
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (s VARCHAR)")
        connection.executemany(
            "INSERT INTO t VALUES (?)",
            [[text if isinstance(text, str) else None] for text in texts],
        )
        wanted = [row[0] for row in connection.execute(f"SELECT {expression} FROM t").fetchall()]
    assert values(packed, expression) == wanted


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("INITCAP(s)", ["Héllo Wörld", "", None, None]),
        ("CHR(65)", ["A"] * 5),
        ("CHR(0)", [None] * 5),
        ("CHR(55296)", [None] * 5),
        ("ASCII(s)", [104, None, None, None, 104]),
        ("TO_BASE64(LEFT(s, 2))", ["aMOp", "", None, None, "aHQ="]),
        ("FROM_BASE64('aMOp')", ["hé"] * 5),
        ("FROM_BASE64('no base64!')", [None] * 5),
        ("UNHEX('68c3a9')", ["hé"] * 5),
        ("UNHEX('c3')", [None] * 5),
        ("URL_DECODE('a%20b')", ["a b"] * 5),
        ("CONCAT_WS('-', n, s)", ["5-héllo wörld", "2.5-", "-3", "text-7"]),
        ("FORMAT('{:.1f}|{}', n, n)", ["5.0|5", "2.5|2.5", "-3.0|-3", None, None]),
        ("FORMAT('{{}} {}', n)", ["{} 5", "{} 2.5", "{} -3", "{} text", None]),
        ("PRINTF('%03d %s %%', n, n)", ["005 5 %", "002 2.5 %", "-03 -3 %", None, None]),
        (
            "TO_CHAR(t, 'YYYY-MM-DD\"T\"HH24:MI')",
            ["2026-11-01T10:05", "1970-01-01T00:00", *[None] * 3],
        ),
        ("STRFTIME(t, '%d.%m.%Y')", ["01.11.2026", "01.01.1970", *[None] * 3]),
        (
            "TO_TIMESTAMP(n)",
            [
                "1970-01-01T00:00:05+00:00",
                "1970-01-01T00:00:02.500000+00:00",
                "1969-12-31T23:59:57+00:00",
                None,
                None,
            ],
        ),
        ("STRPTIME('03.02.2026', '%d.%m.%Y')", ["2026-02-03T00:00:00+00:00"] * 5),
        ("STRPTIME(s, '%Y')", [None] * 5),
        (
            "TO_TIMESTAMP('2026-02-03 04:05', 'YYYY-MM-DD HH24:MI')",
            ["2026-02-03T04:05:00+00:00"] * 5,
        ),
    ],
)
def test_answers(packed: Path, expression: str, wanted: list[Any]) -> None:
    assert values(packed, expression)[: len(wanted)] == wanted


@pytest.mark.parametrize(
    ("part", "wanted"),
    [
        ("'PROTOCOL'", "https"),
        ("'USERINFO'", "ann"),
        ("'HOST'", "shop.example"),
        ("'PORT'", "8443"),
        ("'PATH'", "/a/b"),
        ("'QUERY'", "q=caf%C3%A9+au&x=1"),
        ("'QUERY', 'q'", "café au"),
        ("'QUERY', 'x'", "1"),
        ("'QUERY', 'none'", None),
        ("'FRAGMENT'", "top"),
    ],
)
def test_parts_of_urls(packed: Path, part: str, wanted: object) -> None:
    assert values(packed, f"PARSE_URL(s, {part})") == [None, None, None, None, wanted, None]


def test_texts_that_would_be_too_long_are_null(packed: Path) -> None:
    assert set(values(packed, "REPEAT('ab', 1000000000)")) == {None}
    assert set(values(packed, "LPAD('ab', 1000000000)")) == {None}


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("many")
    lines = (json.dumps({"s": "ab" * 8, "n": n}) for n in range(3000))
    (folder / "many.json").write_text("\n".join(lines))
    sdb.pack([str(folder / "many.json")], str(folder / "many.zion"))
    return folder


def found(folder: Path, query: str) -> list[Any]:
    with sdb.sql(query, root=str(folder)) as result:
        return list(result)


@pytest.mark.parametrize(
    "expression",
    [
        "REPEAT(s, 10000)",
        "REPEAT(REPEAT(s, 100), 100)",
        "LPAD(s, 100000, 'xy')",
        "RPAD(s, 100000)",
        "REPLACE(s, 'a', REPEAT('x', 10000))",
        "REPLACE(REPLACE(s, 'a', '{big}'), 'x', '{big}')",
        "REGEXP_REPLACE(REGEXP_REPLACE(s, '.', '{big}', 'g'), 'x', '{big}', 'g')",
    ],
)
def test_texts_are_not_made_that_fill_the_memory(many: Path, expression: str) -> None:
    """Each is short enough; those of all rows of a vector are not."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    whole = expression.replace("{big}", "x" * 300)
    with pytest.raises(ExhaustedError, match="more than 64 MiB"):
        found(many, f"SELECT MAX(LENGTH({whole})) AS n FROM read_file('many.zion')")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < before + 300_000


def test_lengths_are_looked_at_without_changing_what_is_made(many: Path) -> None:
    long = "x" * 70_000  # so that lengths are looked at
    wanted = [
        ("REPLACE(s, 'ab', REPEAT('y', n))", "y" * 16),
        (f"REPLACE(REPLACE(s, 'b', 'ccc'), '{long}', '')", "accc" * 8),
        (f"REPLACE(REGEXP_REPLACE(s, '(a)b', '<\\1>', 'g'), 'q', '{long}')", "<a>" * 8),
        (f"REPLACE(REGEXP_REPLACE(s, 'a', ''), 'q', '{long}')", "b" + "ab" * 7),
    ]
    for expression, text in wanted:
        query = f"SELECT {expression} AS x FROM read_file('many.zion') WHERE n = 2"
        assert found(many, query) == [{"x": text}], expression[:40]


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("FORMAT('{:>20000}', s)", "widths of at most 10,000"),
        ("FORMAT('{:>{}}', s, n)", "widths that are numbers"),
        ("PRINTF('%20000d', n)", "widths of at most 10,000"),
        ("PRINTF('%*d', n, n)", "widths that are numbers"),
        ("FORMAT('{} {}', s)", "FORMAT has 2 placeholders and 1 values"),
        ("PARSE_URL(s, 'HOSTS')", "PARSE_URL does not know the part 'HOSTS'"),
        ("TO_CHAR(t, 'QQ')", "TO_CHAR does not know 'QQ'"),
        ("STRFTIME(t, s)", "STRFTIME takes a constant format"),
        ("POSITION('a')", "POSITION takes a text and IN"),
    ],
)
def test_faults(packed: Path, expression: str, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        values(packed, expression)
