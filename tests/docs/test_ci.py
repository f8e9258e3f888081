"""`.ci/run` in a small repository, whose tools are false ones: what it says last, and keeps."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.examples import ROOT

if TYPE_CHECKING:
    from pathlib import Path

TOOLS = "apt-get cargo rustup gcc zstd java varnishd nginx curl aarch64-linux-gnu-gcc ruff".split()
MAKEFILE = """\
.venv/.dev:
\t@mkdir -p .venv/bin && touch $@ && ln -s "$$(command -v ruff)" .venv/bin/ruff
lint:
test test-wide:
\t@cat $@.txt && ! grep -q '^FAILED\\|^test .* FAILED\\|lost' $@.txt
"""
REPORT = """\
tests/a.py .F.
FAILED tests/a.py::test_a - assert 1 == 2
ERROR tests/b.py
test zion::times ... FAILED
more than a page of warnings
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "work/sdb"
    (folder / ".ci").mkdir(parents=True)
    shutil.copy(ROOT / ".ci/run", folder / ".ci/run")
    (folder / "Makefile").write_text(MAKEFILE)
    for name in ("test", "test-wide"):
        (folder / f"{name}.txt").write_text("3 passed\n")
    git(folder, "init", "--quiet")
    (tmp_path / "tools").mkdir()
    for name in TOOLS:
        (tmp_path / "tools" / name).write_text("#!/bin/sh\n")
        (tmp_path / "tools" / name).chmod(0o755)
    return folder


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    command = ["git", "-C", str(folder), *who, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def run(checkout: Path) -> tuple[int, list[str]]:
    """Commit what is there, and run it; return its code and its lines."""
    git(checkout, "add", "--all")
    git(checkout, "commit", "--quiet", "--allow-empty", "-m", "more")
    tools = checkout.parents[1] / "tools"
    unset = ("SDB_VECTORS", "CARGO_TARGET_DIR", "MAKEFLAGS", "MAKELEVEL")
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    done = subprocess.run(
        [checkout / ".ci/run"],
        env=environment | {"PATH": f"{tools}:{os.environ['PATH']}", "TMPDIR": str(tools.parent)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout.splitlines()


def test_the_commit_that_passed_is_kept_and_what_failed_comes_last(checkout: Path) -> None:
    passed = checkout / ".git/ci-passed"
    code, lines = run(checkout)
    assert code == 0, lines
    first = git(checkout, "rev-parse", "HEAD")
    assert passed.read_text() == f"{first}\n"
    for name in ("test", "test-wide"):
        (checkout / f"{name}.txt").write_text(REPORT)
        code, lines = run(checkout)
        assert code != 0
        assert lines[-5:] == ["", "== what failed, once more", *REPORT.splitlines()[1:4]]
        assert passed.read_text() == f"{first}\n"
        (checkout / f"{name}.txt").write_text("3 passed\n")
    (checkout / "test.txt").write_text("".join(f"line {n}\n" for n in range(50)) + "lost\n")
    code, lines = run(checkout)
    assert code != 0
    assert (lines[-20], lines[-3], len(passed.read_text())) == ("line 32", "line 49", 41), lines
