"""Inputs that have another content than a table has taken: looked for without reading much."""

from __future__ import annotations

from sdb.errors import AccessError, NotFoundError, SdbError
from sdb.records import record
from sdb.sizes import counted
from sdb.table.inputs.etagcache import EtagCache
from sdb.table.inputs.listing import list_inputs
from sdb.table.inputs.pattern import InputPattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.table.catalog.root import TableRoot
    from sdb.table.definition.definition import Definition
    from sdb.table.format.inputtree import InputsTree

_MOST_BYTES = 256 << 20


@record
class ChangedInputs:
    """Inputs that were taken, compared with what is there now."""

    changed: tuple[str, ...]  # URIs of those that have another content
    note: str = ""  # what was not looked at


def changed_inputs(root: TableRoot, definition: Definition, tree: InputsTree) -> ChangedInputs:
    """Look for local inputs that have changed after they were taken.

    Those whose place, size and time are as they were when they were read are as they were; others
    are read, as long as they are not too large together.
    """
    if root.store.is_remote:
        return ChangedInputs((), "whether inputs have changed was not looked at (--inputs does)")
    try:
        return _compared(root, definition, tree)
    except SdbError as error:
        return ChangedInputs((), f"whether inputs have changed is not known: {error.message}")


def _compared(root: TableRoot, definition: Definition, tree: InputsTree) -> ChangedInputs:
    taken = {entry.path: entry.etag for entry in tree.walk() if not entry.is_failed}
    changed: list[str] = []
    unread, left_bytes = 0, _MOST_BYTES
    with EtagCache() as cache:
        for rule in definition.inputs:
            for listed in list_inputs(root, InputPattern.parse(rule.pattern)):
                before = taken.pop(listed.uri, None)
                if before is None:
                    continue
                if cache.get(listed.location, listed.version) is None:
                    left_bytes -= listed.size_bytes
                    if left_bytes < 0:
                        unread += 1
                        continue
                try:
                    if listed.etag(cache) != before:
                        changed.append(listed.uri)
                except (NotFoundError, AccessError):
                    continue  # a sync says that
    note = f"whether {counted(unread, 'input')} changed was not looked at (--inputs does)"
    return ChangedInputs(tuple(changed), note if unread else "")
