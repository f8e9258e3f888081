"""Warnings of fields that no row has: what is proved by trailers, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

import sdb
from sdb.errors import SdbWarning, UsageError
from sdb.records import replace

ROOT = Path(__file__).parents[2]
ZEEK = (
    '{"ts":"2024-05-01T00:00:00Z","id.orig_h":"10.0.0.1","query":"a"}\n'
    '{"ts":"2024-05-01T00:00:01Z","id.orig_h":"10.0.0.2"}\n'
)


@pytest.fixture
def here(run: Any, tmp_path: Path) -> Path:
    (tmp_path / "zeek.json").write_text(ZEEK)
    for name, source in (
        ("zeek", "zeek.json"),
        ("gh", ROOT / "testdata/gh2015_1k.json.gz"),
        ("trail", ROOT / "testdata/cloudtrail_sneller.json.gz"),
    ):
        assert run("pack", "-o", f"{name}.zion", source).returncode == 0
    return tmp_path


ABSENT = [
    ("SELECT tpye FROM 'gh.zion'", 'no row of gh.zion has "tpye"; did you mean type?'),
    (
        "SELECT type FROM 'gh.zion' WHERE creatd_at > `2015-01-01T00:00:00Z`",
        'no row of gh.zion has "creatd_at"; did you mean created_at?',
    ),
    (
        "SELECT id.orig_h, COUNT(*) FROM 'zeek.zion' GROUP BY id.orig_h",
        'no row of zeek.zion has id.orig_h; did you mean "id.orig_h"?',
    ),
    ("SELECT Type FROM 'gh.zion'", 'no row of gh.zion has "Type"; did you mean type?'),
    ("SELECT login FROM 'gh.zion'", 'no row of gh.zion has "login"; did you mean actor.login?'),
    (
        "SELECT payload.type FROM 'gh.zion'",
        "no row of gh.zion has payload.type; did you mean type?",
    ),
    (
        "SELECT COUNT(*) FROM 'gh.zion' t WHERE t.actor.lgin = 'x'",
        "no row of gh.zion has actor.lgin; did you mean actor.login?",
    ),
    (
        "SELECT c.shaa FROM 'gh.zion' t, t.payload.commits AS c",
        "no row of gh.zion has payload.commits[].shaa; did you mean payload.commits[].sha?",
    ),
    (
        "SELECT commits.shaa FROM 'gh.zion' t, t.payload.commits",
        "no row of gh.zion has payload.commits[].shaa; did you mean payload.commits[].sha?",
    ),
    (
        "SELECT eventName FROM (SELECT eventName, evntName FROM 'trail.zion') q",
        'no row of trail.zion has "evntName"; did you mean eventName?',
    ),
    ("SELECT zzzzzz FROM 'gh.zion'", 'no row of gh.zion has "zzzzzz"'),
    (
        "SELECT COUNT(*) FROM 'gh.zion' ++ 'trail.zion' WHERE evntName = 'x'",
        'no row of gh.zion and 1 more has "evntName"; did you mean eventName?',
    ),
]


@pytest.mark.parametrize(("query", "warning"), ABSENT, ids=[query for query, _ in ABSENT])
def test_a_query_warns_once(run: Any, here: Path, query: str, warning: str) -> None:
    result = run("query", "-o", here / "out.json", query)
    assert (result.returncode, result.stderr.decode()) == (0, f"warning: {warning}\n")
    result = run("query", "--strict", query)
    assert (result.returncode, result.stdout) == (2, b"")
    assert result.stderr.decode().replace("\nhint: ", "; ") == f"sdb: {warning}\n"


@pytest.mark.parametrize(
    "query",
    [
        "SELECT n, COUNT(*) FROM (SELECT type AS n FROM 'gh.zion') q GROUP BY n",
        "WITH a AS (SELECT type AS kind FROM 'gh.zion') SELECT kind FROM a",
        "SELECT type AS k, COUNT(*) AS n FROM 'gh.zion' GROUP BY type ORDER BY n, k",
        "SELECT c.sha, c.author.name FROM 'gh.zion' t, t.payload.commits AS c LIMIT 3",
        "SELECT payload.commits[0].sha FROM 'gh.zion' LIMIT 3",
        "SELECT COUNT(*) FROM 'gh.zion' ++ 'trail.zion' WHERE eventName = 'x'",
        "SELECT k, COUNT(*) FROM UNPIVOT 'trail.zion' AS v AT k GROUP BY k",
        "SELECT a.type FROM 'gh.zion' a JOIN 'trail.zion' b ON a.id = b.eventID",
        "SELECT \"id.orig_h\", query FROM 'zeek.zion'",
        "SELECT type FROM 'gh.zion' UNION ALL SELECT eventName AS type FROM 'trail.zion'",
        (
            "SELECT x.type FROM 'gh.zion' x WHERE EXISTS "
            "(SELECT y.id FROM 'gh.zion' y WHERE y.id = x.id AND y.actor.login = x.actor.login)"
        ),
    ],
)
@pytest.mark.usefixtures("here")
def test_what_is_there_or_means_something_else_is_no_warning(run: Any, query: str) -> None:
    result = run("query", "--fmt", "json", query)
    assert (result.returncode, result.stderr) == (0, b"")


def test_what_is_not_proved_is_not_said(run: Any, here: Path) -> None:
    path = here / "gh.zion"
    with sdb.open(path) as pack:
        trailer = pack.trailer
    summary = trailer.sparse.summary
    assert summary is not None
    for known in (replace(summary, complete=False), None):
        sparse = replace(trailer.sparse, summary=known)
        path.write_bytes(
            path.read_bytes()[: trailer.offset] + replace(trailer, sparse=sparse).encode()
        )
        result = run("query", "SELECT tpye FROM 'gh.zion'")
        assert (result.returncode, result.stderr) == (0, b"")


@pytest.mark.parametrize(
    "words",
    [
        ["head"],
        ["tail"],
        ["unpack"],
        ["unpack", "--fmt", "csv"],
        ["unpack", "--fmt", "arrow"],
        ["head", "--where", "id <> 'x'"],
        ["head", "--where", "id <> 'x'", "--fmt", "csv"],
        ["grep", "."],
        ["grep", "-c", "."],
        ["grep", "-l", "."],
    ],
)
@pytest.mark.usefixtures("here")
def test_fields_and_times_of_rows(run: Any, words: list[str]) -> None:
    result = run(*words, "--fields", "tpye,actor.login,id", "gh.zion")
    assert result.returncode == 0
    assert result.stderr.decode().splitlines() == [
        'warning: no row of gh.zion has "tpye"; did you mean type?',
        'warning: no row of gh.zion has "actor.login"; did you mean actor?',
    ]
    result = run(*words, "--since", "2015-01-01", "--time-field", "creatd_at", "gh.zion")
    assert b'no row of gh.zion has "creatd_at"; did you mean created_at?' in result.stderr
    assert run(*words, "--strict", "--fields", "tpye", "gh.zion").returncode == 2
    assert run(*words, "--strict", "--fields", "type", "gh.zion").returncode == 0


@pytest.mark.usefixtures("here")
def test_time_fields_of_what_is_packed(run: Any) -> None:
    result = run("pack", "-o", "new.zion", "--time-field", "tss", "zeek.json")
    assert result.returncode == 0
    assert result.stderr == b'warning: no row of new.zion has "tss"; did you mean ts?\n'
    result = run("append", "--time-field", "tss", "new.zion", "zeek.json")
    assert result.returncode == 0
    assert b'no row of new.zion has "tss"' in result.stderr


@pytest.mark.filterwarnings("always::sdb.errors.SdbWarning")
def test_python_warns_and_is_strict_when_told(here: Path) -> None:
    path = here / "gh.zion"
    with pytest.warns(SdbWarning, match="did you mean type") as caught:
        sdb.sql(f"SELECT tpye FROM '{path}'").close()
    assert [Path(item.filename) for item in caught] == [Path(__file__)]
    with pytest.raises(UsageError, match="no row of"):
        sdb.sql(f"SELECT tpye FROM '{path}'", strict=True)
    with sdb.open(path) as pack, pytest.warns(SdbWarning, match="did you mean type"):
        list(pack.rows(fields=["tpye"], limit=1))
    with sdb.open(path) as pack:
        for read in (
            lambda: pack.to_arrow(fields=["tpye"]),
            lambda: list(pack.grep("x", fields=["tpye"])),
            lambda: list(sdb.grep("x", path, fields=["tpye"])),
            lambda: sdb.register(duckdb.connect(), "t", str(path), fields=["tpye"]).close(),
        ):
            with pytest.warns(SdbWarning, match="did you mean type"):
                read()
        with pytest.raises(UsageError, match="no row of"):
            pack.grep("x", fields=["tpye"], strict=True)


@pytest.mark.usefixtures("here")
def test_grep_of_several_files_warns_of_what_none_has(run: Any) -> None:
    result = run("grep", "-c", "--fields", "eventName,evntName,type", "x", "gh.zion", "trail.zion")
    expected = 'warning: no row of gh.zion and 1 more has "evntName"; did you mean eventName?\n'
    assert result.stderr.decode() == expected


@pytest.mark.usefixtures("here")
def test_aliases_stand_in_where_for_what_no_row_has(run: Any) -> None:
    result = run("query", "SELECT type AS kind FROM 'gh.zion' WHERE kind = 'PushEvent'")
    assert (result.returncode, result.stderr) == (0, b"")
    assert set(result.stdout.splitlines()) == {b'{"kind": "PushEvent"}'}
    for fine in (
        "SELECT type AS kind FROM 'gh.zion' GROUP BY type HAVING kind = 'PushEvent'",
        "SELECT actor AS type FROM 'gh.zion' WHERE type = 'PushEvent' LIMIT 1",
        "SELECT type AS k, (SELECT COUNT(*) FROM 'zeek.zion' WHERE k = 'x') AS n FROM 'gh.zion'",
        "SELECT n FROM (SELECT type AS n FROM 'gh.zion') WHERE n = 'PushEvent' LIMIT 1",
    ):
        done = run("query", fine)
        assert (done.returncode, done.stderr) == (0, b""), fine
