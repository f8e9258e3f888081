"""Compressions that the core does not read: their text, piece by piece, in bounded memory.

Slow is fine here: these are what others send now and then. gzip and zstd are here for archives.
"""

from __future__ import annotations

from sdb.errors import CorruptError, UnsupportedError
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable
    from typing import Any, TypeAlias

    Decoder: TypeAlias = "Callable[[], Any]"

CUT_SHORT_HINT = "--on-error skip takes the rows before that"
_PIECE_BYTES = 1 << 20
_MOST_DICTIONARY_BYTES = 256 << 20  # what an .xz may ask for; `xz -9` asks for 64 MiB


class CutShortError(CorruptError):
    """Compressed data that is damaged or cut off behind text that is whole.

    * ``damage``: What is wrong, without the name of the input.
    """

    def __init__(self, name: str, damage: str) -> None:
        super().__init__(f"{name}: {damage}", path=name, hint=CUT_SHORT_HINT)
        self.damage = damage


@record
class Unpacking:
    """A compression that is read here."""

    name: str
    suffix: str
    magic: bytes
    open: Callable[[], Any]  # makes a decompressor of one member, as those of `bz2` and `lzma`


def _xz() -> Any:  # noqa: ANN401 - two classes without a common one
    import lzma

    return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MOST_DICTIONARY_BYTES)


def _bz2() -> Any:  # noqa: ANN401 - as above
    import bz2

    return bz2.BZ2Decompressor()


class _Zlib:
    """A member of gzip by the interface of `lzma`."""

    def __init__(self) -> None:
        import zlib

        self._inner = zlib.decompressobj(wbits=31)
        self._is_full = False

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    @property
    def needs_input(self) -> bool:
        return not self._inner.unconsumed_tail and not self._is_full

    def decompress(self, data: bytes, max_length: int) -> bytes:
        text = self._inner.decompress(self._inner.unconsumed_tail + data, max_length)
        self._is_full = len(text) == max_length
        return text


UNPACKED = (
    Unpacking("xz", ".xz", b"\xfd7zXZ\0", _xz),
    Unpacking("bzip2", ".bz2", b"BZh", _bz2),
    Unpacking("lz4", ".lz4", b"\x04\x22\x4d\x18", lambda: None),
)
_GZIP = Unpacking("gzip", ".gz", b"\x1f\x8b", _Zlib)
_ZSTD = Unpacking("zstd", ".zst", b"\x28\xb5\x2f\xfd", lambda: None)
_ALL = (*UNPACKED, _GZIP, _ZSTD)
# What other programs unpack, by its first bytes
_FOREIGN = (
    (b"\x1f\x9d", "compress (.Z)", "zcat"),
    (b"7z\xbc\xaf\x27\x1c", "7-Zip", "7z x -so"),
    (b"Rar!\x1a\x07", "RAR", "unrar p -inul"),
    (b"\xff\x06\0\0sNaPpY", "snappy", "snzip -dc"),
    (b"\x4c\x5a\x49\x50", "lzip", "lzip -dc"),
    (b"\x89LZO\0", "lzop", "lzop -dc"),
)


def compression_of(head: bytes, *, all_of_them: bool = False) -> Unpacking | None:
    """Return the compression that is read here by the first bytes of an input.

    * ``all_of_them``: Whether those count that the core reads, too.
    """
    for entry in _ALL if all_of_them else UNPACKED:
        if head.startswith(entry.magic):
            return entry
    return None


def foreign(head: bytes, name: str) -> UnsupportedError | None:
    """Return the error for what another program unpacks; None: it is no such thing."""
    for magic, title, command in _FOREIGN:
        if head.startswith(magic):
            hint = f"{command} {name} | sdb pack -o OUTPUT -"
            return UnsupportedError(f"{name}: {title} is not read", hint=hint, path=name)
    return None


def unpack(kind: Unpacking, pieces: Iterable[bytes], name: str) -> Generator[bytes]:
    """Yield the text of a compressed input.

    Raises `CutShortError` if the data is damaged or cut off; `UnsupportedError` if the program or
    package that unpacks it is missing, or it asks for too much memory.
    """
    source = iter(pieces)
    try:
        if kind.name == "lz4":
            yield from _lz4(source, name)
        elif kind is _ZSTD:
            yield from _zstd(source, name)
        else:
            yield from _members(kind, source, name)
    finally:
        close = getattr(pieces, "close", None)
        if close is not None:
            close()


def _members(kind: Unpacking, source: Iterable[bytes], name: str) -> Generator[bytes]:
    """Yield the text of members that follow each other; zeros may stand behind them."""
    decoder = kind.open()
    consumed = 0
    is_behind = False  # behind a member
    for piece in source:
        data = piece
        while True:
            if is_behind:
                data = data.lstrip(b"\0")
                if not data:
                    break
                decoder, is_behind = kind.open(), False
            try:
                text = decoder.decompress(data, _PIECE_BYTES)
            except _errors() as error:
                raise _damaged(kind, name, consumed, error) from error
            if text:
                yield text
            is_behind = decoder.eof
            data = decoder.unused_data if is_behind else b""
            if not is_behind and decoder.needs_input:
                break
        consumed += len(piece)
    if not is_behind:
        raise CutShortError(name, f"the {kind.name} data is cut off (at byte {consumed:,})")


def _errors() -> tuple[type[Exception], ...]:
    import lzma
    import zlib

    return OSError, ValueError, EOFError, lzma.LZMAError, zlib.error


def _damaged(kind: Unpacking, name: str, consumed: int, error: Exception) -> Exception:
    if "emory" in str(error):
        most = f"more than {_MOST_DICTIONARY_BYTES >> 20} MiB of memory"
        return UnsupportedError(f"{name}: {kind.name} wants {most}", path=name)
    return CutShortError(name, f"the {kind.name} data is damaged (near byte {consumed:,})")


def _zstd(source: Iterable[bytes], name: str) -> Generator[bytes]:
    import zstandard

    reader: Any = Forwards(source)
    try:
        with zstandard.ZstdDecompressor().stream_reader(reader, read_across_frames=True) as text:
            while piece := text.read(_PIECE_BYTES):
                yield piece
    except zstandard.ZstdError as error:
        raise CutShortError(name, f"the zstd data is damaged: {error}") from error


class Forwards:
    """Pieces as a file that is read forwards."""

    def __init__(self, source: Iterable[bytes]) -> None:
        self._source = iter(source)
        self._rest = b""

    def read(self, most_bytes: int = -1) -> bytes:
        """Read some bytes, at most this many; nothing only at the end."""
        while not self._rest:
            piece = next(self._source, None)
            if piece is None:
                return b""
            self._rest = piece
        if most_bytes < 0:
            most_bytes = len(self._rest)
        taken, self._rest = self._rest[:most_bytes], self._rest[most_bytes:]
        return taken


def _lz4(source: Iterable[bytes], name: str) -> Generator[bytes]:
    """Yield what the command `lz4` makes of an input."""
    import shutil
    import subprocess
    import threading

    command = shutil.which("lz4")
    if command is None:
        message = f"{name}: lz4 needs the command lz4, which is not installed"
        raise UnsupportedError(message, hint="install lz4, or unpack it elsewhere", path=name)
    failed: list[BaseException] = []
    with subprocess.Popen(  # noqa: S603 - the command alone, without a shell
        [command, "-dc"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        feeding = threading.Thread(target=_feed, args=(source, process.stdin, failed), daemon=True)
        feeding.start()
        try:
            while process.stdout and (piece := process.stdout.read(_PIECE_BYTES)):
                yield piece
            code = process.wait()
        finally:
            process.kill()  # where nobody wants the rest
            feeding.join()
    if failed:
        raise failed[0]
    if code:
        raise CutShortError(name, "the lz4 data is damaged or cut off")


def _feed(source: Iterable[bytes], stdin: Any, failed: list[BaseException]) -> None:  # noqa: ANN401
    try:
        with stdin:
            for piece in source:
                stdin.write(piece)
    except BrokenPipeError:
        pass  # its exit code tells why
    except BaseException as error:  # noqa: BLE001 - raised where the text is taken
        failed.append(error)
