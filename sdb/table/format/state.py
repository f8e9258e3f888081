"""The state of a table that only `sdb` knows: the field `sdb` of an index's user data.

Every index that `sdb` writes is a version with a number, and is kept under a name of its own before
it becomes the newest. The state says which one it is, where those before it are, and what it did.
"""

from __future__ import annotations

from collections import deque
from itertools import pairwise

from sdb import ion
from sdb.errors import CorruptError, UnsupportedError
from sdb.records import field, record, replace
from sdb.table.format import etags, ionstruct, keys
from sdb.table.format.history import (
    HistoryRef,
    PastVersion,
    VersionPointer,
    all_listed,
    any_struct,
    check_ascending,
    listing_of,
    marks_of,
    read_history,
    required_instant,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Any, Self

MEMBER = "sdb"
FORMAT = 1
TABLE_BYTES = 16
MAX_LISTED = 4096
"""So many versions are in one object at most."""

MAX_INLINE = 128
"""With so many versions in the index, the older half moves to an object of its own."""


@record
class VersionChanges:
    """Differences of a version from the one before it.

    Attributes
    ----------
    packfiles_added, packfiles_removed : int
        Numbers of packfiles.
    rows_added, rows_removed : int or None
        Numbers of rows; None: a packfile does not tell.
    bytes_added, bytes_removed : int
        Sizes of these packfiles.
    """

    packfiles_added: int = 0
    packfiles_removed: int = 0
    rows_added: int | None = 0
    rows_removed: int | None = 0
    bytes_added: int = 0
    bytes_removed: int = 0

    def struct(self) -> dict[str, object]:
        """Give the struct that is stored."""
        return {name: one for name, one in self.as_dict().items() if one is not None}

    def as_dict(self) -> dict[str, int | None]:
        """Return all numbers, also those that are not known."""
        return {
            "packfiles-added": self.packfiles_added,
            "packfiles-removed": self.packfiles_removed,
            "rows-added": self.rows_added,
            "rows-removed": self.rows_removed,
            "bytes-added": self.bytes_added,
            "bytes-removed": self.bytes_removed,
        }

    @classmethod
    def from_struct(cls, value: object) -> Self:
        """Read the struct that is stored."""
        found = any_struct(value, "the changes of a version")
        if not found:
            return cls()
        return cls(
            ionstruct.count(found, "packfiles-added", 0),
            ionstruct.count(found, "packfiles-removed", 0),
            ionstruct.count_if_told(found, "rows-added"),
            ionstruct.count_if_told(found, "rows-removed"),
            ionstruct.count(found, "bytes-added", 0),
            ionstruct.count(found, "bytes-removed", 0),
        )


@record
class VersionState:
    """The state of a table at a version.

    Attributes
    ----------
    table : bytes
        What tells the table from all others: an index that is moved over another's is refused.
    version : int
        Number of the version, from 1 on.
    commit : str
        Id of the commit, or the client's own: the same id twice is one version.
    at_us : int
        When it was committed: later than the version before it.
    created_us : int
        The same as in the index; another value there tells that someone else has written it.
    operation : str
        What made the version.
    rows : int or None
        Rows of all packfiles; None: one does not tell.
    size_bytes : int
        Bytes of all packfiles.
    author, message : str
        Who made it, and why; may be empty.
    parent : VersionPointer or None
        The version before it; None: it is the first, or the table was another's before.
    changes : VersionChanges
        What is different from the parent.
    history : tuple of PastVersion
        The newest versions before it, the oldest first.
    older : tuple of HistoryRef
        Where the versions before those are listed, the oldest first.
    tags : dict
        Versions that have names.
    branches : tuple of str
        Names of the branches besides main.
    boundary_us : int
        What is older than this may be collected when nothing leads to it.
    dropped : bool
        Whether the table is none any more until it is brought back: it has no packfiles then.
    unknown : dict
        Members of later versions of `sdb`, which are kept.
    seal : bytes
        Digest of what else the index says; another one tells that someone else has written it.
    failures : dict
        For inputs that failed, by path, what is wrong with them: the newest of them.
    branch : str
        The branch that the version is of; empty: main.
    kept : str
        ETag of the version as it is kept, where tags or branches were set in the index since, which
        makes no version.
    merged : VersionPointer or None
        The second parent of a merge.
    merges : dict
        For each branch the version of it that was merged last.
    joined : tuple of VersionPointer or None
        Versions that were merged, and that no version in `merges` came from; None: none was merged
        since this is told.
    picked : tuple of int
        Versions before it, or itself, that merged a part of another one, which was not merged as a
        whole since.
    trunk : VersionPointer or None
        The newest version of main that one of another branch came from; None: it is not told.
    ids : tuple of str
        Ids of transactions that the commit did, besides its own.
    parent_since_us : int
        When the parent had become the newest version, at the latest; 0: not known.
    shares : dict
        For each table below the same root whose packfiles it refers to, the branch of that table
        which keeps them.
    transaction : str
        Key of the intent of the transaction over several tables that made the version: an index
        with one is a version only if the intent is committed, see :mod:`sdb.table.catalog.intents`.
    keeps_for : str
        The table that a branch keeps packfiles for, as ``db.table``; empty: it is no such branch,
        or was begun before that was told.
    together : dict
        For other indexes, by key, the version of each that a transaction has made together with one
        of this table, the newest: whoever reads both must not read an older one.
    adopted : int
        Its own number if all packfiles have names of ours. Another program that passes it on has
        another number.
    replaced : VersionPointer or None
        An index of another program whose packfiles the commit has adopted: somebody may have been
        reading it until the commit was true.
    purged : int
        The last version that left the history because it had rows that were purged: a version
        before it is not what two branches have in common.
    """

    table: bytes
    version: int
    commit: str
    at_us: int
    created_us: int
    operation: str
    rows: int | None = 0
    size_bytes: int = 0
    author: str = ""
    message: str = ""
    parent: VersionPointer | None = None
    changes: VersionChanges = field(default_factory=VersionChanges)
    history: tuple[PastVersion, ...] = ()
    older: tuple[HistoryRef, ...] = ()
    tags: dict[str, VersionPointer] = field(default_factory=dict)
    branches: tuple[str, ...] = ()
    boundary_us: int = 0
    unknown: dict[str, Any] = field(default_factory=dict)
    seal: bytes = b""
    failures: dict[str, str] = field(default_factory=dict)
    branch: str = ""
    kept: str = ""
    merged: VersionPointer | None = None
    merges: dict[str, VersionPointer] = field(default_factory=dict)
    ids: tuple[str, ...] = ()
    parent_since_us: int = 0
    dropped: bool = False
    shares: dict[str, str] = field(default_factory=dict)
    transaction: str = ""
    together: dict[str, int] = field(default_factory=dict)
    keeps_for: str = ""
    adopted: int = 0
    replaced: VersionPointer | None = None
    purged: int = 0
    joined: tuple[VersionPointer, ...] | None = None
    picked: tuple[int, ...] = ()
    trunk: VersionPointer | None = None

    @property
    def is_own(self) -> bool:
        """True if none of its packfiles is one that the original may delete."""
        return self.adopted == self.version

    def struct(self) -> dict[str, object]:
        """Give the struct that is stored."""
        value: dict[str, object] = {
            "format": FORMAT,
            "table": self.table,
            "version": self.version,
            "id": self.commit,
            "at": ion.instant_from_us(self.at_us),
            "created": ion.instant_from_us(self.created_us),
            "operation": self.operation,
            "bytes": self.size_bytes,
            "author": self.author,
            "message": self.message,
            "changes": self.changes.struct(),
            "history": [one.struct() for one in self.history],
            "older": [one.struct() for one in self.older],
            "tags": {name: tag.struct() for name, tag in self.tags.items()},
            "branches": list(self.branches),
            "boundary": ion.instant_from_us(self.boundary_us),
            "seal": self.seal,
            "failures": [{"path": path, "reason": why} for path, why in self.failures.items()],
        }
        value |= {} if self.rows is None else {"rows": self.rows}
        if self.parent is not None:
            value["parent"] = self.parent.struct()
        if self.merged is not None:
            value["merged"] = self.merged.struct()
        if self.merges:
            value["merges"] = {name: one.struct() for name, one in self.merges.items()}
        value |= {"branch": self.branch} if self.branch else {}
        value |= {"kept": self.kept} if self.kept else {}
        value |= {"ids": list(self.ids)} if self.ids else {}
        if self.parent_since_us:
            value["parent-since"] = ion.instant_from_us(self.parent_since_us)
        value |= {"dropped": True} if self.dropped else {}
        value |= {"shares": dict(self.shares)} if self.shares else {}
        value |= {"keeps-for": self.keeps_for} if self.keeps_for else {}
        value |= {"transaction": self.transaction} if self.transaction else {}
        value |= {"adopted": self.adopted} if self.adopted else {}
        value |= {} if self.replaced is None else {"replaced": self.replaced.struct()}
        if self.together:
            listed = sorted(self.together.items())
            value["together"] = [{"index": key, "version": one} for key, one in listed]
        value |= {"purged": self.purged} if self.purged else {}
        if self.joined is not None:
            value["joined"] = [one.struct() for one in self.joined]
        value |= {"picked": list(self.picked)} if self.picked else {}
        value |= {"trunk": self.trunk.struct()} if self.trunk is not None else {}
        return value | self.unknown

    @classmethod
    def from_struct(cls, value: object) -> Self:
        """Read the struct that is stored.

        Parameters
        ----------
        value : object
            What was read.

        Returns
        -------
        VersionState
            The state.

        Raises
        ------
        CorruptError
            It is malformed.
        UnsupportedError
            It is of a later format.
        """
        found = any_struct(value, "the state of the table")
        if (number := ionstruct.count(found, "format")) != FORMAT:
            raise UnsupportedError(f"a table of format {number}, this build knows {FORMAT}")
        state = cls(
            ionstruct.blob(found, "table", TABLE_BYTES),
            ionstruct.count(found, "version"),
            _name(ionstruct.text(found, "id"), "commit"),
            required_instant(found, "at"),
            required_instant(found, "created"),
            ionstruct.text(found, "operation"),
            ionstruct.count_if_told(found, "rows"),
            ionstruct.count(found, "bytes"),
            ionstruct.text(found, "author", ""),
            ionstruct.text(found, "message", ""),
            VersionPointer.from_struct(found["parent"]) if "parent" in found else None,
            VersionChanges.from_struct(found.get("changes", {})),
            all_listed(found, "history", PastVersion.from_struct),
            all_listed(found, "older", HistoryRef.from_struct),
            _tags(found.get("tags", {})),
            all_listed(found, "branches", _branch),
            required_instant(found, "boundary"),
            {name: member for name, member in found.items() if name not in _MEMBERS},
            ionstruct.blob(found, "seal") if "seal" in found else b"",
            dict(all_listed(found, "failures", _failure)),
            _branch(found["branch"]) if "branch" in found else "",
            etags.check(found.get("kept", "")),
            VersionPointer.from_struct(found["merged"]) if "merged" in found else None,
            _tags(found.get("merges", {})),
            all_listed(found, "ids", _id),
            ionstruct.instant(found, "parent-since") or 0,
            found.get("dropped") is True,
            _shares(found.get("shares", {})),
            _transaction(found["transaction"]) if "transaction" in found else "",
            dict(all_listed(found, "together", _joint)),
            _table(found["keeps-for"]) if "keeps-for" in found else "",
            ionstruct.count(found, "adopted", 0),
            VersionPointer.from_struct(found["replaced"]) if "replaced" in found else None,
            ionstruct.count(found, "purged", 0),
            all_listed(found, "joined", VersionPointer.from_struct) if "joined" in found else None,
            all_listed(found, "picked", _picked),
            VersionPointer.from_struct(found["trunk"]) if "trunk" in found else None,
        )
        _check_order(state)
        return state

    def past(self, key: str, etag: str) -> PastVersion:
        """Give what the next version will say of this one.

        Parameters
        ----------
        key, etag : str
            The index of this version, as it is kept.

        Returns
        -------
        PastVersion
            The entry of its history.
        """
        marks = marks_of(self.ids)
        return PastVersion(self.version, self.at_us, key, etag, self.operation, self.rows, marks)

    def spilled(self, put: Callable[[bytes], str], fetch: Callable[[HistoryRef], bytes]) -> Self:
        """Move the older half of a long history to an object of its own.

        Parameters
        ----------
        put : callable
            Writes an object under a name of its own, and gives its key.
        fetch : callable
            Gives the content of an object that lists versions.

        Returns
        -------
        VersionState
            The same state when the history is short.
        """
        if len(self.history) < MAX_INLINE:
            return self
        moved, kept = self.history[: MAX_INLINE // 2], self.history[MAX_INLINE // 2 :]
        older = self.older
        if older and older[-1].versions + len(moved) <= MAX_LISTED:
            moved = (*read_history(fetch(older[-1]), older[-1]), *moved)
            older = older[:-1]
        return replace(self, history=kept, older=(*older, listing_of(moved, put)))

    def without(
        self,
        expired: Collection[int],
        put: Callable[[bytes], str],
        fetch: Callable[[HistoryRef], bytes],
    ) -> Self:
        """Take versions out of the history.

        Parameters
        ----------
        expired : collection of int
            Their numbers.
        put, fetch : callable
            See :meth:`spilled`.

        Returns
        -------
        VersionState
            The state without them. Objects that list some of them are written anew.
        """
        if not expired:
            return self
        older = []
        for ref in self.older:
            if not any(ref.first <= number <= ref.last for number in expired):
                older.append(ref)
                continue
            listed = read_history(fetch(ref), ref)
            kept = tuple([one for one in listed if one.version not in expired])
            if kept:
                older.append(ref if kept == listed else listing_of(kept, put))
        history = tuple([one for one in self.history if one.version not in expired])
        return replace(self, history=history, older=tuple(older))

    def place_of(self, version: int) -> PastVersion | HistoryRef | None:
        """Find a version before this one: itself, or the list that it is in; None: it expired."""
        for one in self.history:
            if one.version == version:
                return one
        fitting = (ref for ref in self.older if ref.first <= version <= ref.last)
        return next(fitting, None)


_KNOWN: deque[tuple[object, VersionState]] = deque(maxlen=8)
"""States that were read or made last, with what is stored of them."""

_MEMBERS = frozenset(
    {
        *("format", "table", "version", "id", "at", "created", "operation", "rows", "bytes"),
        *("author", "message", "parent", "changes", "history", "older", "tags", "branches"),
        *("boundary", "seal", "failures", "branch", "kept", "merged", "merges", "ids"),
        "parent-since",
        *("dropped", "shares", "transaction", "together", "keeps-for", "adopted", "replaced"),
        *("purged", "joined", "picked", "trunk"),
    }
)


def state_of(user_data: dict[str, Any]) -> VersionState | None:
    """Give the state that the user data of an index has.

    Parameters
    ----------
    user_data : dict
        The user data.

    Returns
    -------
    VersionState or None
        None: no `sdb` has written to the table.
    """
    if MEMBER not in user_data:
        return None
    struct = user_data[MEMBER]
    for known, state in list(_KNOWN):
        if known is struct:
            return state
    found = VersionState.from_struct(struct)
    _KNOWN.append((struct, found))
    return found


def with_state(user_data: dict[str, Any], state: VersionState) -> dict[str, Any]:
    """Give user data with another state; what else is in it is kept."""
    struct = state.struct()
    _KNOWN.append((struct, state))
    return user_data | {MEMBER: struct}


def _id(value: object) -> str:
    if type(value) is not str:
        raise CorruptError("the id of a transaction is not a string")
    return _name(value, "transaction")


def _picked(value: object) -> int:
    if type(value) is not int or value < 1:
        raise CorruptError("the number of a version that merged a part is none")
    return value


def _name(text: str, what: str) -> str:
    if flaw := keys.flaw_of_name(text):
        raise CorruptError(f"the name of a {what}: {flaw}")
    return text


def _failure(value: object) -> tuple[str, str]:
    found = any_struct(value, "a failure")
    return ionstruct.text(found, "path"), ionstruct.text(found, "reason")


def _joint(value: object) -> tuple[str, int]:
    found = any_struct(value, "what was changed together")
    return keys.check_head(found.get("index")), ionstruct.count(found, "version")


def _branch(value: object) -> str:
    if type(value) is not str or (flaw := keys.flaw_of_ref(value)):
        raise CorruptError("the name of a branch is none" if type(value) is not str else flaw)
    return value


def _tags(value: object) -> dict[str, VersionPointer]:
    found = any_struct(value, "the tags")
    return {_branch(name): VersionPointer.from_struct(tag) for name, tag in found.items()}


def _shares(value: object) -> dict[str, str]:
    found = any_struct(value, "the tables that share packfiles")
    return {_table(table): _branch(branch) for table, branch in found.items()}


def _table(value: object) -> str:
    if type(value) is not str:
        raise CorruptError("the name of a table is not a string")
    database, dot, table = value.partition(".")
    if flaw := "it has no dot" if not dot else keys.flaw_of_name(database):
        raise CorruptError(f"the name of a table, {value!r}: {flaw}")
    _name(table, "table")
    return value


def _transaction(value: object) -> str:
    key = keys.check_key(value)
    if not keys.is_transaction(key):
        raise CorruptError(f"{key!r} is no key of a transaction")
    return key


def _check_order(state: VersionState) -> None:
    """Insist on a history that leads up to the version."""
    if state.version < 1:
        raise CorruptError("a version below 1")
    check_ascending(state.history)
    numbers = [bound for ref in state.older for bound in (ref.first, ref.last)]
    numbers += [one.version for one in state.history[:1]]
    if any(a > b for a, b in pairwise(numbers)):
        raise CorruptError("the lists of old versions are out of order")
    if state.history and state.history[-1].version >= state.version:
        raise CorruptError("the history has a version that is not over")
    if state.parent is not None and state.parent.version >= state.version:
        raise CorruptError("the parent of a version is not before it")
