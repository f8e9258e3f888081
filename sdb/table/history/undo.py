"""Undoing: the content from before the last change, as a new version."""

from __future__ import annotations

from sdb.errors import UsageError
from sdb.records import record
from sdb.table.catalog.handle import open_table
from sdb.table.commit.change import SAME_ROWS
from sdb.table.history.log import log
from sdb.table.history.restore import restore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.table.catalog.root import TableRoot
    from sdb.table.history.log import LoggedVersion
    from sdb.table.history.restore import Restored


@record
class Undone:
    """The result of undoing a change.

    Attributes
    ----------
    change : LoggedVersion
        The version whose change was undone.
    restored : Restored or None
        The version that has the content of before; None: nothing was changed, in a dry run.
    """

    change: LoggedVersion
    restored: Restored | None

    def as_dict(self) -> dict[str, object]:
        """Return it as plain values with stable names, for JSON."""
        restored = None if self.restored is None else self.restored.as_dict()
        return {"undone": self.change.as_dict(), "restored": restored}


def undo(
    root: TableRoot,
    database: str,
    table: str,
    *,
    branch: str = "main",
    author: str = "",
    message: str = "",
    dry_run: bool = False,
    expects: int | None = None,
) -> Undone:
    """Make a version with the content from before the last change.

    Merges of packfiles and other housekeeping change no rows, and are passed over. Undoing twice
    brings the change back, since undoing is a change.

    * ``expects``: The version that it must follow; None: the newest.

    Raises `UsageError` if there is nothing to undo; `ConflictError` if another program has
    committed meanwhile; nothing has changed; `NotFoundError`, `CorruptError` or `UncertainError` as
    :func:`sdb.table.history.restore.restore` does.
    """
    handle = open_table(root, database, table, at=branch)
    newest = None if handle.state is None else handle.state.version
    change = next((each for each in log(handle) if each.operation not in SAME_ROWS), None)
    if change is None or change.version is None or not change.parents:
        hint = f"sdb log {handle.name} shows its versions"
        raise UsageError(f"nothing of {handle.name} comes before its last change", hint=hint)
    if dry_run:
        return Undone(change, None)
    reason = message or f"undo version {change.version}: {change.operation}"
    restored = restore(
        root,
        handle.keys,
        change.parents[0],
        branch=branch,
        author=author,
        message=reason,
        expects=newest if expects is None else expects,
    )
    return Undone(change, restored)
