"""Where objects of S3 are: URLs and patterns."""

from __future__ import annotations

import os
import re

from sdb.errors import NotFoundError, UsageError
from sdb.records import record
from sdb.store.s3.client import connect
from sdb.store.s3.failures import translated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SCHEME = "s3://"
HIDDEN = ".sdb-"
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,253}[A-Za-z0-9]")
_MAGIC = re.compile(r"[*?\[]")
_PATTERN = re.compile(r"\*\*/|\*+|\?|\[(!?)([^\]]+)\]|.", re.DOTALL)
_MOST_KEY_BYTES = 1024


@record
class Place:
    """The place of an object.

    Attributes
    ----------
    bucket : str
        The S3 bucket.
    key : str
        The name of the object in it.
    """

    bucket: str
    key: str

    def __str__(self) -> str:
        """Give the URL."""
        return f"{SCHEME}{self.bucket}/{self.key}"

    @property
    def names(self) -> dict[str, str]:
        """The arguments that name the object in a request."""
        return {"Bucket": self.bucket, "Key": self.key}


def is_s3(location: str | os.PathLike[str]) -> bool:
    """Tell whether a location is a URL of S3."""
    return os.fspath(location).startswith(SCHEME)


def split(url: str) -> tuple[str, str]:
    """Split a URL into bucket and key; the key may be empty.

    Raises
    ------
    UsageError
        The bucket has no name that a bucket can have, or the key is too long.
    """
    bucket, _, key = url.removeprefix(SCHEME).partition("/")
    if not _BUCKET.fullmatch(bucket):
        raise UsageError(
            f"{url}: {bucket!r} is no name of an S3 bucket", path=url, expected="s3://bucket/key"
        )
    if len(key.encode("utf-8", "surrogateescape")) > _MOST_KEY_BYTES:
        raise UsageError(f"{url}: the key is longer than {_MOST_KEY_BYTES:,} bytes", path=url)
    return bucket, key


def parse(location: str | os.PathLike[str]) -> Place:
    """Give the place that a URL names.

    Parameters
    ----------
    location : str
        Such as ``s3://bucket/folder/name``. Everything after the bucket is the key as it is.

    Returns
    -------
    Place
        Bucket and key.

    Raises
    ------
    UsageError
        A URL that cannot be, or one without a key.

    Examples
    --------
    >>> parse("s3://events/2026/a b.zion").key
    '2026/a b.zion'
    """
    url = os.fspath(location)
    bucket, key = split(url)
    if not key or key.endswith("/"):
        raise UsageError(f"{url}: names no object", path=url, expected="s3://bucket/key")
    return Place(bucket, key)


def is_pattern(location: str | os.PathLike[str]) -> bool:
    """Tell whether a URL of S3 has ``*``, ``?`` or ``[`` in its key."""
    url = os.fspath(location)
    return is_s3(url) and bool(_MAGIC.search(url))


def matching(pattern: str) -> list[str]:
    """List the objects that a pattern matches.

    ``*`` and ``?`` match anything but ``/``, ``**`` matches that too, ``[abc]`` one of these
    characters. Only what begins like the pattern is listed.

    Parameters
    ----------
    pattern : str
        A URL, such as ``s3://bucket/2026/**/*.json.gz``.

    Returns
    -------
    list of str
        The URLs, sorted by the bytes of their names.

    Raises
    ------
    NotFoundError
        Nothing matches, or there is no such bucket.
    AccessError
        The bucket may not be listed.
    """
    bucket, key = split(pattern)
    fits = matcher(pattern)
    names = sorted(_names(bucket, key, pattern), key=str.encode)
    found = [url for name in names if fits(url := f"{SCHEME}{bucket}/{name}")]
    if not found:
        raise NotFoundError(f"no object matches {pattern}", path=pattern)
    return found


def matcher(pattern: str) -> Callable[[str], bool]:
    """Give what tells whether a pattern matches a URL; see :func:`matching`."""
    bucket, key = split(pattern)
    expression = re.compile(re.escape(f"{SCHEME}{bucket}/") + _expression(key), re.DOTALL)
    return lambda url: expression.fullmatch(url) is not None


def _expression(pattern: str) -> str:
    parts = []
    for token in _PATTERN.finditer(pattern):
        text = token[0]
        if text == "**/":
            parts.append("(?:.*/)?")
        elif text.startswith("*"):
            parts.append("[^/]*" if text == "*" else ".*")
        elif text == "?":
            parts.append("[^/]")
        elif token[2]:
            characters = re.escape(token[2]).replace(r"\-", "-")
            parts.append(f"[{'^' if token[1] else ''}{characters}]")
        else:
            parts.append(re.escape(text))
    return "".join(parts)


def _names(bucket: str, pattern: str, url: str) -> Iterator[str]:
    """List the names that begin with the literal start of a pattern."""
    magic = _MAGIC.search(pattern)
    prefix = pattern[: magic.start()] if magic else pattern
    rest = pattern[len(prefix) :]
    options = {"Delimiter": "/"} if "/" not in rest and "**" not in rest else {}
    with translated("listing", url):
        pages = connect().get_paginator("list_objects_v2")
        for page in pages.paginate(Bucket=bucket, Prefix=prefix, **options):
            for entry in page.get("Contents", ()):
                name: str = entry["Key"]
                if not name.endswith("/") and not name.rpartition("/")[2].startswith(HIDDEN):
                    yield name
