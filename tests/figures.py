"""Prints figures of the tree: `python -m tests.figures`."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "sdb"
TREES = {path: ast.parse(path.read_text()) for path in sorted(PACKAGE.rglob("*.py"))}
NODES = [node for tree in TREES.values() for node in ast.walk(tree)]
FUNCTIONS = [node for node in NODES if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
NAMES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in TREES
}
MANY = 9
SECTION = re.compile(r"^[A-Z][a-z]+\n-{3,}$", re.MULTILINE)
COMMANDS = {
    "pack": ("pack", "-q", "-o", "t.zion", "t.jsonl"),
    "head": ("head", "t.zion"),
    "create": ("--root", "r", "exec", "CREATE TABLE d.t"),
    "insert": ("--root", "r", "insert", "d.t", "t.jsonl"),
    "query": ("--root", "r", "query", "SELECT a, COUNT(*) AS n FROM d.t GROUP BY a"),
    "update": ("--root", "r", "exec", "UPDATE d.t SET a = 2 WHERE a = 1"),
}


def code_and_comments(path: Path) -> tuple[int, int]:
    """Return the numbers of lines with code, and of those with nothing but a comment."""
    lines = list(enumerate(path.read_text().splitlines(), 1))
    comments = {number for number, line in lines if line.lstrip().startswith("#")}
    prose = {number for number, line in lines if not line.strip()}
    for node in ast.walk(TREES[path]):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            prose.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines) - len(comments | prose), len(comments - prose)


def imported(node: ast.AST) -> Iterator[str]:
    """Iterate over the modules that are imported when a program runs, also inside functions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        if isinstance(child, ast.ImportFrom) and child.module:
            names = [f"{child.module}.{alias.name}" for alias in child.names]
            yield from (name if name in NAMES else child.module for name in names)
        yield from imported(child)


def circles() -> Iterator[str]:
    """Iterate over the circles of imports; each is cut where it was loops."""
    graph = {name: {*imported(TREES[at])} & NAMES.keys() - {name} for name, at in NAMES.items()}
    while True:
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            way = error.args[1][::-1]
            graph[way[0]].discard(way[1])
            yield " -> ".join(way)
        else:
            return


def entered(folder: str, words: tuple[str, ...]) -> int:
    """Return how many modules of `sdb` a command loads, without the parts of packages."""
    code = "import atexit; atexit.register(lambda: print(*sys.modules, file=sys.stderr))"
    run = [sys.executable, "-c", f"import sys; {code}; from sdb.cli.main import main; main()"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([*run, *words], cwd=folder, env=env, capture_output=True, check=True)
    loaded = set(done.stderr.decode().split()) & NAMES.keys()
    return sum(NAMES[name].name != "__init__.py" for name in loaded)


def figures() -> Iterator[tuple[str, float]]:
    code, lines, comments = Counter[str](), 0, 0
    for path in TREES:
        room = "/".join(path.relative_to(PACKAGE).parts[:-1][:1]) or "leaves"
        count, own = code_and_comments(path)
        code[room], comments = code[room] + count, comments + own
        lines += len(path.read_text().splitlines())
    yield from ((f"lines of code in {room}", count) for room, count in sorted(code.items()))
    yield "lines", lines
    yield "lines of code", code.total()
    yield "own-line comments per 100 lines of code", round(100 * comments / code.total(), 1)
    yield "functions", len(FUNCTIONS)
    parameters = [len(each.args.args + each.args.kwonlyargs) for each in FUNCTIONS]
    yield f"functions with {MANY} parameters and more", sum(each >= MANY for each in parameters)
    yield "most parameters", max(parameters)
    documented = [node for node in NODES if isinstance(node, ast.ClassDef)] + FUNCTIONS
    texts = [ast.get_docstring(node) or "" for node in documented]
    yield "sections of docstrings", sum(len(SECTION.findall(text)) for text in texts)
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    for contract in tools["importlinter"]["contracts"]:
        if contract.get("containers") == ["sdb.query"]:
            yield "floors of query", len(contract["layers"])
    yield "loose files of query", len([*(PACKAGE / "query").glob("*.py")]) - 1
    yield "commands", len([*(PACKAGE / "cli/commands").glob("*/[a-z]*.py")])
    yield "bytes of CHANGELOG", (ROOT / "CHANGELOG.md").stat().st_size
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "t.jsonl").write_text('{"a": 1}\n')
        for name, words in COMMANDS.items():
            yield f"modules of {name}", entered(folder, words)


if __name__ == "__main__":
    shown = [f"{name:44}{value:>9,}" for name, value in figures()]
    loops = [*circles()]
    sys.stdout.write("\n".join([*shown, f"circles of imports: {len(loops)}", *loops, ""]))
