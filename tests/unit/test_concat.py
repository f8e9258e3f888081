from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sdb
from sdb.errors import CorruptError, ExistsError, UsageError
from sdb.packfile.rewrite.concat import join
from sdb.packfile.trailer.sparseindex import SparseIndex, Summary, build_indices, join_types
from sdb.packfile.trailer.timeindex import TimeIndex
from sdb.packfile.trailer.trailer import Block, Trailer
from tests.property.test_append import assert_sound, stored
from tests.unit.test_append import DAY, Folder, lines, times

if TYPE_CHECKING:
    from pathlib import Path

TS, U = ("ts",), ("u",)

spans = st.tuples(st.integers(-50, 50), st.integers(-50, 50)).map(lambda pair: tuple(sorted(pair)))
blocks = st.fixed_dictionaries({}, optional={TS: spans, U: spans})
files = st.lists(st.lists(blocks, max_size=6), min_size=1, max_size=5)


def trailer(ranges: list[dict[Any, Any]], *, complete: bool = True) -> Trailer:
    indices = build_indices(ranges)
    summary = Summary((3,) * len(ranges), dict.fromkeys(indices, 1 << 6), complete=complete)
    listed = tuple(Block(10 * number, 2) for number in range(len(ranges)))
    sparse = SparseIndex(len(ranges), {}, indices, summary)
    return Trailer(1, 10 * len(ranges), "zstd", 12, listed, sparse)


@given(files)
def test_indexes_hide_no_block(ranges: list[list[dict[Any, Any]]]) -> None:
    """Two paths (D7), some files without either of them."""
    joined = join([trailer(item) for item in ranges])
    flat = [block for item in ranges for block in item]
    assert joined.sparse.check(len(flat)) == joined.sparse
    assert joined.offset == 10 * len(flat)
    assert [block.offset for block in joined.blocks] == [10 * n for n in range(len(flat))]
    expected = build_indices(flat)
    assert list(joined.sparse.indices) == list(expected)
    for path, index in joined.sparse.indices.items():
        for number, block in enumerate(flat):
            for us in block.get(path, ()):
                assert index.start(us) <= number < index.end(us)
        assert (index.first_us, index.last_us) == (expected[path].first_us, expected[path].last_us)


def test_what_is_not_known_is_not_indexed() -> None:
    known, other = trailer([{TS: (1, 2)}]), trailer([{U: (3, 4)}])
    assert list(join([known, other]).sparse.indices) == [TS, U]
    partial = trailer([{U: (3, 4)}], complete=False)
    assert list(join([known, partial]).sparse.indices) == [U]
    foreign = replace(other, sparse=replace(other.sparse, summary=None))
    joined = join([known, foreign, known]).sparse
    assert (list(joined.indices), joined.summary) == ([U], None)


def test_joined_types_are_those_of_all_parts() -> None:
    a, b = {TS: 1, U: 2}, {TS: 4}
    for first, second in product([True, False], repeat=2):
        types, complete = join_types([(a, first), (b, second)])
        assert complete is (first and second)
        assert types == ({TS: 5, U: 2} if second else {TS: 5})
    assert join_types([]) == ({}, True)


def test_an_index_after_blocks_without_times() -> None:
    index = TimeIndex([(2, 1), (5, 2)], [(1, 0), (4, 1)])
    later = index.delayed(3)
    assert (later.max, later.min) == (((2, 4), (5, 5)), ((1, 0), (4, 4)))


def test_files(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    names = []
    for number, data in enumerate([times(1, 3), b"", times(9, 12, "u"), times(5, 7)]):
        names.append(folder.new(data, align_bytes=512).rename(tmp_path / f"{number}.zion"))
    result = sdb.concat(names, folder.pack)
    assert (result.inputs, result.rows_total) == (4, 7)
    assert result.output_bytes == folder.pack.stat().st_size
    assert stored(folder.pack) == [row for name in names for row in stored(name)]
    assert folder.indexed() == ["ts", "u"]
    with sdb.open(folder.pack) as pack:
        assert len(list(pack.rows(since=DAY.format(9), time_field="u"))) == 3
    assert folder.append(lines({"ts": DAY.format(30)})).rows_total == 8
    assert folder.indexed() == ["ts", "u"]


def test_output_may_be_an_input(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    other = folder.new(times(1, 3)).rename(tmp_path / "other.zion")
    folder.new(times(3, 9))
    with pytest.raises(ExistsError):
        sdb.concat([other, folder.pack], folder.pack)
    sdb.concat([other, folder.pack], folder.pack, overwrite=True)
    assert [row["day"] for row in stored(folder.pack)] == list(range(1, 9))
    assert_sound(folder.pack)


def test_what_does_not_fit(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    base = folder.new(times(1, 3)).rename(tmp_path / "base.zion")
    for options, message in [
        ({"algorithm": "zstd"}, "compression zstd, not zion"),
        ({"constants": {"x": 1}}, "constants {'x': 1}, not none"),
    ]:
        folder.new(times(1, 3), **options)
        with pytest.raises(UsageError, match=f"x.zion does not fit .*base.zion: {message}"):
            sdb.concat([base, folder.pack], tmp_path / "out.zion")
    fixed = folder.new(times(1, 3), algorithm="zstd").rename(tmp_path / "fixed.zion")
    folder.new(times(1, 3), algorithm="zstd", align_bytes=4096)
    with pytest.raises(UsageError, match="chunk size 4096, not 1048576"):
        sdb.concat([fixed, folder.pack], tmp_path / "out.zion")
    with pytest.raises(UsageError, match="no packfiles"):
        sdb.concat([], tmp_path / "out.zion")
    folder.pack.write_bytes(b"nonsense")
    with pytest.raises(CorruptError):
        sdb.concat([base, folder.pack], tmp_path / "out.zion")
    assert not (tmp_path / "out.zion").exists()
