"""Exit codes of the command line, and errors and warnings as messages."""

from __future__ import annotations

import os
import sys

BUG = 70
INTERRUPTED = 130
BROKEN_PIPE = 141
_STANDARD_OUTPUT = ("writing", "standard output")
_MOST_NAMES = 2_000  # of a folder that are compared with a name, in some 50 ms


def warn(text: str) -> None:
    """Show a warning."""
    from sdb.cli.output import plain, say, shortened

    say(plain(f"warning: {shortened(text)}"), to=sys.stderr)


def failed(error: Exception) -> int:
    """Show an error as one message, and give its exit code."""
    from sdb.cli.output import complain, plain, say
    from sdb.errors import NotFoundError, QueryError, SdbError, from_os

    if os.environ.get("SDB_DEBUG") == "1":
        import traceback

        traceback.print_exception(error)
    if isinstance(error, OSError) and not isinstance(error, SdbError):
        what = ("using", os.fsdecode(error.filename)) if error.filename else _STANDARD_OUTPUT
        error = from_os(error, *what)
    if isinstance(error, MemoryError):
        error = SdbError("out of memory", hint="fewer threads (-j) and smaller blocks need less")
    if isinstance(error, SdbError):
        if isinstance(error, NotFoundError) and not error.hint:
            from sdb.cli.settings import root_note

            error.hint = root_note() or _similar(error.path)
        if isinstance(error, QueryError) and (picture := error.underlined()):
            say(plain(picture), to=sys.stderr)
        expected = error.expected and f"expected {error.expected}"
        complain(error.message, error.hint or expected)
        return error.exit_code
    complain(
        f"this is a bug: {type(error).__name__}: {error}",
        "run it again with SDB_DEBUG=1 and report what it prints, with the command",
    )
    return BUG


def _similar(path: str | None) -> str | None:
    """Return a hint with the file whose name is most like that of one that is not there."""
    from pathlib import Path

    from sdb.query.syntax.hints import near

    missing = Path(path or "")
    try:
        names = [item.name for item in missing.parent.iterdir()]
    except (OSError, ValueError):
        return None
    if not missing.name or missing.name in names or len(names) > _MOST_NAMES:
        return None
    meant = near(missing.name, names)
    return f"did you mean {missing.with_name(meant)}?" if meant else None
