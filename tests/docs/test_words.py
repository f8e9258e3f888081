"""The list of words that may only become fewer: what is counted, and that more of them fail."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests import words

if TYPE_CHECKING:
    from pathlib import Path

LIST = """\
# Some words.
text 1 \\b[Ww]hoever\\b
docstring 0 ^Tell\\b
name 1 ^found$
"""
CODE = '"""Count."""\n\nfound = 1\n# whoever reads this\n'


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A repository with as many of the words as it may have."""
    (tmp_path / ".ci").mkdir()
    (tmp_path / words.LIST).write_text(LIST)
    (tmp_path / "a.py").write_text(CODE)
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "Begin")
    return tmp_path


def test_as_many_as_before_pass(clone: Path) -> None:
    assert words.main([], clone) == 0


@pytest.mark.parametrize(
    "line",
    ["# Whoever comes", "def f(found: int) -> None: ...", 'class A:\n    """Tell it."""'],
    ids=["text", "name", "docstring"],
)
def test_a_new_one_fails_and_is_shown(
    clone: Path, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (clone / "a.py").write_text(CODE + line + "\n")
    assert words.main([], clone) == 1
    out = capsys.readouterr().out
    assert "a.py:5: " + line.partition("\n")[0] in out
    git(clone, "commit", "--quiet", "--all", "--message", "Add")
    assert words.main([], clone) == 1
    assert capsys.readouterr().out == out


def test_numbers_are_lowered_and_never_raised(clone: Path) -> None:
    (clone / "a.py").write_text("found = 1\nfound = 2\n")
    assert words.main(["--update"], clone) == 0
    rules = {rule.kind: rule.most for rule in words.rules_of((clone / words.LIST).read_text())}
    assert rules == {"text": 0, "docstring": 0, "name": 1}
    assert words.main([], clone) == 1
    assert (clone / words.LIST).read_text().startswith("# Some words.\n")


def test_the_list_of_the_project_is_read() -> None:
    rules = list(words.rules_of((words.ROOT / words.LIST).read_text()))
    assert len(rules) > 10
    assert {rule.kind for rule in rules} == {"text", "docstring", "name"}
    left = [rule.pattern for rule in rules if rule.most]
    assert len(left) <= 4, "these become fewer; of all other words of the list none may come"
