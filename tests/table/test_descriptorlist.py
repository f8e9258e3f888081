"""Lists of descriptors: no packfile is left out that may have the times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdb.errors import CorruptError
from sdb.packfile import prune
from sdb.packfile.predicate import Anywhere, Both, Compare, Instant, Nowhere
from sdb.packfile.sparseindex import SparseIndex, Summary, build_indices
from sdb.packfile.trailer import Block, Trailer
from sdb.table.descriptor import Descriptor
from sdb.table.descriptorlist import DescriptorList

if TYPE_CHECKING:
    from sdb.packfile.predicate import Predicate

spans = st.tuples(st.integers(0, 60), st.integers(0, 20))
# For each block of a packfile the times at `a`; None: the packfile has no index of it.
packfiles = st.lists(spans, min_size=1, max_size=3) | st.none()


def described(number: int, times: list[tuple[int, int]] | None) -> Descriptor:
    blocks = [{("b",): (number, number)} for _ in times or [()]]
    for block, (lo_us, more) in zip(blocks, times or (), strict=False):
        block["a",] = (lo_us, lo_us + more)
    count = len(blocks)
    summary = Summary((9,) * count, {}, complete=False)
    sparse = SparseIndex(count, indices=build_indices(blocks), summary=summary)
    placed = tuple(Block(100 * at, 2) for at in range(count))
    trailer = Trailer(1, 100 * count, "zion+zstd", 20, placed, sparse)
    return Descriptor(f"db/d/t/data/{number}.zion", '"e"', 1000, trailer)


def conditions(lo_us: int, hi_us: int) -> list[Predicate]:
    first, last = (Compare(("a",), op, Instant(us)) for op, us in ((">=", lo_us), ("<", hi_us)))
    text = Compare(("a",), "=", "text")
    return [first, last, Both((first, last)), text, Anywhere(), Nowhere()]


@given(st.lists(packfiles, max_size=12), st.integers(-5, 90), st.integers(-5, 90))
def test_nothing_is_left_out_that_its_trailer_does_not_rule_out(
    found: list[list[tuple[int, int]] | None], lo_us: int, hi_us: int
) -> None:
    made = [described(number, times) for number, times in enumerate(found)]
    listed = DescriptorList([one.struct() for one in made])
    assert len(listed) == len(made)
    for test in conditions(lo_us, hi_us):
        chosen = listed.chosen(test)
        for number, one in enumerate(made):
            if prune.blocks(test, one.trailer.sparse):
                assert number in chosen
    assert [listed[number] for number in range(len(made))] == [one.checked() for one in made]


def test_times_in_order_leave_few() -> None:
    listed = DescriptorList([described(at, [(10 * at, 9)]).struct() for at in range(100)])
    assert listed.chosen(conditions(500, 520)[2]) == [50, 51]


HARMS: dict[str, Any] = {
    "no trailer": lambda value: value.pop("trailer"),
    "an index of nothing": lambda value: value["trailer"]["sparse"].update(indices=[{}]),
    "a list that is none": lambda value: value["trailer"]["sparse"].update(indices=5),
    "times that are none": lambda value: value["trailer"]["sparse"]["indices"][0].update(
        ranges={"max": ["x", 1], "min": [[], 0]}
    ),
    "times that descend": lambda value: value["trailer"]["sparse"]["indices"][0].update(
        ranges={"max": [5, 1], "min": [50, 0]}
    ),
    "huge numbers": lambda value: value["trailer"]["sparse"]["indices"][0].update(
        ranges={"max": [2**62, 10**9, 2**62, 1], "min": [0, 0]}
    ),
    "a text": lambda value: value["trailer"].update(sparse="x"),
}


@pytest.mark.parametrize("harm", HARMS)
def test_what_is_malformed_is_never_left_out(harm: str) -> None:
    values: list[Any] = [described(at, [(10 * at, 9)]).struct() for at in range(3)]
    HARMS[harm](values[1])
    listed = DescriptorList(values)
    assert 1 in listed.chosen(conditions(0, 5)[2])
    if harm not in {"times that descend", "no trailer"}:
        with pytest.raises(CorruptError):
            listed[1]
