"""Statistics of blocks against their rows: what they exclude is not there, whatever made them."""

from __future__ import annotations

import json
import math
from contextlib import ExitStack
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sdb
from sdb.packfile.build.newstats import facts_of
from sdb.packfile.inspect.validate import validate
from sdb.packfile.prune.ngrams import pieces
from sdb.packfile.read.reader import Packfile, open_packfile
from sdb.packfile.rewrite.merge import joined
from sdb.packfile.rewrite.rewrite import RowChanges, rewritten
from sdb.packfile.trailer import blockstats
from tests.amounts import usual

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pytest

    from sdb.packfile.trailer.blockstats import BlockStatistics
    from sdb.packfile.trailer.zonemap import Zone

ALIGN = 1 << 10
BLOCK = 4 << 10
PATHS: tuple[tuple[str | None, ...], ...] = (
    ("a",),
    ("b",),
    ("c", "d"),
    ("c", "e"),
    ("l", None),
    ("l", None, "x"),
    ("nowhere",),
)
STATS = (*PATHS, "words", "words:c", "words:l[]")
NUMBERS = st.one_of(
    st.integers(-(2**63), 2**64 - 1),
    st.sampled_from([2**53 - 1, 2**53, 2**53 + 1, float(2**53), -0.0, 0, 2.0, 1e300, -1e300]),
    st.sampled_from([float(2**63), 2**63, float(2**64), -float(2**63), 0.1, math.pi]),
    st.floats(allow_nan=False, allow_infinity=False),
)
TEXTS = st.one_of(
    st.text(max_size=6),
    st.sampled_from(["", "x" * 31, "x" * 32, "x" * 33, "x" * 40, "x" * 32 + "é", "\U0010ffff" * 9]),
    st.sampled_from(
        ["timeouts of Connections", "3f2a77c0-be560242ac120002", "\u212aey\u017ftones"]
    ),
    st.sampled_from(["often", "2021-01-02T03:04:05Z", "1969-12-31T23:59:59.5Z"]),
)
SCALARS = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS)
VALUES = st.one_of(SCALARS, st.lists(SCALARS, max_size=2), st.just({}))
ROWS = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "a": VALUES,
            "b": SCALARS,
            "c": st.one_of(
                SCALARS, st.fixed_dictionaries({}, optional={"d": VALUES, "e": SCALARS})
            ),
            "l": st.lists(st.one_of(SCALARS, st.fixed_dictionaries({"x": SCALARS})), max_size=3),
            "pad": st.just("-" * 150),
        },
    ),
    min_size=1,
    max_size=40,
)
SETTINGS = settings(
    max_examples=usual(25),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def at(value: Any, path: tuple[str | None, ...]) -> list[Any]:
    """Return the values at a path; fields of lists only where the path says so."""
    if not path:
        return [value]
    name, *rest = path
    if name is None:
        return (
            [v for item in value for v in at(item, tuple(rest))] if isinstance(value, list) else []
        )
    return at(value[name], tuple(rest)) if isinstance(value, dict) and name in value else []


def check_zone(zone: Zone, values: list[Any]) -> None:
    """Every value is within the zone, and every bound is touched."""
    assert zone.values == len(values)
    assert zone.nulls == sum(value is None for value in values)
    flags = {value for value in values if isinstance(value, bool)}
    assert zone.booleans == (1 if False in flags else 0) + (2 if True in flags else 0)
    numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    assert zone.numbers == ((min(numbers), max(numbers)) if numbers else None)
    assert bool(zone.types & 0b11100) == bool(numbers)
    texts = [v.encode() for v in values if isinstance(v, str)]
    assert (zone.texts is None) == (not texts)
    if zone.texts is not None:
        least, greatest = zone.texts
        assert greatest is not None
        assert least <= min(texts)
        assert max(texts) <= greatest
        assert len(least) <= 32 >= len(greatest)
        assert len(least) == 32 or least == min(texts)
        assert len(greatest) == 32 or greatest == max(texts)
    times = [v for v in values if hasattr(v, "timestamp")]
    assert (zone.times is not None) == bool(times)
    if zone.times is not None:
        assert [t.timestamp() * 1e6 for t in (min(times), max(times))] == [*zone.times]
    assert bool(zone.types & 1 << 11) == any(isinstance(v, list) for v in values)
    assert bool(zone.types & 1 << 13) == any(isinstance(v, dict) for v in values)
    assert (zone.types == 0) == (not values)


def check(path: Path, *, least_known: int = 0) -> int:
    """Compare the statistics of a packfile with its rows; gives how much it knows."""
    assert [str(finding) for finding in validate(path).findings] == []
    with open_packfile(path) as pack:
        decoded = pack.trailer.sparse.statistics()
        if decoded is None:
            assert not least_known
            return 0
        known = 0
        for number in range(len(pack.blocks)):
            rows = [*pack.rows(blocks=[number])]
            known += check_block(decoded, number, rows)
        assert known >= least_known
        return known


def check_block(statistics: BlockStatistics, number: int, rows: list[dict[str, Any]]) -> int:
    """Compare what is known of a block with its rows."""
    count = 0
    for path in statistics.paths:
        values = [value for row in rows for value in at(row, path)]
        zone = (statistics.zone(path) or {number: None})[number]
        if zone is not None:
            count += 1
            check_zone(zone, values)
        for item, kinds in (
            (statistics.texts(path), str),
            (statistics.integers(path), int | float),
        ):
            known = item and item.whole()
            if known is not None and known.sets[number] is not None:
                count += 1
                assert all(known.may_hold(number, v) for v in values if isinstance(v, kinds))
        stored = statistics.words(path)
        words = stored and stored.whole()
        if words is not None and words.sets[number] is not None:
            count += 1
            held = (piece for value in values for text in inside(value) for piece in pieces([text]))
            assert all(words.may_hold(number, piece) for piece in held)
    return count


def inside(value: Any) -> Iterator[str]:
    """Iterate over the texts in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from inside(item)


def lines(rows: list[dict[str, Any]]) -> str:
    """Return rows as JSON."""
    return "".join(json.dumps(row) + "\n" for row in rows)


def packed(folder: Path, name: str, rows: list[dict[str, Any]], **more: Any) -> Path:
    """Pack rows so that there are many blocks."""
    source = folder / f"{name}.json"
    source.write_text(lines(rows))
    path = folder / f"{name}.zion"
    options = {"align_bytes": ALIGN, "block_bytes": BLOCK, "stats": STATS} | more
    sdb.pack([source], path, overwrite=True, **options)
    return path


@given(ROWS, st.sampled_from(["zion+zstd", "zstd"]))
@SETTINGS
def test_packed_rows(tmp_path_factory: pytest.TempPathFactory, rows: list[Any], kind: str) -> None:
    """What the packer tells of a block is so, and of each path that was asked for something is."""
    folder = tmp_path_factory.mktemp("packed")
    assert check(packed(folder, "a", rows, algorithm=kind), least_known=len(STATS))


@given(ROWS, ROWS, st.booleans())
@SETTINGS
def test_appended_rows(
    tmp_path_factory: pytest.TempPathFactory,
    old: list[Any],
    new: list[Any],
    is_auto: bool,
) -> None:
    """A block that goes on is known as the rows that were there and those that came."""
    folder = tmp_path_factory.mktemp("appended")
    packfile = packed(folder, "a", old)
    for _ in range(3):
        (folder / "new.json").write_text(lines(new))
        stats = "auto" if is_auto else STATS
        sdb.append(packfile, [folder / "new.json"], block_bytes=BLOCK, stats=stats)
        assert check(packfile) > 0


@given(ROWS, ROWS)
@SETTINGS
def test_joined_packfiles(
    tmp_path_factory: pytest.TempPathFactory, items: list[Any], other: list[Any]
) -> None:
    """Blocks that are copied keep what is known of them, and so do those that become one."""
    folder = tmp_path_factory.mktemp("joined")
    places = [packed(folder, "a", items), packed(folder, "b", other)]
    sdb.concat(places, folder / "c.zion")
    before = sum(check(path) for path in places)
    assert check(folder / "c.zion") == before
    with ExitStack() as stack:
        packs = [stack.enter_context(open_packfile(path)) for path in places]
        made = joined(packs, stack)
        write(made, packs[0], folder / "d.zion")
    check(folder / "d.zion", least_known=2)


def write(made: Any, first: Packfile, path: Path) -> None:
    """Write what was made of packfiles."""
    from sdb.store.url import create_from_prefix

    with create_from_prefix(first.reader, made.kept_bytes, path) as draft:
        made.write(draft)


@given(ROWS, st.data())
@SETTINGS
def test_rewritten_packfiles(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Any], data: st.DataObject
) -> None:
    """Blocks in which rows change are known anew; others keep what is known of them."""
    folder = tmp_path_factory.mktemp("rewritten")
    packfile = packed(folder, "a", rows)
    dropped = data.draw(st.sets(st.integers(0, len(rows) - 1), min_size=1))
    with ExitStack() as stack:
        pack = stack.enter_context(open_packfile(packfile))
        changes = RowChanges(
            np.array(sorted(dropped), dtype=np.int64), np.array([], dtype=np.int64)
        )
        made = rewritten(pack, changes, stack)
        if made.trailer is None:
            assert len(dropped) == len(rows)
            return
        write(made, pack, folder / "b.zion")
    check(folder / "b.zion", least_known=2)


def test_many_rows_at_auto(tmp_path: Path) -> None:
    """Identifiers get filters and zones, within the budget, whatever the number of threads."""
    rows = [
        {
            "id": f"{n * 2654435761 % 2**32:08x}",
            "n": n,
            "kind": n % 3,
            "pad": "".join(sha256(b"%d %d" % (n, m)).hexdigest() for m in range(3)),
            "who": {"id": n * 7919 % 50_021},
        }
        for n in range(60_000)
    ]
    source = tmp_path / "rows.json"
    source.write_text(lines(rows))
    made = [
        sdb.pack([source], tmp_path / f"{threads}.zion", block_bytes=2 << 20, threads=threads)
        for threads in (1, 3)
    ]
    item, other = [(tmp_path / f"{threads}.zion").read_bytes() for threads in (1, 3)]
    assert item == other
    stored = made[0].trailer.sparse.stored_statistics
    assert stored is not None
    assert 0 < stored.size_bytes <= made[0].output_bytes // 50
    with open_packfile(tmp_path / "1.zion") as pack:
        decoded = pack.trailer.sparse.statistics()
    assert decoded is not None
    known = decoded.texts(("id",))
    assert known is not None
    assert sum(known.blocks("0" * 8)) <= decoded.blocks // 3
    assert sum(known.blocks(rows[777]["id"])) <= 1 + decoded.blocks // 3
    zones = decoded.zone(("n",))
    assert zones is not None
    bounds = [zone.numbers for zone in zones if zone is not None]
    assert [low for low, _ in bounds] == sorted(low for low, _ in bounds), "each block is apart"
    assert check(tmp_path / "1.zion") > 0


def test_a_thousand_appends_keep_few_sets(tmp_path: Path) -> None:
    """Sets of rows that are packed again make room for new ones."""
    packfile = packed(tmp_path, "a", [{"a": "first"}], block_bytes=50 << 10)
    for number in range(60):
        sdb.append(packfile, [{"a": f"value {number}" + 100 * "-"}], stats=[("a",)])
    with open_packfile(packfile) as pack:
        (facts,) = facts_of(pack.trailer.sparse)
        (known,) = [
            sets
            for (path, kind), sets in facts.sets.items()
            if path == ("a",) and kind == blockstats.TEXTS
        ]
        assert len(known) <= pack.trailer.chunks + 1
        assert sum(item.rows for item in known) == 61
    check(packfile, least_known=1)


def test_none_are_made_if_they_are_off(tmp_path: Path) -> None:
    """And packfiles without statistics get none by joining."""
    packfile = packed(tmp_path, "a", [{"a": 1}] * 99, stats="off")
    assert check(packfile) == 0
    sdb.concat([packfile, packfile], tmp_path / "b.zion")
    assert check(tmp_path / "b.zion") == 0


def test_wrong_statistics_are_found(tmp_path: Path) -> None:
    """`validate` compares them with the rows."""
    packfile = packed(
        tmp_path, "a", [{"a": "x", "b": 1}, {"a": "y", "b": 2, "l": [{"z": "Connections"}]}]
    )
    other = packed(
        tmp_path, "b", [{"a": "x", "b": 1}, {"a": "z", "b": 3, "l": [{"z": "disallowing"}]}]
    )
    with open_packfile(packfile) as finding, open_packfile(other) as two:
        ours, theirs = (pack.trailer.sparse.stored_statistics for pack in (finding, two))
        assert ours and theirs  # noqa: PT018 - for mypy
        head = ours.head
        assert head == theirs.head, "so that they can be exchanged"
    data = packfile.read_bytes().replace(ours.body, theirs.body)
    packfile.write_bytes(data)
    texts = [str(finding) for finding in validate(packfile).findings]
    assert any("1 texts are not in its filter" in text for text in texts), texts
    assert any("words of the row: 6 pieces are not in their filter" in text for text in texts)
    assert any("its zone has the numbers (1, 3), the rows have (1, 2)" in text for text in texts)
    packfile.write_bytes(data.replace(theirs.body, bytes(len(theirs.body))))
    texts = [str(finding) for finding in validate(packfile).findings]
    assert any("statistics of a: a section of the statistics is damaged" in text for text in texts)
