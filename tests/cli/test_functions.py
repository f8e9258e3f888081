"""`sdb functions`."""

from __future__ import annotations

import json
from typing import Any

import pytest


def test_lists_all_below_headings(run: Any) -> None:
    result = run("functions")
    assert result.returncode == 0
    lines = result.stdout.decode().splitlines()
    assert lines[0] == "numbers:"
    assert "  ABS(x): the distance from 0" in lines
    assert "aggregates:" in lines


@pytest.mark.parametrize("pattern", ["max_by", "ARG_MAX", "arg_ma?"])
def test_a_pattern_shows_all_that_is_known(run: Any, pattern: str) -> None:
    result = run("functions", pattern)
    assert result.stdout.decode().splitlines() == [
        "ARG_MAX(x, by)",
        "  types    any → any",
        "  returns  x of the row in which another value is greatest",
        "  missing  skips rows without x or by; NULL where none is left",
        '  example  ARG_MAX(name, born) is "Bo"',
        "  also     ARGMAX, MAX_BY",
    ]


def test_json_has_the_same(run: Any) -> None:
    facts = json.loads(run("functions", "--json", "length").stdout)
    assert {entry["name"] for entry in facts} >= {"CHAR_LENGTH", "OCTET_LENGTH"}
    assert facts[0] == {
        "name": "CHAR_LENGTH",
        "kind": "texts",
        "call": "CHAR_LENGTH(text)",
        "types": "text → integer",
        "returns": "how many characters",
        "missing": "NULL where an argument is MISSING, NULL or of another type",
        "example": "CHAR_LENGTH('für')",
        "result": "3",
        "aliases": [],
    }


def test_a_pattern_without_functions_is_wrong_use(run: Any) -> None:
    result = run("functions", "uper")
    assert result.returncode == 2
    assert result.stderr.decode() == (
        "sdb: no function matches 'uper'\nhint: did you mean UPPER?\n"
    )
