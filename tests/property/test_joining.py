"""Joined packfiles have the rows of their parts, in order, and indexes that hold for them."""

from __future__ import annotations

from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import sdb
from sdb.errors import CorruptError
from sdb.packfile.read.reader import open_packfile
from sdb.packfile.rewrite import merge
from sdb.packfile.rewrite.merge import joined
from sdb.store.url import create_from_prefix
from tests.amounts import usual

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

ALIGN = 1 << 12
START = datetime(2020, 1, 1, tzinfo=UTC)
TIMES = st.integers(0, 10**14).map(lambda us: START + timedelta(microseconds=us))
ROWS = st.lists(
    st.fixed_dictionaries(
        {"n": st.integers(-5, 5)},
        optional={
            "t": TIMES,
            "u": st.one_of(TIMES, st.text(max_size=3)),
            "deep": st.fixed_dictionaries({"v": TIMES}),
            "s": st.text(max_size=200),
            "l": st.lists(st.one_of(st.none(), st.floats(allow_nan=True)), max_size=3),
        },
    ),
    min_size=1,
    max_size=60,
)


def packed(folder: Path, parts: Sequence[list[dict[str, Any]]], **options: Any) -> list[Path]:
    paths = [folder / f"{number}.zion" for number in range(len(parts))]
    for path, rows in zip(paths, parts, strict=True):
        sdb.pack(rows, path, align_bytes=ALIGN, overwrite=True, **options)
    return paths


def join_to(paths: Sequence[Path], output: Path) -> merge.JoinedPackfile:
    with ExitStack() as stack:
        packs = [stack.enter_context(open_packfile(path)) for path in paths]
        actual = joined(packs, stack)
        with create_from_prefix(
            packs[0].reader, actual.kept_bytes, output, overwrite=True
        ) as draft:
            actual.write(draft)
        return actual


def parts_of(paths: Sequence[Path]) -> Iterator[tuple[int, int]]:
    """Yield for each block how many rows there are up to its end, and its number of chunks."""
    end = 0
    for path in paths:
        with open_packfile(path) as pack:
            summary = pack.trailer.sparse.summary
            assert summary is not None
            for rows, block in zip(summary.rows, pack.blocks, strict=True):
                end += rows
                yield end, block.chunks


def spans(ends: Sequence[int]) -> list[range]:
    """Return where a block may end that is in one which ends there."""
    return [range(start + 1, end + 1) for start, end in pairwise((0, *ends))]


def repr_of(rows: Iterable[dict[str, Any]]) -> list[str]:
    """NaN is not equal to itself."""
    return [repr(sorted(row.items())) for row in rows]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("joined")


@settings(
    max_examples=usual(30),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@example(parts=[([{"n": 0}], 1)] * 5, block=ALIGN * 4, constants=None)
@given(
    parts=st.lists(st.tuples(ROWS, st.sampled_from((1, 30, 200))), min_size=1, max_size=6),
    block=st.sampled_from((ALIGN * 4, ALIGN * 20)),
    constants=st.sampled_from((None, {"k": 7, "w": "x"})),
)
def test_t_11_3_joined_packfiles_have_all_rows_and_times(
    folder: Path,
    parts: list[tuple[list[dict[str, Any]], int]],
    block: int,
    constants: dict[str, Any] | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The original loses the times of the second field when it joins packfiles."""
    monkeypatch.setattr(merge, "BLOCK_BYTES", block)
    reported = [rows * times for rows, times in parts]
    paths = packed(folder, reported, block_bytes=block, constants=constants)
    output = folder / "joined.zion"
    join_to(paths, output)
    assert sdb.validate(output).ok
    rows = []
    for path in paths:
        with open_packfile(path) as pack:
            rows += list(pack)
    with open_packfile(output) as pack:
        assert repr_of(pack) == repr_of(rows)
        assert pack.trailer.rows == len(rows)
        summary = pack.trailer.sparse.summary
        assert summary is not None
        ends = [*accumulate(summary.rows)]
    made_of = [[chunks for end, chunks in parts_of(paths) if end in span] for span in spans(ends)]
    least, full = max(2, block // (2 * ALIGN)), block // ALIGN
    for item, other in pairwise(made_of):
        if max(*item, *other) < least:
            assert sum(item) + other[0] > full, "short blocks side by side"
    with open_packfile(output) as pack:
        provenance = pack.trailer.sparse.provenance()
        if provenance is not None and provenance.complete:
            assert sum(item.rows for item in provenance.origins) == len(rows)


def test_blocks_that_are_full_are_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merge, "BLOCK_BYTES", ALIGN * 4)
    rows = [{"n": n, "s": f"{n:0400}"} for n in range(400)]
    paths = packed(folder, [rows, rows], block_bytes=ALIGN * 4)
    actual = join_to(paths, folder / "joined.zion")
    with open_packfile(paths[0]) as pack:
        full = [
            pack.trailer.block_range(n) for n, block in enumerate(pack.blocks) if block.chunks >= 2
        ]
    assert actual.copied_bytes >= 2 * sum(stop - start for start, stop in full) > 0
    assert actual.trailer.rows == 800


def test_other_rows_are_noticed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = packed(folder, [[{"n": 1}], [{"n": 2}]])
    good = merge.ion_text
    monkeypatch.setattr(merge, "ion_text", lambda item, blocks: good(item, blocks[:1]))
    with pytest.raises(CorruptError, match="other rows"):
        join_to(paths, folder / "joined.zion")


def test_damage_does_not_spread(folder: Path) -> None:
    paths = packed(folder, [[{"n": 1, "s": "x" * 99}], [{"n": 2}]])
    data = bytearray(paths[0].read_bytes())
    data[20] ^= 1
    paths[0].write_bytes(data)
    with pytest.raises(CorruptError, match=r"0\.zion"):
        join_to(paths, folder / "joined.zion")
