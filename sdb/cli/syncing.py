"""Tell of syncs: those that are over, and those that go on for ever."""

from __future__ import annotations

import json
import signal
import sys
import time
from contextlib import contextmanager

from sdb import instants
from sdb.cli import output
from sdb.errors import UsageError
from sdb.table.syncresult import Synced

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from threading import Event
    from typing import Any

    from sdb.table.followedtable import PassedOver, Trouble
    from sdb.table.tableroot import TableRoot

_TERMINATED = 128 + signal.SIGTERM


def tell(synced: Synced, *, dry_run: bool, verbose: bool, quiet: bool) -> None:
    """Tell what has become of the inputs of a table, on standard error."""
    name = f"{synced.database}/{synced.table}"
    for one in synced.rejected:
        _say(f"{name}: rejecting object: path {one.uri} etag {one.etag} {one.reason}")
    if quiet:
        return
    for what, uris in (("changed", synced.changed), ("vanished", synced.vanished)):
        if uris:
            more = f" and {len(uris) - 1:,} more" if uris[1:] else ""
            _say(f"{name}: {uris[0]}{more} {what} after it was taken: the table keeps its rows")
    if synced.retired:
        packfiles = "packfile" if synced.retired == 1 else "packfiles"
        _say(
            f"{name}: {synced.retired:,} {packfiles} went: all rows are older than the table keeps"
        )
    if dry_run:
        for uri in synced.taken:
            _say(f"{name}: would take {uri}")
        for uri in synced.deleted:
            _say(f"{name}: would delete the rows of {uri}")
    elif synced.version is not None and (verbose or sys.stderr.isatty()):
        text = f"{name}: successfully scanned {synced.text_bytes} bytes"
        text += f", {synced.rows:,} rows of {len(synced.taken):,} inputs, version {synced.version}"
        _say(text)


def follow_tables(
    root: TableRoot,
    database: str,
    pattern: str,
    *,
    interval: str,
    queue: str | None,
    as_json: bool,
    verbose: bool,
    quiet: bool,
    **options: Any,  # noqa: ANN401 - those of packing
) -> int:
    """Sync until the program is told to stop, and tell of each version and of trouble.

    Parameters
    ----------
    root : TableRoot
        The root.
    database, pattern : str
        Which tables.
    interval : str
        The time from round to round.
    queue : str, optional
        The queue whose messages name the inputs; without one they are listed.
    as_json : bool
        Whether standard output gets a line of JSON for each event.
    verbose, quiet : bool
        How much standard error gets.
    options
        Others of packing.

    Returns
    -------
    int
        The exit code: SIGTERM is how a service is told to stop, and no error.
    """
    import threading

    from sdb.table.followedtable import Trouble

    seconds = seconds_of(interval)
    stop = threading.Event()

    def hear(event: Synced | Trouble | PassedOver) -> None:
        if as_json:
            _print_event(event)
        if isinstance(event, Synced):
            tell(event, dry_run=False, verbose=verbose, quiet=quiet)
        elif isinstance(event, Trouble):
            _tell_trouble(event)
        elif not quiet:
            _say(f"sdb: {event.queue}: {output.shortened(event.example)}: {event.reason}")

    if queue is not None:
        from sdb.table.tablequeue import follow_queue

        with _stopped_by_sigterm(stop):
            follow_queue(
                root,
                database,
                pattern,
                queue=queue,
                stop=stop,
                tell=hear,
                interval_seconds=seconds,
                **options,
            )
        return 0
    from sdb.table.tablefollow import follow

    try:
        follow(root, database, pattern, stop=stop, tell=hear, interval_seconds=seconds, **options)
    except SystemExit as ended:
        if ended.code != _TERMINATED:
            raise
    return 0


@contextmanager
def _stopped_by_sigterm(stop: Event) -> Iterator[None]:
    """Let SIGTERM end the program when what it does is done; a second one at once."""

    def handle(number: int, _frame: object) -> None:
        if stop.is_set():
            sys.exit(128 + number)
        stop.set()

    before = signal.signal(signal.SIGTERM, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _tell_trouble(event: Trouble) -> None:
    name = event.queue or "/".join(filter(None, (event.database, event.table)))
    if event.error is None:
        _say(f"sdb: {name}: it works again")
    else:
        _say(f"sdb: {name}: {output.shortened(event.error.message)}; trying again")


def seconds_of(interval: str) -> float:
    """Read a time like ``5s``, ``500ms`` or ``2m``; a number alone counts seconds.

    Raises
    ------
    UsageError
        It is none, or none between a tenth of a second and a day.
    """
    text = interval.strip().lower()
    back_us = instants.relative(text, 0) if text[-1:].isalpha() and text[:1].isdigit() else None
    try:
        if back_us is not None:
            seconds = -back_us / instants.SECOND_US
        elif text.endswith("ms"):
            seconds = float(text.removesuffix("ms")) / 1e3
        else:
            seconds = float(text.removesuffix("s"))
    except ValueError:
        seconds = 0.0
    if not 0.1 <= seconds <= 86_400:  # noqa: PLR2004 - as the docstring says
        raise UsageError(f"--interval {interval!r}", expected="a time like 5s, 500ms or 2m")
    return seconds


def _print_event(event: Synced | Trouble | PassedOver) -> None:
    from sdb.table.followedtable import PassedOver

    at = instants.text(time.time_ns() // 1000)
    facts: dict[str, object]
    if isinstance(event, Synced):
        facts = {"event": "synced", "at": at} | event.as_dict()
    elif isinstance(event, PassedOver):
        facts = {"event": "passed", "at": at, "queue": event.queue}
        facts |= {"example": event.example, "reason": event.reason}
    else:
        what = "trouble" if event.error is not None else "recovered"
        facts = {"event": what, "at": at, "database": event.database, "table": event.table}
        facts |= {"queue": event.queue} if event.queue else {}
        if event.error is not None:
            facts |= {"error": event.error.message, "exit_code": event.error.exit_code}
    output.say(json.dumps(facts))
    sys.stdout.flush()


def _say(text: str) -> None:
    output.say(output.plain(text), to=sys.stderr)
