"""Sharpness of the paths of a table."""

from __future__ import annotations

from contextlib import closing

from sdb import notes
from sdb.packfile.inspect.selectivity import sharpness
from sdb.table.packfiles.lazy import OpenObjects, TablePackfile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.packfile.inspect.selectivity import Sharpness
    from sdb.table.catalog.handle import TableHandle

MOST_PACKFILES = 64
"""So many packfiles are asked."""


def table_sharpness(handle: TableHandle) -> Sharpness:
    """Find out how sharp the paths of a table are.

    Parameters
    ----------
    handle : TableHandle
        The table. Of its packfiles at most `MOST_PACKFILES` are asked, all over it.

    Returns
    -------
    Sharpness
        What was found. Packfiles that queries read without asking for statistics count so.

    Raises
    ------
    CorruptError
        A packfile is missing or damaged.
    """
    told = list(handle.descriptors())
    count = min(len(told), MOST_PACKFILES)
    asked = [told[at * len(told) // count] for at in range(count)]
    if count < len(told):
        notes.warn(f"{count:,} of {len(told):,} packfiles were asked")
    with closing(OpenObjects()) as objects:
        return sharpness([TablePackfile(handle.root, one.checked(), objects) for one in asked])
