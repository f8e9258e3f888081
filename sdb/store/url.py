"""Picks the store that a path or URL belongs to."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, BinaryIO, Protocol

from sdb.errors import UnsupportedError, UsageError
from sdb.store import local, local_grow

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

Location = str | os.PathLike[str]


class Reader(Protocol):
    """An object that is open for reading at any position."""

    @property
    def size_bytes(self) -> int:
        """Size of the object in bytes."""

    @property
    def etag(self) -> str:
        """What tells one version of the object from another; empty for local files."""

    @property
    def path(self) -> str:
        """Path or URL that it was opened at."""

    def read(self, start: int, stop: int) -> bytes:
        """Read the bytes of a half-open range, all of them."""

    def close(self) -> None:
        """Release what the object holds."""


class Draft(Protocol):
    """An object in the making whose first bytes are those of another one."""

    @property
    def copied_bytes(self) -> int:
        """How many bytes the store took over by itself."""

    @property
    def written_bytes(self) -> int:
        """How many bytes went through this program."""

    @property
    def kept_by(self) -> str:
        """How the first bytes were taken over: ``reflink``, ``copy``, ``server`` or ``upload``."""

    def write(self, data: bytes, /) -> int:
        """Write bytes at the end."""


def local_path(location: Location) -> str:
    """Give the path of a local object.

    Parameters
    ----------
    location : path or str
        A path, or a URL that begins with ``file://``.

    Returns
    -------
    str
        The path in the file system.

    Raises
    ------
    UsageError
        The location is ``-`` or empty: standard input and output are streams, not stores.
    UnsupportedError
        A URL of another kind.
    """
    path = os.fspath(location)
    if path.startswith("file://"):
        path = path.removeprefix("file://")
    elif path.startswith("s3://"):
        raise UnsupportedError(f"opening {path}: this build reads and writes local files only")
    if path in {"", "-"}:
        raise UsageError("a packfile is read at any position, so it must be a file and not a pipe")
    return path


def open_read(location: Location) -> Reader:
    """Open an object for reading.

    Parameters
    ----------
    location : path or str
        A path or URL.

    Returns
    -------
    Reader
        The open object; the caller closes it.

    Raises
    ------
    NotFoundError, AccessError, UsageError, UnsupportedError
        See :func:`sdb.store.local.open_read` and :func:`local_path`.
    """
    return local.open_read(local_path(location))


def atomic_write(
    location: Location, *, overwrite: bool = False
) -> AbstractContextManager[BinaryIO]:
    """Open an object for writing that appears when it is complete, or not at all.

    Parameters
    ----------
    location : path or str
        A path or URL.
    overwrite : bool
        Whether an existing object may be replaced.

    Returns
    -------
    context manager
        Gives the file to write to. See :func:`sdb.store.local.atomic_write`.
    """
    return local.atomic_write(local_path(location), overwrite=overwrite)


def grow(
    source: Reader, kept_bytes: int, location: Location, *, overwrite: bool = False
) -> AbstractContextManager[Draft]:
    """Begin an object with the first bytes of another one; it appears when it is complete.

    Parameters
    ----------
    source : Reader
        The object to begin with.
    kept_bytes : int
        How many of its bytes.
    location : path or str
        Where it shall be. Where `source` was opened, it is replaced if it is still the same.
    overwrite : bool
        Whether an existing object at another place may be replaced.

    Returns
    -------
    context manager
        Gives what takes the bytes that follow. See :func:`sdb.store.local_grow.grow`.
    """
    return local_grow.grow(source, kept_bytes, local_path(location), overwrite=overwrite)


def locked(location: Location) -> AbstractContextManager[None]:
    """Keep other appenders of the same object waiting, see :func:`sdb.store.local_grow.locked`."""
    return local_grow.locked(local_path(location))


def shown(location: Location) -> str:
    """Give the form in which `describe-file` shows a location: local paths get ``file://``."""
    path = os.fspath(location)
    return path if "://" in path else f"file://{path}"
