"""A store in memory whose every call can be scheduled, fail or lose its answer.

It serves simulations: the code that is tried is the real one, and only the store is played. What
it does is what S3 does: objects appear in one step, ETags tell their contents, conditions choose
one of several writers, and a reader of a version that was replaced gets an error. What it leaves
out is what :mod:`sdb.store.s3` hides: a lost answer is an `UncertainError` at once.
"""

from __future__ import annotations

import io
import os
import time
from contextlib import contextmanager
from hashlib import md5
from typing import cast

from sdb.errors import (
    ConflictError,
    CorruptError,
    ExistsError,
    NotFoundError,
    UsageError,
)
from sdb.records import record
from sdb.store import keypatterns
from sdb.store.base import TAIL_BYTES, Entry, child, read_pieces
from sdb.store.faults import Calls
from sdb.store.objectstore_base import ObjectReaderBase, ObjectStoreBase

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence
    from contextlib import AbstractContextManager
    from typing import BinaryIO, NoReturn

    from sdb.store.base import Draft, Location, Reader
    from sdb.store.faults import Fault, StoreCall


@record
class _Object:
    data: bytes
    etag: str
    modified_us: int


class MemoryStore(ObjectStoreBase):
    """Objects in memory; see :class:`sdb.store.base.Store` for what the methods do.

    * ``script``: Is told each call and gives what goes wrong with it, see :mod:`sdb.store.faults`.
    * ``clock``: Gives the time of the store, in microseconds since 1970.
    """

    def __init__(
        self,
        script: Callable[[StoreCall], Fault | None] | None = None,
        clock: Callable[[], int] | None = None,
    ) -> None:
        self.calls = Calls(script)
        self._clock = clock or (lambda: time.time_ns() // 1000)
        self._objects: dict[str, _Object] = {}

    @property
    def contents(self) -> dict[str, bytes]:
        """The objects as they are, by location; looking at them is no call."""
        return {url: stored.data for url, stored in self._objects.items()}

    def open(self, location: Location, *, head_bytes: int = 0, start: int = 0) -> MemoryReader:
        """Open an object for reading; a small one is read by the same call."""
        url = _object(location)
        with self.calls.call("open", url, "opening"):
            stored = self._found(url, "opening")
            known = (start, min(start + head_bytes, len(stored.data)))
            if not head_bytes:
                known = (max(0, len(stored.data) - TAIL_BYTES), len(stored.data))
            return MemoryReader(self, url, len(stored.data), stored.etag, known, stored.data)

    def read(self, reader: MemoryReader, start: int, stop: int) -> bytes:
        """Read a range of the version that a reader has opened."""
        with self.calls.call("read", reader.path, "reading"):
            return self._same(reader, "reading").data[start:stop]

    def version(self, location: Location) -> str | None:
        """Return the ETag of an object."""
        url = _object(location)
        with self.calls.call("version", url, "looking at"):
            stored = self._objects.get(url)
            return None if stored is None else stored.etag

    def head(self, location: Location) -> Entry | None:
        """Look at an object."""
        url = _object(location)
        with self.calls.call("version", url, "looking at"):
            stored = self._objects.get(url)
            if stored is None:
                return None
            return Entry(url, len(stored.data), stored.etag, stored.modified_us)

    def list(
        self, folder: Location, *, after: str = "", most: int | None = None
    ) -> Sequence[Entry]:
        """List the objects directly below a folder."""
        above = child(folder, "")
        start = len(above)

        def fits(url: str) -> bool:
            return url.startswith(above) and "/" not in url[start:] and url[start:] > after

        with self.calls.call("list", above, "listing"):
            return self._entries(fits)[:most]

    def folders(self, folder: Location) -> Sequence[str]:
        """List what locations below a folder have before their next slash."""
        above = child(folder, "")
        with self.calls.call("list", above, "listing"):
            below = (url[len(above) :] for url in self._objects if url.startswith(above))
            return sorted({rest.partition("/")[0] for rest in below if "/" in rest[1:]})

    def below(self, folder: Location) -> Iterator[Entry]:
        """List the objects below a folder at any depth."""
        above = child(folder, "")
        with self.calls.call("list", above, "listing"):
            entries = self._entries(lambda url: url.startswith(above))
        yield from entries

    def find(self, pattern: str) -> Sequence[Entry]:
        """List the objects that a pattern matches."""
        with self.calls.call("list", pattern, "listing"):
            return self._entries(self.matcher(pattern))

    def matcher(self, pattern: str) -> Callable[[str], bool]:
        """Return what tells whether a pattern matches a URL."""
        return keypatterns.matcher("", pattern)

    def create(
        self, location: Location, *, overwrite: bool = False
    ) -> AbstractContextManager[BinaryIO]:
        """Open an object for writing; one call looks whether it is there, one writes it."""
        return self._create(_object(location), overwrite=overwrite)

    @contextmanager
    def _create(self, url: str, *, overwrite: bool) -> Iterator[BinaryIO]:
        if not overwrite:
            self._check_absent(url)
        draft = _MemoryDraft(self)
        yield cast("BinaryIO", _DraftFile(draft))
        self._put(url, draft.data, None if overwrite else "")

    def create_from_prefix(
        self,
        source: Reader,
        kept_bytes: int,
        location: Location,
        *,
        overwrite: bool = False,
        single_writer: bool = False,
    ) -> AbstractContextManager[Draft]:
        """Begin an object with the bytes of another one; a call copies, and one writes."""
        url = _object(location)
        replaced = source if isinstance(source, MemoryReader) and source.path == url else None
        condition = None if overwrite else ""
        if replaced is not None:
            condition = None if single_writer else replaced.etag
        return self._grow(url, source, kept_bytes, condition)

    @contextmanager
    def _grow(
        self, url: str, source: Reader, kept_bytes: int, condition: str | None
    ) -> Iterator[Draft]:
        if condition == "":
            self._check_absent(url)
        draft = _MemoryDraft(self)
        draft.copy_range(source, 0, kept_bytes)
        yield draft
        self._put(url, draft.data, condition)

    def copied(self, source: MemoryReader, start: int, stop: int) -> bytes:
        """Copy a range of an object into a draft."""
        with self.calls.call("copy", source.path, "copying"):
            return self._same(source, "copying").data[start:stop]

    def put_if_match(
        self,
        location: Location,
        data: bytes,
        replaced: Reader | None,
        *,
        durable: bool = True,  # noqa: ARG002 - what is there stays
        flush_after: Sequence[Location] = (),  # noqa: ARG002
    ) -> str:
        """Put an object in the place of the version that was read; one call."""
        url = _object(location)
        if replaced is not None and replaced.path != url:
            raise UsageError(f"{replaced.path} was read, and not what {url} replaces", path=url)
        try:
            return self._put(url, data, "" if replaced is None else replaced.etag)
        except ExistsError as error:
            raise ConflictError(error.message, path=url, hint="run it again") from error

    def delete(self, location: Location) -> None:
        """Delete an object."""
        url = _object(location)
        with self.calls.call("delete", url, "removing"):
            self._objects.pop(url, None)

    @contextmanager
    def _lock(self, url: str) -> Iterator[None]:
        with self.calls.call("lock", url, "locking"):
            pass
        yield

    def lock(
        self,
        location: Location,
        *,
        is_brief: bool = False,  # noqa: ARG002 - nobody waits
    ) -> AbstractContextManager[None]:
        """Lock nothing: writers that lose the race retry."""
        return self._lock(_object(location))

    def uploads(self, folder: Location) -> Sequence[Entry]:  # noqa: ARG002
        """List nothing: what is not complete is nowhere."""
        return ()

    def abort_upload(self, upload: Entry) -> None:
        """Return nothing up."""

    def abort_orphaned_uploads(self, folder: Location, is_ours: Callable[[str], bool]) -> None:
        """Return nothing up: what is not complete dies with its writer."""

    def diagnose(self, location: Location) -> NoReturn:
        """Refuse: there is no endpoint to try."""
        raise UsageError(f"{os.fspath(location)} is no URL of S3", expected="s3://bucket/prefix")

    def _put(self, url: str, data: bytes, condition: str | None) -> str:
        """Write an object if its ETag is `condition`; empty: if it is absent; None: always."""
        with self.calls.call("put", url, "writing"):
            now = self._objects.get(url)
            if condition == "" and now is not None:
                raise _exists(url)
            if condition and (now is None or now.etag != condition):
                raise _changed(url, "writing")
            etag = f'"{md5(data, usedforsecurity=False).hexdigest()}"'
            self._objects[url] = _Object(data, etag, self._clock())
            return etag

    def _check_absent(self, url: str) -> None:
        with self.calls.call("version", url, "writing"):
            if url in self._objects:
                raise _exists(url)

    def _found(self, url: str, action: str) -> _Object:
        stored = self._objects.get(url)
        if stored is None:
            raise NotFoundError(f"{action} {url}: no such object", path=url)
        return stored

    def _same(self, reader: MemoryReader, action: str) -> _Object:
        stored = self._found(reader.path, action)
        if stored.etag != reader.etag:
            raise _changed(reader.path, action)
        return stored

    def _entries(self, fits: Callable[[str], bool]) -> Sequence[Entry]:
        return [
            Entry(url, len(stored.data), stored.etag, stored.modified_us)
            for url, stored in sorted(self._objects.items())
            if fits(url)
        ]


class MemoryReader(ObjectReaderBase):
    """One version of an object, open for reading; what was read when it was opened stays known."""

    __slots__ = ("_known", "_known_start", "_store", "etag", "path", "size_bytes")

    def __init__(
        self,
        store: MemoryStore,
        path: str,
        size_bytes: int,
        etag: str,
        known: tuple[int, int],
        data: bytes,
    ) -> None:
        self.path, self.size_bytes, self.etag = path, size_bytes, etag
        self._store = store
        self._known_start, stop = known
        self._known = data[self._known_start : stop]

    def read(self, start: int, stop: int) -> bytes:
        """Read the bytes of a half-open range."""
        if stop > self.size_bytes:
            message = f"reading {self.path}: the object ends at byte {self.size_bytes:,}"
            raise CorruptError(message, path=self.path, offset=self.size_bytes)
        if self._known_start <= start <= stop <= self._known_start + len(self._known):
            return self._known[start - self._known_start : stop - self._known_start]
        return self._store.read(self, start, stop)

    def pieces(self, start: int, stop: int) -> Generator[bytes]:
        """Read the bytes of a half-open range piece by piece."""
        return read_pieces(self, start, stop)


class _MemoryDraft:
    """An object in the making; nobody sees it before it is written."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._pieces: list[bytes] = []
        self.copied_bytes = self.written_bytes = 0
        self.kept_by = "upload"

    @property
    def data(self) -> bytes:
        return b"".join(self._pieces)

    def write(self, data: bytes, /) -> int:
        self._pieces.append(bytes(data))
        self.written_bytes += len(data)
        return len(data)

    def copy_range(self, source: Reader, start: int, stop: int) -> None:
        if isinstance(source, MemoryReader):
            self._pieces.append(self._store.copied(source, start, stop))
            self.copied_bytes += stop - start
            self.kept_by = "server"
            return
        for piece in source.pieces(start, stop):
            self.write(piece)


class _DraftFile(io.RawIOBase):
    """Makes a draft a file."""

    def __init__(self, draft: _MemoryDraft) -> None:
        super().__init__()
        self._draft = draft

    def writable(self) -> bool:
        return True

    def write(self, data: object, /) -> int:
        return self._draft.write(bytes(cast("bytes", data)))


def _object(location: Location) -> str:
    url = os.fspath(location)
    if url.endswith("/"):
        raise UsageError(f"{url}: names no object", path=url)
    return url


def _exists(url: str) -> ExistsError:
    return ExistsError(f"{url} exists already", path=url, hint="--force replaces it")


def _changed(url: str, action: str) -> ConflictError:
    return ConflictError(
        f"{action} {url}: another writer changed it", path=url, hint="run it again"
    )
