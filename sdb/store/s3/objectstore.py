"""S3 as a store."""

from __future__ import annotations

import os
from contextlib import nullcontext

from sdb.errors import UsageError
from sdb.store.base import TAIL_BYTES
from sdb.store.flat import FlatStore
from sdb.store.s3 import place
from sdb.store.s3.objects import S3Reader, open_read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from typing import BinaryIO

    from sdb.store.base import Draft, Entry, Location, Reader
    from sdb.store.s3.doctor import Diagnosis


class S3Store(FlatStore):
    """Objects by their URLs; see :class:`sdb.store.base.Store` for what the methods do.

    The connections belong to the process, see :mod:`sdb.store.s3.client`, so that there is no
    state.
    """

    __slots__ = ()

    def open(self, location: Location, *, head_bytes: int = 0, start: int = 0) -> S3Reader:
        """Open an object for reading, and read a part of it with the same request."""
        place = os.fspath(location)
        return open_read(place, head_bytes=head_bytes, tail_bytes=TAIL_BYTES, start=start)

    def version(self, location: Location) -> str | None:
        """Give the ETag of an object."""
        from sdb.store.s3 import prefix

        return prefix.version(os.fspath(location))

    def look(self, location: Location) -> Entry | None:
        """Look at an object."""
        from sdb.store.s3 import prefix

        return prefix.look(os.fspath(location))

    def list(
        self, folder: Location, *, after: str = "", most: int | None = None
    ) -> Sequence[Entry]:
        """List the objects directly below a URL; only those that are wanted are asked for."""
        from sdb.store.s3 import prefix

        return prefix.entries(os.fspath(folder), after, most)

    def folders(self, folder: Location) -> Sequence[str]:
        """List what keys below a URL have before their next slash."""
        from sdb.store.s3 import prefix

        return prefix.folders(os.fspath(folder))

    def below(self, folder: Location) -> Iterator[Entry]:
        """List the objects below a URL at any depth; a request for each thousand of them."""
        from sdb.store.s3 import prefix

        return prefix.below(os.fspath(folder))

    def find(self, pattern: str) -> Sequence[Entry]:
        """List the objects that a pattern matches; only what begins like it is listed."""
        from sdb.store.s3 import prefix

        return prefix.matching(pattern)

    def matcher(self, pattern: str) -> Callable[[str], bool]:
        """Give what tells whether a pattern matches a URL."""
        return place.matcher(pattern)

    def create(
        self, location: Location, *, overwrite: bool = False
    ) -> AbstractContextManager[BinaryIO]:
        """Open an object for writing, see :func:`sdb.store.s3.drafts.atomic_write`."""
        from sdb.store.s3 import drafts

        return drafts.atomic_write(os.fspath(location), overwrite=overwrite)

    def grow(
        self,
        source: Reader,
        kept_bytes: int,
        location: Location,
        *,
        overwrite: bool = False,
        single_writer: bool = False,
    ) -> AbstractContextManager[Draft]:
        """Begin an object with the bytes of another one, see :func:`sdb.store.s3.grow.grow`."""
        from sdb.store.s3 import grow

        url = os.fspath(location)
        return grow.grow(source, kept_bytes, url, overwrite=overwrite, single_writer=single_writer)

    def put_if(
        self,
        location: Location,
        data: bytes,
        replaced: Reader | None,
        *,
        ahead: bool = False,
        after: Sequence[Location] = (),  # noqa: ARG002 - what is there stays
    ) -> str:
        """Put an object in the place of the version that was read."""
        from sdb.store.s3 import prefix

        url = os.fspath(location)
        if replaced is not None and not (
            isinstance(replaced, S3Reader) and replaced.place == place.parse(url)
        ):
            raise UsageError(f"{replaced.path} was read, and not what {url} replaces", path=url)
        return prefix.put_if(url, data, replaced, ahead=ahead)

    def delete(self, location: Location) -> None:
        """Delete an object."""
        from sdb.store.s3 import prefix

        prefix.delete(os.fspath(location))

    def lock(self, location: Location, *, is_brief: bool = False) -> AbstractContextManager[None]:
        """Lock what is locked for publishing anyway, if it is for a moment; otherwise nothing."""
        if not is_brief:
            return nullcontext()
        from sdb.store.s3 import lock

        return lock.exclusive(place.parse(os.fspath(location)), insist=True)

    def uploads(self, folder: Location) -> Sequence[Entry]:
        """List open uploads; a request for each thousand of them."""
        from sdb.store.s3 import prefix

        return prefix.uploads(os.fspath(folder))

    def give_up(self, upload: Entry) -> None:
        """Give up an upload: its parts go."""
        from sdb.store.s3 import prefix

        prefix.give_up(upload)

    def abandon(self, folder: Location, is_ours: Callable[[str], bool]) -> None:
        """Give up the uploads of writers that were killed."""
        from sdb.store.s3 import prefix

        prefix.abandon(os.fspath(folder), is_ours)

    def diagnose(self, location: Location) -> Diagnosis:
        """Try what the endpoint does."""
        from sdb.store.s3 import doctor

        return doctor.diagnose(os.fspath(location))
