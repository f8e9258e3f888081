"""SQL as users of other engines type it, through the real command line, on real events."""

from __future__ import annotations

import json
import statistics
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from tests.cli.conftest import ROOT, SAMPLE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Run

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
            "UPPER(type) AS type, SUM(id) AS n FROM gh GROUP BY 1 HAVING COUNT(*) > 3 ORDER BY 1",
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
        {"g": "b", "a": [None, "t"], "o": "t", "m": None, "s": "x"},
    ]
    (row,) = ask("SELECT ARRAY_AGG(w) AS w, MODE(w) AS m, SIZE(ARRAY_AGG(v)) AS n FROM 'v.zion'")
    assert row == {"w": [rows[0]["w"]], "m": rows[0]["w"], "n": 5}
    (row,) = ask(
        "SELECT ARRAY_AGG(g ORDER BY s, v) AS g, STRING_AGG(DISTINCT s, '') AS s FROM 'v.zion'"
    )
    assert (row["g"][0], row["g"][3], sorted(row["g"][4:])) == ("b", "a", ["a", "b"])
    assert row["s"] == "xy"


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
        ("CONTAINS(type, 5)", b"not a string"),
        ("REGEXP_EXTRACT(type, 'a', 1)", b"there is no group 1, of 0"),
        ("REGEXP_REPLACE(type, '(', '')", b"missing closing )"),
        ("date_trunc('week', created_at)", b"WEEK(MONDAY)"),
        ("type::blob", b"the types are BOOLEAN"),
        ("STRING_AGG(type, type)", b"constant text"),
        ("ARRAY_AGG(DISTINCT type ORDER BY id)", b"DISTINCT and ORDER BY together"),
        ("QUANTILE(id, 2)", b"range [0.0, 1.0]"),
        ("QUANTILE(id)", b"needs a percentile"),
        ("MEDIAN(*)", b"does not accept '*'"),
        ("INTERVAL '1 day'", b"added to a time"),
        ("created_at + INTERVAL '1 eon'", b"as in INTERVAL '1 day 12 hours'"),
        ("5 + INTERVAL '1 day'", b"not compatible with type timestamp"),
        ("INTERVAL '1 day' - created_at", b"added to a time"),
        ("type, COUNT(*) FROM 'gh.zion' GROUP BY 2 --", b"item 2 is an aggregate"),
        ("type FROM 'gh.zion' ORDER BY 2 --", b"there is no item 2"),
        ("* FROM 'gh.zion' ORDER BY 1 --", b"* has no numbers"),
    ],
)
def test_what_has_no_meaning_is_refused(run: Run, ask: Ask, expr: str, says: bytes) -> None:
    assert ask("SELECT 1 AS one")
    done = run("query", f"SELECT {expr} FROM 'gh.zion'")
    assert (done.returncode, done.stdout) == (2, b"")
    assert says in done.stderr
