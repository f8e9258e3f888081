"""Feeds as `sdb follow` runs them: what is meant, and what is said."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from contextlib import contextmanager
from functools import partial

from sdb import instants
from sdb.cli import output
from sdb.cli.streaming import feed_lines, trouble_text
from sdb.cli.syncing import tell
from sdb.cli.tablenames import named_table, tables_on_branch
from sdb.cli.values import malformed, seconds_of
from sdb.errors import NotFoundError, UsageError
from sdb.records import record
from sdb.table.feed.logs import SETTLE_SECONDS
from sdb.table.format.keys import TableKeys
from sdb.table.sync.result import Synced

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from threading import Event

    from sdb.cli.streaming import Telling
    from sdb.table.catalog.root import TableRoot
    from sdb.table.feed.events import FeedEvent
    from sdb.table.feed.lines import LineFeed, LineTarget
    from sdb.table.feed.logs import LogFiles
    from sdb.table.feed.tables import FeedTables
    from sdb.table.tail.names import LogNames

_WORDS_OF_TABLES = 2


def check_fits(what: str, options: dict[str, bool]) -> None:
    """Check that no option was given that a source does not have.

    Raises `UsageError` if one was.
    """
    others = [flag for flag, is_given in options.items() if is_given]
    if others:
        raise UsageError(f"{', '.join(others)}: not for {what}")


def settle_seconds(settle: str | None) -> float:
    """Read ``--settle``."""
    return SETTLE_SECONDS if settle is None else seconds_of(settle, "--settle", 0.0)


@record
class Meant:
    """The source and the tables that the words of a command line mean."""

    queue: str = ""
    database: str = ""  # the tables that take inputs of definitions, or what a queue names
    pattern: str = "*"
    branch: str = "main"
    keys: TableKeys | None = None  # the table that takes the lines of files
    files: tuple[str, ...] = ()


def meant(root: TableRoot, words: list[str], branch: str, *, is_queue: bool) -> Meant:
    """Find out what words mean: a queue or log files and tables, or only tables.

    * ``branch``: What ``--branch`` says; of one table it may stand behind the name.

    Raises `UsageError` if there is no table among them, or a file without a table.
    """
    queue = ""
    if is_queue or words[0].startswith(("https://", "http://")):
        queue, *words = words
        if not 1 <= len(words) <= _WORDS_OF_TABLES:
            expected = "SOURCE DB, SOURCE DB.TABLE or SOURCE DB PATTERN"
            raise UsageError("a queue and its tables are two or three words", expected=expected)
    elif not _are_tables(root, words):
        keys, files = _table_and_files(root, words)
        return Meant(keys=keys, files=tuple(files))
    second = words[1] if words[1:] else None
    return Meant(queue, *tables_on_branch(root, words[0], second, branch))


def _are_tables(root: TableRoot, words: list[str]) -> bool:
    """Return whether words are DB, DB.TABLE or DB PATTERN, and no files."""
    first, *rest = words
    if not rest:
        is_file = "/" in first or os.path.isfile(first)  # noqa: PTH113
        if is_file and first.partition(".")[0] not in root.databases():
            hint = f"sdb follow {first} DB.TABLE"
            raise UsageError(f"{first}: which table takes its lines?", hint=hint)
        return True
    is_pattern = len(rest) == 1 and "." not in rest[0] and "/" not in rest[0] + first
    return is_pattern and ("." not in first or first in root.databases())


def _table_and_files(root: TableRoot, words: list[str]) -> tuple[TableKeys, list[str]]:
    """Return the table, and the files to follow.

    The table is the last word, or the first one if that is a table and the last one is not.
    Raises `UsageError` if no word is the name of a table.
    """
    for at in (-1, 0):
        name = words[at]
        database, dot, table = name.partition(".")
        if dot and "/" not in name and _is_table(root, database, table):
            return TableKeys(database, table), words[:-1] if at else words[1:]
    name = words[-1]
    if "/" in name or "." not in name:
        raise UsageError(f"{name} is not the name of a table", expected="DB.TABLE")
    database, table, _ = named_table(name)
    raise root.absent(TableKeys(database, table))


def _is_table(root: TableRoot, database: str, table: str) -> bool:
    if "@" in table:
        hint = "sdb insert DB.TABLE@BRANCH - takes lines into a branch"
        raise UsageError(f"{database}.{table}: lines of log files go into main", hint=hint)
    try:
        keys = TableKeys(database, table)
    except UsageError:
        return False
    return root.has(keys.index) or root.has(keys.definition)


def follow_files(target: LineTarget, files: LogFiles, on_error: str, telling: Telling) -> int:
    """Take the lines of files into a table as they are written, and say what came of it."""
    from sdb.table.feed.events import Remark
    from sdb.table.feed.logs import follow_logs

    _, quarantine = malformed(on_error)
    if quarantine and files.names.means(os.path.abspath(quarantine)):  # noqa: PTH100
        raise UsageError(f"--on-error {on_error}: it is one of the files that are followed")

    def run(feed: LineFeed) -> None:
        for text in _absent(files.names, is_once=files.is_once):
            if not telling.is_quiet:
                feed.on_event(Remark(text))
        follow_logs(feed, files)

    done = feed_lines(target, run, on_error, telling)
    if telling.is_verbose and not done.versions and not telling.is_quiet:
        output.say("sdb: nothing new", to=sys.stderr)
    return 0


def _absent(names: LogNames, *, is_once: bool) -> list[str]:
    """Return a line for each argument that finds nothing yet.

    Raises `NotFoundError` if a file is not there, and nobody waits for it; `UsageError` if it is a
    folder or a pipe.
    """
    lines = [f"{pattern}: finds nothing yet" for pattern in names.idle_patterns()]
    for path in names.plain:
        if os.path.isdir(path):  # noqa: PTH112
            raise UsageError(
                f"{path} is a folder",
                hint=f"sdb follow '{path}/*.log' DB.TABLE; a queue with --queue",
            )
        if os.path.exists(path) and not os.path.isfile(path):  # noqa: PTH110, PTH113
            hint = f"sdb insert DB.TABLE - < {path} takes lines of a pipe"
            raise UsageError(f"{path}: is a pipe, and no log file", hint=hint)
        if not os.path.exists(path):  # noqa: PTH110
            if is_once:
                raise NotFoundError(f"opening {path}: no such file or directory", path=path)
            lines.append(f"{path}: not there yet")
    return lines


def follow_tables(
    tables: FeedTables, telling: Telling, interval: str | None, settle: str | None, queue: str
) -> int:
    """Sync until the program is stopped, and report each version and trouble.

    * ``queue``: The queue whose messages name the inputs; empty: they are listed.

    Returns: The exit code: SIGTERM is how a service is stopped, and no error.
    """
    import threading

    from sdb.cli.interrupts import until_stopped
    from sdb.table.feed.folders import INTERVAL_SECONDS, follow
    from sdb.table.feed.queue import follow_queue

    seconds = INTERVAL_SECONDS if interval is None else seconds_of(interval)
    output.tell_end("taking what comes in", quiet=telling.is_quiet)
    stop = threading.Event()
    hear = partial(_hear, telling)
    if queue:
        with _stopped_by_sigterm(stop):
            follow_queue(tables, queue, stop, hear, interval_seconds=seconds)
        return 0
    settled = settle_seconds(settle)
    return until_stopped(
        stop,
        lambda: follow(tables, stop, hear, interval_seconds=seconds, settle_seconds=settled),
    )


def _hear(telling: Telling, event: FeedEvent) -> None:
    """Report what a feed did."""
    from sdb.table.feed.events import PassedOver, Trouble

    if telling.as_json:
        _print_event(event)
    if isinstance(event, Synced):
        tell(event, dry_run=False, verbose=telling.is_verbose, quiet=telling.is_quiet)
    elif isinstance(event, Trouble):
        name = event.queue or "/".join(filter(None, (event.database, event.table)))
        _say(f"sdb: {trouble_text(name, event)}")
    elif isinstance(event, PassedOver) and not telling.is_quiet:
        _say(f"sdb: {event.queue}: {output.shortened(event.example)}: {event.reason}")


@contextmanager
def _stopped_by_sigterm(stop: Event) -> Iterator[None]:
    """Make SIGTERM end the program after the step in progress; a second one ends it at once."""

    def handle(number: int, _frame: object) -> None:
        if stop.is_set():
            sys.exit(128 + number)
        stop.set()

    before = signal.signal(signal.SIGTERM, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _print_event(event: FeedEvent) -> None:
    from sdb.table.feed.events import PassedOver, Trouble

    at = instants.text(time.time_ns() // 1000)
    facts: dict[str, object]
    if isinstance(event, Synced):
        facts = {"event": "synced", "at": at} | event.as_dict()
    elif isinstance(event, PassedOver):
        facts = {"event": "passed", "at": at, "queue": event.queue}
        facts |= {"example": event.example, "reason": event.reason}
    elif isinstance(event, Trouble):
        what = "trouble" if event.error is not None else "recovered"
        facts = {"event": what, "at": at, "database": event.database, "table": event.table}
        facts |= {"queue": event.queue} if event.queue else {}
        if event.error is not None:
            facts |= {"error": event.error.message, "exit_code": event.error.exit_code}
    output.say(json.dumps(facts))
    sys.stdout.flush()


def _say(text: str) -> None:
    output.say(output.plain(text), to=sys.stderr)
