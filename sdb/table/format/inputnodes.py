"""Nodes of the inputs tree, as they are stored: in objects of their own, and in the index."""

from __future__ import annotations

from itertools import pairwise

from sdb.errors import CorruptError
from sdb.records import record
from sdb.table.format import compression, etags, ionstruct, keys

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
    """An input that the table knows.

    Attributes
    ----------
    path : str
        Its full URI.
    etag : str
        Its ETag when it was read.
    number : int
        Number of the packfile with its rows, which is for people only; negative: it failed.
    """

    path: str
    etag: str
    number: int

    @property
    def is_failed(self) -> bool:
        """True if the input has no rows in the table."""
        return self.number < 0

    def struct(self, number: str) -> dict[str, object]:
        """Give the struct that is stored; the number has different names at different places."""
        return {"path": self.path, "etag": self.etag, number: self.number}

    @classmethod
    def from_struct(cls, value: object, number: str, what: str) -> Self:
        """Read the struct that is stored."""
        if type(value) is dict and len(value) == len(_LEAF_SYMBOLS):  # almost all of very many
            path, etag, usual = value.get("path"), value.get("etag"), value.get(number)
            if type(path) is str and type(etag) is str and type(usual) is int and usual in _NUMBERS:
                return cls(path, etag, usual)
        found = ionstruct.known(value, {"path", "etag", number}, what)
        found_number = found.get(number)
        if type(found_number) is not int or found_number not in _NUMBERS:
            raise CorruptError(f"{what}: {number} is not a number")
        return cls(ionstruct.text(found, "path"), ionstruct.text(found, "etag"), found_number)


@record
class InputNodeRef:
    """A reference to a node of the inputs tree.

    Attributes
    ----------
    last : str
        The largest path below the node.
    key, etag : str
        The object with the node.
    is_inner : bool
        Whether the node has references to others in turn.
    """

    last: str
    key: str
    etag: str
    is_inner: bool = False

    def struct(self) -> dict[str, object]:
        """Give the struct that is stored."""
        value: dict[str, object] = {"path": self.key, "etag": self.etag, "last": self.last}
        return value | {"is_inner": True} if self.is_inner else value

    @classmethod
    def from_struct(cls, value: object) -> Self:
        """Read the struct that is stored."""
        found = ionstruct.known(value, _INNER_SYMBOLS, "a reference of the inputs tree")
        return cls(
            ionstruct.text(found, "last"),
            keys.check_key(ionstruct.text(found, "path")),
            etags.check(ionstruct.text(found, "etag")),
            ionstruct.flag(found, "is_inner"),
        )


@record
class StoredInputs:
    """The inputs tree as the index has it.

    Attributes
    ----------
    root : tuple of InputNodeRef
        The root as it was written out last.
    journal : tuple of TakenInput, or None
        What was changed since then; None: nothing.
    """

    root: tuple[InputNodeRef, ...] = ()
    journal: tuple[TakenInput, ...] | None = None

    def value(self) -> tuple[object, tuple[str, ...]]:
        """Give what is stored, and the symbols that the original enters before it."""
        root = [ref.struct() for ref in self.root]
        if self.journal is None:
            return root, ("path", "etag", "last", "is_inner")
        return {"inner": root, "journal": [one.struct("id") for one in self.journal]}, ()

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
        found = ionstruct.known(value, {"inner", "journal"}, "the inputs")
        stored = ionstruct.listed(found.get("journal", []), "the journal")
        journal = tuple([TakenInput.from_struct(one, "id", "a journal entry") for one in stored])
        if len({one.path for one in journal}) != len(journal):
            raise CorruptError("the journal has an input twice")
        return cls(read_refs(ionstruct.listed(found.get("inner", []), "inner")), journal)


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
    """Give the object of a leaf."""
    return compression.dumps([one.struct("desc") for one in entries], _LEAF_SYMBOLS)


def write_inner(refs: Sequence[InputNodeRef]) -> bytes:
    """Give the object of an inner node."""
    return compression.dumps([ref.struct() for ref in refs], _INNER_SYMBOLS)


def read_leaf(data: bytes, ref: InputNodeRef) -> tuple[TakenInput, ...]:
    """Read the object of a leaf.

    Parameters
    ----------
    data : bytes
        The object.
    ref : InputNodeRef
        The reference to it.

    Returns
    -------
    tuple of TakenInput
        Its inputs, in the order of their paths.

    Raises
    ------
    CorruptError
        It is damaged, out of order, or does not end as the reference says.
    """
    try:
        stored = _stored(data)
        entries = tuple([TakenInput.from_struct(one, "desc", "an input") for one in stored])
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
    stored = ionstruct.listed(compression.loads(data), "a node of the inputs tree")
    if not stored:
        raise CorruptError("an empty node of the inputs tree")
    return stored
