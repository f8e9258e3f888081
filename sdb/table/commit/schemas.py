"""A schema that is set: a separate commit, made once more when another writer was faster."""

from __future__ import annotations

from sdb.errors import ConflictError
from sdb.records import record, replace
from sdb.table.commit.change import TableChange
from sdb.table.commit.commit import check_branch, check_writable, commit
from sdb.table.commit.environment import REAL
from sdb.table.format.keys import TableKeys
from sdb.table.format.state import state_of
from sdb.table.format.versionref import MAIN
from sdb.table.schema.stored import packed_schema, schema_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from sdb.table.catalog.root import TableRoot
    from sdb.table.commit.environment import Environment
    from sdb.table.format.index import TableIndex
    from sdb.table.schema.columns import TableSchema

    Evolution: TypeAlias = Callable[[TableSchema | None, TableIndex], TableSchema | None]

OPERATION = "schema"
OF_DEFINITION = TableChange(OPERATION, message="schema of the definition")
_UNTOLD = TableChange(OPERATION)


@record
class ChangedSchema:
    """The result of a change of a schema.

    Attributes
    ----------
    version : int
        The version that has it; the one that was there if nothing had to change.
    schema : TableSchema or None
        The schema; None: the table has none any more.
    is_new : bool
        Whether it made a version.
    """

    version: int
    schema: TableSchema | None
    is_new: bool


def change_schema(
    root: TableRoot,
    database: str,
    table: str,
    evolve: Evolution,
    *,
    change: TableChange = _UNTOLD,
    branch: str = MAIN,
    commit_id: str = "",
    env: Environment = REAL,
) -> ChangedSchema:
    """Change the schema of a table, in a separate version.

    * ``evolve``: Returns the schema that follows from that of the index that is there when it is
      tried: after a lost race the change is made once more, of the schema of the winner.
    * ``change``: Its author and message, and the version that it must follow.
    * ``commit_id``: The client's own id, see :func:`sdb.table.commit.commit.commit`.

    Raises `NotFoundError` if there is no such table, or branch; `UsageError` or `ExistsError` if
    the change is against the rules; `ConflictError` or `UncertainError` as
    :func:`sdb.table.commit.commit.commit` does.
    """
    keys = TableKeys(database, table)
    check_writable(root)
    check_branch(root, keys, branch)
    result: list[TableSchema | None] = []

    def plan(index: TableIndex) -> TableChange | None:
        state = state_of(index.user_data)
        before = schema_of(state)
        try:
            after = evolve(before, index)
        except ConflictError as error:
            raise _GivenUpError(error) from None
        result[:] = [after]
        data = packed_schema(after)
        if after == before:
            return None
        return replace(change, schema=data)

    try:
        done = commit(
            root, keys, plan, commit_id=commit_id, is_new=not commit_id, env=env, branch=branch
        )
    except _GivenUpError as error:
        raise error.reason from None
    return ChangedSchema(done.version, result[0] if result else None, done.is_new)


class _GivenUpError(Exception):
    """A conflict that no further attempt can solve."""

    def __init__(self, reason: ConflictError) -> None:
        self.reason = reason
