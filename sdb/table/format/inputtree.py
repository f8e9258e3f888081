"""The inputs tree: which inputs a table has taken, so that none is taken twice.

A B+-tree from the full URI of an input to its ETag. Its root is in the index; nodes are read when
they are needed, and written under new names when enough has changed. Until then changes are kept in
a journal in the index.
"""

from __future__ import annotations

import enum
from bisect import bisect_left
from itertools import pairwise

from sdb.errors import CorruptError
from sdb.records import record
from sdb.table.format import codec, etags, ionstruct, keys
from sdb.table.format.limits import USUAL, Limits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any, Self

SPLIT = 5000
"""Entries at which a node is split."""

JOURNAL_BYTES = 10 << 20
"""With so much data in memory the journal is written out into nodes."""

MAX_DEPTH = 8
"""More levels than any tree has: two of them hold 25 million inputs."""

_ENTRY_BYTES = 8


class Taking(enum.Enum):
    """The answer to an input that was offered."""

    TAKEN = enum.auto()
    """It is new, or is tried again."""
    KNOWN = enum.auto()
    """It was taken before, or has failed before."""
    CHANGED = enum.auto()
    """It was taken before, with another content."""


class _Node:
    """A node: a leaf has entries, an inner node has children."""

    __slots__ = ("children", "entries", "is_changed", "paths", "ref")

    def __init__(
        self,
        entries: list[TakenInput] | None = None,
        children: list[_Node] | None = None,
        ref: InputNodeRef | None = None,
        *,
        is_changed: bool = False,
    ) -> None:
        self.entries = entries
        self.paths = [entry.path for entry in entries] if entries is not None else []
        self.children = children
        self.ref = ref
        self.is_changed = is_changed

    @property
    def is_inner(self) -> bool:
        return self.children is not None or (
            self.entries is None and self.ref is not None and self.ref.is_inner
        )

    @property
    def last(self) -> str:
        if self.entries is not None:
            return self.paths[-1]
        if self.children is not None:
            return self.children[-1].last
        return self.ref.last if self.ref is not None else ""

    @property
    def data_bytes(self) -> int:
        return sum(len(entry.path) + len(entry.etag) + _ENTRY_BYTES for entry in self.entries or ())


@record
class InputsWritten:
    """An inputs tree that was made ready for the index."""

    stored: StoredInputs  # what the index gets
    replaced: tuple[str, ...]  # keys of the objects that are not needed any more


class InputsTree:
    """The inputs tree of a table, changing in memory.

    * ``fetch``: Returns the content of an object by key and ETag.
    * ``split``: How many entries a node has when it is split.
    """

    def __init__(
        self, stored: StoredInputs, fetch: Callable[[str, str], bytes], *, split: int = SPLIT
    ) -> None:
        self._stored = stored
        self._fetch = fetch
        self._split = split
        self._root = _Node(children=[_Node(ref=ref) for ref in stored.root])
        self._journal: dict[str, TakenInput] = {}
        self._is_forced = False
        for entry in stored.journal or ():
            if self._insert(entry) is not Taking.TAKEN:
                raise CorruptError(f"the journal has {entry.path!r}, which changes nothing")

    def lookup(self, path: str) -> TakenInput | None:
        """Find an input; None: the table does not know it."""
        node = self._root
        for depth in range(MAX_DEPTH):
            if not node.is_inner:
                break
            children = self._children(node, depth)
            at = _child(children, path)
            if at == len(children):
                return None
            node = children[at]
        entries = self._entries(node)
        at = bisect_left(node.paths, path)
        return entries[at] if at < len(entries) and entries[at].path == path else None

    def insert(self, path: str, etag: str, number: int) -> Taking:
        """Offer an input.

        * ``number``: The packfile that gets its rows; -1: it failed.
        """
        return self._insert(TakenInput(path, etag, number))

    def put(self, path: str, etag: str, number: int) -> None:
        """Record an input whatever is known of it.

        The original takes no journal with such an entry, so that the nodes are written out.
        """
        entry = TakenInput(path, etag, number)
        if self._insert(entry) is not Taking.TAKEN and self.lookup(path) != entry:
            self._place(entry)
            self._is_forced = True

    def walk(self, start: str = "") -> Iterator[TakenInput]:
        """Iterate over the inputs with paths from `start` on, in the order of the paths."""
        yield from self._walk(self._root, start, 0)

    def write_out(
        self, put: Callable[[bytes], tuple[str, str]], limits: Limits = USUAL
    ) -> InputsWritten:
        """Make the tree ready for the index: as a journal, or by writing nodes that have changed.

        * ``put``: Writes an object under a unique name; returns key and ETag.
        """
        if not self._journal:
            return InputsWritten(self._stored, ())
        is_small = (
            len(self._journal) < limits.journal_entries and self._data_bytes() < JOURNAL_BYTES
        )
        if is_small and not self._is_forced:
            stored = StoredInputs(self._stored.root, tuple(self._journal.values()))
            return InputsWritten(stored, ())
        replaced: list[str] = []
        children = self._root.children or []
        for child in children:
            self._write(child, put, replaced)
        self._journal = {}
        self._is_forced = False
        self._stored = StoredInputs(tuple([_ref(child) for child in children]))
        return InputsWritten(self._stored, tuple(replaced))

    def nodes(self) -> Iterator[str]:
        """Yield the keys of all objects of the tree as it was written out last."""
        yield from self._nodes(self._stored.root, 0)

    def _insert(self, entry: TakenInput) -> Taking:
        before = self.lookup(entry.path)
        if before is not None:
            if before.etag != entry.etag and not before.is_failed:
                return Taking.CHANGED
            if before.etag == entry.etag and (before.is_failed or not entry.is_failed):
                return Taking.KNOWN
        self._place(entry)
        return Taking.TAKEN

    def _place(self, entry: TakenInput) -> None:
        """Put an input into the tree and the journal."""
        self._put(self._root, entry, 0)
        children = self._root.children or []
        if len(children) >= self._split:
            middle = len(children) // 2
            halves = (children[:middle], children[middle:])
            self._root.children = [_Node(children=half, is_changed=True) for half in halves]
        self._journal[entry.path] = entry

    def _put(self, node: _Node, entry: TakenInput, depth: int) -> None:
        """Put an input into the leaf below an inner node, and split what becomes too large."""
        children = self._children(node, depth)
        node.is_changed = True
        if not children:
            children.append(_Node([entry], is_changed=True))
            return
        at = min(_child(children, entry.path), len(children) - 1)
        child = children[at]
        if child.is_inner:
            self._put(child, entry, depth + 1)
            size = len(child.children or ())
        else:
            entries = self._entries(child)
            position = bisect_left(child.paths, entry.path)
            is_present = position < len(entries) and entries[position].path == entry.path
            entries[position : position + is_present] = [entry]
            child.paths[position : position + is_present] = [entry.path]
            child.is_changed = True
            size = len(entries)
        if size >= self._split:
            children.insert(at + 1, _upper_half(child))

    def _walk(self, node: _Node, start: str, depth: int) -> Iterator[TakenInput]:
        if not node.is_inner:
            entries = self._entries(node)
            yield from entries[bisect_left(node.paths, start) :]
            return
        children = self._children(node, depth)
        for child in children[_child(children, start) :]:
            yield from self._walk(child, start, depth + 1)

    def _children(self, node: _Node, depth: int) -> list[_Node]:
        """Return the children of an inner node, which is read when it has not been."""
        if node.children is None and node.ref is not None:
            if depth >= MAX_DEPTH - 1:
                raise _too_deep(node.ref)
            refs = read_inner(self._fetch(node.ref.key, node.ref.etag), node.ref)
            node.children = [_Node(ref=ref) for ref in refs]
        return node.children if node.children is not None else []

    def _entries(self, node: _Node) -> list[TakenInput]:
        """Return the entries of a leaf, which is read when it has not been."""
        if node.entries is None and node.ref is not None:
            node.entries = list(read_leaf(self._fetch(node.ref.key, node.ref.etag), node.ref))
            node.paths = [entry.path for entry in node.entries]
        return node.entries if node.entries is not None else []

    def _write(
        self, node: _Node, put: Callable[[bytes], tuple[str, str]], replaced: list[str]
    ) -> None:
        """Write a node that has changed, after those below it."""
        if not node.is_changed:
            return
        if node.children is not None:
            for child in node.children:
                self._write(child, put, replaced)
            data = write_inner([_ref(child) for child in node.children])
        else:
            data = write_leaf(node.entries or [])
        if node.ref is not None:
            replaced.append(node.ref.key)
        key, etag = put(data)
        node.ref = InputNodeRef(node.last, key, etag, node.children is not None)
        node.is_changed = False

    def _data_bytes(self) -> int:
        """Estimate the data in memory: of leaves that have changed, and of the journal."""
        pending = [self._root]
        total = _Node(list(self._journal.values())).data_bytes
        while pending:
            node = pending.pop()
            if node.is_changed:
                total += node.data_bytes
            pending += node.children or ()
        return total

    def _nodes(self, refs: tuple[InputNodeRef, ...], depth: int) -> Iterator[str]:
        for ref in refs:
            yield ref.key
            if ref.is_inner:
                if depth >= MAX_DEPTH - 1:
                    raise _too_deep(ref)
                yield from self._nodes(read_inner(self._fetch(ref.key, ref.etag), ref), depth + 1)


def _too_deep(ref: InputNodeRef) -> CorruptError:
    message = f"reading {ref.key}: the inputs tree has more than {MAX_DEPTH} levels"
    return CorruptError(message, path=ref.key)


def _child(children: list[_Node], path: str) -> int:
    """Return the first child that can have a path; their number when none can."""
    return bisect_left(children, path, key=lambda child: child.last)


def _upper_half(node: _Node) -> _Node:
    """Take the upper half of a node away from it."""
    if node.children is not None:
        middle = len(node.children) // 2
        upper = _Node(children=node.children[middle:], is_changed=True)
        del node.children[middle:]
        return upper
    entries = node.entries or []
    middle = len(entries) // 2
    upper = _Node(entries[middle:], is_changed=True)
    del entries[middle:], node.paths[middle:]
    return upper


def _ref(node: _Node) -> InputNodeRef:
    if node.ref is None:
        raise AssertionError("a node that was not written")
    return node.ref


# Nodes of the inputs tree, as they are stored: in separate objects, and in the index.

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

        Raises `CorruptError` if it is malformed, or the journal has an input twice.
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

    Raises `CorruptError` if one is malformed, or they are out of order.
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

    Raises `CorruptError` if it is damaged, out of order, or does not end as the reference says.
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
