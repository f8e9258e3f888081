"""Histories: where the versions of a table are, newest in the index, older in separate objects.

Versions and the objects that list them are known by the digest of their content, which is the same
wherever a table is copied to.
"""

from __future__ import annotations

from itertools import pairwise

from sdb.errors import CorruptError
from sdb.lru import LruCache
from sdb.records import replace
from sdb.table.format import codec, etags, ionstruct
from sdb.table.format.codec import BLOB, COUNT, ETAG, INSTANT, KEY, TEXT, Stored, member, stored
from sdb.table.format.keys import commit_of, is_uid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from typing import Any

MARK_BYTES = 10
"""Size of the fingerprint of a transaction."""


@stored("a version")
class PastVersion(Stored):
    """A version before the one whose state lists it."""

    version: int = member("version", COUNT)  # its number
    at_us: int = member("at", INSTANT)  # when it was committed
    # Its index, by the digest of the content
    key: str = member("path", KEY)
    etag: str = member("etag", ETAG)
    operation: str = member("operation", TEXT)  # what made it
    rows: int | None = member("rows", COUNT, absent=None, sparse=True)  # None: not known
    # Fingerprints of the ids of transactions that its commit did besides its own, see `marks_of`,
    # and of those of versions that were thinned out before it
    marks: bytes = member("marks", BLOB, default=b"", sparse=True)
    # When the oldest version was committed that was thinned out and that it stands for; 0: none
    since_us: int = member("since", INSTANT, default=0, sparse=True)

    def did(self, transaction: str) -> bool:
        """Return whether its commit did a transaction besides its own."""
        if not self.marks:
            return False
        mark, size = marks_of((transaction,)), MARK_BYTES
        return any(self.marks[at : at + size] == mark for at in range(0, len(self.marks), size))

    @property
    def own_marks(self) -> bytes:
        """Fingerprints of all ids that somebody may use again: a random one is not used again."""
        commit = commit_of(self.key)
        return self.marks if is_uid(commit) else self.marks + marks_of((commit,))

    def standing_for(self, before: PastVersion) -> PastVersion:
        """Return what the history says of it once a version before it is thinned out."""
        since_us = min(self.since_us or self.at_us, before.since_us or before.at_us)
        return replace(self, marks=self.marks + before.own_marks, since_us=since_us)


@stored("a list of versions")
class HistoryRef(Stored):
    """A reference to an object that lists old versions."""

    # The object
    key: str = member("path", KEY)
    etag: str = member("etag", ETAG)
    # Numbers of the first and the last version in it
    first: int = member("first", COUNT)
    last: int = member("last", COUNT)
    # When these were committed
    first_us: int = member("first-at", INSTANT)
    last_us: int = member("last-at", INSTANT)
    versions: int = member("versions", COUNT)  # how many there are in it


@stored("a version that is pointed to")
class VersionPointer(Stored):
    """Where a version is."""

    version: int = member("version", COUNT)  # its number
    # Its index
    key: str = member("path", KEY)
    etag: str = member("etag", ETAG)


def marks_of(transactions: tuple[str, ...]) -> bytes:
    """Return fingerprints of ids of transactions: 10 bytes each, one after the other.

    The ids themselves are in the index of their version.
    """
    from hashlib import blake2b

    digests = (
        blake2b(transaction.encode(), digest_size=MARK_BYTES).digest()
        for transaction in transactions
    )
    return b"".join(digests)


def write_history(versions: tuple[PastVersion, ...]) -> bytes:
    """Return the object that lists old versions."""
    return codec.dumps({"versions": [version.struct() for version in versions]}, ())


def listing_of(versions: tuple[PastVersion, ...], put: Callable[[bytes], str]) -> HistoryRef:
    """Write the object that lists old versions, and give the reference to it.

    * ``put``: Writes an object under a unique name, and returns its key.
    """
    data = write_history(versions)
    first, last = versions[0], versions[-1]
    return HistoryRef(
        put(data),
        etags.of_content([data]),
        first.version,
        last.version,
        first.at_us,
        last.at_us,
        len(versions),
    )


def read_history(data: bytes, ref: HistoryRef) -> tuple[PastVersion, ...]:
    """Read the object that lists old versions.

    Raises `CorruptError` if it is damaged, or not the list of the reference.
    """
    try:
        if etags.of_content([data]) != ref.etag:
            raise CorruptError("its content has changed since it was written")  # noqa: TRY301
        members = any_struct(codec.loads(data), "a list of versions")
        listed = ionstruct.listed(members.get("versions", []), "versions")
        versions = tuple(map(PastVersion.from_struct, listed))
        check_ascending(versions)
        if (versions[0].version, versions[-1].version) != (ref.first, ref.last):
            raise CorruptError(f"expected versions {ref.first:,} to {ref.last:,}, got others")  # noqa: TRY301
    except (CorruptError, IndexError) as error:
        reason = error.message if isinstance(error, CorruptError) else "an empty list"
        raise CorruptError(f"reading {ref.key}: {reason}", path=ref.key) from None
    return versions


class ShortenedHistory:
    """The versions of a history without some of them.

    * ``history``: The newest versions, the oldest first.
    * ``older``: Where those before them are listed.
    * ``put, fetch``: See :meth:`sdb.table.format.state.VersionState.spilled`. Only lists that
      change are read and written.
    """

    def __init__(
        self,
        history: Iterable[PastVersion],
        older: Iterable[HistoryRef],
        put: Callable[[bytes], str],
        fetch: Callable[[HistoryRef], bytes],
    ) -> None:
        self._pieces: list[_Piece] = [_Piece(ref) for ref in older]
        self._pieces.append(_Piece(None, list(history)))
        self._put, self._fetch = put, fetch

    def drop(self, expired: Collection[int], thinned: Collection[int]) -> None:
        """Take versions out.

        * ``expired``: Their numbers.
        * ``thinned``: Those among them which the next version that stays stands for, so that their
          transactions are known.
        """
        heir: _Piece | None = None  # the piece whose oldest version is the next one that stays
        for piece in reversed(self._pieces):
            if not piece.may_have(expired):
                heir = piece
                continue
            listed = self._listed(piece)
            stays = piece.versions = []
            for past in reversed(listed):
                stands = past.version in thinned and heir is not None
                if past.version not in expired or (past.version in thinned and not stands):
                    stays.insert(0, past)
                    heir = piece
                    continue
                piece.is_changed = True
                if heir is not None and stands:
                    before = self._listed(heir)
                    before[0] = before[0].standing_for(past)
                    heir.is_changed = True

    def _listed(self, piece: _Piece) -> list[PastVersion]:
        if piece.versions is None:
            ref = piece.ref
            piece.versions = [] if ref is None else list(read_history(self._fetch(ref), ref))
        return piece.versions

    @property
    def history(self) -> tuple[PastVersion, ...]:
        """The newest versions that are left."""
        return tuple(self._pieces[-1].versions or ())

    def older(self) -> tuple[HistoryRef, ...]:
        """Write the lists that have changed, and return where those before the newest are."""
        refs = []
        for piece in self._pieces[:-1]:
            if piece.ref is not None and not piece.is_changed:
                refs.append(piece.ref)
            elif piece.versions:
                refs.append(listing_of(tuple(piece.versions), self._put))
        return tuple(refs)


class _Piece:
    """A part of a history: a separate list, or the newest versions."""

    def __init__(self, ref: HistoryRef | None, versions: list[PastVersion] | None = None) -> None:
        self.ref, self.versions, self.is_changed = ref, versions, False

    def may_have(self, numbers: Iterable[int]) -> bool:
        """Return whether it may have one of some versions, or is not a separate list."""
        ref = self.ref
        return ref is None or any(ref.first <= number <= ref.last for number in numbers)


_LISTS: LruCache[str, tuple[PastVersion, ...]] = LruCache(most_entries=4)


def listed_versions(ref: HistoryRef, fetch: Callable[[], bytes]) -> tuple[PastVersion, ...]:
    """Read the object that lists old versions, unless it is one of those that were read last.

    Raises `CorruptError` as :func:`read_history` does.
    """
    listed = _LISTS.get(ref.etag)
    if listed is None or (listed[0].version, listed[-1].version) != (ref.first, ref.last):
        listed = read_history(fetch(), ref)
        _LISTS.put(ref.etag, listed)
    return listed


def any_struct(value: object, what: str) -> dict[str, Any]:
    """Require a struct; fields of later versions of `sdb` are skipped."""
    if not isinstance(value, dict):
        raise ionstruct.invalid(what, "a struct", value)
    return value


def required_instant(members: dict[str, Any], name: str) -> int:
    """Return the microseconds of a member that is a timestamp, and that has to be there."""
    us = ionstruct.instant(members, name)
    if us is None:
        raise CorruptError(f"{name} is missing")
    return us


def check_ascending(versions: tuple[PastVersion, ...]) -> None:
    """Require versions in ascending order, by number and by time."""
    for before, after in pairwise(versions):
        if before.version >= after.version or before.at_us >= after.at_us:
            raise CorruptError("the versions of a history are not in ascending order")
