"""The README's commands and examples run as they stand."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.examples import SDB

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder that has the sample data where the README expects it."""
    shutil.copytree(ROOT / "testdata", tmp_path / "testdata")
    return tmp_path


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


def run(command: list[str], folder: Path) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
    result = subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def run_console(block: str, folder: Path) -> int:
    """Run the commands of a block, and return how many showed what stands below them."""
    shown = 0
    for part in block.removeprefix("$ ").split("\n$ "):
        command, _, output = part.partition("\n")
        result = run(["bash", "-ec", SDB + command], folder)
        if output.strip():
            assert result.splitlines() == output.splitlines()
            shown += 1
    return shown


def test_console_examples(clone: Path) -> None:
    shown = [run_console(block, clone) for block in blocks("console")]
    assert len(shown) > 2
    assert all(shown)


def test_python_examples(clone: Path) -> None:
    for block in blocks("python"):
        assert "created_at" in run([sys.executable, "-c", block], clone)


def test_the_service_answers(clone: Path) -> None:
    pytest.importorskip("uvicorn", reason="the extra serve is not installed")
    (block,) = blocks("bash")
    run_console(blocks("console")[-1], clone)  # makes the table
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    # Another port than the usual one, at which somebody may have a server.
    script = block.replace("7373", port).replace("--quiet", f"--quiet --listen 127.0.0.1:{port}")
    output = run(["bash", "-e", "-o", "pipefail", "-m", "-c", script], clone)
    assert "type,n\nPushEvent,1021\nCreateEvent,184\nIssueCommentEvent,122\n" in output
    assert '{"n": 1668}' in output


def test_the_two_commands_are_targets() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"^    make (\w+)", README, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)


@pytest.mark.parametrize("page", [*sorted(ROOT.glob("docs/**/*.md")), ROOT / "README.md"])
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), target


def anchors(page: Path) -> set[str]:
    """Headings of a page, as links name them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [*sorted(ROOT.glob("docs/**/*.md")), ROOT / "README.md"])
def test_anchors_lead_to_headings(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#:]*)#([^)]*)\)", page.read_text()):
        assert anchor in anchors(page.parent / target if target else page), (target, anchor)


def test_makefile_demo_script(clone: Path) -> None:
    """What `make demo` runs, with the program of this environment."""
    folder = clone / "bin"
    folder.mkdir()
    program = folder / "sdb"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m sdb.cli.main "$@"\n')
    program.chmod(0o755)
    script = f'PATH="{folder}:$PATH" bash testdata/demo.sh'
    out = run(["bash", "-c", script], clone)
    assert "total compressed:" in out
    assert (clone / "demo/github.zion").stat().st_size < 400_000
