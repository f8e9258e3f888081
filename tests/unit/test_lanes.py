from __future__ import annotations

import json
import math
from datetime import UTC, datetime, timedelta
from itertools import starmap
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sdb
from sdb import _core
from sdb.errors import CorruptError, UnsupportedError, UsageError
from tests.amounts import usual
from tests.conftest import golden
from tests.unit.test_reader import make, rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sdb.packfile.read.reader import Packfile

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MISSING = object()
LETTERS = ["t", "n", "x", "s", "b", "u", "k", "j", "z", "l", "e"]
MIXED: list[dict[str, Any]] = [
    {"id": 1, "any": 1, "n": {"a": {"b": [{"c": 1}, None, {}]}}},
    {"id": None, "any": "é\n", "empty": {}, "n": {"a": None}},
    {"id": 3, "any": {"k": [None, 2.5]}, "f": 1, "list": [1, 2.5, -3], "n": None},
    {"any": None, "f": 0.25, "list": [], "t": "2021-01-01T00:00:00.5Z"},
    {"any": True, "list": [1, "x", None], "name": "x", "n": {"a": {"b": [{"d": "e"}]}}},
    {
        "any": False,
        "big": 2**64 - 1,
        "low": -(2**63),
        "list": [[], {}],
        "t": "2021-01-01T00:00:00Z",
    },
    {},
]


def sources(*packs: Packfile) -> list[Any]:
    def source(pack: Packfile) -> tuple[Any, ...]:
        trailer = pack.trailer
        chunks = [block.chunks for block in trailer.blocks]
        return (pack.read_block, chunks, trailer.algorithm, trailer.align_bytes, pack.blame)

    return [source(pack) for pack in packs]


def table(*packs: Packfile, lanes: list[Any], **more: Any) -> pa.Table:
    scan = _core.LaneScan(sources(*packs), lanes, **more)
    arrow = pa.table(scan)
    arrow.validate(full=True)
    assert arrow.schema == pa.schema(scan)
    assert _core.LaneScan(sources(*packs), lanes, **more).count() == len(arrow)
    return arrow


def columns(*packs: Packfile, lanes: list[Any], **more: Any) -> list[list[Any]]:
    return [column.to_pylist() for column in table(*packs, lanes=lanes, **more).columns]


def follow(value: Any, path: list[Any]) -> Any:
    for step in path:
        if (isinstance(step, str) and isinstance(value, dict) and step in value) or (
            isinstance(step, int) and isinstance(value, list) and step < len(value)
        ):
            value = value[step]
        else:
            return MISSING
    return value


def micros(value: datetime) -> int:
    return (value - EPOCH) // timedelta(microseconds=1)


def whole(value: Any) -> Any:
    """Make an integer of a float that is whole and fits: foreign files have some."""
    fits = isinstance(value, float) and value.is_integer() and abs(value) <= 2.0**64
    return int(value) if fits else value


def key(value: Any) -> str:
    match value := whole(value):
        case None:
            return "z"
        case bool():
            return f"b{value:d}"
        case int():
            return f"n{value}"
        case float():
            return f"f{pack_double(value)}"
        case datetime():
            return f"t{micros(value)}"
        case str():
            return f"s{value}"
        case list():
            return "[" + "".join(sized(key(item)) for item in value)
    members = sorted(value.items(), key=lambda member: member[0].encode())
    return "{" + "".join(sized(name) + sized(key(item)) for name, item in members)


def sized(text: str) -> str:
    return f"{len(text.encode())}:{text}"


def pack_double(value: float) -> str:
    import struct

    return struct.pack(">d", value).hex()


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


KINDS: list[tuple[type | tuple[type, ...], int]] = [
    (type(None), 1),
    (bool, 2),
    ((int, float), 4),
    (datetime, 8),
    (str, 16),
    (list, 32),
    (dict, 64),
]


def bit(value: Any) -> int:
    return next((bit for kind, bit in KINDS if isinstance(value, kind)), 0)


def shown(value: Any, letter: str) -> Any:
    """Return what a lane has to show of a value."""
    if letter == "t":
        return bit(value)
    if value is MISSING:
        return None
    shows = {
        "n": lambda: float(value) if is_number(value) else None,
        "x": lambda: whole(value) if key(value).startswith("n") else None,
        "s": lambda: value if isinstance(value, str) else None,
        "b": lambda: value if isinstance(value, bool) else None,
        "u": lambda: value.replace(tzinfo=None) if isinstance(value, datetime) else None,
        "k": lambda: key(value),
        "z": lambda: len(value) if isinstance(value, list | dict) else None,
        "l": lambda: (
            [float(item) for item in value]
            if isinstance(value, list) and all(map(is_number, value))
            else None
        ),
        "e": lambda: [key(item) for item in value] if isinstance(value, list) else None,
    }
    return shows[letter]()


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, datetime):
        text = value.replace(tzinfo=None).isoformat()
        return (text.rstrip("0") if value.microsecond else text) + "Z"
    return value


def same(expected: Any, letter: str, actual: Any) -> bool:
    if letter == "j" and isinstance(expected, dict) and "" in expected:
        # The JSON of rows has the number of the symbol in place of an empty name.
        return bool(actual)
    if letter == "j":
        return (expected is MISSING) == (actual is None) and (
            actual is None or json.loads(actual) == plain(expected)
        )
    return bool(shown(expected, letter) == actual)


def paths_of(value: Any, depth: int = 3) -> Iterator[tuple[Any, ...]]:
    yield ()
    if depth:
        items = value.items() if isinstance(value, dict) else ()
        items = enumerate(value[:3]) if isinstance(value, list) else items
        for step, item in items:
            for rest in paths_of(item, depth - 1):
                yield (step, *rest)


def check(pack: Packfile, values: list[Any]) -> None:
    """Compare all lanes of the paths that occur with what the reader of rows says."""
    paths = sorted({path for value in values for path in paths_of(value)}, key=repr)[:200]
    lanes = [(0, list(path), letter) for path in paths for letter in LETTERS]
    actual = columns(pack, lanes=lanes)
    for (_, path, letter), column in zip(lanes, actual, strict=True):
        for value, cell in zip(values, column, strict=True):
            assert same(follow(value, path), letter, cell), (path, letter, value, cell)


@pytest.fixture
def mixed(tmp_path: Path) -> Iterator[Packfile]:
    with sdb.open(make(tmp_path / "mixed.zion", MIXED)) as pack:
        yield pack


@pytest.fixture
def pack(tmp_path: Path) -> Iterator[Packfile]:
    with sdb.open(make(tmp_path / "a.zion", rows(1000))) as pack:
        yield pack


@pytest.mark.parametrize("folder", golden(), ids=lambda folder: folder.name)
def test_lanes_show_the_rows(folder: Path) -> None:
    if folder.name == "d06-basic-s2":
        pytest.skip("s2 cannot be read")
    (path,) = folder.glob("pack.*")
    with sdb.open(path) as opened:
        values = [value for value, _ in zip(opened.rows(), range(2000), strict=False)]
        paths = sorted({path for value in values[:50] for path in paths_of(value, 2)}, key=repr)
        lanes = [(0, list(path), letter) for path in paths[:30] for letter in LETTERS]
        actual = columns(opened, lanes=lanes, limit=len(values))
    for (_, path_, letter), column in zip(lanes, actual, strict=True):
        assert all(
            same(follow(value, path_), letter, cell)
            for value, cell in zip(values, column, strict=True)
        ), (path_, letter)


def test_lanes_of_mixed_values(mixed: Packfile) -> None:
    check(mixed, list(mixed.rows()))


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.integers(-3, 3)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5)
    | st.integers(0, 2**52).map(lambda us: (EPOCH + timedelta(microseconds=us)).isoformat()),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=4)
    ),
    max_leaves=12,
)
ROWS = st.lists(st.dictionaries(st.sampled_from(["a", "b", "name", "é"]), VALUES), max_size=6)


@settings(max_examples=usual(60), deadline=None)
@given(lines=ROWS, algorithm=st.sampled_from(["zion+zstd", "zstd", "zion+iguana_v0"]))
def test_lanes_of_any_values(
    tmp_path_factory: pytest.TempPathFactory, lines: list[dict[str, Any]], algorithm: str
) -> None:
    path = make(tmp_path_factory.mktemp("any") / "any.zion", lines, algorithm=algorithm)
    with sdb.open(path) as opened:
        values = list(opened.rows())
        check(opened, values)
        keys = columns(opened, lanes=[(0, ["a"], "k"), (0, ["b"], "k")])
    for value, first, second in zip(values, *keys, strict=True):
        if "a" in value and "b" in value:
            assert (first == second) == equal(value["a"], value["b"])


def equal(a: Any, b: Any) -> bool:
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(starmap(equal, zip(a, b, strict=True)))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(equal(a[name], b[name]) for name in a)
    return bit(a) == bit(b) and a == b


def test_types_of_the_columns(mixed: Packfile) -> None:
    lanes = [(0, ["any"], letter) for letter in [*LETTERS, "r"]]
    schema = pa.schema(_core.LaneScan(sources(mixed), lanes))
    assert schema.names == [f"c{number}" for number in range(len(lanes))]
    text, integer, double = pa.string(), pa.int64(), pa.float64()
    exact = pa.decimal128(20, 0)
    types = [pa.uint8(), double, exact, text, pa.bool_(), pa.timestamp("us"), text, text, integer]
    assert schema.types == [*types, pa.list_(double), pa.list_(text), integer]
    assert all(field.nullable for field in schema)


def test_lists_are_unnested(mixed: Packfile) -> None:
    path = ["n", "a", "b"]
    explode = [(0, path, "list"), (1, [], "struct")]
    lanes = [(0, ["id"], "x"), (1, [], "j"), (2, [], "name"), (2, [], "j"), (0, path, "z")]
    assert columns(mixed, lanes=lanes[:2], explode=explode[:1]) == [
        [1, 1, 1, None],
        ['{"c": 1}', "null", "{}", '{"d": "e"}'],
    ]
    assert columns(mixed, lanes=lanes, explode=explode) == [
        [1, None],
        ['{"c": 1}', '{"d": "e"}'],
        ["c", "d"],
        ["1", '"e"'],
        [3, 1],
    ]
    both = [(0, ["list"], "list"), (0, ["list"], "list")]
    actual = columns(mixed, lanes=[(1, [], "k"), (2, [], "k")], explode=both)
    lists = [value.get("list") or [] for value in mixed.rows()]
    pairs = [(key(a), key(b)) for items in lists for a in items for b in items]
    assert list(zip(*actual, strict=True)) == pairs


def test_rows_are_unpivoted(mixed: Packfile) -> None:
    lanes = [(1, [], "name"), (1, [], "j"), (0, [], "r"), (1, ["a"], "t")]
    actual = columns(mixed, lanes=lanes, explode=[(0, [], "struct")])
    members = [item for value in mixed.rows() for item in value.items()]
    assert list(zip(actual[0], map(json.loads, actual[1]), strict=True)) == [
        (name, plain(value)) for name, value in members
    ]
    assert actual[3] == [bit(follow(value, ["a"])) for _, value in members]


def test_rows_are_numbered(pack: Packfile) -> None:
    number, n, all_ = columns(pack, pack, lanes=[(0, [], "r"), (0, ["n"], "x"), (0, [], "t")])
    assert number == sorted(set(number))
    assert n == [*range(1000)] * 2
    assert set(all_) == {64}
    some = columns(pack, pack, lanes=[(0, [], "r")], predicate=("cmp", ["n"], "=", ("x", 700)))
    assert some == [[number[700], number[1700]]]


A: list[Any] = ["any"]
PREDICATES: list[tuple[Any, list[int]]] = [
    (("cmp", A, "=", ("x", 1)), [0]),
    (("cmp", A, "=", ("n", 1.0)), [0]),
    (("cmp", A, "<>", ("x", 1)), [1, 2, 3, 4, 5]),
    (("not", ("cmp", A, "=", ("x", 1))), [1, 2, 3, 4, 5]),
    (("cmp", A, "<", ("x", 2)), [0]),
    (("not", ("cmp", A, "<", ("x", 2))), []),
    (("cmp", A, "=", ("s", "é\n")), [1]),
    (("cmp", A, ">=", ("s", "a")), [1]),
    (("cmp", A, "=", ("z",)), [3]),
    (("cmp", A, "<=", ("z",)), [3]),
    (("not", ("cmp", A, "<", ("z",))), []),
    (("cmp", A, "=", ("b", True)), [4]),
    (("cmp", A, "<", ("b", True)), [5]),
    (("is", A, 0x80), [6]),
    (("is", A, 0x7F), [0, 1, 2, 3, 4, 5]),
    (("is", A, 1 | 64), [2, 3]),
    (("in", A, [("x", 1), ("z",), ("s", "x")]), [0, 3]),
    (("not", ("in", A, [("x", 1)])), [1, 2, 3, 4, 5]),
    (("like", A, "_%", None), [1]),
    (("not", ("like", A, "x%", None)), [1]),
    (("cmp", ["big"], ">", ("x", 2**63 - 1)), [5]),
    (("cmp", ["low"], "=", ("n", -(2.0**63))), [5]),
    (("cmp", ["t"], ">", ("u", 1609459200_000_000)), [3]),
    (("cmp", ["t"], "<=", ("u", 1609459200_000_000)), [5]),
    (("cmp", ["n", "a", "b", 0, "c"], "=", ("x", 1)), [0]),
    (("cmp", ["list", 1], "=", ("n", 2.5)), [2]),
    (("or", [("cmp", A, "=", ("x", 1)), ("is", ["id"], 1)]), [0, 1]),
    (("and", [("cmp", ["id"], ">", ("x", 0)), ("is", A, 4)]), [0]),
    (("or", []), []),
    (("and", []), [*range(7)]),
]


@pytest.mark.parametrize(("predicate", "expected"), PREDICATES)
def test_rows_are_chosen(mixed: Packfile, predicate: Any, expected: list[int]) -> None:
    values = list(mixed.rows())
    (actual,) = columns(mixed, lanes=[(0, [], "j")], predicate=predicate)
    assert [json.loads(text) for text in actual] == [plain(values[at]) for at in expected]


def test_predicates_know_that_what_is_missing_is_neither(mixed: Packfile) -> None:
    missing = ("cmp", ["absent"], "=", ("x", 1))
    true, false = ("and", []), ("or", [])
    for tree, expected in [
        (("and", [missing, true]), 0),
        (("not", ("and", [missing, true])), 0),
        (("not", ("and", [missing, false])), 7),
        (("or", [missing, true]), 7),
        (("not", ("or", [missing, false])), 0),
        (("not", missing), 0),
    ]:
        assert _core.LaneScan(sources(mixed), [], predicate=tree).count() == expected


def test_only_what_is_needed_is_read(pack: Packfile) -> None:
    scan = _core.LaneScan(sources(pack), [])
    assert scan.count() == 1000
    ranges = map(pack.trailer.block_range, range(len(pack.blocks)))
    size = sum(stop - start for start, stop in ranges)
    assert scan.stats == (len(pack.blocks), size, 1000)
    some = _core.LaneScan(sources(pack), [(0, ["n"], "x")], limit=10)
    assert pa.table(some)["c0"].to_pylist() == [*range(10)]
    assert some.stats[0] == 1


@pytest.mark.parametrize("limit", [0, 1, 150, 999, 1000, 5000])
def test_limits(pack: Packfile, limit: int) -> None:
    (actual,) = columns(pack, lanes=[(0, ["n"], "x")], limit=limit)
    assert actual == [*range(min(limit, 1000))]
    explode = [(0, ["nested", "list"], "list")]
    (actual,) = columns(pack, lanes=[(1, [], "n")], explode=explode, limit=limit)
    assert len(actual) == min(limit, 3000)


def test_batches_have_the_size_that_was_asked_for(pack: Packfile) -> None:
    scan = _core.LaneScan(sources(pack), [(0, ["n"], "x")], batch_rows=7)
    batches = pa.RecordBatchReader.from_stream(scan)
    sizes = [len(batch) for batch in batches]
    assert max(sizes) == 7
    assert sum(sizes) == 1000


def test_each_consumer_has_a_stream_of_its_own(pack: Packfile) -> None:
    con = duckdb.connect()
    con.register("t", _core.LaneScan(sources(pack), [(0, ["n"], "x")]))
    join = "SELECT count(*), sum(a.c0) FROM t a JOIN t b ON a.c0 = b.c0"
    assert con.sql(join).fetchall() == [(1000, 499500)]
    assert con.sql(join).fetchall() == [(1000, 499500)]


def test_damage_is_told_with_its_place(tmp_path: Path) -> None:
    path = make(tmp_path / "a", rows(1000))
    with sdb.open(path) as opened:
        start, stop = opened.trailer.block_range(len(opened.blocks) // 2)
    data = bytearray(path.read_bytes())
    data[start + 40 : stop] = bytes(stop - start - 40)
    path.write_bytes(data)
    with sdb.open(path) as opened:
        scan = _core.LaneScan(sources(opened), [(0, ["n"], "x")])
        with pytest.raises(OSError, match="block"):
            pa.table(scan)
        assert isinstance(scan.failure, CorruptError)
        assert str(path) in str(scan.failure)
        with pytest.raises(CorruptError, match="block"):
            scan.count()


@pytest.mark.parametrize(
    "change",
    [
        {"lanes": [(0, [], "q")]},
        {"lanes": [(1, [], "t")]},
        {"lanes": [(0, [], "name")]},
        {"lanes": [(0, ["a"] * 501, "t")]},
        {"explode": [(1, [], "list")]},
        {"explode": [(0, [], "bag")]},
        {"predicate": ("xor", [])},
        {"predicate": ("cmp", ["a"], "==", ("x", 1))},
        {"predicate": ("cmp", ["a"], "=", ("q", 1))},
    ],
)
def test_nonsense_is_refused(change: dict[str, Any]) -> None:
    arguments: dict[str, Any] = {"lanes": [(0, ["a"], "t")], **change}
    with pytest.raises(UsageError):
        _core.LaneScan([], arguments.pop("lanes"), **arguments)


def test_deep_predicates_are_refused() -> None:
    tree: Any = ("and", [])
    for _ in range(501):
        tree = ("not", tree)
    with pytest.raises(UsageError, match="levels"):
        _core.LaneScan([], [], predicate=tree)


def test_unknown_compression_is_refused() -> None:
    with pytest.raises(UnsupportedError):
        _core.LaneScan([(print, [1], "s2", 4096, None)], [])


def test_no_source_has_no_rows() -> None:
    assert pa.table(_core.LaneScan([], [(0, ["a"], "n")])).shape == (0, 1)
    assert not math.isnan(_core.LaneScan([], []).count())
