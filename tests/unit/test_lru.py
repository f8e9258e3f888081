"""Caches: what was not used for longest goes first, by number, size or age."""

from __future__ import annotations

import threading

from sdb.lru import LruCache


def test_what_was_not_used_for_longest_goes_first() -> None:
    cache: LruCache[str, int] = LruCache(most_entries=2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") == 1
    cache.put("c", 3)
    assert (cache.get("a"), cache.get("b"), cache.get("c"), len(cache)) == (1, None, 3, 2)


def test_a_value_that_is_put_again_takes_the_place_of_the_old_one() -> None:
    cache: LruCache[str, bytes] = LruCache(most_bytes=5, size_of=len)
    for _ in range(9):
        cache.put("a", b"xxx")
    cache.put("b", b"yy")
    assert (cache.get("a"), cache.get("b")) == (b"xxx", b"yy")


def test_bytes_are_bounded() -> None:
    cache: LruCache[str, bytes] = LruCache(most_bytes=5, size_of=len)
    cache.put("a", b"xxx")
    cache.put("b", b"yyy")
    assert (cache.get("a"), cache.get("b")) == (None, b"yyy")
    cache.put("c", b"zzzzzz")
    assert len(cache) == 0
    cache.put("d", b"vvvvv")
    assert cache.get("d") == b"vvvvv"


def test_values_may_grow() -> None:
    cache: LruCache[str, list[int]] = LruCache(most_bytes=5, size_of=len)
    grows: list[int] = []
    cache.put("a", grows)
    cache.put("b", [1])
    grows += [1, 2, 3, 4]
    cache.measure("a")
    assert len(cache) == 2
    grows.append(5)
    cache.measure("a")
    cache.measure("nothing")
    assert (cache.get("a"), cache.get("b")) == (None, [1])


def test_old_values_are_forgotten() -> None:
    now = [0.0]
    cache: LruCache[str, int] = LruCache(fresh_seconds=10, elapsed=lambda: now[0])
    cache.put("a", 1)
    now[0] = 9.9
    assert cache.get("a") == 1
    now[0] = 10.0  # that it was used does not make it fresh
    assert cache.get("a") is None
    assert len(cache) == 0


def test_forgetting() -> None:
    cache: LruCache[str, bytes] = LruCache(most_bytes=3, size_of=len)
    cache.put("a", b"xxx")
    cache.forget("a")
    cache.forget("a")
    cache.put("b", b"yyy")
    assert cache.get("b") == b"yyy"
    cache.clear()
    assert (cache.get("b"), len(cache)) == (None, 0)


def test_threads_share_it() -> None:
    cache: LruCache[int, bytes] = LruCache(most_entries=50, most_bytes=400, size_of=len)

    def work(seed: int) -> None:
        for number in range(3_000):
            key = (seed * number) % 97
            if cache.get(key) is None:
                cache.put(key, bytes(key % 13))
            if number % 7 == 0:
                cache.forget(key)

    threads = [threading.Thread(target=work, args=[seed]) for seed in (3, 5, 7, 11)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(cache) <= 50
    left = {key: cache.get(key) for key in range(97)}
    assert all(value is None or value == bytes(key % 13) for key, value in left.items())
    assert sum(len(value) for value in left.values() if value) <= 400
