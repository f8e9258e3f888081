"""Appends of many threads of one program, which share commits.

The first thread commits for all that wait by then: rows that were given as dicts become one
packfile, and all appends one version. While several threads append, there are at most 20
commits a second; a thread that is alone does not wait.
"""

from __future__ import annotations

import os
import threading
import time
from copy import copy

from sdb.errors import CorruptError, InputError, UncertainError, UnsupportedError
from sdb.packfile.inputs.arguments import keeps_nulls
from sdb.packfile.inputs.inputs import Input
from sdb.packfile.inputs.rowvalues import ROWS, encoded_rows, is_row
from sdb.records import changing_record, replace
from sdb.table.commit.change import TableChange, TransactionDoneError
from sdb.table.commit.commit import check_writable, commit
from sdb.table.format.keys import TableKeys, check_id, new_uid
from sdb.table.format.versionref import MAIN
from sdb.table.insert.insert import Inserted, earlier_commit, insert, packing_options
from sdb.table.packfiles.pack import PackedRows, pack_rows
from sdb.table.packfiles.rules import row_rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence
    from typing import Any, TypeAlias, TypeGuard

    from sdb.packfile.inputs.arguments import Inputs
    from sdb.table.catalog.root import TableRoot

    Key: TypeAlias = tuple[object, ...]

INTERVAL_SECONDS = 0.05
"""Commits that threads share are so far apart at least."""

MOST_APPENDS = 1_000
"""How many appends are in one commit at most."""

_SHARED_BYTES = 1 << 20
_MOST_MESSAGE_LETTERS = 1_000
_FLAWS = (InputError, CorruptError, UnsupportedError)
_OF_ONE = frozenset({"on_error", "on_errors", "progress"})


def append(  # noqa: PLR0913 - as insert, by name
    root: TableRoot,
    database: str,
    table: str,
    inputs: Inputs,
    *,
    txn_id: str = "",
    author: str = "",
    message: str = "",
    branch: str = MAIN,
    partition: Mapping[str, object] | None = None,
    fingerprint: str = "",
    expects: int | None = None,
    **options: Any,  # noqa: ANN401 - those of packing
) -> Inserted:
    """Insert rows into a table, in one version with what other threads append at the same time.

    * ``inputs``: See :func:`sdb.pack`. A list of rows shares a packfile with others.
    * ``txn_id``: The client's own id. The same one again inserts nothing, and returns the same
      version.
    * ``author, message``: Recorded in the version.
    * ``branch``: The branch that gets the rows. Only those of `main` share commits.
    * ``partition``: A value for each field that the table has partitions by: all rows get it.
    * ``fingerprint, expects``: See :func:`sdb.table.insert.insert.insert`. An append that expects a
      version shares no commit.
    * ``options``: Others of :func:`sdb.pack`.

    Raises `NotFoundError`, `UnsupportedError`, `ConflictError` or `UncertainError` as
    :func:`sdb.table.insert.insert.insert` does. Rows of one thread that cannot be packed are an
    error of that thread alone.
    """
    if branch != MAIN or expects is not None:
        options |= {"branch": branch, "partition": partition, "txn_id": txn_id}
        options |= {"author": author, "message": message}
        options |= {"fingerprint": fingerprint, "expects": expects}
        return insert(root, database, table, inputs, **options)
    keys = TableKeys(database, table)
    check_writable(root)
    options = packing_options(root, keys, partition or {}, options)
    if txn_id:
        check_id(txn_id)
    group = _group(root, keys)
    with group:
        mine = _Append(txn_id, author, message, options, fingerprint=fingerprint)
        if _are_rows(inputs) and _OF_ONE.isdisjoint(options):
            mine.rows, mine.count = b"".join(_encoded(inputs, options)), len(inputs)
        if not 0 < len(mine.rows) <= _SHARED_BYTES:
            done = earlier_commit(root, keys, txn_id)
            if done is not None:
                return done
            source = inputs if not mine.rows else [_input(mine.rows)]
            own_id = txn_id or new_uid()
            rules = row_rules(root, keys)
            mine.packed = pack_rows(root, keys, source, rules=rules, commit_id=own_id, **options)
            if mine.packed.descriptor is None:
                return Inserted(0, own_id, is_new=False, packed=mine.packed.result)
        return group.outcome(mine)


@changing_record
class _Append:
    """Rows of one thread that wait for a commit: in memory, or in a separate packfile."""

    txn_id: str
    author: str
    message: str
    options: Mapping[str, object]
    fingerprint: str = ""
    rows: bytes = b""
    count: int = 0
    packed: PackedRows | None = None
    outcome: Inserted | Exception | None = None


@changing_record
class _Batch:
    """Appends that are committed together; what is left of one goes on with the same id."""

    appends: Sequence[_Append]
    commit_id: str
    ids: tuple[str, ...]
    is_begun: bool = False

    @property
    def open(self) -> list[_Append]:
        return [member for member in self.appends if member.outcome is None]


class _Group:
    """The appends to one table; a context manager for each while it is under way."""

    def __init__(self, root: TableRoot, keys: TableKeys) -> None:
        self._root = root
        self._keys = keys
        self._news = threading.Condition()
        self._inside = 0
        self._is_led = False
        self._waiting: list[_Append] = []
        self._batch: _Batch | None = None
        self._committed_at = 0.0

    def __enter__(self) -> None:
        with self._news:
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._news:
            self._inside -= 1

    def outcome(self, mine: _Append) -> Inserted:
        """Wait until another thread has committed an append, or commit all that wait."""
        with self._news:
            self._waiting.append(mine)
        try:
            while mine.outcome is None:
                with self._news:
                    if self._is_led:
                        self._news.wait()
                        continue
                    self._is_led = True
                try:
                    self._lead()
                finally:
                    with self._news:
                        self._is_led = False
                        self._news.notify_all()
        finally:  # after Ctrl-C it is not to be begun any more
            with self._news:
                self._waiting = [member for member in self._waiting if member is not mine]
        if isinstance(mine.outcome, Exception):
            raise mine.outcome
        return mine.outcome

    def _lead(self) -> None:
        with self._news:
            while self._inside > 1 and (
                (pause := self._committed_at + INTERVAL_SECONDS - time.monotonic()) > 0
            ):
                self._news.wait(pause)
            if self._batch is None:  # else its leader was interrupted
                self._batch = self._gathered()
            batch = self._batch
            may_be_done = batch.is_begun
        try:
            self._commit(batch)
        except Exception as error:  # noqa: BLE001 - told to all
            for member in batch.open:
                member.outcome = self._unknown(error, member) if may_be_done else copy(error)
        with self._news:
            self._batch = None
            self._committed_at = time.monotonic()

    def _unknown(self, error: Exception, member: _Append) -> UncertainError:
        """Warn about an error after a commit that another thread began and was interrupted in."""
        again = "run it again with the same txn_id: rows are not inserted twice"
        return UncertainError(
            f"committing to {self._keys.database}.{self._keys.table}: {error}",
            hint=again if member.txn_id else "look whether the rows are there",
        )

    def _gathered(self) -> _Batch:
        """Take what waits; of appends with the same id the first one."""
        chosen: list[_Append] = []
        left: list[_Append] = []
        ids: dict[str, None] = {}
        for member in self._waiting[:MOST_APPENDS]:
            (left if member.txn_id in ids else chosen).append(member)
            ids |= {member.txn_id: None} if member.txn_id else {}
        self._waiting = left + self._waiting[MOST_APPENDS:]
        if len(chosen) == 1 and ids:
            return _Batch(chosen, chosen[0].txn_id, _fingerprints(chosen))
        return _Batch(chosen, new_uid(), (*ids, *_fingerprints(chosen)))

    def _commit(self, batch: _Batch) -> None:
        """Commit what is open in a batch, and note what has become of each append."""
        while batch.open:
            packed = self._packed(batch)
            if not packed:
                return
            change = _change(batch.open, packed, batch.ids)
            is_new = not (batch.is_begun or len(batch.appends) == 1)
            batch.is_begun = True
            try:
                committed = commit(
                    self._root, self._keys, change, commit_id=batch.commit_id, is_new=is_new
                )
            except TransactionDoneError as error:
                for member in batch.open:
                    if (version := error.versions.get(member.txn_id)) is not None:
                        member.outcome = Inserted(version, member.txn_id, is_new=False, packed=None)
                batch.commit_id, batch.is_begun = new_uid(), False
                ids = [member.txn_id for member in batch.open if member.txn_id]
                batch.ids = (*ids, *_fingerprints(batch.open))
                continue
            is_done = len(batch.appends) > 1 or committed.is_new
            for member, rows in packed:
                own_id = member.txn_id or batch.commit_id
                key = "" if rows.descriptor is None else rows.descriptor.key
                member.outcome = Inserted(committed.version, own_id, is_done, rows.result, key)

    def _packed(self, batch: _Batch) -> list[tuple[_Append, PackedRows]]:
        """Pack rows that wait in memory; an append whose rows cannot be packed is over."""
        packed = [(member, member.packed) for member in batch.open if member.packed is not None]
        shared: list[list[_Append]] = []
        for member in batch.open:
            if member.packed is None:
                fitting = [some for some in shared if some[0].options == member.options]
                fitting[0].append(member) if fitting else shared.append([member])
        for some in shared:
            packed += self._packed_together(some, batch.commit_id)
        return packed

    def _packed_together(
        self, some: list[_Append], commit_id: str
    ) -> list[tuple[_Append, PackedRows]]:
        rows = _input(*[member.rows for member in some])
        options: Any = some[0].options
        rules = row_rules(self._root, self._keys)
        is_apart = rules is not None and rules.are_quarantined
        if is_apart and len(some) > 1:  # each one hears how many of its own rows came in
            alone = [self._packed_together([member], commit_id) for member in some]
            return [pair for pairs in alone for pair in pairs]
        commit_id = (is_apart and some[0].txn_id) or commit_id
        try:
            packed = pack_rows(
                self._root, self._keys, [rows], rules=rules, commit_id=commit_id, **options
            )
        except _FLAWS as error:
            if len(some) == 1:
                some[0].outcome = error
                return []
            alone = [self._packed_together([member], commit_id) for member in some]
            return [pair for pairs in alone for pair in pairs]
        if packed.descriptor is None:
            own_id = some[0].txn_id or commit_id
            some[0].outcome = Inserted(0, own_id, is_new=False, packed=packed.result)
            return []
        return [(some[0], packed)] if is_apart else [(each, _share(packed, each)) for each in some]


def _fingerprints(appends: list[_Append]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(member.fingerprint for member in appends if member.fingerprint))


def _change(
    appends: list[_Append], packed: list[tuple[_Append, PackedRows]], ids: tuple[str, ...]
) -> TableChange:
    descriptors = [rows.descriptor for _, rows in packed if rows.descriptor is not None]
    authors = dict.fromkeys(member.author for member in appends if member.author)
    messages = dict.fromkeys(member.message for member in appends if member.message)
    return TableChange(
        "insert",
        tuple({descriptor.key: descriptor for descriptor in descriptors}.values()),
        author=", ".join(authors)[:_MOST_MESSAGE_LETTERS],
        message="; ".join(messages)[:_MOST_MESSAGE_LETTERS],
        ids=ids,
    )


def _share(packed: PackedRows, member: _Append) -> PackedRows:
    """Return the result of packing for one append of a shared packfile."""
    result = replace(packed.result, inputs=1, rows=member.count, text_bytes=len(member.rows))
    return replace(packed, result=result)


def _input(*encoded: bytes) -> Input:
    def pieces() -> Generator[bytes]:
        yield from encoded

    size = sum(map(len, encoded))
    return Input(ROWS, "ion", size_bytes=size, reads_texts=True, source=pieces)


def _are_rows(inputs: Inputs) -> TypeGuard[list[Any]]:
    return isinstance(inputs, list | tuple) and all(map(is_row, inputs))


def _encoded(rows: list[Any], options: Mapping[str, Any]) -> Iterator[bytes]:
    keep_nulls = keeps_nulls(options.get("nulls", "null"))
    return encoded_rows(rows) if keep_nulls else encoded_rows(rows, keep_nulls=False)


_GROUPS: dict[Key, _Group] = {}
_LOCK = threading.Lock()


def _group(root: TableRoot, keys: TableKeys) -> _Group:
    """Return the group of a table, the same one to all threads."""
    if not root.store.is_remote:
        root = replace(root, location=os.path.abspath(root.location))  # noqa: PTH100
    key = (type(root.store), root.location, root.keyring, keys)
    with _LOCK:
        if key not in _GROUPS:
            _GROUPS[key] = _Group(root, keys)
        return _GROUPS[key]


def _forget() -> None:
    """Begin anew in a child, whose threads are gone."""
    global _LOCK  # noqa: PLW0603
    _LOCK = threading.Lock()
    _GROUPS.clear()


os.register_at_fork(after_in_child=_forget)
