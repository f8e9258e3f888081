"""Sets names of versions: the index is replaced by one that differs in them alone.

No version is made by that, and it is done over again while others commit.
"""

from __future__ import annotations

from contextlib import ExitStack

from sdb.errors import ConflictError, ExistsError, NotFoundError, UncertainError
from sdb.records import replace
from sdb.table.catalog.foreign import is_overwritten
from sdb.table.catalog.handle import open_table
from sdb.table.commit.change import TableChange
from sdb.table.commit.commit import PATIENCE_SECONDS, commit
from sdb.table.commit.coordinator import Watch, check_decided
from sdb.table.format import etags
from sdb.table.format.keys import is_packed
from sdb.table.format.state import with_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot
    from sdb.table.commit.environment import Surroundings
    from sdb.table.format.keys import TableKeys
    from sdb.table.format.state import VersionState

    Change: TypeAlias = Callable[[VersionState], VersionState | None]

ADOPT = "adopt"
"""The operation of a version that only makes what another program has written one of ours."""

_ADOPTIONS = 4
_FIRST_PAUSE_SECONDS = 0.02
_LONGEST_PAUSE_SECONDS = 2.0


def adopted(root: TableRoot, keys: TableKeys, around: Surroundings) -> TableHandle:
    """Open a table, after a commit that makes a version of what another program has written.

    An older `sdb` has made versions that refer to packfiles of the original: these are copied once.

    Raises
    ------
    ConflictError
        It writes all the time.
    """
    for attempt in range(_ADOPTIONS):
        head = open_table(root, keys.database, keys.table)
        if not is_overwritten(head) and (attempt or not strange_packfiles(head)):
            return head
        commit(root, keys, TableChange(ADOPT), around=around)
    raise ConflictError(
        f"another program writes to {keys.database}.{keys.table} all the time",
        path=keys.index,
        hint="run it again",
    )


def strange_packfiles(handle: TableHandle) -> int:
    """Return how many packfiles of a version the original may delete."""
    if handle.state is not None and handle.state.is_own:
        return 0
    return sum(is_packed(one.key) for one in handle.descriptors())


def swap(root: TableRoot, keys: TableKeys, change: Change, around: Surroundings) -> None:
    """Put an index with other names in the place of the one that is there."""
    began, watch = around.elapsed(), Watch(root, around)
    attempts = 0
    unknown: UncertainError | None = None
    while True:
        attempts += 1
        try:
            if _swapped(root, keys, change):
                return
            adopted(root, keys, around)
        except (ConflictError, UncertainError) as error:
            unknown = error if isinstance(error, UncertainError) else unknown
            if around.elapsed() - began >= PATIENCE_SECONDS:
                raise (unknown or error) from None
            watch.met(error)
        longest = min(_LONGEST_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 2**attempts)
        around.sleep(around.uniform(0, longest))


def _swapped(root: TableRoot, keys: TableKeys, change: Change) -> bool:
    """Try once; False: another program has written what is there."""
    place = root.place(keys.index)
    with ExitStack() as stack:
        try:
            stack.enter_context(root.store.lock(place))
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
        changed = replace(changed, kept=state.kept or etags.of_content([head.data]))
        index = replace(head.index, user_data=with_state(head.index.user_data, changed))
        try:
            root.store.put_if(place, index.encode(root.keyring), head.reader)
        except ExistsError as error:
            raise ConflictError(error.message, path=place, hint="run it again") from error
    return True
