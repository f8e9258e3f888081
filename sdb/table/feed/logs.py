"""Lines of log files as they are written, each one once.

A commit has the rows together with the positions in the files that they came from, in the inputs
tree. It is made only if these are the positions that reading began at: of two programs that follow
one file each line is taken by one of them, and a restored version takes again what it has not.
"""

from __future__ import annotations

import os
import time

from sdb.errors import CorruptError, NotFoundError, UsageError
from sdb.records import record, replace
from sdb.table.catalog.handle import find_table
from sdb.table.commit.change import FAILED, ChangedInput, TableChange
from sdb.table.definition.cache import recent_definition
from sdb.table.feed.events import Remark
from sdb.table.feed.lines import MovedError
from sdb.table.format.keys import new_uid
from sdb.table.format.positions import LogPosition, position_key
from sdb.table.inputs.pattern import InputPattern
from sdb.table.tail.lines import FileLines, unread_bytes
from sdb.table.tail.logtext import ChangedTextError
from sdb.table.tail.lookout import QUIET_SECONDS, Lookout
from sdb.table.tail.stored import StoredPositions, is_overtaken

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sdb.errors import InputError
    from sdb.packfile.inputs.inputs import Input
    from sdb.table.commit.commit import Plan
    from sdb.table.feed.lines import BatchBounds, LineFeed
    from sdb.table.format.descriptor import Descriptor
    from sdb.table.format.index import TableIndex
    from sdb.table.tail.followed import FollowedFile
    from sdb.table.tail.logtext import LogPiece
    from sdb.table.tail.names import LogNames

OPERATION = "tail"

SETTLE_SECONDS = 2.0
"""A rotated file to which nobody has written for so long is at its end."""

_LONGEST_LOOK_SECONDS = 1.0


@record
class LogFiles:
    """The log files that a feed follows, and how."""

    names: LogNames
    bounds: BatchBounds
    is_once: bool = False  # whether to end once all that is there was taken
    settle_seconds: float = SETTLE_SECONDS
    format: str | None = None  # of the lines, as ``-f`` has it


def follow_logs(feed: LineFeed, files: LogFiles) -> None:
    """Take the lines of log files as they are written, until the feed is stopped.

    What is there by then is still committed. See :meth:`LineFeed.run`.
    Raises `UsageError` if a file is an input of the table, too.
    """
    feed.target.check()
    source = LogSource(feed, files)
    try:
        source.begin()
        feed.run(source)
    finally:
        source.lookout.close()


class LogSource:
    """Batches of what is new in log files."""

    def __init__(self, feed: LineFeed, files: LogFiles) -> None:
        self.feed, self.files, self._bounds = feed, files, files.bounds
        self._committed_at = float("-inf")
        self.stored = StoredPositions(feed.target.root.fetch)
        self.lookout = Lookout(
            files.names,
            self._positions,
            self.remark,
            self._check,
            settle_seconds=files.settle_seconds,
        )

    def begin(self) -> None:
        """Begin where the table is."""
        self.lookout.begin()

    def remark(self, text: str) -> None:
        """Report what became of a file."""
        self.feed.on_event(Remark(text))

    def __iter__(self) -> Iterator[LogBatch]:
        """Yield batches until the feed is stopped."""
        stop, is_once = self.feed.stop, self.files.is_once
        while True:
            # Asked before the look: what was written until then is in the last batch.
            is_last = stop.is_set()
            batch = self.next(is_due=is_last or is_once)
            if batch is not None:
                yield batch
            has_more = batch is not None and batch.has_more
            if is_last or (is_once and not has_more):
                return
            if not has_more:
                stop.wait(min(self._bounds.interval_seconds, _LONGEST_LOOK_SECONDS))

    def next(self, *, is_due: bool) -> LogBatch | None:
        """Look for lines, and return them; None: there are none, or it is not time to commit."""
        self.lookout.look()
        bounds = self._bounds
        now = time.monotonic()
        is_due = is_due or now >= self._committed_at + bounds.interval_seconds
        new_bytes = sum(max(0, unread_bytes(file)) for file in self.lookout.files.values())
        if not is_due and new_bytes < bounds.most_bytes and bounds.most_lines is None:
            return None
        taken = list(self._read())
        lines = sum(some.piece.lines for some in taken)
        size = sum(len(some.piece.data) for some in taken)
        is_full = size >= bounds.most_bytes // 2 or lines >= (bounds.most_lines or lines + 1)
        if not taken or not (is_due or is_full):
            return None
        self._committed_at = now
        return LogBatch(self, taken, is_full=is_full)

    def _read(self) -> Iterator[FileLines]:
        """Read what is new of each file, the oldest first, up to the size of a batch."""
        left_bytes, left_lines = self._bounds.most_bytes, self._bounds.most_lines
        files = sorted(self.lookout.files.values(), key=lambda file: file.facts.written)
        for file in files:
            if left_bytes <= 0 or (left_lines is not None and left_lines <= 0):
                return
            try:
                piece = self._piece(file, left_bytes, left_lines)
            except ChangedTextError:
                self.lookout.dropped(file)
                continue
            except CorruptError as error:
                self.lookout.pass_over(file, error)
                continue
            if piece is not None and (some := self._whole(FileLines(file, piece))) is not None:
                left_bytes -= len(some.piece.data)
                left_lines = None if left_lines is None else left_lines - some.piece.lines
                yield some

    def _whole(self, some: FileLines) -> FileLines | None:
        """Return lines without a record that may go on; None: there is no other one yet."""
        file, form, hints = some.file, self.files.format, self.feed.target.hints
        if self.files.is_once or file.is_quiet(self.lookout.settle_seconds):
            return some
        whole = some.whole_records(form, hints)
        if whole is not None or self._bounds.most_lines is None:
            return whole
        # More lines than a batch has, since a record has them.
        text = file.opened()
        more = None if text is None else file.cursor.piece(text, self._bounds.most_bytes)
        return None if more is None else replace(some, piece=more).whole_records(form, hints)

    def _piece(
        self, file: FollowedFile, most_bytes: int, most_lines: int | None
    ) -> LogPiece | None:
        if unread_bytes(file) <= 0:
            return None
        text = file.opened()
        if text is None:
            return None
        is_ended = file.is_rotated and file.is_quiet(self.lookout.settle_seconds)
        piece = file.cursor.piece(text, most_bytes, most_lines, is_ended=is_ended)
        if file.is_listed and file.is_quiet(QUIET_SECONDS) and not file.is_packed:
            file.close()
        return piece

    def _positions(self) -> dict[str, str]:
        root, keys = self.feed.target.root, self.feed.target.keys
        handle = find_table(root, keys.database, keys.table)
        return {} if handle is None else self.stored.of(handle.index.inputs)

    def _check(self, path: str) -> None:
        """Check that a sync does not take a file as a whole."""
        root, keys = self.feed.target.root, self.feed.target.keys
        if root.store.is_remote:
            return
        base = root.location
        uri = f"file://{os.path.relpath(path, os.path.abspath(base))}"  # noqa: PTH100
        try:
            rules = recent_definition(root, keys).inputs
        except NotFoundError:
            return
        for rule in rules:
            if InputPattern.parse(rule.pattern).match(uri) is not None:
                raise UsageError(
                    f"{path}: fits the pattern {rule.pattern} of the table, so that its lines "
                    "would be taken twice",
                    hint="keep logs that are followed out of the inputs of the table",
                )


@record
class _Entry:
    """An entry of the inputs tree that a commit changes."""

    key: str
    before: str  # the position that it must have; empty: it has no entry yet
    position: LogPosition


class LogBatch:
    """Lines of log files that are committed together with the positions behind them."""

    def __init__(self, source: LogSource, taken: list[FileLines], *, is_full: bool = False) -> None:
        self._source, self._taken, self._is_full = source, taken, is_full
        self._lookout = source.lookout
        self._entries: list[_Entry] = []
        self._ended: list[_Entry] = []  # of files that are over, which need no lines

    @property
    def has_more(self) -> bool:
        """True if more lines may be there by now."""
        return self._is_full or any(unread_bytes(some.file) > 0 for some in self._taken)

    def inputs(self) -> list[Input]:
        """Return them as inputs of a packfile."""
        form, hints = self._source.files.format, self._source.feed.target.hints
        return [some.input(form, hints) for some in self._taken]

    def change(self, added: Sequence[Descriptor]) -> Plan:
        """Return what a commit does: positions move on also where no line is a row."""
        lookout = self._lookout
        lookout.taking(some.file for some in self._taken)
        self._entries = [self._entry(some) for some in self._taken]
        self._ended = [
            _Entry(key, lookout.positions[key][0], position)
            for key, position in lookout.ended().items()
        ]
        author = self._source.feed.target.author

        def plan(index: TableIndex) -> TableChange:
            inputs = tuple(
                [
                    ChangedInput(entry.key, entry.position.text(), FAILED)
                    for entry in (*self._entries, *self._checked(index))
                ]
            )
            return TableChange(OPERATION, tuple(added), inputs=inputs, author=author)

        return plan

    def acknowledge(self) -> None:
        """Record that the table has them: reading goes on behind them."""
        for some, entry in zip(self._taken, self._entries, strict=True):
            some.file.cursor = some.file.cursor.behind(some.piece)
            self._lookout.committed(entry.key, entry.position.text(), entry.position, some.file)
            self._count(some)
        for entry in self._ended:
            self._lookout.committed(entry.key, entry.position.text(), entry.position)

    def abandon(self) -> None:
        """Record that they cannot be committed any more: reading goes on where the table is."""
        keys = self._source.feed.target.keys
        self._source.remark(
            f"{keys.database}.{keys.table}: another program has changed how far files were taken: "
            "reading goes on from there"
        )
        self._source.begin()
        self._is_full = True

    def parts(self) -> Sequence[LogBatch]:
        """Return a batch for each file; none if they are of one."""
        taken = self._taken if len(self._taken) > 1 else []
        return [LogBatch(self._source, [some]) for some in taken]

    def before(self, error: InputError) -> LogBatch | None:
        """Return those before a malformed line; None: there are none."""
        file, data = self._taken[0].file, self._taken[0].piece.data
        good = data.count(b"\n", 0, data.rfind(b"\n", 0, error.offset or 0) + 1)
        text = file.opened()
        piece = file.cursor.piece(text, len(data), good) if good and text is not None else None
        return None if piece is None else LogBatch(self._source, [FileLines(file, piece)])

    def _count(self, some: FileLines) -> None:
        so_far, piece = self._source.feed.so_far, some.piece
        so_far.lines += piece.lines
        so_far.text_bytes += len(piece.data)
        so_far.shortened += piece.is_shortened
        path = some.file.path
        if piece.is_cut:
            self._source.remark(f"{path}: the last line has no end: taken, since it was rotated")
        if piece.skipped_bytes:
            self._source.remark(f"{path}: a hole of {piece.skipped_bytes:,} bytes at its start")

    def _entry(self, some: FileLines) -> _Entry:
        file = some.file
        position = self._lookout.position_of(file, file.cursor.behind(some.piece))
        if file.key:
            return _Entry(file.key, file.stored, position)
        key, before = self._lookout.free_key(file.path)
        key = key or position_key(self._lookout.host, file.path, new_uid()[:8])
        return _Entry(key, before, position)

    def _checked(self, index: TableIndex) -> list[_Entry]:
        """Check that a table has the positions that reading began at.

        Returns: Entries of files that are over, which are of no interest where they have changed.
        """
        stored = self._source.stored.of(index.inputs)

        def has(entry: _Entry) -> bool:
            return stored.get(entry.key, "") == entry.before

        known = self._lookout.positions.keys()
        # The table may have an entry that this program has not heard of, of a file that it takes
        # for a new one.
        is_new = any(entry.key not in known for entry in self._entries)
        if not all(map(has, self._entries)) or (is_new and not stored.keys() <= known):
            raise MovedError
        if is_overtaken(self._taken, stored, self._lookout.host):
            raise MovedError
        return [
            entry for entry in self._ended if has(entry) and entry.before != entry.position.text()
        ]
