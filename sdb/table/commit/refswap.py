"""Compare-and-swap of an index that changes only its tags and branches; it makes no version."""

from __future__ import annotations

from contextlib import ExitStack

from sdb.errors import ConflictError, ExistsError, NotFoundError, UncertainError
from sdb.records import replace
from sdb.table.catalog.foreign import is_overwritten
from sdb.table.catalog.handle import open_table
from sdb.table.commit.change import ADOPT, TableChange
from sdb.table.commit.commit import commit
from sdb.table.commit.coordinator import StaleDetector, check_decided
from sdb.table.commit.environment import backoff_of
from sdb.table.format import etags
from sdb.table.format.keys import is_packed
from sdb.table.format.state import with_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot
    from sdb.table.commit.environment import Environment
    from sdb.table.format.keys import TableKeys
    from sdb.table.format.state import VersionState

    Change: TypeAlias = Callable[[VersionState], VersionState | None]

_ADOPTIONS = 4


def adopted(root: TableRoot, keys: TableKeys, env: Environment) -> TableHandle:
    """Open a table, after a commit that makes a version of an index that another program wrote.

    An older `sdb` has made versions that refer to packfiles of the original: these are copied once.
    Raises `ConflictError` if it writes all the time.
    """
    for attempt in range(_ADOPTIONS):
        head = open_table(root, keys.database, keys.table)
        if not is_overwritten(head) and (attempt or not strange_packfiles(head)):
            return head
        commit(root, keys, TableChange(ADOPT), env=env)
    raise ConflictError(
        f"another program writes to {keys.database}.{keys.table} all the time",
        path=keys.index,
        hint="run it again",
    )


def strange_packfiles(handle: TableHandle) -> int:
    """Return how many packfiles of a version the original may delete."""
    if handle.state is not None and handle.state.is_own:
        return 0
    return sum(is_packed(packfile.key) for packfile in handle.descriptors())


def swap(root: TableRoot, keys: TableKeys, change: Change, env: Environment) -> None:
    """Replace the index by one with other tags and branches, with retries."""
    backoff, watch = backoff_of(keys, env), StaleDetector(root, env)
    unknown: UncertainError | None = None
    while True:
        try:
            if _swapped(root, keys, change):
                return
            adopted(root, keys, env)
        except (ConflictError, UncertainError) as error:
            unknown = error if isinstance(error, UncertainError) else unknown
            if not backoff.may_retry(error):
                raise backoff.exhausted(unknown or error) from None
            watch.observe(error)
        backoff.pause()


def _swapped(root: TableRoot, keys: TableKeys, change: Change) -> bool:
    """Try once; False: another program has written the index."""
    location = root.place(keys.index)
    with ExitStack() as stack:
        try:
            stack.enter_context(root.store.lock(location))
        except NotFoundError:
            raise root.absent(keys) from None
        head = open_table(root, keys.database, keys.table)
        check_decided(head)
        state = head.state
        if state is None or is_overwritten(head):
            return False
        changed = change(state)
        if changed is None:
            return True
        # The version below `versions/` stays as it is, and the next one points to that, not to this
        # index.
        changed = replace(changed, kept_etag=state.kept_etag or etags.of_content([head.data]))
        index = replace(head.index, user_data=with_state(head.index.user_data, changed))
        try:
            root.store.put_if_match(location, index.encode(root.keyring), head.reader)
        except ExistsError as error:
            raise ConflictError(error.message, path=location, hint="run it again") from error
    return True
