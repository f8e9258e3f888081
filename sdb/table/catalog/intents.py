"""Intents: what transactions over several tables are about to do, and whether they have.

An intent is a separate object. It begins as pending, and its next and last step is that it is
committed or aborted; a version of a table that is part of the transaction has its key. So one swap
decides what all of these tables are.
"""

from __future__ import annotations

from sdb import ion
from sdb.errors import CorruptError, NotFoundError, UnsupportedError
from sdb.records import field, record
from sdb.table.format import ionstruct, keys
from sdb.table.format.versionref import MAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Self

    from sdb.store.base import Reader
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot
    from sdb.table.format.signature import Keyring

FORMAT = 1
FOLDER = "transactions"
PENDING = "pending"
COMMITTED = "committed"
ABORTED = "aborted"
MOST_TABLES = 100
MAX_BYTES = 1 << 20
"""An intent has fewer bytes."""

_STEPS = frozenset({PENDING, COMMITTED, ABORTED})


@record
class TransactionIntent:
    """An intent."""

    step: str  # what has become of the transaction
    heads: tuple[str, ...]  # keys of the indexes that it changes, in the order in which it does
    # The versions that it made, by the keys of their indexes, once it is committed
    versions: dict[str, int] = field(default_factory=dict)
    # How often it was written anew while it was pending: so others see that it is alive
    beat: int = 0
    # Whether no index has its key any more, so that it may be collected later
    is_settled: bool = False

    def encode(self, keyring: Keyring) -> bytes:
        """Return the object, signed like an index."""
        listed = [
            {"index": head} | ({"version": self.versions[head]} if head in self.versions else {})
            for head in self.heads
        ]
        value = {"format": FORMAT, "step": self.step, "tables": listed, "beat": self.beat}
        return keyring.sign(ion.dumps(value | ({"settled": True} if self.is_settled else {})))

    @classmethod
    def decode(cls, data: bytes, keyring: Keyring) -> Self:
        """Read the object.

        Raises `CorruptError` if it is not signed with one of the keys, or malformed;
        `UnsupportedError` if it is of a later format.
        """
        value = ionstruct.signed(data, keyring, FORMAT, "a transaction")
        step = ionstruct.text(value, "step")
        if step not in _STEPS:
            raise CorruptError(f"invalid step of a transaction: {step!r}")
        heads: list[str] = []
        versions: dict[str, int] = {}
        for part in ionstruct.listed(value.get("tables"), "tables"):
            key, version = _part(part)
            heads.append(key)
            versions |= {} if version is None else {key: version}
        beat = ionstruct.count(value, "beat", 0)
        return cls(step, tuple(heads), versions, beat, ionstruct.flag(value, "settled"))


def _part(value: object) -> tuple[str, int | None]:
    if not isinstance(value, dict):
        raise CorruptError("invalid transaction: expected a struct for each table")
    members: dict[str, Any] = value
    version = ionstruct.count(members, "version") if "version" in members else None
    return keys.check_head(members.get("index")), version


@record
class FoundIntent:
    """An intent as it was read."""

    intent: TransactionIntent  # what it says
    data: bytes = field(repr=False)  # the object
    reader: Reader = field(repr=False)  # the version of the object, closed


def find_intent(root: TableRoot, key: str) -> FoundIntent | None:
    """Read an intent; None: it does not exist.

    Raises `CorruptError` or `UnsupportedError` if it is damaged, or of a later format.
    """
    try:
        reader = root.open(key)
    except NotFoundError:
        return None
    try:
        if reader.size_bytes >= MAX_BYTES:
            raise CorruptError(f"{key} is {reader.size_bytes:,} bytes; too big", path=key)
        data = reader.read(0, reader.size_bytes)
    finally:
        reader.close()
    try:
        return FoundIntent(TransactionIntent.decode(data, root.keyring), data, reader)
    except (CorruptError, UnsupportedError) as error:
        raise error.within(f"reading {key}", path=key) from None


# Reading several tables: all of what a transaction has changed, or nothing of it.


def read_together(
    opened: dict[str, TableHandle | None], reopen: Callable[[str], TableHandle | None]
) -> dict[str, TableHandle | None]:
    """Return tables so that nothing of a transaction is in one of them and missing in another.

    * ``opened``: The tables as they were read, by the keys of their indexes; None: no such table.
    """
    handles = dict(opened)
    again: dict[str, int] = {}
    while True:
        wanted: dict[str, int] = {}
        for handle in handles.values():
            state = None if handle is None else handle.state
            for key, number in () if state is None else state.together.items():
                wanted[key] = max(number, wanted.get(key, 0))
        # What was read again is not older, whatever it says: another program may have written it.
        stale = [
            key
            for key, handle in handles.items()
            if wanted.get(key, 0) > max(_number(handle), again.get(key, 0))
        ]
        if not stale:
            return handles
        for key in stale:
            again[key] = wanted[key]
            handles[key] = reopen(key)


def _number(handle: TableHandle | None) -> int:
    state = None if handle is None else handle.state
    return 0 if state is None else state.version


def head_key(handle: TableHandle) -> str | None:
    """Return the key of the index that a table was read from; None: it is a version of the past."""
    state = handle.state
    key = handle.keys.branch((state.branch if state is not None else "") or MAIN)
    return key if handle.reader.path == handle.root.place(key) else None
