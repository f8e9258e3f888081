"""Where objects of S3 are: URLs and patterns."""

from __future__ import annotations

import os
import re

from sdb.errors import UsageError
from sdb.records import record
from sdb.store import keypatterns
from sdb.store.schemes import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

SCHEME = "s3://"
HIDDEN = ".sdb-"
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,253}[A-Za-z0-9]")
_MOST_KEY_BYTES = 1024


@record
class ObjectAddress:
    """The address of an object."""

    bucket: str  # the S3 bucket
    key: str  # the name of the object in it

    def __str__(self) -> str:
        """Return the URL."""
        return f"{SCHEME}{self.bucket}/{self.key}"

    @property
    def names(self) -> dict[str, str]:
        """The arguments that name the object in a request."""
        return {"Bucket": self.bucket, "Key": self.key}


def split(url: str) -> tuple[str, str]:
    """Split a URL into bucket and key; the key may be empty.

    Raises `UsageError` if the bucket has no name that a bucket can have, or the key is too long.
    """
    bucket, _, key = plain(url).removeprefix(SCHEME).partition("/")
    if not _BUCKET.fullmatch(bucket):
        raise UsageError(
            f"{url}: {bucket!r} is no name of an S3 bucket", path=url, expected="s3://bucket/key"
        )
    if len(key.encode("utf-8", "surrogateescape")) > _MOST_KEY_BYTES:
        raise UsageError(f"{url}: the key is longer than {_MOST_KEY_BYTES:,} bytes", path=url)
    return bucket, key


def parse(location: str | os.PathLike[str]) -> ObjectAddress:
    """Return the address that a URL names.

    * ``location``: Such as ``s3://bucket/folder/name``. Everything after the bucket is the key as
      it is.

    Raises `UsageError` for a URL that cannot be, or one without a key.

    >>> parse("s3://events/2026/a b.zion").key
    '2026/a b.zion'
    """
    url = os.fspath(location)
    bucket, key = split(url)
    if not key or key.endswith("/"):
        raise UsageError(f"{url}: names no object", path=url, expected="s3://bucket/key")
    return ObjectAddress(bucket, key)


def is_pattern(location: str | os.PathLike[str]) -> bool:
    """Return whether a URL of S3 has ``*``, ``?`` or ``[`` in its key."""
    url = os.fspath(location)
    return plain(url).startswith(SCHEME) and keypatterns.has_magic(url)


def matcher(pattern: str) -> Callable[[str], bool]:
    """Return what tells whether a pattern matches a URL; see :mod:`sdb.store.keypatterns`."""
    bucket, key = split(pattern)
    return keypatterns.matcher(f"{SCHEME}{bucket}/", key)
