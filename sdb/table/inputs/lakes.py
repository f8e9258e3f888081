"""Delta and Iceberg tables that patterns of inputs name, within the bounds of a root."""

from __future__ import annotations

from sdb.errors import UsageError
from sdb.lake.access import LakeFolder
from sdb.lake.names import lake_input
from sdb.packfile.inputs.openlake import open_lake
from sdb.table.inputs.places import InputBounds, place_of_input

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.lake.model import LakeTable
    from sdb.table.catalog.root import TableRoot


def lake_folder(root: TableRoot, pattern: str) -> tuple[str, LakeFolder]:
    """Return the kind and the folder of a table that a pattern of inputs names.

    Raises `UsageError` if it has wildcards, or no folder.
    """
    kind, uri = lake_input(pattern)
    folder = place_of_input(root, uri)
    if not folder:
        raise UsageError(f"bad pattern {pattern!r}: it has no folder")
    bounds = InputBounds(root)

    def check(location: str) -> None:
        bounds.check(pattern, location)

    return kind, LakeFolder(folder, check)


def open_lake_input(root: TableRoot, pattern: str) -> LakeTable:
    """Open a table that a pattern of inputs names.

    Raises `NotFoundError` if there is no such table; `OutsideError` if it is out of the root;
    `CorruptError` or `UnsupportedError` if its metadata are damaged, or need what this program
    cannot do.
    """
    kind, folder = lake_folder(root, pattern)
    return open_lake(kind, folder)
