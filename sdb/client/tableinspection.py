"""System tables of a table, in Python."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import pyarrow as pa

    from sdb.table.catalog.handle import TableHandle


class TableInspection:
    """The system tables of a table, see :func:`sdb.table.inspect.systemtables.system_rows`.

    Examples
    --------
    >>> sdb.connect("lake").table("web.gha").inspect.versions()     # doctest: +SKIP
    """

    def __init__(self, handle: TableHandle) -> None:
        self._handle = handle

    def versions(self) -> pa.Table:
        """Return the versions up to this one: `sdb log`."""
        return self._rows("versions")

    def packfiles(self) -> pa.Table:
        """Return the packfiles, as the index tells of them."""
        return self._rows("packfiles")

    def blocks(self) -> pa.Table:
        """Return the blocks of all packfiles."""
        return self._rows("blocks")

    def inputs(self) -> pa.Table:
        """Return the inputs that were taken, or have failed."""
        return self._rows("inputs")

    def refs(self) -> pa.Table:
        """Return the tags and branches."""
        return self._rows("refs")

    def garbage(self) -> pa.Table:
        """Return the objects that `sdb gc` would delete now."""
        return self._rows("garbage")

    def _rows(self, kind: str) -> pa.Table:
        from sdb.query.run.api import sql

        handle = self._handle
        name = handle.name.replace("\\", "\\\\").replace("'", "\\'")
        text = f"SELECT * FROM sdb.{kind}('{name}')"  # noqa: S608
        with sql(text, root=handle.root.location, tables={handle.name: handle}) as result:
            return result.to_arrow()
