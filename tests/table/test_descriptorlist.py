"""Lists of descriptors: no packfile is left out that may have the times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sdb import ion
from sdb.errors import CorruptError, UnsupportedError
from sdb.packfile.prune import prune
from sdb.packfile.prune.predicate import Anywhere, Both, Compare, Instant, Nowhere
from sdb.packfile.trailer.sparseindex import SparseIndex, Summary, build_indices
from sdb.packfile.trailer.trailer import Block, Trailer
from sdb.records import replace
from sdb.table.format import codec
from sdb.table.format.columns import DescriptorList
from sdb.table.format.descriptor import FORMAT, Descriptor
from sdb.table.format.manifests import IndirectRef

if TYPE_CHECKING:
    from sdb.packfile.prune.predicate import Predicate

spans = st.tuples(st.integers(0, 60), st.integers(0, 20))
# For each block of a packfile the times at `a`; None: the packfile has no index of it.
packfiles = st.lists(spans, min_size=1, max_size=3) | st.none()


def listing(values: list[Any]) -> DescriptorList:
    data = codec.dumps({"contents": values}, ())
    return DescriptorList(data, IndirectRef("db/d/t/indirect-X", "", len(data), len(values), 0))


def numbers(intervals: prune.Intervals) -> list[int]:
    return [number for start, stop in intervals for number in range(start, stop)]


def described(
    number: int, times: list[tuple[int, int]] | None, constants: dict[str, object] | None = None
) -> Descriptor:
    blocks = [{("b",): (number, number)} for _ in times or [()]]
    for block, (lo_us, more) in zip(blocks, times or (), strict=False):
        block["a",] = (lo_us, lo_us + more)
    count = len(blocks)
    summary = Summary((9,) * count, {}, complete=False)
    indices = build_indices(blocks)
    sparse = SparseIndex(count, constants or {}, indices=indices, summary=summary)
    placed = tuple(Block(100 * at, 2) for at in range(count))
    trailer = Trailer(1, 100 * count, "zion+zstd", 20, placed, sparse)
    return Descriptor(f"db/d/t/data/{number}.zion", '"e"', 1000, trailer)


def conditions(lo_us: int, hi_us: int) -> list[Predicate]:
    first, last = (Compare(("a",), op, Instant(us)) for op, us in ((">=", lo_us), ("<", hi_us)))
    text = Compare(("a",), "=", "text")
    return [first, last, Both((first, last)), text, Anywhere(), Nowhere()]


@given(st.lists(packfiles, max_size=12), st.integers(-5, 90), st.integers(-5, 90))
def test_nothing_is_left_out_that_its_trailer_does_not_rule_out(
    items: list[list[tuple[int, int]] | None], lo_us: int, hi_us: int
) -> None:
    made = [described(number, times) for number, times in enumerate(items)]
    listed = listing([item.struct() for item in made])
    assert len(listed) == len(made)
    assert not listed.others
    for test in conditions(lo_us, hi_us):
        chosen = numbers(listed.chosen(test))
        for number, item in enumerate(made):
            if prune.blocks(test, item.trailer.sparse):
                assert number in chosen
    assert [listed[number] for number in range(len(made))] == [item.checked() for item in made]
    assert listed.keys() == [item.key for item in made]


def test_times_in_order_leave_few() -> None:
    listed = listing([described(at, [(10 * at, 9)]).struct() for at in range(100)])
    assert listed.chosen(conditions(500, 520)[2]) == ((50, 52),)


parts: list[dict[str, object] | None] = [
    None,
    {"p": "x"},
    {"p": "y"},
    {"p": 7, "q": True},
    {"a": ion.instant_from_us(20)},
]
tests = st.builds(
    Compare,
    st.sampled_from([("a",), ("p",), ("q",), ("p", "q")]),
    st.sampled_from(["=", "<>", "<", "<=", ">", ">="]),
    st.sampled_from([Instant(5), Instant(20), Instant(2**63), "x", 7, True, None]),
)


@given(st.lists(st.tuples(packfiles, st.sampled_from(parts)), max_size=12), tests)
def test_constants_decide_as_trailers_do(
    items: list[tuple[list[tuple[int, int]] | None, dict[str, object] | None]], test: Compare
) -> None:
    made = [described(number, *item) for number, item in enumerate(items)]
    listed = listing([item.struct() for item in made])
    bare = [SparseIndex(1, item.trailer.sparse.constants) for item in made]
    chosen = numbers(listed.chosen(test))
    for number, item in enumerate(made):
        if prune.blocks(test, item.trailer.sparse):
            assert number in chosen
        if not prune.blocks(test, bare[number]):
            assert number not in chosen


HARMS: dict[str, Any] = {
    "no trailer": lambda value: value.pop("trailer"),
    "an index of nothing": lambda value: value["trailer"]["sparse"].update(indices=[{}]),
    "a list that is a number": lambda value: value["trailer"]["sparse"].update(indices=5),
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
    listed = listing(values)
    assert 1 in numbers(listed.chosen(conditions(0, 5)[2]))
    if harm != "times that descend":
        assert listed.others == {1}
    if harm not in {"times that descend", "no trailer"}:
        with pytest.raises(CorruptError, match="reading db/d/t/indirect-X"):
            listed[1]


MOST = 2**63 - 1
TEXTS = ["", "x", "zstd", "..", "a/../b", FORMAT, ion.IonSymbol("x")]
scalars = st.sampled_from(
    [*range(-1, 10), 26, 27, 100, 1 << 62, MOST, *TEXTS, None, True, 1.5, b"", bytes(20)]
) | st.just(ion.instant_from_us(5))
anything = st.recursive(
    scalars,
    lambda inner: (
        # Members in the order in which a list keeps them, so that texts of errors are alike.
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from("abc"), inner, max_size=2).map(
            lambda struct: dict(sorted(struct.items()))
        )
    ),
    max_leaves=4,
)


def paths_in(value: object, above: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value))
    return [above, *(path for key, item in inner for path in paths_in(item, (*above, key)))]


def changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = value.copy()
    old = value.get(path[0]) if isinstance(value, dict) else value[path[0]]
    copy[path[0]] = changed(old, path[1:], new)
    return copy


WHOLE: Any = described(3, [(0, 5), (3, 9), (20, 1)], {"p": "x"}).struct()
WHOLE["last-modified"] = ion.instant_from_us(7)
OWN = ("trailer", "sparse", "sdb")
PATHS = paths_in(WHOLE) + [(*OWN, name) for name in ("digests", "level", "presence", "summary")]
PATHS += [
    ("original",),
    ("x",),
    ("trailer", "x"),
    ("trailer", "blocks"),
    ("trailer", "sparse", "x"),
]


@given(st.sampled_from(PATHS), anything)
@example((*OWN, "digests"), bytes(60))
@example((*OWN, "types"), 2 * [{"path": ["x"], "mask": 1}])
@example(("trailer", "blocks-delta", 1), 16)
@example((*OWN, "rows", 0), (2 << 20) + 1)
def test_columns_tell_what_whoever_reads_it_whole_finds(path: tuple[Any, ...], new: object) -> None:
    listed = listing([changed(WHOLE, path, new)])
    try:
        whole = listed[0]
    except (CorruptError, UnsupportedError):
        assert listed.others == {0}
        return
    assert whole == Descriptor.from_struct(changed(WHOLE, path, new)).checked()
    if not listed.others:
        trailer = whole.trailer
        assert (listed.key(0), listed.sizes[0]) == (whole.key, whole.size_bytes)
        assert (listed.blocks[0], listed.stored[0]) == (len(trailer.blocks), trailer.offset)
        assert listed.decompressed[0] == trailer.decompressed_bytes
        assert listed.rows[0] in {-1, whole.rows}


def test_a_summary_that_is_packed_counts_rows_too() -> None:
    first = described(0, [(0, 5), (3, 9)])
    types = {(f"f{number:02}",): 4 for number in range(40)}
    summary = Summary((9, 4), types, complete=True)
    sparse = replace(first.trailer.sparse, summary=summary)
    listed = listing([replace(first, trailer=replace(first.trailer, sparse=sparse)).struct()])
    assert listed.rows[0] == listed[0].rows == 13
