"""Taking the lines of log files as they are written, each one once.

A commit has the rows together with the positions in the files that they came from, in the inputs
tree. It is made only if these are the positions that reading began at: of two programs that follow
one file each line is taken by one of them, and a restored version takes again what it has not.
"""

from __future__ import annotations

import os
import time

from sdb.errors import CorruptError, InputError, NotFoundError, UnsupportedError, UsageError
from sdb.records import record, replace
from sdb.table.catalog.handle import find_table
from sdb.table.commit.change import FAILED, ChangedInput, TableChange
from sdb.table.commit.commit import check_writable, commit
from sdb.table.definition.cache import recent_definition
from sdb.table.format.keys import TableKeys, new_uid
from sdb.table.format.positions import (
    LogPosition,
    position_key,
)
from sdb.table.inputs.pattern import InputPattern
from sdb.table.insert.insert import Inserted, packing_options
from sdb.table.insert.stream import patiently
from sdb.table.packfiles.pack import pack_rows
from sdb.table.packfiles.rules import row_rules
from sdb.table.tail.lines import FileLines, unread_bytes
from sdb.table.tail.logtext import ChangedTextError
from sdb.table.tail.lookout import QUIET_SECONDS, Lookout
from sdb.table.tail.stored import StoredPositions, is_overtaken

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from threading import Event
    from typing import Any

    from sdb._core import RejectedBatch
    from sdb.packfile.inputs.inputs import Input
    from sdb.table.catalog.root import TableRoot
    from sdb.table.commit.commit import Committed
    from sdb.table.format.index import TableIndex
    from sdb.table.insert.stream import Batch, Hear, Streamed
    from sdb.table.packfiles.pack import PackedRows
    from sdb.table.tail.followed import FollowedFile
    from sdb.table.tail.logtext import LogPiece
    from sdb.table.tail.names import LogNames

OPERATION = "tail"

SETTLE_SECONDS = 2.0
"""A rotated file to which nobody has written for so long is at its end."""

_LONGEST_LOOK_SECONDS = 1.0


class _MovedError(Exception):
    """The table has other positions by now: another program has taken lines, or restored some."""


@record
class _Entry:
    """An entry of the inputs tree that a commit changes."""

    key: str
    before: str  # the position that it must have; empty: it has no entry yet
    position: LogPosition


def tail_files(  # noqa: PLR0913 - the command's options, by name
    root: TableRoot,
    database: str,
    table: str,
    names: LogNames,
    *,
    batch: Batch,
    stop: Event,
    hear: Hear,
    say: Callable[[str], None],
    so_far: Streamed,
    is_once: bool = False,
    settle_seconds: float = SETTLE_SECONDS,
    author: str = "",
    hints: bytes | None = None,
    on_errors: Callable[[RejectedBatch], None] | None = None,
    **options: Any,  # noqa: ANN401 - those of packing
) -> None:
    """Take the lines of log files as they are written, until `stop` is set.

    * ``stop``: Set when the program is to end: what is there by then is still committed.
    * ``hear``: Called with each commit, with None when one works after trouble, and with trouble.
    * ``say``: Called with what became of files: truncated, gone, copied.
    * ``so_far``: Gets what was done, also if this fails.
    * ``is_once``: Whether to end once all that is there was taken.
    * ``author``: Recorded in the versions.
    * ``options``: Others of :func:`sdb.pack`.

    Raises
    ------
    InputError
        A line is malformed, and nothing takes such lines. Those before it were taken.
    UsageError
        A file is an input of the table, too.
    SdbError
        The table cannot be written, which trying again does not cure.
    """
    keys = TableKeys(database, table)
    check_writable(root)
    taking = _Taking(
        root,
        keys,
        names,
        batch=batch,
        stop=stop,
        hear=hear,
        say=say,
        so_far=so_far,
        settle_seconds=settle_seconds,
        author=author,
        is_once=is_once,
        form=options.pop("format", None),
        hints=hints,
        on_errors=on_errors,
        options=options,
    )
    look_seconds = min(batch.interval_seconds, _LONGEST_LOOK_SECONDS)
    try:
        taking.begin()
        while True:
            is_last = stop.is_set()
            is_full = taking.take(is_due=is_last or is_once)
            if is_last or (is_once and not is_full):
                return
            if not is_full:
                stop.wait(look_seconds)
    finally:
        taking.lookout.close()


class _Taking:
    def __init__(  # noqa: PLR0913 - by name
        self,
        root: TableRoot,
        keys: TableKeys,
        names: LogNames,
        *,
        batch: Batch,
        stop: Event,
        hear: Hear,
        say: Callable[[str], None],
        so_far: Streamed,
        settle_seconds: float,
        author: str,
        is_once: bool,
        form: str | None,
        hints: bytes | None,
        on_errors: Callable[[RejectedBatch], None] | None,
        options: dict[str, Any],
    ) -> None:
        self._root, self._keys, self._batch = root, keys, batch
        self._stop, self._hear, self._say, self._so_far = stop, hear, say, so_far
        self._format, self._hints, self._on_errors = form, hints, on_errors
        self._author, self._options, self._is_once = author, options, is_once
        self._committed_at = float("-inf")
        self._stored = StoredPositions(root.fetch)
        self.lookout = Lookout(
            names, self._positions, say, self._check, settle_seconds=settle_seconds
        )

    def begin(self) -> None:
        """Begin where the table is."""
        self._packing()
        self.lookout.begin()

    def take(self, *, is_due: bool) -> bool:
        """Look for lines, and commit them if it is time to; return whether there may be more."""
        self.lookout.look()
        batch = self._batch
        now = time.monotonic()
        is_due = is_due or now >= self._committed_at + batch.interval_seconds
        new_bytes = sum(max(0, unread_bytes(file)) for file in self.lookout.files.values())
        if not is_due and new_bytes < batch.most_bytes and batch.most_lines is None:
            return False
        taken = list(self._read())
        lines = sum(some.piece.lines for some in taken)
        size = sum(len(some.piece.data) for some in taken)
        is_full = size >= batch.most_bytes // 2 or lines >= (batch.most_lines or lines + 1)
        if not taken or not (is_due or is_full):
            return False
        self._committed_at = now
        try:
            self._commit_all(taken)
        except _MovedError:
            self._say(
                f"{self._keys.database}.{self._keys.table}: another program has changed how far "
                "files were taken: reading goes on from there"
            )
            self.lookout.begin()
            return True
        return is_full or any(unread_bytes(some.file) > 0 for some in taken)

    def _read(self) -> Iterator[FileLines]:
        """Read what is new of each file, the oldest first, up to the size of a batch."""
        left_bytes, left_lines = self._batch.most_bytes, self._batch.most_lines
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
        file = some.file
        if self._is_once or file.is_quiet(self.lookout.settle_seconds):
            return some
        whole = some.whole_records(self._format, self._hints)
        if whole is not None or self._batch.most_lines is None:
            return whole
        # More lines than a batch has, since a record has them.
        text = file.opened()
        more = None if text is None else file.cursor.piece(text, self._batch.most_bytes)
        return (
            None
            if more is None
            else replace(some, piece=more).whole_records(self._format, self._hints)
        )

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

    def _commit_all(self, taken: list[FileLines]) -> None:
        """Commit lines; if one is malformed and that is an error, those before it."""
        try:
            self._commit(taken)
        except InputError as error:
            if len(taken) > 1:
                for some in taken:
                    self._commit_all([some])
                return
            file, data = taken[0].file, taken[0].piece.data
            good = data.count(b"\n", 0, data.rfind(b"\n", 0, error.offset or 0) + 1)
            text = file.opened()
            if good and text is not None:
                piece = file.cursor.piece(text, len(data), good)
                if piece is not None:
                    self._commit([FileLines(file, piece)])
            raise

    def _commit(self, taken: list[FileLines]) -> None:
        so_far, is_first, commit_id = self._so_far, not self._so_far.versions, new_uid()
        inputs = [some.input(self._format, self._hints) for some in taken]
        packed, rejected = patiently(
            lambda: self._packed(inputs, commit_id), self._stop, self._hear, is_first=is_first
        )
        if self._on_errors is not None:
            for batch in rejected:
                self._on_errors(batch)
        self.lookout.taking(some.file for some in taken)
        entries = [self._entry(some) for some in taken]
        ended = [
            _Entry(key, self.lookout.positions[key][0], position)
            for key, position in self.lookout.ended().items()
        ]
        added = () if packed.descriptor is None else (packed.descriptor,)
        attempts = 0

        def plan(index: TableIndex) -> TableChange:
            changed = (*entries, *self._checked(index, taken, entries, ended))
            inputs = tuple(
                [ChangedInput(entry.key, entry.position.text(), FAILED) for entry in changed]
            )
            return TableChange(OPERATION, added, inputs=inputs, author=self._author)

        def attempt() -> Committed:
            nonlocal attempts
            attempts += 1
            is_new = attempts == 1  # else an earlier one may have worked after all
            return commit(self._root, self._keys, plan, commit_id=commit_id, is_new=is_new)

        done = patiently(attempt, self._stop, self._hear, is_first=is_first)
        for some, entry in zip(taken, entries, strict=True):
            some.file.cursor = some.file.cursor.behind(some.piece)
            self.lookout.committed(entry.key, entry.position.text(), entry.position, some.file)
            self._count(some)
        for entry in ended:
            self.lookout.committed(entry.key, entry.position.text(), entry.position)
        so_far.rejected += packed.result.rejected
        so_far.kept_records += packed.result.kept_records
        so_far.rows += packed.result.rows
        so_far.versions += 1
        so_far.version = done.version
        key = "" if packed.descriptor is None else packed.descriptor.key
        self._hear(Inserted(done.version, commit_id, is_new=True, packed=packed.result, key=key))

    def _count(self, some: FileLines) -> None:
        so_far, piece = self._so_far, some.piece
        so_far.lines += piece.lines
        so_far.text_bytes += len(piece.data)
        so_far.shortened += piece.is_shortened
        if piece.is_cut:
            self._say(f"{some.file.path}: the last line has no end: taken, since it was rotated")
        if piece.skipped_bytes:
            self._say(f"{some.file.path}: a hole of {piece.skipped_bytes:,} bytes at its start")

    def _entry(self, some: FileLines) -> _Entry:
        file = some.file
        position = self.lookout.position_of(file, file.cursor.behind(some.piece))
        if file.key:
            return _Entry(file.key, file.stored, position)
        key, before = self.lookout.free_key(file.path)
        key = key or position_key(self.lookout.host, file.path, new_uid()[:8])
        return _Entry(key, before, position)

    def _checked(
        self, index: TableIndex, taken: list[FileLines], entries: list[_Entry], ended: list[_Entry]
    ) -> list[_Entry]:
        """Check that a table has the positions that reading began at.

        Returns: Entries of files that are over, which are of no interest where they have changed.
        """
        stored = self._stored.of(index.inputs)

        def has(entry: _Entry) -> bool:
            return stored.get(entry.key, "") == entry.before

        known = self.lookout.positions.keys()
        is_new = any(entry.key not in known for entry in entries)
        if not all(map(has, entries)) or (is_new and not stored.keys() <= known):
            raise _MovedError
        if is_overtaken(taken, stored, self.lookout.host):
            raise _MovedError
        return [entry for entry in ended if has(entry) and entry.before != entry.position.text()]

    def _positions(self) -> dict[str, str]:
        handle = find_table(self._root, self._keys.database, self._keys.table)
        return {} if handle is None else self._stored.of(handle.index.inputs)

    def _packing(self) -> dict[str, Any]:
        """Return what packing must know of the table, which may change meanwhile."""
        try:
            return packing_options(self._root, self._keys, {}, self._options)
        except UnsupportedError as error:
            hint = "--tail takes lines into tables without partitions"
            raise UnsupportedError(error.message, hint=hint) from None

    def _packed(
        self, inputs: list[Input], commit_id: str
    ) -> tuple[PackedRows, list[RejectedBatch]]:
        """Pack lines, and return those that are malformed, unless that is an error."""
        rejected: list[RejectedBatch] = []
        take = None if self._on_errors is None else rejected.append
        options = self._packing()
        packed = pack_rows(
            self._root,
            self._keys,
            inputs,
            rules=row_rules(self._root, self._keys),
            commit_id=commit_id,
            on_errors=take,
            **options,
        )
        return packed, rejected

    def _check(self, path: str) -> None:
        """Check that a sync does not take a file as a whole."""
        if self._root.store.is_remote:
            return
        base = self._root.location
        uri = f"file://{os.path.relpath(path, os.path.abspath(base))}"  # noqa: PTH100
        try:
            rules = recent_definition(self._root, self._keys).inputs
        except NotFoundError:
            return
        for rule in rules:
            if InputPattern.parse(rule.pattern).match(uri) is not None:
                raise UsageError(
                    f"{path}: fits the pattern {rule.pattern} of the table, so that its lines "
                    "would be taken twice",
                    hint="keep logs that are followed out of the inputs of the table",
                )
