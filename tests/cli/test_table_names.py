"""Tables are DB.TABLE or DB TABLE for every command that takes one."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb.cli.commands import leaves, load
from sdb.cli.parameters import Argument, Option, described
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


# A line for each command that reads a version; {} is the table.
READERS = {
    "unpack": "--fmt json {}",
    "head": "{}",
    "tail": "{}",
    "grep": "-F x {}",
    "fields": "{}",
    "describe": "{}",
    "validate": "-v {}",
    "cp": "{} web.copy",
    "export parquet": "{} folder",
    "inputs": "{}",
    "schema infer": "{}",
    "schema show": "{}",
    "schema check": "{}",
    "schema diff": "{}",
    "log": "{}",
    "show": "{}",
    "diff": "{}",
    "restore": "{}",
    "tag": "{} first",
    "branch": "{} other",
}
WRITERS = {
    "insert": "{} events.json.gz",
    "sync": "{}",
    "schema set": "{} --mode observe",
    "restore": "{} 1",
    "undo": "{}",
}
# Those that take two words for a table take one for packfiles, too.
OF_PACKFILES = {"unpack", "head", "tail", "grep", "fields"}


def takes(name: str, flag: str) -> bool:
    return any(
        flag in option.flags(parameter)
        for parameter, annotation in described(load(name).command)
        for option in getattr(annotation, "__metadata__", ())
        if isinstance(option, Option)
    )


def takes_versions(name: str) -> bool:
    """Whether the help of a command says that it takes a version of a table."""
    return any(
        "@REF]" in f"{argument.metavar} {argument.help}"
        for _, annotation in described(load(name).command)
        for argument in getattr(annotation, "__metadata__", ())
        if isinstance(argument, Argument)
    )


def test_what_reads_or_writes_versions_has_an_option_for_them() -> None:
    named = {name for name in leaves() if takes_versions(name)}
    assert named <= {*READERS, *WRITERS}
    assert {name for name in leaves() if takes(name, "--at")} == {*READERS, "query"}
    assert {name for name in leaves() if takes(name, "--branch")} == {*WRITERS, "follow"}


@pytest.mark.parametrize("name", READERS)
def test_a_version_is_read_the_same_in_each_form(
    run: Any, lake: Path, tmp_path: Path, name: str
) -> None:
    table = sdb.connect(lake).table("web.gha")
    table.set_schema(table.infer_schema())
    table.append([{"id": 3, "more": "x"}])
    forms = [["{}@3"], ["--at", "3", "{}"]]
    outcomes = []
    for number, (option, *behind) in enumerate((*forms, ["web gha@3"])):
        if option == "web gha@3" and name in OF_PACKFILES:
            continue
        copied = tmp_path / f"copy{number}"
        shutil.copytree(lake, copied / "lake")
        first = [option, behind[0]] if behind else []
        line = READERS[name].format((behind or [option])[-1].format("web.gha")).split()
        done = run(*name.split(), "--root", copied / "lake", *first, *line)
        shown = done.stdout.replace(str(copied).encode(), b"COPY")
        outcomes.append((done.returncode, shown, done.stderr.count(b"\n")))
        assert done.returncode in {0, 1}, done.stderr
        shutil.rmtree(tmp_path / "folder", ignore_errors=True)
    assert len({repr(outcome) for outcome in outcomes}) == 1, outcomes
    twice = run(
        *name.split(), "--root", "lake", "--at", "2", *READERS[name].format("web.gha@1").split()
    )
    assert (twice.returncode, b"two versions are named" in twice.stderr) == (2, True)


@pytest.mark.parametrize("name", WRITERS)
def test_a_branch_is_changed_and_no_other(run: Any, lake: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "lake/in/new.json").write_text('{"id": 9}')
    db = sdb.connect(lake)
    db.table("web.gha@side").append([{"id": 7}])
    db.table("web.gha").set_schema(db.table("web.gha").infer_schema())
    before = db.table("web.gha").version
    line = WRITERS[name].format("web.gha").split()
    if name == "schema set":
        run("schema", "infer", "--root", "lake", "--set", "--at", "side", "web.gha")
    done = run(*name.split(), "--root", "lake", "--branch", "side", *line)
    assert done.returncode == 0, done.stderr
    assert db.table("web.gha").version == before
    log = json.loads(run("log", "--json", "--root", "lake", "web.gha@side").stdout)["versions"]
    assert len(log) > 3


def test_times_of_tables_and_versions_are_datetimes_in_python(lake: Path) -> None:
    db = sdb.connect(lake)
    db.table("web.gha").tag("first", 1)
    (facts,) = db.tables()
    times = [ref.at for ref in db.table("web.gha").refs()]
    times += [entry.at for entry in db.table("web.gha").log()]
    assert len(times) == 5
    assert facts.newest_at is None
    assert all(facts.synced_at >= each for each in times)
    assert all(each.tzinfo is not None for each in times)


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
