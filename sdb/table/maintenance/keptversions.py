"""Check that every object of a kept version exists; each object is looked at once."""

from __future__ import annotations

from sdb import notes
from sdb.errors import CorruptError, SdbError
from sdb.records import replace
from sdb.table.catalog.handle import find_table
from sdb.table.format import etags
from sdb.table.format.history import read_history
from sdb.table.format.index import TableIndex
from sdb.table.format.inputtree import InputsTree
from sdb.table.format.manifests import read_list
from sdb.table.format.versionref import MAIN
from sdb.table.maintenance.listing import branches_of, objects_of
from sdb.table.maintenance.versionreads import fetched_ahead

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from sdb.store.base import Entry
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.format.descriptor import Descriptor
    from sdb.table.format.manifests import IndirectRef
    from sdb.table.format.state import VersionState

_MOST_NAMED = 3


class KeptVersions:
    """Versions that a table keeps: in its history, by tags, and on branches.

    * ``handle``: The newest version of a branch; of main, for all branches.
    """

    def __init__(self, handle: TableHandle, seen: Collection[str]) -> None:
        self._handle = handle
        self._root = handle.root
        self._objects: dict[str, Entry | None] = dict(objects_of(self._root, handle.keys))
        self._good = set(seen)
        self._flaws: dict[tuple[str, str], list[str]] = {}
        self._lists: dict[str, tuple[Descriptor, ...] | None] = {}
        self._nodes: set[str] = set()
        self._forgotten: list[str] = []

    def findings(self) -> Iterator[tuple[str, str]]:
        """Iterate over what is wrong: keys of objects, and what is wrong with each and for whom."""
        done: set[tuple[str, str]] = set()
        for branch in self._wanted():
            wanted = {name: label for name, label in branch.items() if name not in done}
            done.update(wanted)
            fetch = fetched_ahead(self._root, wanted)
            for (key, etag), label in wanted.items():
                try:
                    index = TableIndex.decode(fetch(key, etag), self._root.keyring)
                except SdbError as error:
                    yield key, error.message
                    continue
                self._look_at(index, label)
        for (key, text), labels in self._flaws.items():
            more = len(labels) - _MOST_NAMED
            named = ", ".join(labels[:_MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")
            yield key, f"{text}, which {named} {'needs' if len(labels) == 1 else 'need'}"
        if self._forgotten:
            some = ", ".join(self._forgotten[:_MOST_NAMED])
            notes.warn(
                f"{self._handle.name}: the inputs that {some} had taken are not known any "
                "more: another program has collected their list; no rows are missing"
            )

    def _wanted(self) -> Iterator[dict[tuple[str, str], str]]:
        """Iterate over what branches keep: keys and ETags, with what people call the versions."""
        state, keys = self._handle.state, self._handle.keys
        if state is None:
            return
        branch = state.branch or MAIN
        yield self._kept_by(state, "" if branch == MAIN else f"{branch}@", self._handle)
        if self._handle.reader.path != self._root.place(keys.index):
            return
        listed = branches_of(self._root, keys, self._objects)
        for name in sorted({*state.branches, *listed} - {MAIN}):
            try:
                head = find_table(self._root, keys.database, keys.table, branch=name)
            except SdbError as error:
                self._flaws.setdefault((keys.branch(name), error.message), []).append(name)
                continue
            if head is not None and head.state is not None:
                self._look_at(head.index, name)
                yield self._kept_by(head.state, f"{name}@", head)

    def _kept_by(
        self, state: VersionState, above: str, head: TableHandle
    ) -> dict[tuple[str, str], str]:
        listed = list(state.history)
        for ref in state.older:
            try:
                listed += read_history(self._root.fetch(ref.key, ref.etag), ref)
            except SdbError as error:
                self._flaws.setdefault((ref.key, error.message), []).append(f"{above}history")
        versions = {(tag.key, tag.etag): f"tag {name}" for name, tag in state.tags.items()}
        for version in listed:
            versions.setdefault((version.key, version.etag), f"version {above}{version.version}")
        # A branch may begin with a version whose parent has expired.
        has_begun = head.reader.path == self._root.place(head.keys.branch(state.branch or MAIN))
        if state.parent is not None and has_begun:
            parent = state.parent
            versions.setdefault((parent.key, parent.etag), f"version {above}{parent.version}")
        return versions

    def _look_at(self, index: TableIndex, label: str) -> None:
        """Look at all that an index leads to."""
        self._packfiles(index.inline, label)
        for ref in index.indirect.refs:
            listed = self._listed(ref)
            if listed is None:
                self._flaw(ref.key, "is missing or damaged", label)
            else:
                self._packfiles(listed, label)
        if {ref.key for ref in index.inputs.root} <= self._nodes:
            return
        try:
            nodes = InputsTree(replace(index.inputs, journal=None), self._root.fetch).nodes()
            missing = [key for key in nodes if key not in self._objects]
        except CorruptError:
            missing = [label]
        if missing:
            self._forgotten.append(label)
        else:
            self._nodes.update(ref.key for ref in index.inputs.root)

    def _listed(self, ref: IndirectRef) -> tuple[Descriptor, ...] | None:
        if ref.key not in self._lists:
            try:
                self._lists[ref.key] = read_list(self._root.fetch(ref.key, ref.etag), ref)
            except SdbError:
                self._lists[ref.key] = None
        return self._lists[ref.key]

    def _packfiles(self, descriptors: Iterable[Descriptor], label: str) -> None:
        for descriptor in descriptors:
            if descriptor.key in self._good:
                continue
            text = self._flaw_of(descriptor)
            if text:
                self._flaw(descriptor.key, text, label)
            else:
                self._good.add(descriptor.key)

    def _flaw_of(self, descriptor: Descriptor) -> str:
        """Return what is wrong with a packfile as it is listed; empty: nothing."""
        if descriptor.key not in self._objects:  # of another table, or not there
            self._objects[descriptor.key] = self._root.store.head(self._root.place(descriptor.key))
        entry = self._objects[descriptor.key]
        if entry is None:
            return "is missing"
        if entry.size_bytes != descriptor.size_bytes:
            return f"has {entry.size_bytes:,} bytes and not {descriptor.size_bytes:,}"
        is_told = self._root.store.is_remote and not etags.is_of_content(descriptor.etag)
        if is_told and entry.version != descriptor.etag:
            return f"is another object: {descriptor.etag} -> {entry.version}"
        return ""

    def _flaw(self, key: str, text: str, label: str) -> None:
        self._flaws.setdefault((key, text), []).append(label)
