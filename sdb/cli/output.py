"""Write to standard output and standard error."""

from __future__ import annotations

import os
import sys

from sdb.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from contextlib import AbstractContextManager
    from typing import BinaryIO, TextIO

_UNLIMITED = 1 << 16
_MOST_CHARACTERS = 2000
# Control characters save tab and line feed, overrides of the writing direction, lone surrogates.
_STEERING = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"


def plain(text: str) -> str:
    """Show control characters as escapes, so that no file name or input can steer a terminal."""
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text
    import re

    return re.sub(_STEERING, lambda found: f"\\u{ord(found[0]):04x}", text)


def say(text: str, *, to: TextIO | None = None) -> None:
    """Write lines of text, replacing what the encoding of the stream cannot show.

    Parameters
    ----------
    text : str
        The text; a line end is added.
    to : text file, optional
        Standard output unless told.
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


def complain(message: str, hint: str | None = None) -> None:
    """Write an error and what to do about it to standard error."""
    say(plain(f"sdb: {shortened(message)}"), to=sys.stderr)
    if hint:
        say(plain(f"hint: {shortened(hint)}"), to=sys.stderr)


def prepare(*, verbose: bool = False, unverified: bool = False, quiet: bool = False) -> None:
    """Say what the user should know of the packfiles that are read.

    Parameters
    ----------
    verbose : bool
        Whether to show notes on what is left out although it changes no answer.
    unverified : bool
        Whether the user wants damage to go unnoticed, which is said.
    quiet : bool
        Whether the user wants errors alone, and no warnings.
    """
    if unverified:
        say("sdb: --no-verify: damage goes unnoticed, values may be wrong", to=sys.stderr)
    from sdb import notes

    if quiet:
        notes.hear(lambda _: None)
    else:
        notes.listen(
            lambda text: say(plain(f"sdb: {shortened(text)}"), to=sys.stderr), details=verbose
        )


def more_findings(name: str, shown: int, dropped: int) -> str:
    """Give the line that tells how many findings of a packfile are not printed."""
    findings = "finding" if dropped == 1 else "findings"
    every = shown + dropped
    return plain(f"{name}: {dropped:,} more {findings}; --max-findings {every} shows all")


def say_json(value: object) -> None:
    """Write facts as JSON, in the same form on a terminal and in a pipe."""
    import json

    say(json.dumps(value, indent=2, ensure_ascii=not _is_utf8(sys.stdout)))


def binary(*, force: bool = True) -> BinaryIO:
    """Give standard output for bytes.

    Parameters
    ----------
    force : bool
        Whether a terminal may get them.

    Returns
    -------
    BinaryIO
        The stream.

    Raises
    ------
    UsageError
        It is a terminal and `force` is off.
    """
    if not force and sys.stdout.isatty():
        raise UsageError(
            "binary data would go to the terminal", hint="-o FILE, a pipe, or --force to insist"
        )
    sys.stdout.flush()
    return sys.stdout.buffer


def opened(
    target: str, *, force: bool, is_text: bool, compression: str = "none"
) -> AbstractContextManager[BinaryIO]:
    """Open what a command writes to.

    Parameters
    ----------
    target : str
        A path or URL; ``-`` is standard output.
    force : bool
        Whether an existing file may be replaced, or a terminal get binary data.
    is_text : bool
        Whether it is text, which a terminal may get anyway.
    compression : {"none", "gzip", "zstd"}
        How a file is compressed.

    Returns
    -------
    context manager
        Gives the file; standard output stays open.
    """
    if target == "-":
        from sdb.store.base import LeftOpen

        return LeftOpen(binary(force=force or is_text))
    from sdb.store.url import atomic_write

    file = atomic_write(target, overwrite=force)
    if compression == "none":
        return file
    from sdb.cli.compressed import compressing

    return compressing(file, compression)


def check_apart(target: str, inputs: Iterable[str]) -> None:
    """Insist on what is written not being one of the inputs; see :mod:`sdb.store.apart`."""
    if target != "-":
        from sdb.store.apart import check_apart as check

        check(target, inputs)


def columns() -> int:
    """Give the width to draw for: that of the terminal, or no limit when there is none."""
    if not sys.stdout.isatty():
        return _UNLIMITED
    from shutil import get_terminal_size

    return max(40, get_terminal_size().columns)


def drawing_columns() -> int:
    """Give the width for pictures, which need one even in a pipe."""
    from shutil import get_terminal_size

    return max(40, get_terminal_size((100, 24)).columns)


def in_color() -> bool:
    """Tell whether standard output shows colors, and the user wants them."""
    return (
        sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    )


def can_draw() -> bool:
    """Tell whether standard output can show the block characters of pictures."""
    try:
        "█▌▐░▒▓│─└┬".encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def _is_utf8(stream: TextIO) -> bool:
    return (stream.encoding or "").lower().replace("-", "") == "utf8"
