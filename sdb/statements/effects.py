"""Effects of statements on tables, in numbers."""

from __future__ import annotations

from sdb.records import field, record
from sdb.table.format.state import RowCounts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from sdb.statements.vacuuming import Vacuumed

_MAIN = "@main"


@record
class Effect:
    """Numbers of what a statement does to a table.

    Attributes
    ----------
    operation : str
        ``insert``, ``update``, ``delete``, ``truncate``, ``create`` or ``merge``.
    table : str
        The table, as ``db.table``.
    rows_inserted, rows_updated, rows_deleted : int
        Numbers of rows.
    packfiles_added, packfiles_removed : int
        Numbers of packfiles; one that is rewritten is both.
    blocks_kept, blocks_rewritten : int
        Numbers of blocks, in the packfiles that are rewritten, without and with rows that change.
    copied_bytes, written_bytes : int
        Size of what is taken over as it is, and of blocks that are written.
    """

    operation: str
    table: str
    rows_inserted: int = 0
    rows_updated: int = 0
    rows_deleted: int = 0
    packfiles_added: int = 0
    packfiles_removed: int = 0
    blocks_kept: int = 0
    blocks_rewritten: int = 0
    copied_bytes: int = 0
    written_bytes: int = 0

    def __add__(self, other: Effect) -> Effect:
        """Return what two parts of one statement do."""
        numbers = [getattr(self, name) + getattr(other, name) for name in _NUMBERS]
        return Effect(self.operation, self.table, *numbers)

    def as_dict(self) -> dict[str, object]:
        """Return it as plain values with stable names, for JSON."""
        return {"operation": self.operation, "table": self.table} | {
            name: getattr(self, name) for name in _NUMBERS
        }


_NUMBERS = (
    "rows_inserted",
    "rows_updated",
    "rows_deleted",
    "packfiles_added",
    "packfiles_removed",
    "blocks_kept",
    "blocks_rewritten",
    "copied_bytes",
    "written_bytes",
)


@record
class Executed:
    """The result of a transaction.

    Attributes
    ----------
    effects : tuple of Effect or Vacuumed
        What each statement did; none if the id was done before.
    table : str
        The table, as ``db.table``; of several their names, with ``and`` between them.
    version : int
        The version that it made; where nothing changed the one that was there, 0 without any. Of
        several tables that of the first.
    commit : str
        The id of the commit; empty when there was none.
    is_new : bool
        Whether it made a version.
    is_dry : bool
        Whether it only tells what would change.
    versions : dict
        The versions that it made of several tables, by their names; empty where it made one.
    """

    effects: tuple[Effect | Vacuumed, ...]
    table: str
    version: int
    commit: str
    is_new: bool
    is_dry: bool = False
    versions: dict[str, int] = field(default_factory=dict)

    def as_dict(self) -> dict[str, object]:
        """Return it as plain values with stable names, for JSON."""
        return {
            "table": self.table,
            "version": self.version,
            "versions": self.versions or {self.table: self.version},
            "id": self.commit or None,
            "new": self.is_new,
            "dry_run": self.is_dry,
            "statements": [effect.as_dict() for effect in self.effects],
        }


def row_counts(effects: Iterable[Effect], table: str) -> RowCounts:
    """Return what statements do to the rows of one table, or of a branch."""
    total = RowCounts(0, 0, 0)
    for effect in effects:
        if effect.table.removesuffix(_MAIN) == table:
            total += RowCounts(effect.rows_inserted, effect.rows_updated, effect.rows_deleted)
    return total
