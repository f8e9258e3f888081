"""Sides of a merge: what each has changed since the version in common, as a whole and in parts."""

from __future__ import annotations

from sdb.records import field, record
from sdb.table.commit.change import contents_between, has_longer_journal, inputs_between
from sdb.table.format.state import state_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from sdb.table.catalog.handle import TableHandle
    from sdb.table.format.descriptor import Descriptor
    from sdb.table.format.index import TableIndex


@record
class Side:
    """The changes of a side."""

    # Packfiles that came, by the key that each had before it was copied; so are all keys here
    added: dict[str, Descriptor] = field(repr=False)
    removed: frozenset[str] = field(repr=False)  # keys of packfiles that went
    inputs: dict[str, str] = field(repr=False)  # ETags of inputs that it has taken, by path
    # ETags of inputs whose rows it has taken out, by path
    dropped: dict[str, str] = field(repr=False)

    def overlaps(self, other: Side) -> bool:
        """Return whether both have removed a packfile, or taken an input."""
        taken = self.inputs.keys() | self.dropped.keys()
        others = other.inputs.keys() | other.dropped.keys()
        return bool(self.removed & other.removed or taken & others)


@record
class Part:
    """A part of the changes of a side, which belongs together."""

    before: frozenset[str]  # keys of packfiles of the version in common that went
    after: dict[str, Descriptor] = field(repr=False)  # packfiles that are there instead, by key
    # ETags of inputs whose rows these have, by path; an empty one for rows that were taken out
    inputs: dict[str, str] = field(repr=False)

    def clashes(self, other: Part) -> bool:
        """Return whether both change the same, each in its own way."""
        is_shared = bool(self.before & other.before or self.inputs.keys() & other.inputs.keys())
        return is_shared and not (
            self.before == other.before and self.after.keys() == other.after.keys()
        )


def side_of(
    handle: TableHandle, base: TableHandle, index: TableIndex, *, are_inputs_wanted: bool = True
) -> Side:
    """Report what an index has otherwise than the version in common.

    * ``are_inputs_wanted``: Whether to compare inputs as well, of which nodes are read.
    """
    fetch = handle.root.fetch
    added, removed = contents_between(base.index, index, fetch)
    if not are_inputs_wanted:
        return Side(added, frozenset(removed), {}, {})
    taken = inputs_between(base.index, index, fetch)
    taken_etags = {entry.path: entry.etag for entry in taken if not entry.is_failed}
    has_all = has_longer_journal(base.index, index) and not any(entry.is_failed for entry in taken)
    dropped = () if has_all else inputs_between(index, base.index, fetch)
    return Side(
        added,
        frozenset(removed),
        taken_etags,
        {
            entry.path: entry.etag
            for entry in dropped
            if not entry.is_failed and entry.path not in taken_etags
        },
    )


def changed_parts(handle: TableHandle, base: TableHandle, index: TableIndex) -> list[Part]:
    """Take apart what an index has changed since the version in common, version by version.

    What one version has removed, added and taken belongs together, and so does what later versions
    have made of it; added packfiles without anything else stand alone.

    Returns: The parts; all in one when a version in between is not kept any more, and what merges
    have brought in one, where it is not known of what it was made.
    """
    side = side_of(handle, base, index)
    groups = _Groups()
    brought: list[str] = []
    left = set(side.removed)
    for before, after in _steps(handle, base, index):
        step = side_of(handle, before, after)
        inputs = [f"\0{path}" for path in (*step.inputs, *step.dropped)]
        step_nodes = [*step.removed, *step.added, *inputs]
        if step.removed or inputs:
            groups.join(step_nodes)
        is_one = before is not base or _is_parent(base, after)
        left -= step.removed if is_one else set()
        brought += [] if is_one and not _is_merge(after) else step_nodes
    if left and brought:
        # What went was never there: it came changed, from another branch.
        groups.join([*left, *brought])
    by_root: dict[str, list[str]] = {}
    nodes = [*side.removed, *side.added]
    nodes += [f"\0{path}" for path in (*side.inputs, *side.dropped)]
    for node in nodes:
        by_root.setdefault(groups.root(node), []).append(node)
    return [
        Part(
            frozenset(node for node in group if node in side.removed),
            {node: side.added[node] for node in group if node in side.added},
            {node[1:]: side.inputs.get(node[1:], "") for node in group if node.startswith("\0")},
        )
        for group in by_root.values()
    ]


def _is_parent(base: TableHandle, index: TableIndex) -> bool:
    """Return whether a version is the one before an index."""
    state, own = state_of(index.user_data), base.state
    if state is None or own is None or state.parent is None:
        return False
    return state.parent.key == base.keys.version(own.version, own.commit)


def _is_merge(index: TableIndex) -> bool:
    state = state_of(index.user_data)
    return state is not None and state.merged is not None


def _steps(
    handle: TableHandle, base: TableHandle, index: TableIndex
) -> Iterator[tuple[TableHandle, TableIndex]]:
    """Yield each version after the one in common, with the one before it."""
    stop = 0 if base.state is None else base.state.version
    while True:
        state = state_of(index.user_data)
        parent = None if state is None else state.parent
        if parent is None or parent.version <= stop or not handle.root.has(parent.key):
            yield base, index
            return
        before = handle.version(parent.key, parent.etag)
        yield before, index
        index = before.index


class _Groups:
    """Nodes that belong together."""

    def __init__(self) -> None:
        self._above: dict[str, str] = {}

    def root(self, node: str) -> str:
        """Return the node that stands for a group."""
        while (above := self._above.get(node, node)) != node:
            self._above[node] = self._above.get(above, above)
            node = above
        return node

    def join(self, nodes: list[str]) -> None:
        """Put nodes into one group."""
        first = self.root(nodes[0])
        for node in nodes[1:]:
            self._above[self.root(node)] = first
