"""Measures tables of many files, and many inputs beside one with the same lines.

    python benchmarks/manyfiles.py [queries] [sync] [inputs] [counts]
        [--size 300MB] [--count 1000] [--rounds 5]

*queries*: the same rows in this many packfiles and in one; whole processes, medians and the ratio
within rounds. *sync*: 100 inputs taken by ``sdb sync``, packed by ``sdb pack``, and appended as
Parquet with delta-rs (``pip install deltalake``), an input a commit; all start with nothing.
*inputs*: 100 to 10,000 inputs of 1 to 150 KB, at most `--size`, beside one of the same lines: bytes
of the packfile, of all and without the list of inputs, and processor time, medians of the ratios.
*counts*: processor seconds of commands on 100 to 10,000 inputs, packfiles and tables (`--most`).
"""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from run import GENERATOR, SDB, Contender, race, table

import sdb
from sdb import sizes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

INPUTS = 100
COUNTS = (100, 1000, 10_000)
EACH_BYTES = (1000, 10_000, 150_000)
QUERIES = {
    "filter": "SELECT COUNT(*) FROM {} WHERE actor.login = 'ken'",
    "group": "SELECT type, COUNT(*) AS n FROM {} GROUP BY type",
    "sort": "SELECT id, actor.login FROM {} ORDER BY actor.id LIMIT 10",
}
DELTA = """
import glob, shutil, sys, pyarrow.json, deltalake
shutil.rmtree(sys.argv[2], ignore_errors=True)
for name in sorted(glob.glob(sys.argv[1] + "/*.json")):
    rows = pyarrow.json.read_json(name)
    deltalake.write_deltalake(sys.argv[2], rows, mode="append", schema_mode="merge")
"""
ANEW = (
    "rm -rf {1} && find {0}/db/bench/logs -mindepth 1 ! -name definition.json -delete && "
    "SDB_CACHE={1} exec {2} sync --quiet --root {0} bench"
)


def divided(folder: Path, mode: str, size: str, count: int) -> list[Path]:
    """Make events in this many files."""
    whole = folder / f"{mode}.json"
    words = ["--mode", mode, "--bytes", size, "--seed", "1", "--out", str(whole)]
    subprocess.run([sys.executable, str(GENERATOR), *words], check=True)
    lines = whole.read_bytes().splitlines(keepends=True)
    (folder / mode).mkdir()
    made = []
    for number in range(count):
        some = lines[number * len(lines) // count : (number + 1) * len(lines) // count]
        made.append(folder / mode / f"{number:05}.json")
        made[-1].write_bytes(b"".join(some))
    whole.unlink()
    return made


def told(name: str, contender: Contender, other: Contender) -> None:
    """Print how long one takes, and the other, and how many times as long one takes."""
    ratio = other.times_as_fast_as(contender)
    print(f"{name:24} {contender.median:8.3f} {other.median:8.3f} {ratio:7.2f}", flush=True)


def queries(folder: Path, size: str, count: int, rounds: int) -> None:
    """Compare queries of many packfiles with those of one."""
    inputs = divided(folder, "github", size, count)
    db = sdb.connect(folder / "lake")
    for name in ("many", "one"):
        db.create(f"bench.{name}", "nothing/*.json")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda item: db.append("bench.many", [item]), inputs))
    db.append("bench.one", inputs)
    for name in ("many", "one"):
        print(f"bench.{name}: {sum(1 for _ in db.table(f'bench.{name}').handle.descriptors()):,}")
    for name, query in QUERIES.items():
        many, item = (
            Contender(table, [SDB, "query", "--root", str(folder / "lake"), query.format(table)])
            for table in ("bench.many", "bench.one")
        )
        race(rounds, many, item)
        told(name, many, item)


def sync(folder: Path, size: str, rounds: int) -> None:
    """Compare a sync with packing, and with appends of delta-rs."""
    inputs = divided(folder, "logs", size, INPUTS)
    sdb.connect(folder).create("bench.logs", "file://logs/*.json")
    synced = Contender("sync", ["sh", "-c", ANEW.format(folder, folder / "cache", SDB)])
    out = str(folder / "packed.zion")
    packed = Contender("pack", [SDB, "pack", "--force", "-o", out, *map(str, inputs)])
    words = [sys.executable, "-c", DELTA, str(folder / "logs"), str(folder / "delta")]
    delta = Contender("delta-rs", words)
    race(rounds, synced, packed, delta)
    told("sync, pack", synced, packed)
    told("sync, delta-rs", synced, delta)


def processor_seconds(words: Sequence[str | Path]) -> float:
    """Run a command, and return how much time of processors it took."""
    process = subprocess.Popen(list(map(str, words)), stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{words[1]} failed")
    return usage.ru_utime + usage.ru_stime


def inputs(folder: Path, size: str, rounds: int) -> None:
    """Compare many inputs with one that has their lines, by each command that packs."""
    most = sizes.parse(size)
    head = f"{'inputs':>7} {'KB':>5} {'bytes':>11} {'all':>7} {'data':>7} {'blocks':>7}"
    print(head, *(f"{name:>7}" for name in ("pack", "append", "sync")), flush=True)
    for count, each in itertools.product(COUNTS, EACH_BYTES):
        if count * each > most:
            continue
        with tempfile.TemporaryDirectory(dir=folder) as name:
            print(_inputs(Path(name), count, each, rounds), flush=True)


def _inputs(folder: Path, count: int, each: int, rounds: int) -> str:
    mode = "logs" if each < EACH_BYTES[1] else "github"
    many = divided(folder, mode, str(count * each), count)
    joined = folder / "one" / "one.json"
    joined.parent.mkdir()
    joined.write_bytes(b"".join(path.read_bytes() for path in many))
    out, base, ratios = folder / "out.zion", folder / "base.zion", ([], [], [])
    sdb.pack([{"a": 1}], base)
    packed = {}
    for _ in range(rounds):
        taken = []
        for kind, paths in (("many", many), ("one", [joined])):
            pack = processor_seconds([SDB, "pack", "--quiet", "--force", "-o", out, *paths])
            with sdb.open(out) as packfile:
                packed[kind] = (out.stat().st_size, packfile.trailer.offset, len(packfile.blocks))
            out.write_bytes(base.read_bytes())
            append = processor_seconds([SDB, "append", "--quiet", out, *paths])
            shutil.rmtree(folder / "db", ignore_errors=True)
            sdb.connect(folder).create("bench.t", f"file://{paths[0].parent.name}/*.json")
            sync = processor_seconds([SDB, "sync", "--quiet", "--root", folder, "bench"])
            taken.append((pack, append, sync))
        for ratio, of_many, of_one in zip(ratios, *taken, strict=True):
            ratio.append(of_many / of_one)
    (size, data, blocks), (size_of_one, data_of_one, _) = packed["many"], packed["one"]
    shares = f"{size / size_of_one:7.3f} {data / data_of_one:7.3f}"
    times = " ".join(f"{statistics.median(ratio):7.2f}" for ratio in ratios)
    return f"{count:7,} {each // 1000:5} {size:11,} {shares} {blocks:7} {times}"


def counts(folder: Path, most: int) -> None:
    """Print what commands take with more and more of something."""
    taken: dict[str, list[str]] = {}
    chosen = [count for count in COUNTS if count <= most]
    for count in chosen:
        with tempfile.TemporaryDirectory(dir=folder) as name:
            for what, words in _counted(Path(name), count):
                taken.setdefault(what, []).append(f"{processor_seconds([SDB, *words]):.2f}")
    head = ["processor s", *(f"{count:,}" for count in chosen)]
    table("Many of something", head, [[what, *seconds] for what, seconds in taken.items()])


def _counted(root: Path, count: int) -> Iterator[tuple[str, list[str | Path]]]:
    """Make as many inputs, packfiles and tables, and yield what is done with them."""
    (root / "in").mkdir()
    for number in range(count):
        row = f'{{"id": {number}, "type": "t{number % 7}", "actor": {{"login": "u{number % 99}"}}}}'
        (root / f"in/{number:05}.json").write_text(f"{row}\n" * 20)
    os.environ["SDB_CACHE"] = str(root / "cache")
    db = sdb.connect(root)
    db.create("one.inputs", "file://in/*.json")
    db.create("one.packfiles", "nothing/*.json")
    for number in range(count):
        db.append("one.packfiles", [{"id": number, "type": f"t{number % 7}"}])
        db.create(f"all.t{number}", "nothing/*.json")
    rooted: list[str | Path] = ["--root", root]
    yield "sync of inputs", ["sync", "--quiet", *rooted, "one", "inputs"]
    yield "sync, nothing new", ["sync", "--quiet", *rooted, "one", "inputs"]
    query = f"SELECT COUNT(*) AS n FROM '{root}/in/*.json' WHERE actor.login = 'u5'"
    yield "query of inputs, the first", ["query", query]
    yield "query of inputs, the second", ["query", query]
    for what, query in (
        ("count of packfiles", "SELECT COUNT(*) AS n FROM one.packfiles"),
        ("group of packfiles", "SELECT type, COUNT(*) AS n FROM one.packfiles GROUP BY type"),
        ("first of packfiles", "SELECT id FROM one.packfiles ORDER BY id LIMIT 3"),
    ):
        yield what, ["query", *rooted, query]
    yield (
        "append to packfiles",
        ["insert", "--quiet", *rooted, "one.packfiles", root / "in/00000.json"],
    )
    yield "ls of tables", ["ls", *rooted, "all"]
    yield "status of tables", ["status", *rooted, "all"]


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="*", default=["queries", "sync"])
    parser.add_argument("--size", default="300MB")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--most", type=int, default=1000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        if "queries" in asked.what:
            queries(Path(name), asked.size, asked.count, asked.rounds)
        if "sync" in asked.what:
            sync(Path(name), asked.size, asked.rounds)
        if "inputs" in asked.what:
            inputs(Path(name), asked.size, asked.rounds)
        if "counts" in asked.what:
            counts(Path(name), asked.most)


if __name__ == "__main__":
    main()
