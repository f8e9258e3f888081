"""`append(pack(a), b)` has the rows of `pack(a + b)`, and an index that hides none of them."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sdb
from sdb import ion
from tests.amounts import usual

if TYPE_CHECKING:
    from pathlib import Path

Row = dict[str, Any]

ALIGN_BYTES = 512
BLOCK_BYTES = 8 * ALIGN_BYTES
ALGORITHMS = ("zion+zstd", "zion+iguana_v0", "zion+iguana_v0/specialized", "zstd")
PATHS = [("ts",), ("n", "t"), ("deep", "a", "t")]


def at(us: int) -> str:
    return f"2021-01-{1 + us % 28:02}T{us % 24:02}:00:00.{us % 10**6:06}Z"


# Field names that come and go, and the timestamps of which only some rows have any.
values = st.one_of(
    st.integers(-5, 300),
    st.text("abcé", max_size=12),
    st.builds(at, st.integers(0, 10**6)),
    st.none(),
    st.lists(st.builds(at, st.integers(0, 99)), max_size=3),
)
rows = st.fixed_dictionaries(
    {},
    optional={
        "ts": st.one_of(st.builds(at, st.integers(0, 10**6)), values),
        "n": st.fixed_dictionaries({}, optional={"t": values, "u": values}),
        "deep": st.builds(lambda t: {"a": {"t": t}}, values),
        "text": st.text(max_size=90),
        "s0": values,
        "s1": values,
        "s2": values,
    },
)


def write(path: Path, batch: list[Row]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in batch))
    return path


def stored(path: Path) -> list[Row]:
    with sdb.open(path) as pack:
        return list(pack.rows())


def assert_sound(path: Path) -> None:
    """Check every row against every index, and all the rest with the validator."""
    assert sdb.validate(path).findings == ()
    with sdb.open(path) as pack:
        for number in range(len(pack.blocks)):
            for row in pack.rows(blocks=[number]):
                for names, index in pack.time_indexes.items():
                    value: Any = row
                    for name in names:
                        value = value.get(name) if isinstance(value, dict) else None
                    us = ion.instant_to_us(value)
                    assert us is None or index.start(us) <= number < index.end(us)


quick = settings(
    max_examples=usual(40),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@quick
@given(
    st.lists(st.lists(rows, max_size=25), min_size=1, max_size=5),
    st.sampled_from(ALGORITHMS),
    st.integers(1, 12),
    st.sets(st.sampled_from(PATHS)),
)
def test_any_split(
    tmp_path: Path,
    batches: list[list[Row]],
    algorithm: str,
    block_chunks: int,
    time_fields: set[tuple[str, ...]],
) -> None:
    options: Any = {"block_bytes": block_chunks * ALIGN_BYTES, "threads": 1, "format": "json"}
    fields = sorted(time_fields)
    new = {"algorithm": algorithm, "align_bytes": ALIGN_BYTES, "overwrite": True}
    source, grown, whole = (tmp_path / name for name in ("x.json", "grown.zion", "whole.zion"))
    sdb.pack([write(source, batches[0])], grown, **new, **options, time_fields=fields)
    total = len(batches[0])
    for batch in batches[1:]:
        before = grown.read_bytes()
        result = sdb.append(grown, [write(source, batch)], **options)
        total += len(batch)
        assert (result.rows_added, result.rows_total) == (len(batch), total)
        assert result.output_bytes == grown.stat().st_size
        assert bool(batch) or grown.read_bytes() == before
    everything = [row for batch in batches for row in batch]
    sdb.pack([write(source, everything)], whole, **new, **options)
    assert stored(grown) == stored(whole)
    assert_sound(grown)
    with sdb.open(grown) as pack:
        assert pack.trailer.algorithm == algorithm
        assert pack.trailer.align_bytes == ALIGN_BYTES


def events(dice: random.Random, count: int, start: int) -> list[Row]:
    """Make rows of about 60 bytes whose times run back and forth, and whose names change."""
    return [
        {
            "ts": at((start + n) * 7919 + dice.randrange(5000)),
            "seq": start + n,
            f"k{(start + n) // 40}": "x" * dice.randrange(20),
            **({"n": {"t": at(start + n)}} if dice.random() < 0.1 else {}),
        }
        for n in range(count)
    ]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_rounds_of_rows_chunks_and_blocks(tmp_path: Path, algorithm: str) -> None:
    dice = random.Random(algorithm)
    source, grown = tmp_path / "x.json", tmp_path / "x.zion"
    expected = events(dice, 3, 0)
    options: Any = {"block_bytes": BLOCK_BYTES, "threads": 1}
    sdb.pack(
        [write(source, expected)], grown, algorithm=algorithm, align_bytes=ALIGN_BYTES, **options
    )
    for number in range(24):
        batch = events(dice, (1, 8, 1, 70)[number % 4], len(expected))
        sdb.append(grown, [write(source, batch)], **options)
        expected += batch
    actual = stored(grown)
    assert [row["seq"] for row in actual] == list(range(len(expected)))
    assert [sorted(row) for row in actual] == [sorted(row) for row in expected]
    assert_sound(grown)
    with sdb.open(grown) as pack:
        assert pack.trailer.rows == len(expected)
        assert ("ts",) in pack.time_indexes
        chunks = [block.chunks for block in pack.blocks]
    assert min(chunks[:-1]) >= BLOCK_BYTES // ALIGN_BYTES // 2


@pytest.mark.parametrize("block_chunks", [1, 2, 3, 50])
def test_many_single_rows_make_neither_short_chunks_nor_short_blocks(
    tmp_path: Path, block_chunks: int
) -> None:
    source, grown, whole = (tmp_path / name for name in ("x.json", "grown.zion", "whole.zion"))
    options: Any = {"block_bytes": block_chunks * ALIGN_BYTES, "threads": 1}
    batch = [{"seq": n, "text": "y" * 40} for n in range(200)]
    sdb.pack([write(source, batch[:1])], grown, align_bytes=ALIGN_BYTES, **options)
    for row in batch[1:]:
        sdb.append(grown, [write(source, [row])], **options)
    sdb.pack([write(source, batch)], whole, align_bytes=ALIGN_BYTES, **options)
    assert stored(grown) == batch
    with sdb.open(grown) as ours, sdb.open(whole) as theirs:
        # At most the last chunk of a block is short, and only the last block has few chunks.
        assert ours.trailer.chunks <= theirs.trailer.chunks + len(ours.blocks)
        assert all(block.chunks >= min(2, block_chunks) for block in ours.blocks[:-1])
