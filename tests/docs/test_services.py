"""`docs/tables.md`: the commands of its unit, its crontab and its container keep a table."""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import sdb
from tests.examples import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PAGE = (ROOT / "docs/tables.md").read_text()
UPKEEP = PAGE[PAGE.index("\n## Upkeep") : PAGE.index("What may grow, and what bounds it")]
SDB = [sys.executable, "-m", "sdb.cli.main"]


def words(pattern: str, root: Path) -> list[str]:
    """Return the words behind `sdb` of the command that a pattern finds, for another root."""
    match = re.search(pattern, UPKEEP)
    assert match is not None, pattern
    text = re.sub(r"/srv/lake|(?<= )/lake", str(root), match[1].strip("`"))
    return [*SDB, *shlex.split(text)]


def made(root: Path) -> None:
    command = words(r"\nsdb (create .*)\n", root)
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "rows whose time is older than 30d go" in done.stderr
    (root / "logs").mkdir()
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    (root / "logs/a.json").write_text(
        f'{{"time": "{now}", "n": 1}}\n{{"time": "2001-01-01T00:00:00Z", "n": 2}}\n{{"n": \n'
    )


def kept(root: Path) -> list[dict[str, object]]:
    return list(sdb.connect(root).sql("SELECT n FROM web.logs"))


def test_a_round_of_cron_keeps_the_table(tmp_path: Path) -> None:
    made(tmp_path)
    command = words(r"\* /opt/sdb/bin/sdb (.*)\n", tmp_path)
    for _ in range(2):
        subprocess.run(command, capture_output=True, timeout=60, check=True)
    assert kept(tmp_path) == [{"n": 1}]


def test_the_unit_and_the_container_run_until_they_are_stopped(tmp_path: Path) -> None:
    made(tmp_path)
    unit = words(r"\nExecStart=/opt/sdb/bin/sdb (.*)\n", tmp_path)
    assert unit == words(r"docker run IMAGE (maintain [^`]*)`", tmp_path)
    with subprocess.Popen(unit, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        warned, said = process.stderr.readline(), process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) in {0, 128 + signal.SIGTERM, -signal.SIGTERM}
    assert "skipped 1 record" in warned
    assert "took 1 input" in said
    assert kept(tmp_path)


def test_the_service_of_the_unit_starts(tmp_path: Path) -> None:
    made(tmp_path)
    command = words(r"\n# ExecStart=/opt/sdb/bin/sdb (.*)\n", tmp_path)
    assert command == words(r"docker run IMAGE (serve [^`]*)`", tmp_path)
    tokens = str(tmp_path / "tokens.json")
    make = [*SDB, "token", "create", "x", "--can", "admin", "--tokens", tokens]
    subprocess.run(make, capture_output=True, timeout=60, check=True)
    others = {"0.0.0.0:7373": "127.0.0.1:0", "/etc/sdb/tokens.json": tokens}
    command = [others.get(word, word) for word in command]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert "serving" in process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)


def test_what_retention_cannot_be_is_said(tmp_path: Path) -> None:
    def said(*options: str) -> str:
        command = [*SDB, "create", "--root", str(tmp_path), "web.x", *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 2, done
        return done.stderr

    assert "--retention '3x'" in said("--input", "a/*", "--retention", "3x")
    definition = tmp_path / "x.json"
    definition.write_text('{"input": [{"pattern": "file://a/*.json"}]}')
    assert "retention_policy in it" in said(str(definition), "--retention", "3d")
