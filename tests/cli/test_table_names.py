"""Tables are DB.TABLE or DB TABLE for every command that takes one."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb.cli.tablenames import joined_table, table_of, version_of
from sdb.errors import UsageError
from sdb.table.catalog.root import table_root
from sdb.table.definition.create import create_table, definition_of
from tests.cli.conftest import SAMPLE

if TYPE_CHECKING:
    from pathlib import Path

COMMANDS = [
    "describe {}",
    "describe --at -1 {}",
    "inputs {}",
    "def {}",
    "create --force {} definition.json",
    "create --force {} --input in/*.json",
    "validate {}",
    "sync {}",
    "insert {} events.json.gz",
    "log {}",
    "show {}",
    "diff {} @-1",
    "restore {} 1",
    "tag {}",
    "tag {} june",
    "branch {}",
    "branch {} audit",
    "merge {} side",
    "fork {} web.new",
    "push {} other",
    "gc -n {}",
    "expire -n {} --keep-last 3",
    "compact -n {}",
    "purge -n {} --where id=1",
]


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    shutil.copy(SAMPLE, tmp_path / "events.json.gz")
    (tmp_path / "definition.json").write_text('{"input": [{"pattern": "file://in/*.json"}]}')
    (tmp_path / "lake/in").mkdir(parents=True)
    root = table_root(tmp_path / "lake")
    create_table(root, "web", "gha", definition_of(["file://in/*.json"]))
    tables = sdb.connect(tmp_path / "lake")
    for number in range(2):
        tables.append("web.gha", [{"id": number}])
    tables.table("web.gha").branch("side")
    return tmp_path / "lake"


@pytest.mark.parametrize("form", ["web.gha", "web gha"])
@pytest.mark.parametrize("line", COMMANDS)
def test_both_forms_are_understood(run: Any, lake: Path, line: str, form: str) -> None:
    assert lake.is_dir()
    words = line.format(form).split()
    done = run(words[0], "--root", "lake", *words[1:])
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("form", ["web.gha@1", "web gha@1"])
@pytest.mark.parametrize("line", ["log {}", "show {}", "tag {} first", "branch {} b", "diff {}"])
def test_versions_behind_both_forms(run: Any, lake: Path, line: str, form: str) -> None:
    assert lake.is_dir()
    words = line.format(form).split()
    done = run(words[0], "--root", "lake", *words[1:])
    assert done.returncode == 0, done.stderr


def test_versions_without_an_option(run: Any, lake: Path) -> None:
    assert lake.is_dir()
    first = run("describe", "--root", "lake", "web.gha@1").stdout
    assert first == run("describe", "--root", "lake", "--at", "1", "web", "gha").stdout
    assert first != run("describe", "--root", "lake", "web.gha").stdout
    twice = run("describe", "--root", "lake", "web.gha@1", "--at", "2")
    assert twice.returncode == 2
    assert b"two versions are named: web.gha@1 and --at 2" in twice.stderr


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("log web", "'web' alone is a database"),
        ("tag web.gha june july", "'web.gha' is the table, and 'july' one word too many"),
        ("log web.gha 1 x", "'web.gha' is the table, and 'x' one word too many"),
        ("push web gha", "no root to send it to"),
        ("cp web.gha copy", "'copy' is neither a table nor a folder"),
        ("cp web.gha web.copy --as web.x", "--as names a table below another root"),
        ("gc web.gha@1", "is a version of a table"),
        ("create web.gha definition.json --input x", "there are two definitions"),
        ("create web definition.json", "web.definition.json: a definition is needed"),
        ("create web.new", "sdb exec --root lake 'CREATE TABLE web.new'"),
        ("insert web", "'web' alone is a database"),
    ],
)
def test_errors_say_what_was_understood(run: Any, lake: Path, line: str, expected: str) -> None:
    before = sorted(lake.rglob("*"))
    words = line.split()
    done = run(words[0], "--root", "lake", *words[1:], data=b"{}")
    assert (done.returncode, done.stdout) == (2, b"")
    assert expected in done.stderr.decode()
    assert sorted(lake.rglob("*")) == before


def test_databases_with_dots_are_read_and_no_longer_made(run: Any, tmp_path: Path) -> None:
    (tmp_path / "lake").mkdir()
    (tmp_path / "definition.json").write_text('{"input": [{"pattern": "file://in/*.json"}]}')
    refused = run("create", "--root", "lake", "my.db", "gha", "definition.json")
    assert (refused.returncode, b"'my.db' has a dot" in refused.stderr) == (2, True)
    assert run("create", "--root", "lake", "my_db", "gha", "definition.json").returncode == 0
    (tmp_path / "lake/db/my_db").rename(tmp_path / "lake/db/my.db")
    assert run("def", "--root", "lake", "my.db", "gha").returncode == 0
    assert run("sync", "--root", "lake", "my.db").returncode == 0
    (tmp_path / "lake/in").mkdir()
    (tmp_path / "lake/in/a.json").write_text('{"a": 1}')
    assert run("sync", "--root", "lake", "my.db").returncode == 0
    assert run("describe", "--root", "lake", "my.db", "gha").stdout


@pytest.mark.parametrize(
    "text",
    [
        'CREATE TABLE "web.private".t',
        'CREATE TABLE web."private.t"',
        'CREATE TABLE "web.private".t AS SELECT * FROM web.gha',
        'CREATE VIEW "web.private".v AS SELECT * FROM web.gha',
        'BEGIN; CREATE TABLE "web.private".t; DELETE FROM web.gha WHERE id = 0; COMMIT',
    ],
)
def test_names_with_dots_are_not_made(lake: Path, text: str) -> None:
    with pytest.raises(UsageError, match="has a dot"):
        sdb.execute(text, root=lake)
    db = sdb.connect(lake)
    for make in (lambda name: db.table("web.gha").fork(name), lambda name: db.create(name, "in/*")):
        with pytest.raises(UsageError, match="has a dot"):
            make("web.private.t")
    assert [(table.database, table.table) for table in db.tables()] == [("web", "gha")]


def test_forms() -> None:
    assert table_of("web.gha", None) == table_of("web", "gha") == ("web", "gha")
    assert version_of("a.b", "c@d") == ("a.b", "c", "d")
    assert version_of("web.gha@-1", None) == ("web", "gha", "-1")
    assert joined_table("web", "gha@2", "x") == ("web.gha@2", ["x"])
    assert joined_table("web.gha", "x", None) == ("web.gha", ["x"])
    assert joined_table("web@2021.5", "gha", None) == ("web@2021.5.gha", [])
    with pytest.raises(UsageError, match="alone is a database"):
        joined_table("web", None)
