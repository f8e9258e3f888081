"""Retention: rows whose own time is older than a table keeps go out of it.

The definition says by which field and how old. Packfiles of which that is known of every row go as
they are; of those in which enough rows are too old the others are written again, as DELETE does
it. What goes stays in the versions before, until they expire; its inputs stay known, so that they
are not taken again.
"""

from __future__ import annotations

from contextlib import closing

from sdb.progress import silent
from sdb.records import changing_record, field, replace
from sdb.table.catalog.handle import find_table
from sdb.table.commit.change import TableChange, own_keys, packfiles_between
from sdb.table.commit.commit import commit
from sdb.table.commit.environment import REAL
from sdb.table.format.keys import own_key
from sdb.table.format.state import RowCounts
from sdb.table.format.versionref import MAIN
from sdb.table.packfiles.lazy import OpenObjects
from sdb.table.sync.inputrows import rewritten_without
from sdb.table.sync.oldrows import OldRows, RetentionRule, decided, has_times, looked_for
from sdb.table.sync.result import NOTHING, Retired

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sdb.progress import Progress
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot
    from sdb.table.commit.environment import Environment
    from sdb.table.definition.definition import Definition
    from sdb.table.format.descriptor import Descriptor
    from sdb.table.format.index import TableIndex
    from sdb.table.format.keys import TableKeys
    from sdb.table.packfiles.rewrite import Rewritten

OPERATION = "retention"
_MOST_OPEN = 4
_STEP_BYTES = 1 << 30
"""Bytes of rewritten packfiles after which a version is made."""


def retire(
    root: TableRoot,
    keys: TableKeys,
    definition: Definition,
    *,
    branch: str = MAIN,
    author: str = "",
    message: str = "",
    env: Environment = REAL,
    progress: Progress = silent,
) -> Retired:
    """Take rows out of a table that are older than its retention policy keeps.

    * ``definition``: Whose policy it is; without one, or with one that has no field or no time,
      nothing is done.
    * ``author, message``: Recorded in the versions.
    * ``progress``: Called with the bytes of packfiles that were rewritten.

    Returns: What went, in separate versions.
    """
    handle = find_table(root, keys.database, keys.table, branch=branch)
    rule = None if handle is None else rule_of(handle, definition, env.now_us())
    if handle is None or rule is None:
        return NOTHING
    change = TableChange(OPERATION, author=author, message=message)
    retired = Retired()
    batch: list[OldRows] = []
    size = 0
    for old in overdue(handle, rule):
        batch.append(old)
        size += 0 if old.rows is None else old.packfile.size_bytes
        if size >= _STEP_BYTES:
            retired += _Step(handle, batch, change, progress).commit(branch, env)
            batch, size = [], 0
    if batch:
        retired += _Step(handle, batch, change, progress).commit(branch, env)
    return retired


def to_retire(
    root: TableRoot,
    keys: TableKeys,
    definition: Definition,
    *,
    branch: str = MAIN,
    env: Environment = REAL,
    most_read: int | None = None,
) -> Retired:
    """Return what :func:`retire` would take out.

    * ``most_read``: See :func:`overdue`.
    """
    handle = find_table(root, keys.database, keys.table, branch=branch)
    rule = None if handle is None else rule_of(handle, definition, env.now_us())
    if handle is None or rule is None:
        return NOTHING
    return _counted(overdue(handle, rule, most_read=most_read))


def _counted(going: Iterable[OldRows]) -> Retired:
    retired = Retired()
    for old in going:
        is_whole = old.rows is None
        retired += Retired(int(is_whole), int(not is_whole), old.count or 0)
    return retired


def rule_of(handle: TableHandle, definition: Definition, now_us: int) -> RetentionRule | None:
    """Return what is too old for a table now; None: nothing is."""
    policy = definition.retention
    if policy is None or not policy.field or str(policy.valid_for) == "0d" or handle.is_dropped:
        return None
    stored = None
    if handle.schema is not None:
        from sdb.table.schema.columns import walk

        names = tuple(policy.field.split("."))
        paths = {named: path for named, path, _ in walk(handle.schema.columns)}
        stored = paths.get(names)
    takes_timeless = policy.without_time == "delete"
    limit_us = policy.valid_for.before(now_us)
    return RetentionRule(policy.field, limit_us, policy.rewrite_share, takes_timeless, stored)


def overdue(
    handle: TableHandle, rule: RetentionRule, *, most_read: int | None = None
) -> Iterator[OldRows]:
    """Yield the rows of each packfile that go.

    * ``most_read``: Into how many packfiles to look at most; into all that need it if not given.
    """
    listed = list(_listed(handle, rule))
    if rule.takes_timeless and not any(has_times(descriptor, rule) for descriptor in listed):
        return  # another field may be meant: nothing goes by a slip
    left = len(listed) if most_read is None else most_read
    with closing(OpenObjects(_MOST_OPEN)) as objects:
        for descriptor in listed:
            verdict = decided(descriptor, rule)
            if verdict:
                yield OldRows(descriptor, descriptor.rows)
            elif verdict is None and left:
                left -= 1
                if old := looked_for(handle.root, descriptor, rule, objects):
                    yield old


def _listed(handle: TableHandle, rule: RetentionRule) -> Iterator[Descriptor]:
    """Yield the packfiles of a table, of lists only those that may have something so old."""
    indirect = handle.index.indirect
    refs = indirect.refs
    if not rule.takes_timeless:
        spans = indirect.spans(rule.path_among(indirect.indices), None, rule.limit_us)
        refs = refs[spans.start : spans.stop]
    yield from handle.descriptors([ref for ref in refs if ref.objects])


@changing_record
class _Step:
    """Packfiles that go, or lose rows, in one version."""

    handle: TableHandle
    batch: Sequence[OldRows]
    change: TableChange  # who makes it, and why
    progress: Progress
    made: dict[str, Rewritten] = field(default_factory=dict)
    retired: Retired = NOTHING

    def commit(self, branch: str, env: Environment) -> Retired:
        """Rewrite packfiles, and commit what still fits then."""
        root, keys = self.handle.root, self.handle.keys
        for old in self.batch:
            if old.rows is not None:
                made = rewritten_without(root, keys, old.packfile, old.rows, self.progress)
                self.made[old.packfile.key] = made
        commit(root, keys, self._plan, branch=branch, env=env)
        return self.retired

    def _plan(self, index: TableIndex) -> TableChange | None:
        """Make the change of packfiles that no other commit has replaced meanwhile."""
        self.retired = NOTHING
        packfiles, _ = packfiles_between(None, index, self.handle.root.fetch)
        present = own_keys(packfiles)
        going = [old for old in self.batch if own_key(old.packfile.key) in present]
        if not going:
            return None
        made = [self.made[old.packfile.key] for old in going if old.rows is not None]
        gone = [old.count for old in going]
        self.retired = _counted(going)
        return replace(
            self.change,
            added=tuple(each.descriptor for each in made if each.descriptor is not None),
            removed=frozenset(old.packfile.key for old in going),
            counts=None if None in gone else RowCounts(0, 0, self.retired.rows),
            is_traced=all(each.are_rows_traced for each in made),
        )
