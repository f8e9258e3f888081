"""Collecting intents: those of transactions whose tables have nothing to do with them any more.

* One that is pending is given up, for it is older than the boundary.
* One that was given up goes when the versions of it were collected: nobody meets one any more.
* One that is committed is settled when no index has its key. Only when that was before the boundary
  it goes: another program may have read an index with it just before.
"""

from __future__ import annotations

from contextlib import suppress

from sdb.errors import ConflictError, NotFoundError, UncertainError
from sdb.records import record, replace
from sdb.table.catalog import intents
from sdb.table.catalog.foreign import is_overwritten
from sdb.table.catalog.handle import find_head
from sdb.table.catalog.intents import ABORTED, PENDING, find_intent
from sdb.table.commit.coordinator import give_up, swap
from sdb.table.commit.twophase import tidy_head
from sdb.table.format.keys import UID_LETTERS, check_name, commit_on, head_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.table.catalog.intents import TransactionIntent
    from sdb.table.catalog.root import TableRoot


@record
class OldIntent:
    """An intent that nobody needs.

    Attributes
    ----------
    key : str
        The object.
    size_bytes : int
        Its size.
    modified_us : int
        When it was written.
    """

    key: str
    size_bytes: int
    modified_us: int


def old_intents(
    root: TableRoot, database: str, boundary_us: int, *, dry_run: bool
) -> list[OldIntent]:
    """Go over the intents of a database that are older than a boundary.

    Parameters
    ----------
    root : TableRoot
        The root.
    database : str
        The database.
    boundary_us : int
        The boundary.
    dry_run : bool
        Whether to leave those as they are that are still pending, or not settled.

    Returns
    -------
    list of OldIntent
        Those that can be deleted.

    Raises
    ------
    CorruptError, UnsupportedError
        An intent or an index is damaged, or of a later format.
    """
    folder = f"db/{check_name(database, 'database')}/{intents.FOLDER}"
    gone = []
    for entry in root.store.list(root.place(folder)):
        one = OldIntent(f"{folder}/{entry.name}", entry.size_bytes, entry.modified_us)
        is_intent = len(entry.name) == UID_LETTERS and entry.name.isalnum()
        is_old = is_intent and entry.modified_us <= boundary_us
        if is_old and _is_over(root, one, dry_run=dry_run):
            gone.append(one)
    return gone


def _is_over(root: TableRoot, one: OldIntent, *, dry_run: bool) -> bool:
    """Tell whether nobody needs an intent, and take the step that it needs for that."""
    found = find_intent(root, one.key)
    if found is None:
        return False
    intent = found.intent
    if intent.step == ABORTED:
        return not _has_version(root, one.key, intent)
    if intent.step == PENDING:
        if not dry_run:
            with suppress(UncertainError):
                give_up(root, one.key, found.reader.version)
        return False
    is_free = _is_free(root, one.key, intent, dry_run=dry_run)
    if is_free and not intent.is_settled and not dry_run:
        with suppress(ConflictError, UncertainError):
            swap(root, one.key, found, replace(intent, is_settled=True))
    return is_free and intent.is_settled


def _has_version(root: TableRoot, key: str, intent: TransactionIntent) -> bool:
    """Tell whether a version of a transaction is there that was given up."""
    uid = key.rpartition("/")[2]
    for head in intent.heads:
        place = head_of(head)
        if place is None:
            return True
        keys, branch = place
        end = f"-{commit_on(branch, uid)}"
        found = root.store.list(root.place(f"{keys.folder}/versions"))
        if any(one.name.endswith(end) for one in found):
            return True
    return False


def _is_free(root: TableRoot, key: str, intent: TransactionIntent, *, dry_run: bool) -> bool:
    """Tell whether no index of an intent has its key, after those were tidied that do."""
    for head in intent.heads:
        place = head_of(head)
        if place is None:
            return False
        found = find_head(root, *place)
        if found is None:
            continue
        if is_overwritten(found):
            return False
        joint = found.joint
        if joint is not None and joint.state.transaction == key:
            if not dry_run:
                with suppress(ConflictError, NotFoundError):  # others tidy, or take it away
                    tidy_head(root, *place, key)
            return False
    return True
