"""Work of a sync: what is asked for, what a comparison finds to do, and what a commit gets."""

from __future__ import annotations

from itertools import chain

from sdb.errors import ConflictError
from sdb.packfile.write.malformed import outcome
from sdb.records import record
from sdb.table.commit.change import FAILED, ChangedInput, TableChange
from sdb.table.format.state import RowCounts
from sdb.table.format.versionref import MAIN
from sdb.table.sync.result import RejectedInput, SourceVersion, Synced

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot
    from sdb.table.definition.definition import Definition, InputRule
    from sdb.table.definition.partition import Partition
    from sdb.table.format.descriptor import Descriptor
    from sdb.table.format.inputtree import InputsTree
    from sdb.table.format.keys import TableKeys
    from sdb.table.inputs.listing import ListedInput
    from sdb.table.sync.inputrows import RemovedRows
    from sdb.table.sync.lakes import LakeStep
    from sdb.table.sync.packing import InputPacking, PackedInputs

_GONE = "it vanished, and its rows were deleted"


@record
class NewInput:
    """An input that a sync takes."""

    listed: ListedInput  # where it is
    etag: str  # its ETag
    rule: InputRule  # the rule whose pattern found it
    partition: Partition | None  # its partition; None: its name has none
    flaw: str = ""  # why it has no rows; empty: it has
    is_forced: bool = False  # whether it failed before, with the same content
    replaces: str = ""  # the ETag of what was taken before, whose rows go; empty: nothing
    # URI of the input under whose name the same content, or that before, was taken; it is gone
    same_as: str = ""
    defaults: bytes | None = None  # fields that its folders name, see :class:`Input`
    kept_for: str = ""  # URI of an input that has the content that was taken, so that its rows stay

    @property
    def uri(self) -> str:
        """Its full URI."""
        return self.listed.uri


@record
class SyncPlan:
    """The inputs of a table, by what is to be done with them."""

    new: tuple[NewInput, ...]  # those to take, in their order
    # URIs of those that were taken and have another content now, or are gone
    changed: tuple[str, ...]
    vanished: tuple[str, ...]
    left_out: tuple[str, ...] = ()  # URIs of inputs that cannot be read now
    newer: tuple[NewInput, ...] = ()  # those that have changed, as they are now
    # URIs of those that are passed over, since they have temporary names
    passed: tuple[str, ...] = ()

    @property
    def is_nothing(self) -> bool:
        """True if the table has just the inputs that are there."""
        return not (self.new or self.changed or self.vanished or self.left_out or self.newer)


class InputChangedError(ConflictError):
    """An input has changed after it was taken, and that is not to be."""


def check_unchanged(keys: TableKeys, changed: Sequence[str]) -> None:
    """Check that no input has changed after it was taken. Raises `InputChangedError` if one has."""
    if changed:
        more = f" and {len(changed) - 1:,} more" if changed[1:] else ""
        message = f"{keys.database}.{keys.table}: {changed[0]}{more} changed after it was taken"
        hint = "--changed keep leaves its rows as they are (upkeep.changed in the definition)"
        raise InputChangedError(message, hint=hint)


def rejected_of(new: Iterable[NewInput]) -> tuple[RejectedInput, ...]:
    """Return those inputs that cannot be taken."""
    flawed = [
        new_input
        for new_input in new
        if new_input.flaw and (new_input.replaces or not new_input.same_as)
    ]
    return tuple(
        RejectedInput(new_input.uri, new_input.etag, new_input.flaw) for new_input in flawed
    )


def renamed_of(new: Iterable[NewInput]) -> tuple[tuple[str, str], ...]:
    """Return those inputs that were taken under other names, with these."""
    return tuple(
        (new_input.uri, new_input.same_as)
        for new_input in new
        if new_input.same_as and not new_input.replaces
    )


@record
class SyncRequest:
    """One sync of one table: which inputs it takes, and how."""

    root: TableRoot
    keys: TableKeys
    definition: Definition
    packing: InputPacking  # the packer
    retry: bool = False  # whether inputs that failed are tried again although they are the same
    changed: str = "keep"  # what becomes of rows whose input has another content now
    vanished: str = "keep"  # what becomes of rows whose input is gone
    branch: str = MAIN
    author: str = ""
    # Whether the inputs are all that the definition finds: its digest is recorded then
    is_whole: bool = True

    @property
    def name(self) -> str:
        """Name of the table, for messages."""
        return f"{self.keys.database}.{self.keys.table}"


@record
class SyncWork:
    """The work of a sync, compared with a version of the table."""

    plan: SyncPlan
    table: TableHandle | None  # that version; None: there is no table yet, or no rows have to go
    tree: InputsTree | None  # its inputs, as far as they were read
    newer: tuple[NewInput, ...] = ()  # changed inputs, whose new rows replace those before
    gone: tuple[str, ...] = ()  # URIs of inputs whose rows are deleted
    step: LakeStep | None = None  # the version of another system that the inputs are of

    @property
    def is_nothing(self) -> bool:
        """True if there is nothing to commit."""
        return not (self.plan.new or self.newer or self.gone or self.step)

    def foreseen(self, keys: TableKeys) -> Synced:
        """Return the result that a sync would have."""
        wanted = (*self.plan.new, *self.newer)
        replaced = tuple(new_input.uri for new_input in self.newer if not new_input.flaw)
        return Synced(
            keys.database,
            keys.table,
            None,
            tuple(new_input.uri for new_input in wanted if not new_input.flaw),
            0,
            0,
            rejected_of(wanted),
            tuple(uri for uri in self.plan.changed if uri not in replaced),
            tuple(uri for uri in self.plan.vanished if uri not in self.gone),
            replaced,
            self.gone,
            passed=self.plan.passed,
            renamed=renamed_of(self.plan.new),
        )


@record
class Prepared:
    """The packfiles that a sync has packed and rewritten for its commit."""

    groups: tuple[PackedInputs, ...]  # the packfiles that come
    flawed: tuple[NewInput, ...]  # inputs that cannot be read
    gone: tuple[str, ...]  # URIs of inputs whose rows are deleted
    removed: RemovedRows  # packfiles without the rows that go

    @property
    def taken(self) -> list[NewInput]:
        """The inputs whose rows come in."""
        return [*chain.from_iterable(group.inputs for group in self.groups)]

    def change(self, request: SyncRequest, step: LakeStep | None = None) -> TableChange:
        """Return the change to commit.

        * ``step``: The version of another system that it takes.
        """
        added: list[Descriptor] = []
        inputs: list[ChangedInput] = []
        for group in self.groups:
            inputs += [
                ChangedInput(
                    new_input.uri, new_input.etag, len(added), is_forced=new_input.is_forced
                )
                for new_input in group.inputs
            ]
            added += [] if group.descriptor is None else [group.descriptor]
        # What failed before and fails again is known already.
        inputs += [
            ChangedInput(new_input.uri, new_input.etag, FAILED, reason=new_input.flaw)
            for new_input in self.flawed
            if not new_input.is_forced
        ]
        reason = _GONE if step is None else ""  # files of other systems go as a rule
        inputs += [
            ChangedInput(uri, "", FAILED, is_forced=True, reason=reason) for uri in self.gone
        ]
        if step is not None:
            inputs.append(ChangedInput(step.uri, step.after, FAILED, is_forced=True))
        return TableChange(
            "sync",
            (*added, *self.removed.added),
            self.removed.removed,
            tuple(inputs),
            definition=request.definition.digest() if request.is_whole else None,
            author=request.author,
            message=self._malformed() if step is None else step.message,
            counts=RowCounts(sum(group.rows for group in self.groups), 0, self.removed.rows),
            is_traced=self.removed.are_rows_traced,
        )

    def synced(self, keys: TableKeys, work: SyncWork, version: int | None) -> Synced:
        """Return the result of the sync."""
        plan, step = work.plan, work.step
        rows = sum(group.rows for group in self.groups)
        sources: tuple[SourceVersion, ...] = ()
        if step is not None and version is not None:
            sources = (SourceVersion(step.source, step.version, version, rows, self.removed.rows),)
        replaced = [new_input.uri for new_input in self.taken if new_input.replaces]
        return Synced(
            keys.database,
            keys.table,
            version,
            tuple(new_input.uri for new_input in self.taken),
            rows,
            sum(group.text_bytes for group in self.groups),
            rejected_of(self.flawed),
            tuple(uri for uri in plan.changed if uri not in replaced),
            tuple(uri for uri in plan.vanished if uri not in self.gone),
            tuple(replaced),
            self.gone,
            self.removed.rows,
            passed=plan.passed,
            renamed=renamed_of(self.flawed),
            sources=sources,
            skipped=sum(group.skipped for group in self.groups),
            kept_records=sum(group.kept_records for group in self.groups),
        )

    def _malformed(self) -> str:
        """Say what became of malformed records; empty: there were none."""
        counts = [(sum(group.skipped for group in self.groups), False)]
        counts += [(sum(group.kept_records for group in self.groups), True)]
        return ", ".join(outcome(count, is_kept=is_kept) for count, is_kept in counts if count)
