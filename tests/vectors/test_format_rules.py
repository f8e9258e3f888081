"""What docs/format.md says of the edges, one rule a test, with files made after its text."""

from __future__ import annotations

import io
import json
import random
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb import _core, ion
from sdb.errors import CorruptError, SdbError, UnsupportedError
from sdb.packfile.read import manifest
from sdb.packfile.trailer.sparseindex import build_indices
from sdb.packfile.trailer.timeindex import TimeIndex
from sdb.packfile.trailer.trailer import Trailer
from tests.attack import craft
from tests.conftest import VECTORS

if TYPE_CHECKING:
    from pathlib import Path

PATH = ("ts",)
ALIGN = 4096
LATER = b'{"later":1}'


def written(tmp_path: Path, *values: bytes) -> Path:
    """A packfile of one row for each value, in field ``a``; field ``b`` is 7."""
    rows = b"".join(craft.members((10, value), (11, craft.integer(7))) for value in values)
    chunk = craft.plain_chunk(craft.table(b"a", b"b") + rows, 12)
    path = tmp_path / "odd.zion"
    path.write_bytes(craft.packfile([[chunk]], algorithm="zstd", blockshift=12))
    return path


def shown(path: Path) -> list[Any]:
    out = io.BytesIO()
    sdb.unpack([path], out, fmt="json")
    text = [json.loads(line) for line in out.getvalue().splitlines()]
    with sdb.sql(f"SELECT * FROM '{path}'") as result:
        assert len(list(result)) == len(text)
    return text


def again(path: Path) -> list[Any]:
    """The rows, packed again and appended to: both must agree."""
    more = path.with_name("more.json")
    more.write_bytes(LATER)
    packed, grown = path.with_name("packed.zion"), path.with_name("grown.zion")
    sdb.pack([path], packed, overwrite=True)
    sdb.append(path, [more], output=grown, overwrite=True)
    assert shown(grown) == [*shown(packed), json.loads(LATER)]
    return shown(packed)


def with_trailer(path: Path, **changes: object) -> None:
    """Change fields of a trailer; None removes one."""
    data = path.read_bytes()
    length = int.from_bytes(data[-4:], "little")
    value: Any = ion.loads(data[-4 - length : -4])
    value |= changes
    remaining = {name: field for name, field in value.items() if field is not None}
    path.write_bytes(craft.closed(data[: -4 - length], ion.dumps(remaining)))


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    source, path = tmp_path / "rows.json", tmp_path / "plain.zion"
    source.write_text('{"a":1}\n')
    sdb.pack([source], path)
    return path


# Section 2


def test_unknown_symbols_are_shown_and_not_written_again(tmp_path: Path) -> None:
    path = written(tmp_path, craft.symbol(99))
    assert shown(path) == [{"a": "$99", "b": 7}]
    for road in (
        lambda: sdb.pack([path], tmp_path / "out"),
        lambda: sdb.append(path, [_more(tmp_path)]),
    ):
        with pytest.raises(SdbError, match="symbol 99") as caught:
            road()
        assert caught.value.exit_code == 6
    assert "symbol 99" in sdb.validate(path).findings[0].text


def _more(folder: Path) -> Path:
    more = folder / "more.json"
    more.write_bytes(LATER)
    return more


@pytest.mark.parametrize("year", [0, 1, 99, 127, 128, 16383])
def test_a_year_has_two_groups_and_may_have_one(tmp_path: Path, year: int) -> None:
    rest = bytes([0x81, 0x81, 0x80, 0x80, 0x80])
    canonical = bytes([0x68, 0x80, year >> 7, year & 0x7F | 0x80]) + rest
    path = written(tmp_path, canonical)
    at = f"{year:04}-01-01T00:00:00Z"
    assert shown(path) == again(path) == [{"a": at, "b": 7}]
    assert sdb.validate(path).ok
    if year < 128:
        short = written(tmp_path, bytes([0x67, 0x80, year | 0x80]) + rest)
        assert shown(short) == [{"a": at, "b": 7}]
        assert "canonical" in sdb.validate(short).findings[0].text


@pytest.mark.parametrize(
    "value", [bytes([0x52, 0xC1, 5]), bytes([0xC1, 0x20]), bytes([0xE3, 0x81, 0x84, 0x20])]
)
def test_types_that_rows_do_not_have(tmp_path: Path, value: bytes) -> None:
    path = written(tmp_path, value)
    before = path.read_bytes()
    with pytest.raises(CorruptError):
        shown(path)
    with pytest.raises(CorruptError):
        sdb.append(path, [_more(tmp_path)])
    assert path.read_bytes() == before
    assert not sdb.validate(path).ok


@pytest.mark.parametrize("kind", [0x9, 0xA])
def test_clobs_and_blobs_are_shown_and_reported(tmp_path: Path, kind: int) -> None:
    path = written(tmp_path, craft.value(kind, b"ab"))
    assert shown(path) == [{"a": "YWI=", "b": 7}]
    assert "which rows do not have" in sdb.validate(path).findings[0].text


@pytest.mark.parametrize("padding", [b"\x00", b"\x02\xff\xff", b"\x0e\x8e" + b"\xff" * 14])
def test_padding_inside_rows_is_passed_over(tmp_path: Path, padding: bytes) -> None:
    inner = craft.value(craft.LIST, padding + craft.integer(1) + padding)
    path = written(tmp_path, padding, inner)
    assert shown(path) == again(path) == [{"b": 7}, {"a": [1], "b": 7}]
    assert "padding inside a row" in sdb.validate(path).findings[0].text


# Section 7


def test_words_and_states_are_little_endian_and_tables_may_be_sparse() -> None:
    """ANS1 by hand: one symbol `a` of frequency 3841, all others 1; the state begins at 2^16."""
    frequency, first = 3841, 0x61
    assert frequency + 255 == 4096
    state = 1 << 16
    words = []
    for _ in range(200):
        if state >= frequency << 20:
            words.append(state % (1 << 16))
            state >>= 16
        state = (state // frequency) * 4096 + state % frequency + first
    nibbles: list[int] = []
    for number in (frequency, first):
        groups = [number >> shift & 7 for shift in range(0, number.bit_length(), 3)]
        groups[-1] |= 8
        nibbles += groups
    if len(nibbles) % 2:
        nibbles.append(0)
    pairs = zip(nibbles[::2], nibbles[1::2], strict=True)
    table = bytes([low | high << 4 for low, high in pairs][::-1]) + b"\x01"
    coded = b"".join(word.to_bytes(2, "little") for word in words)
    data = coded + state.to_bytes(4, "little") + table
    control = [*_control(200), 0x83, *_control(200), *_control(len(data))]
    buffer = data + bytes(reversed(control))
    assert _core.iguana_decompress(buffer, 200) == b"a" * 200


def _control(number: int) -> list[int]:
    """A control number, in the order in which it is read."""
    groups = [number & 0x7F | 0x80]
    while number := number >> 7:
        groups.insert(0, number & 0x7F)
    return groups


# Section 8


@pytest.mark.parametrize(("version", "read_as"), [(None, 1), (0, 1), (1, 1), (2, 2)])
def test_versions_that_are_read(plain: Path, version: int | None, read_as: int) -> None:
    with_trailer(plain, version=version)
    with sdb.open(plain) as pack:
        assert pack.trailer.version == read_as
        assert list(pack) == [{"a": 1}]
    if version == 2:
        with pytest.raises(UnsupportedError, match="can only be read"):
            sdb.append(plain, [_more(plain.parent)])
        with pytest.raises(UnsupportedError, match="can only be read"):
            sdb.concat([plain], plain.with_name("out"))
    else:
        sdb.append(plain, [_more(plain.parent)])


@pytest.mark.parametrize("changes", [{}, {"offset": "?"}, {"later": 1, "algo": None}])
def test_later_versions_are_not_supported(plain: Path, changes: dict[str, Any]) -> None:
    with_trailer(plain, version=3, **changes)
    for road in (sdb.open, sdb.validate, lambda path: sdb.pack([path], path.with_name("out"))):
        with pytest.raises(
            UnsupportedError, match=r"plain\.zion: a packfile of version 3"
        ) as caught:
            road(plain)
        assert caught.value.exit_code == 8


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": -1}, "its version is -1"),
        ({"offset": None}, "no offset"),
        ({"algo": None}, "unknown compression"),
        ({"algo": ion.IonSymbol("zstd")}, "the algorithm is not a string"),
        ({"blockshift": None}, "blockshift is 0"),
        ({"blocks-delta": None}, "1 blocks, the block list has 0|0 blocks in"),
        ({"sparse": {"indices": []}}, "sparse has 0 blocks, the block list has 1"),
        ({"sparse": {"blocks": 1, "indices": [{"ranges": {}}]}}, "a path is not a list of names"),
    ],
)
def test_fields_that_are_mandatory(plain: Path, changes: dict[str, Any], message: str) -> None:
    with_trailer(plain, **changes)
    with pytest.raises(CorruptError, match=message):
        sdb.open(plain)


@pytest.mark.parametrize(
    "sparse", [None, {"blocks": 1}, {"blocks": 1, "indices": [{"path": ["a"]}], "more": 1}]
)
def test_fields_that_may_be_missing(plain: Path, sparse: dict[str, Any] | None) -> None:
    with_trailer(plain, sparse=sparse)
    with sdb.open(plain) as pack:
        assert list(pack) == [{"a": 1}]
        assert pack.time_indexes == {}
        assert pack.constants == {}


# Section 9


def document_index(blocks: list[tuple[int, int] | None]) -> tuple[list[Any], list[Any]]:
    """Section 9, "Building", word by word, for one path."""
    lower: list[tuple[int, int]] = []
    upper: list[tuple[int, int]] = []
    for n, block in enumerate(blocks):
        if block is None:
            if upper:
                upper[-1] = (upper[-1][0], upper[-1][1] + 1)
            continue
        lo, hi = block
        start = n if lower else 0
        while lower and lower[-1][0] >= lo:
            start = lower.pop()[1]
        lower.append((lo, start))
        if upper:
            greater = max(hi, upper[-1][0])
            while upper and upper[-1][0] >= hi:
                upper.pop()
            hi = greater
        upper.append((hi, n + 1))
    return upper, lower


@pytest.mark.parametrize("seed", range(200))
def test_building_an_index(seed: int) -> None:
    dice = random.Random(seed)
    blocks: list[tuple[int, int] | None] = []
    for _ in range(dice.randrange(1, 12)):
        lo = dice.randrange(20)
        blocks.append(dice.choice([None, (lo, lo + dice.randrange(9))]))
    built = build_indices({PATH: block} if block else {} for block in blocks)
    index = built.get(PATH, TimeIndex())
    assert (list(index.max), list(index.min)) == document_index(blocks)
    for number, block in enumerate(blocks):
        if PATH not in built:
            continue
        known = index.known_range(number)
        lows = [time for time, b in index.min if b <= number]
        highs = [time for time, b in index.max if b > number]
        between = (lows[-1], highs[0]) if lows and highs and lows[-1] <= highs[0] else None
        assert known == between
        if block:
            assert known
            assert known[0] <= block[0] <= block[1] <= known[1]


# Section 13


def test_an_index_that_covers_too_few_blocks(tmp_path: Path) -> None:
    """What the original leaves behind is ignored; a recorded file without its trace is refused."""
    source, path = tmp_path / "rows.json", tmp_path / "many.zion"
    source.write_text(
        "".join(f'{{"ts":"2021-01-01T00:{m:02}:00Z","p":"{m:0900}"}}\n' for m in range(60))
    )
    sdb.pack([source], path, algorithm="zstd", align_bytes=ALIGN, block_bytes=4 * ALIGN)
    with sdb.open(path) as pack:
        trailer = pack.trailer
        expected = list(pack)
        assert len(pack.blocks) > 3
    upper, lower = TimeIndex([(9, 2)], [(0, 0), (5, 2)]).encode()
    entry = {"path": [ion.IonSymbol("ts")], "ranges": {"max": upper, "min": lower}}
    with_trailer(path, sparse={"blocks": len(trailer.blocks), "indices": [entry]})
    with sdb.open(path) as pack:
        assert pack.time_indexes == {}
        assert list(pack) == expected
        late = list(pack.rows(since="2021-01-01T00:50:00Z", time_field="ts"))
        assert late == expected[50:]
    assert "is not used" in sdb.validate(path).findings[0].text
    with pytest.raises(CorruptError, match="covers 1 blocks of 2"):
        sdb.open(VECTORS / "packfile/corrupt/o39-index-count.zion")


def test_the_trailer_of_a_file_without_rows(tmp_path: Path) -> None:
    value = {"version": 1, "offset": 0, "algo": "zstd", "blockshift": 20}
    data = ion.dumps(value)
    path = tmp_path / "empty.zion"
    path.write_bytes(data + len(data).to_bytes(4, "little"))
    with sdb.open(path) as pack:
        assert list(pack) == []
    assert Trailer.decode(data).check(0).blocks == ()


# Section 16

JOB = "0" * 32
FILE = {"name": f"part-00000-{JOB}-{'1' * 16}.zion", "size_bytes": 1, "rows": 1, "job": JOB}


def listed(folder: Path, content: object) -> manifest.Manifest | None:
    (folder / manifest.NAME).write_text(json.dumps(content))
    return manifest.read(folder)


def test_members_of_a_manifest_that_may_be_missing(tmp_path: Path) -> None:
    actual = listed(tmp_path, {"version": 1, "files": [FILE | {"more": 1}], "more": 1})
    assert actual is not None
    assert (actual.jobs, actual.files[0].etag, actual.names) == ((), "", {FILE["name"]})


@pytest.mark.parametrize("missing", ["version", "files", "name", "size_bytes", "rows", "job"])
def test_members_of_a_manifest_that_are_mandatory(tmp_path: Path, missing: str) -> None:
    file = {name: value for name, value in FILE.items() if name != missing}
    whole = {"version": 1, "files": [file], "jobs": []}
    with pytest.raises(CorruptError):
        listed(tmp_path, {name: value for name, value in whole.items() if name != missing})
    with pytest.raises(UnsupportedError):
        listed(tmp_path, {"version": 2, "files": [], "jobs": []})


def test_adding_and_replacing_in_a_folder_of_jobs(tmp_path: Path) -> None:
    jobs = [character * 32 for character in "012"]
    files = [
        manifest.File(f"part-00000-{job}-{'1' * 16}.zion", size_bytes=1, rows=1) for job in jobs
    ]
    for job, file, mode in zip(jobs, files, ("fail", "append", "overwrite"), strict=True):
        manifest.publish(tmp_path, [file], mode=mode, job=job)
        content = manifest.read(tmp_path)
        assert content is not None
        assert content.jobs == tuple(jobs[: len(content.jobs)])
        expected = {"fail": files[:1], "append": files[:2], "overwrite": files[2:]}[mode]
        assert [item.name for item in content.files] == [item.name for item in expected]
    (tmp_path / "plain.zion").write_bytes(b"")
    with pytest.raises(SdbError, match="no job wrote"):
        manifest.publish(tmp_path, [], mode="overwrite", job="3" * 32)
