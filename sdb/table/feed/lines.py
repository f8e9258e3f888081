"""Lines that come in without an end: batches of a pipe or of log files, each in one commit.

A source yields batches. The rows of a batch are packed and committed, and only then is it
acknowledged. While the table cannot be written, the same commit is tried again under the same id,
so that nothing is inserted twice.
"""

from __future__ import annotations

import time
from itertools import count

from sdb.errors import (
    CorruptError,
    InputError,
    NotFoundError,
    SdbError,
    UnsupportedError,
    UsageError,
)
from sdb.log import Logger
from sdb.packfile.inputs.lines import BATCH_BYTES
from sdb.records import changing_record, field, record
from sdb.retry import Backoff
from sdb.table.commit.commit import check_branch, check_writable, commit
from sdb.table.feed.events import TroubleReporter
from sdb.table.format.keys import new_uid
from sdb.table.format.versionref import MAIN
from sdb.table.insert.insert import Inserted, packing_options
from sdb.table.packfiles.pack import pack_rows
from sdb.table.packfiles.rules import row_rules
from sdb.typed import Protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from threading import Event
    from typing import Any, TypeVar

    from sdb._core import RejectedBatch
    from sdb.packfile.inputs.inputs import Input
    from sdb.table.catalog.root import TableRoot
    from sdb.table.commit.change import TableChange
    from sdb.table.commit.commit import Committed, Plan
    from sdb.table.feed.events import OnEvent
    from sdb.table.format.descriptor import Descriptor
    from sdb.table.format.keys import TableKeys
    from sdb.table.packfiles.pack import PackedRows

    _Result = TypeVar("_Result")

INTERVAL_SECONDS = 1.0

FAREWELL_SECONDS = 10.0
"""So long a commit is tried on after the program was told to stop."""

_log = Logger("sdb.table.feed")
_FIRST_SECONDS = 0.5
_LONGEST_SECONDS = 30.0
_FINAL = (UsageError, InputError, UnsupportedError, CorruptError, NotFoundError)


class MovedError(Exception):
    """A table does not continue where a batch begins: another program has committed meanwhile."""


@record
class BatchBounds:
    """Bounds of what is committed together."""

    interval_seconds: float = INTERVAL_SECONDS
    most_bytes: int = BATCH_BYTES
    most_lines: int | None = None


class Batch(Protocol):
    """Lines that a source gives together."""

    def inputs(self) -> list[Input]:
        """Return them as inputs of a packfile."""

    def change(self, added: Sequence[Descriptor]) -> TableChange | Plan | None:
        """Return what a commit does that adds their packfile, if any has rows; None: nothing.

        A plan raises :class:`MovedError` if they cannot be committed any more.
        """

    def acknowledge(self) -> None:
        """Record that the table has them."""

    def abandon(self) -> None:
        """Record that they cannot be committed any more: reading goes on where the table is."""

    def parts(self) -> Sequence[Batch]:
        """Return batches that they consist of; none if they are of one file."""

    def before(self, error: InputError) -> Batch | None:
        """Return those before a malformed line; None: there are none."""


@changing_record
class Streamed:
    """The result of a feed of lines so far."""

    rows: int = 0
    lines: int = 0
    rejected: int = 0
    kept_records: int = 0  # malformed records that are rows
    text_bytes: int = 0
    versions: int = 0
    version: int = 0  # the newest
    # Lines without an end: one that the end of the pipe came after, which was taken, and the bytes
    # of one that was not
    is_cut: bool = False
    left_bytes: int = 0
    shortened: int = 0  # lines that were too long, of which the beginning was taken
    # Lines that were read and are in no version, because a commit failed
    lost_lines: int = 0


@record
class LineTarget:
    """The table that takes lines, and how they are packed for it.

    * ``partition``: A value for each field that it has partitions by; None: it may have none.
    * ``on_errors``: Takes malformed lines; without it the first one is an error.
    * ``options``: Others of :func:`sdb.pack`.
    """

    root: TableRoot
    keys: TableKeys
    branch: str = MAIN
    author: str = ""
    message: str = ""
    partition: Mapping[str, object] | None = field(default_factory=dict)
    hints: bytes | None = None
    on_errors: Callable[[RejectedBatch], None] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def check(self) -> None:
        """Check that the table takes lines as they are to be packed."""
        check_writable(self.root)
        self.packing()
        check_branch(self.root, self.keys, self.branch)

    def packing(self) -> dict[str, Any]:
        """Return what packing must know of the table, which may change meanwhile."""
        try:
            return packing_options(self.root, self.keys, self.partition or {}, self.options)
        except UnsupportedError as error:
            if self.partition is not None:
                raise
            hint = "lines of log files go into tables without partitions"
            raise UnsupportedError(error.message, hint=hint) from None

    def pack(
        self, inputs: Sequence[Input], commit_id: str
    ) -> tuple[PackedRows, list[RejectedBatch]]:
        """Pack lines, and return those that are malformed, unless that is an error."""
        rejected: list[RejectedBatch] = []
        packed = pack_rows(
            self.root,
            self.keys,
            list(inputs),
            rules=row_rules(self.root, self.keys, self.branch),
            commit_id=commit_id,
            on_errors=None if self.on_errors is None else rejected.append,
            **self.packing(),
        )
        return packed, rejected


class LineFeed:
    """Commits the batches of a source.

    * ``stop``: Set when the program is to end: what was read is still committed.
    * ``on_event``: Called with each commit, with trouble when it begins, changes and ends, and with
      what became of files.
    * ``so_far``: Gets what was done, also if this fails.
    """

    def __init__(
        self, target: LineTarget, stop: Event, on_event: OnEvent, so_far: Streamed
    ) -> None:
        self.target, self.stop, self.on_event, self.so_far = target, stop, on_event, so_far
        self._trouble = TroubleReporter(on_event, target.keys.database, target.keys.table)

    def run(self, source: Iterable[Batch]) -> None:
        """Take all batches of a source.

        Raises `InputError` if a line is malformed, and nothing takes such lines. Those before it
        were inserted. Raises `SdbError` if the table cannot be written, which trying again does not
        cure.
        """
        for batch in source:
            self.take(batch)

    def take(self, batch: Batch) -> None:
        """Commit a batch, unless another program has taken what is in it."""
        try:
            self._take(batch)
        except MovedError:
            batch.abandon()

    def _take(self, batch: Batch) -> None:
        """Commit a batch; if a line is malformed and that is an error, those before it."""
        try:
            self._commit(batch)
        except InputError as error:
            if parts := batch.parts():
                for part in parts:
                    self._take(part)
                return
            if (good := batch.before(error)) is not None:
                self._commit(good)
            raise

    def _commit(self, batch: Batch) -> None:
        target, so_far, commit_id = self.target, self.so_far, new_uid()
        inputs, attempts = batch.inputs(), count()
        # The id is in the key of the packfile: packing again makes the same object.
        packed, rejected = self._patiently(lambda: target.pack(inputs, commit_id))
        if target.on_errors is not None:
            for some in rejected:
                target.on_errors(some)
        so_far.rejected += packed.result.rejected
        so_far.kept_records += packed.result.kept_records
        change = batch.change(() if packed.descriptor is None else (packed.descriptor,))
        if change is None:
            batch.acknowledge()
            return

        def attempt() -> Committed:
            # From the second attempt on an earlier one may have worked after all.
            is_new = next(attempts) == 0
            return commit(
                target.root,
                target.keys,
                change,
                commit_id=commit_id,
                is_new=is_new,
                branch=target.branch,
            )

        done = self._patiently(attempt)
        # Not before: a batch that is acknowledged without a commit is lost if the program dies.
        batch.acknowledge()
        so_far.rows += packed.result.rows
        so_far.versions += 1
        so_far.version = done.version
        key = "" if packed.descriptor is None else packed.descriptor.key
        self.on_event(Inserted(done.version, commit_id, is_new=True, packed=packed.result, key=key))

    def _patiently(self, attempt: Callable[[], _Result]) -> _Result:
        """Try until it works; each attempt must be safe after one whose outcome is not known.

        Trying ends `FAREWELL_SECONDS` after the feed was stopped. A lack of rights is final unless
        something has worked before.
        """
        backoff = Backoff(
            "committing lines", _log, first_seconds=_FIRST_SECONDS, longest_seconds=_LONGEST_SECONDS
        )
        give_up: float | None = None
        while True:
            try:
                result = attempt()
            except SdbError as error:
                is_final = isinstance(error, _FINAL) or (
                    not self.so_far.versions and isinstance(error, PermissionError)
                )
                if self.stop.is_set() and give_up is None:
                    give_up = time.monotonic() + FAREWELL_SECONDS
                if is_final or (give_up is not None and time.monotonic() >= give_up):
                    raise
                backoff.may_retry(error)
                self._trouble.report(error)
                pause = backoff.next_seconds()
                if give_up is None:
                    self.stop.wait(pause)
                else:
                    time.sleep(min(pause, 1.0))
            else:
                self._trouble.clear()
                return result
