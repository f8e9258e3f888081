"""Archives as inputs: each file in a zip or tar is a separate input, ``x.zip!a.json``.

A tar is read from its start to its end, twice: once to see what is in it, and once for the rows.
Memory stays bounded, whatever an archive says: its files are read piece by piece.
"""

from __future__ import annotations

from sdb import notes
from sdb.errors import CorruptError, InputError, SdbError, UnsupportedError
from sdb.packfile.inputs.unpacking import CutShortError, Forwards, compression_of, unpack
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    import tarfile
    import zipfile
    from collections.abc import Callable, Generator, Iterable
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
_BLOCK_BYTES = 512  # of a tar
_MOST_NAME_BYTES = 1 << 20  # of a header in a tar, and of all that count for its files together
_MOST_HEADERS = 8  # of a file in a tar: tarfile calls itself for each of them
_MOST_FILES = 100_000  # each is an input, which takes memory
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

    Raises `CorruptError` or `InputError` if it is damaged before its first file, or encrypted.
    Damage behind files is an input, too, which fails when it is read, as compressed data that is
    cut off. Raises `UnsupportedError` if it has too many files.
    """
    reader.close()
    files = _zipped if head.startswith(_ZIP) else _tarred
    count = 0
    try:
        for inner, pieces in files(reader, name, head):
            count += 1
            if count > _MOST_FILES:
                message = f"{name}: there are more than {_MOST_FILES:,} files in this archive"
                raise UnsupportedError(message, hint="unpack it, and pack the folder", path=name)
            yield ArchiveFile(f"{name}!{inner}", start(pieces(), head_bytes), pieces)
    except CutShortError as error:
        if not count:
            raise
        damage = error
        yield ArchiveFile(f"{name}!the rest", b"", lambda: _raised(damage))
    if not count:
        raise InputError(f"{name}: there are no files in this archive", path=name)


def _raised(error: CutShortError) -> Generator[bytes]:
    yield from ()
    raise error


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
        message = f"{name}: the list at the end of the zip is damaged or cut off: {error}"
        hint = f"zip -FF {name} --out whole.zip mends what is there"
        raise CorruptError(message, path=name, hint=hint) from error
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
        self._is_warned = False
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
            yield from _of_sparse(archive, info) if info.issparse() else _of_tar(archive, info)
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
        """Yield the files of this tar, and of those that were joined to it."""
        import tarfile

        pieces = self._text()
        text: Any = _Text(pieces)
        try:
            while self._has_more(text):
                archive = tarfile.TarFile(
                    fileobj=text, tarinfo=self._headers(), encoding="utf-8", errors="replace"
                )
                while (info := archive.next()) is not None:
                    archive.members = []  # type: ignore[attr-defined]  # it would keep them all
                    if info.isfile() and _counts(info.name):
                        yield archive, info
        except (tarfile.TarError, EOFError, ValueError) as error:
            raise _damaged(self._name, "tar", error) from error
        finally:
            pieces.close()

    def _has_more(self, text: _Text) -> bool:
        """Return whether there is a header behind zeros, as at the start."""
        block = text.behind_zeros()
        if block and not _is_tar(block):
            self._warn("there is text behind the end of the tar, which is left out")
        return _is_tar(block)

    def _warn(self, text: str) -> None:
        if not self._is_warned:  # in the first of two readings
            self._is_warned = True
            notes.warn(f"{self._name}: {text}")

    def _headers(self) -> type[tarfile.TarInfo]:
        """Return a class that reads headers, which are bounded, and refuses those it cannot read.

        Without it `tarfile` takes a damaged header for the end.
        """
        import tarfile

        depth = 0

        class Bounded(tarfile.TarInfo):
            @classmethod
            def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
                if depth == 1 and not buf.strip(b"\0"):
                    if len(buf) < _BLOCK_BYTES:
                        warn("the tar has no end, so that files may be missing")
                    return super().frombuf(buf, encoding, errors)  # which says that it is the end
                try:
                    info = super().frombuf(buf, encoding, errors)
                except tarfile.HeaderError as error:
                    raise tarfile.ReadError(str(error)) from error
                if info.size < 0 or (not info.isfile() and info.size > _MOST_NAME_BYTES):
                    raise tarfile.ReadError("a header is too long")
                return info

            @classmethod
            def fromtarfile(cls, archive: tarfile.TarFile) -> Self:
                nonlocal depth
                depth += 1
                if depth > _MOST_HEADERS:
                    raise tarfile.ReadError("too many headers follow each other")
                info = super().fromtarfile(archive)
                depth -= 1
                if info.size < 0:
                    raise tarfile.ReadError("a file has a negative size")
                if sum(map(len, archive.pax_headers.values())) > _MOST_NAME_BYTES:
                    raise tarfile.ReadError("the headers for all files are too long")
                return info

        warn = self._warn
        return Bounded


def _of_tar(archive: tarfile.TarFile, info: tarfile.TarInfo) -> Generator[bytes]:
    """Yield the bytes of a file, also those of a piece that is cut off."""
    text: Any = archive.fileobj
    text.seek(info.offset_data)
    left = info.size
    while left:
        piece = text.read(min(_PIECE_BYTES, left))
        if not piece:
            raise EOFError("unexpected end of data")
        left -= len(piece)
        yield piece


def _of_sparse(archive: tarfile.TarFile, info: tarfile.TarInfo) -> Generator[bytes]:
    file = archive.extractfile(info)
    while file is not None and (piece := file.read(_PIECE_BYTES)):
        yield piece


class _Text:
    """The text of a tar as a file that is read forwards."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._file = Forwards(pieces)
        self._block = b""  # which was read ahead
        self._at = 0

    def tell(self) -> int:
        """Return the position."""
        return self._at

    def seek(self, position: int) -> None:
        """Skip text up to a position, or to the end."""
        if position < self._at:
            import tarfile

            raise tarfile.StreamError("it is read forwards alone")
        while self._at < position and self.read(min(_PIECE_BYTES, position - self._at)):
            pass

    def read(self, most_bytes: int) -> bytes:
        """Read text; less than was asked for only at the end."""
        parts = [self._block[:most_bytes]]
        self._block = self._block[most_bytes:]
        left = most_bytes - len(parts[0])
        while left and (piece := self._file.read(left)):
            parts.append(piece)
            left -= len(piece)
        self._at += most_bytes - left
        return b"".join(parts)

    def behind_zeros(self) -> bytes:
        """Return the next block that is not of zeros, which stays to be read; nothing: the end."""
        while (block := self.read(_BLOCK_BYTES)) and not block.strip(b"\0"):
            pass
        self._at -= len(block)
        self._block = block
        return block


def _damaged(where: str, kind: str, error: Exception) -> Exception:
    if isinstance(error, SdbError):
        return error
    if isinstance(error, NotImplementedError):
        return UnsupportedError(f"{where}: is not read: {error}", hint="unpack it", path=where)
    return CutShortError(where, f"the {kind} is damaged or cut off: {error}")
