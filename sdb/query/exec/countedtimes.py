"""Rows by time that metadata counts: of blocks all of whose rows are in one bucket.

Metadata tells how many rows a block has, and between which times they are; that each has a time
the number of those that have one tells. Blocks that more than one bucket has rows of are read.
"""

from __future__ import annotations

from collections import Counter
from functools import partial

from sdb.errors import CorruptError
from sdb.packfile.prune.prune import union
from sdb.packfile.read.ahead import in_order
from sdb.packfile.trailer.zonemap import TIMES
from sdb.query.analyze.types import TIME
from sdb.query.catalog.tablescan import TableScan
from sdb.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sdb.query.catalog.dataset import Dataset, ValuePath
    from sdb.query.catalog.tablescan import PackfileScan
    from sdb.query.plan.scans import Grain, HashAggregate, Predicate

_ORDERS = {"<": int.__lt__, "<=": int.__le__, ">": int.__gt__, ">=": int.__ge__}


def counted_times(groups: HashAggregate) -> tuple[Counter[int], Dataset]:
    """Count the rows of buckets as far as metadata tells.

    Returns: The rows of buckets by where these begin, and the blocks that have to be read.
    """
    scan, counts = groups.scan, Counter[int]()
    dataset = scan.dataset
    is_count = all(call == ("rows", None, None) for call in groups.calls)
    if len(groups.keys) != 1 or not is_count or scan.explode or not isinstance(dataset, TableScan):
        return counts, dataset
    lane, grain = groups.keys[0]
    level, path, _ = groups.lanes[lane]
    if level or grain is None or grain[0] != "us" or not dataset.is_pruned:
        return counts, dataset
    inside = [_in_buckets(part, path, grain, scan.predicate) for part in dataset.read]
    asked = [part for part, blocks in zip(dataset.read, inside, strict=True) if blocks]
    rows_of = in_order(partial(_rows_with_times, path=path), asked, is_remote=dataset.is_remote)
    left = []
    for part, blocks in zip(dataset.read, inside, strict=True):
        rows = next(rows_of) if blocks else None
        if rows is None:
            left.append(part)
            continue
        for number, bucket_us in blocks.items():
            counts[bucket_us] += rows[number]
        read = union((number, number + 1) for number in part.blocks if number not in blocks)
        left.append(replace(part, intervals=read))
    return counts, dataset.reduced(left) if counts else dataset


def _in_buckets(
    part: PackfileScan, path: ValuePath, grain: Grain, predicate: Predicate | None
) -> dict[int, int]:
    """Return the blocks whose times are all in one bucket and satisfy a predicate, with that."""
    index = part.pack.trailer.sparse.indices.get(path)  # type: ignore[arg-type]  # else absent
    _, every, start = grain
    blocks: dict[int, int] = {}
    if index is None:
        return blocks
    for number in part.blocks:
        bounds = index.known_range(number)
        if bounds is not None:
            bucket_us = bounds[0] - (bounds[0] - start) % every
            if bounds[1] < bucket_us + every and _is_true(predicate, path, bounds):
                blocks[number] = bucket_us
    return blocks


def _is_true(predicate: Predicate | None, path: ValuePath, bounds: tuple[int, int]) -> bool:
    """Return whether each time between bounds certainly satisfies a predicate."""
    match predicate:
        case None:
            return True
        case ("and", parts):
            return all(_is_true(part, path, bounds) for part in parts)
        case ("is", where, int() as types):
            return tuple(where) == path and bool(types & TIME)
        case ("cmp", where, str() as op, ("u", int() as us)) if op in _ORDERS:
            return tuple(where) == path and all(_ORDERS[op](bound, us) for bound in bounds)
        case _:
            return False


def _rows_with_times(part: PackfileScan, path: ValuePath) -> tuple[int, ...] | None:
    """Return the rows of each block of a packfile if all have a time; None: that is not known."""
    sparse = part.pack.whole_trailer().sparse
    try:
        presence = sparse.presence()
    except CorruptError:
        return None
    if presence is None or sparse.summary is None or path[0] in sparse.constants:
        return None
    rows: Any = sparse.summary.rows
    field = presence.fields.get(path)  # type: ignore[arg-type]  # else absent
    is_full = field is not None and field.types == TIMES and field.rows == sum(rows)
    return rows if is_full and len(rows) == part.pack.block_count else None
