"""`sdb spark` on the command line."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sdb.cli.spark import program
from tests.cli.conftest import COMMAND, ROOT, environment, run  # noqa: F401 - a fixture
from tests.folders import contents
from tests.spark import accidents
from tests.spark.test_bulk import GITHUB, rows

if TYPE_CHECKING:
    from tests.cli.conftest import Run

PACK = ["spark", "pack", "-o", "out"]


def listed(folder: str | Path) -> list[str]:
    return [key.location for key in contents(folder)]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["pack", "--spark", "-o", "out", "a.json"], "hint: sdb spark pack"),
        (["pack", "--master", "yarn", "-o", "out", "a.json"], "pack has no --master"),
        (["pack", "-append", "-o", "out", "a.json"], "pack has no --append"),
        ([*PACK, "-"], "standard input"),
        ([*PACK, "-o", "-", "a.json"], "standard output"),
        ([*PACK, "--force", "--append", "a.json"], "--append"),
        ([*PACK, "--conf", "x", "a.json"], "NAME=VALUE"),
        ([*PACK, "--target-size", "huge", "a.json"], "not a size"),
        ([*PACK, "-f", "yaml", "a.json"], "unknown format"),
        (["spark", "environment"], "No such command 'environment'"),
        (["spark", "pack", "-o", "out", "-"], "standard input"),
        (["spark", "pack", "-o", "out", "--force", "--append", "a.json"], "--append"),
        (["spark", "pack", "-o", "out", "-j", "2", "a.json"], "No such option"),
    ],
)
def test_what_makes_no_sense(run: Run, tmp_path: Path, arguments: list[str], expected: str) -> None:  # noqa: F811
    (tmp_path / "a.json").write_bytes(b"{}")
    result = run(*arguments)
    assert (result.returncode, result.stdout) == (2, b"")
    assert expected in result.stderr.decode()
    assert os.listdir(tmp_path) == ["a.json"]  # noqa: PTH208


def test_what_is_missing_is_named(run: Run, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "a.json").write_bytes(b"{}")
    (tmp_path / "none").mkdir()
    (tmp_path / "none/pyspark.py").write_text("raise ImportError")
    result = run(*PACK, "a.json", PYTHONPATH=f"{tmp_path}/none:{ROOT}")
    assert result.returncode == 3
    assert "pip install 'sdb-packfile[spark]'" in result.stderr.decode()
    result = run(*PACK, "b.json")
    assert result.returncode == 3
    assert "b.json" in result.stderr.decode()


def test_print_submit(run: Run) -> None:  # noqa: F811
    """Options of Spark go to the front, the rest stays as it is; nothing is done."""
    words = ["--master", "yarn", "-conf", "spark.a=b c", "--conf=spark.pyspark.python=./my.pex"]
    result = run(*PACK, *words, "--print-submit", "--tasks=4", "--", "s3://b/*.json", "--conf")
    assert (result.returncode, result.stderr) == (0, b"")
    submit, argument = shlex.split(result.stdout.decode()), "--tasks=4 -- s3://b/*.json --conf"
    at = submit.index(program())
    assert submit[at + 1 :] == [*PACK, *argument.split()]
    assert submit[:5] == ["spark-submit", "--master", "yarn", "--files", "sdb.pex"]
    assert "spark.a=b c" in submit[:at]
    assert "spark.pyspark.python=./my.pex" in submit[:at]
    assert "spark.pyspark.driver.python=./sdb.pex" in submit[:at]
    assert Path(program()).is_file()


def test_an_archive_is_not_replaced(run: Run, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "sdb.pex").write_text("mine")
    result = run("spark", "env")
    assert (result.returncode, (tmp_path / "sdb.pex").read_text()) == (4, "mine")
    assert run("spark", "env", "-o", ".").returncode == 2


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(500)
@pytest.mark.usefixtures("java")
def test_a_whole_run(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(GITHUB + b'{"a": }\n')
    pack = [*COMMAND, *PACK, "--master", "local[2]", "--tasks", "2", "--progress", "json"]
    keep = ["--on-error", "quarantine:bad.json", "-v", "--json"]
    result = session([*pack, *keep, "a.json"], tmp_path).communicate(timeout=400)
    facts, text = json.loads(result[0]), result[1].decode()
    assert (facts["rows"], facts["rejected"], len(facts["tasks"])) == (1000, 1, 2)
    assert facts["path"] == str(tmp_path / "out")
    assert (tmp_path / "bad.json").read_bytes() == b'{"a": }\n'
    assert sum(rows(listed(tmp_path / "out")).values()) == 1000
    assert "skipped 1 record; kept in bad.json" in text
    events = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    size = (tmp_path / "a.json").stat().st_size
    assert events[-1]["consumed_bytes"] == events[-1]["total_bytes"] == size


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(500)
@pytest.mark.usefixtures("java")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_leaves_nothing(tmp_path: Path, number: int, code: int) -> None:
    (tmp_path / "a.json").write_bytes(GITHUB * 8)
    first = accidents.prepare(tmp_path / "accidents", stall=1)
    (tmp_path / "out").mkdir()
    pack = [*COMMAND, *PACK, "--master", "local[2]", "--tasks", "2", "a.json"]
    python = os.pathsep.join([str(ROOT), first])
    process = session([*pack, f"--conf=spark.executorEnv.PYTHONPATH={python}"], tmp_path)
    while accidents.left(tmp_path / "accidents"):
        assert process.poll() is None
        time.sleep(0.1)
    process.send_signal(number)
    _, reported = process.communicate(timeout=60)
    assert process.returncode == code
    assert b"Traceback" not in reported
    assert os.listdir(tmp_path / "out") == []  # noqa: PTH208


def session(command: list[str], folder: Path) -> subprocess.Popen[bytes]:
    java = {name: os.environ[name] for name in ("JAVA_HOME",) if name in os.environ}
    env = environment(**java)
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=folder, env=env, stdout=pipe, stderr=pipe)
