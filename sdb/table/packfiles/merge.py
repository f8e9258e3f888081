"""Merged packfiles: one that has the rows of several, in their order or sorted."""

from __future__ import annotations

from contextlib import ExitStack, closing

from sdb.errors import CorruptError
from sdb.progress import silent
from sdb.records import record
from sdb.table.format.keys import TableKeys, new_uid
from sdb.table.packfiles.lazy import OpenObjects, whole_packfile
from sdb.table.packfiles.store import store_grown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import TypeAlias

    from sdb.packfile.trailer.sparseindex import Path, SparseIndex
    from sdb.packfile.trailer.trailer import Trailer
    from sdb.progress import Progress
    from sdb.table.catalog.root import TableRoot
    from sdb.table.format.descriptor import Descriptor

    BlockTimes: TypeAlias = dict[Path, list[tuple[int, int]]]


@record
class MergedPackfile:
    """A packfile that was made of others.

    Attributes
    ----------
    descriptor : Descriptor
        Its descriptor.
    copied_bytes : int
        Size of blocks that were taken over without being read.
    moved_bytes : int
        Size of those that were read, and stayed as they are.
    packed_bytes : int
        Size of those whose rows were packed again.
    are_inputs_known : bool
        False if it could not tell any more which inputs rows came from, as its parts did.
    times : tuple
        Of a clustered one, the times of the blocks of its parts, and of its own, by path.
    """

    descriptor: Descriptor
    copied_bytes: int = 0
    moved_bytes: int = 0
    packed_bytes: int = 0
    are_inputs_known: bool = True
    times: tuple[BlockTimes, BlockTimes] | None = None


def merged_packfile(
    root: TableRoot,
    keys: TableKeys,
    parts: Sequence[Descriptor],
    *,
    threads: int | None = None,
    progress: Progress = silent,
) -> MergedPackfile:
    """Make one packfile of several, of which no index tells yet.

    Parameters
    ----------
    root : TableRoot
        The root that the table is below.
    keys : TableKeys
        Its names.
    parts : sequence of Descriptor
        The packfiles.
    threads : int, optional
        Threads that compress; one for each processor if not given.
    progress : Progress
        Told how many bytes of the new one were written.

    Returns
    -------
    MergedPackfile
        The packfile. It has a name that nothing had before.

    Raises
    ------
    CorruptError
        A packfile is missing or damaged, or the new one has not the same rows.
    """
    from sdb.packfile.rewrite.merge import joined

    objects = OpenObjects(len(parts))
    with ExitStack() as stack:
        stack.enter_context(closing(objects))
        packs = [whole_packfile(root, told, objects) for told in parts]
        found = joined(packs, stack, threads=threads)
        trailer = found.trailer
        _check_rows(parts, trailer)
        done = 0

        def watch(size: int) -> None:
            nonlocal done
            done += size
            progress(done, trailer.offset)

        descriptor = store_grown(
            root,
            keys,
            parts,
            trailer,
            (packs[0].reader, found.kept_bytes),
            lambda draft: found.write(draft, watch),
            mark=new_uid(),
        )
    return MergedPackfile(descriptor, found.copied_bytes, found.moved_bytes, found.packed_bytes)


def clustered_packfile(
    root: TableRoot,
    keys: TableKeys,
    parts: Sequence[Descriptor],
    by: tuple[Path, ...],
    *,
    threads: int | None = None,
    progress: Progress = silent,
) -> MergedPackfile | None:
    """Make one packfile of one or several, sorted by the values at some paths.

    Parameters
    ----------
    root : TableRoot
        The root that the table is below.
    keys : TableKeys
        Its names.
    parts : sequence of Descriptor
        The packfiles.
    by : tuple of path
        The paths.
    threads : int, optional
        Threads that compress; one for each processor if not given.
    progress : Progress
        Told how many bytes of the packfiles were done.

    Returns
    -------
    MergedPackfile or None
        The packfile, as of :func:`merged_packfile`; None: there is nothing to sort.

    Raises
    ------
    CorruptError
        A packfile is missing or damaged, or the new one has not the same rows.
    """
    from sdb.packfile.rewrite.cluster import clustered

    objects = OpenObjects(len(parts))
    total = sum(one.trailer.offset for one in parts)
    done = 0

    def watch(size: int) -> None:
        nonlocal done
        done += size
        progress(done, total)

    with ExitStack() as stack:
        stack.enter_context(closing(objects))
        packs = [whole_packfile(root, told, objects) for told in parts]
        found = clustered(packs, by, stack, threads=threads, watch=watch)
        if found is None:
            return None
        _check_rows(parts, found.trailer)
        beginning = packs[0].reader, 0
        mark = new_uid()
        descriptor = store_grown(
            root, keys, parts, found.trailer, beginning, found.write, mark=mark
        )
        before = block_times([pack.trailer for pack in packs])
    return MergedPackfile(
        descriptor,
        packed_bytes=found.trailer.offset,
        are_inputs_known=found.are_inputs_known,
        times=(before, block_times([found.trailer])),
    )


def made_packfile(
    root: TableRoot,
    keys: TableKeys,
    parts: Sequence[Descriptor],
    by: tuple[Path, ...],
    *,
    threads: int | None = None,
    progress: Progress = silent,
) -> MergedPackfile | None:
    """Make the packfile that compaction puts in the place of others.

    Parameters
    ----------
    root, keys, parts, threads, progress
        See :func:`merged_packfile`.
    by : tuple of path
        What it is sorted by; none: it is not.

    Returns
    -------
    MergedPackfile or None
        The packfile, in the order of its parts where there is nothing to sort; None: it is that
        single part.

    Raises
    ------
    CorruptError
        See :func:`merged_packfile`.
    """
    found = None
    if by:
        found = clustered_packfile(root, keys, parts, by, threads=threads, progress=progress)
    if found is None and len(parts) > 1:
        found = merged_packfile(root, keys, parts, threads=threads, progress=progress)
    return found


def merge_here(
    root: TableRoot,
    keys: TableKeys,
    runs: Sequence[Sequence[Descriptor]],
    by: tuple[Path, ...],
    *,
    progress: Progress = silent,
) -> Iterator[MergedPackfile | None]:
    """Make the packfiles of a compaction, one after the other.

    Parameters
    ----------
    root, keys, by
        See :func:`made_packfile`.
    runs : sequence of sequence of Descriptor
        For each packfile those that it is made of.
    progress : Progress
        Told how many bytes of packfiles were taken over.

    Yields
    ------
    MergedPackfile or None
        That of each run, see :func:`made_packfile`.
    """
    sizes = [sum(one.size_bytes for one in run) for run in runs]
    done = 0
    for run, whole in zip(runs, sizes, strict=True):

        def told(size: int, of: int | None, done: int = done, whole: int = whole) -> None:
            progress(done + whole * size // max(1, of or whole), sum(sizes))

        yield made_packfile(root, keys, run, by, progress=told)
        done += whole


def block_times(trailers: Sequence[Trailer]) -> BlockTimes:
    """Give first and last time of each block, by path, at paths that all trailers index."""
    paths = set.intersection(*(set(one.sparse.indices) for one in trailers))
    return {
        path: [found for one in trailers for found in _times(one.sparse, path) if found is not None]
        for path in paths
    }


def _times(sparse: SparseIndex, path: Path) -> Iterator[tuple[int, int] | None]:
    """Give the times of blocks as queries know them: by zones where rows are sorted by them."""
    statistics = sparse.statistics() if path in sparse.clustered else None
    zones = None if statistics is None else statistics.zone(path)
    for number in range(sparse.blocks):
        zone = None if zones is None else zones[number]
        known = sparse.indices[path].known_range(number)
        yield known if zone is None else zone.times


def _check_rows(parts: Sequence[Descriptor], trailer: Trailer) -> None:
    expected = sum(one.rows or 0 for one in parts)
    if trailer.rows != expected:
        message = f"{trailer.rows or 0:,} rows, and the index says {expected:,}"
        raise CorruptError(f"{parts[0].key} and others: {message}", path=parts[0].key)
