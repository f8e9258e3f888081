"""Queries that would answer nothing without a word, on real events: issue 16, section 1."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import sdb
from tests.cli.conftest import SAMPLE

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run

ZEEK = [
    {"ts": 1521911720.6, "id.orig_h": "10.0.0.1", "id.resp_p": 80, "t": "2018-03-24T17:15:20Z"},
    {"ts": 1521911730.6, "id.orig_h": "10.0.0.2", "id.resp_p": 443, "t": "2018-03-24T17:15:30Z"},
    {"ts": 1521911740.6, "id.orig_h": "10.0.0.1", "id.resp_p": 53, "local": True},
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Pack events of GitHub, and connections with the names of Zeek."""
    sdb.pack([SAMPLE], tmp_path / "gh.zion")
    (tmp_path / "zeek.json").write_text("".join(json.dumps(row) + "\n" for row in ZEEK))
    sdb.pack([tmp_path / "zeek.json"], tmp_path / "zeek.zion")
    return tmp_path


@pytest.mark.parametrize(
    ("where", "warning", "better"),
    [
        (
            "ts > '2018-01-01'",
            "ts has numbers and no text in any row",
            "ts > TO_UNIX_EPOCH(TIMESTAMP '2018-01-01T00:00:00Z')",
        ),
        (
            "ts >= TIMESTAMP '2018-01-01'",
            "ts has numbers and no text in any row",
            "ts >= TO_UNIX_EPOCH(TIMESTAMP '2018-01-01T00:00:00Z')",
        ),
        (
            "t > 1521911720",
            "t has timestamps and no number in any row",
            "TO_UNIX_EPOCH(t) > 1521911720",
        ),
        (
            "\"id.resp_p\" IN ('80', '443')",
            '"id.resp_p" has numbers and no text in any row',
            '"id.resp_p" = 80',
        ),
        ("local = 'true'", "local has booleans and no text in any row", "local = TRUE"),
        ("local = 1", "local has booleans and no number in any row", "local = TRUE"),
        (
            '"id.orig_h" > 9',
            '"id.orig_h" has strings and no number in any row',
            "\"id.orig_h\" > '9'",
        ),
    ],
)
def test_a_constant_of_a_type_that_no_row_has(
    run: Run, folder: Path, where: str, warning: str, better: str
) -> None:
    query = f"SELECT * FROM '{folder}/zeek.zion' WHERE "
    done = run("query", query + where)
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.decode() == f"warning: {warning}: compare {better}\n"
    again = run("query", query + better)
    assert again.stderr == b""
    assert bool(again.stdout) is (better != "\"id.orig_h\" > '9'")


@pytest.mark.parametrize(
    "where",
    [
        "created_at > '2015-01-01'",
        "id > '2'",
        "actor.id <> 5 AND NOT id = 6",
        "payload.ref = 'refs/heads/master'",
        "payload.size > 1.5",
        "public",
        "type IN ('PushEvent', 'x')",
    ],
)
def test_what_may_be_true_is_not_warned_of(run: Run, folder: Path, where: str) -> None:
    done = run("query", f"SELECT id FROM '{folder}/gh.zion' WHERE {where}")
    assert done.stdout
    assert done.stderr == b""


@pytest.mark.parametrize(
    ("expression", "warning"),
    [
        ("UPPER(created_at)", "MISSING in every row: created_at has timestamps and no text"),
        ("created_at LIKE '2015%'", "MISSING in every row: created_at has timestamps and no text"),
        ("DATE_TRUNC(DAY, id)", "MISSING in every row: id has strings and no timestamp"),
        ("id + 1", "MISSING in every row: id has strings and no number"),
        ("type || actor.id", "MISSING in every row: actor.id has numbers and no text"),
        ("MIN(type)", "NULL: type has strings and no number or timestamp"),
        ("AVG(id)", "NULL: id has strings and no number"),
        ("LATEST(actor.id)", "NULL: actor.id has numbers and no timestamp"),
    ],
)
def test_an_operand_of_a_type_that_no_row_has(
    run: Run, folder: Path, expression: str, warning: str
) -> None:
    done = run("query", f"SELECT {expression} AS value FROM '{folder}/gh.zion'")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert {row.get("value") for row in rows} == {None}
    assert done.stderr.decode().startswith("warning: ")
    assert done.stderr.decode().endswith(f" is {warning}\n")


@pytest.mark.parametrize(
    "expression",
    [
        "UPPER(payload.ref)",
        "payload.size + 1",
        "created_at + INTERVAL '1 day'",
        "MIN(created_at)",
        "MAX(payload.size)",
        "SIZE(payload.commits)",
        "ROUND(actor.id)",
        "COALESCE(type, 1)",
        "CONCAT(type, id)",
        "ARRAY_AGG(type)",
        "COUNT(DISTINCT type)",
        "TYPE_BIT(type)",
    ],
)
def test_an_operand_of_use_is_not_warned_of(run: Run, folder: Path, expression: str) -> None:
    done = run("query", f"SELECT {expression} AS value FROM '{folder}/gh.zion'")
    assert done.stderr == b""
    assert any(json.loads(line).get("value") is not None for line in done.stdout.splitlines())


@pytest.mark.parametrize(
    "query",
    [
        "SELECT type, (SELECT COUNT(*) FROM read_file('zeek.zion') WHERE uid = type) AS n FROM gh",
        "SELECT type, (SELECT COUNT(*) FROM zeek WHERE ts = actor.id) AS n FROM gh",
        "SELECT g.type, (SELECT COUNT(*) FROM zeek WHERE ts = g.actor.id) AS n FROM gh AS g",
        "SELECT g.type, (SELECT COUNT(*) FROM zeek WHERE ts = g.type) AS n FROM gh AS g",
        "SELECT UPPER(type) AS u, (SELECT COUNT(*) FROM zeek WHERE ts = u) AS n FROM gh",
        "WITH g AS (SELECT * FROM gh) SELECT (SELECT COUNT(*) FROM zeek WHERE ts = id) AS n FROM g",
    ],
)
def test_fields_of_the_row_outside_are_no_fields_that_no_row_has(
    run: Run, folder: Path, query: str
) -> None:
    assert folder.exists()
    done = run("query", "--strict", query.replace("uid", "ts") + " LIMIT 1")
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["n"] == 0


@pytest.mark.parametrize(
    ("query", "warning"),
    [
        (
            "SELECT (SELECT COUNT(*) FROM gh AS g WHERE g.tpye = 'x') AS n",
            'no row of gh.zion has "tpye"; did you mean type?',
        ),
        (
            "SELECT (SELECT tpye FROM gh LIMIT 1) AS n",
            'no row of gh.zion has "tpye"; did you mean type?',
        ),
        (
            "SELECT id FROM gh WHERE type IN (SELECT tpye FROM gh)",
            'no row of gh.zion has "tpye"; did you mean type?',
        ),
        (
            "SELECT COUNT(*) FROM gh WHERE id IN (SELECT local FROM zeek WHERE ts = tpye)",
            'no row of zeek.zion and 1 more has "tpye"; did you mean type?',
        ),
    ],
)
def test_fields_of_sub_queries_that_no_row_has(
    run: Run, folder: Path, query: str, warning: str
) -> None:
    assert folder.exists()
    done = run("query", query)
    assert done.returncode == 0
    assert done.stderr.decode() == f"warning: {warning}\n"
    assert run("query", "--strict", query).returncode == 2
