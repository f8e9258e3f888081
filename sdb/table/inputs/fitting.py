"""Inputs that a pattern would take now, and why it finds nothing."""

from __future__ import annotations

from itertools import islice

from sdb.errors import NotFoundError
from sdb.lake.names import is_lake_input
from sdb.records import record
from sdb.store.base import child
from sdb.store.url import store_of
from sdb.table.inputs.lakes import open_lake_input
from sdb.table.inputs.listing import list_inputs, start_of
from sdb.table.inputs.pattern import InputPattern
from sdb.table.inputs.patternregex import matcher
from sdb.table.inputs.tempnames import is_temporary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.table.catalog.root import TableRoot

MOST_COUNTED = 10_000
_MAGIC = frozenset("*?[{\\")


@record
class FittingInputs:
    """The inputs that a pattern finds now, of which not all are looked at."""

    pattern: str
    count: int
    size_bytes: int
    is_more: bool  # whether there are more
    passed: int  # those with temporary names, which are not counted


def fitting_inputs(root: TableRoot, pattern: str, *, most: int = MOST_COUNTED) -> FittingInputs:
    """Count the inputs that a pattern finds now.

    * ``most``: How many are looked at.

    Raises `OutsideError` if the pattern leads out of the root.
    """
    if is_lake_input(pattern):
        sizes = [file.size_bytes for file in open_lake_input(root, pattern).at().files.values()]
        return FittingInputs(pattern, len(sizes), sum(sizes), is_more=False, passed=0)
    count = size_bytes = passed = 0
    listed = list_inputs(root, InputPattern.parse(pattern))
    for entry in islice(listed, most):
        if is_temporary(entry.uri, pattern):
            passed += 1
        else:
            count, size_bytes = count + 1, size_bytes + entry.size_bytes
    return FittingInputs(pattern, count, size_bytes, next(listed, None) is not None, passed)


def why_nothing(root: TableRoot, pattern: str) -> str:
    """Return why a pattern that `fitting_inputs` counts nothing for finds nothing."""
    if is_lake_input(pattern):
        try:
            open_lake_input(root, pattern)
        except NotFoundError as error:
            return error.message
        return "the table has no files"
    _, folder, segments = start_of(root, InputPattern.parse(pattern))
    store, above = store_of(folder), ""
    while len(segments) > 1 and _MAGIC.isdisjoint(segments[0]):
        name, *segments = segments
        if name not in {"", ".", ".."} and name not in store.folders(folder):
            return f"there is no folder {above}{name}"
        folder, above = child(folder, name), f"{above}{name}/"
    where = f"the folder {above.rstrip('/')}" if above else "the root"
    if len(segments) > 1:
        what, names = "folder", list(store.folders(folder))
    else:
        what = "file"
        names = [entry.location.rpartition("/")[2] for entry in store.list(folder)]
    if not names:
        return f"{where} has no {what}s"
    fits = matcher(InputPattern.parse(segments[0]))
    if any(fits(name) is not None for name in names):
        return f"nothing further down fits {'/'.join(segments)}"
    more = f" and {len(names) - 1:,} more" if names[1:] else ""
    return f"{where} has no {what} that fits {segments[0]}: it has {names[0]}{more}"
