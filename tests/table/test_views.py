"""Views: a query with a name reads what its text reads."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb import notes
from sdb.errors import (
    AccessError,
    CorruptError,
    ExistsError,
    NotFoundError,
    QueryError,
    SdbWarning,
    UnsupportedError,
    UsageError,
)
from sdb.query.catalog import views as expansion
from sdb.table.catalog.root import table_root
from sdb.table.catalog.views import views
from sdb.table.commit import naming
from sdb.table.commit.views import create_view
from sdb.table.format.index import TableIndex
from sdb.table.format.keys import TableKeys
from sdb.table.format.signature import Keyring
from sdb.table.format.view import MAX_BYTES, MOST_VERSIONS, ViewObject, ViewQuery, ViewVersion
from tests.table.roots import objects, recorded, unpacked

if TYPE_CHECKING:
    from collections.abc import Callable

    from sdb.client.connection import Connection

ROWS = [
    {"a": 1, "type": "x", "l": [{"q": 1}, {"q": 2}], "t": datetime(2026, 1, 1, tzinfo=UTC)},
    {"a": 2, "type": "y", "t": datetime(2026, 1, 2, tzinfo=UTC)},
    {"a": 3, "b": None, "type": "x"},
    {"type": "z", "d": {"e": 5}},
]
TEXTS = (
    "SELECT * FROM web.gha",
    "FROM web.gha -- with a comment",
    "SELECT a, type FROM web.gha WHERE a > 1",
    "SELECT type, COUNT(*) AS a FROM web.gha GROUP BY type",
    "SELECT DISTINCT type, 7 AS a FROM web.gha ORDER BY 1 LIMIT 2",
    "SELECT g.a, x.q, g.type FROM web.gha AS g, g.l AS x",
    """WITH z AS (SELECT a, type FROM web.gha), y AS (SELECT a FROM z)
    SELECT z.a, z.type FROM z JOIN y ON z.a = y.a""",
    "SELECT a, type FROM web.gha UNION ALL SELECT n AS a, 'n' AS type FROM web.other ORDER BY a",
    "SELECT a, type FROM web.gha WHERE a IN (SELECT n FROM web.other)",
    "SELECT a, (SELECT COUNT(*) FROM web.other AS o WHERE o.n < g.a) AS type FROM web.gha AS g",
    """WITH RECURSIVE r AS (SELECT 1 AS a UNION ALL SELECT a + 1 AS a FROM r WHERE a < 3)
    SELECT r.a, 'r' AS type FROM r""",
)
QUERIES = (
    "SELECT * FROM {v}",
    "SELECT a FROM {v} WHERE type = 'x'",
    "SELECT COUNT(*) AS n FROM {v}",
    "SELECT type, MAX(a) AS m FROM {v} GROUP BY type",
    "SELECT v.a, o.n FROM {v} AS v JOIN web.other AS o ON v.a = o.n",
    "SELECT n FROM web.other WHERE n IN (SELECT a FROM {v})",
    "SELECT o.n, (SELECT COUNT(*) FROM {v} AS v WHERE v.a <= o.n) AS k FROM web.other AS o",
    "SELECT a FROM {v} UNION ALL SELECT n AS a FROM web.other",
    "WITH w AS (SELECT a FROM {v}) SELECT x.a, y.a AS b FROM w AS x JOIN w AS y ON x.a = y.a",
    "SELECT a FROM {v} ++ web.other",
    "SELECT l.q FROM {v} AS v, v.l AS l",
)


@pytest.fixture
def db(tmp_path: Path) -> Connection:
    db = sdb.connect(tmp_path / "lake")
    db.execute("CREATE TABLE web.gha; CREATE TABLE web.other")
    db.append("web.gha", ROWS)
    db.append("web.other", [{"n": 1}, {"n": 3}, {"n": 9, "a": 2}])
    return db


def answer(db: Connection, text: str, **options: Any) -> Any:
    with notes.collected():
        try:
            return sorted(map(repr, db.sql(text, **options)))
        except QueryError:
            return QueryError


@pytest.mark.parametrize("text", TEXTS)
def test_a_view_is_as_its_text(db: Connection, text: str) -> None:
    db.execute(f"CREATE VIEW web.v AS {text}")
    db.execute("CREATE VIEW web.w AS SELECT * FROM 'web.v'")
    for number, query in enumerate(QUERIES):
        rest = f", {query[5:]}" if query.startswith("WITH ") else f" {query}"
        named = f"WITH named AS (\n{text}\n){rest.format(v='named')}"
        whole = answer(db, named)
        assert answer(db, query.format(v="web.v")) == whole, query
        assert answer(db, query.format(v="web.w")) == whole, query
        if number < 4:
            whole = answer(db, named, dialect="standard")
            assert answer(db, query.format(v="web.v"), dialect="standard") == whole, query


@pytest.mark.parametrize(
    ("text", "column", "count"),
    [
        ("SELECT * FROM web.gha", "t", 1),
        ("SELECT a, t FROM web.gha", "t", 1),
        ("SELECT g.a, g.t AS at FROM web.gha AS g", "at", 1),
        ("SELECT a, MAX(t) AS last FROM web.gha GROUP BY a", "last", 1),
        ("SELECT a, t FROM web.gha ORDER BY t LIMIT 1", "t", 0),
        ("SELECT g.t, o.n FROM web.gha AS g, web.other AS o", "t", 3),
        ("SELECT a, t FROM web.gha UNION ALL SELECT a, t FROM web.gha", "t", 2),
        ("SELECT {'x': t} AS s FROM web.gha", "s.x", 1),
    ],
)
def test_a_period_is_of_the_columns_of_a_view(
    db: Connection, text: str, column: str, count: int
) -> None:
    db.execute(f"CREATE VIEW web.v AS {text}")
    db.execute("CREATE VIEW web.w AS SELECT * FROM web.v")
    is_obvious = "." not in column and "MAX" not in text
    for name in ("web.v", "web.w"):
        query, times = f"SELECT COUNT(*) AS n FROM {name}", {"since": "2026-01-01T12:00Z"}
        assert list(db.sql(query, **times, time_field=column)) == [{"n": count}]
        if is_obvious:
            assert list(db.sql(query, **times)) == [{"n": count}]


@pytest.mark.parametrize(
    ("text", "field", "says"),
    [
        ("SELECT a FROM web.gha", None, "web.v has no obvious time"),
        ("SELECT a FROM web.gha", "t", "web.v has no column t"),
        ("SELECT a, 1 AS t FROM web.gha", "d.e", "web.v has no column d.e"),
        ("SELECT COUNT(*) AS n FROM web.gha", None, "web.v has no obvious time"),
        ("SELECT * EXCLUDE (t) FROM web.gha", None, "web.v has no obvious time"),
        ("SELECT * EXCLUDE (t) FROM web.gha", "t", "undefined"),
    ],
)
def test_a_period_does_not_look_at_what_a_view_leaves_out(
    db: Connection, text: str, field: str | None, says: str
) -> None:
    db.execute(f"CREATE VIEW web.v AS {text}")
    with pytest.raises(UsageError, match=says):
        db.sql("SELECT * FROM web.v", until="2030-01-01", time_field=field)


def test_names_around_a_view_mean_nothing_in_it(db: Connection) -> None:
    db.execute("CREATE VIEW web.v AS SELECT n FROM web.other")
    first = "SELECT web.a, (SELECT MAX(n) FROM 'web.v') AS m FROM web.gha AS web WHERE web.a = 2"
    assert list(db.sql(first)) == [{"a": 2, "m": 9}]
    db.execute("CREATE VIEW web.k AS SELECT n FROM web.other WHERE k = 7")
    two = "SELECT o.k, (SELECT COUNT(*) FROM web.k) AS c FROM (SELECT 7 AS k) AS o"
    with notes.collected():
        assert list(db.sql(two)) == [{"k": 7, "c": 0}]
    three = "WITH other AS (SELECT 5 AS n) SELECT MAX(n) AS m FROM web.v"
    assert list(db.sql(three)) == [{"m": 9}]


def test_the_name_of_a_view_stands_in_front_of_its_columns(db: Connection) -> None:
    db.execute("CREATE VIEW web.some AS SELECT a, type FROM web.gha WHERE a > 1")
    text = "SELECT some.type, other.n FROM web.some JOIN web.other ON some.a = other.n"
    assert list(db.sql(text)) == [{"type": "x", "n": 3}]
    assert [row["a"] for row in db.sql("SELECT some.a FROM web.some ORDER BY some.a")] == [2, 3]


def test_pruning_works_through_views(db: Connection) -> None:
    for day in range(1, 9):
        db.append("web.gha", [{"a": day, "t": datetime(2026, 2, day, tzinfo=UTC)}])
    db.execute("CREATE VIEW web.v AS SELECT a, t FROM web.gha")
    db.execute("CREATE VIEW web.w AS SELECT * FROM web.v")
    condition = "WHERE t >= TIMESTAMP '2026-02-07'"
    for query, options in (
        (f"SELECT a FROM web.w {condition}", {}),
        ("SELECT a FROM web.w", {"since": "2026-02-07T00:00Z"}),
    ):
        with db.sql(query, **options) as result:
            assert {row["a"] for row in result} == {7, 8}
            assert result.blocks_read == 2


def test_a_version_reads_as_of_its_moment(db: Connection) -> None:
    db.execute("CREATE VIEW web.v AS SELECT COUNT(*) AS n FROM web.gha")
    db.execute("CREATE VIEW web.w AS SELECT n FROM web.v")
    before = datetime.now(UTC)
    db.append("web.gha", ROWS)
    db.execute("CREATE OR REPLACE VIEW web.v AS SELECT COUNT(*) + 100 AS n FROM web.gha")
    db.append("web.gha", ROWS)

    def counted(name: str, **options: Any) -> int:
        ((n,),) = [tuple(row.values()) for row in db.sql(f"SELECT n FROM {name}", **options)]
        return int(n)

    assert counted("web.v") == 112
    assert [counted(f"web.v@{at}") for at in ("1", "2", "-1", "-0")] == [4, 108, 4, 108]
    assert counted(f"'web.v@{before.isoformat()}'") == 4
    assert counted("web.v", at=before.isoformat()) == 4
    assert [counted(f"web.w{at}") for at in ("", "@1")] == [112, 4]
    assert counted("web.v", at="2") == 104  # the tables below, and the newest text
    with pytest.raises(NotFoundError, match="has no version 3"):
        counted("web.v@3")
    with pytest.raises(NotFoundError, match="was not there at"):
        counted("web.v@2020-01-01")
    with pytest.raises(NotFoundError, match="no tags and branches"):
        counted("web.v@main2")
    db.execute("DROP VIEW web.v")
    with pytest.raises(NotFoundError, match=r"web\.w: there is no table web\.v"):
        counted("web.w")


def test_tables_in_a_view_may_have_versions_of_their_own(db: Connection) -> None:
    db.execute("CREATE VIEW web.v AS SELECT COUNT(*) AS n FROM web.gha@2, 'web.other@-0' AS o")
    db.append("web.gha", ROWS)
    assert list(db.sql("SELECT * FROM web.v")) == [{"n": 12}]
    assert list(db.sql("SELECT * FROM web.v@1")) == [{"n": 12}]


@pytest.mark.parametrize(
    ("text", "error", "match"),
    [
        ("SELECT * FROM gha", QueryError, "gha has no database"),
        ("SELECT * FROM 'rows.json.gz'", NotFoundError, "no table"),
        ("SELECT * FROM 'in/rows.json.gz'", UnsupportedError, "a view reads tables and views"),
        ('SELECT * FROM TABLE_GLOB(web."g*")', UnsupportedError, "a view reads tables and views"),
        ("SELECT * FROM sdb.tables", UnsupportedError, "a view reads tables and views"),
        ("SELECT * FROM sdb.blocks('web.gha')", UnsupportedError, "a view reads tables and views"),
        ("SELECT * FROM web.gone", NotFoundError, r"the view web\.n: there is no table web\.gone"),
        ("SELECT * FROM web.n", NotFoundError, "no table"),
        ("SELECT * FROM web.v", QueryError, r"in a circle: web\.u -> web\.v -> web\.u"),
        ("SELECT $a FROM web.gha", QueryError, "no parameters"),
        ("SELECT a / 0 FROM web.gha", QueryError, "division by zero"),
        ("SELECT a INTO web.x FROM web.gha", QueryError, "INTO"),
        ("SELECT a FROM web.gha LIMIT", QueryError, "syntax error"),
        ("DELETE FROM web.gha", QueryError, "SELECT is expected"),
        (f"SELECT '{'x' * 65536}' AS x", UsageError, "the limit is 65,536"),
    ],
)
def test_what_no_view_can_be(db: Connection, text: str, error: type[Exception], match: str) -> None:
    db.execute("CREATE VIEW web.u AS SELECT 1 AS x; CREATE VIEW web.v AS SELECT * FROM web.u")
    name = "OR REPLACE VIEW web.u" if "web.v" in text else "VIEW web.n"
    with pytest.raises(error, match=match):
        db.execute(f"CREATE {name} AS {text}")
    assert [view.newest.version for view in db.views()] == [1, 1]


def test_a_circle_that_two_made_at_once_is_an_error(db: Connection) -> None:
    root = table_root(db.root.location)
    create_view(root, TableKeys("web", "p"), ViewQuery("SELECT * FROM web.q"))
    create_view(root, TableKeys("web", "q"), ViewQuery("SELECT * FROM web.p"))
    with pytest.raises(QueryError, match=r"circle: web\.p -> web\.q -> web\.p"):
        db.sql("SELECT * FROM web.p")


def test_depth_and_number_are_bounded(db: Connection) -> None:
    root = table_root(db.root.location)
    create_view(root, TableKeys("web", "v0"), ViewQuery("SELECT * FROM web.gha"))
    for level in range(1, expansion.MOST_LEVELS + 1):
        query = ViewQuery(f"SELECT * FROM web.v{level - 1}")
        create_view(root, TableKeys("web", f"v{level}"), query)
    deepest = f"web.v{expansion.MOST_LEVELS - 1}"
    assert len(list(db.sql(f"SELECT * FROM {deepest}"))) == len(ROWS)
    with pytest.raises(QueryError, match="more than 16 deep"):
        db.sql(f"SELECT * FROM web.v{expansion.MOST_LEVELS}")
    create_view(root, TableKeys("web", "w0"), ViewQuery("SELECT * FROM web.v0 ++ web.v0"))
    for level in range(1, 9):
        text = f"SELECT * FROM web.w{level - 1} ++ web.w{level - 1}"
        create_view(root, TableKeys("web", f"w{level}"), ViewQuery(text))
    with pytest.raises(QueryError, match="more than 256 views"):
        db.sql("SELECT * FROM web.w8")


def test_tables_and_views_share_their_names(db: Connection) -> None:
    db.execute("CREATE VIEW web.v AS SELECT a FROM web.gha")
    for make in (
        lambda: db.create("web.v", "in/*.json"),
        lambda: db.execute("CREATE TABLE web.v"),
        lambda: db.execute("CREATE TABLE IF NOT EXISTS web.v AS SELECT 1 AS x"),
        lambda: db.execute("CREATE VIEW web.gha AS SELECT 1 AS x"),
        lambda: db.execute("CREATE OR REPLACE VIEW web.gha AS SELECT 1 AS x"),
        lambda: db.execute("CREATE VIEW web.v AS SELECT 1 AS x"),
        lambda: db.table("web.gha").fork("web.v"),
    ):
        with pytest.raises(ExistsError) as caught:
            make()
        assert caught.value.exit_code == 4
    for text in (
        "INSERT INTO web.v VALUES ({'a': 1})",
        "UPDATE web.v SET a = 1",
        "DELETE FROM web.v",
        "TRUNCATE web.v",
        "MERGE INTO web.v USING web.gha AS g ON v.a = g.a WHEN MATCHED THEN DELETE",
        "DROP TABLE web.v",
        "DROP VIEW web.gha",
        "VACUUM web.v",
    ):
        with pytest.raises(UnsupportedError) as refused:
            db.execute(text)
        assert refused.value.hint
    for call in (
        lambda: db.append("web.v", [{"a": 1}]),
        lambda: db.table("web.v"),
    ):
        with pytest.raises(UnsupportedError, match="is a view"):
            call()


def test_a_table_and_a_view_take_turns_under_a_name(db: Connection) -> None:
    db.execute("CREATE TABLE web.n AS SELECT 1 AS x; DROP TABLE web.n")
    db.execute("CREATE VIEW web.n AS SELECT 2 AS x")
    assert list(db.sql("SELECT x FROM web.n")) == [{"x": 2}]
    with pytest.raises(ExistsError, match="is a view"):
        db.execute("UNDROP TABLE web.n")
    db.execute("DROP VIEW web.n")
    db.execute("UNDROP TABLE web.n")
    assert list(db.sql("SELECT x FROM web.n")) == [{"x": 1}]
    with pytest.raises(ExistsError, match="there is a table"):
        db.execute("UNDROP VIEW web.n")
    db.execute("DROP TABLE web.n; UNDROP VIEW web.n")
    assert [view.newest.version for view in db.views()] == [3]


def test_a_table_of_another_program_goes_before_a_view(db: Connection) -> None:
    db.execute("CREATE VIEW web.v AS SELECT 1 AS x")
    assert list(db.sql("SELECT COUNT(*) AS n FROM web.v")) == [{"n": 1}]
    folder = Path(db.root.location) / "db/web/v"
    folder.mkdir()
    (folder / "index").write_bytes(TableIndex("v").encode(db.root.keyring))
    assert list(db.sql("SELECT COUNT(*) AS n FROM web.v")) == [{"n": 0}]


def test_the_same_text_makes_no_version(db: Connection) -> None:
    make = "CREATE OR REPLACE VIEW web.v AS SELECT a FROM web.gha"
    done = [db.execute(make)[0] for _ in range(2)]
    assert [(each.version, each.is_new) for each in done] == [(1, True), (1, False)]
    (tried,) = db.execute(f"EXPLAIN {make} WHERE a = 1")
    assert (tried.is_dry, tried.is_new) == (True, False)
    assert [version.text for version in db.views()[0].versions] == ["SELECT a FROM web.gha"]


IN_BOTH = (
    "SELECT type, COUNT(*) AS n FROM web.gha GROUP BY type",
    "SELECT a FROM web.gha ORDER BY type LIMIT 99",
    "SELECT a, type IS NULL AS x, type = NULL AS y FROM web.gha",
    "SELECT COUNT(type) AS n, COUNT(DISTINCT type) AS m FROM web.gha",
    "SELECT STDDEV(a) AS s FROM web.gha",
    "SELECT 1 AS a UNION ALL SELECT 2 AS b",
    "WITH w AS (SELECT DISTINCT type FROM web.gha WHERE a > 70) SELECT COUNT(*) AS n FROM w",
    "SELECT o.n FROM web.other AS o JOIN web.gha AS g ON g.type = o.a",
    "SELECT n FROM web.other WHERE a IN (SELECT DISTINCT type FROM web.gha)",
    "SELECT * FROM web.gha WHERE type = NULL",
    "SELECT * FROM web.gha WHERE type IS NULL",
)


@pytest.mark.parametrize("text", IN_BOTH)
@pytest.mark.parametrize("dialect", ["standard", "sneller"])
def test_a_view_means_what_it_meant_when_it_was_made(
    db: Connection, text: str, dialect: str
) -> None:
    db.append("web.gha", [{"a": 70, "type": None}, {"a": 71}])
    db.append("web.other", [{"n": 70, "a": None}, {"n": 71, "a": "x"}, {"n": 72}])
    db.execute(f"SET dialect = {dialect}; CREATE VIEW web.v AS {text}")
    meant = answer(db, text, dialect=dialect)
    assert answer(db, text, dialect="sneller") != answer(db, text, dialect="standard")
    for around in ("standard", "sneller"):
        assert answer(db, "SELECT * FROM web.v", dialect=around) == meant
        assert answer(db, "SELECT * FROM (SELECT * FROM web.v)", dialect=around) == meant
        grouped = "SELECT type, COUNT(*) AS n FROM web.gha {} GROUP BY type"
        asked = grouped.format("WHERE 1 = 1 OR EXISTS(SELECT * FROM web.v)")
        whole = answer(db, grouped.format(""), dialect=around)
        assert answer(db, asked, dialect=around) == whole


def test_a_view_tells_its_dialect(db: Connection) -> None:
    text = "SELECT type FROM web.gha ORDER BY type"
    db.execute(f"CREATE VIEW web.v AS {text}", dialect="sneller")
    db.execute(f"SET dialect = sneller; CREATE OR REPLACE VIEW web.v AS {text}")
    (view,) = db.views()
    assert (view.newest.version, view.as_dict()["dialect"]) == (1, "sneller")
    db.execute(f"CREATE OR REPLACE VIEW web.v AS {text}")
    db.execute("DROP VIEW web.v; UNDROP VIEW web.v")
    (view,) = db.views()
    dialects = [version.as_dict()["dialect"] for version in view.versions]
    assert dialects == ["sneller", "standard", None, "standard"]
    with db.sql("EXPLAIN SELECT * FROM 'web.v@1'") as of_first:
        first = str(list(of_first))
    with db.sql("EXPLAIN SELECT * FROM 'web.v@2'") as of_second:
        assert first != str(list(of_second))


def test_a_view_is_its_own_transaction(db: Connection) -> None:
    with pytest.raises(UnsupportedError, match="only statement of its transaction"):
        db.execute("BEGIN; CREATE VIEW web.v AS SELECT 1 AS x; TRUNCATE web.gha; COMMIT")
    with pytest.raises(UnsupportedError, match="only statement of its transaction"):
        db.execute("CREATE VIEW web.v AS SELECT 1 AS x", txn_id="t")
    assert db.views() == []
    with db.transaction() as tx:
        tx.execute("INSERT INTO web.other SELECT 1000 AS n FROM web.gha WHERE a = 1")
    db.execute("CREATE VIEW web.v AS SELECT MAX(n) AS n FROM web.other")
    db.execute(
        "BEGIN; INSERT INTO web.other VALUES ({'n': 2000}); INSERT INTO web.gha "
        "SELECT n FROM web.v; COMMIT"
    )
    assert list(db.sql("SELECT MAX(n) AS n FROM web.gha")) == [{"n": 2000}]


def test_what_is_below_a_view_is_named_when_it_is_gone(db: Connection) -> None:
    db.execute("CREATE VIEW web.v AS SELECT a FROM web.gha")
    db.execute("CREATE VIEW web.w AS SELECT a FROM web.v; DROP TABLE web.gha")
    for name in ("web.v", "web.w"):
        with pytest.raises(NotFoundError, match=r"the view web\.v: the table web\.gha .* dropped"):
            db.sql(f"SELECT * FROM {name}")


def test_damage_is_an_error(db: Connection) -> None:
    db.execute("CREATE VIEW web.v AS SELECT a FROM web.gha")
    path = Path(db.root.location) / "views/web/v"
    data = path.read_bytes()
    for damaged in (b"", data[:-1], data[:20], data.replace(b"gha", b"gho"), data + b"x"):
        path.write_bytes(damaged)
        with pytest.raises(CorruptError):
            db.sql("SELECT * FROM web.v")
    with notes.collected() as warnings:
        assert list(views(db.root)) == []
    assert "views/web/v" in warnings[0]


def test_old_versions_make_room() -> None:
    ring = Keyring.of_root(is_remote=False)
    many = [ViewVersion(n, "c", n, "replace", "x" * 10) for n in range(1, MOST_VERSIONS + 5)]
    read = ViewObject.decode(ViewObject(tuple(many)).encode(ring), ring)
    assert [read.versions[0].version, read.versions[-1].version] == [5, MOST_VERSIONS + 4]
    large = [ViewVersion(n, "c", n, "replace", "x" * (1 << 16)) for n in range(1, 100)]
    data = ViewObject(tuple(large)).encode(ring)
    assert len(data) < MAX_BYTES
    assert ViewObject.decode(data, ring).versions[-1].version == 99


def test_the_original_sees_no_table_in_a_view(tmp_path: Path) -> None:
    """It looks for `db/*/*/index` and `db/*/*/definition.json`."""
    name = recorded()[0][0]
    root = unpacked(name, tmp_path / "root")
    before = sorted(path for path in root.rglob("*") if path.is_file())
    database, table = next(iter(objects(name))).split("/")[1:3]
    sdb.execute(
        f'CREATE VIEW "{database}".a_view AS SELECT 1 AS x FROM "{database}"."{table}"', root=root
    )
    after = sorted(path for path in root.rglob("*") if path.is_file())
    new = [path.relative_to(root).as_posix() for path in after if path not in before]
    assert new == [f"views/{database}/a_view"]
    assert not (root / "db" / database / "a_view").exists()


def watched(work: Callable[[], object], wrong: list[BaseException]) -> None:
    """Run what may lose a race, and nothing else."""
    try:
        work()
    except (ExistsError, NotFoundError, UnsupportedError):
        pass
    except BaseException as error:  # noqa: BLE001 - shown by the test
        wrong.append(error)


def test_makers_and_readers_at_once(db: Connection) -> None:
    """Threads make a view and a table of one name, others read it all the time."""
    wrong: list[BaseException] = []
    stop = threading.Event()

    def made(kind: str, number: int) -> None:
        for _ in range(12):
            create = f"CREATE {kind} web.n AS SELECT {number} AS x"
            watched(partial(sdb.execute, create, root=db.root.location), wrong)
            watched(partial(sdb.execute, f"DROP {kind} web.n", root=db.root.location), wrong)

    def looked() -> None:
        assert list(db.sql("SELECT x FROM web.n")) in ([{"x": 1}], [{"x": 2}])

    def read() -> None:
        while not stop.is_set():
            watched(looked, wrong)

    kinds = (("VIEW", 1), ("TABLE", 2), ("VIEW", 1))
    makers = [threading.Thread(target=made, args=each) for each in kinds]
    readers = [threading.Thread(target=read) for _ in range(2)]
    for thread in (*makers, *readers):
        thread.start()
    for thread in makers:
        thread.join()
    stop.set()
    for thread in readers:
        thread.join()
    assert not wrong


def test_a_table_is_made_where_nothing_may_be_written_beside_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(*_: object) -> bool:
        raise AccessError("access denied")

    monkeypatch.setattr(naming, "_swapped", denied)
    with notes.collected() as warnings:
        sdb.execute("CREATE TABLE web.t AS SELECT 1 AS x", root=tmp_path)
    assert list(sdb.connect(tmp_path).sql("SELECT x FROM web.t")) == [{"x": 1}]
    assert "cannot claim the name web.t" in warnings[0]


@pytest.mark.parametrize("folder", ["views", "views/web", "queries", "db", "db/web"])
def test_nothing_of_a_root_is_behind_a_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "lake" / folder).parent.mkdir(parents=True)
    (tmp_path / "lake" / folder).symlink_to(outside)
    db = sdb.connect(tmp_path / "lake")

    def write() -> None:
        if folder == "queries":
            db.store_query("x", "SELECT 1 AS x")
        else:
            db.execute("CREATE VIEW web.v AS SELECT 1 AS x")

    with pytest.raises(AccessError, match="is a symbolic link: what a root consists of") as caught:
        write()
    assert "SDB_ALLOW_INPUTS" in str(caught.value.hint)
    assert not list(outside.rglob("*"))
    monkeypatch.setenv("SDB_ALLOW_INPUTS", str(outside))
    db = sdb.connect(tmp_path / "lake")
    write()


def test_a_view_behind_a_link_is_left_out_of_lists(tmp_path: Path) -> None:
    db = sdb.connect(tmp_path / "lake")
    db.execute("CREATE VIEW web.v AS SELECT 1 AS x")
    (tmp_path / "lake/views/alias").symlink_to(tmp_path / "lake/views/web")
    with pytest.warns(SdbWarning, match="left out: .*alias is a symbolic link"):
        assert [view.name for view in views(table_root(tmp_path / "lake"))] == ["web.v"]


def test_views_have_no_columns_that_a_star_leaves_out(db: Connection) -> None:
    db.execute("CREATE TABLE web.r; CREATE VIEW web.rows AS SELECT * FROM web.r WHERE n > 1")
    db.append("web.r", [{"n": 1}, {"n": 2}])
    for text in ("SELECT _row AS x FROM web.rows", "SELECT v._file AS x FROM web.rows AS v"):
        with pytest.warns(SdbWarning, match="views have no _file"):
            assert [row.get("x") for row in db.sql(text)] == [None]
    db.append("web.r", [{"n": 3, "_row": "own"}])
    with pytest.warns(SdbWarning):
        assert list(db.sql("SELECT _row FROM web.rows WHERE n = 3")) == [{"_row": "own"}]
