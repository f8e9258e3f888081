"""Deletion vectors: whatever bitmap a writer chooses, the rows are those that it means."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdb.delta.deletionvectors import DeletionVector, decoded, z85_decoded
from sdb.errors import CorruptError
from sdb.lake.access import LakeFolder
from tests.amounts import usual
from tests.lake.made import bitmap, z85

PLACES = st.one_of(
    st.integers(0, 200), st.integers(65_000, 66_200), st.integers(2**32 - 3, 2**32 + 9)
)


def test_the_example_of_the_protocol() -> None:
    text = "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L"
    vector = DeletionVector("i", text, None, 40, 6)
    assert vector.rows(LakeFolder("s3://mytable")).tolist() == [3, 4, 7, 11, 18, 29]


def test_the_name_of_a_file() -> None:
    vector = DeletionVector("u", "ab^-aqEH.-t@S}K{vb[*k^", 4, 40, 6)
    name = "deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"
    assert vector.location(LakeFolder("s3://mytable")) == f"s3://mytable/ab/{name}"
    assert vector.unique_id == "uab^-aqEH.-t@S}K{vb[*k^@4"


@settings(max_examples=usual(100), deadline=None)
@given(st.sets(PLACES, max_size=300), st.booleans())
def test_any_rows(positions: set[int], runs: bool) -> None:
    assert decoded(bitmap(positions, runs=runs)).tolist() == sorted(positions)


@pytest.mark.parametrize("runs", [False, True])
def test_many_rows(runs: bool) -> None:
    chosen = np.random.default_rng(7).choice(400_000, 90_000, replace=False)
    positions = np.sort(np.concatenate([chosen, np.arange(500_000, 650_000)]))
    assert np.array_equal(decoded(bitmap(positions.tolist(), runs=runs)), positions)


@settings(max_examples=usual(100), deadline=None)
@given(st.sets(PLACES, min_size=1, max_size=50), st.integers(0, 10**6), st.booleans())
def test_damage_is_an_error(positions: set[int], cut: int, runs: bool) -> None:
    data = bitmap(positions, runs=runs)
    data = data[: cut % len(data)]
    vector = DeletionVector("i", z85(data), None, len(data), len(positions))
    with pytest.raises(CorruptError, match="deletion vector is damaged"):
        vector.rows(LakeFolder("s3://mytable"))


@given(st.binary(max_size=40).filter(lambda data: len(data) % 4 == 0))
def test_text_form(data: bytes) -> None:
    assert z85_decoded(z85(data)) == data


@pytest.mark.parametrize("text", ["abc", "%%%%%", "abcd "])
def test_malformed_text(text: str) -> None:
    with pytest.raises(ValueError, match="malformed text"):
        z85_decoded(text)
