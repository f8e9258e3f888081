"""The entry point: quick answers, and every way out of the program."""

from __future__ import annotations

import atexit
import gc
import os
import sys

from sdb.cli.failures import BROKEN_PIPE, INTERRUPTED, failed, warn

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from typing import NoReturn
else:
    import _signal as signal  # the same without its enums, which take 6 to 8 ms of a short command

_QUICK = (["--version"], ["-version"], ["version"])
_WITHOUT_SETTINGS = {"completion", "config", "functions", "help", "version"}


def main() -> NoReturn:
    """Run the command line of this process and exit."""
    # Most objects live as long as the command: to look for garbage among them takes time alone.
    gc.set_threshold(50_000, 20, 20)
    # numpy would start a thread of OpenBLAS for each processor: nothing here multiplies matrices.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
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
    elif not _runs_threads():
        # All is written: to take the interpreter apart would be 2 ms of a short command, 6 of
        # `pack` (benchmarks/paired.py) and 25 of a query that DuckDB answers.
        atexit._run_exitfuncs()  # noqa: SLF001 - no other way to have them run before
        _forget_unwritten()
        os._exit(0)
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """Run one command and turn whatever happens into an exit code and at most one message."""
    from sdb import notes
    from sdb.cli import settings
    from sdb.cli.compat import rewrite
    from sdb.cli.plain import understand

    notes.hear(warn)
    try:
        settings.adopt_root()
        arguments = _logging(rewrite(arguments))
        if settings.are_there() and not _asks_for_help(arguments):
            from sdb.cli.settingfiles import apply

            apply()
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


def _logging(arguments: list[str]) -> list[str]:
    """Begin to log if ``-vv`` stands anywhere, or ``SDB_LOG`` is set; return the other words."""
    # Behind `grep` it is an option of that command.
    stops = [arguments.index(stop) for stop in ("--", "grep") if stop in arguments]
    last = min([*stops, len(arguments)])
    words = [word for word in arguments[:last] if word != "-vv"] + arguments[last:]
    level = "debug" if len(words) < len(arguments) else os.environ.get("SDB_LOG")
    if level:
        from sdb.log import setup

        setup(level)
    return words


def _asks_for_help(arguments: list[str]) -> bool:
    """Return whether a command line works without settings, even where a file of them is bad."""
    return (
        not arguments
        or (arguments[0] in _WITHOUT_SETTINGS and arguments[1:2] != ["root"])
        or not {"-h", "--help"}.isdisjoint(arguments)
        or "_SDB_COMPLETE" in os.environ
    )


def _open_what_is_closed() -> None:
    """Keep standard streams that the caller has closed from becoming files that we open.

    Errors go to nowhere then. Standard input cannot be read, and standard output not be written:
    a command that needs it fails, rather than write an answer that nobody gets.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is not None:
            continue
        fd = os.open(os.devnull, (os.O_WRONLY, os.O_RDONLY, os.O_WRONLY)[number])
        if number:
            setattr(sys, name, open(fd, "w", closefd=False))  # noqa: SIM115 - for good


def _runs_threads() -> bool:
    """Return whether threads run yet, or something wants to run when the last of them ends."""
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


def _terminate(number: int, _frame: object) -> NoReturn:
    """Leave through the exception handlers, which remove what is unfinished."""
    sys.exit(128 + number)


if __name__ == "__main__":
    main()
