from __future__ import annotations

from typing import Any

import pytest

from sdb import _core, ion
from sdb.errors import CorruptError
from sdb.packfile.prune.predicate import between
from sdb.packfile.prune.prune import blocks
from sdb.packfile.trailer.sparseindex import SparseIndex, Summary, build_indices
from sdb.packfile.trailer.timeindex import UNBOUNDED, TimeIndex

TS = ("ts",)


MANY = {TS: 64, ("user",): 8192} | {("user", f"{n:02}"): 4 for n in range(14)}
FORMS = [Summary((3, 5), {TS: 64}, complete=True), Summary((3, 5), MANY, complete=False)]


def packed(*changes: tuple[int, object]) -> dict[str, Any]:
    names = ["ts", "user", "id", "x", "id"]
    value: list[object] = [True, [3, 2], [0, 0, 1, 0], [1, 1, 1, 2], names, [64, 8192, 4, 4]]
    for number, change in changes:
        value[number] = change
    return {"version": 1, "summary": _core.zstd_compress(ion.dumps(value))}


def summary(**changes: object) -> dict[str, Any]:
    return Summary((3, 5), {TS: 64}, complete=True).encode() | changes


def test_the_extension_is_stored_as_documented() -> None:
    assert summary() == {
        "version": 1,
        "rows": [3, 2],
        "types": [{"path": ["ts"], "mask": 64}],
        "complete": True,
    }
    stored = FORMS[1].encode()
    assert list(stored) == ["version", "summary"]
    blob = stored["summary"]
    assert isinstance(blob, bytes)
    assert ion.loads(_core.zstd_decompress(blob, 1 << 20)) == [
        False,
        [3, 2],
        [0, 0, *[1] * 14],
        [1] * 16,
        ["ts", "user", *(f"{n:02}" for n in range(14))],
        [64, 8192, *[4] * 14],
    ]
    nested = {TS: 64, ("user",): 8192, ("user", "id"): 4, ("x", "id"): 4}
    assert Summary.decode(packed()) == Summary((3, 5), nested, complete=True)
    for form in FORMS:
        assert Summary.decode(form.encode()) == form
    sparse = SparseIndex(
        2, {"a": 1}, {TS: TimeIndex([(1, 2)], [(0, 0)])}, Summary((3, 5), {}, True)
    )
    assert list(sparse.encode()) == ["blocks", "consts", "indices", "sdb"]
    assert SparseIndex.decode(ion.loads(ion.dumps(sparse.encode()))) == sparse
    assert "sdb" not in SparseIndex(0).encode()


@pytest.mark.parametrize(
    "value", [None, 1, [], {}, {"version": 2, "rows": "?"}, {"version": "1"}, {"rows": [1]}]
)
def test_what_is_not_our_summary_is_ignored(value: object) -> None:
    assert Summary.decode(value) is None


@pytest.mark.parametrize(
    "value",
    [
        summary(rows=None),
        summary(rows=[1, -2]),
        summary(rows=[2**62, 2**62]),
        summary(rows=[True]),
        summary(types=None),
        summary(types=[1]),
        summary(types=[{"path": ["a"]}]),
        summary(types=[{"path": [], "mask": 1}]),
        summary(types=[{"path": ["a"], "mask": 1 << 16}]),
        summary(types=[{"path": ["a"], "mask": -1}]),
        summary(summary=1),
        summary(summary=b"?"),
        summary(summary=_core.zstd_compress(ion.dumps([True]))),
        packed((0, 1)),
        packed((1, [1, -2])),
        packed((2, [0, 0, 2, 0])),
        packed((2, [1, 0, 1, 0])),
        packed((2, [0, 0, -1, 0])),
        packed((2, [0, 0, 1])),
        packed((3, [1, 1, 1, 3])),
        packed((3, [1, 1, 0, 2])),
        packed((3, [1, 1, 1, -1])),
        packed((4, ["ts", "user", "id"])),
        packed((4, ["ts", "ts", "id", "x", "id"])),
        packed((4, ["ts", 1, "id", "x", "id"])),
        packed((5, [64, 8192, 4, 1 << 16])),
        packed((5, [64, 8192, 4, None])),
        packed((2, [0] * 4097), (3, [1] * 4097), (5, [1] * 4097)),
    ],
)
def test_a_damaged_summary_is_refused(value: object) -> None:
    with pytest.raises(CorruptError):
        Summary.decode(value)


@pytest.mark.parametrize(
    "value",
    [
        [],
        {"blocks": "1"},
        {"consts": None},
        {"indices": {}},
        {"indices": [{}]},
        {"indices": [{"path": []}]},
        {"indices": [{"path": ["a"] * 65}]},
        {"indices": [{"path": [1]}]},
        {"indices": [{"path": ["a"], "ranges": 1}]},
        {"indices": [{"path": ["a"], "ranges": {"max": [1]}}]},
        {"indices": [{"path": ["a"], "ranges": {"max": [1, None]}}]},
        {"indices": [{"path": ["a"]}, {"path": ["a"]}]},
    ],
)
def test_a_damaged_index_is_refused(value: object) -> None:
    with pytest.raises(CorruptError):
        SparseIndex.decode(value)


@pytest.mark.parametrize(
    ("upper", "lower", "verdict"),
    [
        ([(9, 4)], [(0, 0), (1, 2)], "sound"),
        ([(9, 4)], [(0, 0), (1, 9)], "sound"),
        ([(9, 1), (30, 2)], [(0, 0), (1, 1), (2, 2), (20, 1)], "damaged"),
        ([(9, 1), (30, 4)], [(0, 0), (1, 1), (2, 1)], "damaged"),
        ([(9, 1)], [(0, 0), (1, 1)], "damaged"),
        ([(9, 1)], [(0, 0)], "corrupt"),
        ([(9, 5)], [(0, 0)], "corrupt"),
        ([(9, 4), (9, 5)], [(0, 0)], "corrupt"),
        ([(9, 4), (8, 5)], [(0, 0)], "corrupt"),
        ([(8, 4), (9, 4)], [(0, 0)], "corrupt"),
        ([(8, -1), (9, 4)], [(0, 0)], "corrupt"),
        ([(9, 4)], [(0, -1)], "corrupt"),
        ([(9, 4)], [(0, 0), (0, 1)], "corrupt"),
        ([], [(0, 0)], "unknown"),
        ([(9, 4)], [], "unknown"),
        ([], [], "unknown"),
    ],
)
def test_order_is_checked(
    upper: list[tuple[int, int]], lower: list[tuple[int, int]], verdict: str
) -> None:
    sparse = SparseIndex(4, indices={TS: TimeIndex(upper, lower)})
    if verdict == "corrupt":
        with pytest.raises(CorruptError, match="the time index of ts"):
            sparse.check(4)
        return
    checked = sparse.check(4)
    assert (TS in checked.indices, TS in checked.distrusted) == (
        verdict == "sound",
        verdict == "damaged",
    )
    if verdict != "sound":
        assert blocks(between(TS, 100, 200), checked) == ((0, 4),)


def test_counts_must_agree() -> None:
    with pytest.raises(CorruptError):
        SparseIndex(3).check(4)
    with pytest.raises(CorruptError):
        SparseIndex(4, summary=Summary((1,), {}, complete=True)).check(4)


def test_an_index_that_starts_late_covers_all_blocks() -> None:
    indices = build_indices([{}, {TS: (5, 6)}, {}, {("b",): (1, 1), TS: (9, 9)}])
    assert [index.blocks for index in indices.values()] == [4, 4]
    assert list(indices) == [("b",), TS]
    assert (indices[TS].start(7), indices[TS].end(8)) == (3, 3)
    assert TimeIndex().end(0) == UNBOUNDED
