"""Damaged trailers are refused with one clear error, or read as something that makes sense.

``SDB_FUZZ_SECONDS=600 pytest tests/property/test_trailer_fuzz.py`` goes on for so long.
"""

from __future__ import annotations

import os
import random
import time
import tracemalloc
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from sdb.errors import CorruptError, UnsupportedError
from sdb.packfile.trailer.read import read_trailer
from sdb.packfile.trailer.sparseindex import SparseIndex, Summary
from sdb.packfile.trailer.timeindex import TimeIndex
from sdb.packfile.trailer.trailer import Block, Trailer

if TYPE_CHECKING:
    from collections.abc import Iterator

SECONDS = float(os.environ.get("SDB_FUZZ_SECONDS", "5"))
ODD = [0x00, 0x0E, 0x0F, 0x11, 0x20, 0x28, 0x38, 0x71, 0x8E, 0xB0, 0xBE, 0xBF, 0xD1, 0xDE, 0xE0]


@dataclass(slots=True)
class Memory:
    """A file in memory, as a store gives it."""

    data: bytes
    etag: str = ""

    @property
    def size_bytes(self) -> int:
        return len(self.data)

    def read(self, start: int, stop: int) -> bytes:
        assert 0 <= start <= stop <= len(self.data)
        return self.data[start:stop]

    def close(self) -> None:
        pass


def trailer(blocks: int, dice: random.Random) -> bytes:
    """A file of this many blocks, its data left out: only the first byte would be read."""
    offsets = [0]
    for _ in range(blocks):
        offsets.append(offsets[-1] + dice.randrange(1, 1000))
    times = TimeIndex()
    for _ in range(blocks):
        low = dice.randrange(-(10**15), 10**16)
        times.push(low, low + dice.randrange(10**12))
    listed = tuple(Block(offset, dice.randrange(1, 90)) for offset in offsets[:-1])
    summary = Summary.bounded([5] * blocks, {("a",): 4, ("a", "b"): 1 << 8}, complete=True)
    sparse = SparseIndex(
        blocks=blocks,
        constants={"region": "eu", "n": 1},
        indices={("a", "time"): times, ("time",): times} if blocks else {},
        summary=summary,
    )
    whole = Trailer(1, offsets[-1], "zion+zstd", 20, listed, sparse)
    return bytes(offsets[-1]) + whole.encode()


def damaged(data: bytes, dice: random.Random) -> bytes:
    """The file with some bytes of its trailer changed; its length often made right again."""
    length = int.from_bytes(data[-4:], "little")
    start = len(data) - 4 - length
    body = bytearray(data[start:-4])
    for _ in range(dice.choice([1, 1, 1, 2, 4, 10])):
        at = dice.randrange(len(body))
        match dice.randrange(6):
            case 0:
                body[at] ^= 1 << dice.randrange(8)
            case 1:
                body[at] = dice.choice(ODD)
            case 2:
                body[at] = (body[at] + dice.choice([1, 255])) % 256
            case 3:
                del body[at : at + dice.randrange(1, 9)]
            case 4:
                body[at:at] = bytes(dice.choices(ODD, k=dice.randrange(1, 9)))
            case 5:
                other = dice.randrange(len(body))
                body[at : at + 8] = body[other : other + 8]
        if not body:
            break
    size = length if dice.random() < 0.1 else len(body)
    return data[:start] + bytes(body) + size.to_bytes(4, "little")


def use(read: Trailer) -> None:
    """What describing and querying do with a trailer."""
    assert read.blocks or not read.offset
    for number in range(len(read.blocks)):
        start, stop = read.block_range(number)
        assert 0 <= start < stop <= read.offset
    assert read.decompressed_bytes >= 0
    for index in read.sparse.indices.values():
        assert 0 <= index.start(0) <= len(read.blocks)
        assert 0 <= index.end(0) <= len(read.blocks)
    assert read.encode()


def attempts(dice: random.Random) -> Iterator[bytes]:
    seeds = [trailer(blocks, dice) for blocks in (0, 1, 2, 3, 10, 50)]
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        for seed in seeds:
            yield damaged(seed, dice)


@pytest.mark.fuzz
@pytest.mark.timeout(SECONDS + 60)
def test_damaged_trailers() -> None:
    dice = random.Random(7 if SECONDS < 10 else None)
    messages = []
    read_well = 0
    for data in attempts(dice):
        try:
            read = read_trailer(Memory(data), "x")
        except (CorruptError, UnsupportedError) as error:
            messages.append(str(error))
        except Exception as error:
            raise AssertionError(data.hex()) from error
        else:
            use(read)
            read_well += 1
    assert min(read_well, len(messages)) > 10
    assert max(map(len, messages)) < 500
    assert not any("\n" in message for message in messages)


def test_cut_anywhere() -> None:
    data = trailer(3, random.Random(1))
    for size in range(len(data)):
        with pytest.raises(CorruptError):
            read_trailer(Memory(data[:size]), "x")


@pytest.mark.parametrize(
    "body",
    [
        bytes.fromhex("e00100eae58183d287b0") + b"\xde\x7f\x7f\x7f\xff",
        bytes.fromhex("e00100eae58183d287b0") + b"\xbe\x0f\xff\xff\xff\xff",
        bytes.fromhex("e00100eaee01ff8183"),
        bytes.fromhex("e00100eae58183d287b0") + b"\xb1" * 100_000,
        bytes.fromhex("e00100eae58183d287b0") + b"\xbe\x83" * 100_000,
        b"\xe0" * 100_000,
    ],
)
def test_announced_sizes_are_not_believed(body: bytes) -> None:
    """No allocation by a number in the file, no recursion by its nesting."""
    tracemalloc.start()
    with pytest.raises(CorruptError):
        read_trailer(Memory(body + len(body).to_bytes(4, "little")), "x")
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()
