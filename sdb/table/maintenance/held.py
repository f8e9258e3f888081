"""Objects of a table that a collection leaves: why, and until when."""

from __future__ import annotations

from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

NEWEST = "newest"
VERSIONS = "versions"
TAG = "tag"
BRANCH = "branch"
FORK = "fork"
MERGE = "merge"
LEASE = "lease"
QUARANTINE = "quarantine"
GRACE = "grace"
REASONS = (NEWEST, VERSIONS, TAG, BRANCH, FORK, MERGE, LEASE, QUARANTINE, GRACE)


@record
class KeepReason:
    """A reason why a collection leaves an object."""

    kind: str  # one of `REASONS`
    name: str = ""  # the tag, branch, table or lease
    ended_us: int = 0  # of the grace period: when the object was needed last; 0: until now


@record
class HeldObject:
    """An object that the newest version does not need, and that stays.

    Attributes
    ----------
    key : str
        The object.
    kind : str
        One of :data:`sdb.table.maintenance.collected.KINDS`.
    size_bytes : int
        Its size.
    reason : str
        What keeps it, one of `REASONS`; where several do, the one that lasts longest.
    name : str
        The tag, branch, table or lease.
    until_us : int
        When that is over by itself; 0: not known.
    """

    key: str
    kind: str
    size_bytes: int
    reason: str
    name: str = ""
    until_us: int = 0

    def as_dict(self) -> dict[str, object]:
        """Return it as plain values with stable names, for JSON."""
        return {"key": self.key, "kind": self.kind, "bytes": self.size_bytes} | _facts(
            self.reason, self.name, self.until_us
        )


@record
class HeldGroup:
    """Objects that are kept for the same reason."""

    # See :class:`HeldObject`.
    reason: str
    name: str
    # Their number and size.
    objects: int
    size_bytes: int
    until_us: int  # when the last of them is free; 0: not known

    def as_dict(self) -> dict[str, object]:
        """Return it as plain values with stable names, for JSON."""
        counts: dict[str, object] = {"objects": self.objects, "bytes": self.size_bytes}
        return _facts(self.reason, self.name, self.until_us) | counts


class FoundObjects:
    """Keys of objects that are needed, each with the first reason that was found.

    * ``reason``: Why the keys that are added next are needed.
    """

    def __init__(self) -> None:
        self._reasons: dict[str, KeepReason] = {}
        self.reason = KeepReason(NEWEST)

    def add(self, key: str) -> None:
        """Add a key."""
        self._reasons.setdefault(key, self.reason)

    def update(self, keys: Iterable[str]) -> None:
        """Add keys."""
        for key in keys:
            self._reasons.setdefault(key, self.reason)

    def why(self, key: str) -> KeepReason | None:
        """Return the reason why an object is needed; None: it is not."""
        return self._reasons.get(key)

    def __contains__(self, key: object) -> bool:
        """Return True if an object is needed."""
        return key in self._reasons

    def __iter__(self) -> Iterator[str]:
        """Iterate over the keys."""
        return iter(self._reasons)

    def __len__(self) -> int:
        """Return the number of keys."""
        return len(self._reasons)


def grouped(held: Collection[HeldObject]) -> tuple[HeldGroup, ...]:
    """Count objects by what keeps them, in the order of `REASONS`."""
    by_reason: dict[tuple[str, str], list[HeldObject]] = {}
    for item in held:
        by_reason.setdefault((item.reason, item.name), []).append(item)
    groups = [
        HeldGroup(
            *reason_and_name,
            len(some),
            sum(item.size_bytes for item in some),
            max(item.until_us for item in some),
        )
        for reason_and_name, some in by_reason.items()
    ]
    return tuple(sorted(groups, key=lambda group: (REASONS.index(group.reason), group.name)))


def _facts(reason: str, name: str, until_us: int) -> dict[str, object]:
    from sdb import instants

    until = instants.text(until_us) if until_us else None
    return {"reason": reason, "name": name or None, "until": until}
