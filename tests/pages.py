"""Runs the sessions that a page or a script shows, on a terminal, as a reader would type them.

A session is a block of ``console``: what follows on ``$ `` is typed, with ``> `` for further
lines, and all else is shown. In what is shown ``...`` alone stands for any number of lines, and
inside of a line for any text.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import time
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from sdb import instants
from tests.examples import ROOT, SDB

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_BAR = "━"
_MARK = "@@step"
_ROWS = 50
# What draws over a line, as a bar of progress does, and colors.
_OVERDRAWN = re.compile(r"[^\n\r]*\r(?!\n)|\x1b\[[0-9;?]*[A-Za-z]")


class Step(NamedTuple):
    """What is typed, and what is shown then."""

    typed: str
    shown: str


class Done(NamedTuple):
    """What came of a step."""

    step: Step
    screen: str
    code: int
    seconds: float


def steps_of(page: str) -> list[Step]:
    """Return the steps of all sessions on a page."""
    steps = []
    for block in BLOCK.findall(page):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            lines = part.splitlines()
            more = [line for line in lines[1:] if re.match(r"> |>$", line)]
            typed = "\n".join([lines[0], *(line[2:] for line in more)])
            steps.append(Step(typed, "\n".join(lines[1 + len(more) :])))
    return steps


def run_steps(
    steps: Iterable[Step], folder: Path, *, columns: int = 100, env: Mapping[str, str] | None = None
) -> list[Done]:
    """Run steps one after the other in one shell, on a terminal of this many columns.

    What they name below ``testdata/`` is that of the checkout.
    """
    steps = list(steps)
    # The time of a step begins with its mark, and ends with the next one.
    lines = [f"{step.typed}\necho '{_MARK}' $? $EPOCHREALTIME" for step in steps]
    if any("testdata/" in step.typed for step in steps):
        (folder / "testdata").symlink_to(ROOT / "testdata")
    script = folder / ".session.sh"
    script.write_text("\n".join([SDB, f"echo '{_MARK}' 0 $EPOCHREALTIME", *lines, ""]))
    main, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, columns, 0, 0))
    settings = {"PYTHONPATH": str(ROOT), "NO_COLOR": "1", "TERM": "xterm", "SDB_AUTHOR": "ann"}
    cleared = ("SNELLER_BUCKET", "SDB_ROOT", "COLUMNS", "SDB_FORMAT")
    known = {name: text for name, text in os.environ.items() if name not in cleared}
    known |= {"HOME": str(folder / ".home"), "XDG_CONFIG_HOME": str(folder / ".config")}
    with subprocess.Popen(
        ["bash", str(script)],
        cwd=folder,
        env={**known, **settings, **(env or {})},
        stdin=other,
        stdout=other,
        stderr=other,
        start_new_session=True,
    ) as process:
        os.close(other)
        written = _all_of(main)
        process.wait()
    parts = re.split(rf"{_MARK} (\d+) ([\d.,]+)\n", written)
    times = [float(text.replace(",", ".")) for text in parts[2::3]]
    screens = [_OVERDRAWN.sub("", text) for text in parts[3::3]]
    codes = [int(text) for text in parts[4::3]]
    spans = [after - before for before, after in pairwise(times)]
    return [Done(*row) for row in zip(steps, screens, codes, spans, strict=False)]


def _all_of(terminal: int) -> str:
    pieces = []
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # the other side was closed
            break
        if not piece:
            break
        pieces.append(piece)
    os.close(terminal)
    return b"".join(pieces).decode(errors="replace").replace("\r\n", "\n")


def fits(shown: str, screen: str) -> bool:
    """Return whether a screen is what was shown, where ``...`` stands for anything.

    Bars of progress do not count: a command shows one only on a machine that is busy.
    """
    parts = []
    for line in shown.rstrip().splitlines():
        if line.strip() == "...":
            parts.append(r"(?:.*\n)*?")
        else:
            words = (re.escape(part) for part in line.rstrip().split("..."))
            parts.append(r"[^\n]*".join(words) + r"[ ]*\n")
    screen = "".join(
        f"{line.rstrip()}\n" for line in screen.rstrip().splitlines() if _BAR not in line
    )
    return re.fullmatch("".join(parts), screen) is not None


def _update(page: Path) -> None:
    """Show on a page what its steps write now, where it is something else."""
    import tempfile
    from pathlib import Path as Folder

    done, rest = "", page.read_text()
    with tempfile.TemporaryDirectory() as folder:
        for step, screen, code, seconds in run_steps(steps_of(rest), Folder(folder)):
            sys.stdout.write(f"{code}  {seconds:.2f} s  {step.typed.splitlines()[0]}\n")
            typed = "\n> ".join(step.typed.split("\n"))
            head, rest = rest.split(f"$ {typed}\n", 1)
            done += f"{head}$ {typed}\n"
            if not fits(step.shown, screen):
                rest = rest.removeprefix(f"{step.shown}\n" if step.shown else "")
                shown = _without_chance(screen.replace(folder, "...")).rstrip()
                lines = [line for line in shown.splitlines() if _BAR not in line]
                done += "".join(f"{line.rstrip()}\n" for line in lines)
    page.write_text(done + rest)


def _without_chance(screen: str) -> str:
    """Replace what is another one each time: times of today, and how long something took."""
    today = time.strftime("%Y-%m-", time.gmtime())
    screen = re.sub(rf"{today}\d\dT\d\d:\d\d:\d\d(\.\d+)?Z(?=\n| |$)", _masked, screen)
    return re.sub(r"in \d+\.\d s", "in ... s", screen)


def _masked(item: re.Match[str]) -> str:
    is_now = abs(time.time() - instants.parse(item[0]) / 1e6) < 7 * 86_400
    return "..." if is_now else item[0]


if __name__ == "__main__":
    from pathlib import Path as Page

    for name in sys.argv[1:]:
        _update(Page(name))
