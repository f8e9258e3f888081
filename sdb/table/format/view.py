"""The object of a name that is that of a view, or may become one: ``views/<database>/<name>``.

It has the versions of the view, and decides whom the name belongs to: a view counts once it is in
this object, and a table is made only while the object has a claim for it
(:mod:`sdb.table.commit.naming`).
"""

from __future__ import annotations

from itertools import pairwise

from sdb import ion
from sdb.errors import CorruptError, UnsupportedError
from sdb.records import record
from sdb.table.format import ionstruct
from sdb.table.format.codec import COUNT, INSTANT, TEXT, Stored, list_of, member, stored, struct_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import Self

    from sdb.table.format.signature import Keyring

FORMAT = 1
MAX_BYTES = 4 << 20
"""The object has fewer bytes: the oldest versions make room for new ones."""
MOST_TEXT_BYTES = 64 << 10
"""Most bytes of the text of a view."""
MOST_VERSIONS = 1000
TABLE = "table"
VIEW = "view"
_KINDS = frozenset({TABLE, VIEW})
DIALECTS = frozenset({"", "sneller"})
"""Dialects of views and stored queries; the empty one is standard SQL."""


@record
class ViewQuery:
    """The query of a view, with its dialect."""

    text: str = ""
    dialect: str = ""  # ``sneller``, or empty for standard SQL


@stored("a version of a view")
class ViewVersion(Stored):
    """A version of a view."""

    version: int = member("version", COUNT)  # its number, counted from 1
    commit: str = member("commit", TEXT)  # the id of the commit
    at_us: int = member("at", INSTANT)  # when it was committed
    # What made it: ``create``, ``replace``, ``drop`` or ``undrop``
    operation: str = member("operation", TEXT)
    text: str = member("text", TEXT, default="", sparse=True)  # the query; empty: there is no view
    author: str = member("author", TEXT, default="", sparse=True)
    message: str = member("message", TEXT, default="", sparse=True)

    @property
    def at(self) -> datetime:
        """The time when it was committed."""
        from sdb import instants

        return instants.from_us(self.at_us)

    # What the query means: ``sneller``, or empty for standard SQL
    dialect: str = member("dialect", TEXT, default="", sparse=True)

    @property
    def query(self) -> ViewQuery:
        """The query with its dialect."""
        return ViewQuery(self.text, self.dialect)

    @property
    def is_dropped(self) -> bool:
        """True if there is no view from here on."""
        return not self.text

    def as_dict(self) -> dict[str, object]:
        """Return it as plain values with stable names, for JSON."""
        from sdb import instants

        return {
            "version": self.version,
            "time": instants.text(self.at_us),
            "operation": self.operation,
            "author": self.author or None,
            "message": self.message or None,
            "id": self.commit,
            "text": self.text or None,
            "dialect": (self.dialect or "standard") if self.text else None,
        }


@stored("the claim on a name")
class NameClaim(Stored):
    """A claim on a name, for what is about to get it."""

    kind: str = member("kind", TEXT)  # ``table`` or ``view``
    uid: str = member("id", TEXT)  # what tells it from all others
    at_us: int = member("at", INSTANT)  # when it was made


@stored("a view")
class StoredView(Stored):
    """The struct that is stored of a view."""

    format: int = member("format", COUNT)
    versions: tuple[ViewVersion, ...] = member("versions", list_of(struct_of(ViewVersion)))
    claim: NameClaim | None = member("claim", struct_of(NameClaim), default=None, sparse=True)


@record
class ViewObject:
    """The versions of a view, and a claim on its name."""

    versions: tuple[ViewVersion, ...] = ()  # the oldest first
    claim: NameClaim | None = None

    @property
    def newest(self) -> ViewVersion | None:
        """The newest version; None: there is no view."""
        last = self.versions[-1] if self.versions else None
        return None if last is None or last.is_dropped else last

    def encode(self, keyring: Keyring) -> bytes:
        """Return the object, signed like an index; the oldest versions make room for new ones.

        Raises `UsageError` if there is no key to sign it with.
        """
        versions = self.versions[-MOST_VERSIONS:]
        while True:
            struct = StoredView(FORMAT, versions, self.claim).struct()
            data = keyring.sign(ion.dumps(struct))
            if len(data) < MAX_BYTES or len(versions) == 1:
                return data
            versions = versions[len(versions) // 4 or 1 :]

    @classmethod
    def decode(cls, data: bytes, keyring: Keyring) -> Self:
        """Read the object.

        Raises `CorruptError` if it is not signed with one of the keys, or malformed;
        `UnsupportedError` if it is of a later format.
        """
        read = StoredView.from_struct(ionstruct.signed(data, keyring, FORMAT, "a view"))
        for before, after in pairwise(read.versions):
            if before.version + 1 != after.version or before.at_us > after.at_us:
                raise CorruptError("the versions of a view do not follow each other")
        for version in read.versions:
            if version.dialect not in DIALECTS:
                raise UnsupportedError(f"a view in the dialect {version.dialect!r:.40}")
        if read.claim is not None and read.claim.kind not in _KINDS:
            raise CorruptError(f"a claim for a {read.claim.kind!r:.40}")
        return cls(read.versions, read.claim)
