"""Compares queries over one path, in process, with decompressing the bucket of that path only.

The buckets are found as docs/format.md says, sections 3 to 5, and decompressed from memory by as
many threads as the query has; the query reads the file, which is in the page cache.
"""

from __future__ import annotations

import resource
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import zstandard
from run import table

import sdb

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

THREADS = 2
PATHS = ["actor.id", "payload.push_id", "id"]
_WORD = 2**64 - 1
_SYSTEM_SYMBOLS = 10


def hashed(symbol: int) -> int:
    """SipHash-2-4 with a key of zeros."""
    leb, rest = bytearray(), symbol
    while rest > 127:
        leb.append(rest & 127 | 128)
        rest >>= 7
    leb.append(rest)
    word = int.from_bytes(leb, "little") | len(leb) << 56
    v = [0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573]

    def rounds(count: int) -> None:
        def turned(value: int, bits: int) -> int:
            return (value << bits | value >> (64 - bits)) & _WORD

        for _ in range(count):
            for a, b, c, d, left, right in ((0, 1, 2, 3, 13, 16), (2, 1, 0, 3, 17, 21)):
                v[a] = (v[a] + v[b]) & _WORD
                v[b] = turned(v[b], left) ^ v[a]
                v[a] = turned(v[a], 32)
                v[c] = (v[c] + v[d]) & _WORD
                v[d] = turned(v[d], right) ^ v[c]

    v[3] ^= word
    rounds(2)
    v[0] ^= word
    v[2] ^= 255
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def number(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    while True:
        value = value << 7 | data[at] & 127
        at += 1
        if data[at - 1] & 128:
            return value, at


def content(data: bytes, at: int) -> tuple[int, int]:
    length = data[at] & 15
    if length == 14:
        length, at = number(data, at + 1)
        return at, at + length
    return at + 1, at + 1 + length


def names(shape: bytes, before: list[str]) -> list[str]:
    """The names in force in a chunk with this shape."""
    if shape[0] >> 4 != 14:
        return before
    at = 4 if shape[:1] == b"\xe0" else 0
    results = [] if at else list(before)
    at, _ = content(shape, at)
    at, stop = content(shape, at + 2)
    while at < stop:
        label, at = number(shape, at)
        inside, end = content(shape, at)
        while label == 7 and inside < end:
            inside, text_end = content(shape, inside)
            results.append(shape[inside:text_end].decode())
            inside = text_end
        at = end
    return results


def chunks(block: bytes) -> Iterator[tuple[int, list[bytes]]]:
    """Iterate over the selectors and segments of the chunks of a block."""
    at = 0
    while at < len(block):
        length, at = number(block, at + 1)[0], at + 5
        end, selector, segments = at + length, block[at + 4] & 15, []
        at += 8
        for _ in range(17):
            length = int.from_bytes(block[at : at + 3], "little")
            segments.append(block[at + 3 : at + 3 + length])
            at += 3 + length
        at = end
        yield selector, segments


def buckets(packed: Path, field: str) -> list[bytes]:
    """The compressed buckets that hold a field."""
    results = []
    with sdb.open(packed) as pack:
        for block in range(len(pack.blocks)):
            known: list[str] = []
            for selector, segments in chunks(pack.read_block(block)):
                known = names(zstandard.decompress(segments[0]), known)
                if field in known:
                    symbol = known.index(field) + _SYSTEM_SYMBOLS
                    results.append(segments[1 + (hashed(symbol) >> 4 * selector & 15)])
    return results


def decompressed(segments: list[bytes]) -> int:
    decompress = zstandard.ZstdDecompressor().decompress
    return sum(len(decompress(segment)) for segment in segments)


def measured(work: Callable[[], object]) -> tuple[float, float]:
    """The seconds that something takes, and those of all processors for it."""
    before, start = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    work()
    elapsed, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF)
    return elapsed, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def answered(query: str) -> None:
    with sdb.sql(query, threads=THREADS) as result:
        list(result)


def bench_buckets(packed: Path, rounds: int) -> None:
    rows = []
    for path in PATHS:
        segments = buckets(packed, path.partition(".")[0])
        halves = [segments[part::THREADS] for part in range(THREADS)]
        total = decompressed(segments)
        query = f"SELECT SUM({path}) AS total FROM read_file('{packed}')"
        bare, ours = [], []
        with ThreadPoolExecutor(THREADS) as pool:
            for _ in range(rounds + 1):
                bare.append(measured(lambda halves=halves: list(pool.map(decompressed, halves))))
                ours.append(measured(lambda query=query: answered(query)))
        pairs = list(zip(ours, bare, strict=True))[1:]
        cells = [statistics.median(pair[side][0] for pair in pairs) * 1e3 for side in (1, 0)]
        ratios = [
            statistics.median(pair[0][clock] / pair[1][clock] for pair in pairs) for clock in (0, 1)
        ]
        rows.append(
            [f"SUM({path})", f"{total / 1e6:.0f}", *(f"{cell:.1f}" for cell in (*cells, *ratios))]
        )
    count = f"SELECT COUNT(*) AS n FROM read_file('{packed}')"
    counts = [measured(lambda: answered(count))[0] * 1e3 for _ in range(rounds + 1)][1:]
    rows.append(["COUNT(*)", "", "", f"{statistics.median(counts):.1f}", "", ""])
    head = ["", "bucket, MB", "bare, ms", "sdb, ms", "times bare", "times its CPU time"]
    table(f"Queries on {packed.name} in process, {rounds} rounds, {THREADS} threads", head, rows)
