"""System tables of a table, in Python."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from sdb.query.result.result import Result


class TableInspection:
    """The system tables of a table, see :func:`sdb.table.inspect.systemtables.system_rows`.

    Examples
    --------
    >>> sdb.connect("lake").table("web.gha").inspect.versions()     # doctest: +SKIP
    """

    def __init__(self, name: str, run: Callable[[str], Result]) -> None:
        self._name, self._run = name, run

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
        name = self._name.replace("\\", "\\\\").replace("'", "\\'")
        with self._run(f"SELECT * FROM sdb.{kind}('{name}')") as result:  # noqa: S608 - quoted
            return result.to_arrow()
