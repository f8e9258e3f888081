"""`sdb help`: short texts whose examples run, and the help of commands."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import sdb
from sdb.cli.commands import COMMANDS, load
from sdb.cli.plain import read
from sdb.cli.settingfiles import SETTINGS
from sdb.cli.topictexts import _FOLDER, TOPICS, text
from sdb.instants import parse
from tests.cli.conftest import environment
from tests.examples import SDB
from tests.table.made import made_table


def examples(topic: str, mark: str) -> list[str]:
    """Return the command lines of a topic; one that ends in a backslash goes on."""
    joined = text(topic).replace("\\\n", " ")
    return [line[4:] for line in joined.splitlines() if line.startswith(f"  {mark} ")]


@pytest.mark.parametrize("topic", TOPICS)
def test_topics_are_short(run: Any, topic: str) -> None:
    done = run("help", topic)
    assert (done.returncode, done.stderr) == (0, b"")
    lines = done.stdout.decode().splitlines()
    assert "\n".join(lines) + "\n" == text(topic)
    assert len(lines) <= 60
    assert max(map(len, lines)) <= 80
    assert lines[0].endswith(".")


@pytest.mark.parametrize("topic", TOPICS)
def test_examples_of_topics_run(tmp_path: Path, events: Path, sample: Path, topic: str) -> None:
    shutil.copy(sample, tmp_path / "events.json.gz")
    assert events.is_file()
    made_table(tmp_path / "lake", "web", "gha", [tmp_path / "events.json.gz"])
    for number in range(2):
        sdb.connect(tmp_path / "lake").append("web.gha", [{"id": str(number)}])
    commands = examples(topic, "$")
    assert commands
    for command in commands:
        done = subprocess.run(
            ["bash", "-c", f"{SDB}\nset -eo pipefail\n{command}"],
            cwd=tmp_path,
            env=environment(HOME=str(tmp_path)),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (command, done.stderr)


def test_examples_with_stores_parse() -> None:
    commands = [command for topic in TOPICS for command in examples(topic, ">")]
    assert len(commands) >= 5
    for command in commands:
        program, name, *words = shlex.split(command)
        assert program == "sdb"
        assert read(load(name).command, words) is not None, command


def test_times_of_the_topic_are_times() -> None:
    first = text("times").partition("A moment:\n")[2].partition("\n\n")[0]
    actual = [re.split(r"\s{2,}", line.strip())[0] for line in first.splitlines()]
    times = [time for part in actual for time in part.split(", ")]
    assert len(times) >= 8
    for time in times:
        parse(time)


def test_codes_and_settings_are_all_there() -> None:
    codes = {int(code) for code in re.findall(r"^  (\d+) ", text("exit-codes"), re.MULTILINE)}
    assert {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 70, 130, 141, 143} == codes
    for setting in SETTINGS:
        assert re.search(rf"^  {setting.name} +{setting.variable} ", text("config"), re.MULTILINE)


def test_all_texts_are_topics() -> None:
    assert sorted(path.name for path in Path(_FOLDER).iterdir()) == sorted(
        f"{topic}.txt" for topic in TOPICS
    )


def test_the_list(run: Any) -> None:
    listed = run("help").stdout.decode()
    assert re.findall(r"^  (\S+)  ", listed, re.MULTILINE) == list(TOPICS)
    assert max(map(len, listed.splitlines())) <= 80
    assert b"sdb help" in run("--help").stdout


@pytest.mark.parametrize("words", [["pack"], ["describe"], ["spark"], ["spark", "env"]])
def test_help_of_commands(run: Any, words: list[str]) -> None:
    shown = run("help", *words)
    assert shown.returncode == 0
    assert shown.stdout == run(*words, "--help").stdout
    assert shown.stdout.startswith(b"Usage: sdb " + " ".join(words).encode())


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["timez"], "did you mean times?"),
        (["describe-fil"], "did you mean describe?"),
        (["qqqq"], "topics are times, versions"),
        (["times", "x"], ""),
    ],
)
def test_what_is_no_topic(run: Any, words: list[str], hint: str) -> None:
    done = run("help", *words)
    assert (done.returncode, done.stdout) == (2, b"")
    assert hint in done.stderr.decode()


def test_completion_of_topics(run: Any) -> None:
    words = {"_SDB_COMPLETE": "complete_bash", "COMP_CWORD": "2"}
    assert run(COMP_WORDS="sdb help ver", **words).stdout.split() == [b"versions", b"version"]
    assert run(COMP_WORDS="sdb help conf", **words).stdout.split() == [b"config"]
    words["COMP_CWORD"] = "1"
    assert run(COMP_WORDS="sdb conf", **words).stdout.split() == [b"config"]
    assert len(run(COMP_WORDS="sdb ", **words).stdout.split()) == len(COMMANDS)
