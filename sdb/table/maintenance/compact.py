"""Compaction: small packfiles of a table become larger ones, in a version with the same rows.

Those of a table that is clustered are sorted as well. Nothing is deleted: versions before it keep
the old packfiles until they expire.
"""

from __future__ import annotations

from contextlib import closing

from sdb.errors import NotFoundError
from sdb.packfile.prune.unknownfields import warn_unknown
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
from sdb.table.format.state import RowCounts
from sdb.table.maintenance.sizetiers import is_ours, runs_to_cluster, runs_to_merge
from sdb.table.packfiles.ageunits import AgeUnits
from sdb.table.packfiles.knownfields import trailers_with_fields
from sdb.table.packfiles.lazy import OpenObjects, TablePackfile
from sdb.table.packfiles.merge import merge_here

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Protocol

    from sdb.packfile.trailer.sparseindex import Path
    from sdb.progress import Progress
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot
    from sdb.table.commit.environment import Environment
    from sdb.table.format.descriptor import Descriptor
    from sdb.table.format.index import TableIndex
    from sdb.table.format.manifests import IndirectRef
    from sdb.table.packfiles.merge import BlockTimes, MergedPackfile

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
        False if it lost the provenance of rows that its parts had.
    are_rows_traced : bool
        Whether it says which rows of its parts its rows were, as merges by row need.
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
    are_rows_traced: bool = True

    def as_dict(self) -> dict[str, object]:
        """Return it as plain values with stable names, for JSON."""
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
class TimeShares:
    """The share of blocks that a moment lies in, which clustering by other fields makes larger."""

    path: Path  # where the times are
    before: float  # the share before packfiles were sorted, on average over all of their time
    after: float  # that since

    def as_dict(self) -> dict[str, object]:
        """Return it as plain values with stable names, for JSON."""
        return {
            "path": field_name(self.path),
            "before": round(self.before, 4),
            "after": round(self.after, 4),
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
        return self.packfiles - sum(len(run.parts) - 1 for run in self.runs)

    def as_dict(self) -> dict[str, object]:
        """Return it as plain values with stable names, for JSON."""
        return {
            "version": self.version,
            "packfiles_before": self.packfiles,
            "packfiles_after": self.packfiles_after,
            "packfiles_of_other_programs": self.foreign,
            "cluster_by": [field_name(path) for path in self.cluster_by],
            "blocks_at_a_moment": None if self.times is None else self.times.as_dict(),
            "runs": [run.as_dict() for run in self.runs],
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
    env: Environment = REAL,
    most_bytes: int | None = None,
    merge: Merging = merge_here,
    progress: Progress = silent,
) -> Compacted:
    """Merge small packfiles of a table, and sort those of one that is clustered, in one version.

    * ``cluster_by``: The paths whose values packfiles are sorted by, see
      :func:`sdb.packfile.rewrite.cuts.cluster_paths`; none: they are not. If not given, what the
      definition of the table says. A path that no row has is reported.
    * ``author, message``: Recorded in the version.
    * ``most_bytes``: Of what is to be merged or sorted only so much is, at most; all if not given.
    * ``merge``: Makes packfiles; this program does if not given.
    * ``progress``: Called with how many bytes of packfiles were taken over.

    Returns: The packfiles that were made. Parts that another commit has replaced are left out.
    Raises `NotFoundError` if there is no such table. Raises `UsageError` if what it shall be
    clustered by are no paths. Raises `CorruptError` if a packfile is damaged, or the rows of a new
    one are not those of its parts. Nothing has changed. Raises `ConflictError` or `UncertainError`
    as :func:`sdb.table.commit.commit.commit` does.
    """
    keys = TableKeys(database, table)
    if not dry_run:
        check_writable(root)
    head = open_table(root, database, table)
    layout = layout_of(root, keys, cluster_by)
    by = layout.by
    before = tuple(head.descriptors())
    _warn_unknown_fields(head, before, by)
    chosen = runs_of(before, layout, env)
    chosen = _bounded(chosen, most_bytes)
    foreign = sum(not is_ours(descriptor) for descriptor in before)
    if dry_run or not chosen:
        runs = tuple(_planned(run) for run in chosen)
        return Compacted(None, runs, len(before), foreign, by)
    merged = zip(chosen, merge(root, keys, chosen, by, progress=progress), strict=True)
    results = [(run, result) for run, result in merged if result is not None]
    made = [(_done(run, result), result.descriptor) for run, result in results]
    compaction = _Compaction(head, made, (author, message))
    version = commit(root, keys, compaction.plan, env=env).version if made else None
    runs = compaction.fitting
    times = time_shares(
        time_path(head), [result.times for _, result in results if result.times is not None]
    )
    return Compacted(version if runs else None, runs, len(before), foreign, by, times)


def _bounded(
    runs: list[tuple[Descriptor, ...]], most_bytes: int | None
) -> list[tuple[Descriptor, ...]]:
    """Return the smallest of some runs, as many as are not too large together."""
    if most_bytes is None:
        return runs
    left, bounded = most_bytes, []
    for run in sorted(runs, key=run_bytes):
        left -= run_bytes(run)
        if left < 0:
            break
        bounded.append(run)
    return bounded


def run_bytes(run: Sequence[Descriptor]) -> int:
    """Return the size of packfiles that become one."""
    return sum(part.size_bytes for part in run)


def runs_of(
    packfiles: Sequence[Descriptor], layout: RowLayout, env: Environment = REAL
) -> list[tuple[Descriptor, ...]]:
    """Return for each packfile that a compaction makes those that it makes it of."""
    if layout.by:
        return runs_to_cluster(packfiles, layout.by, env.limits, layout.units)
    return runs_to_merge(packfiles, env.limits, layout.units)


@record
class RowLayout:
    """The way a compaction lays the rows of a table out."""

    by: tuple[Path, ...] = ()  # the paths that packfiles are sorted by; none: they are not
    units: AgeUnits | None = None  # units of time by which they are kept apart; None: they are not


def layout_of(
    root: TableRoot,
    keys: TableKeys,
    cluster_by: Iterable[str | Sequence[str]] | None = None,
) -> RowLayout:
    """Return the layout of a table: what is given, or what its definition says."""
    units = None
    try:
        definition = read_definition(root, keys)
    except NotFoundError:
        pass
    else:
        cluster_by = definition.cluster_by if cluster_by is None else cluster_by
        units = AgeUnits.of(definition.retention)
    listed = list(cluster_by or ())
    return RowLayout(cluster_paths(listed) if listed else (), units)


def _warn_unknown_fields(
    head: TableHandle, before: Sequence[Descriptor], by: Sequence[Path]
) -> None:
    """Warn of paths to sort by that no row has."""
    if by:
        with closing(OpenObjects()) as objects:
            packs = [
                TablePackfile(head.root, descriptor.checked(), objects) for descriptor in before
            ]
            warn_unknown(by, trailers_with_fields(packs, by), of=head.name)


class _Compaction:
    """Puts packfiles that were made in the place of their parts."""

    def __init__(
        self,
        head: TableHandle,
        made: list[tuple[CompactedRun, Descriptor]],
        authorship: tuple[str, str],
    ) -> None:
        self._made = made
        self._author, self._message = authorship
        self._handle = head
        state = head.state
        self._since_us = 0 if state is None else state.boundary_us
        self._lists: dict[str, frozenset[str]] = {}
        self.fitting: tuple[CompactedRun, ...] = ()

    def plan(self, index: TableIndex) -> TableChange | None:
        """Make the change of what still fits: all parts of a packfile are in the table."""
        present = {descriptor.key for descriptor in index.inline}.union(
            *map(self._listed, index.indirect.refs)
        )
        fitting = [(run, descriptor) for run, descriptor in self._made if fits(run, present)]
        self.fitting = tuple(run for run, _ in fitting)
        if not fitting:
            return None
        return TableChange(
            COMPACT,
            tuple(descriptor for _, descriptor in fitting),
            frozenset(key for run, _ in fitting for key in run.parts if key in present),
            author=self._author,
            message=self._message,
            since_us=self._since_us,
            counts=RowCounts(0, 0, 0),
            is_traced=all(run.are_rows_traced for run, _ in fitting),
        )

    def _listed(self, ref: IndirectRef) -> frozenset[str]:
        if ref.key not in self._lists:
            self._lists[ref.key] = frozenset(self._handle.many(ref).keys())
        return self._lists[ref.key]


def fits(run: CompactedRun, present: set[str]) -> bool:
    """Return whether all parts of a packfile are still in the table."""
    return present.issuperset(run.parts)


def _planned(run: Sequence[Descriptor]) -> CompactedRun:
    size = sum(part.size_bytes for part in run)
    return CompactedRun(tuple(part.key for part in run), "", _rows(run), size, 0, 0, 0, 0)


def _done(run: Sequence[Descriptor], merged: MergedPackfile) -> CompactedRun:
    return CompactedRun(
        tuple(part.key for part in run),
        merged.descriptor.key,
        _rows(run),
        sum(part.size_bytes for part in run),
        merged.descriptor.size_bytes,
        merged.copied_bytes,
        merged.moved_bytes,
        merged.packed_bytes,
        merged.times is not None,
        merged.are_inputs_known,
        merged.are_rows_traced,
    )


def _rows(run: Sequence[Descriptor]) -> int:
    return sum(part.rows or 0 for part in run)


def time_shares(
    path: Path | None, runs: Sequence[tuple[BlockTimes, BlockTimes]]
) -> TimeShares | None:
    """Compare the times of blocks before and after packfiles were sorted.

    * ``path``: Where the times are; None: where blocks were sharpest before.
    * ``runs``: For each packfile that was made the times of the blocks of its parts, and of its
      own.
    """
    sides = [side for run in runs for side in run]
    if not sides:
        return None
    paths = set().union(*sides) if path is None else {path}
    shares = [
        _share_at(path, runs) for path in sorted(paths) if all(side.get(path) for side in sides)
    ]
    return min(shares, key=lambda share: share.before, default=None)


def _share_at(path: Path, runs: Sequence[tuple[BlockTimes, BlockTimes]]) -> TimeShares:
    before, after = ([span for run in runs for span in run[side][path]] for side in (0, 1))
    spans = before + after
    whole_us = max(last for _, last in spans) - min(first for first, _ in spans)
    return TimeShares(path, _share(before, whole_us), _share(after, whole_us))


def _share(spans: Iterable[tuple[int, int]], whole_us: int) -> float:
    lengths = [last - first for first, last in spans]
    return sum(lengths) / (len(lengths) * whole_us) if whole_us else 1.0
