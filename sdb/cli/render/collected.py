"""Lines that say what a collection came to."""

from __future__ import annotations

from sdb import instants, sizes
from sdb.table.maintenance.held import BRANCH, FORK, GRACE, LEASE, MERGE, QUARANTINE, TAG, VERSIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from sdb.table.maintenance.collected import Collected
    from sdb.table.maintenance.held import HeldGroup, HeldObject

_SECOND_US = 1_000_000
_KEEPERS = {
    VERSIONS: "by versions that the history keeps (sdb expire)",
    TAG: "by the tag {name}",
    BRANCH: "by the branch {name}",
    FORK: "for {name}, which shares packfiles (sdb gc {name})",
    MERGE: "by the last merge of the branch {name}",
    LEASE: "by the lease {name} of a reader",
    QUARANTINE: "by the original, which deletes them",
    GRACE: "by the grace period of {grace}",
}


def lines_of(collected: Collected, grace: str, *, is_dry: bool) -> Iterator[str]:
    """Iterate over the lines that say what was deleted, and what keeps the rest."""
    held = sum(kept_object.size_bytes for kept_object in collected.held)
    if collected.garbage:
        verb = "would be deleted" if is_dry else "deleted"
        gone = f"{len(collected.garbage):,} of {collected.objects:,} objects"
        yield f"{gone} {verb}, {sizes.human(collected.size_bytes)}"
    elif collected.held:
        count = f"of {_objects(collected.objects)} {len(collected.held):,} are held"
        yield f"nothing to delete yet: {count}, {sizes.human(held)}"
    else:
        yield f"nothing to delete: {_objects(collected.objects)}, all in use"
    for group in collected.groups:
        size = sizes.human(group.size_bytes)
        yield f"held {_keeper(group, grace)}: {_objects(group.objects)}, {size}"


def explained(collected: Collected, grace: str) -> Iterator[str]:
    """Iterate over the objects that stay, each with what keeps it."""
    for kept_object in collected.held:
        yield f"{kept_object.key} is held {_keeper(kept_object, grace)}"


def _keeper(held: HeldObject | HeldGroup, grace: str) -> str:
    text = _KEEPERS[held.reason].format(name=held.name, grace=grace)
    if not held.until_us:
        return text
    seconds = -(-held.until_us // _SECOND_US)  # not a moment too early
    return f"{text} until {instants.text(seconds * _SECOND_US, fraction=False)}"


def _objects(count: int) -> str:
    return "1 object" if count == 1 else f"{count:,} objects"
