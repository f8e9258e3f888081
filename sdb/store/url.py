"""Picks the store that a path or URL belongs to."""

from __future__ import annotations

import os

from sdb.errors import UsageError
from sdb.store.local import files
from sdb.typed import Protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from contextlib import AbstractContextManager
    from typing import BinaryIO

    from sdb.store.s3.doctor import Diagnosis

Location = str | os.PathLike[str]

TAIL_BYTES = 256 << 10


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


def under(root: str | None, location: Location) -> Location:
    """Give a location that may be relative to a root; absolute paths and URLs are not."""
    path = os.fspath(location)
    return location if not root or "://" in path else os.path.join(root, path)  # noqa: PTH118


def is_local(location: Location) -> bool:
    """Tell whether a location is one of the file system, and not ``s3://...``."""
    return not os.fspath(location).startswith("s3://")


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
    """
    path = os.fspath(location).removeprefix("file://")
    if path in {"", "-"}:
        raise UsageError("a packfile is read at any position, so it must be a file and not a pipe")
    return path


def expand(locations: Iterable[Location], root: str | None = None) -> list[Location]:
    """Put what they match in the place of patterns like ``s3://bucket/2026/**/*.json.gz``.

    Parameters
    ----------
    locations : iterable of path or str
        Paths and URLs. Patterns of local files are the shell's business.
    root : str, optional
        What they are relative to; it is put in front of them if it is a URL of S3.

    Returns
    -------
    list of path or str
        The same without patterns; what a pattern matches is sorted by name.

    Raises
    ------
    NotFoundError
        Nothing matches a pattern.
    AccessError
        The bucket may not be listed.
    """
    found: list[Location] = []
    for given in locations:
        location = given
        if root and not is_local(root):
            location = under(root, given)
        if is_local(location):
            found.append(location)
            continue
        from sdb.store.s3 import place

        url = os.fspath(location)
        found += place.matching(url) if place.is_pattern(url) else [url]
    return found


def is_pattern(location: Location) -> bool:
    """Tell whether :func:`expand` puts something else in its place."""
    if is_local(location):
        return False
    from sdb.store.s3 import place

    return place.is_pattern(location)


def matcher(pattern: str) -> Callable[[str], bool]:
    """Give what tells whether a path or URL is one that a pattern has found the folder of.

    Parameters
    ----------
    pattern : str
        A pattern of S3, see :func:`expand`, or one of :mod:`glob`.

    Returns
    -------
    callable
        Takes a path or URL. Of local ones only the name is compared.
    """
    if is_local(pattern):
        from fnmatch import fnmatchcase

        last = pattern.rpartition("/")[2]
        return lambda path: fnmatchcase(path.rpartition("/")[2], last)
    from sdb.store.s3 import place

    return place.matcher(pattern)


def open_read(location: Location, *, head_bytes: int = 0) -> Reader:
    """Open an object for reading.

    Parameters
    ----------
    location : path or str
        A path or URL.
    head_bytes : int
        How many bytes of its beginning will be wanted first. Without them those of its end are
        expected to be wanted: on S3 the request that opens an object reads the one or the other.

    Returns
    -------
    Reader
        The open object; the caller closes it.

    Raises
    ------
    NotFoundError, AccessError, UsageError
        See :func:`sdb.store.local.files.open_read` and :func:`sdb.store.s3.objects.open_read`.
    """
    if is_local(location):
        return files.open_read(local_path(location))
    from sdb.store.s3.objects import open_read as open_object

    return open_object(os.fspath(location), head_bytes=head_bytes, tail_bytes=TAIL_BYTES)


def reopen(reader: Reader) -> Reader:
    """Open an object once more, without asking the store where that makes sense.

    Parameters
    ----------
    reader : Reader
        The object; it may be closed.

    Returns
    -------
    Reader
        On S3, the same version of the object.
    """
    if is_local(reader.path):
        return files.open_read(reader.path)
    return reader


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
        Gives the file to write to. See :func:`sdb.store.local.atomic.atomic_write` and
        :func:`sdb.store.s3.drafts.atomic_write`.
    """
    if is_local(location):
        from sdb.store.local import atomic

        return atomic.atomic_write(local_path(location), overwrite=overwrite)
    from sdb.store.s3 import drafts

    return drafts.atomic_write(os.fspath(location), overwrite=overwrite)


def grow(
    source: Reader,
    kept_bytes: int,
    location: Location,
    *,
    overwrite: bool = False,
    single_writer: bool = False,
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
    single_writer : bool
        Whether the caller vouches for nobody else writing there. Local files do not need it.

    Returns
    -------
    context manager
        Gives what takes the bytes that follow. See :func:`sdb.store.local.growing.grow` and
        :func:`sdb.store.s3.grow.grow`.
    """
    if is_local(location):
        from sdb.store.local import growing

        return growing.grow(source, kept_bytes, local_path(location), overwrite=overwrite)
    from sdb.store.s3 import grow as s3

    url = os.fspath(location)
    return s3.grow(source, kept_bytes, url, overwrite=overwrite, single_writer=single_writer)


def locked(location: Location) -> AbstractContextManager[None]:
    """Keep other appenders of the same object waiting, see :func:`sdb.store.local.growing.locked`.

    On S3 nobody waits: who comes second starts over.
    """
    if not is_local(location):
        from contextlib import nullcontext

        return nullcontext()
    from sdb.store.local import growing

    return growing.locked(local_path(location))


def diagnose(location: Location) -> Diagnosis:
    """Try what a store does, see :func:`sdb.store.s3.doctor.diagnose`.

    Raises
    ------
    UsageError
        The location is one of the file system, which needs no trial.
    """
    if is_local(location):
        raise UsageError(f"{os.fspath(location)} is no URL of S3", expected="s3://bucket/prefix")
    from sdb.store.s3 import doctor

    return doctor.diagnose(os.fspath(location))


def shown(location: Location) -> str:
    """Give the form in which `describe-file` shows a location: local paths get ``file://``."""
    path = os.fspath(location)
    return path if "://" in path else f"file://{path}"
