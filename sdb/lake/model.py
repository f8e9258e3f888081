"""Files, versions and changes of a table of another system, of either kind."""

from __future__ import annotations

from sdb.records import field, record
from sdb.typed import Protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from sdb.lake.access import LakeFolder
    from sdb.lake.columns import LakeColumns


class DeletedRows(Protocol):
    """The rows of a data file that are deleted."""

    @property
    def unique_id(self) -> str:
        """Name that no other deleted rows of the same file have."""

    def rows(self, folder: LakeFolder) -> np.ndarray:
        """Return their positions, ascending."""


@record
class LakeFile:
    """A data file of a table."""

    path: str  # its path below the table, or its URI if it is elsewhere
    location: str  # where to read it
    size_bytes: int
    # Values of partition columns by the names that data files would have, as texts; None: null
    values: tuple[tuple[str, str | None], ...] = ()
    deleted: DeletedRows | None = None  # rows that are not rows of the table

    @property
    def identity(self) -> str:
        """Name of its content: no other file of the same path has it."""
        deleted = "" if self.deleted is None else f" {self.deleted.unique_id}"
        return f"{self.size_bytes}{deleted}"


@record
class LakeVersion:
    """A version of a table: the files with its rows."""

    table_id: str  # no other table has it
    version: int  # number of the version of Delta, or id of the snapshot of Iceberg
    columns: LakeColumns
    files: Mapping[str, LakeFile]  # by path
    operation: str = ""  # what made it; empty: not known


@record
class LakeChange:
    """The difference between a version and the one before."""

    version: int
    columns: LakeColumns
    added: tuple[LakeFile, ...]
    removed: frozenset[str]  # paths of files that are not of the table any more
    operation: str = ""  # what made it; empty: not known
    # Whether columns have other names than before, or were dropped: rows of all files are others
    renames: bool = field(default=False)


class LakeTable(Protocol):
    """A table that was opened: its versions up to the newest one then."""

    @property
    def folder(self) -> LakeFolder:
        """Where its files are."""

    @property
    def table_id(self) -> str:
        """Id that no other table has."""

    @property
    def latest(self) -> int:
        """The newest version."""

    def names_anew(self, version: int, digest: str) -> bool:
        """Return whether the newest version has other names of columns since it was taken.

        * ``version, digest``: What was taken, and the digest of its columns.
        """

    def has_renamed(self, digest: str, columns: LakeColumns) -> bool:
        """Return whether columns may have other names than those of a digest."""

    def newer_than(self, version: int) -> list[int] | None:
        """Return the versions after one, in order; None: not all of them are known any more."""

    def mark(self, version: int) -> str:
        """Return the name of what has made a version, by which it is known again; or nothing."""

    def change(self, version: int) -> LakeChange:
        """Return what a version has changed."""

    def at(self, version: int | None = None) -> LakeVersion:
        """Return a version; the newest one if not given.

        Raises `NotFoundError` if it is not known, or not any more; `CorruptError` or
        `UnsupportedError` if metadata are damaged, or need what this program cannot do.
        """
