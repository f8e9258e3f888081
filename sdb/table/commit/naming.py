"""Names that tables and views share: one object of a name decides whose it is.

A table is an index below ``db/``, which older versions of `sdb` and the original know, and a view
an object below ``views/``: no store swaps both at once. So the maker of either first claims the
name, by a compare-and-swap of the object of the name::

    table: claim ------------> swap of the index -----> release
    view:  claim -> is there a table? -> swap of the claim for the first version

A view counts only once it has replaced its own claim, and claims no name that a table has claimed;
a table's claim replaces that of a view, which then loses its swap. So one of two makers sees what
the other has done, whatever the order. A table that exists has no claim: its index says enough.
"""

from __future__ import annotations

from contextlib import ExitStack, suppress

from sdb import notes
from sdb.errors import (
    AccessError,
    ConflictError,
    ExistsError,
    NotFoundError,
    SdbError,
    UncertainError,
    UsageError,
)
from sdb.records import record, replace
from sdb.table.catalog.handle import find_head
from sdb.table.catalog.views import FoundName, find_name, find_view
from sdb.table.commit.environment import REAL, Environment, backoff_of
from sdb.table.commit.objects import make_missing_folder, store_now_us
from sdb.table.format.keys import TableKeys, flaw_of_new_name, new_uid
from sdb.table.format.view import TABLE, NameClaim, ViewObject

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from sdb.table.catalog.root import TableRoot

    NameChange: TypeAlias = "Callable[[ViewObject], ViewObject | None]"

STALE_SECONDS = 3600.0
"""The claim of a program that has died counts for so long."""

_US = 1_000_000
_ATTEMPTS = 5


def swap_name(
    root: TableRoot, keys: TableKeys, change: NameChange, env: Environment = REAL
) -> bool:
    """Change the object of a name by compare-and-swap, with retries.

    * ``change``: Returns what replaces the object; None: nothing has to change. It is asked again
      after each lost race, and after each attempt of which it is not known what became of it. It
      may raise to give up.

    Returns: Whether anything was changed.
    Raises `ConflictError` if other writers won every race and `UncertainError` if it is not known
    whether the object was changed.
    """
    backoff = backoff_of(keys, env)
    unknown: UncertainError | None = None
    is_changed = False
    while True:
        try:
            return _swapped(root, keys, change) or is_changed
        except (ConflictError, UncertainError) as error:
            if isinstance(error, UncertainError):
                unknown, is_changed = error, True
            if not backoff.may_retry(error):
                raise backoff.exhausted(unknown or error) from None
        backoff.pause()


def _swapped(root: TableRoot, keys: TableKeys, change: NameChange) -> bool:
    """Try once."""
    location = root.place(keys.view)
    with ExitStack() as stack:
        with suppress(NotFoundError):
            stack.enter_context(root.store.lock(location, is_brief=True))
        read = find_name(root, keys)
        changed = change(ViewObject() if read is None else read.view)
        if changed is None:
            return False
        if not changed.versions and changed.claim is None:
            root.store.delete(location)
        else:
            _put(root, location, changed.encode(root.keyring), read)
        return True


def _put(root: TableRoot, location: str, data: bytes, read: FoundName | None) -> None:
    for _ in range(_ATTEMPTS):
        try:
            root.store.put_if_match(location, data, None if read is None else read.reader)
        except NotFoundError as error:
            make_missing_folder(root, location, error)
        except ExistsError as error:
            raise ConflictError(error.message, path=location, hint="run it again") from error
        else:
            return
    raise ConflictError(f"writing {location}: its folder comes and goes", hint="run it again")


def is_fresh(root: TableRoot, keys: TableKeys, env: Environment) -> bool:
    """Return whether who has made the claim on a name may still go on, by the store's clock."""
    entry = root.store.head(root.place(keys.view))
    if entry is None:
        return False
    return store_now_us(root, keys, env) - entry.modified_us < STALE_SECONDS * _US


def is_table_there(root: TableRoot, keys: TableKeys) -> bool:
    """Return whether a table has a name: it has rows, a definition, or a transaction makes it.

    A table that was dropped has its name no longer.
    """
    head = find_head(root, keys)
    if head is not None and not head.is_void:
        return not head.is_dropped
    if head is not None and head.joint is not None and head.joint.is_pending:
        return True
    return root.has(keys.definition)


def taken_by_view(root: TableRoot, keys: TableKeys) -> ExistsError:
    """Make the error for a table whose name a view has."""
    name = f"{keys.database}.{keys.table}"
    return ExistsError(
        f"{name} below {root.location} is a view: tables and views share their names",
        path=keys.view,
        hint=f"take another name, or sdb exec 'DROP VIEW {name}'",
    )


@record
class ClaimedName:
    """A name that is claimed for a table that is about to be made."""

    root: TableRoot
    keys: TableKeys
    uid: str
    env: Environment

    def release(self) -> None:
        """Release the claim, now that the table is there; what fails here does no harm."""

        def released(view: ViewObject) -> ViewObject | None:
            is_own = view.claim is not None and view.claim.uid == self.uid
            return replace(view, claim=None) if is_own else None

        with suppress(SdbError):
            swap_name(self.root, self.keys, released, self.env)


def check_new(root: TableRoot, keys: TableKeys) -> None:
    """Check that a name may be one of a table or view that is made; those that are there have it.

    Raises `UsageError` if it has a dot.
    """
    flaw = flaw_of_new_name(keys.database) or flaw_of_new_name(keys.table)
    if flaw and find_head(root, keys) is None and not root.has(keys.definition):
        raise UsageError(
            f"{keys.name} cannot be made: {flaw}, and would be taken for another name",
            expected="DB.TABLE, with one dot",
        )


def claim_name(root: TableRoot, keys: TableKeys, env: Environment = REAL) -> ClaimedName:
    """Claim a name for a table that is about to be made.

    Where nothing may be written beside tables, as a policy of a bucket may say, there is no claim,
    and a warning.
    Raises `ExistsError` if a view has it and `ConflictError` or `UncertainError` as
    :func:`swap_name` does.
    """
    check_new(root, keys)
    uid = new_uid(env.random_bytes)

    def claimed(view: ViewObject) -> ViewObject | None:
        if view.newest is not None:
            raise taken_by_view(root, keys)
        # An earlier attempt has made it, and its answer was lost.
        if view.claim is not None and view.claim.uid == uid:
            return None
        return replace(view, claim=NameClaim(TABLE, uid, env.now_us()))

    claim = ClaimedName(root, keys, uid, env)
    if not root.keyring.keys:
        # Only a definition is written without a key; its first commit needs one, and a claim.
        if find_view(root, keys.database, keys.table) is not None:
            raise taken_by_view(root, keys)
        return claim
    try:
        swap_name(root, keys, claimed, env)
    except AccessError as error:
        name = f"{keys.database}.{keys.table}"
        what = f"cannot claim the name {name} ({error.message}): a view of that name, if somebody"
        notes.warn(f"{what} makes it now, is hidden by the table; allow writing below views/")
    return claim
