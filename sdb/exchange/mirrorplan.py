"""The commits of a mirror, planned: which versions each has, and which packfiles come and go."""

from __future__ import annotations

from sdb import instants, notes
from sdb.errors import UnsupportedError
from sdb.exchange.mirrorfiles import mark_in, mark_of, marked
from sdb.exchange.pending import opened
from sdb.records import field, record
from sdb.table.commit.change import ADOPT, PURGE, SAME_ROWS, packfiles_between

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from sdb.table.catalog.handle import TableHandle
    from sdb.table.format.descriptor import Descriptor
    from sdb.table.format.history import PastVersion
    from sdb.table.format.state import VersionState

# A mirror still has the rows that are purged, and lacks those that another program has written.
_SAME_ROWS = SAME_ROWS - {PURGE, ADOPT}

_EXPIRED = "expired"
"""Stands for versions between, whose rows come or go with the next one, whatever that is."""


@record
class MirrorStep:
    """A version, or several at once, that become one commit."""

    handle: TableHandle
    state: VersionState
    first: int  # number of the first of the versions
    operations: frozenset[str]
    added: dict[str, Descriptor] = field(repr=False)  # by their marks
    removed: frozenset[str] = field(repr=False)  # marks

    @property
    def has_same_rows(self) -> bool:
        """True if it changes where rows are, and no row."""
        return bool(self.operations) and self.operations <= _SAME_ROWS


@record
class MirrorPlan:
    """Plans the next commits of a mirror.

    * ``files``: Paths of the files that the mirror has.
    * ``mirrored``: The newest version that it has; 0: none that counts.
    """

    name: str
    files: Collection[str]
    mirrored: int

    def each(self, handle: TableHandle, versions: Iterable[PastVersion]) -> list[MirrorStep]:
        """Plan a commit for each version."""
        steps: list[MirrorStep] = []
        before: TableHandle | None = None
        number = self.mirrored
        for past in versions:
            after = opened(handle, past)
            state = after.state
            if state is None:
                continue
            operations = frozenset({state.operation})
            if (parent := state.parent) is not None and parent.version > number:
                self._note_gap(state, number)
                operations |= {_EXPIRED}
            if before is None:
                added, removed = self._difference(after)
            else:
                came, went = packfiles_between(before.index, after.index, after.root.fetch)
                added = marked(came)
                removed = frozenset(map(mark_of, went))
            steps.append(MirrorStep(after, state, state.version, operations, added, removed))
            before, number = after, state.version
        return steps

    def joint(self, handle: TableHandle, versions: Sequence[PastVersion]) -> MirrorStep:
        """Plan one commit for several versions."""
        after = opened(handle, versions[-1])
        state = after.state
        if state is None:
            raise UnsupportedError(f"{versions[-1].key} is no version")
        added, removed = self._difference(after)
        operations = frozenset(past.operation for past in versions)
        if self.mirrored == 0:
            operations = frozenset({"restart"})
        elif versions[0].version > self.mirrored + 1:
            operations |= {_EXPIRED}
        return MirrorStep(after, state, versions[0].version, operations, added, removed)

    def _difference(self, after: TableHandle) -> tuple[dict[str, Descriptor], frozenset[str]]:
        """Compare a version with the files of the mirror."""
        present = {mark_in(path) for path in self.files}
        wanted = marked(after.descriptors())
        added = {mark: packfile for mark, packfile in wanted.items() if mark not in present}
        return added, frozenset(present - wanted.keys())

    def _note_gap(self, state: VersionState, before: int) -> None:
        """Say which versions had expired before they could be mirrored.

        * ``before``: The version that the mirror has then; 0: none.
        """
        if not before:
            at = instants.text(state.at_us)
            notes.warn(
                f"{self.name}: the mirror begins with version {state.version:,}, of {at}: those "
                "before it have expired"
            )
        else:
            notes.warn(
                f"{self.name}: versions {before + 1:,} to {state.version - 1:,} have expired: "
                f"their changes come with version {state.version:,}"
            )
