"""Opens a table of another system by its name."""

from __future__ import annotations

from sdb.lake.access import LakeFolder
from sdb.lake.names import DELTA

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.lake.model import LakeTable
    from sdb.lake.names import LakeName


def open_lake(kind: str, folder: LakeFolder, *, since: int | None = None) -> LakeTable:
    """Open a table.

    * ``kind``: ``delta`` or ``iceberg``.
    * ``since``: A version from which on it is enough to know the table.

    Raises `NotFoundError` if there is no such table; `CorruptError` or `UnsupportedError` if its
    metadata are damaged, or need what this program cannot do.
    """
    if kind == DELTA:
        from sdb.delta.versions import DeltaVersions

        return DeltaVersions(folder, since=since)
    from sdb.iceberg.table import IcebergTable

    return IcebergTable(folder)


def open_named(name: LakeName) -> LakeTable:
    """Open a table by the name that queries have for it; see :func:`open_lake`."""
    return open_lake(name.kind, LakeFolder(name.location))
