"""Statements that change tables, against the same on lists of rows, and with others at work."""

from __future__ import annotations

import base64
import json
import random
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb import errors
from sdb.packfile.inspect.validate import validate
from sdb.query.syntax.writeparser import is_write, parse_write
from sdb.statements import transaction
from sdb.store.local.disk import LocalStore
from sdb.table.catalog.handle import open_table
from sdb.table.history import restore, setrefs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from sdb.client.connection import Connection
    from sdb.statements.effects import Executed


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SNELLER_INDEX_KEY", base64.b64encode(b"k" * 32).decode())


@pytest.fixture
def db(tmp_path: Path) -> Connection:
    return sdb.connect(tmp_path / "lake")


def rows(db: Connection, table: str = "web.t", **options: Any) -> list[dict[str, Any]]:
    with db.sql(f"SELECT * FROM {table}", **options) as result:
        return sorted(result, key=lambda row: json.dumps(row, sort_keys=True, default=str))


def done(db: Connection, text: str, **options: Any) -> Executed:
    (actual,) = db.execute(text, **options)
    return actual


def make(db: Connection, table: str, iterable: Iterable[dict[str, Any]], **options: Any) -> None:
    """Make a table with one packfile."""
    db.execute(f"CREATE TABLE {table}")
    db.append(table, iterable, **options)


def sound(db: Connection, table: str = "t") -> None:
    """Check every packfile of a table."""
    handle = open_table(db.root, "web", table)
    for descriptor in handle.descriptors():
        assert not validate(db.root.place(descriptor.key)).findings
    report = db.table(f"web.{table}").validate()
    assert not report.findings, report.findings


class Model:
    """A table as a list of rows, and statements on it as functions."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.rows: list[dict[str, Any]] = []
        self.next = 0

    def statement(self) -> str:
        """Choose a statement, and carry it out on the list."""
        kinds = [self.insert, self.insert, self.copy, self.update, self.update, self.delete]
        return self.dice.choice(kinds)()

    def insert(self) -> str:
        count = self.dice.randrange(1, 6)
        new = []
        for _ in range(count):
            row: dict[str, Any] = {"id": self.next, "n": self.dice.choice([0, 1, None, 2.5])}
            if self.dice.random() < 0.5:
                row["a"] = {"b": self.dice.choice(["x", "é", ""])}
            new.append(row)
            self.next += 1
        self.rows += json.loads(json.dumps(new))
        values = ", ".join(f"({_literal(row)})" for row in new)
        return f"INSERT INTO web.t VALUES {values}"

    def copy(self) -> str:
        low = self.dice.randrange(self.next + 1)
        actual = [row for row in self.rows if low <= row["id"] < low + 3]
        for row in actual:
            self.rows.append({"id": row["id"] + 1000, "c": {"d": row["n"]}})
        return (
            "INSERT INTO web.t (id, c.d) SELECT id + 1000, n FROM web.t "
            f"WHERE id >= {low} AND id < {low + 3} AND n IS NOT MISSING"
        )

    def condition(self) -> tuple[str, Any]:
        low = self.dice.randrange(self.next + 1)
        texts: list[tuple[str, Any]] = [
            ("n = 0", lambda row: row.get("n") == 0),
            (f"id >= {low} AND id < {low + 4}", lambda row: low <= row["id"] < low + 4),
            ("a.b = 'x'", lambda row: isinstance(row.get("a"), dict) and row["a"].get("b") == "x"),
            ("n IS NULL", lambda row: row.get("n") is None),
            (f"id IN (SELECT id FROM web.t WHERE id > {low})", lambda row: row["id"] > low),
        ]
        return self.dice.choice(texts)

    def update(self) -> str:
        text, holds = self.condition()
        kind = self.dice.randrange(3)
        for row in filter(holds, self.rows):
            if kind == 0:
                row["n"] = row["id"] * 2
            elif kind == 1:
                row.setdefault("s", {})["t"] = "new"
            else:
                row.pop("a", None)
        setting = ("n = id * 2", "s.t = 'new'", "a = MISSING")[kind]
        return f"UPDATE web.t SET {setting} WHERE {text}"

    def delete(self) -> str:
        text, holds = self.condition()
        self.rows = [row for row in self.rows if not holds(row)]
        return f"DELETE FROM web.t WHERE {text}"


def _literal(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"'{name}': {_literal(item)}" for name, item in value.items()) + "}"
    if isinstance(value, str):
        return f"'{value}'"
    return "NULL" if value is None else str(value)


@pytest.mark.parametrize("seed", range(3))
def test_as_on_a_list_of_rows_at_every_version(seed: int, db: Connection) -> None:
    dice = random.Random(seed)
    model = Model(dice)
    db.execute("CREATE TABLE web.t")
    reported: dict[int, list[dict[str, Any]]] = {1: []}
    for _ in range(12):
        texts = [model.statement() for _ in range(dice.choice([1, 1, 1, 3]))]
        text = texts[0] if len(texts) == 1 else f"BEGIN; {'; '.join(texts)}; COMMIT"
        actual = done(db, text)
        wanted = sorted(
            json.loads(json.dumps(model.rows)), key=lambda row: json.dumps(row, sort_keys=True)
        )
        assert rows(db) == wanted, text
        reported[actual.version] = wanted
    for version, wanted in reported.items():
        assert rows(db, f"web.t@{version}") == wanted
    sound(db)


CONSTANTS = """1 | -1 | 1.0 | 1.5 | -0.0 | 1e20 | 18446744073709551615 | 18446744073709551616
    | -9223372036854775808 | 'x' | '' | 'é' | NULL | TRUE
    | `2015-01-01T00:00:00Z` | DATE '2015-01-01' | `0001-01-01T00:00:00Z` | 'a' || 'b' | 7 / 2
    | 0.1 + 0.2 | INTERVAL '1 day' | NULLIF(1, 1)"""


@pytest.mark.parametrize("constant", [part.strip() for part in CONSTANTS.split(" | ")])
def test_constants_are_set_as_computed_values_are(constant: str, db: Connection) -> None:
    computed = f"CASE WHEN a = 2 THEN {constant} ELSE {constant} END"
    answers = []
    for name, value in (("web.t", constant), ("web.computed", computed)):
        make(db, name, [{"a": number, "b": {"c": number}} for number in range(300)])
        db.execute(f"UPDATE {name} SET a = {value}, b.c = {value} WHERE a % 7 = 2")
        with db.sql(f"SELECT * FROM {name}") as result:
            answers.append([*map(repr, result)])
    assert answers[0] == answers[1]


def test_the_blog_of_november_2022(db: Connection) -> None:
    """Two inserts of the same rows, a delete and an update: seven rows, then five."""
    make(db, "web.numbers", [{"k": 1, "v": n} for n in range(3)])
    insert = "INSERT INTO web.numbers VALUES ({'k': 2, 'v': 10}), ({'k': 2, 'v': 11})"
    db.execute(insert)
    db.execute(insert)
    assert len(rows(db, "web.numbers")) == 7
    before = {descriptor.key for descriptor in open_table(db.root, "web", "numbers").descriptors()}
    db.execute("DELETE FROM web.numbers WHERE v = 10")
    updated = done(db, "UPDATE web.numbers SET v = 12 WHERE v = 11")
    assert len(rows(db, "web.numbers")) == 5
    after = {descriptor.key for descriptor in open_table(db.root, "web", "numbers").descriptors()}
    assert len(before & after) == 1, "the first packfile is shared by all versions"
    assert len(after) == 3
    assert rows(db, "web.numbers@4") == rows(db, f"web.numbers@{updated.version - 2}")


def test_l6_01_one_of_200_000_rows_in_many_blocks(db: Connection, tmp_path: Path) -> None:
    """Delete and update one row of many; a condition that no metadata can refute, too."""
    count = 200_000
    lines = tmp_path / "rows.json"
    lines.write_text("".join(f'{{"id": {number}, "s": "{"x" * 20}"}}\n' for number in range(count)))
    db.execute("CREATE TABLE web.t")
    db.append("web.t", lines, block_bytes=1 << 18, align_bytes=1 << 16)
    (reported,) = open_table(db.root, "web", "t").descriptors()
    assert len(reported.trailer.blocks) > 5
    actual = done(db, "DELETE FROM web.t WHERE id = 5")
    assert actual.effects[0].blocks_rewritten == 1
    assert actual.effects[0].blocks_kept == len(reported.trailer.blocks) - 1
    done(db, "UPDATE web.t SET s = 'y' WHERE id % 100000 = 7")
    with db.sql("SELECT COUNT(*) AS n, SUM(id) AS s FROM web.t") as result:
        assert list(result) == [{"n": count - 1, "s": count * (count - 1) // 2 - 5}]
    with db.sql("SELECT id FROM web.t WHERE s = 'y' ORDER BY id") as result:
        assert [row["id"] for row in result] == [7, 100_007]
    sound(db)


def test_l6_02_rows_for_which_the_condition_is_null_stay(db: Connection) -> None:
    make(db, "web.t", [{"n": 0}, {"n": 1}, {"n": None}, {"m": 1}])
    assert done(db, "DELETE FROM web.t WHERE n = 0").effects[0].rows_deleted == 1
    assert rows(db) == [{"m": 1}, {"n": 1}, {"n": None}]


def test_l6_05_the_same_commit_twice(db: Connection) -> None:
    db.execute("CREATE TABLE web.t")
    first = done(db, "INSERT INTO web.t VALUES ({'a': 1})", txn_id="job-1")
    again = done(db, "INSERT INTO web.t VALUES ({'a': 1})", txn_id="job-1")
    assert (first.version, again.version, again.is_new) == (2, 2, False)
    assert rows(db) == [{"a": 1}]


class Meddler:
    """Somebody who commits between the reading and the commit of a transaction."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *deeds: Any) -> None:
        self.deeds = list(deeds)
        self.done = 0
        commit = transaction.commit

        def commit_late(*args: Any, **options: Any) -> Any:
            if self.deeds:
                deed = self.deeds.pop(0)
                monkeypatch.setattr(transaction, "commit", commit)
                deed()
                self.done += 1
                monkeypatch.setattr(transaction, "commit", commit_late)
            return commit(*args, **options)

        monkeypatch.setattr(transaction, "commit", commit_late)


@pytest.mark.parametrize(
    "text",
    [
        "DELETE FROM web.t WHERE v = 1",
        "DELETE FROM web.t WHERE v IN (SELECT v FROM web.t WHERE v = 1)",
        "BEGIN; DELETE FROM web.t WHERE v = 1; UPDATE web.t SET w = 3 WHERE v = 2; COMMIT",
    ],
)
def test_rows_that_came_in_meanwhile_are_judged_too(
    text: str, db: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(db, "web.t", [{"id": 1, "v": 1}, {"id": 2, "v": 2}])
    meddler = Meddler(
        monkeypatch,
        lambda: db.append("web.t", [{"id": 3, "v": 1}]),
        lambda: db.append("web.t", [{"id": 4, "v": 2}, {"id": 5, "v": 1}]),
    )
    actual = done(db, text)
    assert meddler.done == 2
    assert actual.effects[0].rows_deleted == 3
    assert [(row["id"], row["v"]) for row in rows(db)] == [(2, 2), (4, 2)]
    sound(db)


def test_l6_04_who_rewrites_the_same_packfile_starts_over(
    db: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(db, "web.t", [{"id": number, "v": 0} for number in range(4)])
    meddler = Meddler(monkeypatch, lambda: db.execute("UPDATE web.t SET v = 7 WHERE id = 1"))
    done(db, "UPDATE web.t SET w = v + 1 WHERE id < 3")
    assert meddler.done == 1
    assert [(row["v"], row.get("w")) for row in sorted(rows(db), key=lambda row: row["id"])] == [
        (0, 1),
        (7, 8),
        (0, 1),
        (0, None),
    ]


def test_inserts_of_others_do_not_disturb_an_insert(
    db: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(db, "web.t", [{"id": 1}])
    Meddler(monkeypatch, lambda: db.append("web.t", [{"id": 2}]))
    assert done(db, "INSERT INTO web.t SELECT id + 10 AS id FROM web.t").version == 4
    assert sorted(row["id"] for row in rows(db)) == [1, 2, 11]


def test_merge(db: Connection) -> None:
    make(db, "web.t", [{"id": number, "v": "old"} for number in range(5)])
    make(db, "web.s", [{"id": 1, "v": "new"}, {"id": 2, "gone": True}, {"id": 9, "v": "in"}])
    actual = done(
        db,
        "MERGE INTO web.t AS t USING web.s AS s ON t.id = s.id "
        "WHEN MATCHED AND s.gone = TRUE THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET v = s.v, at.x = s.id "
        "WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v)",
    )
    (effect,) = actual.effects
    assert (effect.rows_updated, effect.rows_deleted, effect.rows_inserted) == (1, 1, 1)
    assert sorted(rows(db), key=lambda row: row["id"]) == [
        {"id": 0, "v": "old"},
        {"at": {"x": 1}, "id": 1, "v": "new"},
        {"id": 3, "v": "old"},
        {"id": 4, "v": "old"},
        {"id": 9, "v": "in"},
    ]
    sound(db)
    before = open_table(db.root, "web", "t").data
    with pytest.raises(errors.QueryError, match="more than one row"):
        db.execute(
            "MERGE INTO web.t AS t USING (SELECT 1 AS id FROM web.s) AS s ON t.id = s.id "
            "WHEN MATCHED THEN DELETE"
        )
    assert open_table(db.root, "web", "t").data == before


def test_types_stay_what_they_are(db: Connection) -> None:
    """CTAS gives the rows of its query: timestamps, mixed types, nulls, large integers."""
    argument = (
        "({'t': `2024-01-01T00:00:00.000001Z`, 'u': 18446744073709551615, 'm': 1}), "
        "({'t': '2024-01-01T00:00:00Z', 'm': 'x', 'l': [1, NULL, {'a': 0.5}]}), ({'m': NULL})"
    )
    db.execute(f"CREATE TABLE web.t; INSERT INTO web.t VALUES {argument}")
    db.execute("CREATE TABLE web.copy AS SELECT * FROM web.t")
    assert rows(db) == rows(db, "web.copy")
    db.execute("UPDATE web.copy SET n = t, m = u")
    with db.sql("SELECT TYPE_BIT(n) AS n, TYPE_BIT(t) AS t, m FROM web.copy") as result:
        items = list(result)
    assert [row["n"] for row in items] == [row["t"] for row in items]
    assert items[0]["m"] == 18446744073709551615


def test_nothing_changes_where_nothing_matches_or_all_is_dry(db: Connection) -> None:
    make(db, "web.t", [{"a": 1}, {"a": 2}])
    before = open_table(db.root, "web", "t").data
    for text, options in [
        ("DELETE FROM web.t WHERE a = 3", {}),
        ("INSERT INTO web.t SELECT * FROM web.t WHERE a = 3", {}),
        ("DELETE FROM web.t WHERE a = 1", {"dry_run": True}),
        ("EXPLAIN UPDATE web.t SET b = 1", {}),
        ("TRUNCATE web.t", {"dry_run": True}),
        ("BEGIN; TRUNCATE web.t; ROLLBACK; BEGIN; COMMIT; DELETE FROM web.t WHERE a = 9", {}),
    ]:
        actual = done(db, text, **options)
        assert not actual.is_new
        assert open_table(db.root, "web", "t").data == before
    assert done(db, "EXPLAIN UPDATE web.t SET b = 1").effects[0].rows_updated == 2


def test_what_is_refused_changes_nothing(db: Connection) -> None:
    make(db, "web.t", [{"a": 1, "_row": 5}, {"a": {"b": 1}}])
    make(db, "web.u", [{"a": 1}])
    before = open_table(db.root, "web", "t").data
    for text, kind, said in [
        ("UPDATE web.t SET a.c = 1", errors.UsageError, "row 0"),
        ("UPDATE web.t SET a = 1, a.b = 2", errors.QueryError, "a.b is set twice"),
        ("INSERT INTO web.t VALUES (1)", errors.QueryError, "a row is a struct"),
        ("INSERT INTO web.t (a, b) SELECT a FROM web.u", errors.QueryError, "1 columns for 2"),
        ("DELETE FROM web.nothing", errors.NotFoundError, "there is no table"),
        ("CREATE TABLE web.t", errors.ExistsError, "is there already"),
        ("SELECT 1", errors.QueryError, "sdb query"),
        ("UNDROP TABLE web.t", errors.ExistsError, "was not dropped"),
        ("BEGIN; DROP TABLE web.t; TRUNCATE web.t; COMMIT", errors.UnsupportedError, "the only"),
        ("DELETE FROM web.t@3", errors.QueryError, "is not written"),
        ("DELETE FROM web.t@audit", errors.NotFoundError, "audit"),
        ("BEGIN; DELETE FROM web.t", errors.QueryError, "BEGIN without COMMIT"),
        ("COMMIT", errors.QueryError, "no transaction has begun"),
        ("DELETE FROM web.t WHERE b + $x = 1", errors.QueryError, "no value for"),
        ("", errors.UsageError, "no statement"),
    ]:
        with pytest.raises(kind) as caught:
            db.execute(text)
        assert said in f"{caught.value} {caught.value.hint}", text
        assert open_table(db.root, "web", "t").data == before
    with pytest.raises(errors.QueryError) as refused:
        db.sql("DELETE FROM web.t")
    assert "sdb exec" in str(refused.value.hint)


def test_a_field_of_the_name_of_a_pseudo_column_is_a_field(db: Connection) -> None:
    make(db, "web.t", [{"_row": 1, "_file": "x"}, {"_row": 0}, {"_row": 1}])
    assert done(db, "DELETE FROM web.t WHERE _row = 0").effects[0].rows_deleted == 1
    assert rows(db) == [{"_file": "x", "_row": 1}, {"_row": 1}]


def test_parameters(db: Connection) -> None:
    db.execute("CREATE TABLE web.t")
    db.execute(
        "INSERT INTO web.t VALUES ({'a': $x}), ({'a': $y}); DELETE FROM web.t WHERE a = $y",
        params={"x": "it's", "y": "y"},
    )
    assert rows(db) == [{"a": "it's"}]
    with pytest.raises(errors.UsageError, match=r"\$z"):
        db.execute("TRUNCATE web.t", params={"z": 1})


def test_times_of_packfiles_that_are_rewritten_are_found(db: Connection) -> None:
    """The time index of a packfile holds for the rows that are left and for new values."""
    times = [f"2024-01-{day:02}T{hour:02}:00:00Z" for day in range(1, 15) for hour in range(24)]
    make(
        db,
        "web.t",
        (
            {"t": datetime.fromisoformat(time), "n": n, "s": "x" * 3000}
            for n, time in enumerate(times)
        ),
        block_bytes=1 << 18,
        align_bytes=1 << 16,
    )
    db.execute("DELETE FROM web.t WHERE n % 5 = 0 AND t >= `2024-01-05T00:00:00Z`")
    db.execute("UPDATE web.t SET t = `2020-02-02T00:00:00Z` WHERE n = 33")
    for low, high in [
        ("2020-01-01", "2021-01-01"),
        ("2024-01-06", "2024-01-07"),
        ("2024-01-14", "2025-01-01"),
    ]:
        wanted = [
            n
            for n, time in enumerate(times)
            if (n == 33 and low < "2021")
            or (n != 33 and low <= time < high and (n % 5 or time < "2024-01-05"))
        ]
        with db.sql("SELECT n FROM web.t ORDER BY n", since=low, until=high) as result:
            assert [row["n"] for row in result] == wanted
    sound(db)


def test_what_begins_like_a_statement() -> None:
    assert all(map(is_write, ["insert into x", "EXPLAIN UPDATE t", "begin;", " MERGE INTO"]))
    assert not any(map(is_write, ["SELECT 1", "", "EXPLAIN SELECT 1", "inserted"]))
    assert parse_write('DELETE FROM "web.gha" AS g WHERE g.a = 1;').write.table.name == "web.gha"


def test_tables_are_dropped_and_brought_back(db: Connection) -> None:
    make(db, "web.t", [{"a": 1}])
    assert done(db, "DROP TABLE web.t").is_new
    assert db.tables() == []
    for use in (
        lambda: rows(db),
        lambda: db.append("web.t", [{"a": 2}]),
        lambda: db.execute("DELETE FROM web.t"),
        lambda: db.execute("DROP TABLE web.t"),
    ):
        with pytest.raises(errors.NotFoundError, match="was dropped") as caught:
            use()
        assert "sdb undrop web.t" in str(caught.value.hint)
    assert rows(db, "web.t@2") == [{"a": 1}]
    assert not done(db, "DROP TABLE IF EXISTS web.t").is_new
    assert done(db, "UNDROP TABLE web.t").version == 4
    assert rows(db) == [{"a": 1}]
    db.execute("DROP TABLE web.t; CREATE TABLE web.t")
    assert rows(db) == []
    db.execute("DROP TABLE web.t; UNDROP TABLE web.t")
    assert [fact.name for fact in db.tables()] == ["web.t"]
    sound(db)


def test_branches_are_written(db: Connection) -> None:
    make(db, "web.t", [{"a": 1}, {"a": 2}])
    setrefs.branch(db.root, "web", "t", "audit")
    db.execute(
        "BEGIN; INSERT INTO web.t@audit VALUES ({'a': 3}); "
        "UPDATE web.t@audit SET b = 1 WHERE a IN (SELECT a FROM web.t@audit WHERE a > 1); COMMIT"
    )
    assert rows(db) == [{"a": 1}, {"a": 2}]
    assert rows(db, "web.t@audit") == [{"a": 1}, {"a": 2, "b": 1}, {"a": 3, "b": 1}]


def test_transactions_in_python(db: Connection) -> None:
    make(db, "web.t", [{"a": 1}, {"a": 2}])
    with db.transaction(message="both") as tx:
        tx.execute("DELETE FROM web.t WHERE a = $a", params={"a": 1})
        tx.execute("INSERT INTO web.t VALUES ({'a': 3})")
        assert tx.result is None
    assert tx.result is not None
    assert tx.result.version == 3

    def failing() -> None:
        with db.transaction() as other:
            other.execute("TRUNCATE web.t")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing()
    table = db.table("web.t")
    table.update({"b.c": "a * 2"}, "a > 2")
    table.delete("a = 2")
    assert rows(db) == [{"a": 3, "b": {"c": 6}}]
    assert table.version == 5


CTAS = "CREATE TABLE web.t AS SELECT a + 10 AS a FROM web.s"
CTAS_IF = CTAS.replace("TABLE", "TABLE IF NOT EXISTS")
JOINTLY = "BEGIN; INSERT INTO web.u VALUES ({'a': 0}); %s; COMMIT"


def overtaken(db: Connection, rival: Callable[[], object], text: str, **options: Any) -> Executed:
    """Carry a statement out that somebody else overtakes when it is about to commit."""
    to_do = [rival]

    def after_the_rival(good: Callable[..., Any]) -> Callable[..., Any]:
        def commit(*value: Any, **named: Any) -> Any:
            if to_do:
                to_do.pop()()
            return good(*value, **named)

        return commit

    with pytest.MonkeyPatch.context() as patch:
        for name in ("commit", "commit_together"):
            patch.setattr(transaction, name, after_the_rival(getattr(transaction, name)))
        return done(db, text, **options)


@pytest.fixture
def source(db: Connection) -> Connection:
    make(db, "web.s", [{"a": 1}, {"a": 2}])
    db.execute("CREATE TABLE web.u")
    return db


@pytest.mark.parametrize("text", [CTAS, JOINTLY % CTAS])
@pytest.mark.parametrize("is_dropped", [False, True])
def test_of_two_that_make_a_table_one_wins(
    text: str,
    is_dropped: bool,
    source: Connection,
) -> None:
    if is_dropped:
        source.execute("CREATE TABLE web.t; INSERT INTO web.t VALUES ({'a': 5}); DROP TABLE web.t")
    rival = "CREATE TABLE web.t AS SELECT a FROM web.s"
    with pytest.raises(errors.ExistsError, match=r"web\.t .*there already") as caught:
        overtaken(source, lambda: source.execute(rival), text)
    assert caught.value.exit_code == 4
    assert rows(source) == [{"a": 1}, {"a": 2}]
    assert rows(source, "web.u") == []
    assert next(source.table("web.t").log()).operation == "create"
    sound(source)


@pytest.mark.parametrize("is_dropped", [False, True])
def test_if_not_exists_leaves_the_table_of_another_as_it_is(
    is_dropped: bool,
    source: Connection,
) -> None:
    if is_dropped:
        source.execute("CREATE TABLE web.t; DROP TABLE web.t")
    with pytest.warns(errors.SdbWarning, match=r"web\.t is there already: no row of the query"):
        actual = overtaken(source, lambda: source.execute("CREATE TABLE web.t"), CTAS_IF)
    assert (actual.is_new, actual.effects) == (False, ())
    assert rows(source) == []
    with pytest.warns(errors.SdbWarning, match="no row of the query"):
        actual = overtaken(source, lambda: source.append("web.t", [{"a": 3}]), JOINTLY % CTAS_IF)
    assert (actual.is_new, [effect.operation for effect in actual.effects]) == (True, ["insert"])
    assert (rows(source), rows(source, "web.u")) == ([{"a": 3}], [{"a": 0}])


def test_a_table_that_goes_meanwhile_is_made_anew(source: Connection) -> None:
    source.execute("CREATE TABLE web.t; INSERT INTO web.t VALUES ({'a': 5})")
    text = f"BEGIN; {CTAS_IF}; INSERT INTO web.t VALUES ({{'a': 0}}); COMMIT"
    actual = overtaken(source, lambda: source.execute("DROP TABLE web.t"), text)
    assert [effect.operation for effect in actual.effects] == ["create", "insert"]
    assert rows(source) == [{"a": 0}, {"a": 11}, {"a": 12}]
    source.execute("DROP TABLE web.t")
    assert done(source, JOINTLY % CTAS).versions == {"web.t": 6, "web.u": 2}
    assert (rows(source), rows(source, "web.u")) == ([{"a": 11}, {"a": 12}], [{"a": 0}])


def test_what_is_left_of_one_that_was_killed_is_in_nobodys_way(
    source: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = LocalStore.put_if_match

    def put_if_match(store: LocalStore, location: Any, *value: Any, **named: Any) -> str:
        if str(location).endswith("/t/index"):
            raise KeyboardInterrupt
        return good(store, location, *value, **named)

    monkeypatch.setattr(LocalStore, "put_if_match", put_if_match)
    with pytest.raises(KeyboardInterrupt):
        source.execute(CTAS)
    monkeypatch.setattr(LocalStore, "put_if_match", good)
    assert [fact.name for fact in source.tables()] == ["web.s", "web.u"]
    assert done(source, CTAS).version == 1
    assert rows(source) == [{"a": 11}, {"a": 12}]


def test_a_definition_that_appears_is_a_table(source: Connection) -> None:
    with pytest.raises(errors.ExistsError, match="there already"):
        overtaken(source, lambda: source.create("web.t", "in/*.json"), CTAS)
    with pytest.raises(errors.NotFoundError, match="no rows yet"):
        source.table("web.t")


def test_undrop_takes_no_rows_of_a_table_that_was_made_meanwhile(
    source: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    source.execute("CREATE TABLE web.t; INSERT INTO web.t VALUES ({'a': 5}); DROP TABLE web.t")
    good = restore.commit

    def commit(*value: Any, **named: Any) -> Any:
        monkeypatch.setattr(restore, "commit", good)
        source.execute(CTAS)
        return good(*value, **named)

    monkeypatch.setattr(restore, "commit", commit)
    with pytest.raises(errors.ExistsError, match="was not dropped"):
        source.execute("UNDROP TABLE web.t")
    assert rows(source) == [{"a": 11}, {"a": 12}]


def test_a_table_that_gets_a_branch_meanwhile_is_not_dropped(
    source: Connection,
) -> None:
    with pytest.raises(errors.UnsupportedError, match="has branches: side"):
        overtaken(
            source, lambda: setrefs.branch(source.root, "web", "s", "side"), "DROP TABLE web.s"
        )
    assert rows(source, "web.s@side") == rows(source, "web.s") == [{"a": 1}, {"a": 2}]


def test_a_table_is_made_with_the_columns_of_a_schema(db: Connection) -> None:
    text = "CREATE TABLE web.t (id INT, name TEXT NOT NULL, at TIMESTAMP, n DOUBLE DEFAULT 1.5)"
    assert done(db, text).version == 1
    handle = open_table(db.root, "web", "t")
    assert handle.schema is not None
    columns = [(c.name, c.required, c.default) for c in handle.schema.columns]
    assert columns == [
        ("id", False, None),
        ("name", True, None),
        ("at", False, None),
        ("n", False, 1.5),
    ]
    assert not done(db, "CREATE TABLE IF NOT EXISTS web.t (id TEXT)").is_new
    db.execute("INSERT INTO web.t VALUES (1, 'a', TIMESTAMP '2026-01-01', 2), (2, 'b', NULL, 3)")
    assert [row["name"] for row in rows(db)] == ["a", "b"]
    with pytest.raises(errors.QueryError, match="2 values for 4 columns: id, name, at, n"):
        db.execute("INSERT INTO web.t VALUES (1, 'a')")
    for text, why in {
        "CREATE TABLE web.u (id INT, PRIMARY KEY (id))": "no keys and constraints",
        "CREATE TABLE web.u (id INT) AS SELECT 1 AS id": "columns do not go with AS",
        "CREATE TABLE web.u (id INT, id TEXT)": "id",
    }.items():
        with pytest.raises(errors.SdbError, match=why):
            db.execute(text)
    with pytest.raises(errors.UnsupportedError, match="only statement of its transaction"):
        db.execute("BEGIN; CREATE TABLE web.u (id INT); INSERT INTO web.u VALUES ({'id': 1}); END")


def test_values_without_names_need_a_schema(db: Connection) -> None:
    make(db, "web.t", [{"a": 1}])
    with pytest.raises(errors.QueryError, match="has no schema that says which") as raised:
        db.execute("INSERT INTO web.t VALUES (1, 2)")
    assert raised.value.hint == "name them, as in INSERT INTO t (a, b) VALUES (1, 2)"


def test_statements_as_others_write_them(db: Connection) -> None:
    db.execute("CREATE TABLE web.t AS (SELECT 1 AS id, 'a' AS n UNION SELECT 2 AS id, 'b' AS n)")
    db.execute("INSERT INTO web.t (SELECT 3 AS id, 'c' AS n)")
    db.execute("DELETE web.t WHERE id = 1")
    assert [row["id"] for row in rows(db)] == [2, 3]
    with pytest.raises(errors.QueryError, match="WHERE is expected"):
        db.execute("DELETE web.t")
    db.execute("CREATE TABLE web.s AS SELECT * FROM (VALUES (3, 'C', 7), (4, 'D', 8)) v(id, n, m)")
    db.execute(
        "MERGE INTO web.t AS t USING web.s AS s ON t.id = s.id"
        " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    assert rows(db) == [
        {"id": 2, "n": "b"},
        {"id": 3, "n": "C", "m": 7},
        {"id": 4, "n": "D", "m": 8},
    ]
    db.execute("DROP web.s")
    with db.sql("SHOW TABLES") as result:
        assert [row["table"] for row in result] == ["t"]


def test_a_time_to_the_second_is_all_of_that_second(db: Connection) -> None:
    make(db, "web.t", [{"id": 1}])
    with db.sql("SELECT at FROM sdb.versions('web.t') ORDER BY version DESC LIMIT 1") as result:
        (at,) = [row["at"] for row in result]
    assert rows(db, f"web.t('{at:%Y-%m-%d %H:%M:%S}')") == [{"id": 1}]


def test_tables_about_tables_have_the_names_of_the_standard(db: Connection) -> None:
    db.execute("CREATE TABLE web.t (id INT NOT NULL, name TEXT DEFAULT 'x')")
    db.execute("COMMENT ON COLUMN web.t.id IS 'its number'")
    make(db, "web.u", [{"x": 1, "y": {"z": "a"}}])
    db.execute("CREATE TABLE web.gone; DROP TABLE web.gone; CREATE VIEW web.v AS SELECT 1 AS x")

    def asked(query: str) -> list[tuple[Any, ...]]:
        with db.sql(query) as result:
            return [tuple(row.values()) for row in result]

    tables = "table_catalog, table_schema, table_name, table_type"
    assert asked(f"SELECT {tables} FROM information_schema.tables ORDER BY table_name") == [
        ("sdb", "web", "t", "BASE TABLE"),
        ("sdb", "web", "u", "BASE TABLE"),
        ("sdb", "web", "v", "VIEW"),
    ]
    columns = "column_name, ordinal_position, data_type, is_nullable, column_default"
    assert asked(
        f"SELECT columns.table_name, {columns}, column_comment FROM information_schema.columns"
        " WHERE table_name IN (SELECT table_name FROM information_schema.tables) ORDER BY 1, 3"
    ) == [
        ("t", "id", 1, "integer", "NO", None, "its number"),
        ("t", "name", 2, "string", "YES", "x", None),
        ("u", "x", 1, "int", "YES", None, None),
        ("u", "y", 2, "struct", "YES", None, None),
    ]
    assert asked("SELECT * FROM information_schema.schemata") == [("sdb", "web")]
    (view,) = asked("SELECT table_name, view_definition FROM information_schema.views")
    assert view == ("v", "SELECT 1 AS x")
    versions = "SELECT table_name, version FROM system.table_versions WHERE creation_time < NOW()"
    assert asked(f"{versions} ORDER BY ALL") == [("t", 1), ("t", 2), ("u", 1), ("u", 2)]
    (packfile,) = asked(
        "SELECT p.table_name, p.version, p.row_count FROM system.table_partitions AS p"
        " JOIN system.table_versions AS v ON p.table_version_id = v.table_version_id"
    )
    assert packfile == ("u", 2, 1)
    with pytest.raises(errors.QueryError, match=r"no information_schema\.sequences") as refused:
        asked("SELECT * FROM information_schema.sequences")
    assert "information_schema.views" in str(refused.value.hint)


def test_tables_about_tables_tell_nothing_where_there_are_none(tmp_path: Path) -> None:
    db = sdb.connect(tmp_path)
    for name in ("views", "tables", "columns", "schemata"):
        with db.sql(f"SELECT COUNT(*) AS n FROM information_schema.{name}") as result:
            assert list(result) == [{"n": 0}]
