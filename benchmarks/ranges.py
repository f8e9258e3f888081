"""Compares reading whole blocks of S3 with ranges of the chunks in them that have one field.

``python benchmarks/ranges.py FILE...`` packs each input as often as makes 64 chunks, and prints
for the fields that gain most and least the seconds that 137 MB of such a packfile take, by a model
of the network: requests of 50 ms, 16 at a time, 100 MB a second. Ranges that are near each other
are joined at the distance that is best. That some index knows all ranges is taken for granted.
"""

from __future__ import annotations

import gzip
import sys
import tempfile
from pathlib import Path

import zstandard
from buckets import chunks, hashed, names

import sdb

REQUEST_SECONDS, AT_A_TIME, BYTES_A_SECOND = 0.05, 16, 100e6
WHOLE_BYTES, SYSTEM_SYMBOLS = 137e6, 10
CHUNK_BYTES = 1 << 20


def seconds(requests: float, size: float) -> float:
    """Return how long requests take, of this number of bytes together."""
    return requests * REQUEST_SECONDS / AT_A_TIME + size / BYTES_A_SECOND


def ranges(block: bytes, field: str) -> list[tuple[int, int]]:
    """Return where the segments of a field are in a block, each with the shape of its chunk."""
    places, known, at = [], list[str](), 0
    for selector, segments in chunks(block):
        known = names(zstandard.decompress(segments[0]), known)
        starts = [at]
        for segment in segments:
            starts.append(starts[-1] + 3 + len(segment))
        places.append((at, starts[1]))
        if field in known:
            number = 1 + (hashed(known.index(field) + SYSTEM_SYMBOLS) >> 4 * selector & 15)
            places.append((starts[number], starts[number + 1]))
        at = starts[-1] + 8
    return places


def joined(parts: list[tuple[int, int]], gap: float) -> tuple[int, int]:
    """Return number and size of requests if ranges with less than a gap between them are one."""
    requests = size = last = 0
    for start, stop in parts:
        is_new = not requests or start - last > gap
        requests += is_new
        size += stop - (start if is_new else last)
        last = stop
    return requests, size


def compare(path: Path) -> None:
    """Print the figures of an input."""
    text = gzip.decompress(path.read_bytes()).rstrip() + b"\n"
    with tempfile.TemporaryDirectory() as folder:
        source, packed = Path(folder) / "rows.json", f"{folder}/x.zion"
        source.write_bytes(text * (1 + 64 * CHUNK_BYTES // len(text)))
        sdb.pack([source], packed)
        with sdb.open(packed) as pack:
            block = pack.read_block(0)
            fields = [field.name for field in pack.fields if "." not in field.name]
            blocks = WHOLE_BYTES / len(block)
            whole = seconds(blocks, WHOLE_BYTES)
            count = pack.blocks[0].chunks
    best = {}
    for field in fields:
        parts = ranges(block, field)
        tried = (joined(parts, gap) for gap in (0, 1e4, 3e4, 1e5, 3e5, 1e6))
        best[field] = min((seconds(blocks * n, blocks * size), n, size) for n, size in tried)
    for field in (min(best, key=best.__getitem__), max(best, key=best.__getitem__)):
        time, requests, size = best[field]
        bare = sum(stop - start for start, stop in ranges(block, field)) / len(block)
        print(f"{path.name:28} {field:20} chunk {len(block) / count / 1e3:5.0f} KB,", end=" ")
        print(f"needs {bare:5.1%}; blocks {whole:.2f} s, ranges {time:.2f} s", end=" ")
        print(f"({requests} requests a block, {size / len(block):.0%} of its bytes)")


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        compare(Path(argument))
