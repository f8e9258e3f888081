"""The protocols of stores: objects are listed, read, made, replaced and deleted.

Code above this package is written for these protocols and knows no store. A store needs no folders:
they come and go with their objects. An object appears in one step, when it is complete; a reader
goes on reading the version that it has opened, or gets an error when that is gone.
"""

from __future__ import annotations

import os

from sdb.records import record
from sdb.typed import Protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence
    from contextlib import AbstractContextManager
    from types import TracebackType
    from typing import BinaryIO

    from sdb.store.s3.doctor import Diagnosis

Location = str | os.PathLike[str]

TAIL_BYTES = 256 << 10
PIECE_BYTES = 256 << 10
CLOSED = -1
"""What the descriptor of a file is that was closed."""


class Reader(Protocol):
    """One version of an object that is open for reading at any position."""

    @property
    def path(self) -> str:
        """Path or URL that it was opened at."""

    @property
    def size_bytes(self) -> int:
        """Size of the object in bytes."""

    @property
    def etag(self) -> str:
        """ETag of the version, with the quotes around it; empty for local files."""

    @property
    def version(self) -> str:
        """Name of the version: the ETag, or what takes its part; see :meth:`Store.version`."""

    @property
    def descriptor(self) -> int | None:
        """Descriptor of the open file, `CLOSED` afterwards; None where there is no such thing."""

    def read(self, start: int, stop: int) -> bytes:
        """Read the bytes of a half-open range, all of them."""

    def pieces(self, start: int, stop: int) -> Generator[bytes]:
        """Read the bytes of a half-open range piece by piece.

        On S3 all of them come with one request.
        """

    def reopen(self) -> Reader:
        """Open the object once more, after it was closed; on S3 without another request."""

    def close(self) -> None:
        """Release what the reader holds; a second time does nothing."""


class Draft(Protocol):
    """An object in the making."""

    @property
    def copied_bytes(self) -> int:
        """Number of bytes that the store took over by itself."""

    @property
    def written_bytes(self) -> int:
        """Number of bytes that went through this program."""

    @property
    def kept_by(self) -> str:
        """Way of taking bytes over: ``reflink``, ``copy``, ``server`` or ``upload``."""

    def write(self, data: bytes, /) -> int:
        """Write bytes at the end."""

    def copy_range(self, source: Reader, start: int, stop: int) -> None:
        """Write a half-open range of another object at the end, by the store where it can."""


@record
class Entry:
    """An object that a listing has."""

    location: str  # its path or URL
    size_bytes: int  # its size
    version: str  # its version, see :meth:`Store.version`
    modified_us: int  # when it appeared, in microseconds since 1970, by the clock of the store
    # When anything about it changed, such as its content, name or times; 0 in a store in which
    # objects appear whole
    changed_us: int = 0

    @property
    def name(self) -> str:
        """Its name, without what is above."""
        return self.location.rpartition("/")[2]


class Store(Protocol):
    """A place for objects; :func:`sdb.store.url.store_of` gives the one that a location is in.

    Every method may raise `AccessError` where something may not be done, `UsageError` for a
    location that cannot be one of an object, and `SdbError` when the store cannot be reached.
    """

    @property
    def is_remote(self) -> bool:
        """True where each read is a request over the network."""

    def open(self, location: Location, *, head_bytes: int = 0, start: int = 0) -> Reader:
        """Open an object for reading.

        * ``head_bytes``: How many bytes of its beginning will be wanted first. Without them those
          of its end are expected to be wanted: on S3 the request that opens an object reads the one
          or the other.
        * ``start``: Where the bytes that will be wanted first begin, if that is not the beginning.

        Raises `NotFoundError` if there is no such object.
        """

    def version(self, location: Location) -> str | None:
        """Return the version of an object: a name that no other content has there.

        Returns: What the `version` of a reader is that is opened now; None: there is no object.
        """

    def head(self, location: Location) -> Entry | None:
        """Return what a listing would say of an object, unread; None: no such object."""

    def list(
        self, folder: Location, *, after: str = "", most: int | None = None
    ) -> Sequence[Entry]:
        """List the objects directly below a folder.

        * ``folder``: A path or URL, with or without a slash at its end.
        * ``most``: The number of the first ones; all if not given.
        """

    def folders(self, folder: Location) -> Sequence[str]:
        """List the folders directly below a folder.

        * ``folder``: A path or URL, with or without a slash at its end.
        """

    def below(self, folder: Location) -> Iterator[Entry]:
        """List the objects below a folder at any depth, links to folders not followed.

        * ``folder``: A path or URL, with or without a slash at its end.

        Yields: In any order, hidden ones too where there are such; none where there is no folder.
        """

    def find(self, pattern: str) -> Sequence[Entry]:
        """List the objects that a pattern matches.

        * ``pattern``: ``*`` and ``?`` match anything but ``/``, ``**`` matches folders, ``[abc]``
          one of these characters.
        """

    def matcher(self, pattern: str) -> Callable[[str], bool]:
        """Return what tells whether a path or URL is one that a pattern has found the folder of."""

    def has(self, location: Location) -> bool | None:
        """Return whether there is an object; None where the answer would take a request."""

    def is_folder(self, location: Location) -> bool:
        """Return whether a location is that of a folder: by its slash at the end, or by itself."""

    def path_of(self, location: Location) -> str | None:
        """Return the path that programs of the system know an object by; None: it has no path."""

    def create(
        self, location: Location, *, overwrite: bool = False
    ) -> AbstractContextManager[BinaryIO]:
        """Open an object for writing that appears when the block ends, or not at all.

        Raises `ExistsError` if there is an object, and `overwrite` is off; `UncertainError` if it
        is not known whether the object was written.
        """

    def create_from_prefix(
        self,
        source: Reader,
        kept_bytes: int,
        location: Location,
        *,
        overwrite: bool = False,
        single_writer: bool = False,
    ) -> AbstractContextManager[Draft]:
        """Begin an object with the first bytes of another one; it appears when the block ends.

        * ``location``: Where it shall be. Where `source` was opened, it is replaced if it is still
          the same.
        * ``overwrite``: Whether an existing object at another place may be replaced.
        * ``single_writer``: Whether the caller guarantees to be the only writer, so that the
          store need not enforce conditions.

        Raises `ConflictError` if another writer replaced `source` since it was opened; that version
        stays; `ExistsError` or `UncertainError` as :meth:`create` does; `UnsupportedError` if the
        store ignores conditions, and `single_writer` is off.
        """

    def put_if_match(
        self,
        location: Location,
        data: bytes,
        replaced: Reader | None,
        *,
        durable: bool = True,
        flush_after: Sequence[Location] = (),
    ) -> str:
        """Put an object in the place of the version that was read, if it is still the one there.

        * ``location``: A path or URL. A writer that replaces an object holds its :meth:`lock`.
        * ``replaced``: The version that was read; None: there was none.
        * ``durable``: Whether it outlives a crash of the machine by itself. Otherwise an object
          that leads to it makes it durable, by `flush_after`.
        * ``flush_after``: Objects that were written without being durable: they are flushed before
          this one appears, so that they outlive a crash of the machine if it does.

        Returns: The version that was written; empty when the answer was lost, so that it was seen
        to be written only after someone had replaced it.
        Raises `ConflictError` if another writer was faster; that version stays; `UnsupportedError`
        if the store ignores conditions; `UncertainError` if it is not known whether the object was
        written.
        """

    def delete(self, location: Location) -> None:
        """Delete an object; one that is not there is deleted already."""

    def lock(self, location: Location, *, is_brief: bool = False) -> AbstractContextManager[None]:
        """Keep others that lock an object from replacing it while the block runs; waits for them.

        Where the store itself rejects writers that lose the race, as S3 does, this does not wait,
        and losers have to retry.

        * ``is_brief``: Whether the block replaces the object and does little else. Then the lock
          that some servers need for that is taken at the beginning of the block, so that it
          cannot lose the race.

        Raises `NotFoundError` if there is nothing to lock, and the store locks objects.
        """

    def make_folder(self, folder: Location) -> None:
        """Make a folder and those above it, unless it is there."""

    def uploads(self, folder: Location) -> Sequence[Entry]:
        """List what was begun below a folder at any depth, and is neither complete nor listed.

        Returns: Where the objects would be, with the number of the upload in the place of the
        version, the time at which it was begun, and no size; none in a store that lists all there
        is.
        """

    def abort_upload(self, upload: Entry) -> None:
        """Abort an upload; one that is gone is aborted already."""

    def abort_orphaned_uploads(self, folder: Location, is_ours: Callable[[str], bool]) -> None:
        """Abort the uploads that killed writers have left below a folder.

        * ``is_ours``: Tells by the name of the object that would have come of it whether to abort
          it. What a file system without nameless files keeps has the first 50 characters
          of it.
        """

    def diagnose(self, location: Location) -> Diagnosis:
        """Try what the store does, see :func:`sdb.store.s3.doctor.diagnose`."""


class LeftOpen:
    """A context manager that gives an open file and does not close it."""

    __slots__ = ("_file",)

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def __enter__(self) -> BinaryIO:
        """Return the file."""
        return self._file

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Leave it as it is."""


def child(folder: Location, name: str) -> str:
    """Return the path or URL of an object directly below a folder."""
    above = os.fspath(folder)
    return above + name if above.endswith("/") else f"{above}/{name}"


def read_pieces(reader: Reader, start: int, stop: int) -> Generator[bytes]:
    """Read a half-open range, at most 256 KiB at a time: they stay in a core's cache."""
    for at in range(start, stop, PIECE_BYTES):
        yield reader.read(at, min(at + PIECE_BYTES, stop))
