"""Picks the store that a path or URL belongs to."""

from __future__ import annotations

import os

from sdb.errors import UsageError
from sdb.store.base import Location
from sdb.store.local.disk import LocalStore
from sdb.store.schemes import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from typing import BinaryIO

    from sdb.store.base import Draft, Reader, Store
    from sdb.store.messages import Queue
    from sdb.store.s3.doctor import Diagnosis

__all__ = [
    "Location",
    "absolute",
    "is_pattern",
    "queue_of",
    "register",
    "shown",
    "store_of",
    "under",
]

_SCHEME = "://"
_MAGIC = frozenset("*?[")
_LOCAL = LocalStore()
_stores: dict[str, Store] = {"file": _LOCAL}


def store_of(location: Location) -> Store:
    """Return the store that a location is in.

    * ``location``: A path or URL. What begins with no scheme that is known is a path.
    """
    path = os.fspath(location)
    if _SCHEME not in path:
        return _LOCAL
    scheme, _, _ = plain(path).partition(_SCHEME)
    if scheme == "s3" and scheme not in _stores:
        from sdb.store.s3.objectstore import S3Store

        _stores[scheme] = S3Store()
    return _stores.get(scheme, _LOCAL)


def register(scheme: str, store: Store | None) -> None:
    """Register the store for URLs of a scheme; None removes it.

    * ``scheme``: What stands before ``://``.
    """
    if store is None:
        _stores.pop(scheme, None)
    else:
        _stores[scheme] = store


def queue_of(location: Location) -> Queue:
    """Return the queue at a location; the caller closes it.

    * ``location``: The URL of a queue of SQS, or a folder.

    Raises
    ------
    NotFoundError, AccessError, UsageError
        There is no such queue, it may not be looked at, or a setting is wrong.
    """
    url = os.fspath(location)
    scheme, mark, _ = url.partition(_SCHEME)
    if mark and scheme in {"https", "http"}:
        from sdb.store.s3.sqs import SqsQueue

        return SqsQueue(url)
    if mark and scheme != "file":
        raise UsageError(f"{url} is no queue", expected="https://sqs..., or a folder")
    from sdb.store.local.folderqueue import FolderQueue

    return FolderQueue(url.removeprefix(f"file{_SCHEME}"))


def check_scheme(location: Location) -> None:
    """Require a path, or a URL of a store that there is.

    Raises
    ------
    UsageError
        It begins like a URL of another kind.
    """
    url = os.fspath(location)
    scheme, mark, _ = url.partition(_SCHEME)
    if mark and scheme.isalnum() and store_of(url) is _LOCAL:
        raise UsageError(f"{url}: unknown scheme {scheme}://", expected="a folder, or s3://")


def is_server(location: Location) -> bool:
    """Return whether a location is the address of a server, ``sdb serve``."""
    return plain(os.fspath(location)).startswith(("http://", "https://"))


def under(root: str | None, location: Location) -> Location:
    """Return a location that may be relative to a root; absolute paths and URLs are not."""
    path = os.fspath(location)
    return location if not root or _SCHEME in path else os.path.join(root, path)  # noqa: PTH118


def absolute(location: Location) -> str:
    """Return a location that means the same wherever a program runs."""
    path = store_of(location).path_of(location)
    return plain(os.fspath(location)) if path is None else os.path.abspath(path)  # noqa: PTH100 - a string


def is_pattern(location: Location, root: str | None = None) -> bool:
    """Return whether a location has characters of patterns and is not the name of a local file.

    * ``root``: What it may be relative to; that is no pattern.
    """
    path = under(root, location)
    return not _MAGIC.isdisjoint(os.fspath(location)) and not store_of(path).has(path)


def open_read(location: Location, *, head_bytes: int = 0, start: int = 0) -> Reader:
    """Open an object for reading, see :meth:`sdb.store.base.Store.open`."""
    return store_of(location).open(location, head_bytes=head_bytes, start=start)


def atomic_write(
    location: Location, *, overwrite: bool = False
) -> AbstractContextManager[BinaryIO]:
    """Open an object for writing, see :meth:`sdb.store.base.Store.create`."""
    return store_of(location).create(location, overwrite=overwrite)


def create_from_prefix(
    source: Reader,
    kept_bytes: int,
    location: Location,
    *,
    overwrite: bool = False,
    single_writer: bool = False,
) -> AbstractContextManager[Draft]:
    """Begin an object with the first bytes of another one, as the method of a store does.

    The store is that of `location`; `source` may be in another one.
    """
    return store_of(location).create_from_prefix(
        source, kept_bytes, location, overwrite=overwrite, single_writer=single_writer
    )


def locked(location: Location) -> AbstractContextManager[None]:
    """Keep other appenders of the same object waiting, see :meth:`sdb.store.base.Store.lock`."""
    return store_of(location).lock(location)


def diagnose(location: Location) -> Diagnosis:
    """Test what an S3 endpoint guarantees to writers.

    Two scratch objects of a few bytes are written below `location`, whose names begin with
    ``.sdb-doctor-``, and deleted again.

    Parameters
    ----------
    location : str
        A bucket, or a prefix of keys, such as ``s3://bucket/events/``.

    Returns
    -------
    Diagnosis
        The checks, and what they mean for ``append`` and ``pack``.

    Raises
    ------
    UsageError
        The location is in the file system, which needs no test.
    AccessError, NotFoundError
        The bucket does not exist, or may not be written to.

    Examples
    --------
    >>> sdb.diagnose("s3://events/2026/").append_is_safe    # doctest: +SKIP
    True
    """
    return store_of(location).diagnose(location)


def settings() -> dict[str, str]:
    """Return the settings that S3 is reached with, see :func:`sdb.store.s3.client.settings`."""
    from sdb.store.s3 import client

    return client.settings()


def shown(location: Location) -> str:
    """Return the form in which `describe-file` shows a location: local paths get ``file://``."""
    path = os.fspath(location)
    return path if _SCHEME in path else f"file://{path}"
