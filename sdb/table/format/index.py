"""The index: the one object of a table that is ever replaced. All else is reached from it.

::

    | Ion: marker, symbols, one struct | padding | signature, 32 bytes |

Lists of packfiles and of inputs in it are compressed, and use the symbols of the whole. See
:mod:`sdb.table.format.signature` for the end.
"""

from __future__ import annotations

from sdb import instants, ion
from sdb.errors import CorruptError, UnsupportedError
from sdb.lru import LruCache
from sdb.records import field, record
from sdb.table.format import codec, ionstruct
from sdb.table.format.codec import INSTANT, KEY, Stored, member, stored
from sdb.table.format.descriptor import Descriptor
from sdb.table.format.inputtree import StoredInputs
from sdb.table.format.manifests import SYMBOLS as INDIRECT_SYMBOLS
from sdb.table.format.manifests import IndirectTree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Self

    from sdb.table.format.signature import Keyring

MAX_BYTES = 15 << 20
"""An index has fewer bytes."""

VERSION = 1
_MOST_ENCODED = 2_048
ZERO_US = -62_167_219_200_000_000
"""The first moment of the year 0, which the original writes into an index without any input."""

COMPRESSED_INPUTS_BYTES = 1024
"""Bytes from which on inputs are compressed."""

_SYMBOLS = (
    "created",
    "user-data",
    "to-delete",
    "input-size",
    "last-scan",
    "scanning",
    "cursors",
    "algo",
    "size",
    "contents",
    "path",
    "expiry",
    "indirect",
    "inputs",
)
_SYSTEM = {"name", "version"}
_FIELDS = _SYSTEM | set(_SYMBOLS) - {"path", "expiry"}


class EncodedPackfiles:
    """A cache of descriptors, decoded and encoded: the next index has almost all of them again."""

    __slots__ = ("_decoded", "_kept")

    def __init__(self) -> None:
        # One object, so that threads that write different tables do not mix them.
        self._kept: tuple[list[str], dict[int, tuple[Descriptor, bytes, list[str]]]] = ([], {})
        self._decoded: dict[str, tuple[object, Descriptor]] = {}

    def decode(self, value: object) -> Descriptor:
        """Read the struct of a packfile, unless one that is equal was read before.

        Raises `CorruptError` as :meth:`sdb.table.format.descriptor.Descriptor.from_struct` does.
        """
        key = value.get("path") if isinstance(value, dict) else None
        if not isinstance(key, str):
            return Descriptor.from_struct(value)
        cached = self._decoded.get(key)
        if cached is not None and cached[0] == value:
            return cached[1]
        descriptor = Descriptor.from_struct(value)
        if len(self._decoded) >= _MOST_ENCODED:
            self._decoded = {}
        self._decoded[key] = (value, descriptor)
        return descriptor

    def encode(self, descriptors: Sequence[Descriptor], symbols: list[str]) -> bytes:
        """Encode a list of packfiles, see :func:`sdb.ion.encode`.

        * ``symbols``: The symbols from number 10 on; new ones are added.
        """
        before, encodings = self._kept
        if before != symbols or len(encodings) + len(descriptors) > _MOST_ENCODED:
            before, encodings = self._kept = (list(symbols), {})
        items: list[bytes] = []
        first: list[str] | None = None
        for descriptor in descriptors:
            cached = encodings.get(id(descriptor))
            if cached is None or cached[0] is not descriptor:
                table = list(symbols)
                data = ion.encode(descriptor.struct(), table)
                cached = encodings[id(descriptor)] = (
                    descriptor,
                    data,
                    first if table == first else table,
                )
            if first is None:
                first = cached[2]
            elif first is not cached[2] and first != cached[2]:
                # Its symbols have other numbers in the whole list.
                return ion.encode([each.struct() for each in descriptors], symbols)
            items.append(cached[1])
        symbols[:] = first or symbols
        return ion.joined_list(items)


_PACKFILES = EncodedPackfiles()


@stored("an entry of to-delete")
class Quarantined(Stored):
    """An object that the index does not need any more, and that readers may still need."""

    key: str = member("path", KEY)  # the object
    expiry_us: int = member("expiry", INSTANT, absent=ZERO_US)  # when it may be deleted


@record
class TableIndex:
    """The index of a table."""

    name: str  # name of the table
    created_us: int = ZERO_US  # when its content was changed last
    # What the original keeps without knowing it, and the digest of the definition
    user_data: dict[str, Any] = field(default_factory=dict)
    to_delete: tuple[Quarantined, ...] = ()  # objects that are to be deleted later
    last_scan_us: int | None = None  # when a scan of the inputs began anew
    is_scanning: bool = False  # whether a scan goes on from the cursors
    cursors: tuple[str, ...] = ()  # for each pattern of the definition the path that was seen last
    algorithm: str = codec.ALGORITHM  # compression of the list of packfiles; empty: none
    inline: tuple[Descriptor, ...] = ()  # the newest packfiles, the oldest first
    indirect: IndirectTree = field(default_factory=IndirectTree)  # where the others are
    inputs: StoredInputs = field(default_factory=StoredInputs)  # the inputs that were taken

    @property
    def objects(self) -> int:
        """Number that the next packfile gets."""
        return self.indirect.original_objects + len(self.inline)

    def encode(self, keyring: Keyring) -> bytes:
        """Return the object, signed: the same bytes as the original's, but for compression.

        * ``keyring``: The keys; the first signs.

        Raises `UnsupportedError` if it would be too large and `UsageError` if there is no key.
        """
        symbols = list(_SYMBOLS)
        value: dict[str, object] = {
            "name": self.name,
            "version": VERSION,
            "created": ion.instant_from_us(self.created_us),
        }
        encoded: dict[str, bytes] = {}
        if self.user_data:
            encoded["user-data"] = ion.encode(self.user_data, symbols)
        if self.to_delete:
            value["to-delete"] = [quarantined.struct() for quarantined in self.to_delete]
        if self.last_scan_us is not None:
            value["last-scan"] = ion.instant_from_us(self.last_scan_us)
        if self.is_scanning:
            value["scanning"] = True
        if self.cursors:
            value["cursors"] = list(self.cursors)
        if self.inline:
            value |= self._contents(symbols)
        _enter(symbols, INDIRECT_SYMBOLS)
        encoded["indirect"] = ion.encode(self.indirect.struct(), symbols)
        value |= self._inputs(symbols)
        encoded |= {name: ion.encode(member, symbols) for name, member in value.items()}
        data = keyring.sign(ion.stream(symbols, ion.joined_struct(encoded, symbols)))
        if len(data) >= MAX_BYTES:
            raise UnsupportedError(f"index would be {len(data)} bytes; the limit is {MAX_BYTES}")
        return data

    def _contents(self, symbols: list[str]) -> dict[str, object]:
        """Return the fields with the list of packfiles, as they are stored."""
        if not self.algorithm:
            listed = [descriptor.struct() for descriptor in self.inline]
            ion.encode(listed, symbols)
            return {"contents": listed}
        encoded = _PACKFILES.encode(self.inline, symbols)
        packed = codec.compress(encoded)
        return {"algo": codec.ALGORITHM, "size": len(encoded), "contents": packed}

    def _inputs(self, symbols: list[str]) -> dict[str, object]:
        """Return the fields with the inputs, as they are stored."""
        value, names_before = self.inputs.value()
        _enter(symbols, names_before)
        encoded = ion.encode(value, symbols)
        if len(encoded) < COMPRESSED_INPUTS_BYTES:
            return {"inputs": value}
        return {"input-size": len(encoded), "inputs": codec.compress(encoded)}

    @classmethod
    def decode(cls, data: bytes, keyring: Keyring) -> Self:
        """Read the object.

        * ``keyring``: The keys: one of them must have signed it. Without any it is not verified.

        Raises `CorruptError` if it is too large, not signed with one of the keys, or malformed;
        `UnsupportedError` if it is of another version.
        """
        if len(data) >= MAX_BYTES:
            raise CorruptError(f"index is {len(data)} bytes; too big")
        value, symbols, _ = ion.decode(keyring.open(data))
        members = ionstruct.known(value, _FIELDS, "the index")
        if (version := members.get("version", 0)) != VERSION:
            raise UnsupportedError(f"index version obsolete {version}", hint="sync makes a new one")
        algorithm, inline = _read_contents(members, symbols)
        return cls(
            ionstruct.text(members, "name"),
            _created_us(members),
            _user_data(members),
            _entries(members, "to-delete", Quarantined.from_struct),
            ionstruct.instant(members, "last-scan"),
            ionstruct.flag(members, "scanning"),
            _entries(members, "cursors", _cursor),
            algorithm,
            inline,
            IndirectTree.from_struct(members["indirect"])
            if "indirect" in members
            else IndirectTree(),
            _read_inputs(members, symbols),
        )


def _enter(symbols: list[str], more: tuple[str, ...]) -> None:
    names = _SYSTEM.union(symbols)
    symbols += [name for name in more if name not in names]


def _created_us(members: dict[str, Any]) -> int:
    created_us = ionstruct.instant(members, "created")
    if created_us is None:
        raise CorruptError("the index: created is missing")
    if not ZERO_US <= created_us <= instants.LAST_US:
        raise CorruptError("invalid created: expected a year from 0 to 9999")
    return created_us


def _user_data(members: dict[str, Any]) -> dict[str, Any]:
    value = members.get("user-data", {})
    if not isinstance(value, dict):
        raise ionstruct.invalid("user-data", "a struct", value)
    return value


def _entries(members: dict[str, Any], name: str, read: Any) -> tuple[Any, ...]:  # noqa: ANN401
    return tuple(map(read, ionstruct.listed(members.get(name, []), name)))


def _cursor(value: object) -> str:
    if type(value) is not str:
        raise ionstruct.invalid("cursor", "a string", value)
    return value


def _read_contents(
    members: dict[str, Any], symbols: list[str]
) -> tuple[str, tuple[Descriptor, ...]]:
    """Read the list of packfiles, compressed or not."""
    value = members.get("contents", [])
    algorithm = ionstruct.text(members, "algo", "")
    if isinstance(value, bytes):
        if not algorithm:
            raise CorruptError("missing compression algorithm")
        value = _unpacked(value, algorithm, ionstruct.count(members, "size"), symbols)
    elif value:
        algorithm = ""
    else:
        algorithm = codec.ALGORITHM
    return algorithm, tuple(map(_PACKFILES.decode, ionstruct.listed(value, "contents")))


def _read_inputs(members: dict[str, Any], symbols: list[str]) -> StoredInputs:
    """Read the inputs, compressed or not."""
    value = members.get("inputs", [])
    if isinstance(value, bytes):
        algorithm = ionstruct.text(members, "algo", "") or codec.ALGORITHM
        value = _unpacked(value, algorithm, ionstruct.count(members, "input-size"), symbols)
    return StoredInputs.from_value(value)


def _unpacked(value: bytes, algorithm: str, size_bytes: int, symbols: list[str]) -> object:
    content = codec.decompress(value, algorithm, size_bytes)
    unpacked, _, end = ion.decode(content, symbols)
    if end != len(content):
        raise CorruptError("bytes after a compressed list")
    return unpacked


# A cache of indexes that were read or written last, so that the next commit decodes none.

_MOST_BYTES = 256 << 10
_KNOWN: LruCache[tuple[bytes, Keyring], TableIndex] = LruCache(most_entries=8)


def decoded(data: bytes, keyring: Keyring) -> TableIndex:
    """Decode an index, unless it is known; see :meth:`sdb.table.format.index.TableIndex.decode`."""
    index = _KNOWN.get((data, keyring))
    if index is None:
        index = TableIndex.decode(data, keyring)
        remember(data, keyring, index)
    return index


def remember(data: bytes, keyring: Keyring, index: TableIndex) -> None:
    """Keep a decoded index, if it is small."""
    if len(data) <= _MOST_BYTES:
        _KNOWN.put((data, keyring), index)
