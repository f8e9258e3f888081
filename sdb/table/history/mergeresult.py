"""The packfiles and inputs that a merge adds to an index, and removes."""

from __future__ import annotations

from sdb.table.commit.change import FAILED, ChangedInput
from sdb.table.format.keys import original_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from sdb.table.catalog.handle import TableHandle
    from sdb.table.format.descriptor import Descriptor
    from sdb.table.history.changes import Part, Side
    from sdb.table.history.rowmerge import MergedRows

_TAKEN_OUT = "a merge has left its rows out; sync --retry takes them again"


class MergeResult:
    """The packfiles and inputs that a merge adds to an index, and removes."""

    def __init__(
        self, present: Iterable[Descriptor], base: TableHandle, theirs: TableHandle
    ) -> None:
        self._present: dict[str, list[str]] = {}
        self._descriptors: dict[str, Descriptor] = {}
        for descriptor in present:
            self._present.setdefault(original_key(descriptor.key), []).append(descriptor.key)
            self._descriptors[descriptor.key] = descriptor
        self.base = base
        self.are_rows_traced = True
        self._theirs = theirs
        self.added: dict[str, Descriptor] = {}
        self.removed: set[str] = set()
        self.inputs: dict[str, ChangedInput] = {}

    @property
    def is_nothing(self) -> bool:
        """True if there is nothing to add or remove."""
        return not (self.added or self.removed or self.inputs)

    @property
    def gone(self) -> tuple[Descriptor, ...]:
        """The packfiles that go."""
        return tuple([self._descriptors[key] for key in sorted(self.removed)])

    def apply_rows(self, rows: MergedRows, parts: Iterable[Part]) -> None:
        """Take over parts of the source whose rows were merged with those of the destination."""
        self._take(rows.added, [original_key(packfile.key) for packfile in rows.removed])
        self.are_rows_traced &= rows.are_rows_traced
        for part in parts:
            self._take_inputs(part)

    def apply(self, side: Side) -> None:
        """Take over all that a side has changed."""
        self._take(side.added.values(), side.removed)
        for path, etag in side.inputs.items():
            self.inputs[path] = ChangedInput(path, etag, is_forced=True)
        for path, etag in side.dropped.items():
            self.inputs[path] = _taken_out(path, etag)

    def apply_part(self, part: Part) -> None:
        """Take over one part of what a side has changed."""
        self._take(part.after.values(), part.before)
        self._take_inputs(part)

    def _take_inputs(self, part: Part) -> None:
        for path, etag in part.inputs.items():
            change = ChangedInput(path, etag, is_forced=True) if etag else _taken_out(path, "")
            self.inputs[path] = change

    def undo(self, part: Part) -> None:
        """Take back a part of what the destination has changed."""
        for key in part.after:
            self._remove(key)
        lost = part.before - self._present.keys() - self.added.keys()
        if lost:
            for descriptor in self.base.descriptors():
                if original_key(descriptor.key) in lost:
                    self._take([descriptor], ())
        for path, etag in part.inputs.items():
            self.inputs[path] = _taken_out(path, etag)

    def _take(self, added: Iterable[Descriptor], removed: Iterable[str]) -> None:
        for key in removed:
            self._remove(key)
        for descriptor in added:
            key = original_key(descriptor.key)
            self.removed.difference_update(self._present.get(key, ()))
            if key not in self._present:
                self.added[key] = descriptor

    def _remove(self, key: str) -> None:
        self.added.pop(key, None)
        self.removed.update(self._present.get(key, ()))


def _taken_out(path: str, etag: str) -> ChangedInput:
    return ChangedInput(path, etag, FAILED, is_forced=True, reason=_TAKEN_OUT)
