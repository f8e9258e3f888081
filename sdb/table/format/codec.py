"""Declarative codecs: a member of a stored struct is declared once: name, type and default.

::

    @stored("a version that is pointed to")
    class VersionPointer(Stored):
        version: int = member("version", COUNT)
        key: str = member("path", KEY)

That makes a :func:`sdb.records.record` whose members are written in the order of the class, and
read by type. The member tables in docs/tables.md are checked against these declarations. Structs
that the original writes, too, have quirks, and hand-written codecs in their classes.
"""

from __future__ import annotations

from sdb import ion
from sdb.errors import CorruptError, UnsupportedError
from sdb.records import Field, field, record
from sdb.table.format import etags, keys
from sdb.table.format.ionstruct import MOST, invalid
from sdb.typed import dataclass_transform

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, ClassVar, Self, TypeVar

    _Record = TypeVar("_Record", bound="Stored")

_NOTHING: Any = Field().default


class Codec:
    """The reading and writing of values of one type.

    * ``kind``: Its name in docs/tables.md.
    * ``read``: Returns the value of what is stored; takes the name of the member for errors.
    * ``write``: Returns what is stored of a value; None: the value itself.
    """

    __slots__ = ("kind", "read", "write")

    def __init__(
        self,
        kind: str,
        read: Callable[[Any, str], Any],
        write: Callable[[Any], object] | None = None,
    ) -> None:
        self.kind, self.read, self.write = kind, read, write


class Member(Field):
    """A field of a record that is a member of a stored struct; see :func:`member`."""

    __slots__ = ("absent", "codec", "is_required", "is_sparse", "wire")

    def __init__(
        self,
        wire: str,
        codec: Codec,
        default: object,
        factory: Any,  # noqa: ANN401 - makes any value
        absent: object,
        *,
        is_sparse: bool,
    ) -> None:
        super().__init__(default, factory)
        self.wire, self.codec, self.is_sparse = wire, codec, is_sparse
        if absent is _NOTHING:
            absent = default if factory is _NOTHING else factory()
        self.is_required, self.absent = absent is REQUIRED or absent is _NOTHING, absent

    def missing(self) -> object:
        """Return the value that a missing member stands for."""
        factory: Any = self.factory
        return self.absent if factory is _NOTHING else factory()


REQUIRED: Any = object()
"""In place of a value that a missing member stands for: it must not be missing."""


def member(
    wire: str,
    codec: Codec,
    *,
    default: Any = _NOTHING,  # noqa: ANN401 - of any type
    default_factory: Any = _NOTHING,  # noqa: ANN401 - makes any value
    absent: Any = _NOTHING,  # noqa: ANN401 - of any type
    sparse: bool = False,
) -> Any:  # noqa: ANN401 - stands for the value of the field
    """Declare a member of a stored struct.

    * ``wire``: Its name in the struct.
    * ``default, default_factory``: As for a dataclass: what the constructor takes without it.
    * ``absent``: The value that a missing member stands for, if not the default. Without both, and
      with `REQUIRED`, a missing member is an error.
    * ``sparse``: Whether a member with that value is left out when the struct is written.
    """
    return Member(wire, codec, default, default_factory, absent, is_sparse=sparse)


class Layout:
    """The members of a class of stored structs."""

    __slots__ = ("has_unknown", "members", "names", "read", "what", "written")

    def __init__(self, what: str, members: dict[str, Member], *, has_unknown: bool) -> None:
        self.what, self.has_unknown = what, has_unknown
        self.members = tuple(members.items())
        self.names = frozenset(declared.wire for declared in members.values())
        # Histories have thousands of structs: what their loops need is looked up once
        self.read = tuple(
            [
                (declared.wire, declared.codec.read, REQUIRED if declared.is_required else declared)
                for declared in members.values()
            ]
        )
        self.written = tuple(
            [
                (
                    name,
                    declared.wire,
                    declared.codec.write,
                    declared.absent if declared.is_sparse else _NOTHING,
                )
                for name, declared in self.members
            ]
        )


@dataclass_transform(frozen_default=True, field_specifiers=(member, field))
def stored(what: str) -> Callable[[type[_Record]], type[_Record]]:
    """Make a class of records that are stored as structs.

    A field `unknown` keeps members that are not declared, which later versions of `sdb` may have
    written; without one they are skipped.

    * ``what``: What one of them is, for errors.
    """

    def made(cls: type[_Record]) -> type[_Record]:
        members = {name: value for name, value in cls.__dict__.items() if isinstance(value, Member)}
        new = record(cls)
        new.layout = Layout(what, members, has_unknown="unknown" in cls.__annotations__)
        return new

    return made


class Stored:
    """Base of records that are stored as structs; see :func:`stored`."""

    __slots__ = ()
    layout: ClassVar[Layout]

    def struct(self) -> dict[str, object]:
        """Return the struct that is stored."""
        return write_struct(self)

    @classmethod
    def from_struct(cls, value: object) -> Self:
        """Read the struct that is stored. Raises `CorruptError` if it is malformed."""
        return read_struct(cls, value)


def write_struct(value: Stored) -> dict[str, object]:
    """Return the struct that is stored of a record."""
    struct: dict[str, object] = {}
    for name, wire, write, absent in value.layout.written:
        content = getattr(value, name)
        if absent is _NOTHING or content != absent:
            struct[wire] = content if write is None else write(content)
    return struct


def read_struct(cls: type[_Record], value: object) -> _Record:
    """Read the struct that is stored of a record. Raises `CorruptError` if it is malformed."""
    layout = cls.layout
    if not isinstance(value, dict):
        raise invalid(layout.what, "a struct", value)
    contents: list[object] = []
    for wire, read, declared in layout.read:
        if wire in value:
            contents.append(read(value[wire], wire))
        elif declared is REQUIRED:
            raise CorruptError(f"{layout.what}: {wire} is missing")
        else:
            contents.append(declared.missing())
    if not layout.has_unknown:
        return cls(*contents)
    unknown = {name: content for name, content in value.items() if name not in layout.names}
    keywords: dict[str, Any] = {"unknown": unknown}
    return cls(*contents, **keywords)


def _count(value: object, name: str) -> int:
    if type(value) is not int or not 0 <= value <= MOST:
        raise invalid(name, "an integer from 0 on", value)
    return value


def _text(value: object, name: str) -> str:
    if type(value) is not str:
        raise invalid(name, "a string", value)
    return value


def _blob(value: object, name: str) -> bytes:
    if type(value) is not bytes:
        raise invalid(name, "a blob", value)
    return value


def _instant(value: object, name: str) -> int:
    us = ion.instant_to_us(value)
    if us is None:
        raise invalid(name, "a timestamp", value)
    return us


def _key(value: object, _: str) -> str:
    return keys.check_key(value)


def _etag(value: object, _: str) -> str:
    return etags.check(value)


COUNT = Codec("int", _count)
TEXT = Codec("string", _text)
BLOB = Codec("blob", _blob)
INSTANT = Codec("timestamp", _instant, ion.instant_from_us)
KEY = Codec("string", _key)
ETAG = Codec("string", _etag)


def blob_of(size_bytes: int) -> Codec:
    """Return the codec of blobs of one size."""

    def read(value: object, name: str) -> bytes:
        if type(value) is not bytes or len(value) != size_bytes:
            raise invalid(name, f"a blob of {size_bytes} bytes", value)
        return value

    return Codec(f"blob of {size_bytes} bytes", read)


def struct_of(cls: type[Stored]) -> Codec:
    """Return the codec of structs that are stored of a class, which has no methods for it."""
    return Codec("struct", lambda value, _: read_struct(cls, value), write_struct)


def list_of(codec: Codec) -> Codec:
    """Return the codec of lists, which are tuples in memory."""
    read_one, write_one = codec.read, codec.write

    def read(value: object, name: str) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise invalid(name, "a list", value)
        return tuple([read_one(element, name) for element in value])

    def write(value: tuple[Any, ...]) -> list[Any]:
        return list(value) if write_one is None else [write_one(element) for element in value]

    return Codec(f"list of {codec.kind}", read, write)


def struct_of_all(key: Codec, codec: Codec) -> Codec:
    """Return the codec of structs with any names of one type, which are dicts in memory."""
    read_key, read_one, write_one = key.read, codec.read, codec.write

    def read(value: object, name: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise invalid(name, "a struct", value)
        return {
            read_key(member_name, name): read_one(content, name)
            for member_name, content in value.items()
        }

    def write(value: dict[str, Any]) -> dict[str, Any]:
        if write_one is None:
            return dict(value)
        return {member_name: write_one(content) for member_name, content in value.items()}

    return Codec(f"struct of {codec.kind}", read, write)


def dict_of_pairs(codec: Codec, *, is_sorted: bool = False) -> Codec:
    """Return the codec of lists of pairs, which are dicts in memory."""

    def write(value: dict[Any, Any]) -> object:
        pairs = tuple(sorted(value.items()) if is_sorted else value.items())
        return pairs if codec.write is None else codec.write(pairs)

    return Codec(codec.kind, lambda value, name: dict(codec.read(value, name)), write)


# Compressed objects and members: one zstd frame around Ion, and how large it may become.

MAX_CONTENT_BYTES = 128 << 20
"""More than any list of the original, which starts a new object at 256 KiB compressed."""

ALGORITHM = "zstd"


def compress(data: bytes) -> bytes:
    """Return the frame of an object."""
    from sdb import _core

    return _core.zstd_compress(data)


def decompress(data: bytes, algorithm: str, size_bytes: int | None = None) -> bytes:
    """Return the content of a frame.

    Raises `CorruptError` if it is damaged, or of another size, or its content is too large to be
    one; `UnsupportedError` for an algorithm that this build does not know.
    """
    if algorithm == "s2":
        raise UnsupportedError("a list compressed with s2, which this build cannot read")
    if algorithm != ALGORITHM:
        raise CorruptError(f"unknown compression algorithm {algorithm!r}")
    limit = MAX_CONTENT_BYTES if size_bytes is None else size_bytes
    if limit > MAX_CONTENT_BYTES:
        raise CorruptError(f"list too large: {limit:,} bytes, the limit is {MAX_CONTENT_BYTES:,}")
    from sdb import _core

    content = _core.zstd_decompress(data, limit)
    if size_bytes not in {None, len(content)}:
        raise CorruptError(f"{len(content):,} bytes decompressed, not {size_bytes:,}")
    return content


def loads(data: bytes) -> object:
    """Decode the one value of a compressed object. Raises `CorruptError` if it is damaged."""
    content = decompress(data, ALGORITHM)
    value, _, end = ion.decode(content)
    if end != len(content):
        raise CorruptError("bytes after the value")
    return value


def dumps(value: object, names: tuple[str, ...]) -> bytes:
    """Encode a compressed object.

    * ``names``: Symbols that come first, whether the value has them or not.
    """
    symbols = list(names)
    encoded = ion.encode(value, symbols)
    return compress(ion.stream(symbols, encoded))
