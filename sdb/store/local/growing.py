"""Local files that grow: a new file takes over the first bytes of the old one, and then its name.

The old file is never written to, so its readers go on reading it. See
docs/decisions/005-append.md.
"""
# ruff: noqa: PTH116 - descriptors, as in sdb.store.local.atomic

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat

from sdb.errors import AccessError, ConflictError, CorruptError, UsageError, from_os
from sdb.log import Logger
from sdb.store.local.atomic import Unnamed, flush_folders, resolve
from sdb.store.local.files import LocalReader, Translated, open_read, version_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import BinaryIO

    from sdb.store.base import Reader

_log = Logger("sdb.store.local")
_FICLONE = 0x40049409
_WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
_STEP_BYTES = 64 << 20
_NO_CLONES = {
    errno.EOPNOTSUPP,
    errno.EXDEV,
    errno.EINVAL,
    errno.ENOTTY,
    errno.ENOSYS,
    errno.EPERM,
    errno.ETXTBSY,
}
_NO_COPIES = _NO_CLONES | {errno.EBADF, errno.EIO}
_NO_LOCKS = {errno.EBADF, errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL}


class LocalDraft:
    """A file in the making whose first bytes are those of another one.

    * ``kept_by``: ``reflink`` when both files share them on the disk, ``copy`` when they were
      copied.
    """

    __slots__ = ("_file", "copied_bytes", "kept_by", "written_bytes")

    def __init__(self, file: BinaryIO, source: Reader, kept_bytes: int) -> None:
        self._file = file
        self.copied_bytes = kept_bytes
        self.written_bytes = 0
        self.kept_by = _take_over(source, file.fileno(), kept_bytes)

    def write(self, data: bytes, /) -> int:
        """Write bytes at the end."""
        self.written_bytes += len(data)
        return self._file.write(data)

    @property
    def version(self) -> str:
        """Name of the version that it will be, if nothing more is written."""
        self._file.flush()
        return version_of(os.fstat(self._file.fileno()))

    def copy_range(self, source: Reader, start: int, stop: int) -> None:
        """Write a half-open range of another object at the end, by the kernel where it can."""
        self._file.flush()
        _copy(source, self._file.fileno(), start, stop)
        self.copied_bytes += stop - start


@contextlib.contextmanager
def create_from_prefix(
    source: Reader,
    kept_bytes: int,
    path: str,
    *,
    overwrite: bool = False,
    flush_after: Sequence[str] = (),
) -> Iterator[LocalDraft]:
    """Write a file that begins with the bytes of another one, and appears when it is complete.

    Everything that :func:`sdb.store.local.atomic.atomic_write` says holds here too.

    * ``source``: The file to begin with; what another store holds is read.
    * ``path``: Where the file shall be. When it is the place that `source` was opened at, the file
      there is replaced, provided that it is still the same.
    * ``overwrite``: Whether a file at another place may be replaced, or one here that is read-only.
    * ``flush_after``: Folders whose files are to outlive a crash of the machine if this one does.

    Raises `ConflictError` if someone replaced or changed the file since `source` was opened; theirs
    stays; `AccessError` if the file is read-only, and `overwrite` is off; `ExistsError`,
    `NotFoundError`, `AccessError` or `UsageError` as :func:`sdb.store.local.atomic.atomic_write`
    does; `CorruptError` if `source` is shorter than `kept_bytes`.
    """
    with Translated(path):
        replaced = source if isinstance(source, LocalReader) and _is_at(source, path) else None
        if replaced:
            target = os.path.realpath(path)
            _check_unchanged(replaced, path, target)
            if not overwrite:
                _check_writable(path, replaced.status.st_mode)
            mode: int | None = replaced.status.st_mode
        else:
            target, mode = resolve(path, overwrite=overwrite)
            if mode is not None and not stat.S_ISREG(mode):
                raise UsageError(f"writing {path}: is not a regular file", path=path)
        unnamed = Unnamed(path, target)
    try:
        with Translated(path):
            fd = unnamed.file.fileno()
            if replaced:
                _keep_owner(fd, replaced.status)
            if mode is not None:
                os.fchmod(fd, stat.S_IMODE(mode))
            draft = LocalDraft(unnamed.file, source, kept_bytes)
        yield draft
        with Translated(path):
            unnamed.flush()
            flush_folders(flush_after)
            if replaced:
                _check_unchanged(replaced, path, target)
            unnamed.publish(overwrite=replaced is not None or overwrite)
    finally:
        unnamed.close()


def _is_at(source: LocalReader, path: str) -> bool:
    return os.path.realpath(path) == os.path.realpath(source.path)


def _check_writable(path: str, mode: int) -> None:
    """Check that a file may be written to: taking its name needs the folder alone."""
    may = os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)
    if not may or not mode & _WRITABLE:
        hint = f"chmod u+w {path}, or --force to replace it all the same"
        raise AccessError(f"writing {path}: the file is read-only", path=path, hint=hint)


def _check_unchanged(source: LocalReader, path: str, target: str) -> None:
    """Check that the file that was opened is at its place, as it was."""
    try:
        now = os.stat(target)
    except FileNotFoundError:
        now = None
    if now is None or _version(now) != _version(source.status):
        raise ConflictError(f"{path} was changed by another writer", path=path, hint="run it again")


def _version(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _keep_owner(fd: int, status: os.stat_result) -> None:
    """Set the owner of a file to that of the one that it replaces."""
    now = os.fstat(fd)
    if (now.st_uid, now.st_gid) != (status.st_uid, status.st_gid):
        with contextlib.suppress(OSError):  # only root may
            os.fchown(fd, status.st_uid, status.st_gid)


def _take_over(source: Reader, fd: int, count: int) -> str:
    """Put the first bytes of a file to the start of an empty one, and say how."""
    if isinstance(source, LocalReader) and count and _clone(source, fd, count):
        return "reflink"
    _copy(source, fd, 0, count)
    return "copy"


def _copy(source: Reader, fd: int, start: int, stop: int) -> None:
    """Put a range of an object to where a descriptor is."""
    if isinstance(source, LocalReader):
        start = _copy_inside(source, fd, start, stop)
    for piece in source.pieces(start, stop):
        data = memoryview(piece)
        while data:
            data = data[os.write(fd, data) :]


def _clone(source: LocalReader, fd: int, count: int) -> bool:
    """Share the blocks of a file on the disk (reflink), where the file system can."""
    try:
        fcntl.ioctl(fd, _FICLONE, source.descriptor)
        os.truncate(fd, count)
    except OSError as error:
        if error.errno not in _NO_CLONES:
            raise
        return False
    os.lseek(fd, count, os.SEEK_SET)
    return True


def _copy_inside(source: LocalReader, fd: int, start: int, stop: int) -> int:
    """Copy in the kernel to where a descriptor is, and return how far it came."""
    shift = os.lseek(fd, 0, os.SEEK_CUR) - start
    try:
        while start < stop:
            count = min(stop - start, _STEP_BYTES)
            copied = os.copy_file_range(source.descriptor, fd, count, start, start + shift)
            if not copied:
                message = f"reading {source.path}: the file ends at byte {start:,}"
                raise CorruptError(message, path=source.path, offset=start)
            start += copied
    except OSError as error:
        if error.errno not in _NO_COPIES:
            raise
    os.lseek(fd, start + shift, os.SEEK_SET)
    return start


@contextlib.contextmanager
def locked(path: str) -> Iterator[None]:
    """Keep others that use this function from changing a file; waits for them.

    The lock is one of ``flock`` on the file itself, so that nothing is left lying around. Its
    holder looks whether the file still has the name: if not, it was replaced meanwhile, and the
    new one is locked instead. Where the file system has no locks, nothing is locked.
    Raises `NotFoundError`, `AccessError` or `UsageError` if the file cannot be opened.
    """
    reader = open_read(path)
    try:
        while _lock(reader):
            with Translated(path):
                if os.path.samestat(os.stat(path), reader.status):
                    break
            reader.close()
            reader = open_read(path)
        yield
    finally:
        reader.close()


def _lock(reader: LocalReader) -> bool:
    """Wait for the lock of an open file; false where there are none."""
    try:
        try:
            fcntl.flock(reader.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _log.info("%s: waiting for another process that has locked it", reader.path)
            fcntl.flock(reader.descriptor, fcntl.LOCK_EX)
    except OSError as error:
        if error.errno in _NO_LOCKS:
            return False
        raise from_os(error, "locking", reader.path) from error
    return True
