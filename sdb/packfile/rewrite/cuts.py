"""Cuts: where rows part by the values that they have at some paths, each part about as large.

A cut parts rows by their value at one path, and its two sides are cut again, by the next path in
turn. So with one path the parts follow each other in its order, and with several each part has a
range of the values of every path, as cells of a Z order have. Equal values are never parted by
their own path. The order of values of all types is that of ``rust/zion/src/index/partition.rs``.
"""

from __future__ import annotations

from sdb import _core
from sdb.errors import UsageError
from sdb.packfile.read.ahead import in_order
from sdb.packfile.trailer.extension import MAX_CLUSTERED
from sdb.packfile.trailer.fieldcounts import MAX_DEPTH
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sdb.packfile.read.reader import Packfile
    from sdb.packfile.trailer.sparseindex import Path

_BLOCKS = 64
_ROWS = 1 << 15
_CHUNKS = 8


def cluster_paths(names: Iterable[str | Sequence[str]]) -> tuple[Path, ...]:
    """Read the paths that rows shall be clustered by.

    * ``names``: Texts like ``actor.id``, with commas between several, or sequences of names.

    Raises `UsageError` without a path, for too many, for an invalid one, and for one that leads
    through a list.

    >>> cluster_paths(["actor.id,type"])
    (('actor', 'id'), ('type',))
    """
    paths: list[Path] = []
    for entry in names:
        listed = entry.split(",") if isinstance(entry, str) else [entry]
        paths += [tuple(path.split(".") if isinstance(path, str) else path) for path in listed]
    for path in paths:
        if not 0 < len(path) <= MAX_DEPTH or not all(path):
            raise UsageError(
                f"invalid path to cluster by: {'.'.join(path)!r}", hint="as in actor.id"
            )
        if any(name.endswith("[]") for name in path):
            message = f"{'.'.join(path)} leads through a list: a row has no single value there"
            raise UsageError(message)
    unique = tuple(dict.fromkeys(paths))
    if not 0 < len(unique) <= MAX_CLUSTERED:
        raise UsageError(
            f"invalid clustering: expected 1 to {MAX_CLUSTERED} paths, got {len(unique)}"
        )
    return unique


@record
class Cuts:
    """Where rows part."""

    paths: tuple[Path, ...]  # the paths whose values decide
    # For each cut the number of its path, the least key of the side above, and what follows below
    # and above: the number of a cut, or the complement of that of a part
    cuts: tuple[tuple[int, bytes, int, int], ...]
    parts: int  # number of parts, numbered in the order of their rows

    def scatter(self) -> _core.RowPartitioner:
        """Return what takes blocks apart."""
        return _core.RowPartitioner(self.paths, self.cuts, self.parts)


def choose_cuts(paths: tuple[Path, ...], rows: Sequence[tuple[bytes, ...]], parts: int) -> Cuts:
    """Choose cuts by some of the rows.

    * ``rows``: The keys of some rows at these paths, see `_core.sample_keys`.
    * ``parts``: How many parts there shall be; where many rows have the same values there are
      fewer.

    >>> choose_cuts((("a",),), [(b"x",), (b"y",)], 2).cuts
    ((0, b'y', -1, -2),)
    """
    chooser = _Chooser(len(paths))
    chooser.part(list(rows), parts, 0)
    return Cuts(paths, tuple(chooser.cuts), chooser.parts)


class _Chooser:
    def __init__(self, paths: int) -> None:
        self._paths = paths
        self.cuts: list[tuple[int, bytes, int, int]] = []
        self.parts = 0

    def part(self, rows: list[tuple[bytes, ...]], parts: int, turn: int) -> int:
        """Part rows, and return the number of the cut, or the complement of that of the part."""
        cut = self._place(rows, parts, turn) if parts > 1 else None
        if cut is None:
            self.parts += 1
            return ~(self.parts - 1)
        path, ordered, at = cut
        least = ordered[at][path]
        below_parts = min(max(1, round(parts * at / len(ordered))), parts - 1)
        number = len(self.cuts)
        self.cuts.append((path, least, 0, 0))
        below = self.part(ordered[:at], below_parts, path + 1)
        above = self.part(ordered[at:], parts - below_parts, path + 1)
        self.cuts[number] = path, least, below, above
        return number

    def _place(
        self, rows: list[tuple[bytes, ...]], parts: int, turn: int
    ) -> tuple[int, list[tuple[bytes, ...]], int] | None:
        """Find the path in turn at which rows differ, and where to cut them in its order."""
        for at in range(self._paths):
            path = (turn + at) % self._paths
            ordered = sorted(rows, key=lambda row: row[path])
            cut = _nearest([row[path] for row in ordered], len(ordered) * (parts // 2) / parts)
            if cut is not None:
                return path, ordered, cut
        return None


def _nearest(keys: list[bytes], wanted: float) -> int | None:
    """Find the place nearest to the wanted one where a key differs from the one before it."""
    places = (at for at in range(1, len(keys)) if keys[at] != keys[at - 1])
    return min(places, key=lambda at: abs(at - wanted), default=None)


def sampled_cuts(packs: Sequence[Packfile], paths: tuple[Path, ...], part_bytes: int) -> Cuts:
    """Choose cuts by some of the rows of packfiles.

    * ``packs``: The packfiles, open; all have row counts. At most 64 blocks
      are read.
    * ``part_bytes``: Size that the rows of a part shall have, decompressed.

    Raises `CorruptError` if a block is damaged.
    """
    places = [(pack, number) for pack in packs for number in range(len(pack.blocks))]
    count = min(len(places), _BLOCKS)
    chosen = [places[at * len(places) // count] for at in range(count)]
    rows: list[tuple[bytes, ...]] = []
    seen = size_bytes = 0
    step = max(1, sum(map(_rows, places)) * count // max(1, len(places)) // _ROWS)
    is_remote = any(pack.is_remote for pack in packs)
    blocks = in_order(lambda at: at[0].read_block(at[1]), chosen, is_remote=is_remote)
    for (pack, number), block in zip(chosen, blocks, strict=True):
        trailer = pack.trailer
        chunk_step = max(1, trailer.blocks[number].chunks // _CHUNKS)
        keys, sampled, sampled_bytes = _core.sample_keys(
            block,
            trailer.algorithm,
            trailer.align_bytes,
            paths,
            chunk_step,
            max(1, step // chunk_step),
        )
        rows += zip(*[iter(keys)] * len(paths), strict=True)
        seen += sampled
        size_bytes += sampled_bytes
    whole = size_bytes * sum(map(_rows, places)) / max(1, seen)
    return choose_cuts(paths, rows, max(1, round(whole / part_bytes)))


def _rows(block: tuple[Packfile, int]) -> int:
    summary = block[0].trailer.sparse.summary
    return summary.rows[block[1]] if summary is not None else 0
