"""Schemas of versions: merged with those of branches, restored, compared."""

from __future__ import annotations

from sdb.records import replace
from sdb.table.format.state import state_of
from sdb.table.schema import eras
from sdb.table.schema.columns import TableSchema
from sdb.table.schema.difference import differences
from sdb.table.schema.merge import SchemaConflictError, merged
from sdb.table.schema.stored import packed_schema, schema_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.table.format.index import TableIndex
    from sdb.table.format.state import VersionState
    from sdb.table.schema.difference import ColumnChange


def merged_schema(
    base: VersionState | None,
    ours: VersionState | None,
    theirs: VersionState | None,
    strategy: str = "",
) -> bytes | None:
    """Merge the schemas of branches; None: ours stays.

    * ``base``: The version that both have in common.
    * ``strategy``: The side that counts where they do not merge, ``source`` or ``dest``.

    Raises `SchemaConflictError` if both have changed the same otherwise, and there is no strategy.
    """
    before, mine, other = (b"" if s is None else s.schema for s in (base, ours, theirs))
    if other in {before, mine}:
        return None
    if mine == before:
        return other
    first, second = schema_of(ours), schema_of(theirs)
    if first is not None and second is not None:
        try:
            return packed_schema(merged(schema_of(base) or TableSchema(), first, second))
        except SchemaConflictError:
            if not strategy:
                raise
    elif not strategy:
        raise SchemaConflictError(["one side has removed the schema, and the other changed it"])
    if strategy == "dest":
        return None
    return packed_schema(_above(second, first))


def restored_schema(now: VersionState | None, old: VersionState | None) -> bytes | None:
    """Return the schema of an old version, as a new version has it; None: it stays."""
    before, after = (b"" if state is None else state.schema for state in (now, old))
    if before == after:
        return None
    return packed_schema(_above(schema_of(old), schema_of(now)))


def _above(schema: TableSchema | None, other: TableSchema | None) -> TableSchema | None:
    """Return a schema whose new columns get ids that another one does not have."""
    if schema is None or other is None:
        return schema
    _, all_eras = eras.joined(schema, other)
    return replace(schema, next_id=max(schema.next_id, other.next_id), eras=all_eras)


def schema_changes(before: TableIndex | None, after: TableIndex) -> tuple[ColumnChange, ...]:
    """Return the differences between the schemas of two versions; None: an empty table."""
    states = [None if index is None else state_of(index.user_data) for index in (before, after)]
    old, new = (b"" if state is None else state.schema for state in states)
    if old == new:
        return ()
    return tuple(differences(*map(schema_of, states)))
