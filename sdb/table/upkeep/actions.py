"""Actions of upkeep: what is asked for, and what was done."""

from __future__ import annotations

from functools import partial

from sdb.records import field, record
from sdb.table.commit.environment import REAL
from sdb.table.packfiles.merge import merge_here
from sdb.typed import Protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from sdb.table.catalog.root import TableRoot
    from sdb.table.commit.environment import Environment
    from sdb.table.definition.upkeep import ExportPolicy
    from sdb.table.format.keys import TableKeys
    from sdb.table.maintenance.compact import Merging
    from sdb.table.upkeep.budget import Budget


@record
class Action:
    """Step that was done for a table, or would be.

    Attributes
    ----------
    table : str
        Its name.
    action : str
        ``sync``, ``export``, ``retention``, ``compact``, ``expire`` or ``collect``; ``note`` for
        what stays undone.
    text : str
        What was done, in words.
    version : int or None
        The version that it made.
    numbers : dict
        How much, by name.
    """

    table: str
    action: str
    text: str
    version: int | None = None
    numbers: dict[str, int] = field(default_factory=dict)

    def as_dict(self) -> dict[str, object]:
        """Return it as plain values with stable names, for JSON."""
        return {
            "table": self.table,
            "action": self.action,
            "version": self.version,
            "text": self.text,
            **self.numbers,
        }


@record
class Exported:
    """Export of versions to a mirror, done or foreseen."""

    location: str  # where the mirror is
    versions: int  # number of commits that it got
    rows: int  # number of rows that were written
    version: int | None  # version that it has now


class Exporting(Protocol):
    """Brings a mirror up to date; None: nothing was new."""

    def __call__(
        self, root: TableRoot, keys: TableKeys, policy: ExportPolicy, /, *, is_dry: bool
    ) -> Exported | None:
        """Export the versions that are new."""


@record
class Request:
    """Request to maintain tables."""

    tell: Callable[[Action], None]
    budget: Budget
    author: str = ""
    is_dry: bool = False
    is_once: bool = True  # whether everything is done now that there is to do
    interval_seconds: float = 60.0
    grace_seconds: float | None = None  # None: that of the definition
    env: Environment = REAL
    merge: Merging = partial(merge_here, threads=1)
    export: Exporting | None = None  # None: mirrors that definitions declare are left alone
