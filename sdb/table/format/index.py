"""The index: the one object of a table that is ever replaced. All else is reached from it.

::

    | Ion: marker, symbols, one struct | padding | signature, 32 bytes |

Lists of packfiles and of inputs in it are compressed, and use the symbols of the whole. See
:mod:`sdb.table.format.signature` for the end.
"""

from __future__ import annotations

from sdb import instants, ion
from sdb.errors import CorruptError, UnsupportedError
from sdb.records import field, record
from sdb.table.format import compression, ionstruct, keys
from sdb.table.format.encodecache import EncodedPackfiles
from sdb.table.format.inputnodes import StoredInputs
from sdb.table.format.manifests import SYMBOLS as INDIRECT_SYMBOLS
from sdb.table.format.manifests import IndirectTree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Self

    from sdb.table.format.descriptor import Descriptor
    from sdb.table.format.signature import Keyring

MAX_BYTES = 15 << 20
"""An index has fewer bytes."""

VERSION = 1
ZERO_US = -62_167_219_200_000_000
"""The first moment of the year 0, which the original writes into an index without any input."""

COMPRESSED_INPUTS_BYTES = 1024
"""Inputs of so many bytes are compressed."""

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
_PACKFILES = EncodedPackfiles()
_FIELDS = _SYSTEM | set(_SYMBOLS) - {"path", "expiry"}


@record
class Quarantined:
    """An object that the index does not need any more, and that others may still be reading.

    Attributes
    ----------
    key : str
        The object.
    expiry_us : int
        When it may be deleted.
    """

    key: str
    expiry_us: int

    def struct(self) -> dict[str, object]:
        """Give the struct that is stored."""
        return {"path": self.key, "expiry": ion.instant_from_us(self.expiry_us)}

    @classmethod
    def from_struct(cls, value: object) -> Self:
        """Read the struct that is stored; other fields are ignored."""
        if not isinstance(value, dict):
            raise CorruptError("an entry of to-delete is not a struct")
        expiry_us = ionstruct.instant(value, "expiry")
        key = keys.check_key(ionstruct.text(value, "path"))
        return cls(key, ZERO_US if expiry_us is None else expiry_us)


@record
class TableIndex:
    """The index of a table.

    Attributes
    ----------
    name : str
        Name of the table.
    created_us : int
        When its content was changed last.
    user_data : dict
        What the original keeps without knowing it, and the digest of the definition.
    to_delete : tuple of Quarantined
        Objects that are to be deleted later.
    last_scan_us : int or None
        When a scan of the inputs began anew.
    is_scanning : bool
        Whether a scan goes on from the cursors.
    cursors : tuple of str
        For each pattern of the definition the path that was seen last.
    algorithm : str
        Compression of the list of packfiles; empty: none.
    inline : tuple of Descriptor
        The newest packfiles, the oldest first.
    indirect : IndirectTree
        Where the others are.
    inputs : StoredInputs
        The inputs that were taken.
    """

    name: str
    created_us: int = ZERO_US
    user_data: dict[str, Any] = field(default_factory=dict)
    to_delete: tuple[Quarantined, ...] = ()
    last_scan_us: int | None = None
    is_scanning: bool = False
    cursors: tuple[str, ...] = ()
    algorithm: str = compression.ALGORITHM
    inline: tuple[Descriptor, ...] = ()
    indirect: IndirectTree = field(default_factory=IndirectTree)
    inputs: StoredInputs = field(default_factory=StoredInputs)

    @property
    def objects(self) -> int:
        """Number that the next packfile gets."""
        return self.indirect.original_objects + len(self.inline)

    def encode(self, keyring: Keyring) -> bytes:
        """Give the object, signed: the same bytes as the original's, but for compression.

        Parameters
        ----------
        keyring : Keyring
            The keys; the first signs.

        Returns
        -------
        bytes
            The object.

        Raises
        ------
        UnsupportedError
            It would be too large.
        UsageError
            There is no key.
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
            value["to-delete"] = [one.struct() for one in self.to_delete]
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
        """Give the fields with the list of packfiles, as they are stored."""
        if not self.algorithm:
            listed = [one.struct() for one in self.inline]
            ion.encode(listed, symbols)
            return {"contents": listed}
        encoded = _PACKFILES.encode(self.inline, symbols)
        packed = compression.compress(encoded)
        return {"algo": compression.ALGORITHM, "size": len(encoded), "contents": packed}

    def _inputs(self, symbols: list[str]) -> dict[str, object]:
        """Give the fields with the inputs, as they are stored."""
        value, names_before = self.inputs.value()
        _enter(symbols, names_before)
        encoded = ion.encode(value, symbols)
        if len(encoded) < COMPRESSED_INPUTS_BYTES:
            return {"inputs": value}
        return {"input-size": len(encoded), "inputs": compression.compress(encoded)}

    @classmethod
    def decode(cls, data: bytes, keyring: Keyring) -> Self:
        """Read the object.

        Parameters
        ----------
        data : bytes
            The object.
        keyring : Keyring
            The keys: one of them must have signed it. Without any it is not verified.

        Returns
        -------
        TableIndex
            The index.

        Raises
        ------
        CorruptError
            It is too large, not signed with one of the keys, or malformed.
        UnsupportedError
            It is of another version.
        """
        if len(data) >= MAX_BYTES:
            raise CorruptError(f"index is {len(data)} bytes; too big")
        value, symbols, _ = ion.decode(keyring.open(data))
        found = ionstruct.known(value, _FIELDS, "the index")
        if (version := found.get("version", 0)) != VERSION:
            raise UnsupportedError(f"index version obsolete {version}", hint="sync makes a new one")
        algorithm, inline = _read_contents(found, symbols)
        return cls(
            ionstruct.text(found, "name"),
            _created_us(found),
            _user_data(found),
            _entries(found, "to-delete", Quarantined.from_struct),
            ionstruct.instant(found, "last-scan"),
            ionstruct.flag(found, "scanning"),
            _entries(found, "cursors", _cursor),
            algorithm,
            inline,
            IndirectTree.from_struct(found["indirect"]) if "indirect" in found else IndirectTree(),
            _read_inputs(found, symbols),
        )


def _enter(symbols: list[str], more: tuple[str, ...]) -> None:
    known = _SYSTEM.union(symbols)
    symbols += [name for name in more if name not in known]


def _created_us(found: dict[str, Any]) -> int:
    created_us = ionstruct.instant(found, "created")
    if created_us is None:
        raise CorruptError("the index does not tell when it was created")
    if not ZERO_US <= created_us <= instants.LAST_US:
        raise CorruptError("the index was created in an impossible year")
    return created_us


def _user_data(found: dict[str, Any]) -> dict[str, Any]:
    value = found.get("user-data", {})
    if not isinstance(value, dict):
        raise CorruptError("user-data is not a struct")
    return value


def _entries(found: dict[str, Any], name: str, read: Any) -> tuple[Any, ...]:  # noqa: ANN401
    return tuple(map(read, ionstruct.listed(found.get(name, []), name)))


def _cursor(value: object) -> str:
    if type(value) is not str:
        raise CorruptError("a cursor is not a string")
    return value


def _read_contents(found: dict[str, Any], symbols: list[str]) -> tuple[str, tuple[Descriptor, ...]]:
    """Read the list of packfiles, compressed or not."""
    value = found.get("contents", [])
    algorithm = ionstruct.text(found, "algo", "")
    if isinstance(value, bytes):
        if not algorithm:
            raise CorruptError("missing compression algorithm")
        value = _unpacked(value, algorithm, ionstruct.count(found, "size"), symbols)
    elif value:
        algorithm = ""
    else:
        algorithm = compression.ALGORITHM
    return algorithm, tuple(map(_PACKFILES.decode, ionstruct.listed(value, "contents")))


def _read_inputs(found: dict[str, Any], symbols: list[str]) -> StoredInputs:
    """Read the inputs, compressed or not."""
    value = found.get("inputs", [])
    if isinstance(value, bytes):
        algorithm = ionstruct.text(found, "algo", "") or compression.ALGORITHM
        value = _unpacked(value, algorithm, ionstruct.count(found, "input-size"), symbols)
    return StoredInputs.from_value(value)


def _unpacked(value: bytes, algorithm: str, size_bytes: int, symbols: list[str]) -> object:
    content = compression.decompress(value, algorithm, size_bytes)
    unpacked, _, end = ion.decode(content, symbols)
    if end != len(content):
        raise CorruptError("bytes after a compressed list")
    return unpacked
