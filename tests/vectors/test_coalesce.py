from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from sdb.packfile.build.indexbuilder import Range, Span, build_sparse, choose_paths, coalesce
from tests.conftest import json_lines

if TYPE_CHECKING:
    from pathlib import Path

CASES = json_lines("packfile/coalesce.jsonl")


def spans(case: dict[str, Any]) -> list[Span]:
    ranges = case["ranges"] or [[]] * len(case["chunks"])
    out = []
    offset = 0
    for chunks, chunk in zip(case["chunks"], ranges, strict=True):
        times: dict[tuple[str, ...], Range] = {
            tuple(entry["path"]): (entry["min_us"], entry["max_us"], 1) for entry in chunk
        }
        out.append(Span(offset, chunks, 1, times))
        offset += 100
    return out


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['chunks']}-{case['min']}")
def test_small_blocks_are_merged(case: dict[str, Any]) -> None:
    before = spans(case)
    after = coalesce(before, case["min"])
    assert [block.chunks for block in after] == case["out"]
    assert sum(block.rows for block in after) == len(before)
    assert {block.offset for block in after} <= {block.offset for block in before}
    sparse = build_sparse(after, choose_paths(before))
    indices = [
        {
            "path": list(path),
            "max": [list(pair) for pair in index.max],
            "min": [list(pair) for pair in index.min],
        }
        for path, index in sparse.indices.items()
    ]
    assert {"blocks": sparse.blocks, "consts": None, "indices": indices} == case["sparse"]


def test_the_vectors_are_there(vectors: Path) -> None:
    assert vectors
    assert len(CASES) == 66
