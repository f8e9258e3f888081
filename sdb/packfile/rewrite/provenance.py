"""The inputs of a clustered packfile: rows of one input are in many places then."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

from sdb import notes
from sdb.errors import CorruptError
from sdb.packfile.trailer.provenance import MAX_INPUTS, MAX_NAMES_BYTES, Origin, Provenance
from sdb.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdb.packfile.trailer.sparseindex import SparseIndex


class ClusteredInputs:
    """Follows the rows of inputs to the parts of a packfile."""

    def __init__(self, sources: Sequence[SparseIndex], parts: int) -> None:
        self._parts: list[list[list[int]]] = [[] for _ in range(parts)]
        self._origins: list[Origin] = []
        self._places: list[list[tuple[int, int, int]]] = []
        self._complete = True
        self._runs = self._names_bytes = 0
        for sparse in sources:
            provenance = _provenance(sparse)
            self._complete = self._complete and provenance.complete
            places = []
            for origin in provenance.origins:
                places.append((origin.first, origin.first + origin.rows, len(self._origins)))
                self._origins.append(origin)
            self._places.append(places)
        self._was_known = self._complete and bool(self._origins)

    @property
    def are_known(self) -> bool:
        """False if the packfiles have complete provenance, and this one could not."""
        return not self._was_known or self._fit

    @property
    def _fit(self) -> bool:
        return self._runs <= MAX_INPUTS and self._names_bytes <= MAX_NAMES_BYTES

    def take(self, source: int, first: int, parts: bytes) -> int:
        """Follow the rows of a block."""
        import numpy as np

        numbers = np.frombuffer(parts, np.uint32)
        places = self._places[source]
        begin = max(0, bisect_right(places, first, key=lambda origin_at: origin_at[0]) - 1)
        for start, stop, origin in places[begin:]:
            if start >= first + len(numbers) or not self._fit:
                break
            mine = numbers[max(0, start - first) : max(0, stop - first)]
            counts = np.bincount(mine) if len(mine) else mine
            for part in np.flatnonzero(counts):
                self._add(int(part), origin, int(counts[part]))
        return len(numbers)

    def _add(self, part: int, origin: int, rows: int) -> None:
        runs = self._parts[part]
        if runs and runs[-1][0] == origin:
            runs[-1][1] += rows
            return
        runs.append([origin, rows])
        self._runs += 1
        self._names_bytes += len(self._origins[origin].name.encode())

    def encode(self) -> bytes:
        """Return the provenance as it is stored; nothing where it is not known or has no room.

        Rows of no known input would lie between those of others: then nothing is stored.
        """
        if not self._was_known or not self._fit:
            return b""
        empty = [
            replace(empty_origin, first=0)
            for empty_origin in self._origins
            if not empty_origin.rows
        ]
        runs = [run for part in self._parts for run in part]
        starts = accumulate((rows for _, rows in runs), initial=0)
        rows_before = [0] * len(self._origins)
        origins = []
        for (number, rows), first in zip(runs, starts, strict=False):
            origin = self._origins[number]
            before = origin.text_bytes * rows_before[number] // origin.rows
            rows_before[number] += rows
            text = origin.text_bytes * rows_before[number] // origin.rows - before
            origins.append(replace(origin, first=first, rows=rows, text_bytes=text))
        return Provenance((*empty, *origins), complete=True).encode()


def _provenance(sparse: SparseIndex) -> Provenance:
    try:
        provenance = sparse.provenance()
    except CorruptError as error:
        notes.tell(f"the inputs of some rows are left out: {error.message}")
        provenance = None
    return provenance or Provenance((), complete=not sparse.blocks)
