"""Log files that grow, as `sdb sync --tail` follows them: what is meant, and what is said."""

from __future__ import annotations

import json
import os
import signal
import sys
import time

from sdb.cli import output
from sdb.cli.streaming import KeptLines, Status, batch_of, progress_line, stopped_by_signals
from sdb.cli.tablenames import named_table
from sdb.cli.values import malformed
from sdb.errors import NotFoundError, UsageError
from sdb.table.format.keys import TableKeys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sdb.table.catalog.root import TableRoot
    from sdb.table.insert.stream import Streamed
    from sdb.table.tail.names import LogNames


def table_and_files(
    root: TableRoot, words: list[str], files: list[str]
) -> tuple[tuple[str, str], list[str]]:
    """Return the table, and the files to follow.

    A shell makes several words of a pattern behind ``--tail``: those but the table are files. The
    table is the last word, or the first one if that is a table and the last one is not.

    Raises
    ------
    UsageError
        No word is the name of a table.
    """
    for at in (-1, 0):
        name = words[at]
        database, dot, table = name.partition(".")
        if dot and "/" not in name and _is_table(root, database, table):
            return (database, table), [*files, *words[:at], *(words[1:] if at == 0 else ())]
    name = words[0] if len(words) == 1 else words[-1]
    if "/" in name or "." not in name:
        raise UsageError(f"{name} is not the name of a table", expected="DB.TABLE")
    database, table, _ = named_table(name)
    raise root.absent(TableKeys(database, table))


def _is_table(root: TableRoot, database: str, table: str) -> bool:
    if "@" in table:
        hint = "sdb insert DB.TABLE@BRANCH - takes lines into a branch"
        raise UsageError(f"{database}.{table}: --tail takes lines into main", hint=hint)
    try:
        keys = TableKeys(database, table)
    except UsageError:
        return False
    return root.has(keys.index) or root.has(keys.definition)


def tail_into(  # noqa: PLR0913 - the command's options, by name
    root: TableRoot,
    words: list[str],
    files: list[str],
    *,
    interval: str | None,
    batch: str | None,
    settle_seconds: float,
    is_once: bool,
    on_error: str,
    quiet: bool,
    verbose: bool,
    as_json: bool,
    **options: Any,  # noqa: ANN401 - those of packing
) -> int:
    """Take the lines of files into a table as they are written, and say what came of it.

    Returns: The exit code: SIGTERM stops a service, and is no error.
    """
    import threading

    from sdb.table.insert.stream import Streamed
    from sdb.table.tail import names as lognames
    from sdb.table.tail.tail import tail_files

    name, files = table_and_files(root, words, files)
    names = lognames.LogNames(files)
    _, quarantine = malformed(on_error)
    if quarantine and names.means(os.path.abspath(quarantine)):  # noqa: PTH100
        raise UsageError(f"--on-error {on_error}: it is one of the files that --tail follows")
    stop, done = threading.Event(), Streamed()
    status = Status(".".join(name), quiet=quiet, as_json=as_json)
    began = time.monotonic()
    with KeptLines(on_error) as errors, stopped_by_signals(stop, wake=lambda: None) as seen:
        for text in _absent(names, is_once=is_once):
            if not quiet:
                status.say(text)
        try:
            tail_files(
                root,
                *name,
                names,
                batch=batch_of(interval, batch),
                stop=stop,
                hear=lambda event: status.hear(event, progress_line(done, name, began)),
                say=status.say,
                so_far=done,
                is_once=is_once,
                settle_seconds=settle_seconds,
                on_error=errors.action,
                on_errors=errors.take,
                **options,
            )
        finally:
            _say_end(status, done, errors, progress_line(done, name, began), quiet=quiet)
    if as_json and not done.versions:
        output.say(
            json.dumps(
                {"version": 0, "rows": 0, "rejected": done.rejected, "kept": done.kept_records}
            )
        )
    if signal.SIGINT in seen:
        raise KeyboardInterrupt
    if verbose and not done.versions and not quiet:
        status.say("nothing new")
    return 0


def _absent(names: LogNames, *, is_once: bool) -> list[str]:
    """Return a line for each argument that finds nothing yet.

    Raises
    ------
    NotFoundError
        A file is not there, and nobody waits for it.
    UsageError
        It is a folder or a pipe.
    """
    lines = [f"{pattern}: finds nothing yet" for pattern in names.idle_patterns()]
    for path in names.plain:
        if os.path.isdir(path):  # noqa: PTH112
            raise UsageError(f"{path} is a folder", hint=f"--tail '{path}/*.log'")
        if os.path.exists(path) and not os.path.isfile(path):  # noqa: PTH110, PTH113
            hint = f"sdb insert DB.TABLE - < {path} takes lines of a pipe"
            raise UsageError(f"{path}: --tail follows files", hint=hint)
        if not os.path.exists(path):  # noqa: PTH110
            if is_once:
                raise NotFoundError(f"opening {path}: no such file or directory", path=path)
            lines.append(f"{path}: not there yet")
    return lines


def _say_end(status: Status, done: Streamed, errors: KeptLines, text: str, *, quiet: bool) -> None:
    """Say what was committed."""
    if done.shortened:
        status.say(f"{done.shortened:,} lines were longer than a row can be: cut")
    if (done.rejected or done.kept_records) and not quiet:
        status.say(errors.summary(done.rejected + done.kept_records))
    if not quiet and done.versions and (done.versions > 1 or sys.stderr.isatty()):
        status.say(text)
