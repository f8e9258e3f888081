"""Lines that say what a purge came to."""

from __future__ import annotations

from sdb import sizes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from sdb.statements.purged import Purged, PurgedBranch


def lines_of(purged: Purged, *, verbose: bool) -> Iterator[str]:
    """Iterate over the lines that say what went, what is left, and what no purge can reach.

    * ``verbose``: Whether to name each packfile that had such rows.
    """
    for branch in purged.branches:
        yield from _branch(branch, is_dry=purged.is_dry)
    count = _count(len(purged.packfiles), "packfile")
    if purged.is_dry:
        yield f"{count} with such rows would be deleted, and all that describes them"
    elif purged.objects:
        size = f"{_count(purged.objects, 'object')} deleted, {sizes.human(purged.size_bytes)}"
        yield f"{size}: {count} with such rows, and what described them"
    if verbose:
        yield from (f"it had such rows: {key}" for key in purged.packfiles)
    yield from _proof(purged)
    if not purged.is_dry and purged.looked_at:
        yield f"looked at {', '.join(purged.fields)} in {', '.join(purged.looked_at)}"
    yield from (f"not reached: {line}" for line in purged.beyond)


def _branch(changed: PurgedBranch, *, is_dry: bool) -> Iterator[str]:
    name = changed.table if changed.branch == "main" else f"{changed.table}@{changed.branch}"
    verb = "would be " if is_dry else ""
    if changed.rows:
        yield f"{name}: {_count(changed.rows, 'row')} {verb}deleted"
    gone = changed.forgotten
    leave = "would leave" if is_dry else "left"
    if gone.versions:
        count = len(gone.versions)
        some = f"version {gone.versions[0]}"
        if count > 1:
            some = f"{count:,} versions from {gone.versions[0]} to {gone.versions[-1]}"
        yield f"{name}: {some} {leave} the history"
    if gone.tags:
        yield f"{name}: tags that {'would go' if is_dry else 'went'}: {', '.join(gone.tags)}"
    if gone.merges:
        branches = ", ".join(gone.merges)
        yield f"{name}: can no longer be merged with what it had of {branches}"


def _proof(purged: Purged) -> Iterator[str]:
    where = f"{_count(purged.scanned, 'packfile')} of {_count(purged.versions, 'version')}"
    for packfile in purged.left:
        what = (
            "cannot be read"
            if packfile.rows is None
            else f"has {_count(packfile.rows, 'such row')}"
        )
        yield f"left: {packfile.key} {what}: {packfile.reason}"
    if purged.is_dry:
        return
    rows = sum(packfile.rows or 0 for packfile in purged.left)
    if purged.ok:
        yield f"proof: 0 rows match in {where}"
    else:
        yield f"no proof: {_count(rows, 'row')} match, looked for in {where}"


def _count(number: int, what: str) -> str:
    return f"1 {what}" if number == 1 else f"{number:,} {what}s"
