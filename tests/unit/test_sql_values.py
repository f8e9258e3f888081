"""What expressions give, one by one: the cases are in sql_values.txt."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import sdb
from sdb.errors import QueryError

TABLE = Path(__file__).with_name("sql_values.txt")
ROW = """
{"i": 7, "neg": -7, "z": 0, "f": 2.5, "half": -0.25, "h": 2.5e-10, "p53": 9007199254740993,
 "big": 9223372036854775807, "min": -9223372036854775808, "b": true, "nb": false, "n": null,
 "s": "straße", "e": "", "emo": "😀né", "bs": "a\\\\b%c_d\\nq",
 "t": "2021-03-04T05:06:07.891234Z", "old": "1969-12-31T23:59:58.5Z",
 "jan31": "2024-01-31T10:00:00Z", "feb29": "2020-02-29T00:00:00Z",
 "l": [1, 2.5, "x", null, [1, 2], {"a": 1}], "nums": [3, 1, 2], "el": [], "eo": {},
 "o": {"a": 1, "b": {"c": [10, 20, {"d": "deep"}]}}}
"""
_BARE = re.compile(r'("(?:\\.|[^"\\])*")|(\+Inf|-Inf|NaN)')
_COLUMNS = 20


def _cases() -> list[tuple[str, str]]:
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    pairs = [line.split(" -> ") for line in lines if not line.startswith("#")]
    return [(expr.replace("<LF>", "\n"), value) for expr, value in pairs]


VALUES = [case for case in _cases() if case[1] != "refused"]
READ_AS_STANDARD_SQL = {
    "'\\x'": "a backslash before any other letter is itself",
    "UTCNOW() - t": "a difference of times is its seconds",
    "EXTRACT(WEEK FROM t)": "the week of ISO 8601",
    "DATE_PART('epoch', t)": "the seconds since 1970",
    "CAST('5' AS INTEGER)": "a text that says a number",
    "'1'::int": "the same",
    "CAST(i AS DECIMAL)": "a number",
    "t * INTERVAL '1 day'": "an interval is its seconds",
    r"bs LIKE 'a\\b\%%'": "the same, where a pattern takes it for its escape",
}
"""What the original refuses and is standard SQL here, with the reason."""
REFUSED = [
    expr for expr, value in _cases() if value == "refused" and expr not in READ_AS_STANDARD_SQL
]


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("values")
    (folder / "one.json").write_text(ROW, encoding="utf-8")
    sdb.pack([str(folder / "one.json")], str(folder / "one.zion"))
    return folder


def _row(packed: Path, exprs: list[str]) -> dict[str, Any]:
    columns = ", ".join(f"{expr} AS c{number}" for number, expr in enumerate(exprs))
    query = f"SELECT {columns} FROM read_file('one.zion')"
    with sdb.sql(query, root=str(packed), threads=1, typed=False, dialect="sneller") as result:
        return _loads(b"".join(result.lines()).decode())


def _loads(text: str) -> Any:
    return json.loads(_BARE.sub(lambda item: item[1] or f'"{item[2]}"', text))


def _same(value: object, wanted: object) -> bool:
    if float in {type(value), type(wanted)} and not isinstance(wanted, (str, bool)):
        return value == pytest.approx(wanted, rel=1e-9)
    return value == wanted and isinstance(value, bool) == isinstance(wanted, bool)


# '\\a\\b\\f\\v' is warned of: it may be meant as backslashes.
@pytest.mark.filterwarnings("ignore:.*where it says:sdb.errors.SdbWarning")
@pytest.mark.parametrize("start", range(0, len(VALUES), _COLUMNS))
def test_value(packed: Path, start: int) -> None:
    cases = VALUES[start : start + _COLUMNS]
    row = _row(packed, [expr for expr, _ in cases])
    wrong = {
        expr: row.get(f"c{number}", "MISSING")
        for number, (expr, value) in enumerate(cases)
        if (value == "MISSING") != (f"c{number}" not in row)
        or (value != "MISSING" and not _same(row[f"c{number}"], _loads(value)))
    }
    assert not wrong


@pytest.mark.parametrize("expr", READ_AS_STANDARD_SQL)
def test_what_only_the_original_refuses(packed: Path, expr: str) -> None:
    assert len(_row(packed, [expr])) <= 1


@pytest.mark.parametrize("expr", REFUSED)
def test_refusal(packed: Path, expr: str) -> None:
    with pytest.raises(QueryError) as raised:
        _row(packed, [expr])
    assert raised.value.offset is not None
    assert raised.value.underlined()
