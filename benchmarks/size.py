"""Packs the samples and prints how many bytes that takes, beside others; and where the bytes are.

    python benchmarks/size.py [--only NAME ...] [--level N] [--parts]

"original" is what the original's packer makes of the same file with zion+zstd. It does not run
here: its sizes were measured once and are given below.
"""

from __future__ import annotations

import argparse
import gzip
import math
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import zstandard
from run import table

import sdb

ROOT = Path(__file__).resolve().parents[1]
SAMPLES = ROOT / "testdata"
ORIGINAL = {
    "parking2": 8_312,
    "cloudtrail_stratus": 264_745,
    "winevents_sample": 231_955,
    "cloudtrail_sneller": 82_530,
    "nginxplus": 57_889,
    "gh2021_800": 319_775,
    "wikiticker_20k": 892_094,
    "nyc_taxi": 306_181,
}
"""Bytes of the original's packfiles, as the issue "Size" states them."""
DUCKDB = """
import sys, duckdb
duckdb.sql(
    f"COPY (SELECT * FROM read_json('{sys.argv[1]}')) TO '{sys.argv[2]}'"
    " (FORMAT parquet, COMPRESSION zstd)"
)
"""
_BUCKETS = 16


def parquet_bytes(text: Path) -> int:
    """Size of the Parquet file that DuckDB makes."""
    out = text.with_suffix(".parquet")
    subprocess.run([sys.executable, "-c", DUCKDB, str(text), str(out)], check=True)
    return out.stat().st_size


def expanded(segment: bytes) -> int:
    """Size of the content of a segment in bytes."""
    return len(zstandard.ZstdDecompressor().decompressobj().decompress(segment)) if segment else 0


def parts(packed: bytes) -> list[tuple[str, int, int]]:
    """Name, stored and expanded bytes of what a packfile of zion+zstd consists of."""
    trailer = int.from_bytes(packed[-4:], "little") + 4
    stored: Counter[str] = Counter()
    content: Counter[str] = Counter()
    at, end = 0, len(packed) - trailer
    while at < end:
        # A frame is a marker, and its size in groups of seven bits.
        size = 0
        for byte in packed[at + 1 : at + 5]:
            size = size << 7 | byte & 0x7F
        frame, at = packed[at + 5 : at + 5 + size], at + 5 + size
        inside = 8
        for number in range(_BUCKETS + 1):
            start = inside + 3
            length = int.from_bytes(frame[inside:start], "little")
            name = f"bucket {number - 1}" if number else "symbols and shape"
            stored[name] += length
            content[name] += expanded(frame[start : start + length])
            inside = start + length
        stored["heads"] += 5 + 8 + 3 * (_BUCKETS + 1)
    rows = [(name, size, content[name]) for name, size in stored.items()]
    return [*rows, ("trailer", trailer, trailer)]


def sample(name: str) -> bytes:
    """Read a sample, which is compressed with gzip or zstd."""
    (path,) = SAMPLES.glob(f"{name}.json.*")
    packed = path.read_bytes()
    if path.suffix == ".gz":
        return gzip.decompress(packed)
    return zstandard.ZstdDecompressor().decompressobj().decompress(packed)


def measured(name: str, folder: Path, level: str = "default") -> dict[str, int]:
    """Sizes of what each contender makes of a sample, and the packfile in the folder."""
    data = sample(name)
    text = folder / f"{name}.json"
    text.write_bytes(data)
    sizes = {"json": len(data), "gzip": len(gzip.compress(data, 6))}
    for algorithm in ("zion+zstd", "zstd"):
        out = folder / f"{name}.{algorithm}"
        sdb.pack(text, out, algorithm=algorithm, level=level)
        sizes[algorithm] = out.stat().st_size
    sizes["text"] = len(zstandard.ZstdCompressor(level=3).compress(data))
    sizes["parquet"] = parquet_bytes(text)
    return sizes


def mean(ratios: list[float]) -> float:
    """Take the geometric mean."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def main() -> None:
    """Pack and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", choices=list(ORIGINAL), default=list(ORIGINAL))
    parser.add_argument("--level", default="default")
    parser.add_argument("--parts", action="store_true", help="print where the bytes are")
    asked = parser.parse_args()
    rows, ratios, peers = [], [], []
    head = ["sample", "zion+zstd", "-c zstd", "original", "zstd -3", "Parquet"]
    with tempfile.TemporaryDirectory() as folder:
        for name in asked.only:
            sizes = measured(name, Path(folder), asked.level)
            ours, original = sizes["zion+zstd"], ORIGINAL[name]
            ratios.append(ours / original)
            peers.append(ours / sizes["parquet"])
            shown = [ours, sizes["zstd"], original, sizes["text"], sizes["parquet"]]
            ends = [f"{ratios[-1]:.3f}", f"{peers[-1]:.3f}"]
            rows.append([name, *(f"{size:,}" for size in shown), *ends])
            if asked.parts:
                pieces = parts((Path(folder) / f"{name}.zion+zstd").read_bytes())
                listed = [[what, f"{size:,}", f"{full:,}"] for what, size, full in pieces]
                table(name, ["part", "stored", "expanded"], listed)
    rows.append(["geometric mean", *[""] * 5, f"{mean(ratios):.3f}", f"{mean(peers):.3f}"])
    table("Bytes", [*head, "ours / original", "ours / Parquet"], rows)


if __name__ == "__main__":
    main()
