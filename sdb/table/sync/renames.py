"""Inputs that were renamed after they were taken: the same content under another name.

The rows stay those of the name under which they were taken. The new name is recorded as an input
without rows, with the same ETag, so that it is not taken, nor told of, again. As long as its file
is there the other one does not count as vanished.
"""

from __future__ import annotations

from sdb.errors import InputError
from sdb.records import replace
from sdb.table.definition.partition import partition_of
from sdb.table.inputs.pattern import InputPattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sdb.table.definition.definition import Definition
    from sdb.table.format.inputnodes import TakenInput
    from sdb.table.sync.newinputs import NewInput, SyncPlan

_LOCAL = "file://"


class RenamedInputs:
    """The inputs of a plan that may have been taken under another name.

    Parameters
    ----------
    definition : Definition
        What the table takes.
    plan : SyncPlan
        What is to be done if none of them was renamed.
    lookup : callable
        Returns what the table knows of a URI.
    written_us : int
        When the table was written last. What was written later was not taken before: renaming a
        file leaves its time as it is.
    """

    def __init__(
        self,
        definition: Definition,
        plan: SyncPlan,
        lookup: Callable[[str], TakenInput | None],
        written_us: int,
    ) -> None:
        self._definition = definition
        self._plan = plan
        self._patterns = [InputPattern.parse(rule.pattern) for rule in definition.inputs]
        self._before = {one.uri: lookup(one.uri) for one in plan.new}
        self._written_us = written_us

    def etags(self) -> frozenset[str]:
        """Return the ETags of content that another input may have had."""
        found = {one.etag for one in self._plan.new if self._may_be_old(one)}
        found |= {one.etag for one in self._before.values() if one is not None}
        return frozenset(found | {one.replaces for one in self._plan.newer})

    def plan(self, gone: Iterable[TakenInput], failed: Iterable[TakenInput]) -> SyncPlan:
        """Return the plan without what is known under another name.

        Parameters
        ----------
        gone : iterable of TakenInput
            Inputs that were taken, and whose files are not there any more.
        failed : iterable of TakenInput
            Inputs without rows whose files are there.
        """
        left: dict[str, list[str]] = {}
        for known in gone:
            if known.path.startswith(_LOCAL):
                left.setdefault(known.etag, []).append(known.path)
        others: dict[str, str] = {}
        copies: dict[str, str] = {}
        for known in failed:
            copies[known.etag] = known.path
            if left.get(known.etag):
                others[known.path] = left[known.etag].pop(0)
        newer = [replace(one, kept_for=copies.get(one.replaces, "")) for one in self._plan.newer]
        new, changed = [], list(self._plan.changed)
        for one in self._plan.new:
            before, other = self._before[one.uri], others.get(one.uri)
            if one.is_forced:
                if other is None:
                    new.append(one)
            elif other is not None and before is not None:
                changed.append(one.uri)
                newer.append(replace(one, is_forced=True, replaces=before.etag, same_as=other))
            else:
                new.append(self._known(one, left.get(one.etag, []), others))
        vanished = [uri for uri in self._plan.vanished if uri not in set(others.values())]
        lists = {"changed": tuple(changed), "vanished": tuple(vanished)}
        return replace(self._plan, new=tuple(new), newer=tuple(newer), **lists)

    def _known(self, one: NewInput, left: list[str], others: dict[str, str]) -> NewInput:
        """Return an input with the name under which it was taken, if it was."""
        if not self._may_be_old(one):
            return one
        for uri in left:
            if self._is_alike(one, uri):
                left.remove(uri)
                others[one.uri] = uri
                return replace(one, flaw=f"the same content as {uri}, which was taken", same_as=uri)
        return one

    def _may_be_old(self, one: NewInput) -> bool:
        is_local = not one.listed.is_remote and not one.flaw and not one.is_forced
        return is_local and one.listed.modified_us <= self._written_us

    def _is_alike(self, one: NewInput, uri: str) -> bool:
        """Return whether an input would have been read the same way under another name."""
        for pattern, rule in zip(self._patterns, self._definition.inputs, strict=True):
            captured = pattern.match(uri)
            if captured is None:
                continue
            try:
                partition = partition_of(self._definition.partitions, captured)
            except InputError:
                return False
            is_same = (rule.format, rule.hints) == (one.rule.format, one.rule.hints)
            is_same = is_same and uri.rpartition(".")[2] == one.uri.rpartition(".")[2]
            return is_same and partition == one.partition
        return False
