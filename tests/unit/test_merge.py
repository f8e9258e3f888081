from __future__ import annotations

from sdb.packfile.build.indexbuilder import (
    MAX_INDICES,
    PackedParts,
    Range,
    Span,
    build_index,
    choose_paths,
    gather,
    join,
)
from sdb.packfile.trailer.sparseindex import MAX_SUMMARY_PATHS, Path, Summary

TS = ("ts",)


def span(
    chunks: int, rows: int = 9, *, offset: int = 0, complete: bool = True, **ranges: Range
) -> Span:
    times: dict[Path, Range] = {(name,): actual for name, actual in ranges.items()}
    return Span(offset, chunks, rows, times, complete)


def test_parts_fill_blocks() -> None:
    parts = [span(16, offset=n * 100) for n in range(7)]
    blocks = gather(parts, 50)
    assert [(block.offset, block.chunks, block.rows) for block in blocks] == [
        (0, 64, 36),
        (400, 48, 27),
    ]
    assert [block.chunks for block in gather([span(1), span(3)], 1)] == [1, 3]


def test_one_third_in_one_block_indexes_every_block() -> None:
    parts = [span(1, ts=(5, 9, 3)), span(1, ts=(2, 20, 1)), span(1), span(1, u=(1, 1, 2))]
    blocks, sparse = build_index(
        PackedParts(parts, {TS: 64}, types_complete=True), align_bytes=1, block_bytes=1
    )
    assert list(sparse.indices) == [TS]
    assert [sparse.indices[TS].known_range(n) for n in range(4)] == [
        (2, 9),
        (2, 20),
        (2, 20),
        (2, 20),
    ]
    assert len(blocks) == 4
    assert sparse.summary == Summary((9, 9, 9, 9), {TS: 64}, complete=True)


def test_a_field_can_be_insisted_on_and_a_constant_is_never_indexed() -> None:
    blocks = [span(1, 90, rare=(1, 2, 1), day=(3, 3, 90), none=(0, 0, 1))]
    assert choose_paths(blocks) == [("day",)]
    assert choose_paths(blocks, time_fields=[("rare",), ("absent",)], constants=["day"]) == [
        ("rare",)
    ]


def test_what_a_part_may_have_overlooked_is_not_indexed() -> None:
    full, partial = span(1, ts=(1, 2, 9)), span(1, complete=False, u=(1, 2, 9))
    assert choose_paths([full, partial]) == [("u",)]
    joined = join([full, partial])
    assert (list(joined.ranges), joined.complete) == ([("u",)], False)
    both = join([span(1, ts=(1, 2, 9), complete=False), span(1, ts=(0, 1, 1), complete=False)])
    assert both.ranges == {TS: (0, 2, 10)}


def test_the_number_of_indexes_is_bounded() -> None:
    ranges: dict[str, Range] = {f"f{n:04}": (0, 0, 100 + n) for n in range(1000)}
    paths = choose_paths(
        [Span(0, 1, 100, {(name,): ranges[name] for name in ranges})], time_fields=[("f0000",)]
    )
    assert len(paths) == MAX_INDICES + 1
    assert paths[0] == ("f0000",)
    assert paths[-1] == ("f0999",)


def test_the_summary_is_bounded_shallow_paths_first() -> None:
    types: dict[Path, int] = {("a", f"{n:05}"): 1 for n in range(5000)} | {("z",): 2}
    summary = Summary.bounded([1], types, complete=True)
    assert len(summary.types) == MAX_SUMMARY_PATHS
    assert ("z",) in summary.types
    assert not summary.complete
    assert list(summary.types) == sorted(summary.types)
    long = Summary.bounded([1], {("x" * (1 << 20),): 1, ("y",): 1}, complete=True)
    assert not long.complete
    assert Summary.decode(summary.encode()) == summary


def test_no_parts_no_blocks() -> None:
    blocks, sparse = build_index(
        PackedParts([], {}, types_complete=True), align_bytes=1, block_bytes=1
    )
    assert (blocks, sparse.blocks, sparse.indices) == ((), 0, {})
