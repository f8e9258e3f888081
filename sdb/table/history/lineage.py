"""Ancestries: all versions that a version came from, by its parents and by what it has merged.

Nothing here compares times: versions of different branches were made by different clocks. What
gives the order are the parents, and the numbers of versions of the main branch.
"""

from __future__ import annotations

from sdb.errors import CorruptError
from sdb.table.format.history import PastVersion, VersionPointer, read_history
from sdb.table.format.versionref import MAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from sdb.table.catalog.handle import TableHandle
    from sdb.table.format.state import VersionState

MERGE = "merge"


class Ancestry:
    """The versions that a version came from, itself among them.

    * ``is_head``: Whether it is the newest version of a branch, so that all that its history tells
      is kept.
    * ``chains``: The version and those before it in its history, the newest first; then the
      same of each version that was merged.
    * ``unknown``: Versions that were merged and are not kept, so that their parents are not known.
    * ``joined``: Versions that were merged as a whole, and that `merges` of the state does not
      tell.
    * ``picked``: Versions of the history that merged a part of another one, and that one.
    * ``is_complete``: False if a version is not kept that merged a part of another one.
    * ``main``: The newest version of the main branch; None: it is not known.
    """

    def __init__(self, table: TableHandle, state: VersionState, *, is_head: bool = False) -> None:
        self._table = table
        self.chains: list[list[PastVersion]] = []
        self.known: dict[str, PastVersion] = {}
        self.unknown: list[VersionPointer] = []
        self.joined: list[VersionPointer] = list(state.joined or ())
        self.picked: list[tuple[PastVersion, VersionPointer]] = []
        self.is_complete = True
        self._mains: list[PastVersion] = []
        self._is_main_known = True
        self._lists: dict[str, tuple[PastVersion, ...]] = {}
        self._is_head = is_head
        self._add(state, is_first=True)
        self._add_main()
        self.main = max(self._mains, key=_number, default=None) if self._is_main_known else None

    def _add(self, state: VersionState, *, is_first: bool = False) -> None:
        """Add a version, those before it, and what was merged into any of them."""
        waiting = [state]
        while waiting:
            version_state = waiting.pop(0)
            chain = self._chain(version_state, is_kept=is_first and self._is_head)
            self.chains.append(chain)
            self.known |= {past.key: past for past in reversed(chain)}
            self._add_newest_main(version_state, chain)
            for name, pointer in self._merged(version_state, chain, is_first=is_first):
                if name == MAIN:
                    self._mains.append(_past(pointer))
                elif pointer.key not in self.known:
                    merged_state = self._read(pointer)
                    if merged_state is not None:
                        waiting.append(merged_state)
            is_first = False

    def _add_main(self) -> None:
        """Add what the newest version of the main branch came from: it came from all older ones."""
        newest = max(self._mains, key=_number, default=None)
        if newest is not None and newest.key not in self.known:
            main_state = self._read(VersionPointer(newest.version, newest.key, newest.etag))
            if main_state is not None:
                self._add(main_state)

    def _read(self, pointer: VersionPointer) -> VersionState | None:
        try:
            state = self._table.version(pointer.key, pointer.etag).state
        except CorruptError:
            state = None
        if state is None:
            self.unknown.append(pointer)
            self.chains.append([_past(pointer)])
            self.known[pointer.key] = _past(pointer)
        return state

    def _chain(self, state: VersionState, *, is_kept: bool) -> list[PastVersion]:
        """Return a version and those before it; unless all is kept, lists may be gone."""
        chain: list[PastVersion] = []
        try:
            chain.extend(self._back(state))
        except CorruptError:
            if is_kept:
                raise
            last = chain[-1]
            self.unknown.append(VersionPointer(last.version, last.key, last.etag))
        return chain

    def _back(self, state: VersionState) -> Iterator[PastVersion]:
        """Iterate over a version and those before it in its history, the newest first."""
        yield state.past(self._table.keys.version(state.version, state.commit), state.kept_etag)
        yield from reversed(state.history)
        for ref in reversed(state.older):
            if ref.key not in self._lists:
                data = self._table.root.fetch(ref.key, ref.etag)
                self._lists[ref.key] = read_history(data, ref)
            yield from reversed(self._lists[ref.key])

    def _merged(
        self, state: VersionState, chain: list[PastVersion], *, is_first: bool
    ) -> Iterator[tuple[str, VersionPointer]]:
        """Yield what was merged into a version or one before it, and the names of the branches."""
        yield from state.merges.items()
        for pointer in state.joined or ():
            yield "", pointer
        numbers = set(state.picked)
        if state.joined is None:  # states before this member: the versions say what was merged
            numbers = {version.version for version in chain if version.operation == MERGE}
        for version in chain:
            if version.version not in numbers:
                continue
            numbers.discard(version.version)
            version_state = state if version is chain[0] else self._known_state(version)
            if version_state is None or version_state.merged is None:
                continue
            if version_state.merged not in version_state.merges.values():
                self.picked.append((version, version_state.merged))
            elif version_state.merged not in state.merges.values():
                if is_first:
                    self.joined.append(version_state.merged)
                yield "", version_state.merged
        if numbers:
            self.is_complete = False

    def _known_state(self, version: PastVersion) -> VersionState | None:
        try:
            return self._table.version(version.key, version.etag).state
        except CorruptError:
            self.is_complete = False
            return None

    def _add_newest_main(self, state: VersionState, chain: list[PastVersion]) -> None:
        """Find the newest version of the main branch that a version came from."""
        if not state.branch:
            self._mains.append(chain[0])
        elif state.trunk is not None:
            self._mains.append(_past(state.trunk))
        else:
            first, last = 0, len(chain)  # those of the branch are first, those of main last
            while first < last:
                middle = (first + last) // 2
                middle_state = self._known_state(chain[middle])
                if middle_state is None:
                    self._is_main_known = False
                    return
                first, last = (middle + 1, last) if middle_state.branch else (first, middle)
            if first < len(chain):
                self._mains.append(chain[first])

    def look_for(self, wanted: PastVersion) -> bool:
        """Look for a version of the main branch by the parents of those that are known.

        What has expired goes on being there until it is collected.
        """
        for chain in self.chains:
            above = [version for version in chain if version.version > wanted.version]
            if not above or not any(version.key == chain[0].key for version in self._mains):
                continue
            version = above[-1]
            while version.version > wanted.version:
                try:
                    state = self._table.version(version.key, version.etag).state
                except CorruptError:
                    break
                if state is None or state.parent is None:
                    break
                version = _past(state.parent)
            if version.key == wanted.key:
                self.known[wanted.key] = wanted
                chain.append(wanted)
                chain.sort(key=_number, reverse=True)
                return True
        return False


def _past(pointer: VersionPointer) -> PastVersion:
    return PastVersion(pointer.version, 0, pointer.key, pointer.etag, "", 0)


def _number(version: PastVersion) -> int:
    return version.version
