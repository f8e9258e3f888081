"""Crafted tables: signed with the key, and made to reach what is not theirs.

Beside the table that is attacked lie another one with the same key, a root of somebody else, and a
file with a canary. Whatever a command makes of the crafted table: these stay byte for byte as they
are, and the canary is in no answer, no message and no packfile.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb import ion
from sdb.cli import main
from sdb.records import replace
from sdb.table.catalog.foreign import seal_of
from sdb.table.catalog.handle import open_table
from sdb.table.catalog.intents import TransactionIntent
from sdb.table.format import etags
from sdb.table.format.history import VersionPointer
from sdb.table.format.index import Quarantined
from sdb.table.format.keys import TableKeys
from tests.attack.harness import DOCUMENTED, ROUNDS, dice
from tests.table.made import craft, tree_of, write_index
from tests.table.roots import LOCAL

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from sdb.table.format.descriptor import Descriptor

KEYS = TableKeys("d", "t")
SECRET = TableKeys("d", "secret")
CANARY = "canary-4711"
UID = "A" * 26
OLD = 1_600_000_000
COMMANDS = (
    "describe d t",
    "tables d",
    "inputs d t --check",
    "log d.t",
    "show d.t@-1",
    "validate d t",
    "query SELECT+*+FROM+d.t",
    "query SELECT+*+FROM+d.t@-1",
    "query SELECT+COUNT(*)+FROM+d.t@side",
    "diff d.t@-1 d.t",
    "sync d t",
    "insert d.t row.json",
    "exec UPDATE+d.t+SET+n=7+WHERE+n=1",
    "exec DELETE+FROM+d.t+WHERE+n=2",
    "compact d.t",
    "merge d.t side",
    "restore d.t -- -1",
    "fork d.t d.copy",
    "fork --share d.t d.shared",
    "push d.t pushed",
    "branch -d d.t side",
    "expire d.t --all-but-head",
    "gc d.t --grace 0s",
    "gc d.t --grace 0s",
)


class World:
    """A root that is attacked, and what must stay as it is."""

    def __init__(self, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.lake = folder / "lake"
        self.table = self.lake / KEYS.folder
        self._capfd = capfd
        self._before: dict[str, str] = {}

    def seal(self) -> None:
        """Remember what must not change."""
        self._before = self._print()

    def _print(self) -> dict[str, str]:
        results = {}
        for above in (self.lake / "db/d/secret", self.lake / "db/e", self.folder / "outside"):
            for path in sorted(above.rglob("*")):
                if path.is_file():
                    results[str(path)] = hashlib.sha256(path.read_bytes()).hexdigest()
                else:
                    results[str(path)] = "folder"
        return results

    def run(self, command: str) -> tuple[int, str]:
        self._capfd.readouterr()
        words = [word.replace("+", " ") for word in command.split()]
        code = main.run(["--root", "lake", *words])
        out, err = self._capfd.readouterr()
        assert code in DOCUMENTED, (command, code, err)
        assert "Traceback" not in err, (command, err)
        assert CANARY not in out + err, command
        assert self._print() == self._before, command
        return code, err

    def check(self) -> None:
        """Run all commands, and look into all that they have made."""
        for command in COMMANDS:
            self.run(command)
        for above in (self.table, self.lake / "db/d/copy", self.folder / "pushed"):
            for path in above.rglob("*.zion"):
                if path.is_symlink() or self.folder / "outside" in path.resolve().parents:
                    continue
                with sdb.sql(f"SELECT * FROM '{path}'") as result:
                    assert CANARY not in repr(list(result)), path

    def stolen(self) -> tuple[Descriptor, ...]:
        """Use the packfiles of the other table."""
        return open_table(self.lake, "d", "secret").index.inline


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("tables")
    for name in ("lake/in", "outside/in"):
        (folder / name).mkdir(parents=True)
    (folder / "row.json").write_text('{"n": 3}')
    (folder / "lake/in/a.json").write_text('{"n": 1}')
    (folder / "outside/in/secret.json").write_text(json.dumps({"n": CANARY}))
    db = sdb.connect(folder / "lake")
    db.create("d.t", "in/*.json")
    db.sync("d.t")
    for number in range(3):
        db.append("d.t", [{"n": number}])
    db.table("d.t").branch("side")
    db.append("d.t@side", [{"n": 8}])
    db.table("d.t").tag("good", 2)
    for item in (db, sdb.connect(folder / "outside")):
        for name in ("d.secret", "e.t"):
            item.execute(f"CREATE TABLE {name}")
            for _ in range(3):
                item.append(name, [{"n": CANARY}])
            item.table(name).branch("audit")
            item.append(f"{name}@audit", [{"n": CANARY}])
            item.table(name).fork("e.fork" if name == "e.t" else "d.forked", share=True)
    for path in folder.rglob("*"):
        if path.is_file():
            os.utime(path, (OLD, OLD))
    return folder


@pytest.fixture
def world(
    clean: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> World:
    folder = tmp_path / "world"
    shutil.copytree(clean, folder)
    shutil.copytree(folder / "lake" / KEYS.folder, folder / "clean")
    monkeypatch.chdir(folder)
    monkeypatch.delenv("SDB_ALLOW_INPUTS", raising=False)
    monkeypatch.delenv("SDB_DEBUG", raising=False)
    made_world = World(folder, capfd)
    made_world.seal()
    return made_world


SHARES: tuple[dict[str, str], ...] = (
    {},
    {"d.secret": "main"},
    {"d.secret": "audit"},
    {"d.secret": "fork-d.t-ABCDEFGH"},
    {"d.secret": "fork-d.forked-ABCDEFGH"},
    {"e.t": "audit", "d.secret": "audit"},
)


@pytest.mark.parametrize("shares", SHARES, ids=str)
@pytest.mark.parametrize("location", ["inline", "list", "nowhere"])
def test_crafted_shares(world: World, shares: dict[str, str], location: str) -> None:
    stolen = world.stolen()
    if location == "list":
        handle = open_table(world.lake, "d", "t")
        index = replace(handle.index, indirect=tree_of(world.lake, KEYS, list(stolen), 2))
        write_index(world.lake, KEYS, index)
    craft(world.lake, "d.t", shares=shares, inline=stolen if location == "inline" else None)
    world.check()


@pytest.mark.parametrize(
    "key",
    [
        "../outside/in/secret.json",
        "db/d/t/../secret/index",
        "/etc/passwd",
        "db/e/t/index",
        "db/d/t/data/../../../../../outside/in/secret.json",
        "db//d/t/x.zion",
        "in/a.json",
        "",
        ".",
        "db/d/t\0/x",
    ],
)
def test_crafted_keys_of_packfiles(world: World, key: str) -> None:
    (item, *rest) = open_table(world.lake, "d", "t").index.inline
    craft(world.lake, "d.t", inline=(replace(item, key=key), *rest))
    code, _ = world.run("query SELECT+*+FROM+d.t")
    assert code == 6
    world.check()


def links(world: World) -> Iterator[tuple[Path, Path]]:
    """Yield symbolic links below `db`, and where they lead."""
    outside, table = world.folder / "outside", world.table
    packfile = next((outside / "db/d/secret/data").rglob("*.zion"))
    yield table / "data/X.zion", packfile
    yield table / "data/deep", outside / "db/d/secret/data"
    yield table / "versions/extra", outside / "db/d/secret/versions"
    yield table / "branches/evil", outside / "db/d/secret/branches/audit"
    yield table / "leases", outside / "in"
    yield table / f"packed-{UID}.zion", outside / "in/secret.json"
    yield world.lake / "db/d/alias", outside / "db/e/t"
    yield world.lake / "db/alias", outside / "db/d"


@pytest.mark.parametrize("number", range(8))
def test_links_below_a_table(world: World, number: int) -> None:
    at, to = list(links(world))[number]
    at.parent.mkdir(exist_ok=True)
    at.symlink_to(to)
    if at.suffix == ".zion":
        stolen = open_table(world.folder / "outside", "d", "secret").index.inline[0]
        key = str(at.relative_to(world.lake))
        own = open_table(world.lake, "d", "t").index.inline
        craft(world.lake, "d.t", inline=(*own, replace(stolen, key=key)))
    world.check()
    for command in ("gc d.alias --grace 0s", "describe alias secret", "gc alias.t --grace 0s"):
        assert world.run(command)[0] in {3, 7}
    assert at.is_symlink()


@pytest.mark.parametrize("name", ["data", "versions", "", "index"])
def test_folders_of_a_table_that_are_links(world: World, name: str) -> None:
    """The table is a link to that of somebody else, whose keys fit."""
    at = world.table / name if name else world.table
    target = world.folder / "outside/db/d/moved"
    shutil.move(at, target)
    at.symlink_to(target)
    world.seal()
    world.check()
    assert world.run("insert d.t row.json")[0] == 7
    if name != "data":  # which nothing else has to look into
        for command in ("gc d.t --grace 0s", "expire d.t --all-but-head"):
            assert world.run(command)[0] == 7, command


def test_a_link_to_an_allowed_place_is_followed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.move(world.table, world.folder / "large")
    world.table.symlink_to(world.folder / "large")
    assert world.run("query SELECT+*+FROM+d.t")[0] == 7
    monkeypatch.setenv("SDB_ALLOW_INPUTS", "large")
    assert world.run("query SELECT+*+FROM+d.t")[0] == 0
    assert world.run("insert d.t row.json")[0] == 0


NAMES = ("../../secret", "..", "audit/../../secret", "/etc", "", "a@b", "-1", "x" * 300, "\n")


@pytest.mark.parametrize("name", NAMES)
def test_crafted_names_of_branches(world: World, name: str) -> None:
    craft(world.lake, "d.t", branches=("side", name))
    assert world.run("describe d t")[0] == 6
    world.check()
    craft_raw(world, lambda state: state | {"branch": name})
    world.check()


def craft_raw(world: World, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Begin with the table as it was, and change its state as it is stored."""
    shutil.rmtree(world.table)
    shutil.copytree(world.folder / "clean", world.table)
    handle = open_table(world.lake, "d", "t")
    assert handle.state is not None
    value = change(handle.state.struct() | {"seal": seal_of(handle.index)})
    index = replace(handle.index, user_data=handle.index.user_data | {"sdb": value})
    write_index(world.lake, KEYS, index)


@pytest.mark.parametrize("member", ["parent", "merged", "tags", "merges", "history", "older"])
@pytest.mark.parametrize("has_etag", [True, False])
def test_crafted_versions(world: World, member: str, *, has_etag: bool) -> None:
    """A version that is another table's, in another database, with the same name."""
    other = open_table(world.lake, "e", "t")
    assert other.state is not None
    key = other.keys.version(other.state.version, other.state.commit)
    etag = etags.of_content([(world.lake / key).read_bytes()]) if has_etag else ""
    state = open_table(world.lake, "d", "t").state
    assert state is not None
    pointer = VersionPointer(1, key, etag)
    past = replace(state.history[0], key=key, etag=etag)
    older = {"path": key, "etag": etag, "first": 1, "last": 1, "versions": 1}
    at = ion.instant_from_us(1)
    values: dict[str, Any] = {
        "tags": {"good": pointer.struct()},
        "merges": {"side": pointer.struct()},
        "history": [past.struct()],
        "older": [older | {"first-at": at, "last-at": at}],
    }
    craft_raw(world, lambda item: item | {member: values.get(member, pointer.struct())})
    world.run("query SELECT+*+FROM+d.t@good")
    world.run("query SELECT+*+FROM+d.t@1")
    world.check()


@pytest.mark.parametrize("step", ["pending", "committed", "aborted"])
@pytest.mark.parametrize("uid", [UID, "../secret", ""])
def test_crafted_intents(world: World, step: str, uid: str) -> None:
    """An intent that names the tables of others decides nothing of them."""
    folder = world.lake / "db/d/transactions"
    folder.mkdir(exist_ok=True)
    heads = (KEYS.index, SECRET.index, "db/e/t/branches/audit/index")
    data = TransactionIntent(step, heads, dict.fromkeys(heads, 99)).encode(LOCAL)
    (folder / UID).write_bytes(data)
    os.utime(folder / UID, (OLD, OLD))
    craft_raw(world, lambda state: state | {"transaction": f"db/d/transactions/{uid}"})
    world.check()
    for head in ("../outside/x", "db/d/secret/data/x", "db/d/t/branches/../index", "db/d/t"):
        intent = TransactionIntent(step, (KEYS.index, head), {head: 1})
        (folder / UID).write_bytes(intent.encode(LOCAL))
        world.run("gc d.t --grace 0s")
        world.run("query SELECT+*+FROM+d.t")


def test_crafted_leases_and_quarantine(world: World) -> None:
    handle = open_table(world.lake, "d", "t")
    gone = [Quarantined(key, 0) for key in (SECRET.index, "db/e/t/index", KEYS.index)]
    stolen = replace(handle.index, inline=world.stolen(), to_delete=tuple(gone))
    (world.table / "leases").mkdir()
    for data in (stolen.encode(LOCAL), b"", b"x" * 100, (world.lake / SECRET.index).read_bytes()):
        (world.table / "leases" / UID).write_bytes(data)
        world.run("gc d.t --grace 0s")
    (world.table / "leases" / UID).unlink(missing_ok=True)
    write_index(world.lake, KEYS, replace(handle.index, to_delete=tuple(gone)))
    world.check()


@pytest.mark.parametrize("uri", ["file://../outside/in/secret.json", "s3://other/in/a.json"])
def test_crafted_inputs(world: World, uri: str) -> None:
    """An input that was never taken is not looked at out of the root."""
    handle = open_table(world.lake, "d", "t")
    journal = tuple([replace(item, path=uri) for item in handle.index.inputs.journal or ()])
    assert journal
    inputs = replace(handle.index.inputs, journal=journal)
    write_index(world.lake, KEYS, replace(handle.index, inputs=inputs))
    code, err = world.run("inputs d t --check")
    assert code == 7
    assert "leads out of the root" in err
    world.check()


NASTY: tuple[Any, ...] = (
    *("../../x", "/etc/passwd", SECRET.index, "", "..", "a/b", "x" * 300, "\n", "d.secret"),
    *(0, -1, 1, 2**63, 2**64 - 1, True, False, None, 1.5, b"", b"x" * 16),
    *([], {}, [1], ["x"], [{}], [None], {"a": 1}, {"d.secret": "audit"}, {"": 1}),
    *(ion.instant_from_us(0), ion.instant_from_us(10**17), '"b2sum:x"'),
    {"version": 3, "path": "db/e/t/versions/x", "etag": ""},
    {"a": {"version": 1, "path": "db/d/t/versions/1", "etag": "x"}},
)


def mutated(value: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """Put something else in the place of a member, at any depth."""
    name = chance.choice(list(value))
    old = value[name]
    if isinstance(old, dict) and old and chance.random() < 0.6:
        return value | {name: mutated(old, chance)}
    if isinstance(old, list) and old and isinstance(old[0], dict) and chance.random() < 0.6:
        at = chance.randrange(len(old))
        return value | {name: [*old[:at], mutated(old[at], chance), *old[at + 1 :]]}
    if chance.random() < 0.1:
        return {key: member for key, member in value.items() if key != name}
    return value | {name: chance.choice(NASTY)}


@pytest.mark.parametrize("batch", range(6 * ROUNDS))
def test_mutated_states(world: World, batch: int) -> None:
    """Members of any kind: an answer, or an error that is documented."""
    chance = dice("states", batch)
    for _ in range(15):
        craft_raw(world, lambda state: mutated(state, chance))
        for command in chance.sample(COMMANDS, 4):
            world.run(command)


SPELLINGS = (
    "../secret/*.json",
    "../secret/s.json",
    "./../secret/s.json",
    "in/../../secret/s.json",
    "in/../../secret/*",
    "*/../../secret/s.json",
    "{x}/../../secret/{y}.json",
    "in/./../../secret/?.json",
    "../[s]ecret/*.json",
    "../{place}/s.json",
    "..//secret/s.json",
    "../lake/../secret/s.json",
    "../*/*.json",
    "link/*.json",
    "link/s.json",
    "l*/*.json",
    "{link}/s.json",
    "in/linked.json",
    "in/linked.jso[n]",
    "in/l{x}.json",
    "up/secret/s.json",
    "u?/{x}/s.json",
    "round/../secret/s.json",
    "/../secret/s.json",
    "/etc/passwd",
    "//etc/passwd",
    "%2e%2e/secret/*.json",
    "..%2fsecret/*.json",
    "localhost/etc/passwd",
    "localhost/../../secret/s.json",
    r"\.\./secret/*.json",
    "[.][.]/secret/*.json",
    "?./secret/*.json",
    "[.][.][/]secret[/]s.json",
    "~/../secret/s.json",
    "$PWD/../../secret/s.json",
    "db/../../secret/s.json",
    "../secret/s.json/",
    "..",
    "",
)


@pytest.mark.parametrize("path", SPELLINGS)
def test_spellings_of_a_pattern(world: World, path: str) -> None:
    """Whatever a definition says, nothing comes in from outside."""
    secret = world.folder / "secret"
    secret.mkdir()
    (secret / "s.json").write_text(json.dumps({"n": CANARY}))
    (world.lake / "link").symlink_to("../secret")
    (world.lake / "up").symlink_to("..")
    (world.lake / "round").symlink_to(world.folder / "outside")
    (world.lake / "in/linked.json").symlink_to("../../secret/s.json")
    definition = {"input": [{"pattern": f"file://{path}", "format": "json"}]}
    (world.table / "definition.json").write_text(json.dumps(definition))
    before = sorted(world.table.rglob("*"))
    for command in ("sync d t -n", "sync d t", "sync d t --retry --changed replace"):
        assert world.run(command)[0] in {0, 7}
    assert sorted(world.table.rglob("*")) == before
    definition["input"][0]["hints"] = str(secret / "s.json")
    (world.table / "definition.json").write_text(json.dumps(definition))
    for command in ("sync d t", "inputs d t --check", "query SELECT+*+FROM+d.t"):
        world.run(command)


def test_the_bounds_are_what_keeps_them_out(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same patterns find the canary where everything is allowed: the test can fail."""
    (world.folder / "secret").mkdir()
    (world.folder / "secret/s.json").write_text(json.dumps({"n": CANARY}))
    monkeypatch.setenv("SDB_ALLOW_INPUTS", "/")
    definition = {"input": [{"pattern": "file://../secret/*.json"}]}
    (world.table / "definition.json").write_text(json.dumps(definition))
    assert world.run("sync d t")[0] == 0
    with pytest.raises(AssertionError):
        world.run("query SELECT+*+FROM+d.t")
