"""Names in the package: one meaning each."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from sdb import version

PACKAGE = Path(__file__).parents[2] / "sdb"
COMMANDS = PACKAGE / "cli" / "commands"
MODULES = sorted(PACKAGE.rglob("*.py"))


MOST_MODULES = 25
LARGE = {"cli/commands": 42, "query/duckdb_sql": 27}
"""Folders that need rooms still, and how many modules they may have until then."""


def test_no_folder_has_more_modules_than_a_room_holds() -> None:
    count = Counter(
        str(path.parent.relative_to(PACKAGE)) for path in MODULES if path.name != "__init__.py"
    )
    assert {
        name: most for name, most in count.items() if most > LARGE.get(name, MOST_MODULES)
    } == {}
    assert [name for name in LARGE if count[name] <= MOST_MODULES] == []


def test_no_two_public_classes_have_one_name() -> None:
    found = defaultdict(list)
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(str(path.relative_to(PACKAGE)))
    assert len(found) > 100
    assert {name: paths for name, paths in found.items() if len(paths) > 1} == {}


TABLES = sorted(
    str(path.parent.relative_to(PACKAGE))
    for path in PACKAGE.glob("*/**/__init__.py")
    if path.parent != COMMANDS and path.parent.name != "submitted"
)


@pytest.mark.parametrize("name", TABLES)
def test_each_package_tells_its_modules(name: str) -> None:
    folder = PACKAGE / name
    text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text())) or ""
    told = [line.split()[0].strip("`") for line in text.splitlines() if line.startswith("`")]
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    packages = {path.parent.name for path in folder.glob("*/__init__.py")}
    assert sorted(told) == sorted(modules | packages)
    assert told


def test_docstrings_name_their_subject() -> None:
    """They begin with a verb or the noun of the field."""
    found = []
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                text = ast.get_docstring(node) or ""
                if text.startswith(("What ", "Whether ", "How ", "Which ")):
                    found.append(f"{path.relative_to(PACKAGE)}: {text.splitlines()[0]}")
    assert found == []


def test_the_distribution_has_a_name_of_its_own() -> None:
    """`sdb` on the package index is someone else's; the import and the command have that name."""
    project = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text())["project"]
    assert project["name"] == version.DISTRIBUTION == "sdb-packfile"
    assert project["version"] == version.VERSION
    assert project["scripts"] == {"sdb": "sdb.cli.main:main"}


@pytest.mark.parametrize("page", ["README.md", "docs", "sdb"])
def test_no_hint_installs_what_belongs_to_others(page: str) -> None:
    """Neither pages nor messages tell anyone to install the other project."""
    place = PACKAGE.parent / page
    paths = [place] if place.is_file() else [*place.rglob("*.md"), *place.rglob("*.py")]
    assert paths
    for path in paths:
        assert not re.search(
            r"(pip|pipx|uvx?) (tool )?install '?sdb(?!-packfile)\b", path.read_text()
        ), path
