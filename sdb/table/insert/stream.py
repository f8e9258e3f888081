"""Inserting a pipe that goes on: many commits, and each line in one of them.

Lines that were read wait in memory until a commit has them. While the table cannot be written, the
same commit is tried again under the same id, so that nothing is inserted twice; the pipe is read
only so far ahead, and who writes has to wait.
"""

from __future__ import annotations

import time

from sdb import formats
from sdb.errors import (
    CorruptError,
    InputError,
    NotFoundError,
    SdbError,
    UnsupportedError,
    UsageError,
)
from sdb.log import Logger
from sdb.packfile.inputs.inputs import Input
from sdb.packfile.inputs.lines import BATCH_BYTES
from sdb.packfile.inputs.sniff import HEAD_BYTES, journal_forms
from sdb.records import changing_record, record
from sdb.retry import Backoff
from sdb.table.commit.change import TableChange
from sdb.table.commit.commit import check_branch, check_writable, commit
from sdb.table.format.keys import TableKeys, new_uid
from sdb.table.format.versionref import MAIN
from sdb.table.insert.insert import Inserted, packing_options
from sdb.table.packfiles.pack import pack_rows
from sdb.table.packfiles.rules import row_rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping
    from threading import Event
    from typing import Any, TypeAlias, TypeVar

    from sdb._core import RejectedBatch
    from sdb.packfile.inputs.lines import LineBatch, LineSource
    from sdb.table.catalog.root import TableRoot
    from sdb.table.commit.commit import Committed
    from sdb.table.packfiles.pack import PackedRows

    Hear: TypeAlias = "Callable[[Inserted | Waiting | None], None]"
    _Result = TypeVar("_Result")

INTERVAL_SECONDS = 1.0

FAREWELL_SECONDS = 10.0
"""So long a commit is tried on after the program was told to stop."""

_log = Logger("sdb.table.insert")
_FIRST_SECONDS = 0.5
_LONGEST_SECONDS = 30.0
_FINAL = (UsageError, InputError, UnsupportedError, CorruptError, NotFoundError)


@record
class Waiting:
    """A commit that did not work and is tried again."""

    error: SdbError
    seconds: float  # until then


@record
class Batch:
    """Bounds of what is committed together."""

    interval_seconds: float = INTERVAL_SECONDS
    most_bytes: int = BATCH_BYTES
    most_lines: int | None = None


@changing_record
class Streamed:
    """The result of a stream so far."""

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


def insert_lines(  # noqa: PLR0913 - the command's options, by name
    root: TableRoot,
    database: str,
    table: str,
    source: LineSource,
    form: str,
    *,
    batch: Batch,
    stop: Event,
    hear: Hear,
    so_far: Streamed,
    name: str = "standard input",
    branch: str = MAIN,
    author: str = "",
    message: str = "",
    partition: Mapping[str, object] | None = None,
    hints: bytes | None = None,
    on_errors: Callable[[RejectedBatch], None] | None = None,
    **options: Any,  # noqa: ANN401 - those of packing
) -> None:
    """Insert the lines of a pipe as they come, until it ends.

    * ``form``: The parser of the lines, as an :class:`Input` has it.
    * ``stop``: Set when the program is to end: what was read is still committed.
    * ``hear``: Called with each commit, with None when one works after trouble, and with trouble.
    * ``so_far``: Gets what was done, also if this fails.
    * ``branch, author, message, partition``: See :func:`sdb.table.insert.insert.insert`.
    * ``options``: Others of :func:`sdb.pack`.

    Raises
    ------
    InputError
        A line is malformed, and nothing takes such lines. Those before it were inserted.
    SdbError
        The table cannot be written, which trying again does not cure.
    """
    keys = TableKeys(database, table)
    check_writable(root)
    options.pop("format", None)
    packing_options(root, keys, partition or {}, options)
    check_branch(root, keys, branch)
    stream = _Stream(
        root,
        keys,
        form,
        branch=branch,
        author=author,
        message=message,
        hints=hints,
        on_errors=on_errors,
        stop=stop,
        hear=hear,
        so_far=so_far,
        partition=partition or {},
        options=options,
    )
    try:
        while lines := source.take(batch.interval_seconds, batch.most_bytes, batch.most_lines):
            so_far.lost_lines = _count(lines)
            stream.insert(lines, name)
            so_far.lost_lines = 0
        so_far.left_bytes = source.waiting_bytes
    except BaseException:
        so_far.lost_lines += source.waiting_lines
        raise


class _Stream:
    def __init__(  # noqa: PLR0913 - by name
        self,
        root: TableRoot,
        keys: TableKeys,
        form: str,
        *,
        branch: str,
        author: str,
        message: str,
        hints: bytes | None,
        on_errors: Callable[[RejectedBatch], None] | None,
        stop: Event,
        hear: Hear,
        so_far: Streamed,
        partition: Mapping[str, object],
        options: dict[str, Any],
    ) -> None:
        self._root, self._keys, self._branch = root, keys, branch
        self._author, self._message = author, message
        self._form, self._hints = form, hints
        self._on_errors, self._partition, self._options = on_errors, partition, options
        self._stop, self._hear, self._so_far = stop, hear, so_far

    def insert(self, lines: LineBatch, name: str) -> None:
        """Commit lines; those before a malformed one by themselves."""
        so_far = self._so_far
        behind = f"{name} behind line {so_far.lines:,}" if so_far.lines else name
        try:
            self._commit(lines.data, behind)
        except InputError as error:
            good = lines.data[: lines.data.rfind(b"\n", 0, error.offset or 0) + 1]
            if good:
                self._commit(good, behind)
                so_far.lost_lines -= good.count(b"\n")
            raise
        so_far.lines += _count(lines)
        so_far.is_cut = so_far.is_cut or lines.is_cut
        so_far.shortened += lines.is_shortened

    def _commit(self, data: bytes, name: str) -> None:
        so_far, is_first = self._so_far, not self._so_far.versions
        commit_id, attempts = new_uid(), 0
        lines = text_input(name, self._form, data, self._hints)
        packed, rejected = patiently(
            lambda: self._packed(lines, commit_id), self._stop, self._hear, is_first=is_first
        )
        if self._on_errors is not None:
            for batch in rejected:
                self._on_errors(batch)
        so_far.rejected += packed.result.rejected
        so_far.kept_records += packed.result.kept_records
        so_far.text_bytes += len(data)
        if packed.descriptor is None:
            return
        change = TableChange(
            "insert", (packed.descriptor,), author=self._author, message=self._message
        )

        def attempt() -> Committed:
            nonlocal attempts
            attempts += 1
            is_new = attempts == 1  # else an earlier one may have worked after all
            return commit(
                self._root,
                self._keys,
                change,
                commit_id=commit_id,
                is_new=is_new,
                branch=self._branch,
            )

        done = patiently(attempt, self._stop, self._hear, is_first=is_first)
        so_far.rows += packed.result.rows
        so_far.versions += 1
        so_far.version = done.version
        key = packed.descriptor.key
        self._hear(Inserted(done.version, commit_id, is_new=True, packed=packed.result, key=key))

    def _packed(self, lines: Input, commit_id: str) -> tuple[PackedRows, list[RejectedBatch]]:
        """Pack lines, and return those that are malformed, unless that is an error."""
        rejected: list[RejectedBatch] = []
        take = None if self._on_errors is None else rejected.append
        # The definition may have changed, and the table may be gone.
        options = packing_options(self._root, self._keys, self._partition, self._options)
        packed = pack_rows(
            self._root,
            self._keys,
            [lines],
            rules=row_rules(self._root, self._keys, self._branch),
            commit_id=commit_id,
            on_errors=take,
            **options,
        )
        return packed, rejected


def text_input(name: str, form: str, data: bytes, hints: bytes | None = None) -> Input:
    """Return lines of a text as an input.

    * ``form``: The parser of the lines, as an :class:`Input` has it.
    """

    def pieces() -> Generator[bytes]:
        yield data

    form = formats.parser_at(form, time.time(), is_later=True)
    forms = journal_forms(data[:HEAD_BYTES]) if formats.get(form).name == "json" else ()
    return Input(name, form, hints=hints, size_bytes=len(data), forms=forms, source=pieces)


def patiently(
    attempt: Callable[[], _Result],
    stop: Event,
    hear: Callable[[Waiting | None], None],
    *,
    is_first: bool = False,
) -> _Result:
    """Try until it works; each attempt must be safe after one whose outcome is not known.

    * ``stop``: Once it is set, trying ends after `FAREWELL_SECONDS`.
    * ``hear``: Called with each failure, and with None when it works again.
    * ``is_first``: Whether nothing has worked so far, so that a lack of rights is final.

    Raises
    ------
    SdbError
        What trying again does not cure, or what the last attempt failed with.
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
                is_first and isinstance(error, PermissionError)
            )
            if stop.is_set() and give_up is None:
                give_up = time.monotonic() + FAREWELL_SECONDS
            if is_final or (give_up is not None and time.monotonic() >= give_up):
                raise
            backoff.may_retry(error)
            pause = backoff.next_seconds()
            hear(Waiting(error, pause))
            if give_up is None:
                stop.wait(pause)
            else:
                time.sleep(min(pause, 1.0))
        else:
            if backoff.failures:
                hear(None)
            return result


def stream_form(head: bytes, form: str) -> str:
    """Return the parser that takes the lines of a pipe one by one; empty: it is taken as a whole.

    * ``head``: Its first bytes, with the first line if it has one.
    * ``form``: What it is, as :class:`Input` has it.
    """
    name = form.partition(":")[0]
    if name not in formats.INPUTS or not formats.get(name).is_streamed:
        return ""
    if name != "json":
        return form
    if "records=" in form:
        return ""
    # Records over several lines, and arrays of records, are told by how they begin.
    first = head.lstrip().split(b"\n", 1)[0].rstrip()
    is_open = first in {b"{", b""} or first.startswith(b"[") or first.endswith((b"{", b"[", b","))
    return "" if is_open else form


def _count(lines: LineBatch) -> int:
    return lines.data.count(b"\n") + lines.is_cut
