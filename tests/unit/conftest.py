from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from sdb.packfile.inspect.records import FileDescription, IndexDescription
from sdb.packfile.trailer.sparseindex import Path, SparseIndex, Summary
from sdb.packfile.trailer.timeindex import TimeIndex
from sdb.packfile.trailer.trailer import Block, Trailer

Spans = Sequence[tuple[int, int] | None]
Make = Callable[..., FileDescription]


def describe(
    times: dict[Path, Spans | TimeIndex],
    *,
    name: str = "x.zion",
    types: dict[Path, int] | None = None,
) -> FileDescription:
    indices = {}
    for path, spans in times.items():
        if isinstance(spans, TimeIndex):
            indices[path] = spans
            continue
        index = indices[path] = TimeIndex()
        for span in spans:
            index.push(*span) if span else index.push_empty()
    count = max((index.blocks for index in indices.values()), default=0)
    blocks = tuple(Block(at * 1000, 2) for at in range(count))
    summary = Summary((10,) * count, types, complete=True) if types else None
    sparse = SparseIndex(count, {"region": "<eu>"} if types else {}, indices, summary)
    trailer = Trailer(1, count * 1000, "zion+zstd", 20, blocks, sparse)
    indexes = tuple(
        IndexDescription(path, index.left, index.right, index.first_us, index.last_us, trusted=True)
        for path, index in indices.items()
    )
    size = count * 1000 + 100
    return FileDescription(name, f"file://{name}", "", size, trailer, indexes)


@pytest.fixture
def make() -> Make:
    """Makes the description of a file whose blocks span the given times."""
    return describe
