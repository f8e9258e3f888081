"""Answers that could mislead, through the real command line, on real events."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from tests.cli.conftest import ROOT, SAMPLE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Run

    Ask = Callable[..., list[dict[str, Any]]]

CLOUDTRAIL = ROOT / "testdata/cloudtrail_sneller.json.gz"
SMALL = [
    {"o": 1, "items": [{"x": 3}, {"x": 1}], "list": [{"q": 1}], "b": True, "n": 0},
    {"o": 2, "items": [{"x": 2}], "list": [], "b": False, "n": 2.5},
    {"o": 3, "b": "t"},
]


@pytest.fixture
def places(tmp_path: Path) -> Path:
    """Pack real events, and a few rows with lists."""
    sdb.pack([SAMPLE], tmp_path / "gh.zion")
    sdb.pack([CLOUDTRAIL], tmp_path / "ct.zion")
    text = "".join(json.dumps(row) + "\n" for row in SMALL)
    (tmp_path / "small.json").write_text(text)
    sdb.pack([tmp_path / "small.json"], tmp_path / "small.zion")
    return tmp_path


@pytest.fixture
def ask(run: Run, places: Path) -> Ask:
    """Run a query that says nothing on stderr, and give its rows."""
    assert places.exists()

    def answer(text: str, *options: str) -> list[dict[str, Any]]:
        done = run("query", text, *options)
        assert (done.returncode, done.stderr) == (0, b"")
        return [json.loads(line) for line in done.stdout.splitlines()]

    return answer


@pytest.mark.parametrize(
    ("item", "other"), [("60*60", "3600"), ("3600", "60*60"), ("2*1800", "60*60"), ("1", "3-2")]
)
def test_a_key_is_the_same_however_its_constants_are_written(
    ask: Ask, item: str, other: str
) -> None:
    """Issue 16, 1.5."""
    text = "SELECT TIME_BUCKET(created_at, {}) AS t, COUNT(*) AS n FROM 'gh.zion'"
    text += " GROUP BY {} ORDER BY {}"
    key = f"TIME_BUCKET(created_at, {other})"
    assert ask(text.format(item, key, key)) == ask(text.format(item, "t", "t"))


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("i.x FROM 'small.zion' c, c.items AS i ORDER BY x", [1, 2, 3]),
        ("i.x FROM 'small.zion' c, c.items AS i ORDER BY x DESC LIMIT 2", [3, 2]),
        ("i.x, COUNT(*) AS n FROM 'small.zion' c, c.items AS i GROUP BY x ORDER BY x", [1, 2, 3]),
        ("DISTINCT i.x FROM 'small.zion' c, c.items AS i ORDER BY x", [1, 2, 3]),
        ("DISTINCT ON (x) i.x FROM 'small.zion' c, c.items AS i ORDER BY x", [1, 2, 3]),
        ("MAX(i.x) AS x, COUNT(*) FROM 'small.zion' c, c.items AS i HAVING count > 2", [3]),
    ],
)
def test_a_name_of_the_result_sorts_and_groups(ask: Ask, text: str, rows: list[float]) -> None:
    """Issue 16, 1.5."""
    assert [row["x"] for row in ask(f"SELECT {text}")] == rows


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (
            "i.x FROM 'small.zion' c, c.items AS i UNION ALL SELECT o FROM 'small.zion' ORDER BY x",
            [1, 2, 3],
        ),
        (
            "o AS x FROM 'small.zion' UNION SELECT n AS x FROM 'small.zion' ORDER BY x DESC",
            [3, 2.5, 2, 1, 0],
        ),
    ],
)
def test_a_name_of_the_result_sorts_what_was_united(
    run: Run, places: Path, text: str, rows: list[float]
) -> None:
    """Rows of one side have no such column, and that they are left out is said."""
    assert places.exists()
    done = run("query", f"SET dialect = sneller; SELECT {text}")
    assert [json.loads(line)["x"] for line in done.stdout.splitlines()] == rows
    assert b"note: rows without a key are left out" in done.stderr


@pytest.mark.parametrize("inner", ["", "z."])
def test_an_alias_of_an_earlier_item_is_known_in_sub_queries(ask: Ask, inner: str) -> None:
    """Issue 16, 1.5."""
    table = f"'small.zion'{' AS z' if inner else ''}"
    first = f"(SELECT MIN({inner}n) FROM {table} WHERE {inner}o = y)"
    has = f"EXISTS (SELECT {inner}o FROM {table} WHERE {inner}o = y)"
    among = f"y IN (SELECT {inner}o + 1 FROM {table})"
    rows = ask(f"SELECT o + 1 AS y, {first} AS n, {has} AS e, {among} AS i FROM 'small.zion'")
    assert rows == [
        {"y": 2, "n": 2.5, "e": True, "i": True},
        {"y": 3, "n": None, "e": True, "i": True},
        {"y": 4, "n": None, "e": False, "i": True},
    ]
    rows = ask(
        f"SELECT type AS k, COUNT(*) AS m, (SELECT MAX({inner}o) FROM {table} WHERE {inner}o < m)"
        " AS n FROM 'gh.zion' GROUP BY type ORDER BY m DESC LIMIT 1"
    )
    assert rows[0]["n"] == 3


def test_aliases_that_grow_without_bound_are_refused(run: Run, places: Path) -> None:
    items = ["o + o AS a0", *(f"a{n} + a{n} AS a{n + 1}" for n in range(60))]
    done = run("query", f"SELECT {', '.join(items)} FROM '{places}/small.zion'")
    assert done.returncode == 2
    assert b"the query is too complex" in done.stderr


def test_times_that_depend_on_now_are_worked_out_before_anything_is_read(
    run: Run, ask: Ask
) -> None:
    ago = "DATE_ADD(DAY, -30, UTCNOW())"
    assert ask(f"SELECT COUNT(*) AS n FROM 'gh.zion' WHERE created_at < {ago}") == [{"n": 1000}]
    done = run("query", "--explain", f"SELECT id FROM 'gh.zion' WHERE created_at > {ago}")
    assert b"0 of 1 block" in done.stdout, done.stdout.decode()


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("SELECT * FROM w", None),
        ("SELECT * FROM (SELECT * FROM w LIMIT 9)", None),
        ("SELECT * FROM (SELECT * FROM w WHERE b.q = 1 LIMIT 9) WHERE b.q = 1", None),
        ("SELECT * FROM (SELECT DISTINCT ON (o) * FROM w LIMIT 9)", None),
        ("SELECT * FROM w UNION SELECT * FROM w", None),
        ("SELECT * FROM (SELECT * FROM w ++ 'small.zion') WHERE b.q = 1", None),
        ("SELECT (SELECT * FROM w LIMIT 1) AS row", "row"),
        ("SELECT (SELECT * FROM w LIMIT 9) AS rows", "rows"),
    ],
)
def test_whole_rows_beside_elements_of_lists_stay_rows(
    ask: Ask, text: str, key: str | None
) -> None:
    """Issue 16, 1.5."""
    w = 'WITH w AS (SELECT * FROM "small.zion" AS "$a", "$a".list AS "b") '
    (actual,) = ask(w.replace('"small.zion"', "'small.zion'") + text)
    wanted = SMALL[0] | {"b": {"q": 1}}
    assert actual == (wanted if key is None else {key: [wanted] if key == "rows" else wanted})


def test_members_and_types_of_such_rows_are_those_of_both(ask: Ask) -> None:
    rows = "(SELECT * FROM 'small.zion' AS t, t.list AS b)"
    unpivot = f"SELECT v, k FROM UNPIVOT {rows} AS v AT k ORDER BY k LIMIT 1"
    assert ask(unpivot) == [{"v": {"q": 1}, "k": "b"}]
    (shape,) = ask(f"SELECT SNELLER_DATASHAPE(*) FROM {rows}")
    assert shape["total"] == 1
    assert shape["fields"]["b.q"] == {"int": 1, "int-min-value": 1, "int-max-value": 1}


BEFORE = "2015-01-01T01:04"


@pytest.mark.parametrize(
    "text", ["'{}'", "`{}`", "TIMESTAMP '{}'", "CAST('{}' AS TIMESTAMP)", "$t"]
)
def test_a_time_is_compared_as_a_time_however_it_is_written(ask: Ask, text: str) -> None:
    """Issue 16, 1.2."""
    time = text.format(BEFORE)
    options = ("--param", f"t={BEFORE}") if text == "$t" else ()
    wanted = ask("SELECT COUNT(*) AS n FROM 'gh.zion' WHERE TO_UNIX_EPOCH(created_at) < 1420074240")
    (row,) = wanted
    assert 0 < row["n"] < 1000
    count = "SELECT COUNT(*) AS n FROM 'gh.zion' WHERE"
    for condition in (
        f"created_at < {time}",
        f"{time} > created_at",
        f"NOT created_at >= {time}",
        f"created_at BETWEEN '2015-01-01' AND {time} AND created_at <> {time}",
        f"created_at < {time} AND CHAR_LENGTH(type) > 0",
        f"DATE_TRUNC(MINUTE, created_at) < {time}",
        f"NOT DATE_TRUNC(MINUTE, created_at) IN ({time}) AND created_at < {time}",
    ):
        assert ask(f"{count} {condition}", *options) == wanted, condition
    (first,) = ask(
        f"SELECT MIN(created_at) AS t FROM 'gh.zion' WHERE created_at >= {time}", *options
    )
    assert ask(f"{count} created_at < '{first['t']}'") == wanted


@pytest.mark.filterwarnings("ignore:.*(are texts|is a text)")
def test_texts_and_times_under_one_name_are_compared_row_by_row(ask: Ask, places: Path) -> None:
    """Issue 16, 1.2."""
    values = ["2021-01-01T00:00:00Z", "2021-01-02T00:00:00Z", "2021-01-02", "x", 5, None]
    rows = "".join(json.dumps({"n": n, "t": value}) + "\n" for n, value in enumerate(values))
    (places / "m.json").write_text(rows + '{"n": 6}\n')
    sdb.pack([places / "m.json"], places / "m.zion")
    for condition, item in {
        "t < '2021-01-02'": [0],
        "NOT t < '2021-01-02'": [1, 2, 3],
        "t = '2021-01-02'": [1, 2],
        "t <> '2021-01-02'": [0, 3, 4],
        "t IN ('2021-01-02', 5)": [1, 2, 4],
        "t BETWEEN '2021-01-01' AND '2021-01-02'": [0, 1, 2],
        "CASE t WHEN '2021-01-02' THEN TRUE END": [1, 2],
        "t < TIMESTAMP '2021-01-02'": [0],
    }.items():
        for also in ("", " AND n + 0 >= 0"):
            text = f"SELECT n FROM 'm.zion' WHERE ({condition}){also} ORDER BY n"
            # In Python, where a note on rows without a t is no line on standard error.
            assert [row["n"] for row in sdb.sql(text, root=str(places))] == item, text
        value = f"SELECT n, ({condition}) AS v FROM 'm.zion'"
        rows_of = sdb.sql(value, root=str(places))  # which tells of texts beside a time
        assert [row["n"] for row in rows_of if row.get("v") is True] == item
    assert ask("SELECT MIN(t) AS a, MAX(t) AS b FROM 'm.zion'") == [{"a": 5, "b": 5}]
    assert ask("SELECT MIN(t) AS a, MAX(t) AS b FROM 'm.zion' WHERE n <> 4") == [
        {"a": values[0], "b": values[1]}
    ]


def test_a_text_that_is_a_time_prunes_as_that_time(run: Run, places: Path) -> None:
    """Issue 16, 1.2."""
    run("pack", "-o", "blocks.zion", "--block-size", "1MiB", SAMPLE)
    assert places.exists()
    shown = [
        run("query", "--explain", f"SELECT id FROM 'blocks.zion' WHERE created_at < {time}").stdout
        for time in (f"'{BEFORE}'", f"`{BEFORE}:00Z`", "'2014-12-31'", "'2016-01-01'")
    ]
    assert shown[0].splitlines()[-1] == shown[1].splitlines()[-1]
    assert shown[0].splitlines()[-1] < shown[3].splitlines()[-1]
    assert shown[2].splitlines()[-1].startswith(b"total: 0 of ")


def test_least_and_greatest_times(ask: Ask) -> None:
    """Issue 16, 1.2."""
    names = "MIN(created_at) AS a, MAX(created_at) AS b"
    others = names.replace("MIN", "EARLIEST").replace("MAX", "LATEST")
    for tail in ("", " GROUP BY type", " WHERE CHAR_LENGTH(type) > 9"):
        text = "SELECT {} FROM 'gh.zion'" + tail
        assert sorted(map(str, ask(text.format(names)))) == sorted(
            map(str, ask(text.format(others)))
        )
    text = "SELECT id, {}(created_at) OVER (PARTITION BY type) AS a FROM 'gh.zion' ORDER BY id"
    assert ask(text.format("MIN")) == ask(text.format("EARLIEST"))


def test_numbers_beside_nothing_but_times_are_told_of(run: Run, places: Path) -> None:
    """Issue 16, 1.2."""
    text = "SELECT COUNT(*) AS n FROM '{}/gh.zion' WHERE {} > 1420074240"
    done = run("query", text.format(places, "created_at"))
    assert (done.returncode, done.stdout) == (0, b'{"n": 0}\n')
    assert done.stderr.startswith(b"warning: created_at has timestamps and no number")
    assert done.stderr.count(b"TO_UNIX_EPOCH(created_at) > 1420074240") == 1
    done = run("query", text.format(places, "TO_UNIX_EPOCH(created_at)"))
    assert (done.stdout == b'{"n": 0}\n', done.stderr) == (False, b"")


def test_what_is_no_time_is_refused(run: Run, places: Path) -> None:
    for time in ("TIMESTAMP 'tomorrow'", "DATE '2015-13-01'", "`2015-02-30`"):
        done = run("query", f"SELECT id FROM '{places}/gh.zion' WHERE created_at > {time}")
        assert done.returncode == 2, time


@pytest.mark.parametrize(
    ("text", "word", "hint"),
    [
        ("select tpye frm x", "frm", "did you mean FROM instead of FRM?"),
        ("SELECT a FROM 'gh.zion' WEHRE a = 1 AND b = 2", "WEHRE", "did you mean WHERE"),
        ("SELECT a FROM 'gh.zion' LIMIT ten", "ten", ""),
        (
            "SELECT SUBSTRING(type) FROM 'gh.zion'",
            "SUBSTRING(type)",
            "SUBSTRING(text, number[, number])",
        ),
        ("SELECT UPPER(type, 1) FROM 'gh.zion'", "UPPER(type, 1)", "UPPER(text)"),
        ("SELECT DATE_ADD(DAY, 1) FROM 'gh.zion'", ")", "DATE_ADD(part, number, time)"),
        ("SELECT CAST(a AS INTT) FROM 'gh.zion'", "INTT", "the types are"),
        (
            "SELECT LEAST() FROM 'gh.zion'",
            "LEAST()",
            "LEAST(number[, number[, number[, number, ...]]])",
        ),
    ],
)
def test_marks_stand_under_what_is_wrong(
    run: Run, places: Path, text: str, word: str, hint: str
) -> None:
    """Issue 16, 1.8."""
    assert places.exists()
    done = run("query", text)
    assert done.returncode == 2
    shown, marks, *rest = done.stderr.decode().splitlines()
    assert shown == text
    assert text[marks.index("^") : len(marks)] == word
    assert hint in rest[-1]
    assert set(marks) == {" ", "^"}


def test_folders_and_files_that_are_no_packfiles(run: Run, places: Path) -> None:
    """Issue 16, 1.8."""
    (places / "logs").mkdir()
    done = run("query", "SELECT COUNT(*) FROM logs")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode().splitlines() == [
        "sdb: opening logs: is a folder",
        'hint: try "logs/*.zion"',
    ]


@pytest.mark.parametrize(
    ("tail", "is_counted"),
    [
        ("ORDER BY errorCode", True),
        ("ORDER BY errorCode DESC NULLS LAST LIMIT 5", True),
        ("GROUP BY errorCode", True),
        ("WHERE UPPER(eventName) > 'A' GROUP BY errorCode", False),
        ("WHERE errorCode > '' OR eventName < 'D' ORDER BY errorCode", False),
        ("WHERE errorCode IS NOT MISSING ORDER BY errorCode", None),
        ("WHERE errorCode > '' GROUP BY errorCode", None),
    ],
)
def test_that_rows_without_a_key_are_left_out_is_told(
    run: Run, places: Path, tail: str, *, is_counted: bool | None
) -> None:
    text = f"SET dialect = sneller; SELECT errorCode FROM '{places}/ct.zion' {tail}"
    done = run("query", text)
    counts = json.loads(
        run(
            "query",
            "SELECT COUNT(*) AS n, COUNT(*) FILTER (WHERE errorCode IS MISSING) AS m"
            f" FROM '{places}/ct.zion'",
        ).stdout
    )
    assert 0 < counts["m"] < counts["n"]
    who = f"{counts['m']:,} rows" if is_counted else "rows"
    note = f"note: {who} without a key are left out: the dialect is sneller\n"
    assert done.stderr.decode() == ("" if is_counted is None else note)
    with sdb.sql(text) as result:
        assert [f"{note}\n" for note in result.notes] == done.stderr.decode().splitlines(True)


@pytest.mark.parametrize(
    ("expression", "notes"),
    [
        (
            "CAST(readOnly AS STRING)",
            ["CAST(readOnly AS STRING) is NULL where readOnly is a boolean"],
        ),
        (
            "CAST(eventTime AS STRING)",
            ["CAST(eventTime AS STRING) is NULL where eventTime is a time"],
        ),
        (
            "CAST(eventName AS INTEGER)",
            ["CAST(eventName AS INTEGER) is NULL where eventName is a string"],
        ),
        ("eventName::text", []),
        ("readOnly::text", []),
        ("eventTime::text", []),
        ("CAST(readOnly AS BOOLEAN)::text", []),
        ("CAST(eventTime AS TIMESTAMP)::text", []),
    ],
)
def test_values_that_a_cast_loses_are_told_of(
    run: Run, places: Path, expression: str, notes: list[str]
) -> None:
    """Issue 16, 1.5: conditional-034 says so, and would say nothing."""
    text = f"SELECT {expression} AS value FROM '{places}/ct.zion'"
    done = run("query", text)
    reported = done.stderr.decode().splitlines()
    assert [line.removeprefix("note: ").split(" (")[0] for line in reported] == notes
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert any(row["value"] is not None for row in rows) is not bool(notes)
    for line in reported:
        if "(" in line.split(" NULL ")[1]:
            better = re.split(" is its| reads it", line.split(" (")[1])[0]
            again = run("query", f"SELECT {better} AS value FROM '{places}/ct.zion'")
            assert again.stderr == b""
            values = [json.loads(row).get("value") for row in again.stdout.splitlines()]
            assert {type(value) for value in values} <= {str, type(None)}
            # No text of eventName says a number, which the note does not know.
            assert any(values) is not expression.startswith("CAST(eventName")


def test_what_a_note_advises_works(ask: Ask) -> None:
    """Issue 16, 1.3."""
    (rows,) = ask("SELECT COUNT(*) AS n FROM 'ct.zion'")
    keys = "COALESCE(errorCode, '-')"
    groups = ask(f"SELECT {keys} AS e, COUNT(*) AS n FROM 'ct.zion' GROUP BY {keys}")
    assert sum(group["n"] for group in groups) == rows["n"]
    for direction in ("NULLS LAST", "DESC NULLS LAST", ""):
        key = f"ORDER BY COALESCE(errorCode, NULL) {direction}"
        actual = ask(f"SET dialect = sneller; SELECT errorCode FROM 'ct.zion' {key}")
        assert len(actual) == rows["n"]
        codes = [row["errorCode"] for row in actual if row]
        assert codes == sorted(codes, reverse="DESC" in direction)
        assert bool(actual[0]) is ("LAST" in direction)
