"""Collecting intents: those of transactions whose tables have nothing to do with them any more.

* One that is pending is given up, for it is older than the boundary.
* One that was given up goes when the versions of it were collected: no reader meets it any more.
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
from sdb.table.commit.coordinator import abort_undecided, swap
from sdb.table.commit.twophase import finalize_head
from sdb.table.format.keys import UID_LETTERS, check_name, commit_on, head_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.table.catalog.intents import TransactionIntent
    from sdb.table.catalog.root import TableRoot


@record
class OldIntent:
    """An intent that is not needed any more."""

    key: str  # the object
    size_bytes: int  # its size
    modified_us: int  # when it was written


def old_intents(
    root: TableRoot, database: str, boundary_us: int, *, dry_run: bool
) -> list[OldIntent]:
    """Iterate over the intents of a database that are older than a boundary.

    * ``dry_run``: Whether to leave those as they are that are still pending, or not settled.

    Raises `CorruptError` or `UnsupportedError` if an intent or an index is damaged, or of a later
    format.
    """
    folder = f"db/{check_name(database, 'database')}/{intents.FOLDER}"
    gone = []
    for entry in root.store.list(root.place(folder)):
        intent = OldIntent(f"{folder}/{entry.name}", entry.size_bytes, entry.modified_us)
        is_intent = len(entry.name) == UID_LETTERS and entry.name.isalnum()
        is_old = is_intent and entry.modified_us <= boundary_us
        if is_old and _is_over(root, intent, dry_run=dry_run):
            gone.append(intent)
    return gone


def _is_over(root: TableRoot, old: OldIntent, *, dry_run: bool) -> bool:
    """Return whether an intent is not needed any more, and settle or abort it if it is old."""
    stored = find_intent(root, old.key)
    if stored is None:
        return False
    intent = stored.intent
    if intent.step == ABORTED:
        # Without the intent recovery would take a version of an aborted transaction for one that
        # counts.
        return not _has_version(root, old.key, intent)
    if intent.step == PENDING:
        if not dry_run:
            with suppress(UncertainError):
                abort_undecided(root, old.key, stored.reader.version)
        return False
    is_free = _is_free(root, old.key, intent, dry_run=dry_run)
    if is_free and not intent.is_settled and not dry_run:
        with suppress(ConflictError, UncertainError):
            swap(root, old.key, stored, replace(intent, is_settled=True))
    # Two collections, one to settle it and one to delete it: another program may have read an index
    # that names it just before, and write that back.
    return is_free and intent.is_settled


def _has_version(root: TableRoot, key: str, intent: TransactionIntent) -> bool:
    """Return whether a version of a transaction is there that was given up."""
    uid = key.rpartition("/")[2]
    for head in intent.heads:
        table_and_branch = head_of(head)
        if table_and_branch is None:
            return True
        keys, branch = table_and_branch
        end = f"-{commit_on(branch, uid)}"
        entries = root.store.list(root.place(f"{keys.folder}/versions"))
        if any(entry.name.endswith(end) for entry in entries):
            return True
    return False


def _is_free(root: TableRoot, key: str, intent: TransactionIntent, *, dry_run: bool) -> bool:
    """Return whether no index of an intent has its key, after those were tidied that do."""
    for head in intent.heads:
        table_and_branch = head_of(head)
        if table_and_branch is None:
            return False
        current = find_head(root, *table_and_branch)
        if current is None:
            continue
        # What was overwritten may be replayed, for which the intent has to tell whether it counts.
        if is_overwritten(current):
            return False
        joint = current.joint
        if joint is not None and joint.state.transaction == key:
            if not dry_run:
                with suppress(ConflictError, NotFoundError):  # others tidy, or take it away
                    finalize_head(root, *table_and_branch, key)
            return False
    return True
