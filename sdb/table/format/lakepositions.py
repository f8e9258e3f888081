"""Versions of Delta and Iceberg tables that were taken, as the inputs tree has them.

An entry of the tree has its own key for each table that a rule names, and what was taken in
place of an ETag; compare :mod:`sdb.table.format.positions`.
"""

from __future__ import annotations

import json

from sdb.errors import CorruptError
from sdb.records import record
from sdb.table.format.positions import typed_members

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

_TYPES = {"table": str, "version": int, "mark": str, "columns": str}


@record
class LakePosition:
    """The newest version of a table of another system whose rows were taken."""

    table: str  # id of the table
    version: int  # the version
    mark: str  # version of the object that has made it, which tells that the table is the same
    columns: str  # digest of the names that columns have in files and in rows

    def text(self) -> str:
        """Return what is stored in place of an ETag."""
        members = {name: getattr(self, name) for name in _TYPES}
        return json.dumps(members, separators=(",", ":"))

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read what is stored. Raises `CorruptError` if it is malformed."""
        values = typed_members(text, _TYPES)
        if values is None:
            raise CorruptError(f"the version of a table that was taken is malformed: {text[:80]!r}")
        return cls(*values)
