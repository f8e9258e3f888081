"""VACUUM: old versions of a table expire by its policy, then what nothing leads to is deleted."""

from __future__ import annotations

from sdb import notes
from sdb.progress import silent
from sdb.records import record
from sdb.table.commit.environment import REAL
from sdb.table.maintenance.expire import expire, policy_of, stored_policy
from sdb.table.maintenance.gc import collect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sdb.progress import Progress
    from sdb.table.catalog.root import TableRoot
    from sdb.table.commit.environment import Environment
    from sdb.table.format.keys import TableKeys


_ALL = 2**62
"""More versions than a table can have."""


@record
class Vacuumed:
    """Numbers of what VACUUM does to a table.

    Attributes
    ----------
    table : str
        The table, as ``db.table``.
    version : int
        The newest version that it made; 0 for none.
    versions_expired, versions_kept : int
        Numbers of versions.
    objects_deleted, objects : int
        Number of objects that went, and that there were.
    deleted_bytes : int
        Size of those that went.
    """

    table: str
    version: int
    versions_expired: int
    versions_kept: int
    objects_deleted: int
    objects: int
    deleted_bytes: int

    @property
    def operation(self) -> str:
        """The name of the statement."""
        return "vacuum"

    def as_dict(self) -> dict[str, object]:
        """Return it as plain values with stable names, for JSON."""
        return {
            "operation": self.operation,
            "table": self.table,
            "versions_expired": self.versions_expired,
            "versions_kept": self.versions_kept,
            "objects_deleted": self.objects_deleted,
            "objects": self.objects,
            "deleted_bytes": self.deleted_bytes,
        }


def vacuum(
    root: TableRoot,
    keys: TableKeys,
    *,
    dry_run: bool = False,
    lenient: bool = False,
    author: str = "",
    message: str = "",
    env: Environment = REAL,
    progress: Progress = silent,
) -> Vacuumed:
    """Expire the versions of a table that its policy does not keep, and collect.

    What expires now could be read a moment ago: a later collection deletes it.

    * ``lenient``: Whether a table without a policy keeps all its versions, which is warned of.
    * ``author, message``: Who does it, and why; the versions tell it.

    Raises `UsageError` if the definition of the table has no policy of versions, and `lenient` is
    not set; `NotFoundError`, `CorruptError`, `ConflictError` or `UncertainError`: see
    :func:`sdb.table.maintenance.expire.expire` and :func:`sdb.table.maintenance.gc.collect`.
    """
    names = (keys.database, keys.table)
    options: dict[str, Any] = {"dry_run": dry_run, "author": author, "message": message}
    if lenient and stored_policy(root, keys) is None:
        notes.warn(f"{keys.name} has no policy of versions: all are kept")
        policy = policy_of(root, keys, keep_last=_ALL)
    else:
        policy = policy_of(root, keys)
    expired = expire(root, *names, policy, env=env, **options)
    collected = collect(root, keys, env=env, progress=progress, **options)
    return Vacuumed(
        f"{keys.database}.{keys.table}",
        collected.version or expired.version or 0,
        len(expired.dropped),
        expired.kept_count,
        len(collected.garbage),
        collected.objects,
        collected.size_bytes,
    )
