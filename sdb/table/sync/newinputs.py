"""Inputs that a sync takes, and what else it finds: the outcome of comparing a listing."""

from __future__ import annotations

from sdb.errors import ConflictError
from sdb.records import record, replace
from sdb.table.sync.result import RejectedInput, Synced

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sdb.table.definition.definition import InputRule
    from sdb.table.definition.partition import Partition
    from sdb.table.format.keys import TableKeys
    from sdb.table.inputs.listing import ListedInput


@record
class NewInput:
    """An input that a sync takes.

    Attributes
    ----------
    listed : ListedInput
        Where it is.
    etag : str
        Its ETag.
    rule : InputRule
        The rule whose pattern found it.
    partition : Partition or None
        Its partition; None: its name tells none.
    flaw : str
        Why it has no rows; empty: it has.
    is_forced : bool
        Whether it failed before, with the same content.
    replaces : str
        The ETag of what was taken before, whose rows go; empty: nothing.
    same_as : str
        URI of the input under whose name the same content, or that before, was taken; it is gone.
    kept_for : str
        URI of an input that has the content that was taken, so that its rows stay.
    """

    listed: ListedInput
    etag: str
    rule: InputRule
    partition: Partition | None
    flaw: str = ""
    is_forced: bool = False
    replaces: str = ""
    same_as: str = ""
    kept_for: str = ""

    @property
    def uri(self) -> str:
        """Its full URI."""
        return self.listed.uri


@record
class SyncPlan:
    """The inputs of a table, by what is to be done with them.

    Attributes
    ----------
    new : tuple of NewInput
        Those to take, in their order.
    changed, vanished : tuple of str
        URIs of those that were taken and have another content now, or are gone.
    left_out : tuple of str
        URIs of inputs that cannot be read now.
    newer : tuple of NewInput
        Those that have changed, as they are now.
    passed : tuple of str
        URIs of those that are passed over, since they have temporary names.
    """

    new: tuple[NewInput, ...]
    changed: tuple[str, ...]
    vanished: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    newer: tuple[NewInput, ...] = ()
    passed: tuple[str, ...] = ()

    @property
    def is_nothing(self) -> bool:
        """True if the table has just the inputs that are there."""
        return not (self.new or self.changed or self.vanished or self.left_out or self.newer)


class InputChangedError(ConflictError):
    """An input has changed after it was taken, and that is not to be."""


def check_unchanged(keys: TableKeys, changed: Sequence[str]) -> None:
    """Check that no input has changed after it was taken.

    Raises
    ------
    InputChangedError
        One has.
    """
    if changed:
        more = f" and {len(changed) - 1:,} more" if changed[1:] else ""
        message = f"{keys.database}.{keys.table}: {changed[0]}{more} changed after it was taken"
        raise InputChangedError(message, hint="--changed keep leaves its rows as they are")


def foreseen(
    keys: TableKeys, plan: SyncPlan, newer: Sequence[NewInput], gone: Sequence[str]
) -> Synced:
    """Return what a sync would do."""
    wanted = (*plan.new, *newer)
    good = tuple(one.uri for one in wanted if not one.flaw)
    bad = rejected_of(wanted)
    replaced = tuple(one.uri for one in newer if not one.flaw)
    left = tuple(uri for uri in plan.changed if uri not in replaced)
    kept = tuple(uri for uri in plan.vanished if uri not in gone)
    lists = bad, left, kept, replaced, tuple(gone)
    synced = Synced(keys.database, keys.table, None, good, 0, 0, *lists, passed=plan.passed)
    return replace(synced, renamed=renamed_of(plan.new))


def rejected_of(new: Iterable[NewInput]) -> tuple[RejectedInput, ...]:
    """Return those inputs that cannot be taken."""
    flawed = [one for one in new if one.flaw and (one.replaces or not one.same_as)]
    return tuple(RejectedInput(one.uri, one.etag, one.flaw) for one in flawed)


def renamed_of(new: Iterable[NewInput]) -> tuple[tuple[str, str], ...]:
    """Return those inputs that were taken under other names, with these."""
    return tuple((one.uri, one.same_as) for one in new if one.same_as and not one.replaces)
