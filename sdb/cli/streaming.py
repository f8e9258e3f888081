"""Pipes that go on, as `sdb insert` takes them: signals, messages, lines that do not fit."""

from __future__ import annotations

import io
import json
import os
import signal
import stat
import sys
import time
from contextlib import contextmanager

from sdb import sizes
from sdb.cli import output
from sdb.cli.values import malformed, seconds_of
from sdb.errors import UsageError, from_os
from sdb.records import record, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from threading import Event
    from types import TracebackType
    from typing import Any, BinaryIO, Self

    from sdb._core import RejectedBatch
    from sdb.packfile.inputs.lines import LineSource
    from sdb.table.feed.events import FeedEvent, Trouble
    from sdb.table.feed.lines import BatchBounds, LineFeed, LineTarget, Streamed

_HEAD_BYTES = 64 << 10
_LEAST_BYTES, _MOST_BYTES = 1, 1 << 30
_MOST_LINES = 100_000_000
_STATUS_SECONDS, _LINE_SECONDS = 0.5, 60.0


class Head:
    """Standard input as a file, of which the first line was looked at."""

    name = "standard input"

    def __init__(self, head: bytes) -> None:
        self.head = head
        self._rest = head

    def read(self, most_bytes: int) -> bytes:
        """Read what there is, from the start."""
        if self._rest:
            piece, self._rest = self._rest[:most_bytes], self._rest[most_bytes:]
            return piece
        try:
            return os.read(0, most_bytes)
        except OSError as error:
            raise from_os(error, "reading", self.name) from error

    def close(self) -> None:
        """Leave it open."""


@record
class PipeLines:
    """Standard input that may go on."""

    file: Any  # what was looked at is read again from it
    head: bytes  # what was looked at
    form: str  # the parser of its lines; empty: all of it is one input
    bounds: BatchBounds


def piped(
    inputs: list[str] | None,
    interval: str | None,
    size: str | None,
    txn_id: str,
    options: dict[str, Any],
) -> PipeLines | None:
    """Look at standard input if it may be a pipe that goes on; None: it is not.

    That it goes on is said by ``-``, ``--interval`` or ``--batch``.

    * ``options``: Those of an insert.

    Raises `UsageError` for options that do not go with the input.
    """
    is_wanted = interval is not None or size is not None
    batch_bounds = bounds_of(interval, size)
    if is_wanted and inputs not in (None, [], ["-"]):
        raise UsageError("--interval and --batch are for a pipe", hint="leave the inputs out, or -")
    if is_wanted and txn_id:
        hint = "leave --txn-id out, or --interval and --batch"
        raise UsageError("a --txn-id is one version, and lines of a pipe are many", hint=hint)
    if not is_wanted and (inputs != ["-"] or txn_id):
        return None
    head = _head(is_wanted=is_wanted)
    if head is None:
        return None
    form = _form(head, options["format"], options["hints"])
    if is_wanted and not form:
        hint = "leave --interval and --batch out: all of it becomes one version at its end"
        raise UsageError("standard input is not one record a line", hint=hint)
    return PipeLines(Head(head), head, form, batch_bounds)


def _head(*, is_wanted: bool) -> bytes | None:
    """Read the first line of standard input; None: it is a file, which does not go on."""
    head = b""
    try:
        mode = os.fstat(0).st_mode
        if not is_wanted and not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
            return None
        while b"\n" not in head and len(head) < _HEAD_BYTES:
            piece = os.read(0, _HEAD_BYTES)
            if not piece:
                break
            head += piece
    except OSError as error:
        raise from_os(error, "reading", Head.name) from error
    return head


def _form(head: bytes, fmt: str | None, hints: bytes | None) -> str:
    """Return the parser of lines; empty: all of them are one input."""
    from sdb.packfile.inputs.inputs import recognise
    from sdb.packfile.inputs.lines import stream_form

    recognised = recognise(_Again(head), fmt, hints=hints)
    return stream_form(head, recognised.format) if recognised.is_plain else ""


class _Again(io.BytesIO):
    name = Head.name


def bounds_of(interval: str | None, size: str | None) -> BatchBounds:
    """Read how much is committed together.

    * ``size``: A number of lines, or a size in bytes with its unit.

    Raises `UsageError` if it is neither, or out of bounds.
    """
    from sdb.table.feed.lines import INTERVAL_SECONDS, BatchBounds

    seconds = INTERVAL_SECONDS if interval is None else seconds_of(interval)
    if size is None:
        return BatchBounds(seconds)
    expected = "a number of lines such as 10000, or a size such as 16MiB, at most 1GiB"
    if size.isascii() and size.isdecimal():
        lines = int(size) if len(size) < len(str(_MOST_LINES)) + 1 else 0
        if not 1 <= lines <= _MOST_LINES:
            raise UsageError(f"--batch {size[:40]!r}", expected=expected)
        return BatchBounds(seconds, most_lines=lines)
    try:
        most_bytes = sizes.parse(size)
    except UsageError:
        most_bytes = 0
    if not _LEAST_BYTES <= most_bytes <= _MOST_BYTES:
        raise UsageError(f"--batch {size[:40]!r}", expected=expected)
    return BatchBounds(seconds, most_bytes=most_bytes)


class KeptLines:
    """A context manager that appends malformed lines to a file, counts or refuses them.

    * ``mode``: What ``--on-error`` says.

    Raises `UsageError` for another mode.
    """

    def __init__(self, mode: str) -> None:
        self.action, self._path = malformed(mode)  # as packing takes it, and a file
        self._file: BinaryIO | None = None
        self._first = ""

    def __enter__(self) -> Self:
        """Open the file."""
        if self._path is not None:
            try:
                self._file = open(self._path, "ab", buffering=0)  # noqa: PTH123 - a plain string
            except OSError as error:
                raise from_os(error, "opening", self._path) from error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    @property
    def take(self) -> Callable[[RejectedBatch], None] | None:
        """The function that takes lines; None when the first one is an error."""
        return None if self.action == "fail" else self._take

    def _take(self, batch: RejectedBatch) -> None:
        from sdb.packfile.write.malformed import Rejected

        self._first = self._first or str(Rejected(*batch[0]))
        if self._file is not None and self._path is not None:
            try:
                self._file.write(batch.lines())
                os.fsync(self._file.fileno())
            except OSError as error:
                raise from_os(error, "writing", self._path) from error

    def summary(self, count: int) -> str:
        """Say in a line what became of lines that did not fit."""
        from sdb.packfile.write.malformed import outcome

        where = f"; kept in {self._path}" if self._path else ""
        return f"{outcome(count, is_kept=self.action == 'keep')}{where}; first {self._first}"


@record
class Telling:
    """The amount and the form of reports, as ``-q``, ``-v`` and ``--json`` choose them."""

    is_quiet: bool
    is_verbose: bool
    as_json: bool


class Status:
    """Reports of commits: one line that changes on a terminal, and elsewhere one a minute."""

    def __init__(self, name: str, telling: Telling) -> None:
        self._name, self._telling = name, telling
        self._is_terminal = sys.stderr.isatty()
        self._next = time.monotonic() + (0.0 if self._is_terminal else _LINE_SECONDS)
        self._is_shown = False

    def hear(self, event: FeedEvent, text: str) -> None:
        """Say what was committed, what trouble there is, or what became of a file.

        * ``text``: What was done so far.
        """
        from sdb.table.feed.events import Remark, Trouble
        from sdb.table.insert.insert import Inserted

        if isinstance(event, Trouble):
            self.say(trouble_text(self._name, event))
            return
        if isinstance(event, Remark):
            self.say(event.text)
            return
        if not isinstance(event, Inserted):
            return
        if self._telling.as_json:
            output.say(json.dumps(event.as_dict()))
            sys.stdout.flush()
        now = time.monotonic()
        if self._telling.is_quiet or now < self._next:
            return
        self._next = now + (_STATUS_SECONDS if self._is_terminal else _LINE_SECONDS)
        if self._is_terminal:
            self._is_shown = True
            sys.stderr.write(f"\r\x1b[Ksdb: {output.plain(text)}")
            sys.stderr.flush()
        else:
            self.say(text)

    def say(self, text: str) -> None:
        """Say a line, in place of the status."""
        if self._is_shown:
            sys.stderr.write("\r\x1b[K")
            self._is_shown = False
        output.say(output.plain(f"sdb: {text}"), to=sys.stderr)
        sys.stderr.flush()


def trouble_text(name: str, event: Trouble) -> str:
    """Return what is wrong, or that it works again, in a line."""
    if event.error is None:
        return f"{name}: it works again"
    return f"{name}: {output.shortened(event.error.message)}; trying again"


@contextmanager
def stopped_by_signals(stop: Event, *, wake: Callable[[], None]) -> Iterator[list[int]]:
    """Make Ctrl-C and SIGTERM end the work after this step; a second one ends it at once.

    Yields: The signals that came.
    """
    seen: list[int] = []

    def handle(number: int, _frame: object) -> None:
        if seen and number == signal.SIGINT:
            raise KeyboardInterrupt
        if seen:
            sys.exit(128 + number)
        seen.append(number)
        stop.set()
        wake()

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield seen
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def insert_pipe(target: LineTarget, pipe: PipeLines, on_error: str, telling: Telling) -> int:
    """Insert the lines of a pipe until it ends, and say what came of it."""
    from sdb.packfile.inputs.lines import LineSource
    from sdb.table.feed.pipe import insert_lines

    with LineSource(0, pipe.head, most_bytes=pipe.bounds.most_bytes) as source:
        feed_lines(
            target,
            lambda feed: insert_lines(feed, source, pipe.form, pipe.bounds),
            on_error,
            telling,
            source,
        )
    return 0


def feed_lines(
    target: LineTarget,
    run: Callable[[LineFeed], None],
    on_error: str,
    telling: Telling,
    source: LineSource | None = None,
) -> Streamed:
    """Take lines into a table until they end or a signal comes, and say what came of it.

    SIGTERM is how a service is stopped, and no error.

    * ``source``: The pipe that they come from, if it is one.
    """
    import threading

    from sdb.table.feed.lines import LineFeed, Streamed

    stop, done, began = threading.Event(), Streamed(), time.monotonic()
    name = f"{target.keys.database}.{target.keys.table}"
    status = Status(name, telling)
    wake = (lambda: None) if source is None else source.stop
    with KeptLines(on_error) as errors, stopped_by_signals(stop, wake=wake) as seen:
        options = {**target.options, "on_error": errors.action}
        target = replace(target, on_errors=errors.take, options=options)
        try:
            run(
                LineFeed(
                    target,
                    stop,
                    lambda event: status.hear(event, _progress_line(done, name, began)),
                    done,
                )
            )
        finally:
            dropped_bytes = 0 if source is None else source.dropped_bytes
            _tell_end(status, done, errors, dropped_bytes, quiet=telling.is_quiet)
            is_told = telling.is_verbose or done.versions > 1 or sys.stderr.isatty()
            if done.versions and is_told and not telling.is_quiet:
                status.say(_progress_line(done, name, began))
    if telling.as_json and not done.versions:
        none = {"version": 0, "rows": 0, "rejected": done.rejected, "kept": done.kept_records}
        output.say(json.dumps(none))
    if signal.SIGINT in seen:
        raise KeyboardInterrupt
    return done


def _progress_line(done: Streamed, name: str, began: float) -> str:
    """Return what was done so far, in a line."""
    rows, versions = sizes.counted(done.rows, "row"), sizes.counted(done.versions, "version")
    text = f"{rows} in {versions} of {name}, the newest {done.version}"
    seconds = time.monotonic() - began
    return (
        f"{text}; {sizes.human(done.text_bytes)}, {done.lines / max(seconds, 0.001):,.0f} lines/s"
    )


def _tell_end(
    status: Status, done: Streamed, errors: KeptLines, dropped_bytes: int, *, quiet: bool
) -> None:
    """Say what became of lines that are not in the table, or not as they were."""
    if done.lost_lines:
        lines = "1 line" if done.lost_lines == 1 else f"{done.lost_lines:,} lines"
        status.say(f"{lines} that had been read: not in the table")
    if done.is_cut and not quiet:
        status.say("the last line has no end: it was taken as it is")
    if done.left_bytes:
        status.say(f"not taken: {done.left_bytes:,} bytes of a line whose end was not read")
    if done.shortened:
        fate = f"{sizes.human(dropped_bytes)} left out" if dropped_bytes else "cut"
        status.say(f"{done.shortened:,} lines were longer than a row can be: {fate}")
    if (done.rejected or done.kept_records) and not quiet:
        status.say(errors.summary(done.rejected + done.kept_records))
