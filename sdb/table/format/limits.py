"""Limits of tables: when lists spill and nodes split, how many requests run at once.

Commits take them from their environment, so that simulations run with small ones. The format does
not depend on them.
"""

from __future__ import annotations

from sdb.records import changing_record


@changing_record
class Limits:
    """Limits of what a writer does."""

    inline_packfiles: int = 256  # with more in the index, the older half moves to the indirect tree
    inline_versions: int = 128  # with as many in the index, the older half moves to a list
    listed_versions: int = 4096  # most versions in one list
    journal_entries: int = 50  # with as many, the nodes of the inputs tree are written
    copiers: int = 8  # packfiles of a remote store that are copied at once
    deleters: int = 16  # objects of a remote store that are deleted at once
    reads_ahead: bool = True  # whether objects of a remote store are read before they are needed
    # A lease that was not renewed for so long is over, where no grace time says otherwise
    lease_seconds: float = 2_400.0
    tier_members: int = 8  # packfiles of one size class that are merged
    tier_factor: int = 8  # how many times larger each size class is than the one below


USUAL = Limits()
