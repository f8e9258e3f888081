"""Identities of rows, as runs, against a list with one entry for each row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdb import _core, ion
from sdb.errors import CorruptError
from sdb.packfile.trailer import identities
from sdb.packfile.trailer.identities import RowIdentities, digest_of, joined

Plain = list[tuple[bytes, bytes, int]]


def plain(rows: RowIdentities) -> Plain:
    listed = []
    for source, first, count in zip(rows.source, rows.first, rows.count, strict=True):
        listed += [(*rows.sources[source], int(first) + number) for number in range(count)]
    return listed


def numbers(chosen: list[bool]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.flatnonzero(np.array(chosen, np.bool_)).astype(np.int64)


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=4),
    st.lists(st.lists(st.sampled_from(" .DC"), min_size=36, max_size=36), max_size=4),
)
def test_rows_are_known_again(sizes: list[int], edits: list[list[str]]) -> None:
    parts = [RowIdentities.whole(f"p{number}", size) for number, size in enumerate(sizes)]
    rows, listed = joined(parts), [row for part in parts for row in plain(part)]
    assert plain(rows) == listed
    for change, edit in enumerate(edits):
        cut = edit[: len(listed)]
        dropped, changed = (numbers([what == wanted for what in cut]) for wanted in "DC")
        rows = rows.edited(dropped, changed, f"c{change}")
        listed = [
            (packfile, digest_of(f"c{change}") if what == "C" else before, row)
            for what, (packfile, before, row) in zip(cut, listed, strict=True)
            if what != "D"
        ]
        assert plain(rows) == listed
        assert rows.rows == len(listed)
        if listed:
            decoded = RowIdentities.decode(rows.encode(), len(listed))
            assert plain(decoded) == listed


def test_runs_are_as_long_as_they_can_be() -> None:
    rows = RowIdentities.whole("p", 1_000_000)
    halves = [
        rows.edited(np.arange(500_000, 1_000_000), np.empty(0, np.int64), "c"),
        rows.edited(np.arange(500_000), np.empty(0, np.int64), "c"),
    ]
    assert joined(halves).first.tolist() == [0]
    assert len(joined(halves).source) == 1


def test_what_does_not_fit_is_not_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = RowIdentities.whole("p", 100).edited(
        np.arange(0, 100, 2, dtype=np.int64), np.empty(0, np.int64), "c"
    )
    assert rows.encode()
    monkeypatch.setattr(identities, "MAX_RUNS", 49)
    assert rows.encode() == b""


@pytest.mark.parametrize(
    "value",
    [
        5,
        [b"", 1],
        [bytes(19), bytes(24)],
        [bytes(20), bytes(23)],
        [bytes(20), np.array([1, 0, 5], "<i8").tobytes()],  # there is one source
        [bytes(20), np.array([0, -1, 5], "<i8").tobytes()],
        [bytes(20), np.array([0, 0, 6], "<i8").tobytes()],  # there are five rows
        [bytes(20), np.array([0, 0, 2**62], "<i8").tobytes()],
        [bytes(20), b""],
    ],
)
def test_what_makes_no_sense_is_refused(value: object) -> None:
    with pytest.raises(CorruptError, match="identities"):
        RowIdentities.decode(_core.zstd_compress(ion.dumps(value)), 5)
