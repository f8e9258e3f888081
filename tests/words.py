"""Counts words of a private dialect, of which there may only be fewer: `python -m tests.words`.

`.ci/words` has a line for each: what it is looked for in, how often it may occur, and the pattern.
``--update`` lowers the numbers to those of today.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
LIST = Path(".ci/words")
# History is not rewritten, and the list has the words themselves.
LEFT_OUT = ("CHANGELOG.md", "docs/api.md", "tests/words.py", "tests/docs/test_words.py")
SHOWN = 20


class Rule(NamedTuple):
    """A line of the list."""

    kind: str
    most: int
    pattern: str

    def __str__(self) -> str:
        return f"{self.kind:<10}{self.most:>6}  {self.pattern}"


class Match(NamedTuple):
    """A place in a file."""

    path: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text.strip()}"


def rules_of(text: str) -> Iterator[Rule]:
    for line in text.splitlines():
        if line and not line.startswith("#"):
            kind, most, pattern = line.split(maxsplit=2)
            yield Rule(kind, int(most), pattern)


def names_of(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Go over the names that a module gives to values."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg


def docstrings_of(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            text = ast.get_docstring(node) or ""
            yield getattr(node, "lineno", 1), text.partition("\n")[0]


def texts_of(path: Path) -> Iterator[tuple[str, int, str]]:
    """Go over what rules look at in a file: the kind, the line and the text."""
    text = path.read_text(encoding="utf-8")
    for number, line in enumerate(text.splitlines(), 1):
        yield "text", number, line
    if path.suffix == ".py":
        tree = ast.parse(text)
        for number, name in names_of(tree):
            yield "name", number, name
        for number, line in docstrings_of(tree):
            yield "docstring", number, line


def matches(root: Path, rules: list[Rule]) -> dict[Rule, list[Match]]:
    """Find the words in the files that git knows below a folder."""
    listed = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-z", "--", "*.py", "*.pyi", "*.rs", "*.md"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    patterns = [(rule, re.compile(rule.pattern)) for rule in rules]
    hits: dict[Rule, list[Match]] = defaultdict(list)
    for name in listed.split("\0"):
        if name and name not in LEFT_OUT and (root / name).exists():
            for kind, number, text in texts_of(root / name):
                for rule, pattern in patterns:
                    if rule.kind == kind and pattern.search(text):
                        hits[rule].append(Match(name, number, text))
    return hits


def added(root: Path) -> set[str]:
    """Return lines that are not committed, or that the last commit has added."""
    for revision in ("HEAD", "HEAD~1"):
        diff = subprocess.run(
            ["git", "-C", str(root), "diff", "--unified=0", revision],
            capture_output=True,
            text=True,
            check=False,
        ).stdout
        if diff:
            return {line[1:].strip() for line in diff.splitlines() if line.startswith("+")}
    return set()


def updated(text: str, hits: dict[Rule, list[Match]]) -> str:
    """Lower the numbers of the list."""
    lines = []
    for line in text.splitlines():
        for rule in rules_of(line):
            lowered = rule._replace(most=min(rule.most, len(hits[rule])))
            lines.append(str(lowered))
        if not line or line.startswith("#"):
            lines.append(line)
    return "\n".join(lines) + "\n"


def main(arguments: list[str], root: Path = ROOT) -> int:
    """Compare the files with the list; 1 if there are more of a word."""
    text = (root / LIST).read_text(encoding="utf-8")
    rules = list(rules_of(text))
    hits = matches(root, rules)
    if "--update" in arguments:
        (root / LIST).write_text(updated(text, hits), encoding="utf-8")
        return 0
    too_many = [rule for rule in rules if len(hits[rule]) > rule.most]
    new = added(root) if too_many else set()
    for rule in too_many:
        count = len(hits[rule])
        sys.stdout.write(
            f"{count} of {rule.kind} {rule.pattern!r}, at most {rule.most}; see {LIST}\n"
        )
        lines = {
            (match.path, match.line): (root / match.path).read_text().splitlines()[match.line - 1]
            for match in hits[rule]
        }
        suspects = [at for at, line in lines.items() if line.strip() in new] or list(lines)
        for path, number in suspects[:SHOWN]:
            sys.stdout.write(f"  {Match(path, number, lines[path, number])}\n")
    return bool(too_many)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
