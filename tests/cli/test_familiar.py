"""SQL as users of other engines type it, through the real command line, on real events."""

from __future__ import annotations

import json
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
    ("expr", "says"),
    [
        ("REPLACE(type)", b"REPLACE expects 3 arguments"),
        ("CONTAINS(type, 5)", b"not a string"),
        ("REGEXP_EXTRACT(type, 'a', 1)", b"there is no group 1, of 0"),
        ("REGEXP_REPLACE(type, '(', '')", b"missing closing )"),
        ("date_trunc('week', created_at)", b"WEEK(MONDAY)"),
        ("type::blob", b"the types are BOOLEAN"),
    ],
)
def test_what_has_no_meaning_is_refused(run: Run, ask: Ask, expr: str, says: bytes) -> None:
    assert ask("SELECT 1 AS one")
    done = run("query", f"SELECT {expr} FROM 'gh.zion'")
    assert (done.returncode, done.stdout) == (2, b"")
    assert says in done.stderr
