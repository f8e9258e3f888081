"""Retention: packfiles whose rows are all too old go out of a table.

The definition says by which field and how old. What goes stays in the versions before, until they
expire; its inputs stay known, so that they are not taken again.
"""

from __future__ import annotations

from sdb.errors import CorruptError, UnsupportedError
from sdb.ion import instant_to_us
from sdb.table.commit.change import TableChange
from sdb.table.commit.commit import commit
from sdb.table.commit.environment import REAL
from sdb.table.format.manifests import read_list
from sdb.table.format.versionref import MAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from sdb.table.catalog.root import TableRoot
    from sdb.table.commit.environment import Environment
    from sdb.table.definition.definition import Definition
    from sdb.table.format.descriptor import Descriptor
    from sdb.table.format.index import TableIndex
    from sdb.table.format.keys import TableKeys

OPERATION = "retention"


def retire(
    root: TableRoot,
    keys: TableKeys,
    definition: Definition,
    *,
    branch: str = MAIN,
    author: str = "",
    message: str = "",
    env: Environment = REAL,
) -> int:
    """Take packfiles out of a table whose rows are all older than its retention policy keeps.

    * ``definition``: Whose policy it is; without one, or with one that has no field or no time,
      nothing is done.
    * ``author, message``: Recorded in the version.

    Returns: Number of the packfiles that went, in a version of its own.

    Notes
    -----
    A packfile goes if its time index at the field, or a constant, proves that no value is as new as
    the policy wants. One that has neither stays.
    """
    gone: list[str] = []

    def plan(index: TableIndex) -> TableChange | None:
        gone[:] = overdue(root, index, definition, env.now_us())
        removed = frozenset(gone)
        return (
            TableChange(OPERATION, removed=removed, author=author, message=message)
            if gone
            else None
        )

    if _limit_us(definition, env.now_us()) is not None:
        commit(root, keys, plan, branch=branch, env=env)
    return len(gone)


def overdue(root: TableRoot, index: TableIndex, definition: Definition, now_us: int) -> list[str]:
    """Return the keys of packfiles whose rows are all older than a retention policy keeps."""
    limit_us = _limit_us(definition, now_us)
    if limit_us is None or definition.retention is None:
        return []
    path = tuple(definition.retention.field.split("."))
    listed = _listed(root, index, path, limit_us)
    return [descriptor.key for descriptor in listed if _is_over(descriptor, path, limit_us)]


def _limit_us(definition: Definition, now_us: int) -> int | None:
    """Return the time before which rows are too old; None: none are."""
    policy = definition.retention
    if policy is None or not policy.field or str(policy.valid_for) == "0d":
        return None
    return policy.valid_for.before(now_us)


def _listed(
    root: TableRoot, index: TableIndex, path: tuple[str, ...], limit_us: int
) -> Iterator[Descriptor]:
    """Yield the packfiles of an index, of lists only those that may have something so old."""
    spans = index.indirect.spans(path, None, limit_us)
    for ref in index.indirect.refs[spans.start : spans.stop]:
        if ref.objects:
            yield from read_list(root.fetch(ref.key, ref.etag), ref)
    yield from index.inline


def _is_over(descriptor: Descriptor, path: tuple[str, ...], limit_us: int) -> bool:
    """Return whether it is certain that no row is as new as a limit."""
    try:
        sparse = descriptor.checked().trailer.sparse
    except (CorruptError, UnsupportedError):
        return False  # reading it reports that
    index = sparse.indices.get(path)
    if index is not None and not index.is_empty:
        return index.last_us < limit_us
    value = instant_to_us(sparse.constants.get(path[0])) if len(path) == 1 else None
    return value is not None and value < limit_us
