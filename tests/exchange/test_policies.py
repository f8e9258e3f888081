"""Mirrors that definitions declare: `sdb maintain` keeps them up, `sdb describe` reports them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import sdb
from sdb.errors import CorruptError, UsageError
from tests.exchange.mirrors import by_delta_rs, check, versions

ROOT = Path(__file__).parents[2]


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SNELLER_INDEX_KEY", "eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHg=")
    folder = tmp_path / "lake"
    folder.mkdir()
    return folder


def declare(lake: Path, *exports: dict[str, object]) -> None:
    from sdb.table.definition.definition import Definition

    text = json.dumps({"input": [{"pattern": "file://in/*.json"}], "exports": exports})
    sdb.connect(lake).create("web.t", Definition.parse(text), overwrite=True)


def run(lake: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sdb.cli.main", *words, "--root", str(lake), "web.t"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_mirrors_are_kept_up_and_described(lake: Path) -> None:
    declare(lake, {"format": "delta", "to": "m"}, {"format": "delta", "to": "s", "squash": True})
    db = sdb.connect(lake)
    db.append("web.t", [{"id": 1}])
    db.append("web.t", [{"id": 2}])
    assert "mirror delta" in run(lake, "describe").stdout
    assert "not begun, 2 versions behind" in run(lake, "describe").stdout
    foreseen = run(lake, "maintain", "--once", "--dry-run")
    assert f"would mirror 2 versions to {lake}/m" in foreseen.stderr
    assert not (lake / "m").exists()
    actions = db.maintain("web.t").actions
    exported = [action for action in actions if action.action == "export"]
    assert [action.numbers["versions"] for action in exported] == [2, 1]
    db.append("web.t", [{"id": 3}])
    facts = json.loads(run(lake, "describe", "--json").stdout)["exports"]
    assert [(fact["version"], fact["behind"]) for fact in facts] == [(2, 1), (2, 1)]
    assert run(lake, "maintain", "--once").returncode == 0
    assert "version 3, up to date" in run(lake, "describe").stdout
    assert versions(lake / "m") == {1: 0, 2: 1, 3: 2}
    assert versions(lake / "s") == {2: 0, 3: 1}
    check(lake, lake / "m", engines=(by_delta_rs,))


def test_a_mirror_that_fails_stops_nothing_else(lake: Path) -> None:
    declare(lake, {"format": "delta", "to": "m"}, {"format": "delta", "to": "n"})
    db = sdb.connect(lake)
    for number in range(9):
        db.append("web.t", [{"id": number}])
    (lake / "m/_delta_log").mkdir(parents=True)
    (lake / "m/_delta_log" / f"{0:020d}.json").write_text("no json")
    actions: list[str] = []
    with pytest.raises(CorruptError, match="is no commit of Delta"):
        db.maintain("web.t", tell=lambda action: actions.append(action.action))
    assert {"export", "compact"} <= set(actions)
    assert len(versions(lake / "n")) == 9
    assert "is no commit of Delta" in run(lake, "describe").stdout


@pytest.mark.parametrize(
    ("export", "text"),
    [
        ({"format": "orc", "to": "m"}, "expected delta or iceberg"),
        ({"format": "iceberg", "to": "web.t"}, "expected CATALOG/NAMESPACE"),
        ({"format": "delta"}, "exports.to is missing"),
        ({"format": "delta", "to": "gs://b/x"}, "expected a folder, or s3://"),
        ({"format": "delta", "to": "../x"}, "or out of it"),
        ({"format": "delta", "to": "m", "squosh": True}, "did you mean squash"),
    ],
)
def test_declarations_are_checked(lake: Path, export: dict[str, object], text: str) -> None:
    with pytest.raises(UsageError, match=text):
        declare(lake, export)


def test_a_definition_keeps_its_exports() -> None:
    from sdb.table.definition.definition import Definition

    text = '{"exports":[{"format":"delta","to":"m","squash":true},{"format":"delta","to":"n"}]}'
    definition = Definition.parse(text)
    assert Definition.parse(definition.stored()) == definition
    assert json.loads(definition.shown())["exports"][0]["squash"] is True
