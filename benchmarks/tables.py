"""Plans of queries on tables with many packfiles: an index made by a script, no data.

``python benchmarks/tables.py [PACKFILES]`` prints times and memory of the plan of a narrow window,
cold and warm, of the list of all packfiles and of COUNT(*); what commits write; and the log and
single versions of a table with 100,000 versions, unless ``--no-history`` is given. Times are those
of the clock and, behind them, of the processor. ``SNELLER_INDEX_KEY`` is set if it is not.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from subprocess import run
from typing import TYPE_CHECKING

import sdb
from sdb.packfile.prune.predicate import Both, Compare, Instant
from sdb.packfile.trailer.sparseindex import SparseIndex, Summary, build_indices
from sdb.packfile.trailer.trailer import Block, Trailer
from sdb.query.catalog.storedtable import TableSource
from sdb.records import replace
from sdb.table.catalog.foreign import seal_of
from sdb.table.catalog.handle import open_table
from sdb.table.catalog.root import table_root
from sdb.table.commit.change import TableChange
from sdb.table.commit.commit import commit
from sdb.table.format import etags
from sdb.table.format.descriptor import Descriptor, joined_ranges
from sdb.table.format.history import HistoryRef, PastVersion, write_history
from sdb.table.format.index import TableIndex
from sdb.table.format.keys import TableKeys, new_uid
from sdb.table.format.limits import USUAL
from sdb.table.format.manifests import IndirectTree, Writer
from sdb.table.format.signature import Keyring
from sdb.table.format.state import VersionState, with_state
from sdb.table.history.log import log

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    T = TypeVar("T")

KEYS = TableKeys("bench", "many")
HISTORY = TableKeys("bench", "long")
VERSIONS = 100_000
COMMITS = 256
SOME = (1, 50_000, 99_000)
MINUTE_US = 60_000_000
START_US = 1_700_000_000_000_000
PER_LIST = 2_500
INLINE = 256
ROWS = 10_000
SIZE = 1_001_000


def descriptor(number: int, keys: TableKeys = KEYS) -> Descriptor:
    """Make what the index says of a packfile with the rows of one minute."""
    start_us = START_US + number * MINUTE_US
    indices = build_indices([{("ts",): (start_us, start_us + MINUTE_US - 1)}])
    summary = Summary((ROWS,), {("ts",): 1 << 6}, complete=False)
    sparse = SparseIndex(1, indices=indices, summary=summary)
    trailer = Trailer(1, 1_000_000, "zion+zstd", 20, (Block(0, 4),), sparse)
    uid = new_uid()
    return Descriptor(
        f"{keys.folder}/data/{uid}.zion", etags.of_content([uid.encode()]), SIZE, trailer
    )


def make(root: Path, packfiles: int) -> None:
    """Write the index of a table and the lists that it leads to."""
    for name in ("data", "versions"):
        (root / KEYS.folder / name).mkdir(parents=True)

    def put(data: bytes) -> tuple[str, str, int | None]:
        key = KEYS.indirect(new_uid())
        (root / key).write_bytes(data)
        return key, etags.of_content([data]), None

    def fetch(key: str, etag: str) -> bytes:
        raise AssertionError((key, etag))

    refs, ranges = [], []
    for start in range(0, packfiles - INLINE, PER_LIST):
        moved = tuple(map(descriptor, range(start, min(start + PER_LIST, packfiles - INLINE))))
        tree, _ = IndirectTree().appended(moved, len(moved), Writer(fetch, put))
        refs += tree.refs
        ranges.append(joined_ranges(moved))
    inline = tuple(map(descriptor, range(packfiles - INLINE, packfiles)))
    tree = IndirectTree(tuple(refs), build_indices(ranges))
    index = TableIndex(KEYS.table, START_US, inline=inline, indirect=tree)
    state = VersionState(bytes(16), 1, "c", START_US, START_US, "insert", seal=seal_of(index))
    state = replace(state, rows=packfiles * ROWS, size_bytes=packfiles * SIZE)
    index = replace(index, user_data=with_state({}, state))
    data = index.encode(Keyring.of_root(is_remote=False))
    (root / KEYS.version(1, "c")).write_bytes(data)
    (root / KEYS.index).write_bytes(data)


def window(packfiles: int) -> Both:
    """Return a condition that two packfiles in the middle satisfy."""
    start_us = START_US + packfiles // 2 * MINUTE_US
    return Both(
        (
            Compare(("ts",), ">=", Instant(start_us)),
            Compare(("ts",), "<", Instant(start_us + 2 * MINUTE_US)),
        )
    )


def timed(name: str, work: Callable[[], T]) -> T:
    """Print how long something takes."""
    start, busy = time.perf_counter(), time.process_time()
    made = work()
    spent, worked = time.perf_counter() - start, time.process_time() - busy
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(f"{name:40} {spent * 1e3:10.1f} ms {worked * 1e3:10.1f} ms   {most:6,} MiB")
    return made


def opened(root: Path) -> TableSource:
    """Open the table."""
    return TableSource(open_table(root, KEYS.database, KEYS.table))


def measure_commits(root: Path, packfiles: int) -> None:
    """Print how many bytes commits of one packfile write: index, version, lists of packfiles."""
    path = table_root(root)

    def sizes() -> tuple[int, int]:
        st_sizes = [
            element.stat().st_size
            for element in (root / KEYS.folder).rglob("*")
            if element.is_file()
        ]
        return len(st_sizes), sum(st_sizes)

    def insert(number: int) -> int:
        change = TableChange("insert", (descriptor(packfiles + number),), since_us=0)
        commit(path, KEYS, change, is_new=True)
        return (root / KEYS.index).stat().st_size

    insert(0)
    (count, before), index = sizes(), (root / KEYS.index).stat().st_size
    written = timed(f"{COMMITS} commits", lambda: sum(map(insert, range(1, COMMITS + 1))))
    (made, after) = sizes()
    last = (root / KEYS.index).stat().st_size
    new = after - before - (last - index)
    print(
        f"a commit writes {(written + new) / COMMITS:,.0f} bytes: an index of "
        f"{written / COMMITS:,.0f}, {(made - count) / COMMITS:.2f} other objects of "
        f"{new / COMMITS:,.0f}, of which one is the index once more, as a version",
    )


def make_history(root: Path, count: int) -> None:
    """Write a table of many versions, of which the newest and a few others are there."""
    keyring = Keyring.of_root(is_remote=False)
    (root / HISTORY.folder / "versions").mkdir(parents=True)
    inline = tuple([descriptor(number, HISTORY) for number in range(INLINE)])
    state = VersionState(bytes(16), 1, "c", 0, 0, "insert", author="ada", message="more rows")
    past: list[PastVersion] = []
    refs: list[HistoryRef] = []
    for number in range(1, count + 1):
        at_us = START_US + number * MINUTE_US
        key, etag = HISTORY.version(number, "c"), '"b2sum:none"'
        if number > count - 200 or number in SOME:
            listed = tuple(past) if number > count - USUAL.inline_versions else ()
            state = replace(state, version=number, at_us=at_us, created_us=at_us, history=listed)
            index = TableIndex(HISTORY.table, at_us, inline=inline)
            state = replace(state, older=tuple(refs), seal=seal_of(index))
            data = replace(index, user_data=with_state({}, state)).encode(keyring)
            etag = etags.of_content([data])
            (root / (key if number < count else HISTORY.index)).write_bytes(data)
        past.append(PastVersion(number, at_us, key, etag, "insert", number))
        if len(past) == USUAL.listed_versions or number == count - USUAL.inline_versions // 2:
            listing = write_history(tuple(past))
            path = HISTORY.history(new_uid())
            (root / path).write_bytes(listing)
            ends = (past[0].version, number, past[0].at_us, at_us)
            refs.append(HistoryRef(path, etags.of_content([listing]), *ends, len(past)))
            past = []


def measure_history(root: Path) -> None:
    """Print how long the newest 20 of many versions take, and one among them."""
    timed(f"make {VERSIONS:,} versions", lambda: make_history(root, VERSIONS))
    print(f"index of {(root / HISTORY.index).stat().st_size:,} bytes")
    head = timed("open the index", lambda: open_table(root, "bench", "long"))
    actual = timed("the newest 20", lambda: list(islice(log(head), 20)))
    print(f"{len(actual)} versions, the newest is {actual[0].version:,}")
    for number in SOME:
        timed(f"version {number:,}", lambda number=number: head.at(number))  # type: ignore[misc]
    command = [sys.executable, "-m", "sdb.cli.main", "log", "--root", str(root), "bench.long"]
    timed("sdb log, whole process", lambda: run(command, check=True, capture_output=True))
    timed("sdb log, whole process again", lambda: run(command, check=True, capture_output=True))
    timed("sdb --version, for comparison", lambda: run([*command[:3], "version"], check=True))


def main() -> None:
    """Make a table and measure its plans."""
    os.environ.setdefault("SNELLER_INDEX_KEY", "azAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDA=")
    packfiles = next((int(word) for word in sys.argv[1:] if word.isdigit()), 100_000)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        timed(f"make {packfiles:,} packfiles", lambda: make(root, packfiles))
        sizes = [path.stat().st_size for path in root.rglob("indirect-*")]
        print(
            f"{len(sizes):,} lists of {max(sizes):,} bytes,",
            f"index of {(root / KEYS.index).stat().st_size:,}",
        )
        test = window(packfiles)
        table = timed("open the index", lambda: opened(root))
        chosen = timed("narrow window, cold", lambda: table.packs(test))
        timed("narrow window, warm", lambda: table.packs(test))
        first = {id(item) for item in chosen}
        everything = timed("all packfiles", table.packs)
        print(f"{len(first):,} of {len(everything):,} packfiles listed")
        del everything
        count = f"SELECT COUNT(*) FROM {KEYS.database}.{KEYS.table}"
        rows = timed("COUNT(*)", lambda: sdb.sql(count, root=root).to_arrow())
        print(f"{rows[0][0].as_py():,} rows")
        measure_commits(root, packfiles)
        if "--no-history" not in sys.argv:
            measure_history(root)


if __name__ == "__main__":
    main()
