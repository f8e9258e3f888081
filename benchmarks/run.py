"""Compares packing, unpacking, appending and start-up with peers from pip, and prints tables.

Every number is a median over rounds; in each round all contenders run once, in turn (A B C, B C A,
C A B: who comes after a large process finds cold memory), and ratios are medians of the ratios
within a round: so a machine that slows down slows all of them. Whole processes are timed.
"""

from __future__ import annotations

import argparse
import gzip
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import zstandard

from sdb import _core

ROOT = Path(__file__).resolve().parents[1]
SDB = str(Path(sys.executable).parent / "sdb")
GENERATOR = Path(os.environ.get("SDB_GENERATOR", ROOT / "../shared/tools/gen_events.py"))
SAMPLES = Path(os.environ.get("SDB_SAMPLES", ROOT / "../shared/data"))
ALGORITHMS = ["zion+zstd", "zion+iguana_v0", "zion+iguana_v0/specialized", "zstd"]
DUCKDB = """
import sys, time, duckdb
connection = duckdb.connect(config={"threads": 2})
connection.sql("SET enable_progress_bar = false")
start = time.perf_counter()
connection.sql(
    f"COPY (SELECT * FROM read_json('{sys.argv[1]}')) TO '{sys.argv[2]}'"
    " (FORMAT parquet, COMPRESSION zstd)"
)
print(time.perf_counter() - start)
"""


@dataclass(slots=True)
class Contender:
    """A command; with ``own_clock`` it prints the seconds of its work, without its start."""

    name: str
    command: list[str]
    own_clock: bool = False
    seconds: list[float] = field(default_factory=list)
    own_seconds: list[float] = field(default_factory=list)
    processor_seconds: list[float] = field(default_factory=list)
    peak_bytes: int = 0

    def run(self) -> None:
        out = subprocess.PIPE if self.own_clock else subprocess.DEVNULL
        start = time.perf_counter()
        process = subprocess.Popen(self.command, stdout=out, stderr=subprocess.PIPE, text=True)
        said = process.stdout.read() if process.stdout else ""
        errors = process.stderr.read() if process.stderr else ""
        _, status, usage = os.wait4(process.pid, 0)
        elapsed = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit(f"{self.name} failed:\n{errors}")
        self.seconds.append(elapsed)
        self.processor_seconds.append(usage.ru_utime + usage.ru_stime)
        if self.own_clock:
            self.own_seconds.append(float(said))
        self.peak_bytes = max(self.peak_bytes, usage.ru_maxrss * 1024)

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    def times_as_fast_as(self, other: Contender, *, own_clock: bool = False) -> float:
        seconds = other.own_seconds if own_clock else other.seconds
        pairs = zip(self.seconds, seconds, strict=True)
        return statistics.median(theirs / ours for ours, theirs in pairs)


def race(rounds: int, *contenders: Contender) -> None:
    """Run all contenders in turn; a first round warms the caches and does not count."""
    for number in range(rounds + 1):
        first = number % len(contenders)
        for contender in contenders[first:] + contenders[:first]:
            contender.run()
            if number == 0:
                contender.seconds.clear()
                contender.own_seconds.clear()
                contender.processor_seconds.clear()


def table(title: str, head: list[str], rows: list[list[str]]) -> None:
    print(f"\n### {title}\n")
    for row in (head, ["---", *["---:"] * (len(head) - 1)], *rows):
        print("| " + " | ".join(row) + " |", flush=True)


def bench_pack(text: Path, folder: Path, rounds: int) -> None:
    """Pack one file; against DuckDB writing Parquet."""
    outputs = {name: folder / f"{text.stem}.{name}" for name in ("j2", "j1", "parquet")}
    pack = [SDB, "pack", "--force", "--progress", "off", str(text), "-c", "zion+zstd"]
    peer = Contender(
        "DuckDB COPY to Parquet, 2 threads",
        [sys.executable, "-c", DUCKDB, str(text), str(outputs["parquet"])],
        own_clock=True,
    )
    ours = [
        Contender(f"sdb pack -j{j}", [*pack, "-j", str(j), "-o", str(outputs[f"j{j}"])])
        for j in (2, 1)
    ]
    race(rounds, *ours, peer)
    text_bytes = text.stat().st_size
    parquet_bytes = outputs["parquet"].stat().st_size
    rows = []
    for contender, output in zip([*ours, peer], outputs.values(), strict=True):
        size = output.stat().st_size
        rows.append(
            [
                contender.name,
                f"{contender.median:.2f}",
                f"{text_bytes / contender.median / 1e6:.0f}",
                f"{contender.times_as_fast_as(peer):.1f}",
                f"{contender.times_as_fast_as(peer, own_clock=True):.1f}",
                f"{size:,}",
                f"{size / parquet_bytes:.3f}",
                f"{contender.peak_bytes / 2**20:.0f}",
            ]
        )
    head = [
        "",
        "s",
        "MB/s of text",
        "times DuckDB",
        "times its statement",
        "bytes",
        "of Parquet",
        "peak MiB",
    ]
    table(f"Packing {text.name} ({text_bytes:,} bytes, {rounds} rounds)", head, rows)


def bench_unpack(text: Path, folder: Path, rounds: int) -> None:
    """Unpack one file; against zstd on the same text."""
    compressed = folder / f"{text.name}.zst"
    subprocess.run(["zstd", "-q", "-f", "-3", str(text), "-o", str(compressed)], check=True)
    packed = {}
    for algorithm in ALGORITHMS:
        packed[algorithm] = folder / f"{text.stem}.{algorithm.replace('/', '-')}.zion"
        pack = [SDB, "pack", "--force", "--progress", "off", "-c", algorithm]
        subprocess.run([*pack, "-o", str(packed[algorithm]), str(text)], check=True)

    def unpack(algorithm: str, fmt: str, threads: int) -> Contender:
        command = [SDB, "unpack", "--force", "--fmt", fmt, "-j", str(threads), "-o", "/dev/null"]
        name = f"sdb unpack --fmt {fmt} -j{threads}, {algorithm}"
        return Contender(name, [*command, str(packed[algorithm])])

    peer = Contender("zstd -dc", ["zstd", "-dcq", str(compressed)])
    ours = [unpack(algorithm, fmt, 2) for algorithm in ALGORITHMS for fmt in ("json", "ion")]
    single = [unpack(algorithm, "ion", 1) for algorithm in ALGORITHMS]
    race(rounds, *ours, *single, peer)
    text_bytes = text.stat().st_size
    rows = [
        [
            contender.name,
            f"{contender.median:.3f}",
            f"{text_bytes / contender.median / 1e6:.0f}",
            f"{contender.times_as_fast_as(peer):.2f}",
            f"{contender.times_as_fast_as(single[0]):.2f}",
            f"{contender.peak_bytes / 2**20:.0f}",
        ]
        for contender in [*ours, *single, peer]
    ]
    head = ["", "s", "MB/s of text", "times zstd -dc", "times ion -j1, zion+zstd", "peak MiB"]
    table(f"Unpacking {text.name} ({rounds} rounds)", head, rows)


def bench_append(text: Path, folder: Path, rounds: int) -> None:
    """Append 1 MB of text to a packfile of 1 GB; against copying it and packing the text."""
    big, small = folder / "big.zion", folder / "one-megabyte.json"
    with text.open("rb") as file:
        small.write_bytes(file.read(10**6) + file.readline())
    packed = folder / f"{text.stem}.zion"
    subprocess.run([SDB, "pack", "--force", "-o", str(packed), str(text)], check=True)
    copies = -(-(10**9) // packed.stat().st_size)
    command = [SDB, "concat", "--force", "-o", str(big), *[str(packed)] * copies]
    subprocess.run(command, check=True)
    copy, half = str(folder / "copy.zion"), str(folder / "half.zion")
    # As an append does it: the file that is replaced lies on the disk until the copy is complete.
    cp = f"cp {big} {copy}.new && mv {copy}.new {copy} && {SDB} pack --force -o {half} {small}"
    both = Contender("cp, mv and sdb pack", ["sh", "-c", cp])
    flushed = Contender(
        "cp, sync, mv and sdb pack", ["sh", "-c", cp.replace("&&", f"&& sync {copy}.new &&", 1)]
    )
    append = Contender("sdb append", [SDB, "append", str(big), str(small)])
    race(rounds, both, flushed, append)
    rows = [
        [
            item.name,
            f"{item.median:.2f}",
            f"{1 / item.times_as_fast_as(both):.2f}",
            f"{1 / item.times_as_fast_as(flushed):.2f}",
            f"{item.peak_bytes / 2**20:.0f}",
        ]
        for item in (both, flushed, append)
    ]
    title = f"Appending {small.stat().st_size:,} bytes to {big.stat().st_size:,} ({rounds} rounds)"
    table(title, ["", "s", "of the first", "of the second", "peak MiB"], rows)
    for path in (big, Path(copy), Path(half)):
        path.unlink()


def bench_codec(text: Path, rounds: int) -> None:
    """Expand 1 MiB pieces in one thread: iguana against zstd, without anything around them."""
    with text.open("rb") as file:
        pieces = [file.read(1 << 20) for _ in range(32)]
    compressor, expander = zstandard.ZstdCompressor(3), zstandard.ZstdDecompressor()
    iguana = [_core.iguana_compress(piece) for piece in pieces]
    zstd = [compressor.compress(piece) for piece in pieces]
    seconds: dict[str, list[float]] = {"zstd": [], "iguana": []}
    for _ in range(rounds + 1):
        start = time.perf_counter()
        for piece in zstd:
            expander.decompress(piece)
        middle = time.perf_counter()
        for piece in iguana:
            _core.iguana_decompress(piece, 1 << 20)
        seconds["zstd"].append(middle - start)
        seconds["iguana"].append(time.perf_counter() - middle)
    ratio = statistics.median(
        z / i for z, i in zip(seconds["zstd"][1:], seconds["iguana"][1:], strict=True)
    )
    rows = [
        [
            name,
            f"{sum(map(len, pieces)) / statistics.median(seconds[name][1:]) / 1e6:.0f}",
            f"{sum(map(len, packed)):,}",
            f"{ratio if name == 'iguana' else 1:.2f}",
        ]
        for name, packed in (("zstd", zstd), ("iguana", iguana))
    ]
    head = ["", "MB/s", "bytes", "times zstd"]
    table(f"Expanding 1 MiB pieces of {text.name}, one thread", head, rows)


def bench_start(folder: Path, rounds: int) -> None:
    """Time from nothing to an answer."""
    packed = str(folder / "small.zion")
    sample = str(ROOT / "testdata/parking2.json.gz")
    subprocess.run([SDB, "pack", "--force", "-o", packed, sample], check=True)
    peer = Contender('python -c "import typer"', [sys.executable, "-c", "import typer"])
    bare = Contender("python -c pass", [sys.executable, "-c", "pass"])
    version = Contender("sdb --version", [SDB, "--version"])
    describe = Contender("sdb describe-file", [SDB, "describe-file", packed])
    everyone = [version, describe, bare, peer]
    race(rounds, *everyone)
    rows = [
        [item.name, f"{item.median * 1000:.0f}", f"{1 / item.times_as_fast_as(peer):.2f}"]
        for item in everyone
    ]
    table(f"Start-up ({rounds} rounds)", ["", "ms", "cost in import typer"], rows)


def sizes_of_samples(folder: Path) -> None:
    """How small real data get."""
    rows = []
    for sample in sorted(SAMPLES.glob("*.json.gz")):
        text = folder / sample.stem
        text.write_bytes(gzip.decompress(sample.read_bytes()))
        parquet = folder / "sample.parquet"
        command = [sys.executable, "-c", DUCKDB, str(text), str(parquet)]
        Contender("DuckDB", command, own_clock=True).run()
        sizes = {"Parquet": parquet.stat().st_size}
        for algorithm in ALGORITHMS:
            packed = folder / "sample.zion"
            pack = [SDB, "pack", "--force", "-c", algorithm, "-o", str(packed), str(text)]
            subprocess.run(pack, check=True)
            sizes[algorithm] = packed.stat().st_size
        text_bytes = text.stat().st_size
        cells = [f"{size:,} ({size / sizes['Parquet']:.2f})" for size in sizes.values()]
        rows.append([sample.name, f"{text_bytes:,}", *cells])
    table("Bytes of real samples (of Parquet)", ["", "text", "Parquet", *ALGORITHMS], rows)


def generated(folder: Path, size: str) -> Path:
    path = folder / f"github-{size}.json"
    if not path.exists():
        command = [sys.executable, str(GENERATOR), "--mode", "github", "--bytes", size]
        subprocess.run([*command, "--seed", "1", "--out", str(path)], check=True)
    return path


def settings(about: str | None, size: str) -> tuple[Path, Path, int]:
    """Read a command line; gives a generated text, of `size` unless told, a folder and rounds."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--size", default=size)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=Path("/tmp/sdb-bench"))
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    return generated(options.folder, options.size), options.folder, options.rounds


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", nargs="*", default=["100MB", "1GB"], help="of generated files")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path, default=Path("/tmp/sdb-bench"))
    parser.add_argument("--only", choices=["pack", "unpack", "append", "codec", "start", "samples"])
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for size in options.sizes:
        text = generated(options.folder, size)
        if options.only in (None, "pack"):
            bench_pack(text, options.folder, options.rounds)
        if options.only in (None, "unpack"):
            bench_unpack(text, options.folder, options.rounds)
    if options.only in (None, "append"):
        bench_append(generated(options.folder, options.sizes[0]), options.folder, options.rounds)
    if options.only in (None, "codec"):
        bench_codec(generated(options.folder, options.sizes[0]), options.rounds)
    if options.only in (None, "start"):
        bench_start(options.folder, 4 * options.rounds)
    if options.only in (None, "samples"):
        sizes_of_samples(options.folder)


if __name__ == "__main__":
    main()
