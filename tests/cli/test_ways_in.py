"""Inputs without ceremony: outputs that go without saying, pipes, folders, patterns, new files."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import sdb
from tests.cli.conftest import COMMAND, SAMPLE, environment

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run, Screen


def count(path: Path) -> int | None:
    return sdb.describe(path).rows


@pytest.mark.parametrize(
    ("name", "target"),
    [("a.json.gz", "a.zion"), ("logs/b.2026.ndjson", "logs/b.2026.zion"), ("c", "c.zion")],
)
def test_one_file_needs_no_output(run: Run, tmp_path: Path, name: str, target: str) -> None:
    source = tmp_path / name
    source.parent.mkdir(exist_ok=True)
    data = SAMPLE.read_bytes()
    source.write_bytes(data if name.endswith(".gz") else gzip.decompress(data))
    ended = run("pack", name)
    assert (ended.returncode, ended.stderr.decode()) == (0, f"sdb: packing into {target}\n")
    assert count(tmp_path / target) == 1000
    assert run("pack", name).returncode == 4
    quiet = run("pack", "-q", "--force", name)
    assert (quiet.returncode, quiet.stderr) == (0, b"")


@pytest.mark.parametrize(
    "inputs", [["-"], ["a.json", "a.json"], ["s3://b/x.json"], ["."], ["*.json"]]
)
def test_others_do(run: Run, tmp_path: Path, inputs: list[str]) -> None:
    (tmp_path / "a.json").write_text("{}")
    ended = run("pack", *inputs)
    assert ended.returncode == 2
    assert ended.stderr.startswith(b"sdb: no output given\nhint: -o PACKFILE")
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_nothing_is_announced_for_a_file_that_is_not_there(run: Run, tmp_path: Path) -> None:
    ended = run("pack", "missing.json")
    assert (ended.returncode, ended.stdout) == (3, b"")
    assert ended.stderr == b"sdb: opening missing.json: no such file or directory\n"
    assert list(tmp_path.iterdir()) == []


def test_the_output_is_not_the_input(run: Run, tmp_path: Path) -> None:
    assert run("pack", "-o", "a.zion", SAMPLE).returncode == 0
    before = (tmp_path / "a.zion").read_bytes()
    assert run("pack", "--force", "a.zion").returncode == 2
    assert (tmp_path / "a.zion").read_bytes() == before


def test_a_pipe_needs_no_dash(run: Run, tmp_path: Path) -> None:
    data = gzip.decompress(SAMPLE.read_bytes())
    assert run("pack", "-o", "a.zion", data=data).returncode == 0
    assert run("append", "-q", "a.zion", data=data.replace(b"PushEvent", b"Other")).returncode == 0
    assert count(tmp_path / "a.zion") == 2000
    (tmp_path / "x.json").write_bytes(data)
    with (tmp_path / "x.json").open("rb") as file:
        assert run("pack", "--force", "-o", "a.zion", stdin=file).returncode == 0
    assert count(tmp_path / "a.zion") == 1000


def test_no_pipe_and_no_file(screen: Screen, tmp_path: Path) -> None:
    """Neither a terminal nor nothing at all is waited for."""
    for words in (["pack", "-o", "a.zion"], ["append", "a.zion"]):
        code, text = screen(*words)
        assert code == 2
        assert text.startswith("sdb: no inputs\nhint: ")
    ended = subprocess.run(
        [*COMMAND, "pack", "-o", "a.zion"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        cwd=tmp_path,
        env=environment(),
        timeout=60,
        check=False,
    )
    assert (ended.returncode, ended.stderr[:14]) == (2, b"sdb: no inputs")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files at several depths, hidden ones too, and a name that looks like a pattern."""
    top = tmp_path / "logs[1]"
    for number, name in enumerate(
        ["b.json", "a.csv", "2026/c.ndjson", "2026/05/d.json", "_SUCCESS"]
    ):
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"n\n{number}\n" if name == "a.csv" else f'{{"n": {number}}}\n')
    (top / ".hidden").mkdir()
    (top / ".hidden/e.json").write_text('{"n": 9}\n')
    return top


@pytest.mark.parametrize("form", ["logs[1]", "logs[1]/"])
def test_folders(run: Run, tmp_path: Path, folder: Path, form: str) -> None:
    ended = run("pack", "-o", "all.zion", form)
    reported = f"warning: {form}: left out 1 file with . or _ in front of a name\n"
    assert (ended.returncode, ended.stderr.decode()) == (0, reported)
    rows = run("unpack", "--fmt", "json", "all.zion").stdout.splitlines()
    assert [int(json.loads(row)["n"]) for row in rows] == [3, 2, 1, 0]
    assert run("append", "-q", "all.zion", form).returncode == 0
    assert count(tmp_path / "all.zion") == 8
    with pytest.warns(sdb.errors.SdbWarning, match="left out 1 file"):
        assert sdb.pack(folder, tmp_path / "again.zion").rows == 4


def test_what_is_in_a_folder_is_not_replaced(run: Run, folder: Path) -> None:
    target = folder / "all.zion"
    assert run("pack", "-q", "-o", target, folder).returncode == 0
    before = target.read_bytes()
    assert run("pack", "-q", "--force", "-o", target, folder).returncode == 2
    assert target.read_bytes() == before


def test_an_empty_folder(run: Run, tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    ended = run("pack", "-o", "x.zion", "none")
    assert (ended.returncode, ended.stderr) == (3, b"sdb: none: the folder has no files\n")


def test_quoted_patterns(run: Run, tmp_path: Path) -> None:
    for number, name in enumerate(["a.json", "b.json", "c.csv"]):
        (tmp_path / name).write_text(f'{{"n": {number}}}\n')
    assert run("pack", "-o", "x.zion", "*.json").returncode == 0
    assert count(tmp_path / "x.zion") == 2
    ended = run("pack", "-o", "y.zion", "*.xml")
    assert ended.returncode == 3


def test_append_makes_a_packfile(run: Run, tmp_path: Path) -> None:
    for turn in (1, 2):
        (tmp_path / "a.json").write_text(f'{{"turn": {turn}}}\n')
        ended = run("append", "--create", "--json", "x.zion", "a.json")
        assert ended.returncode == 0, ended.stderr
        facts = json.loads(ended.stdout)
        assert (facts["rows_added"], facts["rows"]) == (1, turn)
    assert run("validate-file", "x.zion").returncode == 0
    reported = [run("append", "--create", "t.zion", "a.json").stderr.decode() for _ in "12"]
    expected = r"made     t.zion: 1 row in 1 block\nsize     \d+\ntime     \d\.\d\d s\n"
    assert re.fullmatch(expected, reported[0])
    assert "appended 1 row to 1, 1 block now" in reported[1]
    assert run("append", "y.zion", "a.json").returncode == 3
    ended = run("append", "--create", "y.zion", data=b'{"a": }\n')
    assert (ended.returncode, (tmp_path / "y.zion").exists()) == (6, False)
    ended = run("append", "--create", "-o", "z.zion", "y.zion", "a.json")
    assert (ended.returncode, (tmp_path / "y.zion").exists()) == (2, False)


def test_many_who_make_one_packfile(tmp_path: Path) -> None:
    """No rows are lost, in any order."""
    script = (
        "import sdb, sys\n"
        "for n in range(10):\n"
        "    sdb.append('x.zion', ({'who': sys.argv[1], 'n': n} for _ in '1'), create=True)\n"
    )
    start = [sys.executable, "-c", script]
    running = [
        subprocess.Popen([*start, str(who)], cwd=tmp_path, env=environment()) for who in range(4)
    ]
    assert [process.wait(timeout=60) for process in running] == [0] * 4
    with sdb.open(tmp_path / "x.zion") as packfile:
        names = sorted((row["who"], row["n"]) for row in packfile)
    assert names == [(str(who), n) for who in range(4) for n in range(10)]
