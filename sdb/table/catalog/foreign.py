"""Foreign indexes: whether another program has written an index over ours."""

from __future__ import annotations

from sdb import ion

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.format.index import TableIndex
    from sdb.table.format.state import VersionState


def seal_of(index: TableIndex) -> bytes:
    """Return the digest that tells an index of another program from ours."""
    from hashlib import blake2b

    said = {
        "created": ion.instant_from_us(index.created_us),
        "to-delete": [entry.struct() for entry in index.to_delete],
        "scan": [str(index.last_scan_us), index.is_scanning, *index.cursors],
        "inline": [f"{entry.key} {entry.etag}" for entry in index.inline],
        "indirect": [f"{ref.key} {ref.etag}" for ref in index.indirect.refs],
        "inputs": [f"{ref.key} {ref.etag}" for ref in index.inputs.root],
        "journal": sorted(f"{entry.number} {entry.path}" for entry in index.inputs.journal or ()),
        "cursor": str(index.user_data.get("packed-gc-cursor", "")),
    }
    return blake2b(ion.dumps(said), digest_size=16).digest()


def is_foreign(index: TableIndex, state: VersionState) -> bool:
    """Return whether another program has written an index over that of a state."""
    return state.created_us != index.created_us or state.seal != seal_of(index)


def is_overwritten(head: TableHandle) -> bool:
    """Return whether another program has written the index that was read, whichever counts."""
    index, state = head.index, head.state
    if head.joint is not None:
        index, state = head.joint.index, head.joint.state
    return state is None or is_foreign(index, state)
