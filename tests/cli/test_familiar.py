"""SQL as users of other engines type it, through the real command line, on real events."""

from __future__ import annotations

import gzip
import json
import signal
import statistics
import subprocess
import time
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from tests.cli.conftest import COMMAND, ROOT, SAMPLE, environment
from tests.patience import soon

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Run, Screen

    Ask = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def ask(run: Run, tmp_path: Path) -> Ask:
    """Run a query that says nothing on stderr, and give its rows."""
    sdb.pack([SAMPLE], tmp_path / "gh.zion")
    sdb.pack([ROOT / "testdata/cloudtrail_sneller.json.gz"], tmp_path / "ct.zion")

    def answer(text: str, *options: str) -> list[dict[str, Any]]:
        done = run("query", text, *options)
        assert (done.returncode, done.stderr) == (0, b"")
        return [json.loads(line) for line in done.stdout.splitlines()]

    return answer


@pytest.mark.parametrize(
    ("familiar", "own"),
    [
        ("LENGTH(type)", "CHAR_LENGTH(type)"),
        ("repo.name::text", "CAST(repo.name AS STRING)"),
        ("date_trunc('hour', created_at)", "DATE_TRUNC(HOUR, created_at)"),
        (
            "DATE_BIN('90 seconds', created_at)",
            "DATE_BIN('90 seconds', created_at, `1970-01-01T00:00:00Z`)",
        ),
        ("STARTS_WITH(type, 'Push')", "type LIKE 'Push%'"),
        ("ENDS_WITH(type, 'Event')", "type LIKE '%Event'"),
        ("CONTAINS(repo.name, 'o/')", "repo.name LIKE '%o/%'"),
        ("REGEXP_LIKE(repo.name, '^[a-f]')", "repo.name ~ '^[a-f]'"),
        ("REGEXP_EXTRACT(repo.name, '^([^/]+)/', 1)", "SPLIT_PART(repo.name, '/', 1)"),
        ("REGEXP_REPLACE(repo.name, '/.*', '')", "SPLIT_PART(repo.name, '/', 1)"),
        ("REPLACE(repo.name, '/', '')", "CONCAT(SPLIT_PART(repo.name, '/', 1), name)"),
        ("IF(public, 1, 0)", "CASE WHEN public THEN 1 ELSE 0 END"),
        ("created_at < NOW()", "created_at < UTCNOW()"),
    ],
)
def test_a_familiar_word_means_what_ours_does(ask: Ask, familiar: str, own: str) -> None:
    own = own.replace(", name)", ", SPLIT_PART(repo.name, '/', 2))")
    rows = ask(f"SELECT {familiar} AS one, {own} AS other FROM 'gh.zion'")
    assert len(rows) >= 1000
    assert all(row["one"] == row["other"] for row in rows)


@pytest.mark.parametrize(
    ("familiar", "own"),
    [
        (
            "type, COUNT(*) AS n FROM gh GROUP BY 1 ORDER BY 2 DESC, 1",
            "{} GROUP BY type ORDER BY n DESC, type",
        ),
        (
            "type, COUNT(*) AS n FROM gh GROUP BY ALL ORDER BY ALL",
            "{} GROUP BY type ORDER BY type, n",
        ),
        (
            "COUNT(*) AS n, UPPER(type) AS type FROM gh GROUP BY ALL ORDER BY ALL DESC",
            "{} GROUP BY UPPER(type) ORDER BY n DESC, UPPER(type) DESC",
        ),
        (
            "UPPER(type) AS type, SUM(repo.id) n FROM gh GROUP BY 1 HAVING COUNT(*) > 3 ORDER BY 1",
            "{} GROUP BY UPPER(type) HAVING COUNT(*) > 3 ORDER BY type",
        ),
        ("id AS a, type AS id FROM gh ORDER BY 2, 1", "{} ORDER BY id, a"),
        ("DISTINCT type FROM gh ORDER BY 1 DESC", "{} ORDER BY type DESC"),
        ("type AS a FROM gh UNION SELECT repo.name AS a FROM gh ORDER BY 1", "{} ORDER BY a"),
        (
            (
                "id FROM gh WHERE created_at > `2015-01-02T00:00:00Z`"
                " - INTERVAL '22 hours 55 minutes' ORDER BY 1"
            ),
            "id FROM gh WHERE created_at > `2015-01-01T01:05:00Z` ORDER BY id",
        ),
        (
            "created_at + INTERVAL 1 MONTH - INTERVAL '90' minutes AS a FROM gh ORDER BY 1 LIMIT 9",
            "DATE_ADD(MINUTE, -90, DATE_ADD(MONTH, 1, created_at)) AS a FROM gh ORDER BY a LIMIT 9",
        ),
        (
            (
                "DATE_BIN(INTERVAL '5 minutes', created_at) AS t, COUNT(*) AS n FROM gh"
                " GROUP BY 1 ORDER BY 1"
            ),
            "DATE_BIN('5 minutes', created_at) AS t, COUNT(*) AS n FROM gh GROUP BY t ORDER BY t",
        ),
        (
            "COUNT(*) AS n FROM gh WHERE created_at < NOW() - INTERVAL '1 week'",
            "COUNT(*) AS n FROM gh",
        ),
    ],
)
def test_places_and_intervals_mean_what_ours_do(ask: Ask, familiar: str, own: str) -> None:
    body = familiar.split(" GROUP BY", maxsplit=1)[0].split(" ORDER BY", maxsplit=1)[0]
    familiar, own = (
        f"SELECT {text}".replace("gh", "'gh.zion'") for text in (familiar, own.format(body))
    )
    rows = ask(familiar)
    assert rows
    assert rows == ask(own)


def test_values_of_groups_are_put_together(ask: Ask) -> None:
    (row,) = ask(
        "SELECT ARRAY_AGG(type ORDER BY id) AS types, STRING_AGG(DISTINCT type, '|') AS names,"
        " MEDIAN(actor.id) AS m, QUANTILE(actor.id, 0.25) AS q,"
        " QUANTILE_DISC(actor.id, 0.9) AS d, MODE(type) AS o,"
        " ARRAY_AGG(id) FILTER (WHERE type = 'none') AS n, COUNT(*) AS c FROM 'gh.zion'"
    )
    rows = ask("SELECT type, actor.id AS actor FROM 'gh.zion' ORDER BY id")
    ids = [int(str(each["actor"])) for each in rows]
    assert row["types"] == [each["type"] for each in rows]
    assert row["names"] == "|".join(sorted({each["type"] for each in rows}))
    assert row["o"] == Counter(each["type"] for each in rows).most_common(1)[0][0]
    assert row["n"] is None
    assert row["m"] == statistics.median(ids)
    assert row["q"] == statistics.quantiles(ids, n=4, method="inclusive")[0]
    assert row["d"] in ids


def test_values_that_are_put_together_keep_their_types(ask: Ask, tmp_path: Path) -> None:
    rows = [
        {"g": "a", "v": 2, "w": {"b": 1, "a": [9007199254740993]}},
        {"g": "a", "v": 1, "s": "y"},
        {"g": "a", "v": 2, "s": "x"},
        {"g": "b", "v": None, "s": 5},
        {"g": "b"},
        {"g": "b", "v": "t", "s": "x"},
    ]
    sdb.pack(rows, tmp_path / "v.zion")
    assert ask(
        "SELECT g, ARRAY_AGG(v ORDER BY v DESC) AS a, MODE(v) AS o, MEDIAN(v) AS m,"
        " STRING_AGG(s ORDER BY s) AS s FROM 'v.zion' GROUP BY ALL ORDER BY 1"
    ) == [
        {"g": "a", "a": [2, 2, 1], "o": 2, "m": 2, "s": "x,y"},
        {"g": "b", "a": ["t", None, None], "o": "t", "m": None, "s": "5,x"},
    ]
    (row,) = ask("SELECT ARRAY_AGG(w) AS w, MODE(w) AS m, SIZE(ARRAY_AGG(v)) AS n FROM 'v.zion'")
    assert row == {"w": [rows[0]["w"], *[None] * 5], "m": rows[0]["w"], "n": 6}
    (row,) = ask(
        "SELECT ARRAY_AGG(g ORDER BY s, v) AS g, STRING_AGG(DISTINCT s, '') AS s FROM 'v.zion'"
    )
    assert (row["g"][0], row["g"][3], sorted(row["g"][4:])) == ("b", "a", ["a", "b"])
    assert row["s"] == "5xy"


def test_an_interval_lets_blocks_out(run: Run, ask: Ask) -> None:
    assert ask("SELECT 1 AS one")
    after = "created_at > `2015-02-01T00:00:00Z` - INTERVAL '1 week'"
    done = run("query", "-v", f"SELECT COUNT(*) AS n FROM 'gh.zion' WHERE {after}")
    assert (done.returncode, done.stdout) == (0, b'{"n": 0}\n')
    assert b"0 of " in done.stderr


@pytest.mark.parametrize(
    ("expr", "says"),
    [
        ("REPLACE(type)", b"REPLACE expects 3 arguments"),
        ("CONTAINS(UPPER(type), 5)", b"not a string"),
        ("REGEXP_EXTRACT(type, 'a', 1)", b"there is no group 1, of 0"),
        ("REGEXP_REPLACE(type, '(', '')", b"missing closing )"),
        ("type::blob", b"the types are BOOLEAN"),
        ("STRING_AGG(type, type)", b"constant text"),
        ("ARRAY_AGG(DISTINCT type ORDER BY id)", b"no key beside DISTINCT"),
        ("QUANTILE(id, 2)", b"range [0.0, 1.0]"),
        ("QUANTILE(id)", b"needs a percentile"),
        ("MEDIAN(*)", b"does not accept '*'"),
        ("INTERVAL '1 month'", b"add them to a time"),
        ("created_at + INTERVAL '1 eon'", b"as in INTERVAL '1 day 12 hours'"),
        ("5 + INTERVAL '1 day'", b"not compatible with type timestamp"),
        ("INTERVAL '1 day' - created_at", b"added to a time"),
        ("type, COUNT(*) FROM 'gh.zion' GROUP BY 2 --", b"item 2 is an aggregate"),
        ("type FROM 'gh.zion' ORDER BY 2 --", b"there is no item 2"),
    ],
)
def test_what_has_no_meaning_is_refused(run: Run, ask: Ask, expr: str, says: bytes) -> None:
    assert ask("SELECT 1 AS one")
    done = run("query", f"SELECT {expr} FROM 'gh.zion'")
    assert (done.returncode, done.stdout) == (2, b"")
    assert says in done.stderr


STARS = [
    ("SELECT * EXCLUDE (payload, actor) FROM 'gh.zion'", {"payload", "actor"}),
    ("SELECT * EXCEPT (payload) FROM 'gh.zion' AS g", {"payload"}),
    ("SELECT * EXCLUDE payload FROM 'gh.zion' AS type", {"payload"}),
    ("SELECT * EXCLUDE (payload) FROM (SELECT * FROM 'gh.zion')", {"payload"}),
    ("WITH t AS (SELECT * EXCLUDE (id) FROM gh) SELECT * EXCLUDE (org) FROM t", {"id", "org"}),
    ("SELECT * EXCLUDE (payload) FROM 'gh.zion' WHERE payload IS NOT MISSING", {"payload"}),
]


@pytest.mark.parametrize(("query", "without"), STARS)
def test_a_star_may_leave_fields_out(ask: Ask, query: str, without: set[str]) -> None:
    """Issue 16, 3."""
    rows = ask("SELECT * FROM 'gh.zion'")
    for row in rows:
        for name in without:
            row.pop(name, None)
    actual = ask(query)
    assert len(actual) >= 1000
    assert actual == rows


def test_a_star_leaves_out_elements_and_columns(ask: Ask) -> None:
    table = "'gh.zion' AS g, g.payload.commits AS c"
    whole = ask(f"SELECT * FROM {table} LIMIT 3")
    (actual, *_) = ask(f"SELECT * EXCLUDE (payload, type) FROM {table} LIMIT 3")
    assert actual == {k: v for k, v in whole[0].items() if k not in {"payload", "type"}}
    assert "c" in actual
    assert ask("SELECT * EXCLUDE (a) FROM (SELECT 1 AS a, 2 AS b) AS x") == [{"b": 2}]


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("SELECT * EXCLUDE (typ) FROM 'gh.zion'", b'there is no column "typ" to exclude'),
        ("SELECT * EXCLUDE () FROM 'gh.zion'", b"a name is expected, not ')'"),
        ("SELECT * EXCLUDE (a) FROM (SELECT 1 AS a)", b"EXCLUDE leaves no column"),
        ("SELECT * EXCLUDE (id)", b"there is no column"),
        ("DESCRIBE (SELECT 1)", b"DESCRIBE takes a table"),
        ("DESCRIBE 'gh.zion' WHERE TRUE", b"WHERE cannot stand here"),
        ("SUMMARIZE (SELECT 1)", b"SUMMARIZE takes a table"),
        ("SUMMARIZE 'gh.zion' LIMIT 1", b"LIMIT cannot stand here"),
    ],
)
def test_what_cannot_be_left_out_or_described(
    run: Run, tmp_path: Path, query: str, error: bytes
) -> None:
    sdb.pack([SAMPLE], tmp_path / "gh.zion")
    done = run("query", query)
    assert (done.returncode, done.stdout) == (2, b"")
    assert error in done.stderr


@pytest.mark.parametrize("table", ["'gh.zion'", "gh", "read_file('gh.zion')", '"gh.zion"'])
def test_describe_lists_what_fields_does(ask: Ask, run: Run, table: str) -> None:
    """Issue 16, 3: the same code."""
    fields = json.loads(run("fields", "--json", "gh.zion").stdout)["fields"]
    expected = [
        {"field": field["name"], "types": ", ".join(field["types"]), "rows": field["rows"]}
        for field in fields
    ]
    assert len(expected) > 600
    assert ask(f"DESCRIBE {table}") == expected
    assert ask(f"describe {table}", "--fmt", "json") == expected


@pytest.mark.parametrize("table", ["'gh.zion'", "gh", "read_file('*.zion')"])
def test_summarize_tells_what_the_statistics_of_fields_do(ask: Ask, run: Run, table: str) -> None:
    """Issue 16, 3: the same code, also of several files."""
    names = ["ct.zion", "gh.zion"] if "*" in table else ["gh.zion"]
    fields = json.loads(run("fields", "--stats", "--json", *names).stdout)["fields"]
    rows = ask(f"SUMMARIZE {table}")
    assert len(rows) == len(fields) > 600
    same = ("rows", "values", "distinct", "distinct_exact", "uncounted")
    for row, item in zip(rows, fields, strict=True):
        assert (row["field"], row["types"]) == (item["name"], ", ".join(item["types"]))
        assert row["null_share"] == pytest.approx(item["nulls"] / item["values"])
        for name in (*same, "decompressed_bytes", "compressed_bytes"):
            assert row[name] == item[name], name
        if len(item["ranges"]) < 2:
            bounds = item["ranges"][0] if item["ranges"] else {"min": None, "max": None}
            assert (row["min"], row["max"]) == (bounds["min"], bounds["max"])
        top = item["frequent"][0] if item["frequent"] else {"value": None, "count": None}
        assert (row["most_frequent"], row["frequency"]) == (top["value"], top["count"])


def test_summarize_compares_values_of_all_types(run: Run, tmp_path: Path) -> None:
    big = 2**64 - 1
    values = [7, 2.5, 1.5, "b", None, True, big]
    (tmp_path / "a.json").write_text("".join(json.dumps({"f": value, "n": 7}) for value in values))
    (tmp_path / "b.json").write_text('{"n": 2.5}{"n": 1.5}{"f": "2020-01-02T00:00:00Z"}')
    sdb.pack([tmp_path / "a.json", tmp_path / "b.json"], tmp_path / "m.zion")
    done = run("query", "summarize m")
    assert (done.returncode, done.stderr) == (0, b"")
    mixed, numbers = map(json.loads, done.stdout.splitlines())
    assert (mixed["min"], mixed["max"], mixed["null_share"]) == (1.5, "b", 1 / 8)
    assert (numbers["min"], numbers["max"], numbers["most_frequent"]) == (1.5, 7, 7)
    (tmp_path / "t.json").write_text(f'{{"t": "2020-01-02T00:00:00Z"}}{{"t": {big}}}')
    with sdb.sql("SUMMARIZE 't.json'", root=str(tmp_path)) as result:
        (row,) = result
        assert (row["min"], row["max"]) == (big, datetime(2020, 1, 2, tzinfo=UTC))
        assert result.to_arrow()["distinct"].to_pylist() == [2]


@pytest.mark.parametrize("word", ["DESCRIBE", "SUMMARIZE"])
def test_no_times_choose_what_all_rows_are_told_of(run: Run, tmp_path: Path, word: str) -> None:
    sdb.pack([SAMPLE], tmp_path / "gh.zion")
    done = run("query", f"{word} gh", "--since", "1h")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"take all rows: leave out since and until" in done.stderr


def test_summarize_of_what_is_damaged_says_so(run: Run, tmp_path: Path) -> None:
    sdb.pack([SAMPLE], tmp_path / "gh.zion")
    data = bytearray((tmp_path / "gh.zion").read_bytes())
    data[100:200] = bytes(100)
    (tmp_path / "gh.zion").write_bytes(data)
    done = run("query", "SUMMARIZE gh", "-o", "out.csv")
    assert done.returncode == run("fields", "--stats", "gh.zion").returncode != 0
    assert done.stderr.count(b"\n") <= 2
    assert b"gh.zion" in done.stderr
    assert not (tmp_path / "out.csv").exists()


def test_a_summary_tells_what_it_reads(screen: Screen, run: Run, tmp_path: Path) -> None:
    sdb.pack([SAMPLE], tmp_path / "gh.zion")
    with sdb.open(tmp_path / "gh.zion") as pack:
        size = pack.trailer.decompressed_bytes
    done = run("query", "-v", "SUMMARIZE gh")
    assert done.stderr.decode().startswith(f"{size} bytes (")
    assert b"1 of 1 blocks, 1 of 1 files" in done.stderr
    assert b"total: 1 of 1 blocks" in run("query", "--explain", "SUMMARIZE gh").stdout
    code, text = screen("query", "--progress", "off", "SUMMARIZE gh", columns=40)
    assert code == 0
    *table, more, rows = text.splitlines()
    assert max(map(len, table)) <= 40
    assert "more columns: " in more
    assert rows.startswith(f"({len(table) - 2} of ")


def test_a_summary_ends_soon_when_it_is_interrupted(tmp_path: Path) -> None:
    (tmp_path / "big.json").write_bytes(gzip.decompress(SAMPLE.read_bytes()) * 120)
    sdb.pack([tmp_path / "big.json"], tmp_path / "big.zion")
    command = [*COMMAND, "query", "-j1", "-o", "out.csv", "SUMMARIZE big"]
    with subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, env=environment()
    ) as process:
        time.sleep(0.6)
        process.send_signal(signal.SIGINT)
        start = time.monotonic()
        _, reported = process.communicate(timeout=20)
    assert (process.returncode, reported) == (130, b"")
    assert time.monotonic() - start < soon(5)
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize(
    ("test", "finds"),
    [("errorCode IS NULL", True), ("errorCode = NULL", False), ("NULL = errorCode", False)],
)
def test_absent_fields_are_null(run: Run, tmp_path: Path, test: str, finds: bool) -> None:
    sdb.pack([ROOT / "testdata/cloudtrail_sneller.json.gz"], tmp_path / "ct.zion")
    done = run("query", f"SELECT COUNT(*) AS n FROM ct WHERE {test}")
    assert (done.returncode, done.stderr) == (0, b"")
    (absent,) = map(json.loads, run("query", _COUNTS).stdout.splitlines())
    assert absent["n"] > 0
    assert json.loads(done.stdout) == {"n": absent["n"] if finds else 0}


_COUNTS = "SELECT COUNT(*) FILTER (WHERE errorCode IS MISSING) AS n, COUNT(*) AS rows FROM ct"


def test_nothing_equals_null(run: Run, tmp_path: Path) -> None:
    (tmp_path / "n.json").write_text('{"a": 1, "b": null}{"a": 2}')
    sdb.pack([tmp_path / "n.json"], tmp_path / "n.zion")
    for test, rows in (("a IS NULL", 0), ("a = NULL", 0), ("b = NULL", 0), ("b IS NULL", 2)):
        done = run("query", f"SELECT a FROM n WHERE {test}")
        assert (done.stdout.count(b"\n"), done.stderr) == (rows, b"")


def test_rows_tell_their_file_and_number(ask: Ask) -> None:
    both = "'gh.zion' ++ 'ct.zion'"
    counts = ask(f"SELECT _file, COUNT(*) AS n, MAX(_row) AS m FROM {both} GROUP BY 1 ORDER BY 1")
    assert counts == [{"_file": f"{name}.zion", "n": 1000, "m": 999} for name in ("ct", "gh")]
    ids = [row["id"] for row in ask("SELECT id FROM 'gh.zion'")]
    actual = ask("SELECT id, _row FROM 'gh.zion' WHERE type = 'ForkEvent' ORDER BY created_at DESC")
    assert actual
    assert [row["id"] for row in actual] == [ids[row["_row"]] for row in actual]
    assert "_row" not in ask("SELECT * FROM 'gh.zion' LIMIT 1")[0]


def test_a_negation_of_a_null_test_takes_values_alone(run: Run, tmp_path: Path) -> None:
    (tmp_path / "n.json").write_text('{"a": 1, "b": 5}{"a": 2, "b": null}{"a": 3}')
    sdb.pack([tmp_path / "n.json"], tmp_path / "n.zion")
    for test, rows in (
        ("NOT (b IS NULL)", [1]),
        ("NOT b IS NULL AND a > 1", []),
        ("b IS NOT NULL", [1]),
        ("b IS NOT MISSING", [1, 2]),
        ("NOT (a IS NULL)", [1, 2, 3]),
    ):
        done = run("query", f"SELECT a FROM n WHERE {test}")
        assert [json.loads(line)["a"] for line in done.stdout.splitlines()] == rows
        assert done.stderr == b""


def test_tables_are_read_and_told_once(run: Run, tmp_path: Path) -> None:
    """A look at what a condition compares, before another way is taken, is no other table."""
    sdb.pack([SAMPLE], tmp_path / "gh.zion")
    query = "SELECT UPPER(type) AS u FROM gh WHERE created_at > '2015-01-01' AND type <> 5 LIMIT 1"
    done = run("query", "-v", query)
    assert b"1 of 1 blocks, 1 of 1 files" in done.stderr
    assert b"total: 1 of 1 blocks" in run("query", "--explain", query).stdout
    late = run(
        "query", "SELECT UPPER(type) AS u FROM gh WHERE id > '2015-01-01' AND created_at > 5"
    )
    assert late.stderr.count(b"warning: created_at has timestamps") == 1
    twice = "SELECT a.id FROM gh a JOIN gh b ON a.id = b.id WHERE a._row < 2 AND b._row < 1"
    assert b"2 of 2 blocks, 2 of 2 files" in run("query", "-v", twice).stderr
