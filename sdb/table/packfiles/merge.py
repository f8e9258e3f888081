"""Merged packfiles: one that has the rows of several, in their order or sorted."""

from __future__ import annotations

from contextlib import ExitStack, closing

from sdb.errors import CorruptError
from sdb.progress import silent
from sdb.records import record
from sdb.table.format.keys import TableKeys, new_uid
from sdb.table.packfiles.identities import with_joined
from sdb.table.packfiles.lazy import OpenObjects, whole_packfiles
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
    """A packfile that was made of others."""

    descriptor: Descriptor  # its descriptor
    copied_bytes: int = 0  # size of blocks that were taken over without being read
    moved_bytes: int = 0  # size of those that were read, and stayed as they are
    packed_bytes: int = 0  # size of those whose rows were packed again
    # False if it lost the provenance of rows that its parts had
    are_inputs_known: bool = True
    # Of a clustered one, the times of the blocks of its parts, and of its own, by path
    times: tuple[BlockTimes, BlockTimes] | None = None
    # Whether it says which rows of its parts its rows were
    are_rows_traced: bool = False


def merged_packfile(
    root: TableRoot,
    keys: TableKeys,
    parts: Sequence[Descriptor],
    *,
    threads: int | None = None,
    progress: Progress = silent,
) -> MergedPackfile:
    """Make one packfile of several, which no index has yet.

    * ``threads``: Threads that compress; one for each processor if not given.
    * ``progress``: Called with how many bytes of the new one were written.

    Raises `CorruptError` if a packfile is missing or damaged, or the new one has not the same rows.
    """
    from sdb.packfile.rewrite.merge import joined

    objects = OpenObjects(len(parts))
    with ExitStack() as stack:
        stack.enter_context(closing(objects))
        packs = whole_packfiles(root, parts, objects)
        merged = joined(packs, stack, threads=threads)
        sources = [(part.key, pack.trailer) for part, pack in zip(parts, packs, strict=True)]
        merged.trailer = trailer = with_joined(merged.trailer, sources)
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
            (packs[0].reader, merged.kept_bytes),
            lambda draft: merged.write(draft, watch),
            mark=new_uid(),
        )
    return MergedPackfile(
        descriptor,
        merged.copied_bytes,
        merged.moved_bytes,
        merged.packed_bytes,
        are_rows_traced=bool(trailer.sparse.stored_identities),
    )


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

    * ``threads``: Threads that compress; one for each processor if not given.
    * ``progress``: Called with how many bytes of the packfiles were done.

    Returns: The packfile, as of :func:`merged_packfile`; None: there is nothing to sort.
    Raises `CorruptError` if a packfile is missing or damaged, or the new one has not the same rows.
    """
    from sdb.packfile.rewrite.cluster import clustered

    objects = OpenObjects(len(parts))
    total = sum(part.trailer.offset for part in parts)
    done = 0

    def watch(size: int) -> None:
        nonlocal done
        done += size
        progress(done, total)

    with ExitStack() as stack:
        stack.enter_context(closing(objects))
        packs = whole_packfiles(root, parts, objects)
        result = clustered(packs, by, stack, threads=threads, watch=watch)
        if result is None:
            return None
        _check_rows(parts, result.trailer)
        beginning = packs[0].reader, 0
        mark = new_uid()
        descriptor = store_grown(
            root, keys, parts, result.trailer, beginning, result.write, mark=mark
        )
        before = block_times([pack.trailer for pack in packs])
    return MergedPackfile(
        descriptor,
        packed_bytes=result.trailer.offset,
        are_inputs_known=result.are_inputs_known,
        times=(before, block_times([result.trailer])),
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

    * ``root, keys, parts, threads, progress``: See :func:`merged_packfile`.
    * ``by``: What it is sorted by; none: it is not.

    Returns: The packfile, in the order of its parts where there is nothing to sort; None: it is
    that single part.
    Raises `CorruptError` as :func:`merged_packfile` does.
    """
    merged = None
    if by:
        merged = clustered_packfile(root, keys, parts, by, threads=threads, progress=progress)
    if merged is None and len(parts) > 1:
        merged = merged_packfile(root, keys, parts, threads=threads, progress=progress)
    return merged


def merge_here(
    root: TableRoot,
    keys: TableKeys,
    runs: Sequence[Sequence[Descriptor]],
    by: tuple[Path, ...],
    *,
    threads: int | None = None,
    progress: Progress = silent,
) -> Iterator[MergedPackfile | None]:
    """Make the packfiles of a compaction, one after the other.

    * ``root, keys, by, threads``: See :func:`made_packfile`.
    * ``runs``: For each packfile those that it is made of.
    * ``progress``: Called with how many bytes of packfiles were taken over.
    """
    sizes = [sum(part.size_bytes for part in run) for run in runs]
    done = 0
    for run, whole in zip(runs, sizes, strict=True):

        def report(size: int, of: int | None, done: int = done, whole: int = whole) -> None:
            progress(done + whole * size // max(1, of or whole), sum(sizes))

        yield made_packfile(root, keys, run, by, threads=threads, progress=report)
        done += whole


def block_times(trailers: Sequence[Trailer]) -> BlockTimes:
    """Return first and last time of each block, by path, at paths that all trailers index."""
    paths = set.intersection(*(set(trailer.sparse.indices) for trailer in trailers))
    return {
        path: [
            times
            for trailer in trailers
            for times in _times(trailer.sparse, path)
            if times is not None
        ]
        for path in paths
    }


def _times(sparse: SparseIndex, path: Path) -> Iterator[tuple[int, int] | None]:
    """Yield the times of blocks as queries know them: by zones where rows are sorted by them."""
    statistics = sparse.statistics() if path in sparse.clustered else None
    zones = None if statistics is None else statistics.zone(path)
    for number in range(sparse.blocks):
        zone = None if zones is None else zones[number]
        time_range = sparse.indices[path].known_range(number)
        yield time_range if zone is None else zone.times


def _check_rows(parts: Sequence[Descriptor], trailer: Trailer) -> None:
    expected = sum(part.rows or 0 for part in parts)
    if trailer.rows != expected:
        message = f"{trailer.rows or 0:,} rows, and the index says {expected:,}"
        raise CorruptError(f"{parts[0].key} and others: {message}", path=parts[0].key)
