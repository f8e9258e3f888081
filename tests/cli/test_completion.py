"""What the shell offers: through the script that `sdb completion` prints, in a real bash."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

# Runs the function that the script has registered, as readline does it.
ASK = """
eval "$(sdb completion bash)"
[[ $(complete -p sdb) == *"-o default -F _sdb_complete sdb" ]] || exit 9
compopt() { options+=" $2"; }
COMP_WORDS=(%s) COMP_CWORD=%d options=
_sdb_complete sdb
printf '%%s\\n' "${COMPREPLY[@]}"
echo "options:$options"
"""


@pytest.fixture
def offered(tmp_path: Path, events: Path) -> Any:
    """Return what bash offers at the `^` of a command line, and the descriptions of it."""
    assert events.parent == tmp_path
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "sdb"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m sdb.cli.main "$@"\n')
    program.chmod(0o755)

    def ask(line: str) -> tuple[list[str], set[str]]:
        words = [word.removesuffix("^") for word in line.split()]
        item = next(at for at, word in enumerate(line.split()) if word.endswith("^"))
        result = subprocess.run(
            ["bash", "--norc", "-c", ASK % (shlex.join(words), item)],
            cwd=tmp_path,
            env={
                **os.environ,
                "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
                "PYTHONPATH": str(ROOT),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert (result.returncode, result.stderr) == (0, "")
        *actual, reported = result.stdout.splitlines()
        return [word for word in actual if word], set(reported.removeprefix("options:").split())

    return ask


def test_commands_and_options(offered: Any) -> None:
    assert offered("sdb des^")[0] == ["describe"]
    assert "--fields" in offered("sdb head --f^")[0]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("sdb query --fmt ion^", ["ion", "ion-text"]),
        ("sdb pack -c zion+i^", ["zion+iguana_v0", "zion+iguana_v0/specialized"]),
        ("sdb pack --progress ^", ["auto", "on", "off", "json"]),
        ("sdb append --on-error ^", ["fail", "skip", "keep", "quarantine:"]),
        ("sdb pack -f c^", ["cloudtrail.json", "csv", "combined", "cef"]),
        ("sdb completion ^", ["bash", "zsh", "fish"]),
    ],
)
def test_values(offered: Any, line: str, words: list[str]) -> None:
    actual, reported = offered(line)
    assert actual == words
    assert reported == ({"nospace"} if "quarantine:" in words else set())


def test_packfiles_come_before_other_files(offered: Any, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "two words.zion").write_bytes(b"")
    (tmp_path / "events.json").write_text("{}")
    (tmp_path / "logs/deep.zion").write_bytes(b"")
    actual, reported = offered("sdb head ^")
    assert actual == ["events.zion", "two words.zion", "bin/", "logs/"]
    assert reported == {"filenames"}
    assert offered("sdb validate ev^")[0] == ["events.zion"]
    assert offered("sdb head logs/^")[0] == ["logs/deep.zion"]
    # Where there is no packfile, bash offers what there is: `-o default`.
    assert offered("sdb head bin/^")[0] == []


def test_fields_of_the_packfile_wherever_it_stands(offered: Any) -> None:
    assert offered("sdb head events.zion --fields ac^")[0] == ["actor"]
    assert offered("sdb head --fields id,p^ events.zion")[0] == ["id,payload", "id,public"]
    assert offered("sdb head --fields actor,ac^ events.zion")[0] == []
    assert offered("sdb head --fields a^ missing.zion")[0] == []


def test_names_of_tables_and_their_versions(offered: Any, run: Any) -> None:
    lake = ("--root", "lake")
    assert run("create", "--quiet", *lake, "web.gha", "--input", "in/*.json").returncode == 0
    assert run("insert", "--quiet", *lake, "web.gha", "events.zion").returncode == 0
    assert run("tag", *lake, "web.gha", "first").returncode == 0
    assert run("branch", *lake, "web.gha", "trial").returncode == 0
    assert offered("sdb sync --root lake we^")[0] == ["web", "web.gha"]
    assert offered("sdb sync --root lake web.^")[0] == ["web.gha"]
    assert offered("sdb merge --root lake web.gha t^")[0] == ["trial"]
    assert offered("sdb restore --root lake web.gha ^")[0] == ["first", "trial", "main", "1"]
    assert offered("sdb branch --root lake -d web.gha tr^")[0] == ["trial"]
    assert offered("sdb restore --root lake web.none ^")[0] == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts(run: Any, shell: str) -> None:
    result = run("completion", shell)
    assert result.returncode == 0
    assert b"_SDB_COMPLETE" in result.stdout
    assert f"complete_{shell}".encode() in result.stdout


def test_other_shells(run: Any) -> None:
    result = run("completion", "tcsh")
    assert (result.returncode, result.stdout) == (2, b"")
    assert result.stderr == b"sdb: unknown shell 'tcsh'\nhint: expected bash, zsh, fish\n"
