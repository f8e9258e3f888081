"""Names in the package: one meaning each."""

from __future__ import annotations

import ast
import inspect
import re
import tomllib
from collections import Counter, defaultdict
from pathlib import Path

import pytest

import sdb
from sdb import version
from sdb.cli.commands import ROOMS, leaves

PACKAGE = Path(__file__).parents[2] / "sdb"
COMMANDS = PACKAGE / "cli" / "commands"
MODULES = sorted(PACKAGE.rglob("*.py"))
TREES = {
    path.relative_to(PACKAGE.parent).as_posix(): ast.parse(path.read_text()) for path in MODULES
}


MOST_MODULES = 25
LARGE: dict[str, int] = {}
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
    actual = defaultdict(list)
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                actual[node.name].append(path)
    assert len(actual) > 100
    assert {name: paths for name, paths in actual.items() if len(paths) > 1} == {}


TABLES = sorted(
    str(path.parent.relative_to(PACKAGE))
    for path in PACKAGE.glob("*/**/__init__.py")
    if not path.is_relative_to(COMMANDS) and path.parent.name != "submitted"
)


@pytest.mark.parametrize("name", TABLES)
def test_each_package_tells_its_modules(name: str) -> None:
    folder = PACKAGE / name
    text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text())) or ""
    reported = [line.split()[0].strip("`") for line in text.splitlines() if line.startswith("`")]
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    packages = {path.parent.name for path in folder.glob("*/__init__.py")}
    assert sorted(reported) == sorted(modules | packages)
    assert reported


def test_commands_are_in_the_folder_of_their_group() -> None:
    expected = {
        f"{room}/{name.replace('-', '_').replace(' ', '_')}.py"
        for room, names in ROOMS.items()
        for name in leaves()
        if name.partition(" ")[0] in names
    }
    modules = {str(path.relative_to(COMMANDS)) for path in COMMANDS.rglob("*.py")}
    assert {path for path in modules if not path.endswith("__init__.py")} == expected


def test_docstrings_name_their_subject() -> None:
    """They begin with a verb or the noun of the field."""
    results = []
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                text = ast.get_docstring(node) or ""
                if text.startswith(("What ", "Whether ", "How ", "Which ")):
                    results.append(f"{path}: {text.splitlines()[0]}")
    assert results == []


def test_the_distribution_has_a_name_of_its_own() -> None:
    """`sdb` on the package index is someone else's; the import and the command have that name."""
    project = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text())["project"]
    assert project["name"] == version.DISTRIBUTION == "sdb-packfile"
    assert project["version"] == version.VERSION
    assert project["scripts"] == {"sdb": "sdb.cli.main:main"}


@pytest.mark.parametrize("page", ["README.md", "docs", "sdb"])
def test_no_hint_installs_what_belongs_to_others(page: str) -> None:
    """Neither pages nor messages tell anyone to install the other project."""
    location = PACKAGE.parent / page
    paths = [location] if location.is_file() else [*location.rglob("*.md"), *location.rglob("*.py")]
    assert paths
    for path in paths:
        assert not re.search(
            r"(pip|pipx|uvx?) (tool )?install '?sdb(?!-packfile)\b", path.read_text()
        ), path


SECTION = re.compile(r"^([A-Z][a-z]+)\n-{3,}$", re.MULTILINE)
# What users of the library import: the names of `sdb`, what their classes inherit, what docs show.
PUBLIC = {
    *(f"{module.replace('.', '/')}.py" for module, _ in sdb._PLACES.values()),
    "sdb/client/calls.py",
    "sdb/client/tableinspection.py",
    "sdb/errors.py",
    "sdb/packfile/read/blocks.py",
    "sdb/query/rows/tablerows.py",
    "sdb/spark/__init__.py",
    "sdb/spark/bulk/attempt.py",
    "sdb/spark/bulk/pack.py",
    "sdb/spark/bulk/sync.py",
    "sdb/spark/read/planned.py",
    "sdb/statements/transacting.py",
}


def records() -> set[str]:
    """Return the classes that public functions return, and those of their fields."""
    classes = {
        node.name: node
        for tree in TREES.values()
        for node in tree.body
        if isinstance(node, ast.ClassDef)
    }
    returned = [
        ast.unparse(node.returns)
        for name in PUBLIC
        for node in ast.walk(TREES[name])
        if isinstance(node, ast.FunctionDef) and node.returns and not node.name.startswith("_")
    ]
    reached: set[str] = set()
    while returned:
        names = {*re.findall(r"\w+", returned.pop())} & classes.keys() - reached
        reached |= names
        fields = [field for name in names for field in classes[name].body]
        returned += [ast.unparse(f.annotation) for f in fields if isinstance(f, ast.AnnAssign)]
    return reached


def test_sections_of_docstrings_stand_in_public_modules_and_in_results() -> None:
    results = records()
    actual = [
        f"{name}: {getattr(node, 'name', 'the module')}: {section}"
        for name, tree in TREES.items()
        if name not in PUBLIC
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        for section in SECTION.findall(ast.get_docstring(node) or "")
        if section != "Attributes" or getattr(node, "name", "") not in results
    ]
    assert actual == []


@pytest.mark.parametrize(
    "name", [name for name in sdb.__all__ if name.islower() and name != "errors"]
)
def test_public_functions_have_sections(name: str) -> None:
    function = getattr(sdb, name)
    sections = SECTION.findall(inspect.getdoc(function) or "")
    assert "Examples" in sections
    assert "Parameters" in sections or not inspect.signature(function).parameters
