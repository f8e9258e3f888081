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
    from sdb.table.commit.environment import Surroundings
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
    around: Surroundings = REAL,
) -> int:
    """Take packfiles out of a table whose rows are all older than its retention policy keeps.

    Parameters
    ----------
    root : TableRoot
        The root that the table is below.
    keys : TableKeys
        Its names.
    definition : Definition
        Whose policy it is; without one, or with one that has no field or no time, nothing is done.
    branch : str
        The branch.
    author : str
        Who does it; the version tells it.
    around : Surroundings
        The clock.

    Returns
    -------
    int
        Number of the packfiles that went, in a version of its own.

    Notes
    -----
    A packfile goes if its time index at the field, or a constant, proves that no value is as new as
    the policy wants. One that has neither stays.
    """
    policy = definition.retention
    if policy is None or not policy.field or str(policy.valid_for) == "0d":
        return 0
    path = tuple(policy.field.split("."))
    limit_us = policy.valid_for.before(around.now_us())
    gone: list[str] = []

    def plan(index: TableIndex) -> TableChange | None:
        listed = _listed(root, index, path, limit_us)
        gone[:] = [one.key for one in listed if _is_over(one, path, limit_us)]
        return TableChange(OPERATION, removed=frozenset(gone), author=author) if gone else None

    commit(root, keys, plan, branch=branch, around=around)
    return len(gone)


def _listed(
    root: TableRoot, index: TableIndex, path: tuple[str, ...], limit_us: int
) -> Iterator[Descriptor]:
    """Give the packfiles of an index, of lists only those that may have something so old."""
    spans = index.indirect.spans(path, None, limit_us)
    for ref in index.indirect.refs[spans.start : spans.stop]:
        if ref.objects:
            yield from read_list(root.fetch(ref.key, ref.etag), ref)
    yield from index.inline


def _is_over(one: Descriptor, path: tuple[str, ...], limit_us: int) -> bool:
    """Tell whether it is certain that no row is as new as a limit."""
    try:
        sparse = one.checked().trailer.sparse
    except (CorruptError, UnsupportedError):
        return False  # whoever reads it is told
    found = sparse.indices.get(path)
    if found is not None and not found.is_empty:
        return found.last_us < limit_us
    value = instant_to_us(sparse.constants.get(path[0])) if len(path) == 1 else None
    return value is not None and value < limit_us
