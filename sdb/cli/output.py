"""Write to standard output and standard error."""

from __future__ import annotations

import os
import sys

from sdb.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from contextlib import AbstractContextManager
    from typing import BinaryIO, TextIO

    from sdb.packfile.read.resolve import PackfileReference

_UNLIMITED = 1 << 16
_MOST_CHARACTERS = 2000
_NO_TERMINAL = "-o FILE, a pipe, or --force"
# Control characters save tab and line feed, overrides of the writing direction, lone surrogates.
_STEERING = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"


def plain(text: str) -> str:
    """Show control characters as escapes, so that no file name or input can steer a terminal."""
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text
    import re

    return re.sub(_STEERING, lambda match: f"\\u{ord(match[0]):04x}", text)


def say(text: str, *, to: TextIO | None = None) -> None:
    """Write lines of text, replacing what the encoding of the stream cannot show.

    * ``text``: The text; a line end is added.
    """
    stream = to or sys.stdout
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")


def shortened(text: str) -> str:
    """Leave out the middle of a text that is too long for a message, as one with a name of 5 KB."""
    if len(text) <= _MOST_CHARACTERS:
        return text
    half = _MOST_CHARACTERS // 2
    return f"{text[:half]} [... {len(text) - 2 * half:,} characters ...] {text[-half:]}"


def tell_end(doing: str, *, quiet: bool) -> None:
    """Say on a terminal what a command does from now on, and how it ends."""
    if sys.stderr.isatty() and not quiet:
        say(f"sdb: {doing}; Ctrl-C ends it", to=sys.stderr)
        sys.stderr.flush()


def complain(message: str, hint: str | None = None) -> None:
    """Write an error and what to do about it to standard error."""
    say(plain(f"sdb: {shortened(message)}"), to=sys.stderr)
    if hint:
        say(plain(f"hint: {shortened(hint)}"), to=sys.stderr)


_quiet: list[bool] = []  # not empty: the user wants errors alone


def hush() -> None:
    """Print errors alone from now on."""
    _quiet.append(True)
    prepare(quiet=True)


def is_quiet() -> bool:
    """Return whether the user wants errors alone."""
    return bool(_quiet)


def note(text: str) -> None:
    """Write a line that is no error to standard error, unless the user wants errors alone."""
    if not _quiet:
        say(plain(f"sdb: {shortened(text)}"), to=sys.stderr)


def prepare(*, verbose: bool = False, unverified: bool = False, quiet: bool = False) -> None:
    """Say what the user should know of the packfiles that are read.

    * ``verbose``: Whether to show notes on what is left out although it changes no answer.
    * ``unverified``: Whether the user wants damage to go unnoticed, which is said.
    * ``quiet``: Whether the user wants errors alone, and no warnings.
    """
    if unverified:
        say("sdb: --no-verify: damage goes unnoticed, values may be wrong", to=sys.stderr)
    from sdb import notes

    if quiet or _quiet:
        notes.hear(lambda _: None)
    else:
        notes.listen(note, details=verbose)


def tell_likely_times(references: Sequence[PackfileReference]) -> None:
    """Say which fields of the first packfile look like times, where it has no time index."""
    from sdb import notes
    from sdb.packfile.read.likelytimes import tell_likely_times

    notes.listen(note, details=False)
    for reference in references[:1]:
        if "://" not in reference.location and reference.opener is None:
            tell_likely_times(reference.location)


def more_findings(name: str, shown: int, dropped: int) -> str:
    """Return the line that tells how many findings of a packfile are not printed."""
    findings = "finding" if dropped == 1 else "findings"
    every = shown + dropped
    return plain(f"{name}: {dropped:,} more {findings}; --max-findings {every} shows all")


def say_json(value: object) -> None:
    """Write facts as JSON, in the same form on a terminal and in a pipe."""
    import json

    say(json.dumps(value, indent=2, ensure_ascii=not _is_utf8(sys.stdout)))


def binary(*, force: bool = True, hint: str = _NO_TERMINAL) -> BinaryIO:
    """Return standard output for bytes.

    * ``hint``: What can be done if it is a terminal.

    Raises `UsageError` if it is a terminal and `force` is off.
    """
    if not force and sys.stdout.isatty():
        raise UsageError("binary data would go to the terminal", hint=hint)
    sys.stdout.flush()
    return sys.stdout.buffer


def opened(
    target: str, *, force: bool, is_text: bool, compression: str = "none"
) -> AbstractContextManager[BinaryIO]:
    """Open what a command writes to.

    * ``target``: A path or URL; ``-`` is standard output.
    * ``force``: Whether an existing file may be replaced, or a terminal get binary data.
    * ``is_text``: Whether it is text, which a terminal may get anyway.
    """
    if target == "-":
        from sdb.store.base import LeftOpen

        hint = f"--fmt json shows rows as text; otherwise {_NO_TERMINAL}"
        return LeftOpen(binary(force=force or is_text, hint=hint))
    from sdb.store.url import atomic_write

    file = atomic_write(target, overwrite=force)
    if compression == "none":
        return file
    from sdb.cli.render.compressed import compressing

    return compressing(file, compression)


def check_apart(target: str, inputs: Iterable[str]) -> None:
    """Check that the output is not one of the inputs; see :mod:`sdb.store.aliasing`."""
    if target != "-":
        from sdb.store.aliasing import check_apart as check

        check(target, inputs)


def columns() -> int:
    """Return the width to draw for: that of the terminal, or no limit without one."""
    if not sys.stdout.isatty():
        return _UNLIMITED
    from shutil import get_terminal_size

    return max(40, get_terminal_size().columns)


def drawing_columns() -> int:
    """Return the width for pictures, which need one even in a pipe."""
    from shutil import get_terminal_size

    return max(40, get_terminal_size((100, 24)).columns)


def in_color() -> bool:
    """Return whether standard output shows colors, and the user wants them."""
    return (
        sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    )


def can_draw() -> bool:
    """Return whether standard output can show the block characters of pictures."""
    try:
        "█▌▐░▒▓│─└┬".encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def _is_utf8(stream: TextIO) -> bool:
    return (stream.encoding or "").lower().replace("-", "") == "utf8"


def can_ask() -> bool:
    """Return whether somebody sits at a terminal who can answer."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def agreed(question: str) -> bool:
    """Ask a question on the terminal; anything but a yes is a no."""
    sys.stderr.write(plain(f"{question} [y/N] "))
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}
