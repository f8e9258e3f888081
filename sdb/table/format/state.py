"""The state of a table that only `sdb` knows: the field `sdb` of an index's user data.

Every index that `sdb` writes is a version with a number, and is kept under a unique name before
it becomes the newest. The state says which one it is, where those before it are, and what it did.
"""

from __future__ import annotations

from itertools import pairwise

from sdb.errors import CorruptError, UnsupportedError
from sdb.lru import LruCache
from sdb.records import field, record, replace
from sdb.table.format import ionstruct, keys
from sdb.table.format.codec import (
    BLOB,
    COUNT,
    ETAG,
    INSTANT,
    KEY,
    REQUIRED,
    TEXT,
    Codec,
    Stored,
    blob_of,
    dict_of_pairs,
    list_of,
    member,
    read_struct,
    stored,
    struct_of,
    struct_of_all,
    write_struct,
)
from sdb.table.format.history import (
    HistoryRef,
    PastVersion,
    ShortenedHistory,
    VersionPointer,
    any_struct,
    check_ascending,
    listing_of,
    marks_of,
    read_history,
)
from sdb.table.format.limits import USUAL, Limits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Any, Self

MEMBER = "sdb"
FORMAT = 1
TABLE_BYTES = 16


@record
class RowCounts:
    """Numbers of rows that were inserted, updated and deleted."""

    inserted: int
    updated: int
    deleted: int

    def __add__(self, other: RowCounts) -> RowCounts:
        """Return those of two changes."""
        return RowCounts(
            self.inserted + other.inserted,
            self.updated + other.updated,
            self.deleted + other.deleted,
        )

    def as_dict(self) -> dict[str, int]:
        """Return the numbers by name."""
        return {"inserted": self.inserted, "updated": self.updated, "deleted": self.deleted}


@stored("the changes of a version")
class VersionChanges(Stored):
    """Differences of a version from the one before it."""

    packfiles_added: int = member("packfiles-added", COUNT, default=0)
    packfiles_removed: int = member("packfiles-removed", COUNT, default=0)
    # None: a packfile does not say how many rows it has
    rows_added: int | None = member("rows-added", COUNT, default=0, absent=None, sparse=True)
    rows_removed: int | None = member("rows-removed", COUNT, default=0, absent=None, sparse=True)
    bytes_added: int = member("bytes-added", COUNT, default=0)
    bytes_removed: int = member("bytes-removed", COUNT, default=0)
    # What became of rows, whatever their packfiles; None: not known, see :attr:`row_counts`
    rows_inserted: int | None = member("rows-inserted", COUNT, default=None, sparse=True)
    rows_updated: int | None = member("rows-updated", COUNT, default=None, sparse=True)
    rows_deleted: int | None = member("rows-deleted", COUNT, default=None, sparse=True)

    @property
    def row_counts(self) -> RowCounts | None:
        """Numbers of rows that were inserted, updated and deleted; None: not known.

        Versions of an older `sdb` do not tell. There packfiles that only came, or only went, do.
        """
        counts = self.rows_inserted, self.rows_updated, self.rows_deleted
        if None not in counts:
            return RowCounts(*(count or 0 for count in counts))
        came, went = self.rows_added, self.rows_removed
        if came is None or went is None or (self.packfiles_added and self.packfiles_removed):
            return None
        return RowCounts(came, 0, went)

    def as_dict(self) -> dict[str, int | None]:
        """Return all numbers, also those that are not known."""
        counts = self.row_counts
        rows = {} if counts is None else counts.as_dict()
        own = {declared.wire: getattr(self, name) for name, declared in self.layout.members}
        return own | {f"rows-{name}": count for name, count in rows.items()}


def _changes(value: object, _: str) -> VersionChanges:
    return VersionChanges() if value == {} else VersionChanges.from_struct(value)


def _commit_id(value: object, name: str) -> str:
    return _name(TEXT.read(value, name), "commit")


def _transaction_id(value: object, name: str) -> str:
    return _name(TEXT.read(value, name), "transaction")


def _version(value: object, name: str) -> int:
    if type(value) is not int or value < 1:
        raise ionstruct.invalid(name, "the number of a version", value)
    return value


def _name(text: str, what: str) -> str:
    if flaw := keys.flaw_of_name(text):
        raise CorruptError(f"the name of a {what}: {flaw}")
    return text


def _branch(value: object, name: str) -> str:
    if flaw := keys.flaw_of_ref(TEXT.read(value, name)):
        raise CorruptError(f"invalid {name}: {flaw}")
    return str(value)


def _failure(value: object, name: str) -> tuple[str, str]:
    members = any_struct(value, name)
    return ionstruct.text(members, "path"), ionstruct.text(members, "reason")


def _joint(value: object, name: str) -> tuple[str, int]:
    members = any_struct(value, name)
    return keys.check_head(members.get("index")), ionstruct.count(members, "version")


def _table(value: object, name: str) -> str:
    database, dot, table = TEXT.read(value, name).partition(".")
    if flaw := "it has no dot" if not dot else keys.flaw_of_name(database):
        raise CorruptError(f"the name of a table, {value!r}: {flaw}")
    _name(table, "table")
    return str(value)


def _transaction_key(value: object, name: str) -> str:
    key = KEY.read(value, name)
    if not keys.is_transaction(key):
        raise ionstruct.invalid(name, "the key of a transaction", key)
    return str(key)


_BRANCH = Codec("string", _branch)
_POINTER = struct_of(VersionPointer)
_POINTERS = struct_of_all(_BRANCH, _POINTER)
_FAILURES = list_of(
    Codec("struct", _failure, lambda failure: {"path": failure[0], "reason": failure[1]})
)
_JOINT = list_of(Codec("struct", _joint, lambda joint: {"index": joint[0], "version": joint[1]}))


@stored("the state of the table")
class VersionState(Stored):
    """The state of a table at a version."""

    # The identity of the table: an index that is moved over another's is refused
    table: bytes = member("table", blob_of(TABLE_BYTES))
    version: int = member("version", COUNT)  # number of the version, from 1 on
    # Id of the commit, or the client's own: the same id twice is one version
    commit: str = member("id", Codec("string", _commit_id))
    at_us: int = member("at", INSTANT)  # when it was committed: later than the version before it
    # The same as in the index; another value there shows that another program has written it
    created_us: int = member("created", INSTANT)
    operation: str = member("operation", TEXT)  # what made the version
    size_bytes: int = member("bytes", COUNT, default=0, absent=REQUIRED)  # of all packfiles
    # May be empty
    author: str = member("author", TEXT, default="")
    message: str = member("message", TEXT, default="")
    # What is different from the parent
    changes: VersionChanges = member(
        "changes", Codec("struct", _changes, VersionChanges.struct), default_factory=VersionChanges
    )
    # The newest versions before it, the oldest first
    history: tuple[PastVersion, ...] = member(
        "history", list_of(struct_of(PastVersion)), default=()
    )
    # Where the versions before those are listed, the oldest first
    older: tuple[HistoryRef, ...] = member("older", list_of(struct_of(HistoryRef)), default=())
    tags: dict[str, VersionPointer] = member("tags", _POINTERS, default_factory=dict)
    branches: tuple[str, ...] = member("branches", list_of(_BRANCH), default=())  # besides main
    # What is older than this may be collected when nothing leads to it
    boundary_us: int = member("boundary", INSTANT, default=0, absent=REQUIRED)
    # Digest of what else the index says; another one shows that another program has written it
    seal: bytes = member("seal", BLOB, default=b"")
    # For inputs that failed, by path, what is wrong with them: the newest of them
    failures: dict[str, str] = member("failures", dict_of_pairs(_FAILURES), default_factory=dict)
    # Number of rows of all packfiles; None: one does not say
    rows: int | None = member("rows", COUNT, default=0, absent=None, sparse=True)
    # The version before it; None: it is the first, or the table was another's before
    parent: VersionPointer | None = member("parent", _POINTER, default=None, sparse=True)
    # The second parent of a merge
    merged: VersionPointer | None = member("merged", _POINTER, default=None, sparse=True)
    # For each branch the version of it that was merged last
    merges: dict[str, VersionPointer] = member(
        "merges", _POINTERS, default_factory=dict, sparse=True
    )
    branch: str = member("branch", _BRANCH, default="", sparse=True)  # its branch; empty: main
    # ETag of the version as it is kept, where tags or branches were set in the index since, which
    # makes no version
    kept_etag: str = member("kept", ETAG, default="", sparse=True)
    # Ids of transactions that the commit did, besides its own
    ids: tuple[str, ...] = member(
        "ids", list_of(Codec("string", _transaction_id)), default=(), sparse=True
    )
    # When the parent had become the newest version, at the latest; 0: not known
    parent_since_us: int = member("parent-since", INSTANT, default=0, sparse=True)
    # Whether the table was dropped: it has no packfiles until it is brought back
    dropped: bool = member(
        "dropped", Codec("bool", lambda value, _: value is True), default=False, sparse=True
    )
    # For each table below the same root whose packfiles it refers to, the branch of that table
    # which keeps them
    shares: dict[str, str] = member(
        "shares",
        struct_of_all(Codec("string", _table), _BRANCH),
        default_factory=dict,
        sparse=True,
    )
    # The table that a branch keeps packfiles for, as ``db.table``; empty: it is no such branch, or
    # is older than this member
    keeps_for: str = member("keeps-for", Codec("string", _table), default="", sparse=True)
    # The branch whose index it begins: there the version of another branch is in its place
    begins: str = member("begins", _BRANCH, default="", sparse=True)
    # Key of the intent of the transaction over several tables that made the version: an index with
    # one is a version only if the intent is committed, see :mod:`sdb.table.catalog.intents`
    transaction: str = member(
        "transaction", Codec("string", _transaction_key), default="", sparse=True
    )
    # Its own number if all packfiles have names of ours. Another program that passes it on has
    # another number.
    adopted: int = member("adopted", COUNT, default=0, sparse=True)
    # An index of another program whose packfiles the commit has adopted: readers may have been
    # using it until the commit was true
    replaced: VersionPointer | None = member("replaced", _POINTER, default=None, sparse=True)
    # For other indexes, by key, the version of each that a transaction has made together with one
    # of this table, the newest: a reader of both must not read an older one
    together: dict[str, int] = member(
        "together", dict_of_pairs(_JOINT, is_sorted=True), default_factory=dict, sparse=True
    )
    # The last version that left the history because it had rows that were purged: a version before
    # it is not what two branches have in common
    purged: int = member("purged", COUNT, default=0, sparse=True)
    # Versions that were merged, and that no version in `merges` came from; None: none was merged
    # since there is this member
    joined: tuple[VersionPointer, ...] | None = member(
        "joined", list_of(_POINTER), default=None, sparse=True
    )
    # Versions before it, or itself, that merged a part of another one, which was not merged as a
    # whole since
    picked: tuple[int, ...] = member(
        "picked", list_of(Codec("int", _version)), default=(), sparse=True
    )
    # The newest version of main that one of another branch came from; None: not known
    trunk: VersionPointer | None = member("trunk", _POINTER, default=None, sparse=True)
    # Its own number if each row in each packfile that it added is new, or says there which row
    # it was, and so of all versions from `traced_since` on. Who passes it on without knowing it has
    # another number.
    traced: int = member("traced", COUNT, default=0, sparse=True)
    traced_since: int = member("traced-since", COUNT, default=0, sparse=True)
    # The schema of the version, see :mod:`sdb.table.schema.stored`; empty: it has none
    schema: bytes = member("schema", BLOB, default=b"", sparse=True)
    # Members of later versions of `sdb`
    unknown: dict[str, Any] = field(default_factory=dict)

    def traces_rows(self, after: int) -> bool:
        """Return whether rows can be followed from the version `after` up to this one."""
        return self.traced == self.version and self.traced_since <= after + 1

    @property
    def is_own(self) -> bool:
        """True if none of its packfiles is one that the original may delete."""
        return self.adopted == self.version

    def struct(self) -> dict[str, object]:
        """Return the struct that is stored."""
        return {"format": FORMAT} | write_struct(self) | self.unknown

    @classmethod
    def from_struct(cls, value: object) -> Self:
        """Read the struct that is stored.

        Raises `CorruptError` if it is malformed and `UnsupportedError` if it is of a later format.
        """
        members = any_struct(value, "the state of the table")
        if (number := ionstruct.count(members, "format")) != FORMAT:
            raise UnsupportedError(f"a table of format {number}, this build knows {FORMAT}")
        state = read_struct(
            cls, {name: content for name, content in members.items() if name != "format"}
        )
        _check_order(state)
        return state

    def past(self, key: str, etag: str) -> PastVersion:
        """Return what the next version will say of this one.

        * ``key, etag``: The index of this version, as it is kept.
        """
        marks = marks_of(self.ids)
        return PastVersion(self.version, self.at_us, key, etag, self.operation, self.rows, marks)

    def spilled(
        self,
        put: Callable[[bytes], str],
        fetch: Callable[[HistoryRef], bytes],
        limits: Limits = USUAL,
    ) -> Self:
        """Move the older half of a long history to a separate object.

        * ``put``: Writes an object under a unique name, and returns its key.
        * ``fetch``: Returns the content of an object that lists versions.
        """
        most = limits.inline_versions
        if len(self.history) < most:
            return self
        moved, newest = self.history[: most // 2], self.history[most // 2 :]
        older = self.older
        if older and older[-1].versions + len(moved) <= limits.listed_versions:
            moved = (*read_history(fetch(older[-1]), older[-1]), *moved)
            older = older[:-1]
        return replace(self, history=newest, older=(*older, listing_of(moved, put)))

    def without(
        self,
        expired: Collection[int],
        put: Callable[[bytes], str],
        fetch: Callable[[HistoryRef], bytes],
        thinned: Collection[int] = (),
    ) -> Self:
        """Take versions out of the history.

        * ``put, fetch``: See :meth:`spilled`.
        * ``thinned``: Those that others stand for, see :class:`ShortenedHistory`.

        Returns: The state without them. Objects that list some of them are written anew.
        """
        if not expired:
            return self
        shortened = ShortenedHistory(self.history, self.older, put, fetch)
        shortened.drop(expired, thinned)
        return replace(self, history=shortened.history, older=shortened.older())

    def place_of(self, version: int) -> PastVersion | HistoryRef | None:
        """Find a version before this one: itself, or the list that it is in; None: it expired."""
        for past in self.history:
            if past.version == version:
                return past
        fitting = (ref for ref in self.older if ref.first <= version <= ref.last)
        return next(fitting, None)


_KNOWN: LruCache[int, tuple[object, VersionState]] = LruCache(most_entries=8)
"""States that were read or made last, with their structs, by the identity of these."""


def state_of(user_data: dict[str, Any]) -> VersionState | None:
    """Return the state that the user data of an index has."""
    if MEMBER not in user_data:
        return None
    struct = user_data[MEMBER]
    known = _KNOWN.get(id(struct))
    if known is not None and known[0] is struct:
        return known[1]
    state = VersionState.from_struct(struct)
    _KNOWN.put(id(struct), (struct, state))
    return state


def with_state(user_data: dict[str, Any], state: VersionState) -> dict[str, Any]:
    """Return user data with another state; what else is in it is kept."""
    struct = state.struct()
    _KNOWN.put(id(struct), (struct, state))
    return user_data | {MEMBER: struct}


def _check_order(state: VersionState) -> None:
    """Require a history that leads up to the version."""
    if state.version < 1:
        raise CorruptError("invalid version number: expected 1 or more")
    check_ascending(state.history)
    numbers = [bound for ref in state.older for bound in (ref.first, ref.last)]
    numbers += [past.version for past in state.history[:1]]
    if any(a > b for a, b in pairwise(numbers)):
        raise CorruptError("the lists of old versions are out of order")
    if state.history and state.history[-1].version >= state.version:
        raise CorruptError("the history has a version that is not before this one")
    if state.parent is not None and state.parent.version >= state.version:
        raise CorruptError("the parent of a version is not before it")
