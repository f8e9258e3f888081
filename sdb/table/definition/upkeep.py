"""Upkeep: what `sdb maintain` does for a table, as its definition says."""

from __future__ import annotations

from sdb import durations
from sdb.errors import InputError, UsageError
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

FLAGS = ("sync", "compact", "expire", "collect")
MEMBERS = (*FLAGS, "grace")
DEFAULT_GRACE = "24h"
_MOST_GRACE_SECONDS = 36_525 * 86_400


@record
class UpkeepPolicy:
    """Policy of `sdb maintain` for a table; a member that only `sdb` knows.

    Attributes
    ----------
    sync : bool
        Whether new inputs are taken.
    compact : bool
        Whether small packfiles are merged, and those of a clustered table sorted.
    expire : bool
        Whether versions leave the history that the policy of versions does not keep.
    collect : bool
        Whether objects are deleted that no version needs.
    grace : str
        How long readers may go on reading what has expired or was replaced, as in ``24h``.
    """

    sync: bool = False
    compact: bool = True
    expire: bool = True
    collect: bool = True
    grace: str = DEFAULT_GRACE

    @property
    def grace_seconds(self) -> float:
        """The grace time in seconds."""
        return durations.seconds(self.grace)

    @classmethod
    def of_members(cls, flags: Mapping[str, bool], grace: str) -> Self:
        """Return the policy of what a definition says.

        * ``flags``: Those of the members that are true or false, as far as they are there.
        * ``grace``: A span of time; empty: not given.

        Raises
        ------
        InputError
            The grace time is no span of time.
        """
        grace = grace or DEFAULT_GRACE
        try:
            seconds = durations.seconds(grace)
        except UsageError as error:
            raise InputError(f"invalid upkeep.grace: {error.message}") from None
        if seconds > _MOST_GRACE_SECONDS:
            raise InputError(f"invalid upkeep.grace: {grace[:40]!r} is too long")
        return cls(**flags, grace=grace)

    def members(self) -> list[tuple[str, str]]:
        """Return the members that are not the usual ones, as texts of JSON."""
        usual = UpkeepPolicy()
        changed = [
            (name, "true" if getattr(self, name) else "false")
            for name in FLAGS
            if getattr(self, name) != getattr(usual, name)
        ]
        return changed + ([("grace", f'"{self.grace}"')] if self.grace != usual.grace else [])
