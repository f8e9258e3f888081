"""Histories: where the versions of a table are, newest in the index, older in objects of their own.

Versions and the objects that list them are known by the digest of their content, which is the same
wherever a table is copied to.
"""

from __future__ import annotations

from itertools import pairwise

from sdb import ion
from sdb.errors import CorruptError
from sdb.records import record
from sdb.table.format import compression, etags, ionstruct, keys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Self

_MARK_BYTES = 10


@record
class PastVersion:
    """A version before the one that tells of it.

    Attributes
    ----------
    version : int
        Its number.
    at_us : int
        When it was committed.
    key, etag : str
        Its index, by the digest of the content.
    operation : str
        What made it.
    rows : int or None
        Number of rows that it has; None: not known.
    marks : bytes
        What tells ids of transactions that its commit did besides its own, see :func:`marks_of`.
    """

    version: int
    at_us: int
    key: str
    etag: str
    operation: str
    rows: int | None
    marks: bytes = b""

    def struct(self) -> dict[str, object]:
        """Give the struct that is stored."""
        value: dict[str, object] = {
            "version": self.version,
            "at": ion.instant_from_us(self.at_us),
            "path": self.key,
            "etag": self.etag,
            "operation": self.operation,
        }
        value |= {} if self.rows is None else {"rows": self.rows}
        return value | {"marks": self.marks} if self.marks else value

    @classmethod
    def from_struct(cls, value: object) -> Self:
        """Read the struct that is stored."""
        found = any_struct(value, "a version")
        return cls(
            ionstruct.count(found, "version"),
            required_instant(found, "at"),
            keys.check_key(ionstruct.text(found, "path")),
            etags.check(ionstruct.text(found, "etag")),
            ionstruct.text(found, "operation"),
            ionstruct.count_if_told(found, "rows"),
            ionstruct.blob(found, "marks") if "marks" in found else b"",
        )

    def did(self, transaction: str) -> bool:
        """Tell whether its commit did a transaction besides its own."""
        if not self.marks:
            return False
        mark, size = marks_of((transaction,)), _MARK_BYTES
        return any(self.marks[at : at + size] == mark for at in range(0, len(self.marks), size))


@record
class HistoryRef:
    """A reference to an object that lists old versions.

    Attributes
    ----------
    key, etag : str
        The object.
    first, last : int
        Numbers of the first and the last version in it.
    first_us, last_us : int
        When these were committed.
    versions : int
        How many there are in it.
    """

    key: str
    etag: str
    first: int
    last: int
    first_us: int
    last_us: int
    versions: int

    def struct(self) -> dict[str, object]:
        """Give the struct that is stored."""
        return {
            "path": self.key,
            "etag": self.etag,
            "first": self.first,
            "last": self.last,
            "first-at": ion.instant_from_us(self.first_us),
            "last-at": ion.instant_from_us(self.last_us),
            "versions": self.versions,
        }

    @classmethod
    def from_struct(cls, value: object) -> Self:
        """Read the struct that is stored."""
        found = any_struct(value, "a list of versions")
        return cls(
            keys.check_key(ionstruct.text(found, "path")),
            etags.check(ionstruct.text(found, "etag")),
            ionstruct.count(found, "first"),
            ionstruct.count(found, "last"),
            required_instant(found, "first-at"),
            required_instant(found, "last-at"),
            ionstruct.count(found, "versions"),
        )


@record
class VersionPointer:
    """Where a version is.

    Attributes
    ----------
    version : int
        Its number.
    key, etag : str
        Its index.
    """

    version: int
    key: str
    etag: str

    def struct(self) -> dict[str, object]:
        """Give the struct that is stored."""
        return {"version": self.version, "path": self.key, "etag": self.etag}

    @classmethod
    def from_struct(cls, value: object) -> Self:
        """Read the struct that is stored."""
        found = any_struct(value, "a version that is pointed to")
        return cls(
            ionstruct.count(found, "version"),
            keys.check_key(ionstruct.text(found, "path")),
            etags.check(ionstruct.text(found, "etag")),
        )


def marks_of(transactions: tuple[str, ...]) -> bytes:
    """Give what tells ids of transactions from all others: 10 bytes for each, one after the other.

    The ids themselves are in the index of their version.
    """
    from hashlib import blake2b

    digests = (blake2b(one.encode(), digest_size=_MARK_BYTES).digest() for one in transactions)
    return b"".join(digests)


def write_history(versions: tuple[PastVersion, ...]) -> bytes:
    """Give the object that lists old versions."""
    return compression.dumps({"versions": [one.struct() for one in versions]}, ())


def listing_of(versions: tuple[PastVersion, ...], put: Callable[[bytes], str]) -> HistoryRef:
    """Write the object that lists old versions, and give the reference to it.

    Parameters
    ----------
    versions : tuple of PastVersion
        At least one, in ascending order.
    put : callable
        Writes an object under a name of its own, and gives its key.

    Returns
    -------
    HistoryRef
        The reference.
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

    Parameters
    ----------
    data : bytes
        The object.
    ref : HistoryRef
        The reference to it.

    Returns
    -------
    tuple of PastVersion
        The versions, the oldest first.

    Raises
    ------
    CorruptError
        It is damaged, or not the list that the reference tells of.
    """
    try:
        if etags.of_content([data]) != ref.etag:
            raise CorruptError("its content is not what was written")  # noqa: TRY301
        found = any_struct(compression.loads(data), "a list of versions")
        versions = all_listed(found, "versions", PastVersion.from_struct)
        check_ascending(versions)
        if (versions[0].version, versions[-1].version) != (ref.first, ref.last):
            raise CorruptError("it lists other versions")  # noqa: TRY301
    except (CorruptError, IndexError) as error:
        reason = error.message if isinstance(error, CorruptError) else "an empty list"
        raise CorruptError(f"reading {ref.key}: {reason}", path=ref.key) from None
    return versions


_LISTS: dict[str, tuple[PastVersion, ...]] = {}
_MOST_LISTS = 4


def listed_versions(ref: HistoryRef, fetch: Callable[[], bytes]) -> tuple[PastVersion, ...]:
    """Read the object that lists old versions, unless it is one of those that were read last.

    Parameters
    ----------
    ref : HistoryRef
        The reference to it.
    fetch : callable
        Gives its content.

    Returns
    -------
    tuple of PastVersion
        The versions, the oldest first.

    Raises
    ------
    CorruptError
        See :func:`read_history`.
    """
    found = _LISTS.get(ref.etag)
    if found is None or (found[0].version, found[-1].version) != (ref.first, ref.last):
        found = _LISTS[ref.etag] = read_history(fetch(), ref)
        while len(_LISTS) > _MOST_LISTS:
            _LISTS.pop(next(iter(_LISTS)), None)
    return found


def any_struct(value: object, what: str) -> dict[str, Any]:
    """Insist on a struct; fields of later versions of `sdb` are skipped."""
    if not isinstance(value, dict):
        raise CorruptError(f"{what} is not a struct")
    return value


def required_instant(found: dict[str, Any], name: str) -> int:
    """Give the microseconds of a member that is a timestamp, and that has to be there."""
    us = ionstruct.instant(found, name)
    if us is None:
        raise CorruptError(f"{name} is missing")
    return us


def all_listed(found: dict[str, Any], name: str, read: Callable[[object], Any]) -> tuple[Any, ...]:
    """Read the elements of a member that is a list; none where it is missing."""
    return tuple(map(read, ionstruct.listed(found.get(name, []), name)))


def check_ascending(versions: tuple[PastVersion, ...]) -> None:
    """Insist on versions in ascending order, by number and by time."""
    for before, after in pairwise(versions):
        if before.version >= after.version or before.at_us >= after.at_us:
            raise CorruptError("the versions of a history are not in ascending order")
