"""The files of a table, each opened within the bounds that the caller sets."""

from __future__ import annotations

import os
from contextlib import closing
from urllib.parse import unquote

from sdb.errors import CorruptError, UnsupportedError
from sdb.records import record
from sdb.store.base import child
from sdb.store.schemes import plain
from sdb.store.url import open_read, store_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sdb.store.base import Entry, Reader

_FILE = "file:"


def _anywhere(_location: str) -> None:
    """Allow each place."""


@record
class LakeFolder:
    """The folder of a table.

    * ``check``: Raises for a location that must not be read.
    """

    location: str
    check: Callable[[str], None] = _anywhere

    def open(self, location: str) -> Reader:
        """Open a file of the table.

        Raises `NotFoundError` or `AccessError` if there is no such file, or it must not be read.
        """
        self.check(location)
        return open_read(location)

    def read(self, location: str) -> bytes:
        """Return the content of a file of the table."""
        with closing(self.open(location)) as reader:
            return reader.read(0, reader.size_bytes)

    def has(self, location: str) -> bool:
        """Return whether there is a file."""
        self.check(location)
        return store_of(location).head(location) is not None

    def list(self, name: str, *, after: str = "") -> Sequence[Entry]:
        """List the files of a folder below."""
        folder = child(self.location, name)
        self.check(folder)
        return store_of(folder).list(folder, after=after)

    def below(self, path: str) -> str:
        """Return the location of a path below the folder."""
        return child(self.location, path)

    def resolve(self, path: str) -> tuple[str, str]:
        """Return the name of a file and its location, by the URI that a log has.

        Returns: The decoded path below the table, or a URI if the file is elsewhere; where to
        read it.
        Raises `CorruptError` or `UnsupportedError` if the path is empty, has a null character, or a
        scheme that there is no store for.
        """
        decoded = unquote(path, errors="surrogateescape")
        if not decoded or "\0" in decoded:
            raise CorruptError(f"{self.location}: the log has a file without a name")
        scheme, mark, rest = decoded.partition(":")
        if not (mark and "/" not in scheme and rest.startswith("/")):
            if not decoded.startswith("/"):
                return decoded, self.below(decoded)
            return f"file://{decoded}", decoded
        return self.named(location_of(decoded))

    def named(self, location: str) -> tuple[str, str]:
        """Return the name of a file that may be below the folder, and its location."""
        for folder in (self.location, absolute(self.location)):
            above = f"{folder.rstrip('/')}/"
            if location.startswith(above):
                return location[len(above) :], location
        is_path = store_of(location).path_of(location) is not None
        return (f"file://{location}" if is_path else location), location


def location_of(uri: str) -> str:
    """Return where to read a file that metadata names by its URI.

    Raises `UnsupportedError` if there is no store for it.
    """
    if uri.startswith(_FILE):
        path = uri.removeprefix(_FILE)
        return f"/{path.lstrip('/')}"
    uri = plain(uri)
    if uri.startswith("s3://") or "://" not in uri:
        return uri
    scheme, mark, _ = uri.partition("://")
    if store_of(uri).path_of(uri) is None:  # a store that a test has registered
        return uri
    message = f"{uri}: there is no store for {scheme}{mark}"
    raise UnsupportedError(message, expected="a path, file:// or s3://")


def absolute(location: str) -> str:
    """Return a path from the root of the file system on, or a URL as it is."""
    if store_of(location).path_of(location) is None:
        return location
    return os.path.abspath(location)  # noqa: PTH100 - a string
