"""The entry point: quick answers, and every way out of the program."""

from __future__ import annotations

import atexit
import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from typing import NoReturn
else:
    import _signal as signal  # the same without its enums, which take 6 to 8 ms of a short command

BUG = 70
INTERRUPTED = 130
BROKEN_PIPE = 141
_STANDARD_OUTPUT = ("writing", "standard output")
_QUICK = (["--version"], ["-version"], ["version"])


def main() -> NoReturn:
    """Run the command line of this process and exit."""
    # Most objects live as long as the command: to look for garbage among them takes time alone.
    gc.set_threshold(50_000, 20, 20)
    _open_what_is_closed()
    arguments = sys.argv[1:]
    try:
        if arguments in _QUICK:
            code = _version()
        else:
            signal.signal(signal.SIGTERM, _terminate)
            code = run(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BrokenPipeError:
        code = BROKEN_PIPE
    except OSError as error:
        code = failed(error)
    if code:
        _forget_unwritten()
    elif not _has_more_to_do():
        # Nobody has asked for a last word, and all is written: to take the interpreter apart would
        # be 2 ms of a short command and 6 of `pack` (benchmarks/paired.py).
        os._exit(0)
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """Run one command and turn whatever happens into an exit code and at most one message.

    Parameters
    ----------
    arguments : list of str
        What follows the name of the program.

    Returns
    -------
    int
        The exit code, see docs/cli.md.
    """
    from sdb import notes
    from sdb.cli.compat import rewrite
    from sdb.cli.plain import understand

    notes.hear(warn)
    try:
        arguments = rewrite(arguments)
        call = understand(arguments)
        if call is not None:
            return call() or 0
        from sdb.cli.app import dispatch

        return dispatch(arguments)
    except (KeyboardInterrupt, BrokenPipeError):
        raise
    except Exception as error:  # noqa: BLE001 - the last place that can turn it into a message
        code = failed(error)
        _forget_unwritten()
        return code


def _open_what_is_closed() -> None:
    """Keep standard streams that the caller has closed from becoming files that we open.

    Errors go to nowhere then. Standard input cannot be read, and standard output not be written:
    whoever needs it ends with an error, rather than with an answer that nobody got.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is not None:
            continue
        fd = os.open(os.devnull, (os.O_WRONLY, os.O_RDONLY, os.O_WRONLY)[number])
        if number:
            setattr(sys, name, open(fd, "w", closefd=False))  # noqa: SIM115 - for good


def _has_more_to_do() -> bool:
    """Tell whether something runs yet, or wants to run when the interpreter ends."""
    if atexit._ncallbacks():  # noqa: SLF001 - no other way to ask
        return True
    threading = sys.modules.get("threading")
    if threading is None:
        return False
    return threading.active_count() > 1 or bool(threading._threading_atexits)  # noqa: SLF001 - likewise


def _forget_unwritten() -> None:
    """Keep the interpreter from trying again, at its end, to write what could not be written."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _version() -> int:
    from sdb.version import LINE

    sys.stdout.write(LINE)
    return 0


def warn(text: str) -> None:
    """Show a warning."""
    from sdb.cli.output import plain, say, shortened

    say(plain(f"warning: {shortened(text)}"), to=sys.stderr)


def _terminate(number: int, _frame: object) -> NoReturn:
    """Leave through the exception handlers, which remove what is unfinished."""
    sys.exit(128 + number)


def failed(error: Exception) -> int:
    """Show an error as one message, and give its exit code."""
    from sdb.cli.output import complain, plain, say
    from sdb.errors import QueryError, SdbError, from_os

    if os.environ.get("SDB_DEBUG") == "1":
        import traceback

        traceback.print_exception(error)
    if isinstance(error, OSError) and not isinstance(error, SdbError):
        what = ("using", os.fsdecode(error.filename)) if error.filename else _STANDARD_OUTPUT
        error = from_os(error, *what)
    if isinstance(error, MemoryError):
        error = SdbError("out of memory", hint="fewer threads (-j) and smaller blocks need less")
    if isinstance(error, SdbError):
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


if __name__ == "__main__":
    main()
