"""The local file system as a store."""

from __future__ import annotations

import os
import stat

from sdb.errors import ConflictError, ExistsError, NotFoundError, UsageError
from sdb.store.base import Entry, child
from sdb.store.local.files import Translated, open_read, version_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from typing import BinaryIO, NoReturn

    from sdb.store.base import Draft, Location, Reader
    from sdb.store.local.files import LocalReader

_SCHEME = "file://"


def local_path(location: Location) -> str:
    """Return the path of a local object.

    * ``location``: A path, or a URL that begins with ``file://``.

    Raises `UsageError` if the location is ``-`` or empty: standard input and output are streams,
    not stores.
    """
    path = os.fspath(location).removeprefix(_SCHEME)
    if path in {"", "-"}:
        raise UsageError(
            "a packfile is read at any position, so it must be a file and not a pipe",
            hint="sdb pack -o FILE.zion - packs what comes through a pipe",
        )
    return path


class LocalStore:
    """Files by their paths; see :class:`sdb.store.base.Store` for what the methods do.

    Everything is known by its path alone, so that there is no state.
    """

    __slots__ = ()

    is_remote = False

    def open(
        self,
        location: Location,
        *,
        head_bytes: int = 0,  # noqa: ARG002 - to open a file reads nothing
        start: int = 0,  # noqa: ARG002
    ) -> LocalReader:
        """Open a file for reading."""
        return open_read(local_path(location))

    def version(self, location: Location) -> str | None:
        """Return the version of a file: size, place on the disk and time of writing."""
        path = local_path(location)
        try:
            with Translated(path, "looking at"):
                return version_of(os.stat(path))  # noqa: PTH116 - a plain string
        except NotFoundError:
            return None

    def head(self, location: Location) -> Entry | None:
        """Look at a file."""
        entries = _entries([os.fspath(location)])
        return entries[0] if entries else None

    def list(
        self, folder: Location, *, after: str = "", most: int | None = None
    ) -> Sequence[Entry]:
        """List the files directly below a folder, hidden ones too."""
        path = local_path(folder)
        try:
            with Translated(path, "listing"), os.scandir(path) as listing:
                of_name = {
                    entry.name: entry for entry in listing if entry.name > after and entry.is_file()
                }
        except NotFoundError:
            return []
        above = child(folder, "")
        entries = []
        for name in sorted(of_name)[:most]:
            try:
                entries.append(_entry(above + name, of_name[name].stat()))
            except OSError:
                continue  # it went away meanwhile
        return entries

    def folders(self, folder: Location) -> Sequence[str]:
        """List the folders directly below a folder, hidden ones too."""
        path = local_path(folder)
        try:
            with Translated(path, "listing"), os.scandir(path) as listing:
                return sorted(entry.name for entry in listing if entry.is_dir())
        except NotFoundError:
            return []

    def below(self, folder: Location) -> Iterator[Entry]:
        """List the files below a folder at any depth; symbolic links are none."""
        pending = [os.fspath(folder)]
        while pending:
            path = pending.pop()
            names = []
            try:
                with Translated(path, "listing"), os.scandir(local_path(path)) as listing:
                    for entry in listing:
                        if entry.is_dir(follow_symlinks=False):
                            pending.append(child(path, entry.name))
                        elif not entry.is_symlink():
                            names.append(entry.name)
            except NotFoundError:
                continue
            yield from _entries(child(path, name) for name in names)

    def find(self, pattern: str) -> Sequence[Entry]:
        """List the files that a pattern matches, see :func:`sdb.store.local.globbing.matching`."""
        from sdb.store.local.globbing import matching

        return _entries(matching(local_path(pattern)))

    def matcher(self, pattern: str) -> Callable[[str], bool]:
        """Return a matcher of a pattern and the name of a file in a folder that it found."""
        from fnmatch import fnmatchcase

        last = pattern.rpartition("/")[2]
        return lambda path: fnmatchcase(path.rpartition("/")[2], last)

    def has(self, location: Location) -> bool:
        """Return whether there is a file."""
        return os.path.isfile(local_path(location))  # noqa: PTH113 - a plain string

    def is_folder(self, location: Location) -> bool:
        """Return whether a path is that of a folder."""
        path = os.fspath(location)
        return path.endswith("/") or os.path.isdir(path.removeprefix(_SCHEME))  # noqa: PTH112

    def path_of(self, location: Location) -> str:
        """Return the path of a file."""
        return local_path(location)

    def create(
        self, location: Location, *, overwrite: bool = False
    ) -> AbstractContextManager[BinaryIO]:
        """Open a file for writing, see :func:`sdb.store.local.atomic.atomic_write`."""
        from sdb.store.local import atomic

        return atomic.atomic_write(local_path(location), overwrite=overwrite)

    def create_from_prefix(
        self,
        source: Reader,
        kept_bytes: int,
        location: Location,
        *,
        overwrite: bool = False,
        single_writer: bool = False,  # noqa: ARG002 - the lock keeps others out
    ) -> AbstractContextManager[Draft]:
        """Begin a file with the bytes of another one, see :func:`sdb.store.local.growing.grow`."""
        from sdb.store.local import growing

        return growing.create_from_prefix(
            source, kept_bytes, local_path(location), overwrite=overwrite
        )

    def put_if_match(
        self,
        location: Location,
        data: bytes,
        replaced: Reader | None,
        *,
        durable: bool = True,
        flush_after: Sequence[Location] = (),
    ) -> str:
        """Put a file in the place of the version that was read."""
        from sdb.store.local import atomic, growing

        path = local_path(location)
        folders = sorted({os.path.dirname(local_path(flushed)) for flushed in flush_after})  # noqa: PTH120
        if replaced is not None:
            with growing.create_from_prefix(replaced, 0, path, flush_after=folders) as draft:
                draft.write(data)
                return draft.version
        try:
            with atomic.AtomicWrite(path, durable=durable, flush_after=folders) as file:
                file.write(data)
                file.flush()
                return version_of(os.fstat(file.fileno()))
        except ExistsError as error:
            hint = "run it again"
            raise ConflictError(
                f"{path} was created by another writer", path=path, hint=hint
            ) from error

    def delete(self, location: Location) -> None:
        """Delete a file."""
        path = local_path(location)
        try:
            with Translated(path, "removing"):
                os.unlink(path)  # noqa: PTH108 - a plain string
        except NotFoundError:
            return

    def lock(
        self,
        location: Location,
        *,
        is_brief: bool = False,  # noqa: ARG002 - everybody waits
    ) -> AbstractContextManager[None]:
        """Wait for the lock of a file, see :func:`sdb.store.local.growing.locked`."""
        from sdb.store.local import growing

        return growing.locked(local_path(location))

    def make_folder(self, folder: Location) -> None:
        """Make a folder and those above it."""
        path = local_path(folder)
        with Translated(path):
            _make(path)

    def uploads(self, folder: Location) -> Sequence[Entry]:  # noqa: ARG002
        """List nothing: hidden files are listed like others."""
        return ()

    def abort_upload(self, upload: Entry) -> None:
        """Return nothing up."""

    def abort_orphaned_uploads(self, folder: Location, is_ours: Callable[[str], bool]) -> None:
        """Remove the hidden files of writers that were killed."""
        for entry in self.list(folder):
            name = entry.name
            if name.startswith(".") and name.endswith(".tmp") and is_ours(name[1:]):
                self.delete(entry.location)

    def diagnose(self, location: Location) -> NoReturn:
        """Refuse: the file system needs no trial."""
        text = os.fspath(location)
        raise UsageError(f"{text} is no URL of S3", expected="s3://bucket/prefix")


def _make(path: str) -> None:
    """Make a folder that outlives a crash of the machine, and those above it."""
    from sdb.store.local import atomic

    above = os.path.dirname(path) or "."  # noqa: PTH120 - a plain string
    try:
        try:
            os.mkdir(path)  # noqa: PTH102
        except FileNotFoundError:
            _make(above)
            os.mkdir(path)  # noqa: PTH102 - which someone else may have made meanwhile
    except FileExistsError:
        if not os.path.isdir(path):  # noqa: PTH112
            raise
        return
    atomic.flush_folders([above])


def _entries(locations: Iterable[str]) -> list[Entry]:
    """Look at files; those that went away meanwhile, and folders, are left out."""
    entries = []
    for location in locations:
        try:
            status = os.stat(location.removeprefix(_SCHEME))  # noqa: PTH116 - a plain string
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode):
            entries.append(_entry(location, status))
    return entries


def _entry(location: str, status: os.stat_result) -> Entry:
    times_us = (status.st_mtime_ns // 1000, status.st_ctime_ns // 1000)
    return Entry(location, status.st_size, version_of(status), *times_us)
