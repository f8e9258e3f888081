"""Archives as inputs: each file in a zip or tar is a separate input, ``x.zip!a.json``.

A tar is read from its start to its end, twice: once to see what is in it, and once for the rows.
Memory stays bounded, whatever an archive says: its files are read piece by piece.
"""

from __future__ import annotations

from sdb.errors import CorruptError, InputError, SdbError, UnsupportedError
from sdb.packfile.inputs.unpacking import CutShortError, Forwards, compression_of, unpack
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    import tarfile
    import zipfile
    from collections.abc import Callable, Generator
    from typing import Any, Self, TypeAlias

    from sdb.packfile.inputs.unpacking import Unpacking
    from sdb.store.base import Reader

    _File: TypeAlias = "tuple[str, Callable[[], Generator[bytes]]]"

ENDINGS = (
    ".zip",
    ".tar",
    ".tgz",
    ".txz",
    ".tbz2",
    ".tar.gz",
    ".tar.xz",
    ".tar.bz2",
    ".tar.zst",
    ".tar.lz4",
)
"""Names of archives, whose files tell what they are."""

_ZIP = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
_TAR_AT, _TAR = 257, b"ustar"
_MOST_NAME_BYTES = 1 << 20  # of a header in a tar
_PIECE_BYTES = 1 << 20
_MOST_DIRECTORY_BYTES = 8 << 20  # of a zip: some hundred thousand files
_END_BYTES = (64 << 10) + 22  # the end of a zip, with its comment
_LEFT_OUT = ("__MACOSX/",)  # what systems add to archives


@record
class ArchiveFile:
    """A file of an archive."""

    name: str  # that of the archive, ``!`` and its own
    head: bytes  # its first bytes
    pieces: Callable[[], Generator[bytes]]


def is_archive(head: bytes) -> bool:
    """Return whether an input is a zip or a tar, perhaps compressed, by its first bytes."""
    return head.startswith(_ZIP) or _is_tar(head) or _is_tar(_inflated(head))


def _inflated(head: bytes) -> bytes:
    kind = compression_of(head, all_of_them=True)
    if kind is None:
        return b""
    try:
        return next(unpack(kind, [head], ""), b"")
    except SdbError:
        return b""  # reading it says so


def members(reader: Reader, name: str, head: bytes, head_bytes: int) -> Generator[ArchiveFile]:
    """Yield the files of an archive, in its order.

    * ``reader``: The archive; it is closed in the end.
    * ``head``: Its first bytes.
    * ``head_bytes``: How much of each file is its head.

    Raises
    ------
    CorruptError, InputError
        It is damaged, or encrypted.
    """
    reader.close()
    files = _zipped if head.startswith(_ZIP) else _tarred
    is_empty = True
    for inner, pieces in files(reader, name, head):
        is_empty = False
        yield ArchiveFile(f"{name}!{inner}", start(pieces(), head_bytes), pieces)
    if is_empty:
        raise InputError(f"{name}: there are no files in this archive", path=name)


def start(pieces: Generator[bytes], most_bytes: int) -> bytes:
    """Return the first bytes of an input, and close it."""
    head = b""
    try:
        while len(head) < most_bytes and (piece := next(pieces, b"")):
            head += piece
    except CutShortError:
        pass  # reading all of it says so
    finally:
        pieces.close()
    return head[:most_bytes]


def _is_tar(head: bytes) -> bool:
    return head[_TAR_AT : _TAR_AT + len(_TAR)] == _TAR


def _counts(inner: str) -> bool:
    last = inner.rpartition("/")[2]
    return bool(last) and not last.startswith("._") and not inner.startswith(_LEFT_OUT)


def _zipped(reader: Reader, name: str, _: bytes) -> Generator[_File]:
    import zipfile

    from sdb.store.readerfile import ReaderFile

    opened = reader.reopen()
    try:
        _check_directory(opened, name)
        with zipfile.ZipFile(ReaderFile(opened)) as archive:
            infos = [info for info in archive.infolist() if _counts(info.filename)]
    except (zipfile.BadZipFile, ValueError, EOFError, NotImplementedError) as error:
        raise _damaged(name, "zip", error) from error
    finally:
        opened.close()
    for info in infos:
        yield info.filename, lambda info=info: _of_zip(reader, name, info)  # type: ignore[misc]


def _check_directory(reader: Reader, name: str) -> None:
    size = reader.size_bytes
    end = reader.read(max(0, size - _END_BYTES), size)
    at = end.rfind(b"PK\x05\x06")
    directory = int.from_bytes(end[at + 12 : at + 16], "little") if at >= 0 else 0
    if directory > _MOST_DIRECTORY_BYTES:
        most = f"{_MOST_DIRECTORY_BYTES >> 20} MiB"
        message = f"{name}: the list of files in this zip has more than {most}"
        raise UnsupportedError(message, hint="unpack it, and pack the folder", path=name)


def _of_zip(reader: Reader, name: str, info: zipfile.ZipInfo) -> Generator[bytes]:
    import zipfile
    import zlib

    from sdb.store.readerfile import ReaderFile

    where = f"{name}!{info.filename}"
    if info.flag_bits & 1:
        hint = f"unzip -p {name} {info.filename} | sdb pack -o OUTPUT -"
        raise InputError(f"{where}: is encrypted", hint=hint, path=name)

    class _KnownZip(zipfile.ZipFile):
        """A zip whose list of files need not be read once more for each of them."""

        def _RealGetContents(self) -> None:  # noqa: N802 - the library's name
            pass

    opened = reader.reopen()
    try:
        with _KnownZip(ReaderFile(opened)) as archive, archive.open(info) as file:
            while piece := file.read(_PIECE_BYTES):
                yield piece
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError) as error:
        raise _damaged(where, "zip", error) from error
    finally:
        opened.close()


def _tarred(reader: Reader, name: str, head: bytes) -> Generator[_File]:
    """Yield the files of a tar. Its own reading goes on while they are looked at."""
    tar = _Tar(reader, name, None if _is_tar(head) else compression_of(head, all_of_them=True))
    number = 0
    while (inner := tar.name_at(number)) is not None:
        yield inner, lambda number=number: tar.pieces(number)  # type: ignore[misc]
        number += 1


class _Tar:
    """A tar, read forwards: from the place where it is, or once more from its start."""

    def __init__(self, reader: Reader, name: str, kind: Unpacking | None) -> None:
        self._reader, self._name, self._kind = reader, name, kind
        self._files = self._read()
        self._number = -1
        self._is_begun = False  # whether bytes of the file at hand were read
        self._file: tuple[tarfile.TarFile, tarfile.TarInfo] | None = None

    def name_at(self, number: int) -> str | None:
        """Return the name of a file by its number from 0; None behind the last one."""
        if number < self._number:
            self._again()
        while self._number < number:
            self._file = next(self._files, None)
            self._number, self._is_begun = self._number + 1, False
            if self._file is None:
                self._number = number
        return None if self._file is None else self._file[1].name

    def _again(self) -> None:
        self._files.close()
        self._files, self._number = self._read(), -1

    def pieces(self, number: int) -> Generator[bytes]:
        """Yield the bytes of a file."""
        import tarfile

        if number == self._number and self._is_begun:
            self._again()
        if self.name_at(number) is None or self._file is None:
            raise CorruptError(f"{self._name}: has changed while it was read", path=self._name)
        archive, info = self._file
        self._is_begun = True
        try:
            file = archive.extractfile(info)
            while file is not None and (piece := file.read(_PIECE_BYTES)):
                yield piece
        except (tarfile.TarError, EOFError) as error:
            raise _damaged(f"{self._name}!{info.name}", "tar", error) from error

    def _text(self) -> Generator[bytes]:
        reader = self._reader.reopen()
        try:
            stored = reader.pieces(0, reader.size_bytes)
            yield from stored if self._kind is None else unpack(self._kind, stored, self._name)
        finally:
            reader.close()

    def _read(self) -> Generator[tuple[tarfile.TarFile, tarfile.TarInfo]]:
        import tarfile

        class Bounded(tarfile.TarInfo):
            @classmethod
            def frombuf(cls, *arguments: Any) -> Self:  # noqa: ANN401 - those of the library
                info = super().frombuf(*arguments)
                if not info.isfile() and info.size > _MOST_NAME_BYTES:
                    raise tarfile.ReadError("a header is too long")
                return info

        text = self._text()
        file: Any = Forwards(text)
        try:
            with tarfile.open(
                fileobj=file, mode="r|", bufsize=_PIECE_BYTES, tarinfo=Bounded
            ) as archive:
                while (info := archive.next()) is not None:
                    archive.members = []  # type: ignore[attr-defined]  # it would keep them all
                    if info.isfile() and _counts(info.name):
                        yield archive, info
        except (tarfile.TarError, EOFError, ValueError) as error:
            raise _damaged(self._name, "tar", error) from error
        finally:
            text.close()


def _damaged(where: str, kind: str, error: Exception) -> Exception:
    if isinstance(error, SdbError):
        return error
    if isinstance(error, NotImplementedError):
        return UnsupportedError(f"{where}: is not read: {error}", hint="unpack it", path=where)
    return CutShortError(where, f"the {kind} is damaged or cut off: {error}")
