"""What queries know of packfiles of tables takes no more memory than it may."""

from __future__ import annotations

from sdb.packfile.trailer.blockstats import BlockStatistics, store_sections
from sdb.packfile.trailer.lazybytes import LazyBytes
from sdb.packfile.trailer.sparseindex import SparseIndex
from sdb.records import replace
from sdb.store.memory import MemoryReader, MemoryStore
from sdb.table.packfiles.lazy import StatsCache


def test_what_is_read_later_counts() -> None:
    sections = {((name,), 9): (bytes(10_000), b"") for name in ("a", "b")}
    stored = store_sections(sections)
    assert stored is not None
    body = bytes(stored.body)
    store = MemoryStore()
    with store.create("memory://x") as file:
        file.write(body)
    reader: MemoryReader = store.open("memory://x", head_bytes=1)
    late = replace(stored, body=LazyBytes(reader, 0, len(body)))
    cache = StatsCache(60_000)
    known = []
    for number in range(10):
        statistics = BlockStatistics.decode(late, 1)
        assert statistics is not None
        known.append((SparseIndex(1, stored_statistics=late), statistics))
        cache.put(("x", str(number)), known[-1])
    assert all(cache.get(("x", str(number))) for number in range(10))
    for number in range(10):
        known[number][1].load()
        cache.measure(("x", str(number)))
    left = [number for number in range(10) if cache.get(("x", str(number)))]
    assert left == [8, 9]
    cache.measure(("x", "0"))
    cache.put(("x", "9"), known[9])
    assert cache.get(("x", "8")) is known[8]
