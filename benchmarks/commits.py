"""Bytes of metadata that many commits of one packfile leave behind.

``python benchmarks/commits.py [COMMITS]`` makes a table in memory with a quarter, half and all of
the commits, each of one packfile and one input as a sync makes them, and prints what all objects
have together that are no packfiles, and the processor time of a commit.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from pathlib import Path

from sdb.packfile.write.pack import pack
from sdb.records import replace
from sdb.store.memory import MemoryStore
from sdb.table.catalog.root import TableRoot
from sdb.table.commit.change import ChangedInput, TableChange
from sdb.table.commit.commit import commit
from sdb.table.format import etags
from sdb.table.format.descriptor import Descriptor, slim
from sdb.table.format.keys import TableKeys
from sdb.table.format.signature import Keyring

KEYS = TableKeys("bench", "many")
COMMITS = 10_000
FIELDS = 40
SAMPLES = 16


def samples() -> list[Descriptor]:
    """Pack a few inputs of events, and give what an index says of them."""
    dice = random.Random(1)  # noqa: S311
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(SAMPLES):
            rows = [
                {"ts": f"2026-11-{1 + number:02}T00:00:{at:02}Z", "id": dice.getrandbits(40)}
                | {f"field_{item}": {"name": dice.choice("abc"), "n": at} for item in range(FIELDS)}
                for at in range(50)
            ]
            source = Path(folder) / "rows.json"
            source.write_text("\n".join(map(json.dumps, rows)))
            made = pack(source, Path(folder) / "rows.zion", overwrite=True)
            key = KEYS.content("", f"{number:032}")
            results.append(Descriptor(key, "", made.output_bytes, slim(made.trailer)))
    return results


def metadata(commits: int, packed: list[Descriptor]) -> int:
    """Make commits of one packfile and one input each; gives the bytes of all that they wrote."""
    store = MemoryStore()
    root = TableRoot("mem://r", store, Keyring.of_root(is_remote=False))
    dice = random.Random(2)  # noqa: S311
    for number in range(commits):
        sample = packed[number % len(packed)]
        key = KEYS.content("", dice.randbytes(20).hex().upper()[:32], str(number))
        etag = etags.of_content([dice.randbytes(8)])
        changed = replace(sample, key=key, etag=etag)
        taken = ChangedInput(f"s3://inputs/events/{number:08}.json.gz", etag)
        change = TableChange("sync", (changed,), inputs=(taken,), since_us=0)
        commit(root, KEYS, change, is_new=True)
    return sum(map(len, store.contents.values()))


def main() -> None:
    """Print bytes and times for a quarter, half and all of the commits."""
    most = int(sys.argv[1]) if len(sys.argv) > 1 else COMMITS
    packed = samples()
    before = 0
    for commits in (most // 4, most // 2, most):
        start = time.process_time()
        actual = metadata(commits, packed)
        spent = time.process_time() - start
        ratio = f"{actual / before:8.2f} times" if before else ""
        each = actual / commits
        print(
            f"{commits:8,} commits {actual / 1e6:10.1f} MB {each:10,.0f} bytes each"
            f"{spent / commits * 1e3:8.1f} ms each {ratio}"
        )
        before = actual


if __name__ == "__main__":
    main()
