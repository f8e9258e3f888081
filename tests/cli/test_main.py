"""What all commands have in common."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

import sdb
from sdb import errors
from sdb.cli import app, compat, main
from sdb.cli.commands import leaves, load
from tests.cli.conftest import environment
from tests.patience import soon
from tests.table.made import made_table

ROOT = Path(__file__).parents[2]
SLOW = {
    *("collections", "contextlib", "dataclasses", "datetime", "enum", "functools", "importlib"),
    *("inspect", "re", "signal", "threading", "typing"),
}
HEAVY = {"amazon", "numpy", "pandas", "polars", "pyarrow", "pydantic", "rich", "zstandard"}


def imported(folder: Path, *arguments: str) -> set[str]:
    """The modules that a run of `sdb` imports, without the parts of packages."""
    code = (
        f"import atexit, sys; sys.argv = {['sdb', *arguments]!r}\n"
        "atexit.register(lambda: print(*sys.modules, file=sys.stderr))\n"
        "from sdb.cli.main import main\n"
        "main()\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
    )
    return {name.split(".")[0] for name in result.stderr.split()}


@pytest.mark.parametrize(
    "words",
    [
        ["pack", "-o", "x.zion", "rows.json"],
        ["describe-file", "events.zion"],
        ["head", "events.zion"],
        ["unpack", "--fmt", "json", "events.zion"],
    ],
)
def test_short_commands_load_next_to_nothing_of_the_standard_library(
    events: Path, words: list[str]
) -> None:
    (events.parent / "rows.json").write_text('{"at": "2021-01-02T03:04:05Z"}')
    bare = [sys.executable, "-c", "import sys; print(*sys.modules)"]
    known = subprocess.run(bare, capture_output=True, text=True, check=True).stdout.split()
    assert not imported(events.parent, *words) & SLOW - set(known)


@pytest.mark.parametrize("words", [["--version"], ["-version"], ["version"]])
def test_version_imports_next_to_nothing(tmp_path: Path, words: list[str]) -> None:
    assert not imported(tmp_path, *words) & (HEAVY | {"typer", "json", "dataclasses"})


def test_describe_file_imports_nothing_heavy(events: Path) -> None:
    assert not imported(events.parent, "describe-file", events.name) & HEAVY


@pytest.mark.parametrize(
    "words",
    [
        ["describe-file", "events.zion"],
        ["head", "events.zion"],
        ["unpack", "--fmt", "ion", "-o", "x.ion", "events.zion"],
        ["concat", "-o", "x.zion", "events.zion"],
    ],
)
def test_plain_command_lines_do_without_typer(events: Path, words: list[str]) -> None:
    assert not imported(events.parent, *words) & (HEAVY | {"typer"})


@pytest.mark.parametrize(
    "query",
    [
        "SELECT x || '!' AS k, COUNT(*) FROM 'events.zion' GROUP BY x || '!'",
        "SELECT MAX(x || '!') OVER (PARTITION BY n) AS m FROM 'events.zion' ORDER BY x || '!'",
    ],
)
def test_queries_that_duckdb_answers_load_no_other_engine(events: Path, query: str) -> None:
    assert "duckdb" in (loaded := imported(events.parent, "query", query))
    assert not loaded & HEAVY


def test_what_metadata_answers_loads_no_arrow(events: Path) -> None:
    query = "SELECT MIN(x) AS a, MAX(x) AS b, COUNT(*) AS n FROM 'events.zion'"
    assert not imported(events.parent, "query", query) & (HEAVY | {"duckdb"})


def test_exit_functions_run_before_a_quick_end(tmp_path: Path) -> None:
    code = (
        "import atexit, sys; sys.argv = ['sdb', 'version']; atexit.register(print, 'done')\n"
        "from sdb.cli.main import main\nmain()\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=True
    )
    assert result.stdout.splitlines()[1:] == ["done"]


@pytest.mark.parametrize("name", [*app.COMMANDS, *leaves()])
def test_help(run: Any, name: str) -> None:
    result = run(*name.split(), "--help")
    assert result.returncode == 0
    assert result.stderr == b""
    text = result.stdout.decode()
    assert re.match(rf"Usage: sdb {name} .*\n\n  [A-Z][^\n]*\.\n", text)
    assert "Examples:\n  " in text
    assert max(map(len, text.splitlines())) <= 80


VERSIONED = {
    "cp",
    "expire",
    "log",
    "show",
    "diff",
    "restore",
    "undo",
    "tag",
    "branch",
    "merge",
}
ENDLESS = ("--follow", "sdb follow", "tail -F", "tail -f", "maintain --watch")
TOLD = {
    "create": r"web.*\n",
    "alter": "sdb: web.gha: (would change|changed) (description|versions|input)",
    "append": "appended ",
    "sync": r"(web/gha: .*vanished .*\n)?$",
    "exec": r"(sdb: .*\n)*$",
    "status": "$",
    "maintain": "sdb: web.gha: only other programs have written it",
    "compact": "sdb: nothing to merge|$",
    "expire": "sdb: ",
    "gc": "sdb: nothing to delete",
    "purge": r"(sdb: .*\n)*sdb: (proof: 0 rows match|0 packfiles with such rows would)",
    "cp": "sdb: (web.(copy|before|shared) (has|shares) the|version 1 of web.events below ./copy)",
    "rename": "sdb: web.gha is web.events now|sdb: web.events is web.gha2 now",
    "drop": "hint: sdb undrop|$",
    "undrop": "hint: sdb undrop|$",
    "tag": "sdb: before-june is|$",
    "branch": "sdb: audit begins|$",
    "merge": "sdb: (main|audit) has all of",
    "restore": r"sdb: version \d of web.gha has",
    "undo": r"sdb: web.gha: version \d (is|would be) undone",
}


GROUPED = {"schema", "spark", "export"}  # with subcommands


@pytest.mark.parametrize(
    "name", [name for name in app.COMMANDS if name not in {"doctor", *GROUPED}]
)
def test_examples_run(tmp_path: Path, events: Path, sample: Path, name: str) -> None:
    shutil.copy(sample, tmp_path / "events.json.gz")
    if name == "pack":
        events.unlink()
    if name == "concat":
        shutil.copy(events, tmp_path / "more.zion")
    made_table(tmp_path / "lake", "web", "gha", [tmp_path / "events.json.gz"])
    if name in VERSIONED:  # the table becomes a version then
        for number in range(2):
            sdb.connect(tmp_path / "lake").append("web.gha", [{"number": number}])
        if name == "merge":
            sdb.connect(tmp_path / "lake").table("web.gha").branch("audit")
    if name == "expire":
        policy = {"input": [{"pattern": "file://in/*.json"}], "versions": {"keep_last": 10}}
        (tmp_path / "lake/db/web/gha/definition.json").write_text(json.dumps(policy))
    if name == "insert":
        days = tmp_path / "lake/db/web/days"
        days.mkdir()
        definition = {
            "input": [{"pattern": "file://in/{day}.json"}],
            "partitions": [{"field": "day"}],
        }
        (days / "definition.json").write_text(json.dumps(definition))
    (tmp_path / "statements.sql").write_text("DELETE FROM web.gha WHERE id = 'none'")
    script = f'sdb() {{ {sys.executable} -m sdb.cli.main "$@"; }}\nset -eo pipefail\n'
    module = load(name)
    assert len(module.EXAMPLES) >= 2
    for example in module.EXAMPLES:
        if name == "serve" or any(word in example for word in ENDLESS):
            continue  # it runs for ever; tests of its own end it
        result = subprocess.run(
            ["bash", "-c", script + example],
            cwd=tmp_path,
            env=environment(XDG_CONFIG_HOME=str(tmp_path / "config")),
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, (example, result.stderr)
        value = TOLD.get(name, "$")
        assert re.match(value, result.stderr)


FIRST = ["pack", "describe", "append", "query", "create"]
GROUPS = ["Packfiles", "Tables", "Versions", "Upkeep", "Tools"]


def test_help_lists_the_commands(run: Any) -> None:
    text = run("--help").stdout.decode()
    first, groups = text.split("First steps:\n")[1].split("\n\n", 1)
    assert [line.split()[1] for line in first.splitlines()] == FIRST
    assert re.findall(r"^  ([a-z][a-z-]+) ", groups, re.MULTILINE) == list(app.COMMANDS)
    assert re.findall(r"^([A-Z][a-z]+):$", groups, re.MULTILINE) == GROUPS
    # Each command has one line, whose end is there.
    lines = [line for line in groups.splitlines() if line.startswith("  ")]
    assert len(lines) == len(app.COMMANDS) + 1
    assert all(line.endswith(".") for line in lines)
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["describ"], "Did you mean 'describe'"),
        (["pack", "--forse"], "--force"),
        (["head"], "Usage: sdb head"),
        ([], "Usage: sdb"),
        (["unpack", "-j", "many", "x"], "'many' is not a valid int"),
        (["concat", "x"], "Missing option '--output' / '-o'"),
    ],
)
def test_wrong_use(run: Any, words: list[str], message: str) -> None:
    result = run(*words)
    assert result.returncode == 2
    assert message in result.stderr.decode()
    assert result.stdout == b""


def test_every_long_flag_may_have_one_dash() -> None:
    group: Any = get_command(app.app)
    known = {
        name.removeprefix("--")
        for above in (group, *group.commands.values())
        for command in (above, *getattr(above, "commands", {}).values())
        for parameter in command.params
        for name in parameter.opts
        if name.startswith("--")
    }
    assert known | {"help", "rows"} == compat.long_flags(), "and those that are hidden"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("-root X describe-file a", "--root X describe --packfiles a"),
        ("-root=s3://b validate-file -v a", "--root=s3://b validate --packfiles -v a"),
        ("-v -root X tables web", "-v --root X ls web"),
        ("--root tables fork a.b a.c", "--root tables cp a.b a.c"),
        ("help push", "cp --push --help"),
        ("show-config sh", "config root sh"),
        ("head views", "head views"),
        ("unpack -fmt=json -o=x -j4 -q", "unpack --fmt=json -o x -j4 -q"),
        ("pack -f .json -c zstd -- -fmt -o=x", "pack -f .json -c zstd -- -fmt -o=x"),
        ("unpack - -unknown --fmt json", "unpack - -unknown --fmt json"),
        ("help pack", "pack --help"),
        ("help spark env", "spark env --help"),
        ("help config", "help config"),
        ("help pac", "help pac"),
        ("help", "help"),
    ],
)
def test_old_flags(old: str, new: str) -> None:
    assert compat.rewrite(old.split()) == new.split()


def test_exit_codes(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    def fail_with(error: Exception) -> tuple[int, str]:
        def fail(_: list[str]) -> int:
            raise error

        monkeypatch.setattr(app, "dispatch", fail)
        code = main.run([])
        return code, capfd.readouterr().err

    corrupt = errors.CorruptError("bad\x1b[2J chunk", hint="look")
    assert fail_with(corrupt) == (6, "sdb: bad\\u001b[2J chunk\nhint: look\n")
    limited = errors.UsageError("no", expected="yes")
    assert fail_with(limited) == (2, "sdb: no\nhint: expected yes\n")
    assert fail_with(OSError(28, "No space left on device")) == (
        1,
        "sdb: writing standard output: no space left on device\n",
    )
    code, text = fail_with(KeyError("x"))
    assert code == 70
    assert text.startswith("sdb: this is a bug: KeyError: 'x'\nhint: ")
    assert "Traceback" not in text
    monkeypatch.setenv("SDB_DEBUG", "1")
    assert "Traceback" in fail_with(KeyError("x"))[1]


def test_a_message_of_any_length_fits_a_screen(run: Any, events: Path) -> None:
    name = "y" * 50_000
    result = run("query", f"SELECT {name}.a FROM '{events}' x JOIN '{events}' z ON x.a = z.a")
    assert result.returncode == 2
    assert b'undefined variable "yyy' in result.stderr
    assert b"characters ...]" in result.stderr
    assert result.stderr.endswith(b"hint: the tables are x, z\n")
    assert len(result.stderr) < 4000


def test_a_warning_of_any_length_fits_a_screen(run: Any, events: Path) -> None:
    name = "y" * 20_000
    result = run("query", f"SELECT {name}, {name}.{name} FROM '{events}' ORDER BY {name}")
    assert result.returncode == 0
    assert b"warning: no row of " in result.stderr
    assert b"characters ...]" in result.stderr
    assert max(map(len, result.stderr.splitlines())) < 4000


def test_broken_pipe_is_quiet(events: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "sdb.cli.main", "unpack", "--fmt", "json", events],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(10)
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(timeout=60) == 141
    process.stderr.close()


@pytest.mark.parametrize(
    ("redirection", "code"), [(">&-", 1), ("2>&-", 0), ("> /dev/full", 1), ("| true", 0)]
)
def test_odd_outputs(events: Path, redirection: str, code: int) -> None:
    result = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m sdb.cli.main describe-file {events} {redirection}"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
    )
    assert result.returncode == code
    assert result.stderr.count(b"\n") == code


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_leave_nothing_behind(tmp_path: Path, number: int, code: int) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "sdb.cli.main", "pack", "-o", "x.zion", "-f", "json", "-"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stdin is not None
    assert process.stderr is not None
    process.stdin.write(b'{"a": 1}\n' * 100_000)
    process.stdin.flush()
    time.sleep(1)
    start = time.monotonic()
    process.send_signal(number)
    assert process.wait(timeout=60) == code
    assert time.monotonic() - start < soon(5)
    assert process.stderr.read() == b""
    process.stderr.close()
    process.stdin.close()
    assert list(tmp_path.iterdir()) == []


def test_completion(run: Any) -> None:
    script = f"{sys.executable} -m sdb.cli.main --show-completion; true"  # whose parent is bash
    shown = subprocess.run(
        ["bash", "-c", script], check=False, env=environment(), capture_output=True
    )
    assert b"_SDB_COMPLETE" in shown.stdout
    words = {"_SDB_COMPLETE": "complete_bash", "COMP_CWORD": "1"}
    assert run(COMP_WORDS="sdb des", **words).stdout.split() == [b"describe"]
    words["COMP_CWORD"] = "2"
    assert b"--fmt" in run(COMP_WORDS="sdb unpack --f", **words).stdout.split()


def test_root(run: Any, events: Path, tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    events.rename(tmp_path / "deep/events.zion")
    shown = run("-root", "deep", "describe-file", "events.zion")
    assert shown.stdout.startswith(b"file://events.zion  ")
    assert run("-root=deep", "validate-file", "events.zion").returncode == 0
    rows = run("head", "-n", "1", "events.zion", SNELLER_BUCKET="deep").stdout
    assert json.loads(rows)["type"]
    assert run("describe-file", "events.zion").returncode == 3


def test_module_is_the_command_line() -> None:
    command = [sys.executable, "-m", "sdb", "--version"]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout.startswith(
        "sdb "
    )
