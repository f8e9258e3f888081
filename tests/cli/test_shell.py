"""`sdb shell`: through a real terminal, and with statements from a pipe."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from typing import TYPE_CHECKING, Any

import pytest

from sdb.cli.shell.suggestions import Suggestions
from sdb.query.syntax.lexer import is_whole, split
from tests.cli.conftest import COMMAND, environment
from tests.patience import soon

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_STEERING = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[=>]|\x1b\][^\x07]*\x07|\r")
ENTER = "\r"
COUNT = "SELECT COUNT(*) AS n FROM 'events.zion';"


class Terminal:
    """A shell on a terminal, and what it has shown."""

    def __init__(self, folder: Path, **more: str) -> None:
        self._control, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        state = {"XDG_STATE_HOME": str(folder / "state"), "TERM": "xterm-256color"}
        self.process = subprocess.Popen(
            [*COMMAND, "shell"],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            cwd=folder,
            env=environment(**state, PROMPT_TOOLKIT_NO_CPR="1", **more),
            preexec_fn=self._own_terminal,  # noqa: PLW1509 - Ctrl-C goes to who has the terminal
        )
        os.close(terminal)
        self._seen = ""

    @staticmethod
    def _own_terminal() -> None:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def type(self, text: str) -> None:
        os.write(self._control, text.encode())

    def until(self, pattern: str, seconds: float = 15) -> str:
        """Wait for a text, and give what was shown up to its end."""
        end = time.monotonic() + seconds
        while not (match := re.search(pattern, self._seen)):
            left = end - time.monotonic()
            assert left > 0, f"no {pattern!r} in {self._seen!r}"
            if select.select([self._control], [], [], left)[0]:
                with contextlib.suppress(OSError):
                    piece = os.read(self._control, 1 << 16).decode(errors="replace")
                    self._seen += _STEERING.sub("", piece)
        shown, self._seen = self._seen[: match.end()], self._seen[match.end() :]
        return shown

    def leave(self) -> int:
        self.type("\x04")
        return self.process.wait(timeout=30)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._control)


@pytest.fixture
def terminal(tmp_path: Path, events: Path) -> Iterator[Terminal]:
    assert events.parent == tmp_path
    shell = Terminal(tmp_path)
    shell.until("sdb>")
    yield shell
    shell.close()


def test_a_query_and_the_end(terminal: Terminal) -> None:
    terminal.type(COUNT + ENTER)
    assert re.search(r"n\s+────\s+4000\s+\(1 row\)", terminal.until(r"\(1 row\)"))
    terminal.until("sdb>")
    assert terminal.leave() == 0


def test_several_lines(terminal: Terminal) -> None:
    terminal.type("SELECT ';' AS a," + ENTER)
    terminal.until(r"\.\.\.>")
    terminal.type("2 AS b;" + ENTER)
    assert re.search(r";\s+2", terminal.until(r"\(1 row\)"))
    terminal.type("SELECT 3 AS c" + ENTER)
    terminal.until(r"\.\.\.>")
    terminal.type(ENTER)  # an empty line ends it too
    assert re.search(r"c\s+─\s+3\s", terminal.until(r"\(1 row\)"))


def test_errors_do_not_end_it(terminal: Terminal) -> None:
    terminal.type("SELECT FROM;" + ENTER)
    terminal.until("sdb: ")
    terminal.until("sdb>")
    terminal.type("\\nosuch" + ENTER)
    terminal.until("unknown command")
    terminal.until("sdb>")
    terminal.type(COUNT + ENTER)
    terminal.until("4000")
    terminal.until("sdb>")
    terminal.type("\\q" + ENTER)
    assert terminal.process.wait(timeout=30) == 0


def test_commands(terminal: Terminal, tmp_path: Path) -> None:
    (tmp_path / "more.json").write_text('{"a": 1}\n')
    (tmp_path / "other.txt").write_text("no rows\n")
    terminal.type("\\d" + ENTER)
    shown = terminal.until("more.json")
    assert shown.index("events.zion") < shown.index("more.json")
    assert "other.txt" not in shown
    terminal.until("sdb>")
    terminal.type("\\d events.zion" + ENTER)
    shown = terminal.until("(?s)type.*sdb>")
    assert "created_at" in shown
    terminal.type("\\x" + ENTER)
    terminal.until("vertically")
    terminal.type(COUNT + ENTER)
    assert "n  4000" in terminal.until(r"\(1 row\)")
    terminal.type("\\timing" + ENTER)
    terminal.until("times are shown")
    terminal.type(COUNT + ENTER)
    terminal.until(r"\d\.\d{3} s")
    terminal.type("help" + ENTER)
    terminal.until("this help")
    terminal.type("exit" + ENTER)
    assert terminal.process.wait(timeout=30) == 0


def test_completion(terminal: Terminal, tmp_path: Path) -> None:
    terminal.type("SELE\t")
    terminal.until("SELECT")
    terminal.type(" COUNT(*) AS n FROM 'ev\t")
    terminal.until("events.zion")
    terminal.type("' WHERE repo.na\t")
    terminal.until("repo.name")
    terminal.type(" = 'x';" + ENTER)
    assert re.search(r"n\s+─\s+0", terminal.until(r"\(1 row\)"))
    assert (tmp_path / "state/sdb/history").stat().st_mode & 0o777 == 0o600


def test_history(tmp_path: Path, terminal: Terminal) -> None:
    terminal.type(COUNT + ENTER)
    terminal.until("4000")
    terminal.until("sdb>")
    assert terminal.leave() == 0
    again = Terminal(tmp_path)
    try:
        again.until("sdb>")
        again.type("\x1b[A")  # the key up
        again.until("COUNT")
        again.type(ENTER)
        again.until("4000")
    finally:
        again.close()


def test_ctrl_c_cancels_within_a_second(terminal: Terminal) -> None:
    terminal.type("SELECT 1" + "\x03")  # while typing: the line is given up
    terminal.until("sdb>")
    endless = " CROSS JOIN ".join(f"'events.zion' AS t{n}" for n in range(4))
    terminal.type(f"SELECT COUNT(*) AS n FROM {endless} WHERE t0.id || t3.id = 'x';" + ENTER)
    time.sleep(1.5)
    began = time.monotonic()
    terminal.type("\x03")
    terminal.until("stopped")
    terminal.until("sdb>")
    assert time.monotonic() - began < soon(5)
    terminal.type(COUNT + ENTER)
    terminal.until("4000")


def test_sigterm_ends_it(terminal: Terminal) -> None:
    terminal.process.send_signal(signal.SIGTERM)
    assert terminal.process.wait(timeout=30) == 128 + signal.SIGTERM


def test_statements_from_a_pipe(run: Any, events: Path) -> None:
    assert events.exists()
    result = run("shell", data=b"SELECT 1 AS a;\nSELECT ';' AS b; SELECT 3\n AS c")
    assert (result.returncode, result.stderr) == (0, b"")
    assert result.stdout == b'{"a": 1}\n{"b": ";"}\n{"c": 3}\n'
    result = run("shell", data=b"SELECT 1 AS a;\nSELECT FROM;\nSELECT 2 AS b;\n")
    assert (result.returncode, result.stdout) == (2, b'{"a": 1}\n')
    assert run("shell", data=b"\\x\nSELECT 5 AS a;\n\\q\nSELECT 6;").stdout.endswith(
        b"a  5\n(1 row)\n"
    )
    assert run("shell", "--fmt", "parquet", data=b"SELECT 1").returncode == 2


def test_statements_that_write_and_words_of_other_shells(run: Any, events: Path) -> None:
    assert events.exists()
    lines = (
        *("CREATE TABLE w.t;", "INSERT INTO w.t (n) VALUES (1), (2);", ".tables"),
        *("BEGIN;", "DELETE FROM w.t WHERE n = 1;", "SELECT COUNT(*) AS before FROM w.t;"),
        *("INSERT INTO w.t (n) VALUES (7), (8)", ";", "COMMIT;"),
        *("SELECT COUNT(*) AS after FROM w.t;", "BEGIN; DELETE FROM w.t; ROLLBACK;"),
        *("SELECT COUNT(*) AS rolled FROM w.t;", "quit", "SELECT 1 AS no;"),
    )
    done = run("shell", "--root", "lake", data="\n".join(lines).encode())
    assert done.returncode == 0, done.stderr
    shown = done.stdout.decode()
    assert "inserted 2 rows into w.t: version 2\n" in shown
    assert [line for line in shown.splitlines() if line.startswith("{")] == [
        '{"before": 2}',
        '{"after": 3}',
        '{"rolled": 3}',
    ]
    assert re.search(r"(?m)^ *w\.t +2 ", shown)
    assert b"from their COMMIT on" in done.stderr
    assert run("shell", data=b".nix\n").returncode == 2
    left = run("shell", "--root", "lake", data=b"BEGIN; DELETE FROM w.t;")
    assert b"no COMMIT came" in left.stderr


def test_each_query_is_warned_of(run: Any, events: Path) -> None:
    assert events.exists()
    result = run("shell", data=b"SELECT tpye FROM 'events.zion' LIMIT 1;\n" * 2)
    assert result.returncode == 0
    assert result.stderr.count(b"warning: ") == 2
    assert result.stderr.count(b"did you mean type?") == 2


@pytest.mark.parametrize(
    ("text", "whole", "statements", "rest"),
    [
        ("SELECT 1;", True, ["SELECT 1"], ""),
        ("SELECT 1", False, [], "SELECT 1"),
        ("SELECT ';", False, [], "SELECT ';"),
        ("SELECT 'it\\'s;' ;", True, ["SELECT 'it\\'s;'"], ""),
        ("SELECT 'a''b;';", True, ["SELECT 'a''b;'"], ""),
        ("SELECT 1 -- a;", False, [], "SELECT 1 -- a;"),
        ("SELECT 1 /* ; */ - 2 / 3;", True, ["SELECT 1 /* ; */ - 2 / 3"], ""),
        ("SELECT 1 /* ;", False, [], "SELECT 1 /* ;"),
        ("a; b; c", False, ["a", "b"], "c"),
        ("\\d x", True, [], "\\d x"),
    ],
)
def test_statements(text: str, whole: bool, statements: list[str], rest: str) -> None:
    assert is_whole(text) is whole
    assert split(text) == (statements, rest)


def test_suggestions(events: Path, tmp_path: Path) -> None:
    (tmp_path / "a b.json").write_text("{}")
    (tmp_path / "logs").mkdir()
    suggest = Suggestions(str(tmp_path))
    assert suggest("SELECT * FROM '", "SELECT * FROM '") == (
        "",
        ["events.zion", "a b.json", "logs/"],
    )
    assert suggest("\\t", "\\t") == ("\\t", ["\\timing"])
    assert suggest("\\d ev", "\\d ev") == ("ev", ["events.zion"])
    assert suggest("SELECT actor.lo", "SELECT actor.lo FROM 'events.zion'") == (
        "actor.lo",
        ["actor.login"],
    )
    assert "GROUP" in suggest("select 1 gro", "select 1 gro")[1]
    assert "UPPER" in suggest("select upp", "select upp")[1]
    assert events.exists()
