"""Expire: versions that no policy keeps leave the history, and so do those that are thinned out.

Nothing is deleted: what only they lead to is for the collector, after its grace time.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

from sdb import durations
from sdb.errors import InputError, NotFoundError, UsageError
from sdb.records import record, replace
from sdb.table.catalog.handle import find_table, open_table
from sdb.table.commit.change import EXPIRE, HOUSEKEEPING, TableChange
from sdb.table.commit.commit import check_writable, commit
from sdb.table.commit.environment import REAL
from sdb.table.definition.cache import read_definition
from sdb.table.definition.definition import VersionPolicy
from sdb.table.definition.timespan import Thinning
from sdb.table.format.history import PastVersion, read_history
from sdb.table.format.keys import TableKeys
from sdb.table.format.state import state_of
from sdb.table.history.mergebase import kept_for_branches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot
    from sdb.table.commit.environment import Environment
    from sdb.table.definition.timespan import CalendarSpan
    from sdb.table.format.index import TableIndex
    from sdb.table.format.state import VersionState

_SECOND_US = 1_000_000


@record
class ExpiryPolicy:
    """The versions that are kept; all others but the newest expire."""

    # How many of the newest versions are kept, the newest of all among them. Those that only expiry
    # and collection have made do not count.
    keep_last: int | None = None
    # Versions that were the newest at some time within it, or within these seconds, are kept
    keep_within: CalendarSpan | float | None = None
    # Patterns of tags: versions with such a tag are kept, and other tags go with their versions.
    # None: every tag keeps its version.
    keep_tags: tuple[str, ...] | None = None
    # Of the versions that are kept for their time alone, some go, and later ones stand for them.
    # Without `keep_within` it says how long, too.
    thin: Thinning | None = None


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
    kept_count : int
        Number of versions that are left, the newest among them.
    for_branches : tuple of int
        Those that stay for merges of other branches alone.
    thinned : tuple of int
        Numbers of those that left and that others stand for.
    """

    version: int | None
    dropped: tuple[PastVersion, ...]
    untagged: tuple[str, ...]
    kept_count: int
    for_branches: tuple[int, ...] = ()
    thinned: tuple[int, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """Return it as plain values with stable names, for JSON."""
        return {
            "version": self.version,
            "expired": [version.version for version in self.dropped],
            "thinned": list(self.thinned),
            "tags_removed": list(self.untagged),
            "kept": self.kept_count,
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
    env: Environment = REAL,
) -> Expired:
    """Take versions out of the history of a table that a policy does not keep.

    What merges of other branches need stays, see :mod:`sdb.table.history.mergebase`. Rows of the
    newest version stay as they are. Objects are deleted by
    :func:`sdb.table.maintenance.gc.collect`, and not before its grace time is over.

    * ``author, message``: Recorded in the version.

    Returns: What it came to. The commit makes a separate version, if anything expires.
    Raises `NotFoundError` if there is no such table, `CorruptError` if the history is damaged and
    `ConflictError` or `UncertainError` as :func:`sdb.table.commit.commit.commit` does.
    """
    keys = TableKeys(database, table)
    if not dry_run:
        check_writable(root)
    head = open_table(root, database, table)
    expiry = Expiry(head, policy, env)
    chosen = expiry.chosen(head.index)
    if dry_run or not chosen.dropped:
        return chosen

    def plan(index: TableIndex) -> TableChange | None:
        nonlocal chosen
        chosen = expiry.chosen(index)
        if not chosen.dropped:
            return None
        numbers = frozenset(version.version for version in chosen.dropped)
        return TableChange(
            EXPIRE,
            expired=numbers,
            thinned=frozenset(chosen.thinned),
            untagged=frozenset(chosen.untagged),
            author=author,
            message=message,
        )

    done = commit(root, keys, plan, env=env)
    version = done.version if chosen.dropped else None
    return replace(chosen, version=version, kept_count=chosen.kept_count + (version is not None))


class Expiry:
    """Chooses the versions that expire."""

    def __init__(
        self,
        table: TableHandle,
        policy: ExpiryPolicy,
        env: Environment,
    ) -> None:
        self._table = table
        self._root = table.root
        self._keys = table.keys
        self._policy = policy
        self._around = env

    def chosen(self, index: TableIndex) -> Expired:
        """Choose those that lead to an index."""
        state = state_of(index.user_data)
        if state is None:
            return Expired(None, (), (), 1)
        return self.of_history(state, history_of(state, self._root))

    def of_history(self, state: VersionState, history: Sequence[PastVersion]) -> Expired:
        """Choose from a history of a state.

        * ``history``: The newest versions suffice: none depends on those before it.
        """
        newest = state.past(self._keys.version(state.version, state.commit), "")
        versions = [*history, newest]
        kept_numbers = self._counted(versions)
        kept_tags = [
            name
            for name in state.tags
            if self._policy.keep_tags is None
            or any(fnmatchcase(name, pattern) for pattern in self._policy.keep_tags)
        ]
        kept_numbers |= {state.tags[name].version for name in kept_tags}
        needed = kept_for_branches(self._table, state) - kept_numbers - {state.version}
        kept_numbers |= {*needed, state.version}
        for_time = self._for_time(versions) | kept_numbers
        thinned: set[int] = set()
        if self._policy.thin is not None:
            timed = [version for version in versions if version.version in for_time]
            thinned = self._policy.thin.thinned(timed, self._around.now_us(), kept_numbers)
        kept_numbers = for_time - thinned
        dropped = [version for version in versions if version.version not in kept_numbers]
        if not any(version.operation not in HOUSEKEEPING for version in dropped):
            dropped = []  # else each expiry would have that before it to expire
        gone = {version.version for version in dropped}
        untagged = [
            name
            for name, tag in state.tags.items()
            if name not in kept_tags and tag.version not in kept_numbers
        ]
        left = len(versions) - len(gone)
        gone_thinned = tuple(sorted(gone & thinned))
        for_branches = tuple(sorted(needed))
        return Expired(None, tuple(dropped), tuple(untagged), left, for_branches, gone_thinned)

    def _counted(self, versions: Sequence[PastVersion]) -> set[int]:
        """Return the numbers of the newest versions that are kept."""
        if self._policy.keep_last is None:
            return set()
        counted = [version.version for version in versions if version.operation not in HOUSEKEEPING]
        return set(counted[-self._policy.keep_last :])

    def _for_time(self, versions: Sequence[PastVersion]) -> set[int]:
        """Return the numbers of versions that were the newest within the time of the policy."""
        now_us = self._around.now_us()
        within, thin = self._policy.keep_within, self._policy.thin
        if within is None and (thin is None or not thin.steps):
            return set()
        if within is None:
            since_us = now_us - (0 if thin is None else thin.longest_us)
        elif isinstance(within, int | float):
            since_us = now_us - int(within * _SECOND_US)
        else:
            since_us = within.before(now_us)
        ends_us = [version.at_us for version in versions[1:]] + [now_us]
        ended = zip(versions, ends_us, strict=True)
        return {version.version for version, end_us in ended if end_us > since_us}


def history_of(
    state: VersionState, root: TableRoot, *, enough: int | None = None
) -> list[PastVersion]:
    """Return the versions in the history of a version, the oldest first.

    * ``enough``: With this number of versions no older list is read; without it all are.
    """
    pieces, count = [state.history], len(state.history)
    for ref in reversed(state.older):
        if enough is not None and count >= enough:
            break
        pieces.append(read_history(root.fetch(ref.key, ref.etag), ref))
        count += ref.versions
    return [version for piece in reversed(pieces) for version in piece]


def policy_of(
    root: TableRoot,
    keys: TableKeys,
    *,
    keep_last: int | None = None,
    keep_within: str | float | None = None,
    keep_tags: Sequence[str] = (),
    thin: str | None = None,
    all_but_head: bool = False,
) -> ExpiryPolicy:
    """Make a policy of what was asked for, or of the definition of the table if nothing was.

    * ``keep_last, keep_tags``: See :class:`ExpiryPolicy`.
    * ``keep_within``: As in ``30d`` or ``12h``, or seconds.
    * ``thin``: See :meth:`sdb.table.definition.timespan.Thinning.parse`; ``off`` alone leaves the
      thinning of the definition out.
    * ``all_but_head``: Whether nothing but the newest version, and those with tags, is kept.

    Raises `UsageError` if there is no policy, or it keeps nothing without saying so.
    """
    tags = tuple(keep_tags) or None
    within = durations.seconds(keep_within) if isinstance(keep_within, str) else keep_within
    if keep_last is not None and keep_last < 1:
        raise UsageError("--keep-last keeps at least one version", expected="a number from 1 on")
    thinning = None if thin is None else _thinning(thin)
    asked = keep_last is not None or within is not None or bool(thinning and thinning.steps)
    if all_but_head:
        if asked:
            message = "--all-but-head keeps nothing, and --keep-last, --keep-within and --thin do"
            raise UsageError(message)
        return ExpiryPolicy(1, None, tags)
    if asked:
        if keep_last == 1 and within is None and tags is None and not thinning:
            message = "--keep-last 1 keeps no version but the newest"
            raise UsageError(message, hint="--all-but-head says so")
        return ExpiryPolicy(keep_last, within, tags, thinning)
    stored = stored_policy(root, keys)
    if stored is not None:
        steps = stored.thin if thinning is None else thinning
        return ExpiryPolicy(stored.keep_last, stored.keep_for, tags, steps)
    if tags is not None:
        raise UsageError(
            "--keep-tag alone keeps no version without a tag",
            hint="add --keep-last or --keep-within, or --all-but-head if that is meant",
        )
    raise UsageError(
        f"no policy says which versions of {keys.database}.{keys.table} to keep",
        hint="versions in its definition, or sdb expire --keep-last 10, --keep-within 30d",
    )


def _thinning(text: str) -> Thinning:
    try:
        return Thinning.parse(text)
    except InputError as error:
        raise UsageError(f"--thin: {error.message}", expected=error.expected) from None


def stored_policy(root: TableRoot, keys: TableKeys) -> VersionPolicy | None:
    """Return the policy of the definition of a table; None: it has none.

    Raises `NotFoundError` if there is no such table.
    """
    try:
        policy = read_definition(root, keys).versions
    except NotFoundError:
        if find_table(root, keys.database, keys.table) is None:
            raise root.absent(keys) from None
        return None
    return None if policy is None or policy == VersionPolicy() else policy
