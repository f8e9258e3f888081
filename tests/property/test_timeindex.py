from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sdb.packfile.prune import prune
from sdb.packfile.prune.predicate import between
from sdb.packfile.trailer.sparseindex import SparseIndex, build_indices
from sdb.packfile.trailer.timeindex import TimeIndex, decode_steps, encode_steps

times = st.integers(-50, 50) | st.integers(-(10**17), 10**17)
spans = st.tuples(times, times).map(lambda pair: (min(pair), max(pair)))
blocks = st.lists(st.none() | spans, max_size=30)
PATH = ("ts",)


def build(ranges: list[tuple[int, int] | None]) -> TimeIndex:
    actual = build_indices({PATH: span} if span else {} for span in ranges)
    return actual.get(PATH, TimeIndex())


def assert_hides_nothing(index: TimeIndex, ranges: list[tuple[int, int] | None]) -> None:
    if index.is_empty:
        assert not any(ranges)
        return
    assert index.blocks == len(ranges)
    assert index.check(len(ranges))
    for block, span in enumerate(ranges):
        for time_us in span or ():
            assert index.start(time_us) <= block < index.end(time_us)
        if span:
            known = index.known_range(block)
            assert known is not None
            assert known[0] <= span[0]
            assert span[1] <= known[1]


@given(blocks)
def test_no_block_is_hidden(ranges: list[tuple[int, int] | None]) -> None:
    assert_hides_nothing(build(ranges), ranges)


@given(blocks, blocks, st.data())
def test_no_block_is_hidden_after_trim_and_append(
    first: list[tuple[int, int] | None],
    second: list[tuple[int, int] | None],
    data: st.DataObject,
) -> None:
    start = data.draw(st.integers(0, len(second)))
    stop = data.draw(st.integers(start, len(second)))
    index, other = build(first), build(second)
    if other.is_empty:
        return
    part = other.trim(start, stop)
    assert_hides_nothing(part, second[start:stop] if stop > start else [])
    if not index.is_empty:
        index.append_part(other, start, stop)
        index.push_empty(len(first) + stop - start - index.blocks)
        assert_hides_nothing(index, first + second[start:stop])


@given(st.lists(spans, min_size=1, max_size=10), spans)
def test_no_block_is_hidden_after_widening_the_last(
    ranges: list[tuple[int, int]], wider: tuple[int, int]
) -> None:
    index = build(list(ranges))
    index.extend_last(*wider)
    last = (min(ranges[-1][0], wider[0]), max(ranges[-1][1], wider[1]))
    assert_hides_nothing(index, [*ranges[:-1], last])


@given(blocks, spans)
def test_ranges_of_blocks_include_all_that_match(
    ranges: list[tuple[int, int] | None], wanted: tuple[int, int]
) -> None:
    index = build(ranges)
    sparse = SparseIndex(len(ranges), indices={PATH: index})
    actual = prune.blocks(between(PATH, *wanted), sparse)
    for block, span in enumerate(ranges):
        if span and span[0] < wanted[1] and wanted[0] <= span[1]:
            assert any(start <= block < stop for start, stop in actual)
    assert len(actual) <= 1
    everything = ((0, len(ranges)),) if ranges else ()
    assert prune.blocks(between(PATH, None, None), sparse) == everything
    assert prune.blocks(between(("other",), *wanted), sparse) == everything


@given(blocks)
def test_lists_round_trip(ranges: list[tuple[int, int] | None]) -> None:
    index = build(ranges)
    assert TimeIndex.decode(*index.encode()) == index


@given(st.lists(st.integers(-(2**62), 2**62)))
def test_steps_round_trip(values: list[int]) -> None:
    assert decode_steps(encode_steps(values)) == values
