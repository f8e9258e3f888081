"""The indirect tree: whatever moves into it, no list is skipped that has times of a range."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sdb.packfile.trailer.sparseindex import SparseIndex, Summary, build_indices
from sdb.packfile.trailer.trailer import Block, Trailer
from sdb.records import replace
from sdb.table.format import manifests
from sdb.table.format.descriptor import Descriptor
from sdb.table.format.manifests import IndirectTree, Writer

PATHS: list[tuple[str, ...]] = [("a",), ("b", "c")]
TIMES, NUMBERS = 1 << 6, 1 << 2
FULL = manifests.TARGET_BYTES


class Objects:
    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    def put(self, data: bytes) -> tuple[str, str, int | None]:
        key = f"db/d/t/indirect-{len(self.kept)}"
        self.kept[key] = data
        return key, '"x"', None

    def fetch(self, key: str, _: str) -> bytes:
        return self.kept[key]


# For each path the times of a packfile, and whether it has an index of them.
Times = dict[tuple[str, ...], tuple[tuple[int, int] | None, bool]]
one_path = st.tuples(st.none() | st.tuples(st.integers(0, 50), st.integers(0, 20)), st.booleans())
packfiles = st.fixed_dictionaries(dict.fromkeys(PATHS, one_path))


def made(number: int, times: Times, *, is_original: bool, is_told: bool) -> Descriptor:
    spans = {
        path: (lo, lo + more) for path, (time, _) in times.items() if time for lo, more in [time]
    }
    indexed = {path: span for path, span in spans.items() if is_original or times[path][1]}
    types = {path: TIMES if path in spans else NUMBERS for path in PATHS} if is_told else {}
    summary = None if is_original else Summary((10,), types, complete=is_told)
    sparse = SparseIndex(1, indices=build_indices([indexed]), summary=summary)
    trailer = Trailer(1, 900, "zion+zstd", 20, (Block(0, 2),), sparse)
    name = "packed-" if is_original else "data/"
    return Descriptor(f"db/d/t/{name}{number}.zion", '"e"', 1000, trailer)


@given(
    st.lists(
        st.tuples(
            st.lists(st.tuples(packfiles, st.booleans(), st.booleans()), min_size=1, max_size=3),
            st.booleans(),
        ),
        max_size=6,
    )
)
def test_no_list_with_times_is_skipped(
    moves: list[tuple[list[tuple[Times, bool, bool]], bool]],
) -> None:
    objects = Objects()
    writer = Writer(objects.fetch, objects.put)
    tree, known, number = IndirectTree(), dict[str, Times](), 0
    for move, is_full in moves:
        moved = []
        for times, is_original, is_told in move:
            item = made(number, times, is_original=is_original, is_told=is_told)
            known[item.key], number = times, number + 1
            moved.append(item)
        sizes = {ref.key: ref.size_bytes for ref in tree.refs}
        refs = tree.refs
        if is_full and refs:  # so that the next one begins a new list
            refs = (*refs[:-1], replace(refs[-1], size_bytes=FULL))
        tree, _ = replace(tree, refs=refs).appended(tuple(moved), len(moved), writer)
        refs = tuple(
            replace(ref, size_bytes=sizes.get(ref.key, ref.size_bytes)) for ref in tree.refs
        )
        tree = IndirectTree.from_struct(replace(tree, refs=refs).struct())
    for at, ref in enumerate(tree.refs):
        for item in writer.read(ref):
            for path, (span, _) in known[item.key].items():
                for us in range(span[0], sum(span) + 1) if span else ():
                    assert at in tree.spans(path, us, us + 1)
                    assert at in tree.spans(path, us, None)
                    assert at in tree.spans(path, None, us + 1)
