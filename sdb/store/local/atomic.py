"""Writing local files: they appear under their name when they are complete, or not at all.

Files and folders are held by their descriptors, which pathlib does not know.
"""
# ruff: noqa: PTH114, PTH116, SIM105 - who packs loads this module, but not contextlib

from __future__ import annotations

import _thread
import errno
import io
import os
import stat

from sdb.errors import ExistsError, UsageError, from_os
from sdb.store.local.files import Translated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import TracebackType
    from typing import BinaryIO

    from _typeshed import ReadableBuffer

_NAME_LENGTH = 50
_BUFFER_BYTES = 1 << 16
_SEND_BYTES = 1 << 20
_HOLD = getattr(os, "O_PATH", os.O_RDONLY | os.O_NONBLOCK)
_NO_NAMELESS_FILES = {errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.EINVAL}
_NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}


class _OutputFile(io.FileIO):
    """A file whose write errors are those of `sdb`."""

    def __init__(self, fd: int, path: str) -> None:
        super().__init__(fd, "wb")
        self._path = path

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            raise from_os(error, "writing", self._path) from error


class _DraftFile(_OutputFile):
    """A file that goes to the disk while more is written: little is left to flush in the end."""

    def __init__(self, fd: int, path: str) -> None:
        super().__init__(fd, path)
        self._waiting_bytes = 0

    def write(self, data: ReadableBuffer, /) -> int:
        written = super().write(data)
        self._waiting_bytes += written
        if self._waiting_bytes >= _SEND_BYTES:
            self._send()
        return written

    def _send(self) -> None:
        """Start writing back; what the system cannot write is an error of the last flush."""
        start = self.tell() - self._waiting_bytes
        try:
            # Linux begins to write pages that it shall drop, and keeps them until they are written.
            os.posix_fadvise(self.fileno(), start, self._waiting_bytes, os.POSIX_FADV_DONTNEED)
        except (AttributeError, OSError):
            pass  # not every system takes hints
        self._waiting_bytes = 0


class Unnamed:
    """The data of a file that has no name yet, or a hidden one."""

    def __init__(self, path: str, target: str) -> None:
        folder, self._name = os.path.split(target)
        self._path = path
        self._hidden = f".{self._name[:_NAME_LENGTH]}.{os.urandom(6).hex()}.tmp"
        self._folder = os.open(folder or ".", os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY)
        self._is_hidden = False
        try:
            self.file = io.BufferedWriter(_DraftFile(self._open(), path), _BUFFER_BYTES)
        except BaseException:
            os.close(self._folder)
            raise

    def _open(self) -> int:
        flags = os.O_WRONLY | os.O_CLOEXEC
        try:
            fd = os.open(".", flags | os.O_TMPFILE, 0o666, dir_fd=self._folder)
        except OSError as error:
            if error.errno not in _NO_NAMELESS_FILES:
                raise
        else:
            if os.access(f"/proc/self/fd/{fd}", os.F_OK):
                return fd
            os.close(fd)
        self._is_hidden = True
        return os.open(
            self._hidden, flags | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666, dir_fd=self._folder
        )

    def flush(self) -> None:
        """Flush the data to the disk."""
        self.file.flush()
        os.fsync(self.file.fileno())

    def publish(self, *, overwrite: bool, durable: bool = True) -> None:
        """Name the data, which was flushed, and flush the name unless `durable` is off."""
        if overwrite:
            if not self._is_hidden:
                self._link(self._hidden)
                self._is_hidden = True
            self._rename()
        else:
            self._take_free_name()
        if durable:
            _flush_names(self._folder)

    def _link(self, name: str) -> None:
        source = self._hidden if self._is_hidden else f"/proc/self/fd/{self.file.fileno()}"
        os.link(
            source,
            name,
            src_dir_fd=self._folder,
            dst_dir_fd=self._folder,
            follow_symlinks=not self._is_hidden,
        )

    def _rename(self) -> None:
        old = self._hold()
        try:
            os.rename(self._hidden, self._name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
            self._is_hidden = False
        finally:
            if old is not None:
                _let_go(old)

    def _hold(self) -> int | None:
        """Keep the file that has the name now."""
        try:
            return os.open(self._name, _HOLD | os.O_CLOEXEC | os.O_NOFOLLOW, dir_fd=self._folder)
        except OSError:
            return None

    def _take_free_name(self) -> None:
        try:
            self._link(self._name)
        except FileExistsError as error:
            raise _exists(self._path) from error
        except OSError as error:
            if not self._is_hidden or error.errno not in _NO_LINKS:
                raise
            if os.path.lexists(self._path):
                raise _exists(self._path) from error
            self._rename()

    def close(self) -> None:
        """Close the file and remove it if it did not get its name."""
        try:
            try:
                self.file.raw.close()
            except OSError:
                pass
            if self._is_hidden:
                try:
                    os.unlink(self._hidden, dir_fd=self._folder)
                except FileNotFoundError:
                    pass
        finally:
            os.close(self._folder)


def _let_go(fd: int) -> None:
    """Close a file in the background: the process waits for the removal at its end."""
    try:
        _thread.start_new_thread(os.close, (fd,))
    except RuntimeError:  # no thread can be started
        os.close(fd)


def flush_folders(folders: Iterable[str]) -> None:
    """Flush the names in folders to the disk."""
    for folder in folders:
        fd = os.open(folder or ".", os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY)
        try:
            _flush_names(fd)
        finally:
            os.close(fd)


def _flush_names(folder: int) -> None:
    try:
        os.fsync(folder)
    except OSError:
        pass  # some file systems cannot flush a folder


def _exists(path: str) -> ExistsError:
    return ExistsError(f"{path} exists already", path=path, hint="--force replaces it")


def resolve(path: str, *, overwrite: bool) -> tuple[str, int | None]:
    """Return the path behind a symbolic link, and the mode of what is there."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and stat.S_ISDIR(mode):
        raise UsageError(f"writing {path}: is a folder", path=path)
    if mode is not None and not stat.S_ISREG(mode):
        return path, mode
    if not overwrite and os.path.lexists(path):
        raise _exists(path)
    return os.path.realpath(path) if os.path.islink(path) else path, mode


def atomic_write(path: str, *, overwrite: bool = False) -> AtomicWrite:
    """Write a file that appears under its name when it is complete, or not at all.

    The data goes to a file without a name, or, where the file system has no such thing, to a
    hidden one in the same folder. When the block ends it is flushed to the disk and given its
    name in one step, and the folder is flushed too. Any exception, an interrupt included, leaves
    what was there before.

    * A symbolic link is followed: with `overwrite` the file that it points to is replaced, and
      the link stays.
    * A new file gets the permissions that the umask leaves; a replaced one passes its own on.
    * A device or a named pipe (``/dev/null``) is written to directly.

    * ``overwrite``: Whether a file that is there may be replaced. Without it, one that appears
      while the block runs is left alone too.

    Returns: A context manager that gives the file to write to. It cannot be read, and closing it
    early is an error.
    Raises `ExistsError` if there is a file, and `overwrite` is off; `NotFoundError` or
    `AccessError` if the folder is not there, or may not be written to; `UsageError` if the path is
    a folder.

    >>> with atomic_write("/tmp/sdb-example", overwrite=True) as file:
    ...     file.write(b"data")
    4
    """
    return AtomicWrite(path, overwrite=overwrite)


class AtomicWrite:
    """The context manager of :func:`atomic_write`.

    * ``overwrite``: Whether a file that is there may be replaced.
    * ``durable``: Whether its name outlives a crash of the machine by itself.
    * ``flush_after``: Folders whose files are to outlive a crash of the machine if this one does.
    """

    __slots__ = ("_device", "_draft", "_durable", "_flush_after", "_overwrite", "_path")

    def __init__(
        self,
        path: str,
        *,
        overwrite: bool = False,
        durable: bool = True,
        flush_after: Sequence[str] = (),
    ) -> None:
        self._path = path
        self._overwrite = overwrite
        self._durable = durable
        self._flush_after = flush_after
        self._draft: Unnamed | None = None
        self._device: BinaryIO | None = None

    def __enter__(self) -> BinaryIO:
        """Open the file."""
        with Translated(self._path):
            target, mode = resolve(self._path, overwrite=self._overwrite)
            if mode is not None and not stat.S_ISREG(mode):
                fd = os.open(self._path, os.O_WRONLY | os.O_CLOEXEC)
                self._device = io.BufferedWriter(_OutputFile(fd, self._path), _BUFFER_BYTES)
                return self._device
            self._draft = draft = Unnamed(self._path, target)
            try:
                if mode is not None:
                    os.fchmod(draft.file.fileno(), mode & 0o777)
            except BaseException:
                draft.close()
                raise
        return draft.file

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Publish the file, unless the block failed."""
        if self._device is not None:
            self._device.close()
        elif self._draft is not None:
            try:
                if kind is None:
                    with Translated(self._path):
                        self._draft.flush()
                        flush_folders(self._flush_after)
                        self._draft.publish(overwrite=self._overwrite, durable=self._durable)
            finally:
                self._draft.close()
