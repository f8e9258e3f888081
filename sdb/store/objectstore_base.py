"""Cheap answers of stores without folders or files: S3, and what is like it.

They take no request. What a store answers otherwise it has a method for.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

    from sdb.store.base import Location


class ObjectStoreBase:
    """A store that is remote and knows objects alone; see :class:`sdb.store.base.Store`."""

    __slots__ = ()

    is_remote = True

    def has(self, location: Location) -> None:  # noqa: ARG002
        """Report nothing: each answer would take a request."""
        return

    def is_folder(self, location: Location) -> bool:
        """Return whether a location ends in a slash."""
        return os.fspath(location).endswith("/")

    def path_of(self, location: Location) -> None:  # noqa: ARG002
        """Return nothing: objects are no files."""
        return

    def make_folder(self, folder: Location) -> None:
        """Make nothing: a folder is there as soon as an object is in it."""


class ObjectReaderBase:
    """A reader that holds nothing and checks its version; see :class:`sdb.store.base.Reader`."""

    __slots__ = ()

    etag: str  # ETag of the version, with the quotes around it

    @property
    def version(self) -> str:
        """Name of the version: its ETag."""
        return self.etag

    @property
    def descriptor(self) -> None:
        """There is no open file."""
        return

    def reopen(self) -> Self:
        """Return the reader itself."""
        return self

    def close(self) -> None:
        """Do nothing: there is nothing to release."""

    def forget(self) -> None:
        """Release bytes that were read when it was opened; it can still be read."""
