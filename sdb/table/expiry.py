"""Expiry: versions that nobody needs any more leave the history.

Nothing is deleted: what only they lead to is for the collector, after its grace time.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

from sdb.errors import UsageError
from sdb.records import record
from sdb.table import names
from sdb.table.commit import check_writable, commit
from sdb.table.surroundings import REAL
from sdb.table.tablechange import TableChange
from sdb.table.tablehandle import find_table
from sdb.table.versionhistory import PastVersion, read_history
from sdb.table.versionstate import state_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdb.table.calendarspan import CalendarSpan
    from sdb.table.definition import VersionPolicy
    from sdb.table.index import TableIndex
    from sdb.table.surroundings import Surroundings
    from sdb.table.tableroot import TableRoot
    from sdb.table.versionstate import VersionState

EXPIRE = "expire"
COLLECT = "gc"
HOUSEKEEPING = frozenset({EXPIRE, COLLECT})
"""What makes versions with the rows of those before them, which `keep_last` does not count."""


@record
class ExpiryPolicy:
    """The versions that are kept; all others but the newest expire.

    Attributes
    ----------
    keep_last : int or None
        So many of the newest versions are kept, the newest of all among them.
    keep_within : CalendarSpan or None
        Versions that were the newest at some time within it are kept.
    keep_tags : tuple of str or None
        Patterns of tags: versions with such a tag are kept, and other tags go with their versions.
        None: every tag keeps its version.
    """

    keep_last: int | None = None
    keep_within: CalendarSpan | None = None
    keep_tags: tuple[str, ...] | None = None

    @classmethod
    def of(cls, policy: VersionPolicy) -> ExpiryPolicy:
        """Give the policy of a definition."""
        return cls(policy.keep_last, policy.keep_for)


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
    """

    version: int | None
    dropped: tuple[PastVersion, ...]
    untagged: tuple[str, ...]
    kept: int

    def as_dict(self) -> dict[str, object]:
        """Give it as plain values with stable names, for JSON."""
        return {
            "version": self.version,
            "expired": [one.version for one in self.dropped],
            "tags_removed": list(self.untagged),
            "kept": self.kept,
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

    Rows of the newest version stay as they are. Objects are deleted by
    :func:`sdb.table.collector.collect`, and not before its grace time is over.

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
        See :func:`sdb.table.commit.commit`.
    """
    keys = names.TableKeys(database, table)
    if not dry_run:
        check_writable(root)
    head = find_table(root, database, table)
    if head is None:
        raise root.absent(keys)
    expiry = _Expiry(root, keys, policy, around)
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
    return Expired(version, found.dropped, found.untagged, found.kept + (version is not None))


class _Expiry:
    """Chooses the versions that expire."""

    def __init__(
        self,
        root: TableRoot,
        keys: names.TableKeys,
        policy: ExpiryPolicy,
        around: Surroundings,
    ) -> None:
        self._root = root
        self._keys = keys
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
        dropped = [one for one in found if one.version not in kept]
        if not any(one.operation not in HOUSEKEEPING for one in dropped):
            dropped = []  # else each expiry would have that before it to expire
        gone = {one.version for one in dropped}
        untagged = [
            name
            for name, tag in state.tags.items()
            if name not in kept_tags and tag.version not in kept
        ]
        return Expired(None, tuple(dropped), tuple(untagged), len(found) - len(gone))

    def _kept(self, found: Sequence[PastVersion]) -> set[int]:
        """Give the numbers of versions that count and time keep."""
        kept: set[int] = set()
        if self._policy.keep_last is not None:
            counted = [one.version for one in found if one.operation not in HOUSEKEEPING]
            kept.update(counted[-self._policy.keep_last :])
        if self._policy.keep_within is not None:
            now_us = self._around.now_us()
            since_us = self._policy.keep_within.before(now_us)
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
    stored: VersionPolicy | None,
    *,
    keep_last: int | None = None,
    keep_within: CalendarSpan | None = None,
    keep_tags: Sequence[str] = (),
    all_but_head: bool = False,
) -> ExpiryPolicy:
    """Make a policy of what was asked for, or of the definition if nothing was.

    Parameters
    ----------
    stored : VersionPolicy or None
        The policy of the definition.
    keep_last, keep_within, keep_tags
        See :class:`ExpiryPolicy`.
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
    asked = keep_last is not None or keep_within is not None
    if all_but_head:
        if asked:
            raise UsageError("--all-but-head keeps nothing, and --keep-last and --keep-within do")
        return ExpiryPolicy(1, None, tags)
    if asked:
        if keep_last == 1 and keep_within is None and tags is None:
            raise UsageError(
                "--keep-last 1 keeps no version but the newest",
                hint="--all-but-head says so",
            )
        return ExpiryPolicy(keep_last, keep_within, tags)
    if stored is None or (stored.keep_last is None and stored.keep_for is None):
        if tags is not None:
            raise UsageError(
                "--keep-tag keeps tagged versions alone",
                hint="with --all-but-head all others expire; or add --keep-last or --keep-within",
            )
        raise UsageError(
            "nothing tells which versions to keep",
            hint="--keep-last 10, --keep-within 30d, or versions in the definition",
        )
    policy = ExpiryPolicy.of(stored)
    return ExpiryPolicy(policy.keep_last, policy.keep_within, tags)
