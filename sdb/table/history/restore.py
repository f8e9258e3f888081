"""Restoring: the content of an old version as a new one, its inputs included."""

from __future__ import annotations

from sdb import notes
from sdb.errors import CorruptError, ExistsError
from sdb.records import record, replace
from sdb.table.catalog.handle import find_table, open_table
from sdb.table.commit.chain import DROP
from sdb.table.commit.change import TableChange, packfiles_between
from sdb.table.commit.commit import commit, go_on
from sdb.table.format.inputtree import InputsTree
from sdb.table.format.state import state_of
from sdb.table.format.versionref import MAIN, parse_reference
from sdb.table.history.diff import row_counts
from sdb.table.schema.versions import restored_schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot
    from sdb.table.format.index import TableIndex
    from sdb.table.format.keys import TableKeys
    from sdb.table.format.versionref import Given

OPERATION = "restore"


@record
class Restored:
    """The result of a restore.

    Attributes
    ----------
    version : int
        The version that has the content now.
    restored : int or None
        The version that it was of.
    is_new : bool
        Whether anything had to change.
    """

    version: int
    restored: int | None
    is_new: bool

    def as_dict(self) -> dict[str, object]:
        """Return it as plain values with stable names, for JSON."""
        return {"version": self.version, "restored": self.restored, "new": self.is_new}


def restore(
    root: TableRoot,
    keys: TableKeys,
    reference: Given,
    *,
    branch: str = "main",
    author: str = "",
    message: str = "",
    only_dropped: bool = False,
    expects: int | None = None,
) -> Restored:
    """Make a version with the packfiles and inputs of an old one. Nothing is taken back or lost.

    Inputs that came later are new again, so that the next sync takes them.

    * ``reference``: The version, see :mod:`sdb.table.format.versionref`.
    * ``author, message``: Recorded in the version.
    * ``only_dropped``: Whether the table must be one that was dropped, when the version is put in
      place.
    * ``expects``: The version that it must follow; None: any.

    Raises `NotFoundError` if there is no such table or version. Raises `ExistsError` if it must be
    one that was dropped, and is not. Raises `CorruptError` if a packfile of the old version is not
    there any more. Nothing has changed. Raises `ConflictError` or `UncertainError` as
    :func:`sdb.table.commit.commit.commit` does.
    """
    wanted = parse_reference(reference)
    if wanted.kind == "version":  # it may be newer than an index that was put back
        branch_of = branch if wanted.branch == MAIN else wanted.branch
        go_on(root, keys, branch=branch_of, known=wanted.number)
    target = find_table(root, keys.database, keys.table, branch=branch)
    since_us = 0 if target is None or target.state is None else target.state.boundary_us
    old = open_table(root, keys.database, keys.table, at=reference)
    for descriptor in old.descriptors():
        if root.has(descriptor.key):
            continue
        name = f"{old.name}@{reference}"
        raise CorruptError(
            f"{name} cannot be restored: {descriptor.key} is missing", path=descriptor.key
        )
    is_inputs_kept = False
    try:
        for _ in InputsTree(old.index.inputs, root.fetch).walk():
            pass
    except CorruptError as error:
        notes.warn(f"{error.message}: the inputs stay those of the newest version")
        is_inputs_kept = True

    def plan(index: TableIndex) -> TableChange | None:
        content = replace(old.index, inputs=index.inputs) if is_inputs_kept else old.index
        added, removed = packfiles_between(index, content, root.fetch)
        state = state_of(index.user_data)
        is_dropped = state is not None and state.dropped
        if only_dropped and not is_dropped:
            raise _not_dropped(old)
        schema = restored_schema(state, old.state)
        is_same = schema is None and content.inputs == index.inputs
        if not (added or removed or is_dropped) and is_same:
            return None
        return TableChange(
            OPERATION,
            added,
            frozenset(descriptor.key for descriptor in removed),
            author=author,
            message=message or f"restore {_shown(old.state, reference)}",
            content=content,
            since_us=since_us,
            expects=expects,
            schema=schema,
            counts=row_counts(target, old, added, removed)
            if target is not None and target.state == state
            else None,
        )

    done = commit(root, old.keys, plan, branch=branch)
    number = None if old.state is None else old.state.version
    return Restored(done.version, number, done.is_new)


def undrop(
    root: TableRoot, database: str, table: str, *, author: str = "", message: str = ""
) -> Restored:
    """Bring a table back that was dropped, with what it had before.

    * ``author, message``: Recorded in the version.

    Raises `NotFoundError` if there is no such table, `ExistsError` if it was not dropped and
    `ExpiredError` if the version before has expired.
    """
    head = open_table(root, database, table)
    state = head.state
    if state is None or not state.dropped:
        raise _not_dropped(head)
    before = 0 if state.parent is None else state.parent.version
    if state.operation != DROP:  # another program has written since
        versions = [version.version for version in state.history if version.operation == DROP]
        before = max(versions, default=1) - 1
    message = message or "undrop"
    return restore(root, head.keys, before, only_dropped=True, author=author, message=message)


def _not_dropped(handle: TableHandle) -> ExistsError:
    return ExistsError(f"{handle.name} was not dropped", path=handle.keys.index)


def _shown(state: object, reference: Given) -> str:
    number = getattr(state, "version", None)
    return f"version {number}" if number is not None else f"{reference}"
