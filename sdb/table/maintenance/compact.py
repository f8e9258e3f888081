"""Compaction: small packfiles of a table become larger ones, in a version with the same rows.

Those of a table that is clustered are sorted as well. Nothing is deleted: versions before it keep
the old packfiles until they expire.
"""

from __future__ import annotations

from contextlib import closing

from sdb.errors import NotFoundError
from sdb.packfile.prune.unknownfields import tell
from sdb.packfile.rewrite.cuts import cluster_paths
from sdb.packfile.trailer.fieldcounts import field_name
from sdb.progress import silent
from sdb.records import record
from sdb.table.catalog.handle import open_table, time_path
from sdb.table.commit.change import TableChange
from sdb.table.commit.commit import check_writable, commit
from sdb.table.commit.environment import REAL
from sdb.table.definition.cache import read_definition
from sdb.table.format.keys import TableKeys
from sdb.table.maintenance.sizetiers import is_ours, runs_to_cluster, runs_to_merge
from sdb.table.packfiles.knownfields import telling_trailers
from sdb.table.packfiles.lazy import OpenObjects, TablePackfile
from sdb.table.packfiles.merge import merge_here
from sdb.table.packfiles.timeoverlap import TimeShares, time_shares

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Protocol

    from sdb.packfile.trailer.sparseindex import Path
    from sdb.progress import Progress
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot
    from sdb.table.commit.environment import Surroundings
    from sdb.table.format.descriptor import Descriptor
    from sdb.table.format.index import TableIndex
    from sdb.table.format.manifests import IndirectRef
    from sdb.table.packfiles.merge import MergedPackfile

    class Merging(Protocol):
        """A function that makes a packfile of each of some runs, see `merge_here`."""

        def __call__(
            self,
            root: TableRoot,
            keys: TableKeys,
            runs: Sequence[Sequence[Descriptor]],
            by: tuple[Path, ...],
            *,
            progress: Progress,
        ) -> Iterable[MergedPackfile | None]:
            """Merge packfiles, or sort them."""


COMPACT = "compact"


@record
class CompactedRun:
    """Packfiles that became one.

    Attributes
    ----------
    parts : tuple of str
        Their keys, in their order.
    key : str
        The new packfile; empty: it was not made.
    rows : int
        Number of rows.
    input_bytes, output_bytes : int
        Size before and after.
    copied_bytes, moved_bytes, packed_bytes : int
        Size of blocks that were copied without being read, of those that were read and stayed as
        they are, and of those whose rows were packed again.
    is_sorted : bool
        Whether it is clustered.
    are_inputs_known : bool
        False if it cannot tell any more which inputs rows came from, as its parts did.
    """

    parts: tuple[str, ...]
    key: str
    rows: int
    input_bytes: int
    output_bytes: int
    copied_bytes: int
    moved_bytes: int
    packed_bytes: int
    is_sorted: bool = False
    are_inputs_known: bool = True

    def as_dict(self) -> dict[str, object]:
        """Give it as plain values with stable names, for JSON."""
        return {
            "packfiles": list(self.parts),
            "packfile": self.key or None,
            "rows": self.rows,
            "input_bytes": self.input_bytes,
            "output_bytes": self.output_bytes,
            "copied_bytes": self.copied_bytes,
            "moved_bytes": self.moved_bytes,
            "packed_bytes": self.packed_bytes,
            "clustered": self.is_sorted,
            "inputs_known": self.are_inputs_known,
        }


@record
class Compacted:
    """The result of a compaction.

    Attributes
    ----------
    version : int or None
        The version that it made; None: there was nothing to do, or nothing was to be done.
    runs : tuple of CompactedRun
        What was merged, or would have been.
    packfiles : int
        Number of packfiles of the table before.
    foreign : int
        How many of them were left alone because another program has written them.
    cluster_by : tuple of path
        What packfiles are sorted by; none: they are not.
    times : TimeShares or None
        How many blocks of what was sorted a moment in time is in, before and after.
    """

    version: int | None
    runs: tuple[CompactedRun, ...]
    packfiles: int
    foreign: int
    cluster_by: tuple[Path, ...] = ()
    times: TimeShares | None = None

    @property
    def packfiles_after(self) -> int:
        """Number of packfiles afterwards."""
        return self.packfiles - sum(len(one.parts) - 1 for one in self.runs)

    def as_dict(self) -> dict[str, object]:
        """Give it as plain values with stable names, for JSON."""
        return {
            "version": self.version,
            "packfiles_before": self.packfiles,
            "packfiles_after": self.packfiles_after,
            "packfiles_of_other_programs": self.foreign,
            "cluster_by": [field_name(path) for path in self.cluster_by],
            "blocks_at_a_moment": None if self.times is None else self.times.as_dict(),
            "runs": [one.as_dict() for one in self.runs],
        }


def compact_table(  # noqa: PLR0913 - the command's options, by name
    root: TableRoot,
    database: str,
    table: str,
    *,
    cluster_by: Iterable[str | Sequence[str]] | None = None,
    dry_run: bool = False,
    author: str = "",
    message: str = "",
    around: Surroundings = REAL,
    merge: Merging = merge_here,
    progress: Progress = silent,
) -> Compacted:
    """Merge small packfiles of a table, and sort those of one that is clustered, in one version.

    Parameters
    ----------
    root : TableRoot
        The root that the table is below.
    database, table : str
        Its names.
    cluster_by : iterable of path, optional
        The paths whose values packfiles are sorted by, see
        :func:`sdb.packfile.rewrite.cuts.cluster_paths`; none: they are not. If not given, what the
        definition of the table says. A path that no row has is told.
    dry_run : bool
        Whether only to tell what would be merged.
    author, message : str
        Who does it, and why; the version tells it.
    around : Surroundings
        The clock and the dice.
    merge : callable
        Makes packfiles; this program does if not given.
    progress : Progress
        Told how many bytes of packfiles were taken over.

    Returns
    -------
    Compacted
        What it came to. What others have replaced meanwhile is left out.

    Raises
    ------
    NotFoundError
        There is no such table.
    UsageError
        What it shall be clustered by are no paths.
    CorruptError
        A packfile is damaged, or the rows of a new one are not those of its parts. Nothing has
        changed.
    ConflictError, UncertainError
        See :func:`sdb.table.commit.commit.commit`.
    """
    keys = TableKeys(database, table)
    if not dry_run:
        check_writable(root)
    head = open_table(root, database, table)
    by = _clustered_by(root, keys, cluster_by)
    before = tuple(head.descriptors())
    _tell_absent(head, before, by)
    chosen = runs_to_cluster(before, by) if by else runs_to_merge(before)
    foreign = sum(not is_ours(one) for one in before)
    if dry_run or not chosen:
        runs = tuple(_planned(run) for run in chosen)
        return Compacted(None, runs, len(before), foreign, by)
    merged = zip(chosen, merge(root, keys, chosen, by, progress=progress), strict=True)
    found = [(run, one) for run, one in merged if one is not None]
    made = [(_done(run, one), one.descriptor) for run, one in found]
    compaction = _Compaction(head, made, (author, message))
    version = commit(root, keys, compaction.plan, around=around).version if made else None
    runs = compaction.fitting
    times = time_shares(time_path(head), [one.times for _, one in found if one.times is not None])
    return Compacted(version if runs else None, runs, len(before), foreign, by, times)


def _clustered_by(
    root: TableRoot, keys: TableKeys, given: Iterable[str | Sequence[str]] | None
) -> tuple[Path, ...]:
    """Tell what packfiles are sorted by: what is given, or what the definition says."""
    if given is None:
        try:
            given = read_definition(root, keys).cluster_by
        except NotFoundError:
            return ()
    listed = list(given)
    return cluster_paths(listed) if listed else ()


def _tell_absent(head: TableHandle, before: Sequence[Descriptor], by: Sequence[Path]) -> None:
    """Warn of paths to sort by that no row has."""
    if by:
        with closing(OpenObjects()) as objects:
            packs = [TablePackfile(head.root, one.checked(), objects) for one in before]
            tell(by, telling_trailers(packs, by), of=head.name)


class _Compaction:
    """Puts packfiles that were made in the place of their parts."""

    def __init__(
        self,
        head: TableHandle,
        made: list[tuple[CompactedRun, Descriptor]],
        told: tuple[str, str],
    ) -> None:
        self._made = made
        self._author, self._message = told
        self._handle = head
        state = head.state
        self._since_us = 0 if state is None else state.boundary_us
        self._lists: dict[str, frozenset[str]] = {}
        self.fitting: tuple[CompactedRun, ...] = ()

    def plan(self, index: TableIndex) -> TableChange | None:
        """Make the change of what still fits: all parts of a packfile are in the table."""
        there = {one.key for one in index.inline}.union(*map(self._listed, index.indirect.refs))
        fitting = [(run, one) for run, one in self._made if fits(run, there)]
        self.fitting = tuple(run for run, _ in fitting)
        if not fitting:
            return None
        return TableChange(
            COMPACT,
            tuple(one for _, one in fitting),
            frozenset(key for run, _ in fitting for key in run.parts if key in there),
            author=self._author,
            message=self._message,
            since_us=self._since_us,
        )

    def _listed(self, ref: IndirectRef) -> frozenset[str]:
        if ref.key not in self._lists:
            self._lists[ref.key] = frozenset(self._handle.many(ref).keys())
        return self._lists[ref.key]


def fits(run: CompactedRun, there: set[str]) -> bool:
    """Tell whether all parts of a packfile are still in the table."""
    return there.issuperset(run.parts)


def _planned(run: Sequence[Descriptor]) -> CompactedRun:
    size = sum(one.size_bytes for one in run)
    return CompactedRun(tuple(one.key for one in run), "", _rows(run), size, 0, 0, 0, 0)


def _done(run: Sequence[Descriptor], found: MergedPackfile) -> CompactedRun:
    return CompactedRun(
        tuple(one.key for one in run),
        found.descriptor.key,
        _rows(run),
        sum(one.size_bytes for one in run),
        found.descriptor.size_bytes,
        found.copied_bytes,
        found.moved_bytes,
        found.packed_bytes,
        found.times is not None,
        found.are_inputs_known,
    )


def _rows(run: Sequence[Descriptor]) -> int:
    return sum(one.rows or 0 for one in run)
