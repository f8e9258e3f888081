from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb import _core, ion
from sdb.errors import CorruptError
from sdb.packfile.trailer.extension import Extension, Summary
from sdb.packfile.trailer.trailer import Trailer
from sdb.records import replace

if TYPE_CHECKING:
    from pathlib import Path

ONE, TWO = bytes(range(20)), bytes(range(1, 21))
SUMMARY = Summary((3, 5), {("a",): 4}, complete=True)


def stored(**changes: object) -> dict[str, Any]:
    return Extension(SUMMARY, (ONE, TWO)).encode() | changes


def rows(start: int, stop: int) -> str:
    return "".join(f'{{"n":{n},"text":"{n:0100}"}}\n' for n in range(start, stop))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "rows.json"
    path.write_text(rows(0, 3000))
    return path


def pack(source: Path, name: str, **options: Any) -> Path:
    path = source.with_name(name)
    sdb.pack([source], path, align_bytes=4096, block_bytes=32 << 10, **options)
    return path


def without_digests(path: Path) -> None:
    with sdb.open(path) as pack:
        sparse = replace(pack.trailer.sparse, digests=())
        trailer = replace(pack.trailer, sparse=sparse)
    path.write_bytes(path.read_bytes()[: trailer.offset] + trailer.encode())


def digests(path: Path) -> tuple[bytes, ...]:
    with sdb.open(path) as pack:
        return pack.trailer.sparse.digests


def made_again(path: Path) -> tuple[bytes, ...]:
    with sdb.open(path, verify=False) as pack:
        blocks = map(pack.read_block, range(len(pack.blocks)))
        return tuple(map(_core.digest_block, blocks))


def test_what_is_stored_is_read() -> None:
    assert list(stored()) == ["version", "rows", "types", "complete", "digests"]
    many = Summary((3, 5), {(f"{n:02}",): 4 for n in range(16)}, complete=True)
    assert list(Extension(many, (ONE, TWO)).encode()) == ["version", "summary", "digests"]
    for extension in (
        Extension(),
        Extension(SUMMARY),
        Extension(None, (ONE, TWO)),
        Extension(SUMMARY, (b"", TWO)),
        Extension(many, (ONE, TWO), "", b"presence", b"provenance"),
        Extension(SUMMARY, identities=b"identities"),
    ):
        value = ion.loads(ion.dumps(extension.encode())) if extension.encode() else None
        assert Extension.read(value, 2) == extension
    assert Extension(None, (b"", b"")).encode() == {}
    assert Extension.read(stored(inputs=[1], counts="?"), 2) == Extension(SUMMARY, (ONE, TWO))
    assert Extension.read({"version": 2, "rows": "?"}, 2) == Extension()


@pytest.mark.parametrize(
    ("value", "flaw"),
    [
        (5, "it is not a struct with a version"),
        ({}, "it is not a struct with a version"),
        (stored(version="1"), "it is not a struct with a version"),
        (stored(rows=None), "the list of row counts is not a list of integers"),
        (stored(rows=[1]), "1 row counts for 2 blocks"),
        (stored(rows=[1, -2]), "invalid number of rows in the summary: it is negative"),
        (stored(types=[{"path": ["a"], "mask": 1}] * 2), "the summary has a twice"),
        (
            stored(complete=1),
            "invalid member complete of the summary: expected true or false, got 1",
        ),
        (stored(digests="?"), "the digests are not a blob"),
        (stored(digests=bytes(39)), "39 bytes of digests for 2 blocks"),
    ],
)
def test_a_flaw_is_told_and_nothing_else_believed(value: object, flaw: str) -> None:
    assert Extension.read(value, 2) == Extension(flaw=flaw)


def test_a_flawed_extension_makes_no_file_unreadable(source: Path) -> None:
    path = pack(source, "flawed.zion")
    with sdb.open(path) as opened:
        trailer = opened.trailer
        expected = list(opened.rows())
    value: Any = ion.loads(trailer.encode()[:-4])
    value["sparse"]["sdb"]["digests"] = b"short"
    data = ion.dumps(value)
    body = path.read_bytes()[: trailer.offset]
    path.write_bytes(body + data + len(data).to_bytes(4, "little"))
    with sdb.open(path) as opened:
        assert list(opened.rows()) == expected
        assert opened.trailer.rows is None
        assert opened.trailer.sparse.flaw.startswith("5 bytes of digests for")
    (finding,) = sdb.validate(path).findings
    assert finding.text.startswith("trailer: the sdb extension is ignored: 5 bytes of digests")
    sdb.append(path, [source])
    assert sdb.validate(path).ok


def test_every_block_has_its_digest_whatever_the_threads(source: Path) -> None:
    packfile, four = pack(source, "one.zion", threads=1), pack(source, "four.zion", threads=4)
    assert packfile.read_bytes() == four.read_bytes()
    assert len(digests(packfile)) > 3
    assert digests(packfile) == made_again(packfile)


@pytest.mark.parametrize("align", [4096, 1 << 20])
def test_append_goes_on_with_the_digest_of_a_short_block(source: Path, align: int) -> None:
    path = source.with_name("grown.zion")
    for start in range(0, 3000, 300):
        source.write_text(rows(start, start + 300))
        if start:
            old = digests(path)
            sdb.append(path, [source], block_bytes=16 * align)
            assert digests(path)[: len(old) - 1] == old[:-1]
        else:
            sdb.pack([source], path, align_bytes=align, block_bytes=16 * align)
        assert digests(path) == made_again(path)
    assert sdb.validate(path).ok
    with sdb.open(path) as opened:
        assert [row["n"] for row in opened.rows()] == list(range(3000))


def test_what_comes_from_files_without_digests_has_none(source: Path) -> None:
    old, new = pack(source, "old.zion"), pack(source, "new.zion")
    without_digests(old)
    assert digests(old) == ()
    sdb.append(old, [source], block_bytes=32 << 10)
    known = digests(old)
    assert known[0] == b""
    assert known[-1] == made_again(old)[-1]
    both = source.with_name("both.zion")
    sdb.concat([new, old], both)
    assert digests(both) == digests(new) + known
    for path in (old, both):
        assert sdb.validate(path).ok


def test_damage_that_no_reader_would_notice_is_found(source: Path) -> None:
    """Iguana has no checksum, and there are bytes that no reader looks at."""
    path = pack(source, "damaged.zion", algorithm="zion+iguana_v0")
    with sdb.open(path) as opened:
        at = opened.blocks[1].offset
    data = bytearray(path.read_bytes())
    flipped = 0
    for item in range(at + 100, at + 3000, 7):
        data[item] ^= 1
        path.write_bytes(data)
        with sdb.open(path) as opened, pytest.raises(CorruptError) as caught:
            opened.read_block(1)
        assert caught.value.offset is not None
        assert caught.value.offset >= at
        flipped += sdb.validate(path).findings[0].block == 1
        data[item] ^= 1
    assert flipped == len(range(at + 100, at + 3000, 7))


def test_the_original_skips_the_whole_field(source: Path) -> None:
    """An unknown field of `sparse` may be of any type; what is left is the trailer without it."""
    path = pack(source, "known.zion")
    with sdb.open(path) as opened:
        trailer = opened.trailer
    value: Any = ion.loads(trailer.encode()[:-4])
    assert type(value["sparse"].pop("sdb")["digests"]) is bytes
    bare = Trailer.decode(ion.dumps(value))
    without = {"summary": None, "digests": (), "stored_presence": b"", "stored_provenance": b""}
    sparse: Any = replace(trailer.sparse, **without)
    assert bare == replace(trailer, sparse=sparse)


@pytest.mark.parametrize("value", [1, "a", [[]], [["a"], 1], [["a"]] * 5, [[None]], [], None])
def test_what_rows_are_sorted_by_is_a_hint(value: object) -> None:
    """No answer depends on it: what makes no sense tells nothing, and all else stays good."""
    content = Extension.read(stored(clustered=value), 2)
    assert (content.flaw, content.clustered, content.summary) == ("", (), SUMMARY)
    known = Extension(SUMMARY, clustered=(("a", "b"), ("c",)))
    assert Extension.read(known.encode(), 2) == known


COLUMNS = (
    ("a", "integer"),
    ("b", ("array", ("map", "string", ("struct", ("x", "decimal(10,2)"), ("y", "date"))))),
)


def test_the_columns_of_a_writer_are_kept() -> None:
    known = Extension(SUMMARY, columns=COLUMNS)
    assert Extension.read(ion.loads(ion.dumps(known.encode())), 2) == known


@pytest.mark.parametrize(
    "value",
    [
        1,
        "a",
        ["a"],
        [["a"]],
        [["a", 1]],
        [[None, "date"]],
        [["a", "x" * 65]],
        [["a", ["array"]]],
        [["a", ["map", "string"]]],
        [["a", ["set", "string"]]],
        [["a", ["struct", "date"]]],
        [["a", "date"], ["a", "date"]],
        [[str(n), "date"] for n in range(4097)],
        [],
        None,
    ],
)
def test_columns_that_make_no_sense_tell_nothing(value: object) -> None:
    content = Extension.read(stored(columns=value), 2)
    assert (content.flaw, content.columns, content.summary) == ("", (), SUMMARY)


def test_columns_of_columns_are_bounded() -> None:
    deep: object = "date"
    for _ in range(100_000):
        deep = ["array", deep]
    assert Extension.read(stored(columns=[["a", deep]]), 2).columns == ()
