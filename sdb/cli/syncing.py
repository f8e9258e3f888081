"""Tell of syncs: those that are over, and those that go on for ever."""

from __future__ import annotations

import json
import signal
import sys
import time
from contextlib import contextmanager
from functools import partial

from sdb import instants, notes
from sdb.cli import output
from sdb.cli.meter import Meter
from sdb.errors import NotFoundError, SdbError, UsageError
from sdb.table.format.keys import TableKeys
from sdb.table.sync.result import Synced

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from threading import Event
    from typing import Any

    from sdb.cli.spark import Choice
    from sdb.table.catalog.root import TableRoot
    from sdb.table.sync.follower import PassedOver, Trouble

_TERMINATED = 128 + signal.SIGTERM


def check_alone(what: str, given: dict[str, bool]) -> None:
    """Check that no option was given that a kind of sync does not have.

    Raises
    ------
    UsageError
        One was.
    """
    others = [flag for flag, is_given in given.items() if is_given]
    if others:
        raise UsageError(f"{what} takes what is new: not with {', '.join(others)}")


def tell(synced: Synced, *, dry_run: bool, verbose: bool, quiet: bool) -> None:
    """Tell what has become of the inputs of a table, on standard error."""
    name = f"{synced.database}/{synced.table}"
    for one in synced.rejected:
        _say(f"{name}: rejecting object: path {one.uri} etag {one.etag} {one.reason}")
    if quiet:
        return
    _tell_others(name, synced)
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


def _tell_others(name: str, synced: Synced) -> None:
    """Report inputs that are not what was taken, and those that were passed over."""
    keeps = "the table keeps its rows"
    for what, uris, outcome in (
        ("changed", synced.changed, f"{keeps}; --changed replace takes the new ones"),
        ("changed", synced.replaced, "its rows make room for the new ones"),
        ("vanished", synced.vanished, keeps),
    ):
        if uris:
            more = f" and {len(uris) - 1:,} more" if uris[1:] else ""
            _say(f"{name}: {uris[0]}{more} {what} after it was taken: {outcome}")
    for uri, before in synced.renamed:
        same = f"the same content as {before}, which was taken and is gone"
        _say(f"{name}: {uri} has {same}: its rows are not taken twice")
    if synced.passed:
        inputs = f"{len(synced.passed):,} input{'s' if synced.passed[1:] else ''}"
        text = f"passed over {inputs} with temporary names, such as {synced.passed[0]}"
        _say(f"{name}: {text}; a pattern that has the ending or the dot itself takes them")


@contextmanager
def syncs_of(
    choice: Choice | None, *, threads: int | None, quiet: bool
) -> Iterator[Callable[..., Synced]]:
    """Give what syncs a table: this program, or Spark, which is stopped in the end.

    Parameters
    ----------
    choice : Choice or None
        How Spark packs; None: this program packs.
    threads : int, optional
        How many threads this program has for it.
    quiet : bool
        Whether not to tell what an earlier run has left.

    Yields
    ------
    callable
        See :func:`sdb.table.sync.sync.sync_table`.
    """
    if choice is None:
        from sdb.table.sync.sync import sync_table

        yield partial(sync_table, threads=threads)
        return
    if threads is not None:
        hint = "--conf spark.task.cpus=N"
        raise UsageError("the threads of a task are its processors in Spark", hint=hint)
    from sdb.cli.spark import settings
    from sdb.spark.bulk.sync import SparkSyncs

    with SparkSyncs(
        master=choice.master,
        conf=settings(choice.conf),
        tasks=choice.tasks,
        target_bytes=choice.target_bytes(),
    ) as syncs:

        def sync(root: TableRoot, database: str, table: str, **options: Any) -> Synced:  # noqa: ANN401
            done = syncs.sync(root, database, table, **options)
            if done.resumed and not quiet:
                what = f"{done.resumed:,} packfiles of an earlier run were taken as they are"
                _say(f"{database}/{table}: {what}, {done.packed:,} were packed")
            return done.synced

        yield sync


def sync_tables(
    sync: Callable[..., Synced],
    names: tuple[TableRoot, str, list[str]],
    *,
    progress: str,
    dry_run: bool,
    verbose: bool,
    quiet: bool,
    **options: Any,  # noqa: ANN401 - those of a sync
) -> tuple[list[Synced], list[SdbError]]:
    """Sync tables one after the other, and tell of each.

    Parameters
    ----------
    sync : callable
        Syncs one.
    names : tuple
        The root, the database and the tables.
    progress : str
        See :class:`sdb.cli.meter.Meter`.
    dry_run, verbose, quiet : bool
        Whether only to tell what would be done, and how much to tell.
    options
        Others of :func:`sdb.table.sync.sync.sync_table`.

    Returns
    -------
    tuple of list
        What became of tables, and what is wrong with others.
    """
    found: list[Synced] = []
    failures: list[SdbError] = []
    root, database, tables = names
    for table in tables:
        try:
            with Meter(f"syncing {table}", progress, quiet=quiet) as meter:
                synced = sync(root, database, table, dry_run=dry_run, progress=meter, **options)
        except SdbError as error:
            if isinstance(error, NotFoundError) and not root.has(
                TableKeys(database, table).definition
            ):
                notes.warn(f"{database}/{table}: its definition has just gone, nothing is taken")
            else:
                failures.append(error)
            continue
        found.append(synced)
        tell(synced, dry_run=dry_run, verbose=verbose, quiet=quiet)
    return found, failures


def follow_tables(  # noqa: PLR0913 - the command's options, by name
    root: TableRoot,
    database: str,
    pattern: str,
    *,
    interval: str,
    settle: str | None,
    changed: str,
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
    settle : str, optional
        How long local inputs must have stood still.
    changed : str
        What becomes of inputs that have changed; of listed ones only.
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

    from sdb.table.sync.follow import SETTLE_SECONDS
    from sdb.table.sync.follower import Trouble

    seconds = seconds_of(interval)
    settle_seconds = SETTLE_SECONDS if settle is None else seconds_of(settle, "--settle", 0.0)
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
        from sdb.table.sync.queue import follow_queue

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
    from sdb.cli.interrupts import Interruptible
    from sdb.table.sync.follow import follow

    # Code that swallows the interrupt is not to go on for ever.
    watch = Interruptible()
    try:
        with watch:
            watch.arm(stop.set)
            follow(
                root,
                database,
                pattern,
                stop=stop,
                tell=hear,
                interval_seconds=seconds,
                settle_seconds=settle_seconds,
                changed=changed,
                **options,
            )
    except SystemExit as ended:
        if ended.code != _TERMINATED:
            raise
    if watch.is_interrupted:
        raise KeyboardInterrupt
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


def seconds_of(interval: str, flag: str = "--interval", least: float = 0.1) -> float:
    """Read a time like ``5s``, ``500ms`` or ``2m``; a number alone counts seconds.

    Raises
    ------
    UsageError
        It is none, or not between the least, a tenth of a second as a rule, and a day.
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
        seconds = -1.0
    if not least <= seconds <= 86_400:  # noqa: PLR2004 - as the docstring says
        raise UsageError(f"{flag} {interval!r}", expected="a time like 5s, 500ms or 2m")
    return seconds


def _print_event(event: Synced | Trouble | PassedOver) -> None:
    from sdb.table.sync.follower import PassedOver

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
