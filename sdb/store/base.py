"""The protocols of stores: objects are listed, read, made, replaced and deleted.

Code above this package is written for these protocols and knows no store. A store needs no folders:
they come and go with what is in them. An object appears in one step, when it is complete; whoever
has opened one goes on reading that version of it, or is told that it is gone.
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
    """An object that a listing has.

    Attributes
    ----------
    location : str
        Its path or URL.
    size_bytes : int
        Its size.
    version : str
        Its version, see :meth:`Store.version`.
    modified_us : int
        When it appeared, in microseconds since 1970, by the clock of the store.
    changed_us : int
        When anything about it changed, such as its content, name or times; 0 in a store in which
        objects appear whole.
    """

    location: str
    size_bytes: int
    version: str
    modified_us: int
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

        Parameters
        ----------
        location : path or str
            A path or URL.
        head_bytes : int
            How many bytes of its beginning will be wanted first. Without them those of its end are
            expected to be wanted: on S3 the request that opens an object reads the one or the
            other.
        start : int
            Where the bytes that will be wanted first begin, if that is not the beginning.

        Returns
        -------
        Reader
            The version that is there now; the caller closes it.

        Raises
        ------
        NotFoundError
            There is no such object.
        """

    def version(self, location: Location) -> str | None:
        """Give the version of an object: a name that no other content has there.

        Returns
        -------
        str or None
            What the `version` of a reader is that is opened now; None: there is no object.
        """

    def look(self, location: Location) -> Entry | None:
        """Look at an object, as a listing would; None: there is none."""

    def list(
        self, folder: Location, *, after: str = "", most: int | None = None
    ) -> Sequence[Entry]:
        """List the objects directly below a folder.

        Parameters
        ----------
        folder : path or str
            A path or URL, with or without a slash at its end.
        after : str
            Only names behind this one.
        most : int, optional
            The first so many of them; all if not given.

        Returns
        -------
        sequence of Entry
            Sorted by name; none where there is no folder.
        """

    def folders(self, folder: Location) -> Sequence[str]:
        """List the folders directly below a folder.

        Parameters
        ----------
        folder : path or str
            A path or URL, with or without a slash at its end.

        Returns
        -------
        sequence of str
            Their names, sorted; none where there is no folder.
        """

    def below(self, folder: Location) -> Iterator[Entry]:
        """List the objects below a folder at any depth, links to folders not followed.

        Parameters
        ----------
        folder : path or str
            A path or URL, with or without a slash at its end.

        Yields
        ------
        Entry
            In any order, hidden ones too where there are such; none where there is no folder.
        """

    def find(self, pattern: str) -> Sequence[Entry]:
        """List the objects that a pattern matches.

        Parameters
        ----------
        pattern : str
            ``*`` and ``?`` match anything but ``/``, ``**`` matches folders, ``[abc]`` one of these
            characters.

        Returns
        -------
        sequence of Entry
            Sorted by name.
        """

    def matcher(self, pattern: str) -> Callable[[str], bool]:
        """Give what tells whether a path or URL is one that a pattern has found the folder of."""

    def has(self, location: Location) -> bool | None:
        """Tell whether there is an object; None where the answer would take a request."""

    def is_folder(self, location: Location) -> bool:
        """Tell whether a location is that of a folder: by its slash at the end, or by itself."""

    def path_of(self, location: Location) -> str | None:
        """Give the path that programs of the system know an object by; None: there is none."""

    def create(
        self, location: Location, *, overwrite: bool = False
    ) -> AbstractContextManager[BinaryIO]:
        """Open an object for writing that appears when the block ends, or not at all.

        Parameters
        ----------
        location : path or str
            A path or URL.
        overwrite : bool
            Whether an existing object may be replaced.

        Returns
        -------
        context manager
            Gives the file to write to.

        Raises
        ------
        ExistsError
            There is an object, and `overwrite` is off.
        UncertainError
            It is not known whether the object was written.
        """

    def grow(
        self,
        source: Reader,
        kept_bytes: int,
        location: Location,
        *,
        overwrite: bool = False,
        single_writer: bool = False,
    ) -> AbstractContextManager[Draft]:
        """Begin an object with the first bytes of another one; it appears when the block ends.

        Parameters
        ----------
        source : Reader
            The object to begin with, of any store.
        kept_bytes : int
            How many of its bytes.
        location : path or str
            Where it shall be. Where `source` was opened, it is replaced if it is still the same.
        overwrite : bool
            Whether an existing object at another place may be replaced.
        single_writer : bool
            Whether the caller vouches for nobody else writing there, so that the store need not
            insist on conditions.

        Returns
        -------
        context manager
            Gives what takes the bytes that follow.

        Raises
        ------
        ConflictError
            Someone replaced `source` since it was opened; theirs stays.
        ExistsError, UncertainError
            See :meth:`create`.
        UnsupportedError
            The store ignores conditions, and `single_writer` is off.
        """

    def put_if(
        self,
        location: Location,
        data: bytes,
        replaced: Reader | None,
        *,
        ahead: bool = False,
        after: Sequence[Location] = (),
    ) -> str:
        """Put an object in the place of the version that was read, if it is still the one there.

        Parameters
        ----------
        location : path or str
            A path or URL. Whoever replaces an object holds its lock, see :meth:`lock`.
        data : bytes
            The new object.
        replaced : Reader or None
            The version that was read; None: there was none.
        ahead : bool
            Whether it need not outlive a crash of the machine by itself: another object that
            leads to it is put `after` it.
        after : sequence of path or str
            Objects that were put ahead: they outlive a crash of the machine if this one does.

        Returns
        -------
        str
            The version that was written; empty when the answer was lost, so that it was seen to be
            written only after someone had replaced it.

        Raises
        ------
        ConflictError
            Someone else was faster; theirs stays.
        UnsupportedError
            The store ignores conditions.
        UncertainError
            It is not known whether the object was written.
        """

    def delete(self, location: Location) -> None:
        """Delete an object; one that is not there is deleted already."""

    def lock(self, location: Location, *, is_brief: bool = False) -> AbstractContextManager[None]:
        """Keep others that lock an object from replacing it while the block runs; waits for them.

        Where the store chooses among writers by itself, as S3 does, nobody waits: who comes second
        starts over.

        Parameters
        ----------
        location : path or str
            A path or URL.
        is_brief : bool
            Whether the block replaces the object and does little else. Then the lock that some
            servers need for that is taken at the beginning of the block, so that nobody comes
            second.

        Raises
        ------
        NotFoundError
            There is nothing to lock, and the store locks objects.
        """

    def make(self, folder: Location) -> None:
        """Make a folder and those above it, unless it is there."""

    def uploads(self, folder: Location) -> Sequence[Entry]:
        """List what was begun below a folder at any depth, and is neither complete nor listed.

        Parameters
        ----------
        folder : path or str
            A path or URL.

        Returns
        -------
        sequence of Entry
            Where the objects would be, with the number of the upload in the place of the version,
            the time at which it was begun, and no size; none in a store that lists all there is.
        """

    def give_up(self, upload: Entry) -> None:
        """Give up an upload; one that is not there is given up already."""

    def abandon(self, folder: Location, is_ours: Callable[[str], bool]) -> None:
        """Give up what writers that were killed have begun below a folder.

        Parameters
        ----------
        folder : path or str
            A path or URL.
        is_ours : callable
            Tells by the name of the object that would have come of it whether it is to be given
            up. What a file system without nameless files keeps has the first 50 characters of it.
        """

    def diagnose(self, location: Location) -> Diagnosis:
        """Try what the store does, see :func:`sdb.store.s3.doctor.diagnose`."""


class LeftOpen:
    """A context manager that gives an open file and does not close it.

    Parameters
    ----------
    file : binary file
        The file.
    """

    __slots__ = ("_file",)

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def __enter__(self) -> BinaryIO:
        """Give the file."""
        return self._file

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Leave it as it is."""


def child(folder: Location, name: str) -> str:
    """Give the path or URL of an object directly below a folder."""
    above = os.fspath(folder)
    return above + name if above.endswith("/") else f"{above}/{name}"


def read_pieces(reader: Reader, start: int, stop: int) -> Generator[bytes]:
    """Read the bytes of a half-open range, at most 256 KiB at a time: they stay in a core's cache.

    Parameters
    ----------
    reader : Reader
        An object that is near.
    start, stop : int
        Positions in the object, in bytes.

    Yields
    ------
    bytes
        The pieces.
    """
    for at in range(start, stop, PIECE_BYTES):
        yield reader.read(at, min(at + PIECE_BYTES, stop))
