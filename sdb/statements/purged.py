"""Results of purges: rows, versions and objects that went, and what could not be reached."""

from __future__ import annotations

from sdb.records import field, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.table.maintenance.forget import Forgotten


@record
class PurgedBranch:
    """Rows and versions of a branch that a purge has taken.

    Attributes
    ----------
    table : str
        The table, as ``db.table``.
    branch : str
        The branch.
    rows : int
        Number of rows that its newest version had, or has in a dry run.
    forgotten : Forgotten
        Versions, tags and merges that it loses.
    """

    table: str
    branch: str
    rows: int
    forgotten: Forgotten

    def as_dict(self) -> dict[str, object]:
        """Return it as plain values with stable names, for JSON."""
        return {"table": self.table, "rows": self.rows} | self.forgotten.as_dict()


@record
class LeftObject:
    """An object that still has rows which should be gone, or that cannot be looked into.

    Attributes
    ----------
    key : str
        The object.
    rows : int or None
        Number of such rows; None: it cannot be read.
    reason : str
        Why it is still there, and what to do.
    """

    key: str
    rows: int | None
    reason: str

    def as_dict(self) -> dict[str, object]:
        """Return it as plain values with stable names, for JSON."""
        return {"key": self.key, "rows": self.rows, "reason": self.reason}


@record
class Purged:
    """The result of a purge.

    Attributes
    ----------
    table : str
        The table, as ``db.table``.
    is_dry : bool
        Whether nothing was changed.
    branches : tuple of PurgedBranch
        What it did to each branch of the table, and of those that share packfiles with it.
    packfiles : tuple of str
        Keys of the packfiles with such rows that were found.
    objects : int
        Number of objects that were deleted, those that described them among them.
    size_bytes : int
        Their size.
    scanned : int
        Number of packfiles that the last scan has looked into: all that are left.
    versions : int
        Number of versions that are kept.
    left : tuple of LeftObject
        What still has such rows, or may have; empty: the last scan has found none.
    beyond : tuple of str
        What no purge can reach.
    fields : tuple of str
        The fields that the condition names.
    looked_at : tuple of str
        The versions that are kept, from and to for each branch, as ``d.t@3 to d.t@9``.
    """

    table: str
    is_dry: bool
    branches: tuple[PurgedBranch, ...]
    packfiles: tuple[str, ...] = field(repr=False)
    objects: int = 0
    size_bytes: int = 0
    scanned: int = 0
    versions: int = 0
    left: tuple[LeftObject, ...] = ()
    beyond: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    looked_at: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """True if nothing is left, by the last scan."""
        return not self.left

    def as_dict(self) -> dict[str, object]:
        """Return it as plain values with stable names, for JSON."""
        return {
            "table": self.table,
            "dry_run": self.is_dry,
            "ok": self.ok,
            "branches": [branch.as_dict() for branch in self.branches],
            "packfiles": list(self.packfiles),
            "objects_deleted": self.objects,
            "bytes_deleted": self.size_bytes,
            "proof": {"packfiles": self.scanned, "versions": self.versions},
            "fields": list(self.fields),
            "looked_at": list(self.looked_at),
            "left": [rest.as_dict() for rest in self.left],
            "beyond": list(self.beyond),
        }
