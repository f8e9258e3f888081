"""New packfiles without the rows that depart from a schema."""

from __future__ import annotations

from sdb.packfile.read.reader import open_packfile
from sdb.packfile.rewrite.rewrite import RowChanges, rewritten
from sdb.records import replace
from sdb.table.packfiles.rules import quarantine, told_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextlib import ExitStack
    from typing import Any

    from sdb.packfile.write.pack import PackResult
    from sdb.store.base import Reader
    from sdb.table.catalog.root import TableRoot
    from sdb.table.format.keys import TableKeys
    from sdb.table.packfiles.rules import RowRules

    Spooled = tuple[PackResult, Any]


def conforming(
    root: TableRoot,
    keys: TableKeys,
    rules: RowRules,
    packed: Spooled,
    commit_id: str,
    stack: ExitStack,
) -> Spooled:
    """Return a packfile with the rows that conform; the others are put into quarantine.

    What the rows have in place of dates, decimals and texts becomes such.

    * ``packed``: What packing came to, and the temporary file, which has a name.
    * ``commit_id``: Whose packfile it is.
    * ``stack``: Closes temporary files.

    Raises `DepartingRowsError` if rows depart, and the schema rejects them.
    """
    import tempfile

    import numpy as np

    result, spool = packed
    with open_packfile(spool.name) as pack:
        rows, mended = rules.departing(pack)
        if not rows and not mended.numbers:
            return packed
        if rows:
            quarantine(root, keys, pack, rows, commit_id)
            result = replace(result, departed=len(rows), departures=told_of(rows))
        left = result.rows - len(rows)
        if not left:
            return replace(result, rows=0), spool
        dropped = np.array([departing.number for departing in rows], np.int64)
        numbers = np.array(mended.numbers, np.int64)
        changes = RowChanges(dropped, numbers, mended.values(), mended.paths)
        changed = rewritten(pack, changes, stack)
        assert changed.trailer is not None  # noqa: S101 - rows are left
        other = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - the stack closes it
        draft = _SpooledDraft(other)
        draft.copy_range(pack.reader, 0, changed.kept_bytes)
        changed.write(draft)
        size = other.tell()
    return replace(result, rows=left, output_bytes=size, trailer=changed.trailer), other


class _SpooledDraft:
    """A temporary file, written as an object of a store is."""

    copied_bytes = 0
    kept_by = "copy"

    def __init__(self, file: Any) -> None:  # noqa: ANN401 - a binary file
        self._file = file

    @property
    def written_bytes(self) -> int:
        """Size of the file."""
        return int(self._file.tell())

    def write(self, data: bytes, /) -> int:
        """Write bytes at the end."""
        return int(self._file.write(data))

    def copy_range(self, source: Reader, start: int, stop: int) -> None:
        """Write a half-open range of another object at the end."""
        for piece in source.pieces(start, stop):
            self._file.write(piece)
