"""Rules of upkeep: what may be done for a table, by its definition or by safe defaults."""

from __future__ import annotations

from sdb.errors import NotFoundError
from sdb.records import record
from sdb.table.definition.cache import read_definition
from sdb.table.definition.definition import VersionPolicy
from sdb.table.definition.timespan import CalendarSpan, Thinning
from sdb.table.definition.upkeep import UpkeepPolicy
from sdb.table.maintenance.expire import ExpiryPolicy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.table.catalog.root import TableRoot
    from sdb.table.definition.definition import Definition
    from sdb.table.format.keys import TableKeys

WITHOUT_POLICY = VersionPolicy(100, CalendarSpan(days=30), Thinning.parse("1h:all,1d:1m,30d:1h"))
"""The versions that stay of a table whose definition says nothing about them, or that has none:
more than of tables that `sdb create` makes, since nobody has chosen."""

_BARE = VersionPolicy()


@record
class Rules:
    """Rules for what may be done for a table."""

    definition: Definition | None  # None: it has none
    upkeep: UpkeepPolicy
    versions: VersionPolicy
    is_usual: bool  # whether the policy of versions is the default, since there is no other

    @property
    def expiry(self) -> ExpiryPolicy:
        """The policy of an expiry."""
        return ExpiryPolicy(
            self.versions.keep_last, self.versions.keep_for, None, self.versions.thin
        )


def rules_of(root: TableRoot, keys: TableKeys) -> Rules:
    """Read the rules of a table.

    Raises `InputError` or `CorruptError` if its definition is malformed: nothing may be done.
    """
    try:
        definition = read_definition(root, keys)
    except NotFoundError:
        return Rules(None, UpkeepPolicy(), WITHOUT_POLICY, is_usual=True)
    upkeep = definition.upkeep or UpkeepPolicy()
    versions = definition.versions
    if versions is None or versions == _BARE:
        return Rules(definition, upkeep, WITHOUT_POLICY, is_usual=True)
    return Rules(definition, upkeep, versions, is_usual=False)
