"""Merged packfiles: one that has the rows of several."""

from __future__ import annotations

from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.table.descriptor import Descriptor


@record
class MergedPackfile:
    """A packfile that was made of others.

    Attributes
    ----------
    descriptor : Descriptor
        Its descriptor.
    copied_bytes : int
        How many bytes of blocks were taken over as they were.
    copied_by_store_bytes : int
        How many of them the store copied by itself.
    """

    descriptor: Descriptor
    copied_bytes: int
    copied_by_store_bytes: int
