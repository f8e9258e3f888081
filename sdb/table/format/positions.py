"""Positions in log files, as the inputs tree has them: how far each file was taken.

An entry of the tree has its own key for each file, however often that is renamed, and the
position in place of an ETag. The number of its packfile is that of a failed input, since such an
entry can be replaced by one with another ETag in every tool: the original keeps it as it is.
"""

from __future__ import annotations

import json
from hashlib import sha256
from urllib.parse import quote, unquote

from sdb.errors import CorruptError
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Self

SCHEME = "tail://"
SAMPLE_BYTES = 1024
"""How many of the first bytes of a file, and of those before the position, tell what file it is."""

_DIGEST_LETTERS = 32
_TYPES = {
    "offset": int,
    "head": str,
    "last": str,
    "host": str,
    "path": str,
    "device": int,
    "inode": int,
    "at": int,
    "since": int,
    "done": bool,
}
_FIELDS = {"done": "is_done"}
_LATER = {"born": int}  # what older versions have not written


@record
class LogPosition:
    """The place up to which a log file was ingested."""

    offset: int  # bytes of it, decompressed, that are in the table
    # Digests of the first of these bytes and of the last of them, `SAMPLE_BYTES` at most
    head: str
    last: str
    # Where it was then
    host: str
    path: str
    device: int
    inode: int
    at: int  # when, in seconds since 1970
    # Files that were rotated away from the same path, and were written to before that, have entries
    since: int
    is_done: bool = False  # whether it was rotated away, and taken to its end
    born: int = 0  # when the file was made, in nanoseconds since 1970; 0: unknown

    @property
    def sample_bytes(self) -> int:
        """Number of bytes that each digest is of."""
        return min(self.offset, SAMPLE_BYTES)

    @property
    def identity(self) -> tuple[int, int, int]:
        """The marks that the system knows the file by."""
        return self.device, self.inode, self.born

    def text(self) -> str:
        """Return what is stored in place of an ETag."""
        members = {name: getattr(self, _FIELDS.get(name, name)) for name in (*_TYPES, *_LATER)}
        return json.dumps(members, separators=(",", ":"))

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read what is stored. Raises `CorruptError` if it is malformed."""
        values = typed_members(text, _TYPES)
        if values is None or values[0] < 0:
            raise CorruptError(f"the position in a log file is malformed: {text[:80]!r}")
        return cls(*values, *typed_members(text, _LATER) or ())


def typed_members(text: str, types: Mapping[str, type]) -> list[Any] | None:
    """Return the members of a JSON object in an order; None: one is missing, or of another type."""
    try:
        members = json.loads(text)
        values = [members[name] for name in types]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    typed = zip(values, types.values(), strict=True)
    return values if all(type(value) is kind for value, kind in typed) else None


def is_position(path: str) -> bool:
    """Return whether an entry of the inputs tree is a position in a log file."""
    return path.startswith(SCHEME)


def position_key(host: str, path: str, mark: str) -> str:
    """Return the key of a file that is followed from now on.

    * ``path``: Where it was first.
    * ``mark``: What tells it from others that were there.
    """
    return f"{SCHEME}{quote(host, safe='')}{quote(path)}#{mark}"


def origin_of(key: str) -> tuple[str, str]:
    """Return the host and the path where a file was first."""
    host, slash, rest = key.removeprefix(SCHEME).partition("/")
    return unquote(host), slash + unquote(rest.rpartition("#")[0])


def digest(data: bytes) -> str:
    """Return the digest of a sample."""
    return sha256(data).hexdigest()[:_DIGEST_LETTERS]
