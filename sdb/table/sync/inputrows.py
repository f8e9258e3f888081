"""Rows of inputs: where they are in a table, and packfiles without them.

Packfiles record which rows came from which input. Blocks that have none of the rows that go are
copied as they are, all other rows are written again.
"""

from __future__ import annotations

from contextlib import closing

from sdb.errors import CorruptError
from sdb.progress import counted, silent
from sdb.records import record
from sdb.table.format.keys import new_uid
from sdb.table.packfiles.lazy import OpenObjects, whole_packfile
from sdb.table.packfiles.rewrite import rewrite

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    import numpy as np
    from numpy.typing import NDArray

    from sdb.packfile.trailer.provenance import Provenance
    from sdb.progress import Progress
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot
    from sdb.table.format.descriptor import Descriptor
    from sdb.table.format.keys import TableKeys
    from sdb.table.packfiles.rewrite import Rewritten

_MOST_OPEN = 1


@record
class InputRows:
    """The rows of some inputs in a packfile."""

    packfile: Descriptor  # the packfile
    ranges: tuple[tuple[int, int], ...]  # first row and number of rows of each run, ascending

    @property
    def rows(self) -> int:
        """Number of rows."""
        return sum(count for _, count in self.ranges)


@record
class FoundInputs:
    """Inputs whose rows were looked for."""

    rows: tuple[InputRows, ...]  # the packfiles that have rows of them
    unknown: frozenset[str]  # inputs whose rows cannot be told from others


@record
class RemovedRows:
    """Packfiles in the place of others, without the rows of some inputs."""

    removed: frozenset[str] = frozenset()  # keys of the packfiles that go
    added: tuple[Descriptor, ...] = ()  # those that come, which no index has yet
    rows: int = 0  # number of rows that go
    are_rows_traced: bool = True  # whether the new ones say which rows their rows were


def find_inputs(handle: TableHandle, uris: Collection[str]) -> FoundInputs:
    """Find the rows of inputs. The end of each packfile of the table is read.

    Raises `CorruptError` if a packfile is missing or damaged.
    """
    rows = []
    seen: set[str] = set()
    is_complete = True
    for descriptor in handle.descriptors():
        provenance = _provenance(handle, descriptor)
        if provenance is None or not provenance.complete:
            is_complete = False
            continue
        mine = [origin for origin in provenance.origins if origin.name in uris]
        seen.update(origin.name for origin in mine)
        ranges = tuple((origin.first, origin.rows) for origin in mine if origin.rows)
        if ranges:
            rows.append(InputRows(descriptor, ranges))
    # What no packfile names has no rows, if all packfiles name all inputs of theirs.
    unknown = frozenset() if is_complete else frozenset(uris) - seen
    return FoundInputs(tuple(rows), unknown)


def _provenance(handle: TableHandle, descriptor: Descriptor) -> Provenance | None:
    objects = OpenObjects(_MOST_OPEN)
    with closing(objects):
        trailer = whole_packfile(handle.root, descriptor, objects).trailer
    try:
        return trailer.sparse.provenance()
    except CorruptError:
        return None


def remove_rows(handle: TableHandle, inputs: FoundInputs) -> RemovedRows:
    """Write packfiles again without the rows of inputs.

    Raises `CorruptError` if a packfile is damaged, or has other rows than it records.
    """
    import numpy as np

    added = []
    are_rows_traced = True
    for rows in inputs.rows:
        runs = [np.arange(first, first + count, dtype=np.int64) for first, count in rows.ranges]
        made = rewritten_without(handle.root, handle.keys, rows.packfile, np.concatenate(runs))
        added += [] if made.descriptor is None else [made.descriptor]
        are_rows_traced = are_rows_traced and made.are_rows_traced
    removed = frozenset(rows.packfile.key for rows in inputs.rows)
    gone = sum(rows.rows for rows in inputs.rows)
    return RemovedRows(removed, tuple(added), gone, are_rows_traced)


def rewritten_without(
    root: TableRoot,
    keys: TableKeys,
    packfile: Descriptor,
    rows: NDArray[np.int64],
    progress: Progress = silent,
) -> Rewritten:
    """Write a packfile again without some of its rows.

    * ``rows``: Their numbers, ascending.

    Raises `CorruptError` if it is damaged, or has other rows than it records.
    """
    from sdb.packfile.rewrite.rewrite import RowChanges

    # Packfiles are named by their content: what is left of two may be alike.
    advance = counted(progress, packfile.trailer.offset)
    made = rewrite(root, keys, packfile, RowChanges(rows, rows[:0]), new_uid(), progress=advance)
    if made.rows_before - made.rows_after != len(rows):
        message = f"{made.rows_before - made.rows_after:,} rows went, and not {len(rows):,}"
        raise CorruptError(f"{packfile.key}: {message}", path=packfile.key)
    return made
