"""Schemas of versions: commits, branches, merges, forks, restores, compaction, races."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb.errors import ExistsError, NotFoundError, QueryError, UnsupportedError, UsageError
from sdb.records import replace
from sdb.statements.schemasetting import set_schema
from sdb.store.local.disk import LocalStore
from sdb.table.commit.schemas import change_schema
from sdb.table.definition.cache import read_definition
from sdb.table.format.keys import TableKeys, era_of
from sdb.table.history.rename import rename
from sdb.table.schema import evolve
from sdb.table.schema.columns import TableSchema, walk
from sdb.table.schema.merge import SchemaConflictError, merged
from sdb.table.schema.types import TableColumn, type_of

if TYPE_CHECKING:
    from sdb.client.connection import Connection

COLUMNS = [{"name": "id", "type": "integer"}, {"name": "x", "type": "variant"}]


@pytest.fixture
def db(tmp_path: Path) -> Connection:
    db = sdb.connect(tmp_path)
    db.execute("CREATE TABLE web.t")
    db.append("web.t", [{"id": 1, "x": "old"}])
    db.table("web.t").set_schema(COLUMNS)
    return db


def alter(db: Connection, action: str, table: str = "web.t") -> None:
    db.execute(f"ALTER TABLE {table} {action}")


def names(db: Connection, table: str = "web.t") -> list[str]:
    schema = db.table(table).schema
    assert schema is not None
    return [".".join(path) for path, _, _ in walk(schema.columns)]


def test_each_version_has_its_own_schema_for_ever(db: Connection) -> None:
    alter(db, "ADD COLUMN y DATE")
    alter(db, "RENAME COLUMN x TO z")
    db.append("web.t", [{"id": 2}])
    alter(db, "DROP COLUMN id")
    assert db.table("web.t@2").schema is None
    assert [names(db, f"web.t@{number}") for number in range(3, 8)] == [
        ["id", "x"],
        ["id", "x", "y"],
        ["id", "z", "y"],
        ["id", "z", "y"],
        ["z", "y"],
    ]
    operations = [version.operation for version in db.table("web.t").log()]
    assert operations == ["schema", "insert", "schema", "schema", "schema", "insert", "create"]


def test_branches_merge_their_schemas(db: Connection) -> None:
    db.table("web.t").branch("b")
    alter(db, "ADD COLUMN y DATE, RENAME COLUMN x TO z")
    alter(db, "ADD COLUMN w STRING, ADD COLUMN v STRING", "web.t@b")
    db.append("web.t@b", [{"id": 2, "w": "a"}])
    assert names(db, "web.t@b") == ["id", "x", "w", "v"]
    merged = db.table("web.t").merge("b")
    assert names(db) == ["id", "z", "y", "w", "v"]
    assert db.table("web.t").version == merged.version
    schema = db.table("web.t").schema
    assert schema is not None
    assert [column.id for column in schema.columns] == [1, 2, 3, 4, 5]


def test_conflicts_of_schemas_are_named_and_change_nothing(db: Connection) -> None:
    db.table("web.t").branch("b")
    alter(db, "RENAME COLUMN x TO y")
    alter(db, "RENAME COLUMN x TO z", "web.t@b")
    before = db.table("web.t").version
    with pytest.raises(SchemaConflictError, match="the column y: its name is y here, and z there"):
        db.table("web.t").merge("b")
    assert db.table("web.t").version == before
    db.table("web.t").merge("b", strategy="source")
    assert names(db) == ["id", "z"]


def test_forks_pushes_and_renames_take_the_schema_along(db: Connection, tmp_path: Path) -> None:
    table = db.table("web.t")
    table.fork("web.copy")
    table.fork("web.shared", share=True)
    table.push(tmp_path / "other")
    other = sdb.connect(tmp_path / "other")
    alter(db, "ADD COLUMN y DATE")
    assert names(db, "web.copy") == names(db, "web.shared") == names(other) == ["id", "x"]
    db.table("web.t").push(tmp_path / "other")
    assert names(other) == ["id", "x", "y"]
    rename(db.root, TableKeys("web", "copy"), TableKeys("web", "u"))
    assert names(db, "web.u") == ["id", "x"]
    db.execute("UNDROP TABLE web.copy")
    assert names(db, "web.copy") == ["id", "x"]


def test_a_restore_brings_the_schema_back_and_gives_no_id_twice(db: Connection) -> None:
    alter(db, "ADD COLUMN y DATE")
    db.restore("web.t", 3)
    assert names(db) == ["id", "x"]
    alter(db, "ADD COLUMN w DATE")
    schema = db.table("web.t").schema
    assert schema is not None
    assert [column.id for column in schema.columns] == [1, 2, 4]
    db.restore("web.t", 2)
    assert db.table("web.t").schema is None


def test_a_table_that_is_made_anew_has_no_schema(db: Connection) -> None:
    db.execute("DROP TABLE web.t")
    db.create("web.t", "in/*.json", overwrite=True)
    db.append("web.t", [{"id": 1}])
    assert db.table("web.t").schema is None


def test_a_written_schema_is_merged_with_what_others_have_changed(db: Connection) -> None:
    """A set that began before another change is built upon that one."""
    root, table = db.root, db.table("web.t")
    base = table.schema
    assert base is not None
    wished = evolve.add(base, (), TableColumn(0, "mine", type_of("date"), ("mine",)))
    alter(db, "ADD COLUMN theirs STRING")
    now = db.table("web.t").schema
    assert now is not None
    assert [column.name for column in merged(base, now, wished).columns] == [
        "id",
        "x",
        "theirs",
        "mine",
    ]
    set_schema(root, TableKeys("web", "t"), merged(base, now, wished))
    assert names(db) == ["id", "x", "theirs", "mine"]


def test_concurrent_changes_and_appends_are_all_there(db: Connection) -> None:
    def change(number: int) -> None:
        if number % 2:
            alter(db, f"ADD COLUMN c{number} INTEGER")
        else:
            db.append("web.t", [{"id": number}])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(change, range(12)))
    assert sorted(names(db)) == ["c1", "c11", "c3", "c5", "c7", "c9", "id", "x"]
    schema = db.table("web.t").schema
    assert schema is not None
    assert len({column.id for column in schema.columns}) == 8
    rows = [descriptor.rows for descriptor in db.table("web.t").handle.descriptors()]
    assert sum(filter(None, rows)) == 7


def test_widening_to_double_looks_at_the_rows(db: Connection) -> None:
    db.append("web.t", [{"id": (1 << 53) + 1}])
    with pytest.raises(UsageError, match="beyond 2"):
        alter(db, "ALTER COLUMN id TYPE DOUBLE")
    alter(db, "ALTER COLUMN id TYPE DECIMAL(19)")


def test_eras_are_never_merged_by_compaction(db: Connection) -> None:
    for number in range(9):
        db.append("web.t", [{"id": number, "x": 1}])
    alter(db, "DROP COLUMN x, ADD COLUMN x INTEGER")
    for number in range(9):
        db.append("web.t", [{"id": number, "x": 2}])
    db.table("web.t").compact()
    by_era: dict[int, int] = {}
    for descriptor in db.table("web.t").handle.descriptors():
        era = era_of(descriptor.key)
        by_era[era] = by_era.get(era, 0) + (descriptor.rows or 0)
    schema = db.table("web.t").schema
    assert schema is not None
    assert by_era == {0: 10, schema.era: 9}
    assert db.table("web.t").validate().ok
    db.execute("UPDATE web.t SET id = 7 WHERE id = 3")
    eras = {era_of(descriptor.key) for descriptor in db.table("web.t").handle.descriptors()}
    assert eras == {0, schema.era}


def test_the_same_commit_id_changes_a_schema_once(db: Connection) -> None:
    def add(schema: TableSchema | None, _: Any) -> TableSchema:
        assert schema is not None
        return evolve.add(schema, (), TableColumn(0, "n", type_of("date"), ("n",)))

    first = change_schema(db.root, "web", "t", add, commit_id="once")
    second = change_schema(db.root, "web", "t", add, commit_id="once")
    assert (first.version, first.is_new, second.version, second.is_new) == (4, True, 4, False)


REFUSED = [
    ("DROP COLUMN X", UsageError, "did you mean x"),
    ("ADD COLUMN id INTEGER", ExistsError, "has a column id already"),
    ("ADD x NUMBER", QueryError, "unknown type 'number'"),
    ("ADD y INTEGER DEFAULT 'a'", QueryError, "expected an integer of 64 bits"),
    ("ADD y INTEGER DEFAULT id", QueryError, "a default is a constant"),
    ("ADD y INTEGER NOT NULL", UsageError, "without a default"),
    ("ALTER id SET DEFAULT 3", QueryError, "the default of a column does not change"),
    ("ALTER COLUMN y SET NOT NULL", UsageError, "no column y"),
    ("ALTER COLUMN id TYPE STRING", UsageError, "cannot become string"),
    ("RENAME COLUMN id TO x", ExistsError, "has a column x already"),
]


@pytest.mark.parametrize(("action", "error", "message"), REFUSED)
def test_alter_table_refuses(
    db: Connection, action: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as caught:
        alter(db, action)
    assert message in f"{caught.value} {getattr(caught.value, 'hint', '')}"
    assert db.table("web.t").version == 3


DONE = [
    ("DROP COLUMN IF EXISTS y", 3),
    ("ADD COLUMN IF NOT EXISTS id INTEGER", 3),
    ("ALTER COLUMN id SET NOT NULL", 4),
    ("ALTER COLUMN id TYPE DOUBLE", 4),
    ("ALTER COLUMN id DROP NOT NULL", 3),
    ("ADD COLUMN y DATE DEFAULT '2026-11-01' NOT NULL FIRST", 4),
    ("ADD COLUMN s STRUCT<a INTEGER, b LIST<STRING>>, ADD COLUMN s.c DECIMAL(10, 2)", 4),
    ("ALTER COLUMN x COMMENT 'anything'", 4),
]


@pytest.mark.parametrize(("action", "version"), DONE)
def test_alter_table_changes(db: Connection, action: str, version: int) -> None:
    alter(db, action)
    assert db.table("web.t").version == version


def test_alter_table_is_alone_and_needs_a_schema(db: Connection) -> None:
    with pytest.raises(UnsupportedError, match="only statement of its transaction"):
        db.execute("BEGIN; ALTER TABLE web.t DROP COLUMN x; DELETE FROM web.t; COMMIT")
    db.execute("CREATE TABLE web.u")
    with pytest.raises(UnsupportedError, match="has no schema"):
        alter(db, "ADD COLUMN x DATE", "web.u")
    with pytest.raises(NotFoundError):
        alter(db, "ADD COLUMN x DATE", "web.v")
    db.execute("ALTER TABLE IF EXISTS web.v ADD COLUMN x DATE")
    db.execute("COMMENT ON COLUMN web.t.x IS 'what it was'")
    schema = db.table("web.t").schema
    assert schema is not None
    assert schema.columns[1].description == "what it was"


def test_comments_on_tables_change_the_description_alone(db: Connection) -> None:
    db.create("web.defined", "in/*.json")
    before = read_definition(db.root, TableKeys("web", "defined"))
    version = db.table("web.t").version
    for name in ("web.t", "web.defined"):  # that without a definition gets one
        for text, value, is_new in (
            ("'visits'", "visits", True),
            ("'visits'", "visits", False),
            ("NULL", "", True),
            ("'again'", "again", True),
        ):
            (dry,) = db.execute(f"EXPLAIN COMMENT ON TABLE {name} IS {text}")
            assert (dry.is_dry, dry.is_new) == (True, False)
            (done,) = db.execute(f"COMMENT ON TABLE {name} IS {text}")
            assert done.is_new is is_new
            definition = read_definition(db.root, TableKeys(*name.split(".")))
            assert definition.description == value
    assert replace(definition, description="") == before
    assert db.table("web.t").version == version
    with db.sql("SELECT table_comment AS c FROM information_schema.tables") as result:
        assert list(result) == [{"c": "again"}]
    db.execute("COMMENT ON COLUMN web.t.id IS 'its number'")
    with db.sql("DESCRIBE web.t") as result:
        assert [row["description"] for row in result] == ["its number", ""]


def test_comments_on_tables_lose_nothing_that_others_wrote(
    db: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "COMMENT ON TABLE web.t IS 'visits'"
    path = Path(db.root.location, "db", "web", "t", "definition.json")
    path.write_text('{"steward": "ann", "colour": "red"}')
    with pytest.raises(UnsupportedError, match="colour"):
        db.execute(text)
    path.write_text('{"steward": "ann"}')
    put = LocalStore.put_if_match

    def other_first(*args: Any, **options: Any) -> str:
        monkeypatch.undo()
        path.write_text('{"steward": "bob"}')
        return put(*args, **options)

    monkeypatch.setattr(LocalStore, "put_if_match", other_first)
    db.execute(text)
    definition = read_definition(db.root, TableKeys("web", "t"))
    assert (definition.steward, definition.description) == ("bob", "visits")


def test_comments_on_what_has_no_description_are_refused(db: Connection) -> None:
    db.execute("CREATE VIEW web.v AS SELECT 1 AS x; CREATE TABLE web.gone; DROP TABLE web.gone")
    for name, kind, match in (
        ("web.v", UnsupportedError, "is a view"),
        ("web.gone", NotFoundError, "was dropped"),
        ("web.none", NotFoundError, "there is no table"),
        ("web.t@other", UnsupportedError, "is a branch"),
    ):
        with pytest.raises(kind, match=match):
            db.execute(f"COMMENT ON TABLE {name} IS 'x'")
    with pytest.raises(QueryError, match="a view has no description"):
        db.execute("COMMENT ON VIEW web.v IS 'x'")
    with pytest.raises(UnsupportedError, match="only statement of its transaction"):
        db.execute("BEGIN; COMMENT ON TABLE web.t IS 'x'; DELETE FROM web.t; COMMIT")


def test_show_and_diff_tell_what_became_of_columns(db: Connection) -> None:
    alter(db, "RENAME COLUMN x TO y, ADD COLUMN z DATE")
    shown = db.table("web.t").show()
    assert [(each.change, each.column) for each in shown.schema] == [
        ("renamed", "y"),
        ("added", "z"),
    ]
    assert shown.as_dict()["schema"] == [each.as_dict() for each in shown.schema]
    difference = db.table("web.t@2").diff(db.table("web.t"))
    assert [each.column for each in difference.schema] == ["", "id", "y", "z"]
    assert db.table("web.t@1").diff(db.table("web.t@2")).schema == ()
