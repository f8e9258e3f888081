"""Words of ClickHouse, Athena, Spark and BigQuery: what they give, or the word for it here."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb.errors import QueryError

if TYPE_CHECKING:
    from pathlib import Path

ROWS = [
    {
        "k": 1,
        "v": "a",
        "t": "2022-11-18T13:11:24Z",
        "l": [1, 2, 3],
        "w": ["p", "q"],
        "o": [{"n": 1, "m": "u"}, {"n": 5, "m": "z"}],
        "j": '{"a": {"b": 7}}',
        "u": "https://a.org/x?id=7",
    },
    {"k": 2, "v": "b", "l": [4]},
    {"k": 3},
]
FIRST = """
toYear(t) = 2022
toDayOfWeek(t) = 5
DAY_OF_WEEK(t) = 5
DAY_OF_YEAR(t) = 322
toYYYYMM(t) = 202211
toYYYYMMDD(t) = 20221118
toStartOfHour(t) = "2022-11-18T13:00:00Z"
toStartOfFiveMinutes(t) = "2022-11-18T13:10:00Z"
toStartOfInterval(t, INTERVAL 15 MINUTE) = "2022-11-18T13:00:00Z"
toStartOfWeek(t) = "2022-11-13T00:00:00Z"
toMonday(t) = "2022-11-14T00:00:00Z"
toDate(t) = "2022-11-18T00:00:00Z"
addDays(t, 1) = "2022-11-19T13:11:24Z"
subtractHours(t, 2) = "2022-11-18T11:11:24Z"
FLOOR(t TO HOUR) = "2022-11-18T13:00:00Z"
CEIL(t TO DAY) = "2022-11-19T00:00:00Z"
FROM_ISO8601_TIMESTAMP('2022-11-18T13:11:24Z') = "2022-11-18T13:11:24Z"
TO_UNIXTIME(TIMESTAMP '1970-01-01T00:00:01.5Z') = 1.5
DATE_FORMAT(t, '%Y-%m-%d %H:%i:%s') = "2022-11-18 13:11:24"
DATE_FORMAT(t, 'yyyy/MM/dd''T''HH:mm') = "2022/11/18T13:11"
DATE_PARSE('2022-01-02 03:04:05', '%Y-%m-%d %H:%i:%s') = "2022-01-02T03:04:05Z"
PARSE_DATETIME('02.01.2022', 'dd.MM.yyyy') = "2022-01-02T00:00:00Z"
TIMESTAMP WITH TIME ZONE 'epoch' + INTERVAL '1 microsecond' * k = "1970-01-01T00:00:00.000001Z"
TIMESTAMP WITHOUT TIME ZONE '2022-01-01' = "2022-01-01T00:00:00Z"
TRY_STRPTIME('2022', '%Y') = "2022-01-01T00:00:00Z"
AT_TIMEZONE(t, 'Europe/Berlin') = "2022-11-18T14:11:24Z"
fromUnixTimestamp64Micro(1668777084000001) = "2022-11-18T13:11:24.000001Z"
fromUnixTimestamp64Milli(1668777084000) = "2022-11-18T13:11:24Z"
toString(k) = "1"
toInt64('5') = 5
toDateTime('2022-01-01 00:00:00') = "2022-01-01T00:00:00Z"
CAST(v AS VARCHAR(10)) = "a"
JSON_EXTRACT_SCALAR(j, '$.a.b') = "7"
get_json_object(j, '$.a.b') = "7"
JSONExtractString(j, 'a', 'b') = "7"
JSONExtractInt(j, 'a', 'b') = 7
JSONHas(j, 'b') = false
JSON_OBJECT('a', k, 'b': v, 'c' VALUE 1) = {"a": 1, "b": "a", "c": 1}
STRUCT_PACK(a := k) = {"a": 1}
JSON_ARRAY(k, v) = [1, "a"]
STRUCT_KEYS(o[0]) = ["n", "m"]
ELEMENT_AT(l, 1) = 1
ELEMENT_AT(l, -1) = 3
ELEMENT_AT(o[0], 'm') = "u"
l[OFFSET(0)] = 1
l[ORDINAL(1)] = 1
l[k] = 2
position(u, '?') = 16
CAST(l AS ARRAY(VARCHAR)) = ["1", "2", "3"]
CAST(PARSE_JSON('["1", "2"]') AS ARRAY<BIGINT>) = [1, 2]
CAST(PARSE_JSON(j) AS MAP(VARCHAR, JSON)) = {"a": {"b": 7}}
CAST(o AS ARRAY(JSON))[1].m = "z"
(l || [4])[3] = 4
JSON_EXTRACT_SCALAR(o[0], '$.m') = "u"
FORMAT('%s is %d', v, k) = "a is 1"
FORMAT('{} is {}', v, k) = "a is 1"
list_transform(l, e -> e + k) = [2, 3, 4]
list_transform(l, lambda e: e * 2) = [2, 4, 6]
[e * 10 FOR e IN l IF e > 1] = [20, 30]
list_filter(o, x -> x.n > 1 AND x.m = 'z')[0].n = 5
filter(w, x -> x <> 'p') = ["q"]
list_transform(o, x -> list_transform(l, y -> y + x.n)) = [[2, 3, 4], [6, 7, 8]]
transform(o, x -> x.q) = [null, null]
any_match(l, e -> e > 2) = true
all_match(l, e -> e > 1) = false
none_match(l, e -> e > 9) = true
arrayCount(x -> x > 1, l) = 2
exists(l, x -> x > 2) = true
ARRAYS_OVERLAP(l, [3, 9]) = true
ARRAY_SORT([10, 9, 'b', 'a', 1.5]) = [1.5, 9, 10, "a", "b"]
ARRAY_MAX(l) = 3
ARRAY_MIN(w) = "p"
SLICE(l, 2, 2) = [2, 3]
FLATTEN([l, [9]]) = [1, 2, 3, 9]
ARRAY_CONCAT(l, w) = [1, 2, 3, "p", "q"]
has(w, 'p') = true
splitByChar('/', 'a/b') = ["a", "b"]
multiIf(k = 2, 'x', k = 1, 'y', 'z') = "y"
DECODE(k, 1, 'one', 'other') = "one"
notEmpty(v) = true
isNull(v) = false
intDiv(7, 2) = 3
match(v, '^[a-c]') = true
extract(u, 'id=([0-9]+)') = "id=7"
v RLIKE '^a' = true
v NOT REGEXP '^a' = false
REGEXP_COUNT('a1b22', '[0-9]+') = 2
URL_EXTRACT_HOST(u) = "a.org"
URL_EXTRACT_PARAMETER(u, 'id') = "7"
CONTAINS_SUBSTR('ABC', 'b') = true
"""
ALL = """
uniq(v) = 2
uniqExact(k) = 3
APPROX_DISTINCT(k) = 3
uniqIf(v, k > 1) = 1
countIf(k > 1) = 2
sumIf(k, k > 1) = 5
avgIf(k, k < 3) = 1.5
quantile(0.5)(k) = 2
quantiles(0, 1)(k) = [1, 3]
topK(1)(v || 'x') = [{"count": 1, "value": "ax"}]
groupArray(v) = ["a", "b"]
collect_set(k % 2) = [0, 1]
argMax(v, k) = "b"
any(k) = 1
ARRAY_AGG(k ORDER BY k DESC LIMIT 2) = [3, 2]
list_transform(ARRAY_AGG(k), x -> x * 2) = [2, 4, 6]
"""


def _cases(text: str) -> list[tuple[str, Any]]:
    pairs = [line.rpartition(" = ")[::2] for line in text.strip().splitlines()]
    return [(expr, json.loads(value)) for expr, value in pairs]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("othernames")
    (folder / "t.json").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    sdb.pack([folder / "t.json"], folder / "t.zion")
    return folder


def _rows(folder: Path, query: str) -> list[dict[str, Any]]:
    with sdb.sql(query, root=str(folder), threads=1, typed=False) as result:
        return [json.loads(line) for line in b"".join(result.lines()).splitlines()]


@pytest.mark.parametrize(
    ("cases", "where"), [(FIRST, "k = 1"), (ALL, "k > 0")], ids=["functions", "aggregates"]
)
def test_words_of_others_mean_what_they_mean_there(folder: Path, cases: str, where: str) -> None:
    wanted = _cases(cases)
    items = ", ".join(f"{expr} AS c{number}" for number, (expr, _) in enumerate(wanted))
    (row,) = _rows(folder, f"SELECT {items} FROM t WHERE {where}")
    wrong = {
        expr: row.get(f"c{number}", "MISSING")
        for number, (expr, value) in enumerate(wanted)
        if row.get(f"c{number}") != value
    }
    assert not wrong


def test_lists_unfold_in_the_select_list(folder: Path) -> None:
    assert _rows(folder, "SELECT k, explode(l) AS x FROM t WHERE k = 2") == [{"k": 2, "x": 4}]
    assert len(_rows(folder, "SELECT arrayJoin(l) AS x FROM t")) == 4


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("WITH k + 1 AS n SELECT n, n * 2 AS m FROM t WHERE n > 2 ORDER BY n", [[3, 6], [4, 8]]),
        ("WITH (v = 'a') AND (k = 1) AS is_a SELECT COUNT(*) FILTER (is_a) AS n FROM t", [[1]]),
        (
            "WITH v IN (SELECT v FROM t WHERE k = 2) AS old SELECT k, old FROM t WHERE k < 3",
            [[1, False], [2, True]],
        ),
        ("WITH 2 AS n, n + 1 AS m, q AS (SELECT k FROM t) SELECT k FROM q WHERE k = m", [[3]]),
        (
            "WITH toYear(t) AS y SELECT y, COUNT(*) AS n FROM t WHERE y = '2022' GROUP BY y",
            [[2022, 1]],
        ),
        ("WITH f(x) AS (SELECT k FROM t) SELECT x FROM f WHERE x = 2", [[2]]),
        ("SELECT s FROM (WITH k * 3 AS s SELECT s FROM t) AS q ORDER BY s LIMIT 1", [[3]]),
        ("SELECT k, k % 2 AS g FROM t ORDER BY k DESC LIMIT 1 BY g", [[2, 0], [3, 1]]),
        (
            "SELECT k % 2 AS g, COUNT(*) FROM t GROUP BY g, k ORDER BY k LIMIT 1 BY g LIMIT 1",
            [[1, 1]],
        ),
        ("SELECT ARRAY_AGG(k ORDER BY k)[1] AS x FROM t", [[2]]),
        ("SELECT (SELECT ARRAY_AGG(k ORDER BY k) FROM t)[2] AS x", [[3]]),
        ("SELECT k FROM t ORDER BY k LIMIT 2 BY v IS NULL", [[1], [2], [3]]),
    ],
)
def test_clauses_of_clickhouse(folder: Path, query: str, wanted: list[list[Any]]) -> None:
    assert sorted([list(row.values()) for row in _rows(folder, query)]) == wanted


def test_limit_by_does_not_go_with_qualify(folder: Path) -> None:
    query = "SELECT DISTINCT k FROM t LIMIT 1 BY k"
    with pytest.raises(QueryError, match="LIMIT BY does not go with DISTINCT"):
        _rows(folder, query)


@pytest.mark.parametrize(
    ("expr", "message", "hint"),
    [
        ("uper(v)", 'unrecognized builtin "UPER"', "did you mean UPPER?"),
        ("cityHash64(v)", "CITYHASH64", "did you mean MD5?"),
        ("formatDateTime(t, '%Y')", "FORMATDATETIME", "STRFTIME(time, '%Y-%m-%d')"),
        ("DATE_FORMAT(t, v)", "DATE_FORMAT", "STRFTIME(time, '%Y-%m-%d')"),
        ("numbers(5)", "NUMBERS", "FROM RANGE(3) AS x"),
        ("neighbor(v, 1)", "NEIGHBOR", "LEAD(x) OVER (ORDER BY time)"),
        ("CAST(v AS IPADDRESS)", "IPADDRESS", "IS_SUBNET_OF('10.0.0.0/8', address)"),
        ("MAP(w, w)", "MAP", "did you mean {'key': value}?"),
        ("bar(k, 0, 5)", "BAR", "did you mean REPEAT('#', n)?"),
        ("from_json(v)", "FROM_JSON", "did you mean PARSE_JSON?"),
        ("list_transform(l, x)", "LIST_TRANSFORM takes a list and a function", "x -> x + 1"),
        ("list_transform(l, x -> (SELECT 1))", "sub-queries and aggregates", "FROM t, t.list AS x"),
        ("FLOOR(t TO FORTNIGHT)", "FORTNIGHT is no part of a time", "FLOOR(time TO HOUR)"),
        ("l[ORDINAL(0)]", "cannot use 0 as an index", ""),
    ],
)
def test_what_is_unknown_has_a_hint(folder: Path, expr: str, message: str, hint: str) -> None:
    with pytest.raises(QueryError) as raised:
        _rows(folder, f"SELECT {expr} AS x FROM t")
    assert message in raised.value.message
    assert hint in (raised.value.hint or "")
