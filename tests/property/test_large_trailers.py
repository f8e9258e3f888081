"""A trailer that is read in parts is the one that is read whole, whatever its size and damage."""

from __future__ import annotations

import copy
import pickle
import random
import tracemalloc
from itertools import chain
from typing import TYPE_CHECKING, Any

import pytest

from sdb import ion
from sdb.errors import ConflictError, CorruptError, SdbError
from sdb.packfile.trailer import read as storedtrailer
from sdb.packfile.trailer.blockstats import BlockStatistics, store_sections
from sdb.packfile.trailer.lazybytes import LazyBytes
from sdb.packfile.trailer.read import read_beginning, read_trailer
from sdb.packfile.trailer.sparseindex import SparseIndex, Summary
from sdb.packfile.trailer.statsection import StoredStatistics
from sdb.packfile.trailer.trailer import Block, Trailer
from sdb.records import replace
from sdb.store.objectstore_base import ObjectReaderBase
from sdb.store.url import open_read

if TYPE_CHECKING:
    from pathlib import Path

FIRST, SECOND = 256, 300
SECTIONS = {(("a",), 1): b"zones" * 7, (("b", "c"), 2): b"texts" * 9, ((), 4): b"words" * 30}


class Memory(ObjectReaderBase):
    """A file in memory that takes note of what is read of it."""

    def __init__(self, data: bytes) -> None:
        self.path, self.etag, self.data = "memory", '"1"', data
        self.reads: list[tuple[int, int]] = []

    @property
    def size_bytes(self) -> int:
        return len(self.data)

    def read(self, start: int, stop: int) -> bytes:
        assert 0 <= start <= stop <= len(self.data)
        if start < stop:
            self.reads.append((start, stop))
        return self.data[start:stop]

    def pieces(self, start: int, stop: int) -> Any:
        yield self.read(start, stop)

    def reopen(self) -> Memory:
        return self


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read little at once, so that small trailers are large."""
    monkeypatch.setattr(storedtrailer, "TAIL_BYTES", FIRST)
    monkeypatch.setattr(storedtrailer, "AHEAD_BYTES", SECOND)


def packfile(
    stored: StoredStatistics | None,
    blocks: int = 3,
    names: tuple[str, ...] = ("time",),
    **members: Any,
) -> bytes:
    """Make a packfile of which only the trailer can be read."""
    constants = {name: number for number, name in enumerate(names)}
    listed = tuple(Block(100 * number, 1) for number in range(blocks))
    sparse = SparseIndex(
        blocks,
        constants=constants,
        summary=Summary.bounded([5] * blocks, {("a",): 4}, complete=True),
        stored_statistics=stored,
        **members,
    )
    whole = Trailer(1, 100 * blocks, "zion+zstd", 20, listed, sparse)
    return bytes(100 * blocks) + whole.encode()


def whole(data: bytes) -> Trailer | str:
    """Read a trailer as it was before there were parts."""
    length = int.from_bytes(data[-4:], "little")
    start = len(data) - 4 - length
    try:
        return Trailer.decode(data[start:-4]).check(start)
    except SdbError as error:
        return error.message


def in_parts(data: bytes) -> tuple[Trailer | str, Memory]:
    reader = Memory(data)
    try:
        return read_trailer(reader, "x"), reader
    except SdbError as error:
        return error.message.removeprefix("reading trailer from x: ").removeprefix("x: "), reader


def beginning(data: bytes, trailer: Trailer) -> Trailer | None:
    return read_beginning(Memory(data), trailer)


def body_of(trailer: Trailer | str) -> bytes | LazyBytes:
    assert isinstance(trailer, Trailer)
    stored = trailer.sparse.stored_statistics
    assert stored is not None
    return stored.body


@pytest.mark.usefixtures("small")
def test_trailers_of_all_sizes() -> None:
    """Around the ends of the first and the second read, and with much before or behind it."""
    late = 0
    edges = range(FIRST + SECOND - 300, FIRST + SECOND + 20, 3)
    sizes = chain(range(0, 200, 7), edges, (700, 5000, 70_000))
    for size in sizes:
        stored = StoredStatistics(b"head", random.Random(size).randbytes(size))
        for blocks, presence in ((1, 0), (3, 50), (3, 150), (3, 900), (90, 0), (400, 20)):
            data = packfile(stored, blocks, stored_presence=bytes(presence))
            actual, reader = in_parts(data)
            expected = whole(data)
            assert actual == expected, (size, blocks, presence)
            body = body_of(actual)
            late += isinstance(body, LazyBytes)
            assert body[3:] == stored.body[3:]
            assert body[size // 2 : size // 2 + 9] == stored.body[size // 2 : size // 2 + 9]
            assert isinstance(actual, Trailer)
            assert actual.encode() == data[actual.offset :]
            plain = replace(actual, sparse=SparseIndex(blocks))
            again = beginning(data, plain)
            assert again == replace(plain, sparse=actual.sparse)
            assert beginning(data, replace(plain, offset=actual.offset + 1)) is None
            assert beginning(data, replace(plain, offset=len(data) - 4)) is None
            if size >= 1000 and presence <= 50 and blocks < 90:
                opened = reader.reads[:2]
                assert sum(stop - start for start, stop in opened) <= FIRST + SECOND
    assert late > 100


@pytest.mark.usefixtures("small")
def test_other_ways_to_write_sizes() -> None:
    """Sizes that take more bytes than they need are understood as in the whole."""
    stored = StoredStatistics(b"head", bytes(5000))
    data = packfile(stored, names=("body",))
    start = len(data) - 4 - int.from_bytes(data[-4:], "little")
    inner = data[start:-4]
    struct, sparse, *_ = storedtrailer._Walk(inner).path(len(inner))
    at = inner.index(bytes.fromhex("8fd29020")) + 1  # the constants
    for written in ("d2", "de82", "de0082", "de000000000082"):
        members = inner[sparse.content : at] + bytes.fromhex(written) + inner[at + 1 : sparse.stop]
        fields = inner[struct.content : sparse.start] + ion.header(13, len(members)) + members
        fields += inner[sparse.stop : struct.stop]
        made = inner[: struct.start] + ion.header(13, len(fields)) + fields
        made = data[:start] + made + len(made).to_bytes(4, "little")
        actual, _ = in_parts(made)
        assert actual == whole(made)
        is_late = isinstance(body_of(actual), LazyBytes)
        assert is_late == (len(written) < 12), "or else it was read whole"


@pytest.mark.usefixtures("small")
def test_little_is_read_of_it() -> None:
    stored = store_sections({key: (100 * data, b"") for key, data in SECTIONS.items()})
    assert stored is not None
    data = packfile(stored)
    actual, reader = in_parts(data)
    assert len(reader.reads) == 2
    assert sum(stop - start for start, stop in reader.reads) == FIRST + SECOND
    assert isinstance(actual, Trailer)
    known = actual.sparse.statistics()
    assert known is not None
    assert known.sizes.keys() == SECTIONS.keys()
    assert len(reader.reads) == 2
    for (path, kind), wanted in SECTIONS.items():
        reader.reads.clear()
        assert known.section(path, kind) == 100 * wanted
        assert sum(stop - start for start, stop in reader.reads) <= 100 * len(wanted) + 8
        assert len(reader.reads) <= 1
    reader.reads.clear()
    known.load()
    assert len(reader.reads) == 1
    assert [known.section(*key) for key in SECTIONS] == [100 * data for data in SECTIONS.values()]
    assert len(reader.reads) == 1


@pytest.mark.usefixtures("small")
def test_names_may_put_members_in_another_order() -> None:
    """Symbols are numbered as names are first used: constants may be called like anything."""
    stored = StoredStatistics(b"head" * 20, b"body" * 200)
    for names in (("body",), ("body", "head"), ("sdb", "body"), ("statistics", "blocks-delta")):
        for presence in (0, 90, 2000):
            data = packfile(stored, 40, names, stored_presence=bytes(presence))
            actual, _ = in_parts(data)
            assert actual == whole(data)
            assert isinstance(body_of(actual), LazyBytes), names


@pytest.mark.usefixtures("small")
def test_large_trailers_without_statistics() -> None:
    for more in (bytes(500), bytes(90_000)):
        data = packfile(None, stored_provenance=more)
        actual, reader = in_parts(data)
        assert actual == whole(data)
        assert len(reader.reads) <= 4
        assert sum(stop - start for start, stop in reader.reads) == len(data) - 300


@pytest.mark.usefixtures("small")
def test_damage_is_found_as_in_the_whole() -> None:
    """Flipped, changed, and missing bytes: the same answer, or the same error."""
    dice = random.Random(20)
    stored = StoredStatistics(b"head" * 9, dice.randbytes(900))
    late = wrong = 0
    for number in range(1500):
        sound = packfile(
            stored, dice.choice([1, 3, 60]), stored_presence=bytes(dice.choice([0, 90]))
        )
        length = int.from_bytes(sound[-4:], "little")
        start = len(sound) - 4 - length
        inner = bytearray(sound[start:-4])
        body = inner.index(stored.body)
        for _ in range(dice.choice([1, 1, 2, 5])):
            # Where the structure is, not in the blob alone.
            near = dice.choice([range(body), range(body - 30, body), range(body + 900, len(inner))])
            at = dice.choice(near)
            match number % 3:
                case 0:
                    inner[at] ^= 1 << dice.randrange(8)
                case 1:
                    inner[at] = dice.choice([0x0F, 0x11, 0xD1, 0xDE, 0xBE, 0xA0, 0xAE, 0x80, 0xE7])
                case _:
                    del inner[at : at + dice.choice([1, 1, 4, 200])]
                    body = min(body, len(inner) - 901)
            if len(inner) < body + 901 or body < 40:
                break
        data = sound[:start] + inner + len(inner).to_bytes(4, "little")
        actual, _ = in_parts(data)
        assert actual == whole(data), number
        wrong += isinstance(actual, str)
        reported = whole(sound)
        assert isinstance(reported, Trailer)
        known = beginning(data, replace(reported, sparse=SparseIndex(len(reported.blocks))))
        # What follows the statistics is not looked at.
        if known is not None and isinstance(actual, Trailer):
            known_sparse = replace(known.sparse, clustered=actual.sparse.clustered)
            assert actual.sparse == known_sparse
        if isinstance(actual, Trailer) and actual.sparse.stored_statistics is not None:
            late += isinstance(actual.sparse.stored_statistics.body, LazyBytes)
    assert wrong > 400
    assert late > 150


@pytest.mark.usefixtures("small")
def test_a_damaged_section_is_ignored_and_the_others_hold() -> None:
    stored = store_sections({key: (9 * data, b"") for key, data in SECTIONS.items()})
    assert stored is not None
    assert isinstance(stored.body, bytes)
    for at in range(0, len(stored.body), 37):
        flipped = bytearray(stored.body)
        flipped[at] ^= 4
        actual, _ = in_parts(packfile(replace(stored, body=bytes(flipped))))
        assert isinstance(actual, Trailer)
        known = actual.sparse.statistics()
        assert known is not None
        damaged = 0
        for key, data in SECTIONS.items():
            try:
                assert known.section(*key) == 9 * data
            except CorruptError:
                damaged += 1
        assert damaged == 1


def test_words_are_not_held() -> None:
    """To open a packfile with 24 MiB of words takes less than one."""
    data = packfile(StoredStatistics(b"head", bytes(24 << 20)))
    reader = Memory(data)
    tracemalloc.start()
    actual = read_trailer(reader, "x")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 2 << 20
    assert len(body_of(actual)) == 24 << 20
    assert sum(stop - start for start, stop in reader.reads) <= 512 << 10


@pytest.mark.usefixtures("small")
def test_files_that_are_closed_or_replaced(tmp_path: Path) -> None:
    """What was closed is opened again if it is the same; another one is an error."""
    stored = StoredStatistics(b"head", random.Random(1).randbytes(5000))
    path = tmp_path / "x.zion"
    path.write_bytes(packfile(stored))
    reader = open_read(path)
    body = body_of(read_trailer(reader, "x"))
    again = tmp_path / "y.zion"
    again.write_bytes(packfile(replace(stored, body=bytes(5000))))
    again.replace(path)
    assert body[1000:2000] == stored.body[1000:2000], "the open file is the one that was opened"
    reader.close()
    assert body[:20] == stored.body[:20]
    with pytest.raises(ConflictError, match="changed it meanwhile"):
        bytes(body)
    reader = open_read(path)
    body = body_of(read_trailer(reader, "x"))
    reader.close()
    assert body == bytes(5000)
    assert body != bytes(4999)
    path.unlink()
    with pytest.raises(SdbError):
        body[1000:]


def test_statistics_are_equal_whatever_they_are_read_from() -> None:
    stored = store_sections({key: (data, b"") for key, data in SECTIONS.items()})
    assert stored is not None
    assert isinstance(stored.body, bytes)
    late = LazyBytes(Memory(b"12" + stored.body), 2, 2 + len(stored.body), stored.body[:5])
    assert replace(stored, body=late) == stored == replace(stored, body=late)
    assert replace(stored, body=late).encode() == stored.encode()
    assert replace(stored, body=late).held_bytes == len(stored.head) + 5
    known = BlockStatistics.decode(replace(stored, body=late), 3)
    assert known is not None
    assert known.held_bytes == 5
    assert "from 2" in repr(late)
    again = pickle.loads(pickle.dumps(replace(stored, body=late)))  # noqa: S301 - our own
    assert (again, type(again.body)) == (stored, bytes)
    assert type(copy.deepcopy(late)) is bytes
