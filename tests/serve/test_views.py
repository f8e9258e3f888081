"""Views over HTTP: tags, and rights that end at the view."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import sdb
from sdb.table.catalog.root import table_root
from sdb.table.catalog.storedqueries import StoredQuery, param, put

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.serve.conftest import Server

COUNT = "SELECT COUNT(*) AS n FROM web.pushes"
ALL_VERSIONS = (
    "SELECT table_name AS x FROM system.table_versions",
    "SELECT table_name AS x FROM system.table_partitions",
    'SELECT "table" AS x FROM sdb.table_packfiles()',
)
MAKE = "CREATE VIEW web.pushes AS SELECT actor.login AS login, id FROM web.gha"


def rows(answer: Any) -> list[Any]:
    import json

    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines()]


def tokens(lake: Path, run: Callable[..., Any], **rights: str) -> dict[str, dict[str, str]]:
    """Make tokens in a file beside the lake; return the headers of each."""
    made = {}
    for name, words in rights.items():
        options = [option for right in words.split() for option in ("--can", right)]
        done = run("token", "create", name, *options, "--tokens", str(lake.parent / "tokens"))
        assert done.returncode == 0, done.stderr
        made[name] = {"authorization": f"Bearer {done.stdout.decode().strip()}"}
    return made


def test_a_tag_is_of_the_text_and_of_the_tables_below(
    serve: Callable[..., Server], lake: Path
) -> None:
    db = sdb.connect(lake)
    db.execute(f"{MAKE} WHERE type = 'PushEvent'")
    server = serve()
    first = server.query(COUNT)
    assert rows(first) == [{"n": 596}]
    assert first.headers["sdb-versions"] == "web.gha@1, web.pushes@1"
    tag = {"if-none-match": first.headers["etag"]}
    assert [server.query(COUNT, tag).status_code for _ in range(2)] == [304, 304]
    db.execute("CREATE OR REPLACE VIEW web.pushes AS SELECT id FROM web.gha WHERE type <> 'x'")
    second = server.query(COUNT, tag)
    assert rows(second) == [{"n": 1000}]
    tag = {"if-none-match": second.headers["etag"]}
    assert server.query(COUNT, tag).status_code == 304
    db.execute("DELETE FROM web.gha WHERE type = 'WatchEvent'")
    assert rows(server.query(COUNT, tag)) == [{"n": 926}]
    db.execute("DROP VIEW web.pushes")
    assert server.query(COUNT, tag).status_code == 404
    db.create("web.pushes", "in/*.json")
    db.append("web.pushes", [{"n": 1}])
    assert rows(server.query(COUNT, tag)) == [{"n": 1}]


def test_a_view_that_asks_for_the_present_has_no_tag(
    serve: Callable[..., Server], lake: Path
) -> None:
    sdb.execute(f"{MAKE} WHERE created_at < UTCNOW()", root=lake)
    sdb.execute("CREATE VIEW web.old AS SELECT id FROM web.gha@1", root=lake)
    server = serve()
    answer = server.query(COUNT)
    assert "etag" not in answer.headers
    assert "present" in answer.headers["sdb-no-tag"]
    assert "etag" in server.query(COUNT, now="2026-01-01T00:00Z").headers
    # Its tables are pinned by number, its text is not.
    assert "immutable" not in server.query("SELECT * FROM web.old").headers["cache-control"]


def test_a_right_to_a_view_ends_at_the_view(
    serve: Callable[..., Server], lake: Path, run: Callable[..., Any]
) -> None:
    db = sdb.connect(lake)
    db.execute("CREATE VIEW logs.below AS SELECT n FROM logs.app WHERE n < 5")
    db.execute("CREATE VIEW web.shown AS SELECT n FROM logs.below")
    tokens_ = tokens(lake, run, some="read:web.shown", all="read:*.*")
    server = serve("--tokens", str(lake.parent / "tokens"))
    reader, everything = tokens_["some"], tokens_["all"]
    shown = server.query("SELECT COUNT(*) AS n FROM web.shown", reader)
    assert rows(shown) == [{"n": 5}]
    assert shown.headers["sdb-versions"] == "web.shown@1"
    assert "logs" not in str(shown.headers)
    for text in (
        "SELECT * FROM logs.app",
        "SELECT * FROM logs.below",
        "SELECT * FROM web.shown, logs.app",
        "SELECT * FROM web.shown WHERE n IN (SELECT n FROM logs.app)",
        'SELECT * FROM web.shown, TABLE_GLOB(logs."*")',
        "SELECT * FROM 'logs.app' ++ web.shown",
        "SELECT * FROM sdb.versions('logs.app')",
        "WITH v AS (SELECT * FROM web.shown) SELECT * FROM v, logs.below",
    ):
        hidden = server.query(text, reader)
        assert hidden.status_code in {404, 501}, (text, hidden.text)
        assert rows(server.query(text, everything)) or "sdb." in text
    refused = server.query("SELECT * FROM sdb.packfiles('web.shown')", reader)
    assert (refused.status_code, str(lake) in refused.text) == (501, False)
    explained = server.query("EXPLAIN SELECT * FROM web.shown", reader)
    assert explained.status_code == 403
    assert "logs" not in explained.text
    assert server.query("EXPLAIN SELECT * FROM web.shown", everything).status_code == 200
    names = rows(server.query("SELECT * FROM sdb.tables", reader))
    assert [(name["table"], name["kind"], name["query"]) for name in names] == [
        ("shown", "view", None)
    ]
    for table, column in (
        ("tables", "table_name"),
        ("views", "table_name"),
        ("schemata", "schema_name"),
        ("columns", "table_name"),
    ):
        text = f"SELECT DISTINCT {column} AS name FROM information_schema.{table}"
        answer = server.query(text, reader)
        known = {"columns": [], "schemata": ["web"]}.get(table, ["shown"])
        assert [row["name"] for row in rows(answer)] == known
        assert "logs" not in answer.text + str(answer.headers)
    for text in ("SELECT view_definition AS x FROM information_schema.views", *ALL_VERSIONS):
        answer = server.query(text, reader)
        assert {row["x"] for row in rows(answer)} <= {None}
        assert rows(server.query(text, everything))
    listed = server.get("/v1/views", headers=reader).json()["views"]
    assert [(view["name"], "text" in view) for view in listed] == [("web.shown", False)]
    assert server.get("/v1/views/web.shown", headers=reader).json()["version"] == 1
    assert server.get("/v1/views/logs.below", headers=reader).status_code == 404
    db.execute("DROP TABLE logs.app")
    gone = server.query("SELECT * FROM web.shown", reader)
    assert gone.status_code == 404
    assert "logs.app" not in gone.text
    assert "logs.app" in server.query("SELECT * FROM web.shown", everything).text


def test_a_view_shows_no_more_than_its_maker_may_read(
    serve: Callable[..., Server], lake: Path, run: Callable[..., Any]
) -> None:
    some = tokens(lake, run, maker="write:web.*", admin="admin")
    server = serve("--tokens", str(lake.parent / "tokens"))

    def exec_(text: str, who: str) -> Any:
        return server.post("/v1/exec", json={"sql": text}, headers=some[who])

    for text in (
        "CREATE VIEW web.v AS SELECT * FROM logs.app",
        "CREATE VIEW web.v AS SELECT 1 AS x FROM web.gha WHERE id IN (SELECT n FROM logs.app)",
        "CREATE VIEW web.v AS WITH web AS (SELECT * FROM logs.app) SELECT * FROM web",
        "CREATE VIEW logs.v AS SELECT * FROM web.gha",
        "DROP VIEW logs.v",
    ):
        assert exec_(text, "maker").status_code == 404, text
    assert exec_("CREATE VIEW web.v AS SELECT * FROM '/etc/passwd'", "maker").status_code == 404
    made = exec_(f"{MAKE} WHERE type = 'PushEvent'", "maker")
    assert made.json()["transactions"][0]["version"] == 1
    assert rows(server.query(COUNT, some["maker"])) == [{"n": 596}]
    assert server.get("/v1/views/web.pushes", headers=some["maker"]).json()["text"]
    assert exec_("CREATE VIEW web.p2 AS SELECT * FROM web.pushes", "maker").status_code == 200
    assert exec_("INSERT INTO web.pushes VALUES ({'a': 1})", "maker").status_code == 501
    assert exec_("CREATE TABLE web.pushes", "maker").status_code == 409
    assert exec_("DROP VIEW web.pushes", "maker").status_code == 200


def test_a_right_to_a_view_or_query_tells_nothing_of_what_is_below(
    serve: Callable[..., Server], lake: Path, run: Callable[..., Any]
) -> None:
    db = sdb.connect(lake)
    times = [{"n": n, "t": datetime(2026, 1, 1 + n, tzinfo=UTC), "s": "x"} for n in range(9)]
    db.append("logs.app", times)
    db.execute(
        "CREATE VIEW web.shown AS SELECT n, LOWER(s) AS s FROM logs.app WHERE n > 'a' OR n < 5"
    )
    db.execute("CREATE VIEW web.timed AS SELECT t, n FROM logs.app")
    asked = StoredQuery("asked", "SELECT n + $x AS n FROM logs.app", (param("x:integer"),))
    put(table_root(str(lake)), asked)
    tokens_ = tokens(lake, run, some="read:web.shown read:web.timed query:asked", all="admin")
    server = serve("--tokens", str(lake.parent / "tokens"))
    reader, everything = tokens_["some"], tokens_["all"]
    # A period is of the columns that the view has.
    for more in ({}, {"time_field": "t"}, {"time_field": "absent"}):
        answer = server.query("SELECT * FROM web.shown", reader, since="2026-01-03", **more)
        assert answer.status_code == 400, answer.text
        assert "logs" not in answer.text
    timed = server.query("SELECT n FROM web.timed", reader, since="2026-01-08")
    assert [row["n"] for row in rows(timed)] == [7, 8]
    # Which blocks can have a value is a fact of all rows below, and so are notes on their types.
    answered = {}
    for who, headers in (("some", reader), ("all", everything)):
        answers = [
            server.query("SELECT * FROM web.shown WHERE n = 8", headers, format="json"),
            server.query("SELECT x FROM web.timed", headers, since="2026-01-01"),
            server.query("SELECT s + 1 AS s FROM web.shown", headers, format="json"),
            server.get("/v1/queries/asked.json", params={"x": 1}, headers=headers),
        ]
        answered[who] = "".join(f"{each.text} {each.headers}" for each in answers)
        assert str(lake) not in answered[who]
    assert "logs" not in answered["some"]
    assert "sdb-blocks" not in answered["some"]
    assert "logs.app@2" in answered["all"]
    assert "sdb-blocks" in answered["all"]
    period = {"x": 1, "since": "2026-01-01", "time_field": "s"}
    assert server.get("/v1/queries/asked", params=period, headers=reader).status_code == 403
    assert server.get("/v1/queries/asked", params=period, headers=everything).status_code == 200
    # Nor do errors name it, or show the text of a query that its reader cannot read.
    db.execute("DROP TABLE logs.app")
    for path in ("/v1/query?sql=SELECT+n+FROM+web.shown", "/v1/queries/asked?x=1"):
        gone = server.get(path, headers=reader)
        assert (gone.status_code, "logs" in gone.text, "SELECT" in gone.text) == (404, False, False)


def test_headers_do_not_tell_where_the_root_is(serve: Callable[..., Server], lake: Path) -> None:
    (lake / "db/web/linked").symlink_to(lake.parent)
    server = serve("--write")
    misspelt = server.query("SELECT n FROM logs.app", since="2015-01-01", time_field="absent")
    assert "absent" in misspelt.headers["sdb-warnings"]
    answers = [
        misspelt,
        server.query('SELECT COUNT(*) AS n FROM TABLE_GLOB("web.*")'),
        server.query("SELECT * FROM sdb.tables"),
        server.post("/v1/exec", json={"sql": "DELETE FROM web.gha WHERE absent = 1"}),
        server.query("SELECT * FROM web.linked"),
    ]
    assert not [each for each in answers if str(lake) in f"{each.text} {each.headers}"]


SECRETS = (
    *("hoard", "ledger", "salary", "carol", "branchy", "2,003", "2003", "1987", ".zion"),
    "inner_view",
)
"""Names, values, counts, times and keys of what views read, and do not show."""
ASKED = (
    *("SELECT * FROM {} LIMIT 2", "SELECT nope FROM {}", "SELECT _file, _row FROM {}"),
    *("SELECT v._file FROM {} AS v", "SELECT COUNT(*) AS c FROM {} WHERE salar = 1"),
    *("SELECT ledger.n FROM {}", "SELECT COUNT(*) AS c FROM {} WHERE who < '2020-01-01'"),
    *("SELECT CAST(who AS INTEGER) AS x FROM {}", "SELECT who + 1 AS x FROM {} WHERE 1 / n > 0"),
    *("DESCRIBE {}", "SUMMARIZE {}", "EXPLAIN SELECT * FROM {}", "SHOW COLUMNS FROM {}"),
    *(
        "SELECT * FROM sdb.packfiles('{}')",
        "SELECT * FROM sdb.versions('{}')",
        "SELECT * FROM {}@9",
    ),
)
MEMBERS: tuple[dict[str, str], ...] = (
    *({"at": "99"}, {"at": "nope"}, {"at": "2020-01-01"}, {"since": "2000-01-01"}),
    *({"since": "1980-01-01", "time_field": "t"}, {"since": "1980-01-01", "time_field": "salary"}),
)
RESOURCES = (
    *("", "/versions", "/versions/1", "/diff?from=1", "/fields", "/inputs", "/packfiles?where=n>1"),
    *("/timeline", "/hits", "/facets", "/facets?fields=salary", "/tail", "/changes", "/branches"),
)
VIEWS = {
    "narrow": "SELECT who, n FROM hoard.ledger WHERE who = 'ann'",
    "whole": "SELECT * EXCLUDE (salary, t) FROM hoard.ledger WHERE who = 'ann'",
    "merged": "SELECT * FROM hoard.calm",
    "above": "SELECT who, n FROM hoard.inner_view",
    "empty": "SELECT n FROM hoard.ledger WHERE who = 'nobody'",
}


def told(answer: Any) -> list[str]:
    """Return the secrets that an answer and its headers tell."""
    answer.headers.pop("etag", None)
    answer.headers.pop("sdb-query-id", None)
    text = answer.text + str(answer.headers)
    return [secret for secret in SECRETS if secret in text]


def test_views_tell_nothing_of_what_they_hide(
    serve: Callable[..., Server], lake: Path, run: Callable[..., Any]
) -> None:
    db = sdb.connect(lake)
    db.execute("CREATE TABLE hoard.ledger; CREATE TABLE hoard.calm")
    day = "1987-01-01T00:00:00Z"
    hidden = [{"who": "carol", "n": "x", "salary": f"s{n}", "t": day} for n in range(2003)]
    db.append("hoard.ledger", [*hidden, {"who": "ann", "n": 1, "salary": "low", "t": day}])
    db.append("hoard.calm", [{"who": "ann", "n": 1}])
    db.table("hoard.ledger").branch("branchy")
    db.execute("CREATE VIEW hoard.inner_view AS SELECT who, n FROM hoard.ledger WHERE n = 1")
    for name, text in VIEWS.items():
        db.execute(f"CREATE VIEW web.{name} AS {text}")
    some = tokens(lake, run, reader="read:web.*", writer="write:web.* write:hoard.ledg2*")
    server = serve("--tokens", str(lake.parent / "tokens"))
    reader, writer = some["reader"], some["writer"]
    for view in (f"web.{name}" for name in VIEWS):
        for text in ASKED:
            said = told(server.query(text.format(view), reader, format="json"))
            assert not [secret for secret in said if secret not in text], (view, text)
        for members in MEMBERS:
            said = told(server.query(f"SELECT COUNT(*) AS c FROM {view}", reader, **members))
            assert not [secret for secret in said if secret not in str(members)], (view, members)
        for path in RESOURCES:
            said = told(server.get(f"/v1/tables/{view}{path}", headers=reader))
            assert not [secret for secret in said if secret not in path], (view, path)
        assert not told(server.get(f"/v1/views/{view}", headers=writer))  # not its text either
    for text in (
        *("DELETE FROM {} WHERE n = 1", "DROP TABLE {}", "ALTER TABLE {} ADD COLUMN x INT"),
        *("COMMENT ON TABLE {} IS 'x'", "VACUUM {}", "UNDROP TABLE {}"),
    ):  # a name near to that of a table which the writer may not read
        sql = {"sql": text.format("hoard.ledg2er")}
        refused = server.post("/v1/exec", json=sql, headers=writer)
        assert (refused.status_code, "ledger" in refused.text) == (404, False), refused.text
    sql = {"sql": "INSERT INTO web.gha SELECT salar FROM web.whole"}
    assert not told(server.post("/v1/exec", json=sql, headers=writer))


def test_damage_below_a_view_is_told_without_names(
    serve: Callable[..., Server], lake: Path, run: Callable[..., Any]
) -> None:
    db = sdb.connect(lake)
    db.execute("CREATE TABLE hoard.ledger")
    db.append("hoard.ledger", [{"who": "ann", "n": 1, "salary": "low"}])
    for name in ("narrow", "whole"):
        db.execute(f"CREATE VIEW web.{name} AS {VIEWS[name].replace(', t', '')}")
    some = tokens(lake, run, reader="read:web.*", all="read:*.*")
    server = serve("--tokens", str(lake.parent / "tokens"))
    below = lake / "db" / "hoard" / "ledger"
    packfiles = list((below / "data").glob("*.zion"))
    for damaged in (*packfiles, below / "index"):
        damaged.chmod(0o644)
        damaged.write_bytes(damaged.read_bytes()[:40] if damaged.name == "index" else b"nothing")
        for name in ("narrow", "whole"):
            # Parquet is made whole before an answer begins, so that the error is all of it.
            answer = server.query(f"SELECT * FROM web.{name}", some["reader"], format="parquet")
            assert answer.status_code >= 400
            assert not told(answer), answer.text
        answer = server.query("SELECT * FROM web.whole", some["all"], format="parquet")
        assert "ledger" in answer.text


def test_a_tag_does_not_tell_which_blocks_below_a_view_are_read(
    serve: Callable[..., Server], lake: Path, run: Callable[..., Any]
) -> None:
    db = sdb.connect(lake)
    db.execute("CREATE TABLE hoard.ledger")
    day = "2026-01-01T00:00:00Z"
    db.append("hoard.ledger", [{"who": "ann", "t": day}, {"who": "carol", "t": day}])
    db.execute("CREATE VIEW web.narrow AS SELECT t FROM hoard.ledger WHERE who = 'ann'")
    some = tokens(lake, run, reader="read:web.*", all="read:*.*")
    server = serve("--tokens", str(lake.parent / "tokens"))

    def tags(who: str) -> list[str]:
        years = "2020-01-01", "2030-01-01"
        texts = [f"SELECT t FROM web.narrow WHERE t > TIMESTAMP '{year}'" for year in years]
        return [server.query(text, some[who]).headers["etag"] for text in texts]

    before = {who: tags(who) for who in some}
    db.append("hoard.ledger", [{"who": "dora", "t": day}])
    # To the one the tag of what no block can have changes like the other, to all it stays.
    assert not set(tags("reader")) & set(before["reader"])
    assert tags("all")[1] == before["all"][1]
