"""What CONTRIBUTING says of `make`, and `make help`, are what the Makefile has."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = set(re.findall(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)[0].split())


def make(*words: str) -> str:
    result = subprocess.run(
        ["make", "--no-print-directory", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return result.stdout


def test_help_has_a_line_for_each_target() -> None:
    lines = [line.split(maxsplit=2) for line in make("help").splitlines()]
    assert {name for _, name, _ in lines} == TARGETS
    assert all(words[0] == "make" for words in lines)


def test_contributing_names_targets_that_are_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    named = set(re.findall(r"`make ([a-z-]+)", text))
    assert named <= TARGETS
    assert {"check", "test", "lint", "build", "help"} <= named


@pytest.mark.parametrize(
    ("selection", "words"),
    [
        ("tests/unit/test_append.py", ["tests/unit/test_append.py", "-m", "not slow"]),
        ("tests/cli", ["tests/cli", "-m", "not slow"]),
        ("tests/a.py::test_b[x y]", ["tests/a.py::test_b[x y]"]),
        ("merge and not s3", ["-k", "merge and not s3", "-m", "not slow"]),
    ],
)
def test_some_tests_are_chosen(selection: str, words: list[str]) -> None:
    last = make("--dry-run", "test", f"T={selection}").splitlines()[-1]
    assert shlex.split(last)[2:] == words


@pytest.mark.parametrize("profile", ["dev", "release"])
def test_a_profile_replaces_the_other(profile: str) -> None:
    commands = make("--dry-run", "--always-make", "build", f"PROFILE={profile}")
    assert f"maturin develop --quiet --profile {profile} --locked" in commands
    assert "rm -f .venv/.built" in commands
