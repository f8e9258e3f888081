from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from sdb import ion
from sdb.ion import IonSymbol
from sdb.packfile.trailer.timeindex import TimeIndex
from tests.conftest import json_lines

if TYPE_CHECKING:
    from pathlib import Path

CASES = json_lines("packfile/timeindex.jsonl")


def build(operations: list[dict[str, Any]]) -> TimeIndex:
    index = TimeIndex()
    for step in operations:
        match step["op"]:
            case "push":
                index.push(step["a"], step["b"])
            case "empty":
                index.push_empty(step["n"])
            case "edit":
                index.extend_last(step["a"], step["b"])
            case "append":
                index.append(build(step["ops"]))
            case "append_blocks":
                index.append_part(build(step["ops"]), step["i"], step["j"])
            case "trim":
                index = index.trim(step["i"], step["j"])
            case other:
                pytest.fail(f"unknown operation {other}")
    return index


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_lists_answers_and_bytes(case: dict[str, Any]) -> None:
    index = build(case["ops"])
    expect = case["expect"]
    assert [list(pair) for pair in index.max] == expect["max"]
    assert [list(pair) for pair in index.min] == expect["min"]
    assert (index.blocks, index.left, index.right) == tuple(
        expect[key] for key in ("blocks", "left", "right")
    )
    for time_us, start, end, contains in expect["answers"]:
        got = (index.start(time_us), index.end(time_us), index.contains(time_us))
        assert got == (start, end, contains)
    for block, span in enumerate(case["true_blocks"] if not index.is_empty else []):
        known = index.known_range(block)
        assert span is None or (known and known[0] <= span[0] and span[1] <= known[1])
    upper, lower = index.encode()
    stream = ion.dumps([IonSymbol("max"), IonSymbol("min"), {"max": upper, "min": lower}])
    assert stream.endswith(bytes.fromhex(expect["ion"]))
    assert TimeIndex.decode(upper, lower) == index


def test_the_vectors_are_there(vectors: Path) -> None:
    assert vectors
    assert len(CASES) == 282
