"""Lines that say what a purge came to."""

from __future__ import annotations

from sdb import sizes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from sdb.query.writes.purged import Purged, PurgedBranch


def lines_of(found: Purged, *, verbose: bool) -> Iterator[str]:
    """Go over the lines that say what went, what is left, and what no purge can reach.

    Parameters
    ----------
    found : Purged
        What the purge came to.
    verbose : bool
        Whether to name each packfile that had such rows.
    """
    for one in found.branches:
        yield from _branch(one, is_dry=found.is_dry)
    count = _count(len(found.packfiles), "packfile")
    if found.is_dry:
        yield f"{count} with such rows would be deleted, and all that describes them"
    elif found.objects:
        size = f"{_count(found.objects, 'object')} deleted, {sizes.human(found.size_bytes)}"
        yield f"{size}: {count} with such rows, and what described them"
    if verbose:
        yield from (f"it had such rows: {key}" for key in found.packfiles)
    yield from _proof(found)
    yield from (f"not reached: {line}" for line in found.beyond)


def _branch(one: PurgedBranch, *, is_dry: bool) -> Iterator[str]:
    name = one.table if one.branch == "main" else f"{one.table}@{one.branch}"
    verb = "would be " if is_dry else ""
    if one.rows:
        yield f"{name}: {_count(one.rows, 'row')} {verb}deleted"
    gone = one.forgotten
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


def _proof(found: Purged) -> Iterator[str]:
    where = f"{_count(found.scanned, 'packfile')} of {_count(found.versions, 'version')}"
    for one in found.left:
        what = "cannot be read" if one.rows is None else f"has {_count(one.rows, 'such row')}"
        yield f"left: {one.key} {what}: {one.reason}"
    if found.is_dry:
        return
    rows = sum(one.rows or 0 for one in found.left)
    if found.ok:
        yield f"proof: 0 rows match in {where}"
    else:
        yield f"no proof: {_count(rows, 'row')} match, looked for in {where}"


def _count(number: int, what: str) -> str:
    return f"1 {what}" if number == 1 else f"{number:,} {what}s"
