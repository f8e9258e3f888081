"""`sdb compact --cluster-by`: tables whose packfiles are sorted."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import pytest

import sdb

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run

ROWS = 16_000


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make two packfiles of some blocks each, in the order of time."""
    folder = tmp_path_factory.mktemp("lake")
    dice = random.Random(20)
    connection = sdb.connect(folder)
    connection.create("d.t", "in/*.json")
    for part in range(2):
        lines = [
            f'{{"n": {n}, "at": "2026-01-0{1 + 9 * n // (10 * ROWS)}T{24 * n // ROWS:02}:00:00Z", '
            f'"user": "user-{n * 7919 % 1009:04}", "pad": "{dice.getrandbits(1600):0400x}"}}\n'
            for n in range(part * ROWS // 2, (part + 1) * ROWS // 2)
        ]
        rows = folder / f"{part}.json"
        rows.write_text("".join(lines))
        connection.append("d.t", rows, block_bytes=1 << 20)
    return folder


@pytest.fixture
def lake(first: Path, tmp_path: Path) -> Path:
    """Copy the table to the current folder: links, since no object changes but the index."""
    for path in first.rglob("*"):
        location = tmp_path / path.relative_to(first)
        if path.is_dir():
            location.mkdir()
        elif path.name == "index" or path.suffix == ".json":
            location.write_bytes(path.read_bytes())
        else:
            location.hardlink_to(path)
    return tmp_path


def counted(run: Run, condition: str, name: str = "d.t") -> int:
    text = run("query", "--json", f"SELECT COUNT(*) AS c FROM {name} WHERE {condition}").stdout
    return int(json.loads(text)["c"])


def test_sorted_by_an_option(run: Run, lake: Path) -> None:
    assert lake
    facts = json.loads(run("compact", "-n", "--json", "--cluster-by", "user", "d.t").stdout)
    assert (facts["version"], facts["cluster_by"]) == (None, ["user"])
    assert [len(path["packfiles"]) for path in facts["runs"]] == [1, 1]
    before = counted(run, "user = 'user-0007'"), counted(run, "n < 5000")
    done = run("compact", "d.t", "--cluster-by", "user")
    assert done.returncode == 0, done.stderr
    assert b"2 packfiles" in done.stderr
    assert b"became 2, sorted by user" in done.stderr
    assert b"a moment of at is in " in done.stderr
    assert b"nothing to merge or sort" in run("compact", "d.t", "--cluster-by", "user").stderr
    assert (counted(run, "user = 'user-0007'"), counted(run, "n < 5000")) == before
    assert counted(run, "user = 'user-0007'", "d.t@-1") == before[0]
    assert not run("validate", "d", "t").returncode
    facts = json.loads(run("describe", "--json", "--stats", "d", "t").stdout)["sharpness"]
    assert (facts["clustered_by"], facts["cluster_by"]) == (["user"], [])
    by_name = {path["name"]: path for path in facts["paths"]}
    assert by_name["user"]["read"] <= 0.3
    assert run("describe", "--stats", "d", "t").stdout.count(b"sorted by user\n") == 1

    # Rows that go do not undo it; packfiles that are joined without being sorted do.
    assert not run("exec", "DELETE FROM d.t WHERE n = 3").returncode
    assert b"nothing to merge or sort" in run("compact", "d.t", "--cluster-by", "user").stderr
    done = run("compact", "d.t", "--cluster-by", "usr")
    assert done.stderr.startswith(b'warning: no row of d.t has "usr"; did you mean user?')
    assert b"nothing to merge or sort" in done.stderr
    # Another order is made when it is asked for.
    facts = json.loads(run("compact", "-n", "--json", "--cluster-by", "user,n", "d.t").stdout)
    assert len(facts["runs"]) == 2


def test_sorted_by_the_definition(run: Run, lake: Path) -> None:
    path = lake / "db/d/t/definition.json"
    definition = json.loads(path.read_text()) | {"cluster_by": ["user"]}
    path.write_text(json.dumps(definition))
    assert json.loads(run("def", "d", "t").stdout)["cluster_by"] == ["user"]
    assert b"nothing to merge among" in run("compact", "--cluster-by", "off", "d.t").stderr
    facts = json.loads(run("compact", "--json", "d.t").stdout)
    assert [item["clustered"] for item in facts["runs"]] == [True, True]
    assert all(item["inputs_known"] for item in facts["runs"])
    moment = facts["blocks_at_a_moment"]
    assert moment["path"] == "at"
    assert moment["before"] < moment["after"] <= 1

    assert not run("validate", "d", "t").returncode


BAD = (
    ("user,", "invalid path to cluster by"),
    ("a,b,c,d,e", "expected 1 to 4 paths, got 5"),
    ("items[].id", "leads through a list"),
)


def test_bad_words(run: Run, lake: Path) -> None:
    assert lake
    for text, expected in BAD:
        done = run("compact", "--cluster-by", text, "d.t")
        assert (done.returncode, expected in done.stderr.decode()) == (2, True), done.stderr
