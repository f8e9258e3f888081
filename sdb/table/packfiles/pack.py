"""Packing rows into a table: a packfile named by its content id, and its descriptor."""

from __future__ import annotations

from contextlib import ExitStack

from sdb.packfile.inputs.rowvalues import is_frame, is_row
from sdb.packfile.write.pack import pack
from sdb.progress import silent
from sdb.records import record
from sdb.table.packfiles.store import SMALL_BYTES, store_packed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from sdb.packfile.inputs.arguments import Inputs
    from sdb.packfile.write.pack import PackResult
    from sdb.table.catalog.root import TableRoot
    from sdb.table.format.descriptor import Descriptor
    from sdb.table.format.keys import TableKeys
    from sdb.table.packfiles.rules import RowRules

BATCHES = "rows"
"""The format of an input that was made of record batches."""


@record
class PackedRows:
    """A packfile that was packed for a table, and that no index has yet."""

    result: PackResult  # what packing came to
    # Its descriptor; None: there were no rows, and there is no packfile
    descriptor: Descriptor | None


def pack_rows(
    root: TableRoot,
    keys: TableKeys,
    inputs: Inputs,
    directory: str = "",
    *,
    rules: RowRules | None,
    commit_id: str = "",
    progress: Callable[[int, int | None], None] = silent,
    **options: Any,  # noqa: ANN401 - those of packing
) -> PackedRows:
    """Pack inputs into a new packfile of a table; the commit that adds it makes it durable.

    * ``inputs``: See :func:`sdb.pack`.
    * ``directory``: Where the packfile goes below ``data/``.
    * ``rules``: What the rows must be, see :mod:`sdb.table.packfiles.rules`; None: the table has no
      schema.
    * ``commit_id``: Whose packfile it is, if it must be no other's, even if they have the same
      rows.
    * ``options``: Others of :func:`sdb.pack`.

    Raises `DepartingRowsError` if rows depart from the schema, which rejects them. Nothing is
    stored.
    """
    from tempfile import NamedTemporaryFile, SpooledTemporaryFile

    spool: Any
    is_applied = rules is not None and rules.are_applied
    with ExitStack() as stack:
        if is_applied:
            spool = stack.enter_context(NamedTemporaryFile(prefix="sdb-", suffix=".zion"))
        else:
            spool = stack.enter_context(SpooledTemporaryFile(SMALL_BYTES))
        result = pack(inputs, spool, progress=progress, **options)
        if not result.rows:
            return PackedRows(result, None)
        trailer = result.trailer
        if rules is not None and is_applied:
            from sdb.table.packfiles.checkedrows import conforming

            spool.flush()
            result, spool = conforming(root, keys, rules, (result, spool), commit_id, stack)
        if rules is not None:
            from sdb.table.packfiles.rules import warn_misnamed

            warn_misnamed(rules.name, rules.schema, trailer, is_frame=_has_frame(inputs))
        if not result.rows:
            return PackedRows(result, None)
        era = rules.era if rules else 0
        descriptor = store_packed(root, keys, (result, spool), directory, commit_id, era=era)
    return PackedRows(result, descriptor)


def _has_frame(inputs: Inputs) -> bool:
    """Return whether inputs are a data frame, or a list with some."""
    if not isinstance(inputs, list | tuple):
        return is_frame(inputs)
    if not inputs or is_row(inputs[0]):
        return False
    return any(is_frame(each) or getattr(each, "format", "") == BATCHES for each in inputs)
