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


def lines_of(found: Collected, grace: str, *, is_dry: bool) -> Iterator[str]:
    """Go over the lines that say what was deleted, and what keeps the rest.

    Parameters
    ----------
    found : Collected
        What the collection came to.
    grace : str
        The grace time, as it was asked for.
    is_dry : bool
        Whether nothing was deleted.
    """
    held = sum(one.size_bytes for one in found.held)
    if found.garbage:
        verb = "would be deleted" if is_dry else "deleted"
        gone = f"{len(found.garbage):,} of {found.objects:,} objects"
        yield f"{gone} {verb}, {sizes.human(found.size_bytes)}"
    elif found.held:
        count = f"of {_objects(found.objects)} {len(found.held):,} are held"
        yield f"nothing to delete yet: {count}, {sizes.human(held)}"
    else:
        yield f"nothing to delete: {_objects(found.objects)}, all in use"
    for group in found.groups:
        size = sizes.human(group.size_bytes)
        yield f"held {_keeper(group, grace)}: {_objects(group.objects)}, {size}"


def explained(found: Collected, grace: str) -> Iterator[str]:
    """Go over the objects that stay, each with what keeps it."""
    for one in found.held:
        yield f"{one.key} is held {_keeper(one, grace)}"


def _keeper(one: HeldObject | HeldGroup, grace: str) -> str:
    text = _KEEPERS[one.reason].format(name=one.name, grace=grace)
    if not one.until_us:
        return text
    seconds = -(-one.until_us // _SECOND_US)  # not a moment too early
    return f"{text} until {instants.text(seconds * _SECOND_US, fraction=False)}"


def _objects(count: int) -> str:
    return "1 object" if count == 1 else f"{count:,} objects"
