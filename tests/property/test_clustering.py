"""Clustered packfiles have the same rows, sorted from block to block, and tell of them."""

from __future__ import annotations

import math
import random
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sdb
from sdb.errors import CorruptError, UsageError
from sdb.packfile.inspect.selectivity import sharpness
from sdb.packfile.read.reader import open_packfile
from sdb.packfile.rewrite import cluster
from sdb.packfile.rewrite.cluster import ClusteredInputs, clustered
from sdb.packfile.rewrite.cuts import choose_cuts, cluster_paths
from sdb.packfile.rewrite.rewrite import packed_like
from sdb.store.url import create_from_prefix
from tests.amounts import usual

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

ALIGN = 1 << 12
BLOCK = 4 * ALIGN
START = datetime(2020, 1, 1, tzinfo=UTC)
TIMES = st.integers(0, 10**14).map(lambda us: START + timedelta(microseconds=us))
KEYS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(1 << 63), (1 << 64) - 1),
    st.integers(-3, 3),
    st.floats(),
    st.text(max_size=6),
    st.sampled_from(("user-1", "user-2", "x" * 1030 + "a", "x" * 1030 + "b")),
    TIMES,
    st.lists(st.integers(-9, 9), max_size=2),
    st.fixed_dictionaries({"k": st.integers(0, 2)}),
)
ROWS = st.lists(
    st.fixed_dictionaries(
        {"pad": st.binary(min_size=40, max_size=90).map(bytes.hex)},
        optional={
            "k": KEYS,
            "j": KEYS,
            "deep": st.fixed_dictionaries({"k": KEYS}),
            "t": TIMES,
            "l": st.lists(st.one_of(st.none(), st.floats(), TIMES), max_size=3),
        },
    ),
    min_size=1,
    max_size=30,
)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "BLOCK_BYTES", BLOCK)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("clustered")


def packed(folder: Path, parts: Sequence[list[dict[str, Any]]], **options: Any) -> list[Path]:
    paths = [folder / f"{number}.zion" for number in range(len(parts))]
    for path, rows in zip(paths, parts, strict=True):
        sdb.pack(
            rows, path, align_bytes=ALIGN, block_bytes=BLOCK, overwrite=True, threads=1, **options
        )
    return paths


def cluster_to(paths: Sequence[Path], by: Sequence[str], output: Path) -> bool:
    with ExitStack() as stack:
        packs = [stack.enter_context(open_packfile(path)) for path in paths]
        actual = clustered(packs, cluster_paths(by), stack, threads=1)
        if actual is None:
            return False
        with create_from_prefix(packs[0].reader, 0, output, overwrite=True) as draft:
            actual.write(draft)
        return True


def repr_of(rows: Iterable[dict[str, Any]]) -> list[str]:
    """NaN is not equal to itself, and fields have no order."""
    return sorted(repr(sorted(row.items())) for row in rows)


def key_of(row: dict[str, Any], path: tuple[str, ...]) -> tuple[Any, ...]:
    """Return what a value is ordered by: the order that docs/tables.md tells."""
    value: Any = row
    for name in path:
        if not isinstance(value, dict) or name not in value:
            return (0,)
        value = value[name]
    match value:
        case None:
            return (1,)
        case bool():
            return 2, value
        case int() | float():
            return 3, math.isnan(value), 0 if math.isnan(value) else float(value)
        case datetime():
            return 4, value
        case str():
            return 5, value.encode("utf-8", "surrogatepass")[:1024]
        case _:
            return (6,)


@settings(
    max_examples=usual(40),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    parts=st.lists(st.tuples(ROWS, st.sampled_from((1, 5, 30))), min_size=1, max_size=4),
    by=st.sampled_from((["k"], ["deep.k"], ["k", "j"], ["t,k,deep.k,j"], ["nobody"])),
    constants=st.sampled_from((None, {"c": 7, "w": "x"})),
    algorithm=st.sampled_from(("zion+zstd", "zstd")),
)
def test_clustered_packfiles_have_the_same_rows(
    folder: Path,
    parts: list[tuple[list[dict[str, Any]], int]],
    by: list[str],
    constants: dict[str, Any] | None,
    algorithm: str,
) -> None:
    paths = packed(
        folder, [rows * times for rows, times in parts], constants=constants, algorithm=algorithm
    )
    output = folder / "clustered.zion"
    counts: list[int] = []

    def counted(*arguments: Any) -> Any:
        trailer, facts = packed_like(*arguments)
        counts.append(len(trailer.blocks))
        return trailer, facts

    with patch.object(cluster, "packed_like", counted):
        if not cluster_to(paths, by, output):
            return
    assert sdb.validate(output).ok
    rows = []
    for path in paths:
        with open_packfile(path) as old:
            rows += list(old)
    with open_packfile(output) as pack:
        assert repr_of(pack) == repr_of(rows)
        sparse = pack.trailer.sparse
        assert sparse.clustered == cluster_paths(by)
        assert sparse.constants == (constants or {})
        if len(sparse.clustered) == 1:
            numbers = iter(range(len(pack.blocks)))
            actual = [pack.rows(blocks=list(islice(numbers, count))) for count in counts]
            keys = [[key_of(row, sparse.clustered[0]) for row in part] for part in actual]
            assert all(max(item) < min(other) for item, other in pairwise(keys))


def test_rows_of_an_input_are_found(folder: Path) -> None:
    """Rows keep their order inside of a block, and inputs are told by runs."""
    dice = random.Random(3)
    parts = []
    for number in range(6):
        rows = "".join(
            f'{{"from": {number}, "at": {at}, "user": "u{dice.randrange(40)}", '
            f'"pad": "{dice.getrandbits(400):0100x}"}}\n'
            for at in range(200)
        )
        part = folder / f"in{number}.json"
        part.write_text(rows)
        parts.append(part)
    for name, some in (("a", parts[:3]), ("b", parts[3:])):
        options = {"align_bytes": ALIGN, "block_bytes": BLOCK, "overwrite": True}
        sdb.pack(some, folder / f"{name}.zion", **options)
    output = folder / "inputs.zion"
    assert cluster_to([folder / "a.zion", folder / "b.zion"], ["user"], output)
    with open_packfile(output) as pack:
        assert len(pack.blocks) > 3
        provenance = pack.trailer.sparse.provenance()
        assert provenance is not None
        assert provenance.complete
        rows = list(pack)
        counts: dict[str, int] = {}
        for origin in provenance.origins:
            mine = rows[origin.first : origin.first + origin.rows]
            assert {f"{folder}/in{row['from']}.json" for row in mine} == {origin.name}
            assert [row["at"] for row in mine] == sorted(row["at"] for row in mine)
            counts[origin.name] = counts.get(origin.name, 0) + origin.rows
        assert set(counts.values()) == {200}
        texts = [origin.text_bytes for origin in provenance.origins]
        assert sum(texts) == sum(path.stat().st_size for path in parts)


def test_too_many_inputs_are_not_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"k": number % 7, "pad": f"{number:0200}"} for number in range(400)]
    (path,) = packed(folder, [rows])
    monkeypatch.setattr("sdb.packfile.rewrite.cluster.MAX_INPUTS", 2)
    with ExitStack() as stack:
        pack = stack.enter_context(open_packfile(path))
        actual = clustered([pack], (("k",),), stack)
        assert actual is not None
        assert not actual.are_inputs_known
        assert actual.trailer.sparse.provenance() is None


def test_inputs_that_are_not_known_stay_so() -> None:
    inputs = ClusteredInputs([], 2)
    assert inputs.are_known
    assert inputs.encode() == b""


def test_statistics_become_sharp(folder: Path) -> None:
    dice = random.Random(5)
    rows = [
        {"user": f"user-{dice.randrange(500):04}", "ip": dice.randrange(1 << 32), "pad": "x" * 90}
        for _ in range(4000)
    ]
    (path,) = packed(folder, [rows])
    for by, most in ((["user"], 0.1), (["user", "ip"], 0.45)):
        output = folder / "sharp.zion"
        assert cluster_to([path], by, output)
        with open_packfile(path) as before, open_packfile(output) as after:
            assert len(after.blocks) > 10
            for name in by:
                reported = [
                    {item.name: item for item in sharpness([pack]).paths}
                    for pack in (before, after)
                ]
                assert reported[0][name].read > 0.6
                assert reported[1][name].read < most


def test_windows_of_time_stay_narrow_where_time_is_a_key(folder: Path) -> None:
    dice = random.Random(6)
    rows = [
        {"at": START + timedelta(seconds=n), "user": dice.randrange(999), "pad": "x" * 90}
        for n in range(6000)
    ]
    (path,) = packed(folder, [rows])
    read = {}
    for by in (["user"], ["user", "at"]):
        output = folder / "times.zion"
        assert cluster_to([path], by, output)
        with open_packfile(output) as pack:
            window = {
                "since": START + timedelta(seconds=3000),
                "until": START + timedelta(seconds=3060),
            }
            read[len(by)] = len(pack.select(**window).blocks) / len(pack.blocks)
            names = sorted(row["at"] for row in pack.rows(**window))
            assert names == [row["at"] for row in rows[3000:3060]]
    assert read[1] > 0.9
    assert read[2] < 0.35


def test_one_value_and_one_block_are_left_alone(folder: Path) -> None:
    (path,) = packed(folder, [[{"k": 1, "pad": f"{number:090}"} for number in range(900)]])
    assert not cluster_to([path], ["k"], folder / "none.zion")
    (path,) = packed(folder, [[{"k": number} for number in range(9)]])
    assert not cluster_to([path], ["k"], folder / "none.zion")


def test_other_rows_and_damage_are_noticed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"k": number, "pad": f"{number:0200}"} for number in range(400)]
    (path,) = packed(folder, [rows])
    good = cluster._Clustering._text
    with monkeypatch.context() as patched:
        patched.setattr(
            cluster._Clustering, "_text", lambda item, part: good(item, max(0, part - 1))
        )
        with pytest.raises(CorruptError, match="other rows"):
            cluster_to([path], ["k"], folder / "none.zion")
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 1
    path.write_bytes(data)
    with pytest.raises(CorruptError, match=r"0\.zion"):
        cluster_to([path], ["k"], folder / "none.zion")


def test_paths_that_are_none() -> None:
    assert cluster_paths(["a,b.c", ("d.e",)]) == (("a",), ("b", "c"), ("d.e",))
    for given_paths in ([""], [], ["a.."], ["a[].b"], ["a,b,c,d,e"]):
        with pytest.raises(UsageError):
            cluster_paths(given_paths)


@given(
    rows=st.lists(st.tuples(*2 * [st.binary(max_size=2)]), min_size=1, max_size=200),
    parts=st.integers(1, 20),
)
def test_cuts_part_all_rows(rows: list[tuple[bytes, bytes]], parts: int) -> None:
    actual = choose_cuts((("a",), ("b",)), rows, parts)
    assert 1 <= actual.parts <= parts
    assert len(actual.cuts) == actual.parts - 1
    met = set()
    for row in rows:
        at = 0 if actual.cuts else -1
        while at >= 0:
            path, least, below, above = actual.cuts[at]
            at = below if row[path] < least else above
        met.add(~at)
    assert met == set(range(actual.parts)), "no part is empty"
