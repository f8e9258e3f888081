"""Patterns of definitions stay below the root, unless the one who runs a command allows a place."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import sdb
from sdb.errors import AccessError, UsageError
from sdb.table.catalog import root
from sdb.table.catalog.root import table_root
from sdb.table.inputs.listing import check_patterns
from sdb.table.inputs.places import InputBounds, OutsideError

if TYPE_CHECKING:
    from pathlib import Path
    from subprocess import CompletedProcess

    from tests.cli.conftest import Run

LAKE = ("--root", "lake")
CANARY = "canary-4711"
OUTSIDE = "file://../secret/*.json"


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Make a root with a good table, and a folder outside that has a canary."""
    for folder in ("lake/in/deep", "secret"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "lake/in/a.json").write_text('{"a": 1}')
    (tmp_path / "secret/s.json").write_text(json.dumps({"a": CANARY}))
    define(tmp_path / "lake", "good", "file://in/a.json")
    return tmp_path / "lake"


def define(lake: Path, table: str, *patterns: str) -> None:
    """Store a definition as another program may, unchecked."""
    folder = lake / "db/d" / table
    folder.mkdir(parents=True, exist_ok=True)
    value = {"input": [{"pattern": pattern} for pattern in patterns]}
    (folder / "definition.json").write_text(json.dumps(value))


def told(done: CompletedProcess[bytes]) -> str:
    """Return the one line of an error."""
    [line] = [item for item in done.stderr.decode().splitlines() if item.startswith("sdb: ")]
    return line


def packed(lake: Path) -> bytes:
    return b"".join(path.read_bytes() for path in lake.glob("db/**/*") if path.is_file())


def rows(lake: Path, table: str) -> list[object]:
    return list(sdb.connect(lake).table(f"d.{table}").to_arrow()["a"].to_pylist())


SPELLINGS = (
    OUTSIDE,
    "file://../secret/s.json",
    "file://./../secret/s.json",
    "file://in/../../secret/s.json",
    "file://in/../../secret/*",
    "file://*/../../secret/s.json",
    "file://{x}/../../secret/{y}.json",
    "file://in/deep/../../../secret/?.json",
    "file://../[s]ecret/*.json",
    "file://../{place}/s.json",
    "file://..//secret/s.json",
    "file://../lake/../secret/s.json",
    "file://../*/*.json",
    "file://link/*.json",
    "file://link/s.json",
    "file://l*/*.json",
    "file://{link}/s.json",
    "file://in/linked.json",
    "file://in/linked.jso[n]",
    "file://in/{x}.json",
    "s3://other/in/*.json",
    "s3://other/*",
    "s3:///in/*.json",
    "s3://*/in/*.json",
)
HARMLESS = (
    "file:///etc/passwd",
    "file://%2e%2e/secret/*.json",
    "file://..%2fsecret/*.json",
    "file://localhost/../in/%2e%2e/*.json",
    "file://localhost/etc/passwd",
    r"file://\.\./secret/*.json",
    "file://[.][.]/secret/*.json",
    "file://?\u002e/secret/*.json",
    "file://[.][.][/]secret[/]s.json",
    "file://~/secret/*.json",
    "file://$PWD/../in/*.none",
)


@pytest.mark.parametrize("pattern", SPELLINGS)
def test_a_pattern_that_leads_out_is_refused(run: Run, lake: Path, pattern: str) -> None:
    (lake / "link").symlink_to("../secret")
    (lake / "in/linked.json").symlink_to("../../secret/s.json")
    define(lake, "bad", "file://in/a.json", pattern)
    for words in (["sync", "-n"], ["sync"]):
        done = run(*words, *LAKE, "d")
        assert done.returncode == 7, done.stderr
        line = told(done)
        assert line.startswith(
            f"sdb: d.bad: the pattern {pattern!r} leads out of the root lake, to "
        )
        assert line.endswith("; --allow-inputs (or SDB_ALLOW_INPUTS) allows a place")
        assert CANARY.encode() not in done.stderr + done.stdout
    assert rows(lake, "good") == [1]
    assert not (lake / "db/d/bad/index").exists()
    assert CANARY.encode() not in packed(lake)


@pytest.mark.parametrize("pattern", HARMLESS)
def test_a_pattern_that_only_looks_so_finds_nothing(run: Run, lake: Path, pattern: str) -> None:
    define(lake, "odd", pattern)
    done = run("sync", *LAKE, "d")
    assert done.returncode == 0, done.stderr
    assert not (lake / "db/d/odd/index").exists()


def test_links_within_the_root_are_followed(run: Run, lake: Path) -> None:
    (lake / "link").symlink_to("in")
    (lake / "in/deep/b.json").symlink_to("../a.json")
    define(lake, "linked", "file://link/deep/*.json")
    assert run("sync", *LAKE, "d").returncode == 0
    assert rows(lake, "linked") == [1]
    (lake.parent / "alias").symlink_to("lake")
    (lake / "in/deep/c.json").write_text('{"a": 3}')
    assert run("sync", "--root", "alias", "d").returncode == 0
    assert sorted(map(int, map(str, rows(lake, "linked")))) == [1, 3]


@pytest.mark.parametrize("allowed", ["secret", "./secret/", "lake/../secret", "secret/s.json", "."])
def test_who_runs_it_may_allow_a_place(run: Run, lake: Path, allowed: str) -> None:
    define(lake, "wide", "file://../secret/s.json")
    assert run("sync", *LAKE, "d", "--allow-inputs", "lake/in").returncode == 7
    assert run("sync", *LAKE, "d", "--allow-inputs", "secre").returncode == 7
    done = run("sync", *LAKE, "d", "--allow-inputs", "nowhere", "--allow-inputs", allowed)
    assert done.returncode == 0, done.stderr
    assert rows(lake, "wide") == [CANARY]
    # A listing that was settled with more allowed does not count any more.
    assert run("sync", *LAKE, "d").returncode == 7
    check = ("inputs", *LAKE, "d", "wide", "--check")
    assert run(*check).returncode == 7
    assert b"taken" in run(*check, "--allow-inputs", allowed).stdout


def test_a_link_is_refused_again_after_a_settled_listing(run: Run, lake: Path) -> None:
    define(lake, "linked", "file://in/*.json")
    (lake / "in/linked.json").symlink_to("../../secret/s.json")
    for _ in range(3):
        assert run("sync", *LAKE, "d", "--allow-inputs", "secret").returncode == 0
    assert run("sync", *LAKE, "d").returncode == 7


def test_the_environment_may_allow_places(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(lake.parent)
    monkeypatch.setenv(root.VARIABLE, "s3://a:/b:s3://c/d:secret")
    expected = ("s3://a", "/b", "s3://c/d", str(lake.parent / "secret"))
    assert table_root(lake).allowed_inputs == expected
    assert table_root(lake, allow_inputs="x").allowed_inputs == (str(lake.parent / "x"), *expected)
    sdb.connect(lake).create("d.wide", OUTSIDE)
    assert sdb.connect(lake).sync("d.wide").rows == 1
    monkeypatch.setenv(root.VARIABLE, "gopher://a")
    with pytest.raises(UsageError, match="unknown scheme gopher://"):
        table_root(lake)
    monkeypatch.delenv(root.VARIABLE)
    with pytest.raises(UsageError, match="no place of inputs"):
        table_root(lake, allow_inputs=[""])


def test_python_may_allow_places(lake: Path) -> None:
    db = sdb.connect(lake)
    with pytest.raises(AccessError, match="leads out of the root"):
        db.create("d.wide", OUTSIDE)
    secret = lake.parent / "secret"
    db.create("d.wide", OUTSIDE, allow_inputs=secret)
    with pytest.raises(OutsideError, match=r"d\.wide: the pattern"):
        db.sync("d.wide")
    assert db.sync("d.wide", allow_inputs=[secret]).rows == 1
    (secret / "t.json").write_text('{"a": 2}')
    assert sdb.connect(lake, allow_inputs=[secret]).sync("d.wide").rows == 1


@pytest.mark.parametrize("pattern", ["../secret/*", "in/../../secret/{n}.json", "x/*/../../../y/*"])
def test_create_refuses_what_no_sync_would_take(run: Run, lake: Path, pattern: str) -> None:
    words = ("create", *LAKE, "d", "wide", "--input", pattern)
    done = run(*words)
    assert done.returncode == 7, done.stderr
    assert f"the pattern 'file://{pattern}' leads out of the root lake" in told(done)
    assert not (lake / "db/d/wide").exists()
    assert run(*words, "--allow-inputs", ".").returncode == 0


def test_roots_on_s3_have_the_same_bounds() -> None:
    root = table_root("s3://bucket/lake", allow_inputs=["s3://logs/2026"])
    check_patterns(root, ["s3://bucket/lake/*.json", "s3://bucket/lake/in/{x}/*"])
    check_patterns(root, ["s3://logs/2026/*.json", "s3://logs/2026/a", "file://in/*.json"])
    for pattern in (
        "s3://other/in/*.json",
        "s3://bucket/in/*.json",
        "s3://bucket/lakes/*",
        "s3://bucket/*/in/*.json",
        "s3://bucket/lake*/x",
        "s3://bucket/lake/../in/*",
        "s3://logs/2026-01/*",
        "s3://logs/*",
        "file://../in/*",
    ):
        with pytest.raises(OutsideError, match="leads out of the root s3://bucket/lake, to "):
            check_patterns(root, [pattern])
    assert InputBounds(table_root("s3://bucket/lake/")).has("s3://bucket/lake")
    assert InputBounds(table_root("s3://bucket", allow_inputs="s3://")).has("s3://any/thing")


@pytest.mark.parametrize(
    "pattern", ["x.json", "*", "", "{x}", "/", "s3://bucket", "http://x", r"file://a\u0000/*"]
)
def test_a_pattern_without_a_folder_is_told(run: Run, lake: Path, pattern: str) -> None:
    define(lake, "bad", pattern.encode().decode("unicode_escape"))
    done = run("sync", *LAKE, "d")
    assert done.returncode == 2, done.stderr
    assert told(done).startswith("sdb: d.bad: bad pattern")
    assert rows(lake, "good") == [1]
    assert run("create", *LAKE, "d", "new", "--input", "s3://bucket").returncode == 2


def test_a_pattern_that_is_no_text_is_told(run: Run, lake: Path) -> None:
    define(lake, "bad", "file://in/\ud800/*")
    done = run("sync", *LAKE, "d")
    assert done.returncode == 6, done.stderr
    assert told(done).endswith(
        "db/d/bad/definition.json: invalid input.pattern: expected text in Unicode"
    )
    assert rows(lake, "good") == [1]
