"""Parts of a merge that both sides have changed: which belong together, and merged by row or not.

Rows are read and written before the commit, while nobody waits for a lock: a plan that needs rows
that are not merged yet raises, and is tried again with what came of it.
"""

from __future__ import annotations

from sdb.records import field, record
from sdb.table.format.keys import new_uid, original_key
from sdb.table.history.rowmerge import MergedRows, Overlap, merge_rows
from sdb.table.history.rowtrace import NotTracedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot
    from sdb.table.commit.environment import Environment
    from sdb.table.format.descriptor import Descriptor
    from sdb.table.format.keys import TableKeys
    from sdb.table.history.changes import Part


class RowsNeededError(Exception):
    """A plan needs rows that are not merged yet."""

    def __init__(self, overlaps: list[Overlap]) -> None:
        self.overlaps = overlaps


@record
class Clash:
    """Parts of both sides that change the same, each in its own way."""

    ours: list[Part] = field(default_factory=list)
    theirs: list[Part] = field(default_factory=list)

    @property
    def packfiles(self) -> set[str]:
        """Keys of packfiles that both have rewritten."""
        return _before(self.ours) & _before(self.theirs)

    @property
    def inputs(self) -> set[str]:
        """Inputs that both have taken."""
        taken, others = ({path for part in side for path in part.inputs} for side in self._sides)
        return taken & others

    @property
    def _sides(self) -> tuple[list[Part], list[Part]]:
        return self.ours, self.theirs

    def dropped_rows(self, strategy: str) -> int:
        """Count the rows in packfiles of the side that does not count."""
        losing = self.ours if strategy == "source" else self.theirs
        return sum(packfile.rows or 0 for part in losing for packfile in part.after.values())

    def overlap(self, base: dict[str, Descriptor], strategy: str) -> Overlap | None:
        """Return the packfiles whose rows have to be merged; None: it is about more than rows.

        * ``base``: Packfiles of the merge base, see :func:`packfiles_of_base`.
        """
        wanted = _before(self.ours) | _before(self.theirs)
        if self.inputs or not wanted <= base.keys():
            return None
        before = {key: base[key] for key in base if key in wanted}
        ours, theirs = (_now(side, before) for side in self._sides)
        return Overlap(tuple(before.values()), ours, theirs, strategy)


def packfiles_of_base(base: TableHandle, clashes: Sequence[Clash]) -> dict[str, Descriptor]:
    """Return the packfiles of the merge base that parts have rewritten, in their order, by key."""
    wanted = {key for clash in clashes for key in _before((*clash.ours, *clash.theirs))}
    if not wanted:
        return {}
    listed = ((original_key(packfile.key), packfile) for packfile in base.descriptors())
    return {key: packfile for key, packfile in listed if key in wanted}


def _before(parts: Iterable[Part]) -> set[str]:
    return {key for part in parts for key in part.before}


def _now(parts: Sequence[Part], before: dict[str, Descriptor]) -> tuple[Descriptor, ...]:
    """Return the packfiles that a side has in the place of those of the merge base."""
    gone = _before(parts)
    new = [packfile for part in parts for packfile in part.after.values()]
    return (*[packfile for key, packfile in before.items() if key not in gone], *new)


def clashes_of(ours: Sequence[Part], theirs: Sequence[Part]) -> list[Clash]:
    """Put the parts together that change the same, each in its own way."""
    clashes: list[Clash] = []
    for part in theirs:
        if part in ours:
            continue
        own = [own_part for own_part in ours if own_part.clashes(part)]
        if not own:
            continue
        joined = Clash(own, [part])
        apart = []
        for clash in clashes:
            if any(our_part is other for our_part in clash.ours for other in own):
                new = [
                    our_part
                    for our_part in clash.ours
                    if all(our_part is not other for other in joined.ours)
                ]
                joined = Clash([*joined.ours, *new], [*joined.theirs, *clash.theirs])
            else:
                apart.append(clash)
        clashes = [*apart, joined]
    return clashes


class RowMerges:
    """Merges by row of one merge, made once each."""

    def __init__(self, root: TableRoot, keys: TableKeys, env: Environment) -> None:
        self._root = root
        self._keys = keys
        self._env = env
        self._made: dict[object, MergedRows | None] = {}

    def of(self, overlaps: Sequence[Overlap | None]) -> list[MergedRows | None]:
        """Return the merged rows of packfiles; None where it is not known which rows are which.

        Raises `RowsNeededError` if some are not merged yet.
        """
        wanted = [overlap for overlap in overlaps if overlap is not None]
        if needed := [overlap for overlap in wanted if overlap.key not in self._made]:
            raise RowsNeededError(needed)
        return [None if overlap is None else self._made[overlap.key] for overlap in overlaps]

    def prepare(self, overlaps: Sequence[Overlap]) -> None:
        """Merge the rows of packfiles.

        Raises `CorruptError` if a packfile is missing or damaged.
        """
        for overlap in overlaps:
            mark = new_uid(self._env.random_bytes)
            try:
                self._made[overlap.key] = merge_rows(self._root, self._keys, overlap, mark)
            except NotTracedError:
                self._made[overlap.key] = None
