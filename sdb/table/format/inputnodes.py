"""Nodes of the inputs tree, as they are stored: in objects of their own, and in the index."""

from __future__ import annotations

from itertools import pairwise

from sdb.errors import CorruptError
from sdb.records import record
from sdb.table.format import codec, etags, ionstruct, keys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any, Self

FAILED = -1
"""In place of the number of a packfile: the input failed, and has no rows in the table."""

_LEAF_SYMBOLS = ("path", "etag", "desc")
_INNER_SYMBOLS = ("last", "path", "etag", "is_inner")
_NUMBERS = range(FAILED, 2**63)


@record
class TakenInput:
    """An input that the table knows."""

    path: str  # its full URI
    etag: str  # its ETag when it was read
    # Number of the packfile with its rows, which is for people only; negative: it failed
    number: int

    @property
    def is_failed(self) -> bool:
        """True if the input has no rows in the table."""
        return self.number < 0

    def struct(self, number: str) -> dict[str, object]:
        """Return the struct that is stored; the number has different names at different places."""
        return {"path": self.path, "etag": self.etag, number: self.number}

    @classmethod
    def from_struct(cls, value: object, number: str, what: str) -> Self:
        """Read the struct that is stored."""
        if type(value) is dict and len(value) == len(_LEAF_SYMBOLS):  # almost all of very many
            path, etag, usual = value.get("path"), value.get("etag"), value.get(number)
            if type(path) is str and type(etag) is str and type(usual) is int and usual in _NUMBERS:
                return cls(path, etag, usual)
        members = ionstruct.known(value, {"path", "etag", number}, what)
        found_number = members.get(number)
        if type(found_number) is not int or found_number not in _NUMBERS:
            raise ionstruct.invalid(f"{number} of {what}", "an integer from -1 on", found_number)
        return cls(ionstruct.text(members, "path"), ionstruct.text(members, "etag"), found_number)


@record
class InputNodeRef:
    """A reference to a node of the inputs tree."""

    last: str  # the largest path below the node
    # The object with the node
    key: str
    etag: str
    is_inner: bool = False  # whether the node has references to others in turn

    def struct(self) -> dict[str, object]:
        """Return the struct that is stored."""
        value: dict[str, object] = {"path": self.key, "etag": self.etag, "last": self.last}
        return value | {"is_inner": True} if self.is_inner else value

    @classmethod
    def from_struct(cls, value: object) -> Self:
        """Read the struct that is stored."""
        members = ionstruct.known(value, _INNER_SYMBOLS, "a reference of the inputs tree")
        return cls(
            ionstruct.text(members, "last"),
            keys.check_key(ionstruct.text(members, "path")),
            etags.check(ionstruct.text(members, "etag")),
            ionstruct.flag(members, "is_inner"),
        )


@record
class StoredInputs:
    """The inputs tree as the index has it."""

    root: tuple[InputNodeRef, ...] = ()  # the root as it was written out last
    journal: tuple[TakenInput, ...] | None = None  # what was changed since then; None: nothing

    def value(self) -> tuple[object, tuple[str, ...]]:
        """Return what is stored, and the symbols that the original enters before it."""
        root = [ref.struct() for ref in self.root]
        if self.journal is None:
            return root, ("path", "etag", "last", "is_inner")
        return {"inner": root, "journal": [entry.struct("id") for entry in self.journal]}, ()

    @classmethod
    def from_value(cls, value: object) -> Self:
        """Read what is stored.

        Raises
        ------
        CorruptError
            It is malformed, or the journal has an input twice.
        """
        if isinstance(value, list):
            return cls(read_refs(value))
        members = ionstruct.known(value, {"inner", "journal"}, "the inputs")
        stored = ionstruct.listed(members.get("journal", []), "the journal")
        journal = tuple(
            [TakenInput.from_struct(entry, "id", "a journal entry") for entry in stored]
        )
        if len({entry.path for entry in journal}) != len(journal):
            raise CorruptError("the journal has an input twice")
        return cls(read_refs(ionstruct.listed(members.get("inner", []), "inner")), journal)


def read_refs(value: Iterable[object]) -> tuple[InputNodeRef, ...]:
    """Read the references of an inner node.

    Raises
    ------
    CorruptError
        One is malformed, or they are out of order.
    """
    refs = tuple(map(InputNodeRef.from_struct, value))
    if any(a.last >= b.last for a, b in pairwise(refs)):
        raise CorruptError("the references of an inner node are not in ascending order")
    return refs


def write_leaf(entries: Sequence[TakenInput]) -> bytes:
    """Return the object of a leaf."""
    return codec.dumps([entry.struct("desc") for entry in entries], _LEAF_SYMBOLS)


def write_inner(refs: Sequence[InputNodeRef]) -> bytes:
    """Return the object of an inner node."""
    return codec.dumps([ref.struct() for ref in refs], _INNER_SYMBOLS)


def read_leaf(data: bytes, ref: InputNodeRef) -> tuple[TakenInput, ...]:
    """Read the object of a leaf.

    Raises
    ------
    CorruptError
        It is damaged, out of order, or does not end as the reference says.
    """
    try:
        stored = _stored(data)
        entries = tuple([TakenInput.from_struct(entry, "desc", "an input") for entry in stored])
        if any(a.path >= b.path for a, b in pairwise(entries)):
            raise CorruptError("the inputs of a leaf are not in ascending order")  # noqa: TRY301
        if entries[-1].path != ref.last:
            raise CorruptError(f"it ends with {entries[-1].path!r}, not {ref.last!r}")  # noqa: TRY301
    except CorruptError as error:
        raise error.within(f"reading {ref.key}", path=ref.key) from None
    return entries


def read_inner(data: bytes, ref: InputNodeRef) -> tuple[InputNodeRef, ...]:
    """Read the object of an inner node; see :func:`read_leaf`."""
    try:
        refs = read_refs(_stored(data))
        if refs[-1].last != ref.last:
            raise CorruptError(f"it ends with {refs[-1].last!r}, not {ref.last!r}")  # noqa: TRY301
    except CorruptError as error:
        raise error.within(f"reading {ref.key}", path=ref.key) from None
    return refs


def _stored(data: bytes) -> list[Any]:
    stored = ionstruct.listed(codec.loads(data), "a node of the inputs tree")
    if not stored:
        raise CorruptError("invalid inputs tree: a node is empty")
    return stored
