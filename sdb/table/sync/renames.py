"""Inputs that were renamed after they were taken: the same content under another name.

The rows stay those of the name under which they were taken. The new name is recorded as an input
without rows, with the same ETag, so that it is not taken or reported again. As long as its file
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
    from sdb.table.format.inputtree import TakenInput
    from sdb.table.sync.work import NewInput, SyncPlan

_LOCAL = "file://"


class RenamedInputs:
    """The inputs of a plan that may have been taken under another name.

    * ``plan``: What is to be done if none of them was renamed.
    * ``written_us``: When the table was written last. What was written later was not taken before:
      renaming a file leaves its time as it is.
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
        self._before = {new_input.uri: lookup(new_input.uri) for new_input in plan.new}
        self._written_us = written_us

    def etags(self) -> frozenset[str]:
        """Return the ETags of content that another input may have had."""
        etags = {new_input.etag for new_input in self._plan.new if self._may_be_old(new_input)}
        etags |= {entry.etag for entry in self._before.values() if entry is not None}
        return frozenset(etags | {new_input.replaces for new_input in self._plan.newer})

    def plan(self, gone: Iterable[TakenInput], failed: Iterable[TakenInput]) -> SyncPlan:
        """Return the plan without what is known under another name.

        * ``gone``: Inputs that were taken, and whose files are not there any more.
        """
        left: dict[str, list[str]] = {}
        for entry in gone:
            if entry.path.startswith(_LOCAL):
                left.setdefault(entry.etag, []).append(entry.path)
        others: dict[str, str] = {}
        copies: dict[str, str] = {}
        for entry in failed:
            copies[entry.etag] = entry.path
            if left.get(entry.etag):
                others[entry.path] = left[entry.etag].pop(0)
        newer = [
            replace(new_input, kept_for=copies.get(new_input.replaces, ""))
            for new_input in self._plan.newer
        ]
        new, changed = [], list(self._plan.changed)
        for new_input in self._plan.new:
            before, other = self._before[new_input.uri], others.get(new_input.uri)
            if new_input.is_forced:
                if other is None:
                    new.append(new_input)
            elif other is not None and before is not None:
                changed.append(new_input.uri)
                newer.append(
                    replace(new_input, is_forced=True, replaces=before.etag, same_as=other)
                )
            else:
                new.append(self._known(new_input, left.get(new_input.etag, []), others))
        vanished = [uri for uri in self._plan.vanished if uri not in set(others.values())]
        lists = {"changed": tuple(changed), "vanished": tuple(vanished)}
        return replace(self._plan, new=tuple(new), newer=tuple(newer), **lists)

    def _known(self, new_input: NewInput, left: list[str], others: dict[str, str]) -> NewInput:
        """Return an input with the name under which it was taken, if it was."""
        if not self._may_be_old(new_input):
            return new_input
        for uri in left:
            if self._is_alike(new_input, uri):
                left.remove(uri)
                others[new_input.uri] = uri
                return replace(
                    new_input, flaw=f"the same content as {uri}, which was taken", same_as=uri
                )
        return new_input

    def _may_be_old(self, new_input: NewInput) -> bool:
        is_local = not new_input.listed.is_remote and not new_input.flaw and not new_input.is_forced
        return is_local and new_input.listed.modified_us <= self._written_us

    def _is_alike(self, new_input: NewInput, uri: str) -> bool:
        """Return whether an input would have been read the same way under another name."""
        for pattern, rule in zip(self._patterns, self._definition.inputs, strict=True):
            captured = pattern.match(uri)
            if captured is None:
                continue
            try:
                partition = partition_of(self._definition.partitions, captured)
            except InputError:
                return False
            is_same = replace(rule, pattern="") == replace(new_input.rule, pattern="")
            is_same = is_same and uri.rpartition(".")[2] == new_input.uri.rpartition(".")[2]
            is_same = is_same and partition == new_input.partition
            if self._definition.hive:
                from sdb.packfile.inputs.folders import folder_fields

                is_same = is_same and folder_fields(uri) == folder_fields(new_input.uri)
            return is_same
        return False
