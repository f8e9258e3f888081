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
from sdb.cli.syncing import seconds_of
from sdb.cli.values import malformed
from sdb.errors import UsageError, from_os
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from threading import Event
    from types import TracebackType
    from typing import Any, BinaryIO, Self

    from sdb._core import RejectedBatch
    from sdb.packfile.inputs.lines import LineSource
    from sdb.table.catalog.root import TableRoot
    from sdb.table.insert.insert import Inserted
    from sdb.table.insert.stream import Batch, Streamed, Waiting

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
    batch: Batch


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

    Raises
    ------
    UsageError
        Options that do not go with the input.
    """
    is_wanted = interval is not None or size is not None
    batch = batch_of(interval, size)
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
    return PipeLines(Head(head), head, form, batch)


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
    from sdb.table.insert.stream import stream_form

    recognised = recognise(_Again(head), fmt, hints=hints)
    return stream_form(head, recognised.format) if recognised.is_plain else ""


class _Again(io.BytesIO):
    name = Head.name


def batch_of(interval: str | None, size: str | None) -> Batch:
    """Read how much is committed together.

    * ``size``: A number of lines, or a size in bytes with its unit.

    Raises
    ------
    UsageError
        It is neither, or out of bounds.
    """
    from sdb.table.insert.stream import INTERVAL_SECONDS, Batch

    seconds = INTERVAL_SECONDS if interval is None else seconds_of(interval)
    if size is None:
        return Batch(seconds)
    expected = "a number of lines such as 10000, or a size such as 16MiB, at most 1GiB"
    if size.isascii() and size.isdecimal():
        lines = int(size) if len(size) < len(str(_MOST_LINES)) + 1 else 0
        if not 1 <= lines <= _MOST_LINES:
            raise UsageError(f"--batch {size[:40]!r}", expected=expected)
        return Batch(seconds, most_lines=lines)
    try:
        most_bytes = sizes.parse(size)
    except UsageError:
        most_bytes = 0
    if not _LEAST_BYTES <= most_bytes <= _MOST_BYTES:
        raise UsageError(f"--batch {size[:40]!r}", expected=expected)
    return Batch(seconds, most_bytes=most_bytes)


class KeptLines:
    """A context manager that appends malformed lines to a file, counts or refuses them.

    * ``mode``: What ``--on-error`` says.

    Raises
    ------
    UsageError
        Another mode.
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


class Status:
    """Reports of commits: one line that changes on a terminal, and elsewhere one a minute."""

    def __init__(self, name: str, *, quiet: bool, as_json: bool) -> None:
        self._name, self._quiet, self._as_json = name, quiet, as_json
        self._is_terminal = sys.stderr.isatty()
        self._next = time.monotonic() + (0.0 if self._is_terminal else _LINE_SECONDS)
        self._is_shown = False
        self._trouble = ""

    def hear(self, event: Inserted | Waiting | None, text: str) -> None:
        """Say what was committed, or what trouble there is.

        * ``text``: What was done so far.
        """
        from sdb.table.insert.stream import Waiting

        if isinstance(event, Waiting):
            message = output.shortened(event.error.message)
            if message != self._trouble:
                self._trouble = message
                self.say(f"{self._name}: {message}; trying again")
            return
        if event is None:
            self._trouble = ""
            self.say(f"{self._name}: it works again")
            return
        if self._as_json:
            output.say(json.dumps(event.as_dict()))
            sys.stdout.flush()
        now = time.monotonic()
        if self._quiet or now < self._next:
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


def insert_pipe(
    root: TableRoot,
    name: tuple[str, str],
    pipe: PipeLines,
    *,
    on_error: str,
    quiet: bool,
    as_json: bool,
    verbose: bool,
    **options: Any,  # noqa: ANN401 - those of an insert
) -> int:
    """Insert the lines of a pipe until it ends, and say what came of it.

    Returns: The exit code: SIGTERM is how a service is stopped, and no error.
    """
    import threading

    from sdb.packfile.inputs.lines import LineSource
    from sdb.table.insert.stream import Streamed, insert_lines

    stop, done = threading.Event(), Streamed()
    status = Status(".".join(name), quiet=quiet, as_json=as_json)
    began = time.monotonic()
    with (
        KeptLines(on_error) as errors,
        LineSource(0, pipe.head, most_bytes=pipe.batch.most_bytes) as source,
        stopped_by_signals(stop, wake=source.stop) as seen,
    ):
        try:
            insert_lines(
                root,
                *name,
                source,
                pipe.form,
                batch=pipe.batch,
                stop=stop,
                hear=lambda event: status.hear(event, progress_line(done, name, began)),
                so_far=done,
                on_error=errors.action,
                on_errors=errors.take,
                **options,
            )
        finally:
            _tell_end(
                status,
                done,
                errors,
                source,
                progress_line(done, name, began),
                quiet=quiet,
                verbose=verbose,
            )
    if as_json and not done.versions:
        output.say(
            json.dumps(
                {"version": 0, "rows": 0, "rejected": done.rejected, "kept": done.kept_records}
            )
        )
    if signal.SIGINT in seen:
        raise KeyboardInterrupt
    return 0


def progress_line(done: Streamed, name: tuple[str, str], began: float) -> str:
    """Return what was done so far, in a line."""
    rows, versions = sizes.counted(done.rows, "row"), sizes.counted(done.versions, "version")
    text = f"{rows} in {versions} of {'.'.join(name)}, the newest {done.version}"
    seconds = time.monotonic() - began
    return (
        f"{text}; {sizes.human(done.text_bytes)}, {done.lines / max(seconds, 0.001):,.0f} lines/s"
    )


def _tell_end(
    status: Status,
    done: Streamed,
    errors: KeptLines,
    source: LineSource,
    text: str,
    *,
    quiet: bool,
    verbose: bool,
) -> None:
    """Say what was committed, and what was not."""
    if done.lost_lines:
        lines = "1 line" if done.lost_lines == 1 else f"{done.lost_lines:,} lines"
        status.say(f"{lines} that had been read: not in the table")
    if done.is_cut and not quiet:
        status.say("the last line has no end: it was taken as it is")
    if done.left_bytes:
        status.say(f"not taken: {done.left_bytes:,} bytes of a line whose end was not read")
    if done.shortened:
        dropped = sizes.human(source.dropped_bytes)
        status.say(f"{done.shortened:,} lines were longer than a row can be: {dropped} left out")
    if (done.rejected or done.kept_records) and not quiet:
        status.say(errors.summary(done.rejected + done.kept_records))
    if not quiet and (verbose or done.versions > 1 or sys.stderr.isatty()) and done.versions:
        status.say(text)
