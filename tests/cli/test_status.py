"""`sdb status`: what tables need, and the command that mends it."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb.table.format import limits

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    connection = sdb.connect(tmp_path)
    connection.create("d.t", "in/*.json")
    for number in range(3):
        connection.append("d.t", [{"n": number, "at": datetime.now(UTC)}])
    return tmp_path


def status(run: Run, *words: str) -> dict[str, Any]:
    (table,) = json.loads(run("status", "--json", "d.t", *words).stdout)["tables"]
    return dict(table)


def needs(run: Run, *words: str) -> dict[str, str]:
    return {need["action"]: need["command"] for need in status(run, *words)["needs"]}


def test_a_table_that_is_well(run: Run, lake: Path) -> None:
    done = run("status")
    assert done.returncode == 0
    assert b"; nothing to do\n  3 packfiles of " in done.stdout
    facts = status(run)
    assert (facts["version"], facts["packfiles"], facts["versions"]) == (3, 3, 3)
    assert facts["packfiles_small"] == 3
    assert facts["packfiles_at_a_moment"] == 1
    assert facts["unneeded_objects"] == 0
    assert facts["policy"]["thin"] == "1h:all,1d:1m,7d:1h"
    assert sdb.connect(lake).table("d.t").status().needs == ()


def define(lake: Path, **members: object) -> None:
    path = lake / "db/d/t/definition.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | members))


def test_each_need_is_mended_by_its_command(run: Run, lake: Path) -> None:
    define(
        lake,
        versions={"keep_last": 1},
        upkeep={"grace": "0s"},
        retention_policy={"field": "at", "valid_for": "1d"},
    )
    connection = sdb.connect(lake)
    for number in range(8):
        connection.append("d.t", [{"n": number, "at": datetime.now(UTC)}])
    (lake / "in").mkdir()
    (lake / "in/bad.json").write_text("nonsense")
    run("sync", "d.t")
    connection.append("d.t", [{"n": 9, "at": datetime.now(UTC) - timedelta(days=9)}])
    expected = {
        "compact": "sdb compact d.t",
        "retention": "sdb maintain d.t",
        "expire": "sdb expire d.t",
        "inputs": "sdb sync --retry d.t",
    }
    assert needs(run) == expected
    assert run("status").returncode == 1
    screen = run("status", "d", "t").stdout.decode()
    assert "  sdb compact d.t\n      " in screen
    assert max(map(len, screen.splitlines())) <= 80
    (lake / "in/good.json").write_text('{"n": 100}')
    assert needs(run, "--inputs")["sync"] == "sdb sync d.t"
    (lake / "in/bad.json").write_text('{"n": 99}')
    for command in ("maintain", "sync --retry", "compact", "maintain", "expire"):
        run(*command.split(), "d.t")
    for path in lake.rglob("*"):
        os.utime(path, (1e9, 1e9))
    assert needs(run) == {"collect": "sdb gc d.t"}
    facts = status(run)
    assert facts["unneeded_bytes"] > 0
    assert facts["unneeded_exact"]
    run("gc", "--grace", "0s", "d.t")
    assert needs(run, "--inputs") == {}


def test_what_else_is_to_be_known(run: Run, lake: Path) -> None:
    connection = sdb.connect(lake)
    connection.table("d.t").branch("audit")
    (lake / "db/d/t/definition.json").unlink()
    connection.create("d.u", "in/*.json")
    screen = run("status").stdout.decode()
    assert "note: branches keep versions for merges: audit" in screen
    assert "note: no policy of versions in its definition: keep_last 100" in screen
    assert "d.u:\n  note: no rows yet" in screen


def test_many_versions_are_not_read(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sdb.table.upkeep import status as module

    monkeypatch.setattr(module, "MOST_READ", 2)
    table = sdb.connect(lake).table("d.t")
    assert not table.status().facts["unneeded_exact"]
    assert table.status(exact=True).facts["unneeded_exact"]


def test_the_newest_of_many_versions_are_looked_at(
    lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sdb.table.upkeep import status as module

    monkeypatch.setattr(limits.USUAL, "inline_versions", 8)
    monkeypatch.setattr(limits.USUAL, "listed_versions", 16)
    define(lake, versions={"keep_last": 1}, upkeep={"grace": "0s"})
    connection = sdb.connect(lake)
    for number in range(67):
        connection.append("d.t", [{"n": number}])
    table = connection.table("d.t")
    (lake / f"db/d/t/versions/{3:020}-lost").write_bytes(b"of a list that is not read")
    (lake / f"db/d/t/versions/{69:020}-lost").write_bytes(b"of no version")
    for path in (lake / "db/d/t").rglob("*"):
        os.utime(path, (1e9, 1e9))
    monkeypatch.setattr(module, "ENOUGH_VERSIONS", 20)
    status = table.status()
    read = status.facts["versions_read"]
    assert isinstance(read, int)
    assert 20 < read < 40
    assert status.facts["versions_expirable"] == read - 1
    assert status.facts["unneeded_objects"] == 1
    assert f"the newest {read} were looked at" in " ".join(status.notes)
    assert f"at least {read - 1} of {status.facts['versions']}" in str(status.needs)
    exact = table.status(exact=True)
    assert exact.facts["versions_expirable"] == 69
    assert exact.facts["versions_read"] == exact.facts["versions"] == 70
    assert "looked at" not in " ".join(exact.notes)
    # What the newest versions show does not depend on those before them.
    monkeypatch.setattr(module, "MOST_READ", 100)
    monkeypatch.setattr(module, "ENOUGH_VERSIONS", 70)
    assert table.status().facts == exact.facts


def test_what_is_not_there_or_damaged(run: Run, lake: Path) -> None:
    assert run("status", "d.nope").returncode == 3
    assert run("status", "--root", "nowhere").returncode == 3
    (lake / "db/d/t/index").write_bytes(b"nonsense")
    done = run("status")
    assert done.returncode == 6
    assert b"Traceback" not in done.stderr
