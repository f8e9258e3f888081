"""Rows of inputs: where they are in a table, and packfiles without them.

Packfiles tell which rows came from which input. Blocks that have none of the rows that go are
copied as they are, others are written again.
"""

from __future__ import annotations

from contextlib import closing

from sdb.errors import CorruptError
from sdb.records import record
from sdb.table.format import keys
from sdb.table.packfiles.lazy import OpenObjects, whole_packfile
from sdb.table.packfiles.rewrite import rewrite

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from sdb.packfile.trailer.provenance import Provenance
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.format.descriptor import Descriptor

_MOST_OPEN = 1


@record
class InputRows:
    """The rows of some inputs in a packfile.

    Attributes
    ----------
    packfile : Descriptor
        The packfile.
    ranges : tuple of tuple
        First row and number of rows of each run, ascending.
    """

    packfile: Descriptor
    ranges: tuple[tuple[int, int], ...]

    @property
    def rows(self) -> int:
        """Number of rows."""
        return sum(count for _, count in self.ranges)


@record
class FoundInputs:
    """Inputs whose rows were looked for.

    Attributes
    ----------
    rows : tuple of InputRows
        The packfiles that have rows of them.
    unknown : frozenset of str
        Inputs of which it cannot be told which rows are theirs.
    """

    rows: tuple[InputRows, ...]
    unknown: frozenset[str]


@record
class RemovedRows:
    """Packfiles in the place of others, without the rows of some inputs.

    Attributes
    ----------
    removed : frozenset of str
        Keys of the packfiles that go.
    added : tuple of Descriptor
        Those that come, of which no index tells yet.
    rows : int
        Number of rows that go.
    """

    removed: frozenset[str] = frozenset()
    added: tuple[Descriptor, ...] = ()
    rows: int = 0


def find_inputs(handle: TableHandle, uris: Collection[str]) -> FoundInputs:
    """Find the rows of inputs. The end of each packfile of the table is read.

    Parameters
    ----------
    handle : TableHandle
        The table.
    uris : collection of str
        The inputs.

    Returns
    -------
    FoundInputs
        Where their rows are.

    Raises
    ------
    CorruptError
        A packfile is missing or damaged.
    """
    found = []
    seen: set[str] = set()
    is_complete = True
    for told in handle.descriptors():
        provenance = _provenance(handle, told)
        if provenance is None or not provenance.complete:
            is_complete = False
            continue
        mine = [one for one in provenance.origins if one.name in uris]
        seen.update(one.name for one in mine)
        ranges = tuple((one.first, one.rows) for one in mine if one.rows)
        if ranges:
            found.append(InputRows(told, ranges))
    # What no packfile names has no rows, if all packfiles name all inputs of theirs.
    unknown = frozenset() if is_complete else frozenset(uris) - seen
    return FoundInputs(tuple(found), unknown)


def _provenance(handle: TableHandle, told: Descriptor) -> Provenance | None:
    objects = OpenObjects(_MOST_OPEN)
    with closing(objects):
        trailer = whole_packfile(handle.root, told, objects).trailer
    try:
        return trailer.sparse.provenance()
    except CorruptError:
        return None


def remove_rows(handle: TableHandle, found: FoundInputs) -> RemovedRows:
    """Write packfiles again without the rows of inputs.

    Parameters
    ----------
    handle : TableHandle
        The table.
    found : FoundInputs
        The rows that go.

    Returns
    -------
    RemovedRows
        The new packfiles.

    Raises
    ------
    CorruptError
        A packfile is damaged, or has other rows than it tells.
    """
    import numpy as np

    from sdb.packfile.rewrite.rewrite import RowChanges

    added = []
    none = np.empty(0, np.int64)
    above = f"{handle.keys.folder}/data/"
    for one in found.rows:
        runs = [np.arange(first, first + count, dtype=np.int64) for first, count in one.ranges]
        changes = RowChanges(np.concatenate(runs), none)
        folder = one.packfile.key.rpartition("/")[0] + "/"
        directory = folder.removeprefix(above) if folder.startswith(above) else ""
        # Packfiles are named by their content: what is left of two may be alike.
        directory += keys.new_uid()
        made = rewrite(handle.root, handle.keys, one.packfile, changes, directory)
        if made.rows_before - made.rows_after != one.rows:
            message = f"{made.rows_before - made.rows_after:,} rows went, and not {one.rows:,}"
            raise CorruptError(f"{one.packfile.key}: {message}", path=one.packfile.key)
        added += [] if made.descriptor is None else [made.descriptor]
    removed = frozenset(one.packfile.key for one in found.rows)
    return RemovedRows(removed, tuple(added), sum(one.rows for one in found.rows))
