"""Results of collections: objects that went, and what keeps the others."""

from __future__ import annotations

from sdb.records import record
from sdb.table.maintenance.held import (
    GRACE,
    LEASE,
    NEWEST,
    QUARANTINE,
    HeldObject,
    KeepReason,
    grouped,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from sdb.table.format.keys import TableKeys
    from sdb.table.maintenance.held import FoundObjects, HeldGroup

# In the order of deletion: what leads to other objects goes before them.
KINDS = (
    "version",
    "history",
    "list",
    "inputs",
    "packfile",
    "lease",
    "unfinished",
    "transaction",
    "upload",
)

_NODES = {"history-": "history", "indirect-": "list", "inputs-": "inputs"}
_PACKFILES = (".zion", ".ion.zst")


@record
class Garbage:
    """An object that nothing leads to, or an upload that no writer will complete.

    Attributes
    ----------
    key : str
        The object.
    kind : str
        One of `KINDS`.
    size_bytes : int
        Its size.
    modified_us : int
        When it was written.
    """

    key: str
    kind: str
    size_bytes: int
    modified_us: int


@record
class Collected:
    """The result of a collection.

    Attributes
    ----------
    version : int or None
        The version that it made; None: there was nothing to delete, or nothing was to be done.
    boundary_us : int
        What was written up to then could be deleted.
    garbage : tuple of Garbage
        What was deleted, or would have been.
    objects : int
        Number of objects that were looked at.
    versions : int
        Number of versions that were read.
    held : tuple of HeldObject
        What the newest version does not need, and what keeps it.
    """

    version: int | None
    boundary_us: int
    garbage: tuple[Garbage, ...]
    objects: int
    versions: int
    held: tuple[HeldObject, ...] = ()

    @property
    def size_bytes(self) -> int:
        """Size of what was deleted."""
        return sum(item.size_bytes for item in self.garbage)

    def as_dict(self) -> dict[str, object]:
        """Return it as plain values with stable names, for JSON."""
        from sdb import instants

        return {
            "version": self.version,
            "boundary": instants.text(self.boundary_us),
            "objects": self.objects,
            "versions": self.versions,
            "bytes": self.size_bytes,
            "garbage": [
                {"key": item.key, "kind": item.kind, "bytes": item.size_bytes}
                for item in self.garbage
            ],
            "held": [group.as_dict() for group in self.groups],
        }

    @property
    def groups(self) -> tuple[HeldGroup, ...]:
        """Objects that are held, counted by what keeps them."""
        return grouped(self.held)


def held_of(
    remaining: Iterable[Garbage], needed: FoundObjects, now_us: int, grace_us: int
) -> tuple[HeldObject, ...]:
    """Return what keeps objects, of those that the newest version does not need."""
    lasting = KeepReason(GRACE)
    held = []
    for item in remaining:
        reason = needed.why(item.key)
        if reason is not None and reason.kind == NEWEST:
            continue
        until_us = 0
        if reason is None:  # nothing leads to it, and it is new
            reason, until_us = lasting, item.modified_us + grace_us
        elif reason.kind == GRACE:
            until_us = (reason.ended_us or now_us) + grace_us
        elif reason.kind == QUARANTINE:
            until_us = reason.ended_us + grace_us
        elif reason.kind == LEASE and item.kind == "lease":
            until_us = item.modified_us + grace_us
        entry = HeldObject(item.key, item.kind, item.size_bytes, reason.kind, reason.name, until_us)
        held.append(entry)
    return tuple(held)


def kind_of(keys: TableKeys, key: str) -> str:
    """Return what an object of a table is; empty: nothing that a collector knows."""
    rest = key.removeprefix(f"{keys.folder}/")
    first, name = rest.partition("/")[0], rest.rpartition("/")[2]
    if name.startswith(".") and name.endswith(".tmp"):
        return "unfinished"
    if keys.version_of(key) is not None:
        return "version"
    if keys.is_lease(key):
        return "lease"
    if "/" not in rest:
        for start, kind in _NODES.items():
            if rest.startswith(start) and rest.removeprefix(start).isalnum():
                return kind
    is_ours = first == "data" and "/" in rest and name.endswith(".zion")
    if is_ours or (name.startswith("packed-") and name.endswith(_PACKFILES)):
        return "packfile"
    return ""
