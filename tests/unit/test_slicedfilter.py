"""Filters in slices: they answer as whole ones do, and little of them is read for that."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdb.errors import CorruptError
from sdb.packfile.trailer.ribbon import RibbonFilter
from sdb.packfile.trailer.ribbonslices import SlicedFilter, encode_filter
from tests.amounts import usual


class Stored:
    """A filter as it is stored, and what is read of its slices."""

    def __init__(self, known: RibbonFilter) -> None:
        self.head, self.slices = encode_filter(known)
        self.blocks = len(known.sets)
        self.reads: list[int] = []

    def read(self, start: int, stop: int) -> bytes:
        self.reads.append(stop - start)
        return self.slices[start:stop]

    def filter(self) -> SlicedFilter:
        return SlicedFilter.decode(
            self.head,
            self.blocks,
            is_text=False,
            size_bytes=len(self.slices),
            read=self.read,
        )


def of(counts: list[int | None], *, planes: int = 8) -> RibbonFilter:
    """A filter of blocks with this many different numbers each; None: nothing is known of it."""
    starts = [sum(item or 0 for item in counts[:at]) for at in range(len(counts))]
    blocks = [
        None if count is None else range(start, start + count)
        for start, count in zip(starts, counts, strict=True)
    ]
    return RibbonFilter.of(blocks, is_text=False).with_planes(planes)


COUNTS = st.lists(st.none() | st.integers(0, 40) | st.integers(0, 20_000), max_size=12)


@settings(max_examples=usual(40))
@given(COUNTS, st.integers(1, 8), st.lists(st.integers(-9, 99_999), min_size=1, max_size=30))
def test_slices_answer_as_the_whole_does(
    counts: list[int | None], planes: int, values: list[int]
) -> None:
    """Whatever the sizes of the sets, for one value or many, and for values that it cannot have."""
    known = of(counts, planes=planes)
    asked = [*values, 0.5]
    assert [*Stored(known).filter().blocks_of_each(asked)] == [*known.blocks_of_each(asked)]
    for value in asked[:5]:
        assert Stored(known).filter().blocks(value) == known.blocks(value)
    assert Stored(known).filter().whole() == known


def test_a_question_reads_little() -> None:
    """Two slices of about 32 KiB; of many values all, once."""
    stored = Stored(of([10_000] * 100))
    assert len(stored.slices) > 900_000
    actual = stored.filter()
    assert actual.blocks(5)[0]
    assert stored.reads == [pytest.approx(64 << 10, rel=0.5)]
    assert any(actual.blocks(999_999))
    assert len([*actual.blocks_of_each(range(100))]) == 100
    assert next(actual.blocks_of_each(range(100, 200)))[0]
    assert len(stored.reads) == 3
    assert stored.reads[-1] == len(stored.slices)
    assert len(stored.head) < 6_000


def test_damaged_slices_tell_nothing() -> None:
    """Questions to the others get an answer."""
    stored = Stored(of([60_000, 60_000]))
    values = [*range(120_000, 120_050)]
    whole = stored.filter()
    reported = [whole.blocks(value) for value in values]
    assert sum(map(any, reported)) < 10
    data = bytearray(stored.slices)
    data[len(data) // 3] ^= 4
    stored.slices = bytes(data)
    damaged = stored.filter()
    actual = [damaged.blocks(value) for value in values]
    unknown = [item == (True, True) for item in actual]
    assert 0 < sum(unknown) < len(values)
    assert all(
        item == before or is_unknown
        for item, before, is_unknown in zip(actual, reported, unknown, strict=True)
    )
    assert [*damaged.blocks_of_each(values)] == [(True, True)] * len(values)
    with pytest.raises(CorruptError, match="a slice of a filter is damaged"):
        damaged.whole()
