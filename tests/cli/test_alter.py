"""`sdb alter`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import sdb
from sdb.table.catalog.root import table_root
from sdb.table.definition.alter import alter_table, with_members
from sdb.table.format.keys import TableKeys

if TYPE_CHECKING:
    from pathlib import Path

    from sdb.table.definition.definition import Definition
    from tests.cli.conftest import Run

TABLE = ("--root", "lake", "web.gha")


@pytest.fixture(autouse=True)
def lake(tmp_path: Path) -> sdb.Connection:
    (tmp_path / "lake/in").mkdir(parents=True)
    db = sdb.connect(tmp_path / "lake")
    db.create("web.gha", "in/*.json")
    return db


def definition(run: Run) -> dict[str, object]:
    facts: dict[str, object] = json.loads(run("def", *TABLE).stdout)
    return facts


def test_members_are_set_and_taken_away(run: Run) -> None:
    before = definition(run)
    words = ["--set", "description=of GitHub", "--set", "versions.keep_last=20"]
    done = run("alter", *TABLE, *words, "--unset", "versions.thin")
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr == b"sdb: web.gha: changed versions, description\n"
    versions = {"keep_last": 20, "keep_for": "7d"}
    assert definition(run) == before | {"versions": versions, "description": "of GitHub"}
    again = run("alter", *TABLE, *words)
    assert again.stderr == b"sdb: web.gha: nothing to change\n"


def test_a_dry_run_prints_the_lines_that_differ(run: Run) -> None:
    before = definition(run)
    done = run("alter", *TABLE, "--dry-run", "--set", "steward=ann")
    assert b'+  "steward": "ann"' in done.stdout.splitlines()
    assert done.stderr == b"sdb: web.gha: would change steward\n"
    facts = json.loads(run("alter", *TABLE, "--dry-run", "--json", "--set", "steward=ann").stdout)
    assert (facts["table"], facts["changed"], facts["new"]) == ("web.gha", ["steward"], True)
    assert facts["definition"] == before | {"steward": "ann"}
    assert definition(run) == before


def test_inputs_come_are_read_in_another_way_and_go(run: Run, tmp_path: Path) -> None:
    (tmp_path / "lake/in/a.json").write_text('{"n": 1}\n{"n": 2')
    assert run("sync", *TABLE).returncode == 1
    assert run("alter", *TABLE, "--input", "in/*.json", "--on-error", "skip").returncode == 0
    assert run("alter", *TABLE, "--input", "more/*.json").returncode == 0
    patterns = [{"pattern": "file://in/*.json", "on_error": "skip"}]
    assert definition(run)["input"] == [*patterns, {"pattern": "file://more/*.json"}]
    assert run("sync", "--retry", *TABLE).returncode == 0
    assert run("head", *TABLE).stdout == b'{"n": 1}\n'
    assert run("alter", *TABLE, "--drop-input", "in/*.json").returncode == 0
    assert definition(run)["input"] == [{"pattern": "file://more/*.json"}]


def test_options_of_reading_change_all_inputs_or_those_that_are_named(run: Run) -> None:
    def inputs(*words: str) -> object:
        done = run("alter", *TABLE, *words)
        assert done.returncode == 0, done.stderr
        return definition(run)["input"]

    first: dict[str, object] = {"pattern": "file://in/*.json"}
    second: dict[str, object] = {"pattern": "file://more/*.gz"}
    inputs("--input", "more/*.gz", "--format", "json.gz", "--timezone", "Europe/Berlin")
    second |= {"format": "json.gz", "times": {"timezone": "Europe/Berlin"}}
    first |= {"on_error": "keep"}
    second |= {"on_error": "keep"}
    assert inputs("--on-error", "keep") == [first, second]
    assert inputs("--set", "steward=ann") == [first, second]
    first |= {"times": {"fields": {"at": "unix"}}}
    second |= {"times": {"timezone": "Europe/Berlin", "fields": {"at": "unix"}}}
    assert inputs("--time-field", "at:unix") == [first, second]
    first |= {"times": {"read": "none", "fields": {"at": "unix_ms", "by": "unix"}}}
    words = ["--time-field", "at:unix_ms", "--time-field", "by:unix", "--times", "none"]
    assert inputs("--input", "in/*.json", *words) == [first, second]
    del first["on_error"]
    assert inputs("--on-error", "fail", "--input", "in/*.json") == [first, second]
    second |= {"format": "json.gz:records=a"}
    assert inputs("--input", "more/*.gz", "--records", "a") == [first, second]
    second |= {"format": "json.gz:records=b"}
    assert inputs("--input", "more/*.gz", "--records", "b") == [first, second]
    assert inputs("--drop-input", "in/*.json", "--format", "csv.gz:skip=1") == [
        second | {"format": "csv.gz:skip=1"}
    ]
    words = ["--drop-input", "more/*.gz", "--input", "more/*.gz", "--format", "json.gz"]
    assert inputs(*words) == [{"pattern": "file://more/*.gz", "format": "json.gz"}]


def test_a_table_without_inputs_has_none_to_read_otherwise(run: Run, lake: sdb.Connection) -> None:
    lake.execute("CREATE TABLE web.plain")
    done = run("alter", "--root", "lake", "web.plain", "--on-error", "skip")
    assert done.returncode == 2
    assert b"no inputs that could be read so" in done.stderr
    assert b"--input PATTERN" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "nothing to alter"),
        (["--set", "descriptoin=x"], "unknown member 'descriptoin', did you mean description?"),
        (["--set", "versions=3"], "invalid versions: expected an object"),
        (["--set", "description"], "'description' sets no member"),
        (["--set", "input.pattern=x"], "input of the definition has no members"),
        (["--unset", "steward"], "the definition has no member steward"),
        (["--drop-input", "x/*.json"], "the table takes no x/*.json"),
        (["--drop-input", "in/*.json"], "it has no input"),
        (["--set", "retention_policy.valid_for=1x"], "failed to parse duration '1x'"),
        (["definition.json", "--input", "x/*.json"], "there are two definitions"),
        (["--on-error", "skip", "--set", "steward=x", "none.json"], "by itself"),
        (["--on-error", "skp"], "unknown choice 'skp' of on_error, did you mean skip?"),
        (["--format", "jsn"], "unknown format 'jsn'"),
        (["--time-field", "at"], "--time-field of a table needs a form"),
        (["--timezone", "Berlin"], "unknown time zone 'Berlin'"),
    ],
)
def test_what_is_wrong_changes_nothing(run: Run, words: list[str], message: str) -> None:
    before = definition(run)
    done = run("alter", *TABLE, *words)
    assert (done.returncode, done.stdout) == (2, b"")
    assert message in done.stderr.decode()
    assert definition(run) == before


def test_a_table_without_a_definition_gets_one(run: Run, lake: sdb.Connection) -> None:
    lake.execute("CREATE TABLE web.plain")
    assert run("alter", "--root", "lake", "web", "plain", "--set", "description=x").returncode == 0
    shown = run("def", "--root", "lake", "web.plain").stdout
    assert json.loads(shown) == {"description": "x"}
    assert run("alter", "--root", "lake", "web.none", "--set", "description=x").returncode == 3


def test_changes_made_at_the_same_time_both_count(run: Run, lake: sdb.Connection) -> None:
    calls = []

    def change(old: Definition) -> Definition:
        if not calls:
            run("alter", *TABLE, "--set", "steward=ann")
        calls.append(old)
        return with_members(old, ["description=x"], [])

    alter_table(table_root(lake.root.location), TableKeys("web", "gha"), change)
    assert len(calls) == 2
    assert (definition(run)["steward"], definition(run)["description"]) == ("ann", "x")
