"""S3 as a store."""

from __future__ import annotations

import os
from contextlib import nullcontext

from sdb.errors import UsageError
from sdb.store.base import TAIL_BYTES
from sdb.store.objectstore_base import ObjectStoreBase
from sdb.store.s3 import address
from sdb.store.s3.objects import S3Reader, open_read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from typing import BinaryIO

    from sdb.store.base import Draft, Entry, Location, Reader
    from sdb.store.s3.doctor import Diagnosis


class S3Store(ObjectStoreBase):
    """Objects by their URLs; see :class:`sdb.store.base.Store` for what the methods do.

    The connections belong to the process, see :mod:`sdb.store.s3.client`, so that there is no
    state.
    """

    __slots__ = ()

    def open(self, location: Location, *, head_bytes: int = 0, start: int = 0) -> S3Reader:
        """Open an object for reading, and read a part of it with the same request."""
        url = os.fspath(location)
        return open_read(url, head_bytes=head_bytes, tail_bytes=TAIL_BYTES, start=start)

    def version(self, location: Location) -> str | None:
        """Return the ETag of an object."""
        from sdb.store.s3 import prefix

        return prefix.version(os.fspath(location))

    def head(self, location: Location) -> Entry | None:
        """Look at an object."""
        from sdb.store.s3 import prefix

        return prefix.head(os.fspath(location))

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
        """Return what tells whether a pattern matches a URL."""
        return address.matcher(pattern)

    def create(
        self, location: Location, *, overwrite: bool = False
    ) -> AbstractContextManager[BinaryIO]:
        """Open an object for writing, see :func:`sdb.store.s3.drafts.atomic_write`."""
        from sdb.store.s3 import drafts

        return drafts.atomic_write(os.fspath(location), overwrite=overwrite)

    def create_from_prefix(
        self,
        source: Reader,
        kept_bytes: int,
        location: Location,
        *,
        overwrite: bool = False,
        single_writer: bool = False,
    ) -> AbstractContextManager[Draft]:
        """Begin an object with the bytes of another one, see :mod:`sdb.store.s3.grow`."""
        from sdb.store.s3 import grow

        url = os.fspath(location)
        return grow.create_from_prefix(
            source, kept_bytes, url, overwrite=overwrite, single_writer=single_writer
        )

    def put_if_match(
        self,
        location: Location,
        data: bytes,
        replaced: Reader | None,
        *,
        durable: bool = True,
        flush_after: Sequence[Location] = (),  # noqa: ARG002 - what is there stays
    ) -> str:
        """Put an object in the place of the version that was read."""
        from sdb.store.s3 import prefix

        url = os.fspath(location)
        if replaced is not None and not (
            isinstance(replaced, S3Reader) and replaced.address == address.parse(url)
        ):
            raise UsageError(f"{replaced.path} was read, and not what {url} replaces", path=url)
        return prefix.put_if_match(url, data, replaced, durable=durable)

    def delete(self, location: Location) -> None:
        """Delete an object."""
        from sdb.store.s3 import prefix

        prefix.delete(os.fspath(location))

    def lock(self, location: Location, *, is_brief: bool = False) -> AbstractContextManager[None]:
        """Lock what is locked for publishing anyway, if it is for a moment; otherwise nothing."""
        if not is_brief:
            return nullcontext()
        from sdb.store.s3 import lock

        return lock.exclusive(address.parse(os.fspath(location)), required=True)

    def uploads(self, folder: Location) -> Sequence[Entry]:
        """List open uploads; a request for each thousand of them."""
        from sdb.store.s3 import prefix

        return prefix.uploads(os.fspath(folder))

    def abort_upload(self, upload: Entry) -> None:
        """Abort an upload: its parts go."""
        from sdb.store.s3 import prefix

        prefix.abort_upload(upload)

    def abort_orphaned_uploads(self, folder: Location, is_ours: Callable[[str], bool]) -> None:
        """Abort the uploads of writers that were killed."""
        from sdb.store.s3 import prefix

        prefix.abort_orphaned_uploads(os.fspath(folder), is_ours)

    def diagnose(self, location: Location) -> Diagnosis:
        """Try what the endpoint does."""
        from sdb.store.s3 import doctor

        return doctor.diagnose(os.fspath(location))
