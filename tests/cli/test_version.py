from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import sdb
from sdb.version import VERSION

ROOT = Path(__file__).parents[2]


def test_versions_agree() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == VERSION == sdb.__version__


def test_text(run: Any) -> None:
    for words in (["version"], ["--version"], ["-version"], ["--root", "x", "--version"]):
        result = run(*words)
        assert (result.returncode, result.stderr) == (0, b"")
        assert re.fullmatch(rb"sdb \d+\.\d+\.\d+\n", result.stdout)


def test_json(run: Any) -> None:
    facts = json.loads(run("version", "--json").stdout)
    assert facts.keys() == {"version", "core", "python", "platform", "algorithms"}
    assert facts["version"] == VERSION
