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
"""How many packfiles are asked."""


def table_sharpness(handle: TableHandle) -> Sharpness:
    """Find out how sharp the paths of a table are.

    * ``handle``: The table. Of its packfiles at most `MOST_PACKFILES` are asked, all over it.

    Returns: What was found. Packfiles that queries read without asking for statistics count so.
    Raises `CorruptError` if a packfile is missing or damaged.
    """
    descriptors = list(handle.descriptors())
    count = min(len(descriptors), MOST_PACKFILES)
    asked = [descriptors[at * len(descriptors) // count] for at in range(count)]
    if count < len(descriptors):
        notes.warn(f"{count:,} of {len(descriptors):,} packfiles were sampled")
    with closing(OpenObjects()) as objects:
        return sharpness(
            [TablePackfile(handle.root, descriptor.checked(), objects) for descriptor in asked]
        )
