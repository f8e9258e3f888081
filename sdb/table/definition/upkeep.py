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
MEMBERS = (*FLAGS, "grace", "changed")
CHANGED = ("keep", "replace", "fail")
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
    changed : str
        ``keep``, ``replace`` or ``fail``: what becomes of the rows of inputs that have changed
        after they were taken, also where `sdb sync` is not told; empty: it does not say.
    """

    sync: bool = False
    compact: bool = True
    expire: bool = True
    collect: bool = True
    grace: str = DEFAULT_GRACE
    changed: str = ""

    @property
    def grace_seconds(self) -> float:
        """The grace time in seconds."""
        return durations.seconds(self.grace)

    @classmethod
    def of_members(cls, flags: Mapping[str, bool], grace: str, changed: str = "") -> Self:
        """Return the policy of what a definition says.

        * ``flags``: Those of the members that are true or false, as far as they are there.
        * ``grace, changed``: A span of time, and one of `CHANGED`; empty: not given.

        Raises
        ------
        InputError
            The grace time is no span of time, or `changed` is not one of its values.
        """
        grace = grace or DEFAULT_GRACE
        try:
            seconds = durations.seconds(grace)
        except UsageError as error:
            raise InputError(f"invalid upkeep.grace: {error.message}") from None
        if seconds > _MOST_GRACE_SECONDS:
            raise InputError(f"invalid upkeep.grace: {grace[:40]!r} is too long")
        if changed and changed not in CHANGED:
            message = f"invalid upkeep.changed: {changed[:40]!r}"
            raise InputError(message, expected=" or ".join(CHANGED))
        return cls(**flags, grace=grace, changed=changed)

    def members(self) -> list[tuple[str, str]]:
        """Return the members that are not the usual ones, as texts of JSON."""
        usual = UpkeepPolicy()
        flags = [
            (name, "true" if getattr(self, name) else "false")
            for name in FLAGS
            if getattr(self, name) != getattr(usual, name)
        ]
        texts = [
            (name, f'"{getattr(self, name)}"')
            for name in ("grace", "changed")
            if getattr(self, name) != getattr(usual, name)
        ]
        return flags + texts
