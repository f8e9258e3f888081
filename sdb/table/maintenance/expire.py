"""Expiry: versions that nobody needs any more leave the history.

Nothing is deleted: what only they lead to is for the collector, after its grace time.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

from sdb import instants
from sdb.errors import NotFoundError, UsageError
from sdb.records import record, replace
from sdb.table.catalog.handle import find_table, open_table
from sdb.table.commit.change import EXPIRE, HOUSEKEEPING, TableChange
from sdb.table.commit.commit import check_writable, commit
from sdb.table.commit.environment import REAL
from sdb.table.definition.cache import read_definition
from sdb.table.definition.definition import VersionPolicy
from sdb.table.format.history import PastVersion, read_history
from sdb.table.format.keys import TableKeys
from sdb.table.format.state import state_of
from sdb.table.history.mergebase import kept_for_branches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot
    from sdb.table.commit.environment import Surroundings
    from sdb.table.definition.timespan import CalendarSpan
    from sdb.table.format.index import TableIndex
    from sdb.table.format.state import VersionState

_SECOND_US = 1_000_000


@record
class ExpiryPolicy:
    """The versions that are kept; all others but the newest expire.

    Attributes
    ----------
    keep_last : int or None
        So many of the newest versions are kept, the newest of all among them. Those that only
        expiry and collection have made do not count.
    keep_within : CalendarSpan, float or None
        Versions that were the newest at some time within it, or within so many seconds, are kept.
    keep_tags : tuple of str or None
        Patterns of tags: versions with such a tag are kept, and other tags go with their versions.
        None: every tag keeps its version.
    """

    keep_last: int | None = None
    keep_within: CalendarSpan | float | None = None
    keep_tags: tuple[str, ...] | None = None


@record
class Expired:
    """The result of an expiry.

    Attributes
    ----------
    version : int or None
        The version that it made; None: nothing expired, or nothing was to be done.
    dropped : tuple of PastVersion
        Versions that left the history, or would have, the oldest first.
    untagged : tuple of str
        Tags that went with them.
    kept : int
        Number of versions that are left, the newest among them.
    for_branches : tuple of int
        Those that stay for merges of other branches alone.
    """

    version: int | None
    dropped: tuple[PastVersion, ...]
    untagged: tuple[str, ...]
    kept: int
    for_branches: tuple[int, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """Give it as plain values with stable names, for JSON."""
        return {
            "version": self.version,
            "expired": [one.version for one in self.dropped],
            "tags_removed": list(self.untagged),
            "kept": self.kept,
            "kept_for_branches": list(self.for_branches),
        }


def expire(
    root: TableRoot,
    database: str,
    table: str,
    policy: ExpiryPolicy,
    *,
    dry_run: bool = False,
    author: str = "",
    message: str = "",
    around: Surroundings = REAL,
) -> Expired:
    """Take versions out of the history of a table that a policy does not keep.

    What merges of other branches need stays, see :mod:`sdb.table.history.mergebase`. Rows of the
    newest version stay as they are. Objects are deleted by
    :func:`sdb.table.maintenance.gc.collect`, and not before its grace time is over.

    Parameters
    ----------
    root : TableRoot
        The root that the table is below.
    database, table : str
        Its names.
    policy : ExpiryPolicy
        What is kept.
    dry_run : bool
        Whether only to tell what would be done.
    author, message : str
        Who does it, and why; the version tells it.
    around : Surroundings
        The clock and the dice.

    Returns
    -------
    Expired
        What it came to. The commit makes a version of its own, if anything expires.

    Raises
    ------
    NotFoundError
        There is no such table.
    CorruptError
        The history is damaged.
    ConflictError, UncertainError
        See :func:`sdb.table.commit.commit.commit`.
    """
    keys = TableKeys(database, table)
    if not dry_run:
        check_writable(root)
    head = open_table(root, database, table)
    expiry = _Expiry(head, policy, around)
    found = expiry.chosen(head.index)
    if dry_run or not found.dropped:
        return found

    def plan(index: TableIndex) -> TableChange | None:
        nonlocal found
        found = expiry.chosen(index)
        if not found.dropped:
            return None
        numbers = frozenset(one.version for one in found.dropped)
        untagged = frozenset(found.untagged)
        return TableChange(
            EXPIRE, expired=numbers, untagged=untagged, author=author, message=message
        )

    done = commit(root, keys, plan, around=around)
    version = done.version if found.dropped else None
    return replace(found, version=version, kept=found.kept + (version is not None))


class _Expiry:
    """Chooses the versions that expire."""

    def __init__(
        self,
        table: TableHandle,
        policy: ExpiryPolicy,
        around: Surroundings,
    ) -> None:
        self._table = table
        self._root = table.root
        self._keys = table.keys
        self._policy = policy
        self._around = around

    def chosen(self, index: TableIndex) -> Expired:
        state = state_of(index.user_data)
        if state is None:
            return Expired(None, (), (), 1)
        newest = state.past(self._keys.version(state.version, state.commit), "")
        found = [*history_of(state, self._root), newest]
        kept = self._kept(found)
        kept_tags = [
            name
            for name in state.tags
            if self._policy.keep_tags is None
            or any(fnmatchcase(name, pattern) for pattern in self._policy.keep_tags)
        ]
        kept |= {state.tags[name].version for name in kept_tags}
        needed = kept_for_branches(self._table, state) - kept - {state.version}
        kept |= needed
        dropped = [one for one in found if one.version not in kept]
        if not any(one.operation not in HOUSEKEEPING for one in dropped):
            dropped = []  # else each expiry would have that before it to expire
        gone = {one.version for one in dropped}
        untagged = [
            name
            for name, tag in state.tags.items()
            if name not in kept_tags and tag.version not in kept
        ]
        left = len(found) - len(gone)
        return Expired(None, tuple(dropped), tuple(untagged), left, tuple(sorted(needed)))

    def _kept(self, found: Sequence[PastVersion]) -> set[int]:
        """Give the numbers of versions that count and time keep."""
        kept: set[int] = set()
        if self._policy.keep_last is not None:
            counted = [one.version for one in found if one.operation not in HOUSEKEEPING]
            kept.update(counted[-self._policy.keep_last :])
        if self._policy.keep_within is not None:
            now_us = self._around.now_us()
            within = self._policy.keep_within
            if isinstance(within, int | float):
                since_us = now_us - int(within * _SECOND_US)
            else:
                since_us = within.before(now_us)
            ends_us = [one.at_us for one in found[1:]] + [now_us]
            ended = zip(found, ends_us, strict=True)
            kept.update(one.version for one, end_us in ended if end_us > since_us)
        return kept


def history_of(state: VersionState, root: TableRoot) -> list[PastVersion]:
    """Give the versions before a version that its history tells of, the oldest first."""
    found: list[PastVersion] = []
    for ref in state.older:
        found += read_history(root.fetch(ref.key, ref.etag), ref)
    return [*found, *state.history]


def policy_of(
    root: TableRoot,
    keys: TableKeys,
    *,
    keep_last: int | None = None,
    keep_within: str | float | None = None,
    keep_tags: Sequence[str] = (),
    all_but_head: bool = False,
) -> ExpiryPolicy:
    """Make a policy of what was asked for, or of the definition of the table if nothing was.

    Parameters
    ----------
    root : TableRoot
        The root that the table is below.
    keys : TableKeys
        Its names.
    keep_last, keep_tags
        See :class:`ExpiryPolicy`.
    keep_within : str or float, optional
        As in ``30d`` or ``12h``, or seconds.
    all_but_head : bool
        Whether nothing but the newest version, and those with tags, is kept.

    Returns
    -------
    ExpiryPolicy
        The policy.

    Raises
    ------
    UsageError
        There is none, or one that keeps nothing without saying so.
    """
    tags = tuple(keep_tags) or None
    within = seconds_of(keep_within) if isinstance(keep_within, str) else keep_within
    if keep_last is not None and keep_last < 1:
        raise UsageError("--keep-last keeps at least one version", expected="a number from 1 on")
    asked = keep_last is not None or within is not None
    if all_but_head:
        if asked:
            raise UsageError("--all-but-head keeps nothing, and --keep-last and --keep-within do")
        return ExpiryPolicy(1, None, tags)
    if asked:
        if keep_last == 1 and within is None and tags is None:
            message = "--keep-last 1 keeps no version but the newest"
            raise UsageError(message, hint="--all-but-head says so")
        return ExpiryPolicy(keep_last, within, tags)
    stored = _stored_policy(root, keys)
    if stored is not None:
        return ExpiryPolicy(stored.keep_last, stored.keep_for, tags)
    if tags is not None:
        raise UsageError(
            "--keep-tag alone keeps no version without a tag",
            hint="add --keep-last or --keep-within, or --all-but-head if that is meant",
        )
    raise UsageError(
        f"nothing tells which versions of {keys.database}.{keys.table} to keep",
        hint="versions in its definition, or sdb expire --keep-last 10, --keep-within 30d",
    )


def _stored_policy(root: TableRoot, keys: TableKeys) -> VersionPolicy | None:
    try:
        found = read_definition(root, keys).versions
    except NotFoundError:
        if find_table(root, keys.database, keys.table) is None:
            raise root.absent(keys) from None
        return None
    return None if found is None or found == VersionPolicy() else found


def seconds_of(text: str) -> float:
    """Read a span of time.

    Raises
    ------
    UsageError
        It is none.

    Examples
    --------
    >>> seconds_of("24h"), seconds_of("30d"), seconds_of("0s")
    (86400.0, 2592000.0, 0.0)
    """
    now_us = 0
    found = instants.relative(text, now_us) if text[:1].isdigit() else None
    if found is None:
        raise UsageError(f"{text!r} is no span of time", expected="30d, 12h, 90m or 30s")
    return (now_us - found) / _SECOND_US
