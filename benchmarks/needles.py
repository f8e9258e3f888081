"""Needles: one row in many, by block statistics, without them, and by DuckDB on Parquet.

    python benchmarks/needles.py [--megabytes 1000] [--packfiles 100] [--probes 1000000]
        [--block-size 4MiB] [--stats auto|PATH,...]

Rows are events with ids, users and addresses, in the order of time. Parquet has zstd, and what
DuckDB writes of its own: Bloom filters and statistics of row groups. Times are those of whole
processes, the best of five, and so are ratios; bytes are those of the blocks that a query reads.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paired import compiled

import sdb
from sdb import bounds
from sdb.packfile.read.search import search
from sdb.packfile.trailer.blockstats import TEXTS

if TYPE_CHECKING:
    from collections.abc import Iterator

ROW_BYTES = 300
USERS = 20_000
SYLLABLES = (
    *("ba", "con", "der", "est", "fla", "gor", "hin", "ity", "jum", "ker", "lo", "men", "nor"),
    *("over", "pre", "qui", "re", "sta", "tion", "un", "ver"),
)
WORDS = 20_000
RARE = "questable"
PARQUET = "COPY (FROM read_json('{0}')) TO '{1}' (FORMAT parquet, COMPRESSION zstd)"


def vocabulary() -> list[str]:
    """Make words, of which the first ones occur most."""
    rng = random.Random(1)  # noqa: S311 - the same each time
    made = {"".join(rng.choices(SYLLABLES, k=rng.randrange(1, 5))): None for _ in range(2 * WORDS)}
    return [item for item in made if RARE not in item][:WORDS]


def rows(count: int, part: int = 0, parts: int = 1) -> Iterator[dict[str, Any]]:
    """Make events, or a part of them; each id occurs once, a user in one stretch of the time.

    One event has a word that occurs nowhere else.
    """
    rng = random.Random(part)  # noqa: S311 - the same each time
    words = vocabulary()
    for number in range(count * part // parts, count * (part + 1) // parts):
        message = [words[int(len(words) ** rng.random()) - 1] for _ in range(12)]
        if number == count // 3:
            message[7] = RARE
        user = (number * USERS // count + rng.randrange(3)) % USERS
        yield {
            "time": f"2026-01-{1 + number * 28 // count:02}T{number % 24:02}:00:{number % 60:02}Z",
            "id": event_id(number),
            "user": f"user-{user:06}",
            "ip": ".".join(str(rng.randrange(256)) for _ in range(4)),
            "status": rng.choice([200, 200, 200, 404, 500]),
            "bytes": rng.randrange(1 << 20),
            "message": " ".join(message),
            "request": {"id": f"{rng.getrandbits(128):032x}", "path": f"/v1/{rng.randrange(9999)}"},
        }


def event_id(number: int) -> str:
    """Return the id of an event, which tells nothing of its place."""
    return f"{number * 0x9E3779B97F4A7C15 % (1 << 64):016x}"


def write_rows(path: Path, count: int, part: int = 0, parts: int = 1) -> None:
    """Write events as lines of JSON."""
    with path.open("w") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows(count, part, parts))


def seconds(*command: str) -> float:
    """Return the time of a process, the best of five."""
    best = float("inf")
    for _ in range(5):
        started = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True, env=compiled())
        best = min(best, time.perf_counter() - started)
    return best


def in_duckdb(sql: str) -> tuple[str, ...]:
    """Return the command that has DuckDB answer a query."""
    copied = f"COPY ({sql}) TO '/dev/stdout' (FORMAT json)"
    return sys.executable, "-c", f"import duckdb; duckdb.execute({copied!r})"


def in_sdb(sql: str, *options: str) -> tuple[str, ...]:
    """Return the command that has `sdb` answer a query."""
    return sys.executable, "-m", "sdb", "query", "--fmt", "json", *options, sql


def line(what: str, *figures: str) -> None:
    """Print a line of the table."""
    print(f"{what:44}", *(f"{figure:>16}" for figure in figures), flush=True)


def one_id(folder: Path, count: int) -> None:
    """Look for an event by its id."""
    wanted = event_id(count // 3)
    pack, parquet = folder / "rows.zion", folder / "rows.parquet"
    query = f"SELECT * FROM read_file('{pack}') WHERE id = '{wanted}'"
    with sdb.sql(query) as result:
        assert len(list(result)) == 1
        read = result.reading
    own = seconds(*in_sdb(query))
    unpruned = seconds(*in_sdb(query, "--no-prune"))
    other = seconds(*in_duckdb(f"SELECT * FROM '{parquet}' WHERE id = '{wanted}'"))
    share = read.stored_bytes / read.all_stored_bytes
    line("one id: bytes, of all", f"{read.stored_bytes:,}", f"{share:.2%}")
    line("  blocks, of all", f"{read.blocks:,}", f"{read.all_blocks:,}")
    line("  whole process", f"{own * 1000:.0f} ms")
    line("  unpruned, DuckDB on Parquet", f"{unpruned / own:.2f} x", f"{other / own:.2f} x")


def one_word(folder: Path, stats: str, block_bytes: int) -> None:
    """Search for a word that one event has, in its message or in any text."""
    plain, pack = folder / "rows.zion", folder / "words.zion"
    sdb.pack([folder / "rows.json"], pack, block_bytes=block_bytes, stats=stats, overwrite=True)
    with sdb.open(plain) as first, sdb.open(pack) as other:
        more = other.size_bytes / first.size_bytes - 1
        ranges = [other.trailer.block_range(number) for number in range(len(other.blocks))]
        chosen = search(RARE).selection(other).blocks
        if "message" in stats:
            chosen = search(RARE, fields=["message"]).selection(other).blocks
    read, whole = sum(ranges[n][1] - ranges[n][0] for n in chosen), ranges[-1][1]
    fields = ("--fields", "message") if "message" in stats else ()
    command = sys.executable, "-m", "sdb", "grep", *fields, RARE
    own, unpruned = (seconds(*command, str(item)) for item in (pack, plain))
    line(f"rare word, {stats}: bytes, of all", f"{read:,}", f"{read / whole:.2%}")
    line("  blocks, of all", f"{len(chosen):,}", f"{len(ranges):,}")
    line("  words, of the packfile", f"{more:.2%}")
    line("  whole process, unpruned", f"{own * 1000:.0f} ms", f"{unpruned / own:.2f} x")


def one_network(folder: Path, count: int, block_bytes: int) -> None:
    """Look for the events of networks, of addresses all over the net."""
    plain, pack = folder / "rows.zion", folder / "prefixes.zion"
    stats = "auto,prefixes:ip"
    sdb.pack([folder / "rows.json"], pack, block_bytes=block_bytes, stats=stats, overwrite=True)
    with sdb.open(plain) as first, sdb.open(pack) as other:
        more = other.size_bytes / first.size_bytes - 1
    line("prefixes, of the packfile", f"{more:.2%}")
    wanted = event_id(count // 3)
    with sdb.sql(f"SELECT ip FROM read_file('{pack}') WHERE id = '{wanted}'") as result:
        ((address,),) = (row.values() for row in result)
    for length in (32, 28, 24, 20, 16):
        where = f"IS_SUBNET_OF('{address}/{length}', ip)"
        query = f"SELECT COUNT(*) AS n FROM read_file('{pack}') WHERE {where}"
        with sdb.sql(query) as result:
            ((rows,),) = (row.values() for row in result)
            read = result.reading
        own, unpruned = (seconds(*in_sdb(query, *more)) for more in ((), ("--no-prune",)))
        line(f"one network of /{length}: events", f"{rows:,}")
        line("  blocks, of all", f"{read.blocks:,}", f"{read.all_blocks:,}")
        line("  whole process, unpruned", f"{own * 1000:.0f} ms", f"{unpruned / own:.2f} x")


def joins(folder: Path) -> None:
    """Join the events with a ninth of them, whose keys leave out no block."""
    large, small = folder / "rows.zion", folder / "ninth.zion"
    source = folder / "ninth.json"
    with (folder / "rows.json").open() as lines, source.open("w") as file:
        file.writelines(islice(lines, 0, None, 9))
    sdb.pack([source], small)
    for key in ("id", "ip", "user", "time"):
        query = (
            f"SELECT COUNT(*) AS n FROM read_file('{large}') AS a JOIN read_file('{small}') AS b"
            f" ON a.{key} = b.{key} WHERE b.status = 404"
        )
        own, unpruned = (seconds(*in_sdb(query, *more)) for more in ((), ("--no-prune",)))
        line(f"a join by {key}, unpruned", f"{own * 1000:.0f} ms", f"{unpruned / own:.2f} x")


def one_user(folder: Path, count: int, packfiles: int) -> None:
    """Look for the events of a user in a table of many packfiles."""
    root = folder / "root"
    db = sdb.connect(str(root))
    db.create("web.log", "in/*.json")
    for number in range(packfiles):
        source = folder / "part.json"
        write_rows(source, count, number, packfiles)
        db.append("web.log", source)
    wanted = "user-010000"
    query = f"SELECT COUNT(*) AS n FROM web.log WHERE user = '{wanted}'"
    with sdb.sql(query, root=str(root)) as result:
        n = next(iter(result))["n"]
        read = result.reading
    with sdb.sql(query.replace("COUNT(*) AS n", "DISTINCT _file AS n"), root=str(root)) as result:
        holding = len(list(result))
    line(
        f"one user: {n:,} events, blocks read, of all",
        f"{read.blocks:,}",
        f"{read.all_blocks:,}",
    )
    line("  packfiles that hold them", f"{holding:,}")
    line("  bytes read, of all", f"{read.stored_bytes:,}", f"{read.all_stored_bytes:,}")


def false_positives(folder: Path, probes: int) -> None:
    """Ask the filter of ids for ids that are not there."""
    with sdb.open(folder / "rows.zion") as pack:
        _, statistics = pack.known
    actual = None if statistics is None else statistics.texts(("id",))
    if statistics is None or actual is None:
        line("no filter of ids")
        return
    rng = random.Random(3)  # noqa: S311 - the same each time
    held = asked = 0
    while asked < probes:
        answers = actual.blocks(f"{rng.getrandbits(64):016x}")
        held += sum(answers)
        asked += len(answers)
    size = statistics.sizes[("id",), TEXTS]
    line("false positives, of probes", f"{held / asked:.3%}", f"{asked:,}")
    line("  bytes of the filter", f"{size:,}")


def main() -> None:
    """Measure, and print a table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--megabytes", type=int, default=40)
    options.add_argument("--packfiles", type=int, default=10)
    options.add_argument("--probes", type=int, default=100_000)
    options.add_argument("--block-size", default="1MiB")
    options.add_argument("--stats")
    asked = options.parse_args()
    count = asked.megabytes * 1_000_000 // ROW_BYTES
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = folder / "rows.json"
        write_rows(source, count)
        import duckdb

        duckdb.sql(PARQUET.format(source, folder / "rows.parquet"))
        block_bytes = bounds.BLOCK.read(asked.block_size)
        chosen = {} if asked.stats is None else {"stats": asked.stats}
        sdb.pack([source], folder / "rows.zion", block_bytes=block_bytes, **chosen)
        with sdb.open(folder / "rows.zion") as pack:
            stored = pack.trailer.sparse.stored_statistics
            size = 0 if stored is None else stored.size_bytes
            line("statistics, of the packfile", f"{size:,}", f"{size / pack.size_bytes:.2%}")
        source_bytes = source.stat().st_size
        line("rows, bytes of JSON", f"{count:,}", f"{source_bytes:,}")
        one_id(folder, count)
        false_positives(folder, asked.probes)
        for stats in ("auto,words:message", "auto,words"):
            one_word(folder, stats, block_bytes)
        one_network(folder, count, block_bytes)
        joins(folder)
        one_user(folder, count, asked.packfiles)


if __name__ == "__main__":
    main()
