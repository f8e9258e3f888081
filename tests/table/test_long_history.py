"""Long histories: what is read of them, and what they cost."""

from __future__ import annotations

from typing import TYPE_CHECKING
from unittest import mock

import pytest

from sdb.store.memory import MemoryStore
from sdb.table.catalog.handle import open_table
from sdb.table.catalog.root import TableRoot
from sdb.table.commit.change import ChangedInput, TableChange
from sdb.table.commit.commit import commit
from sdb.table.format import limits, manifests
from sdb.table.format.keys import TableKeys
from sdb.table.format.signature import Keyring
from tests.table.simulation.actors import descriptor

if TYPE_CHECKING:
    from collections.abc import Iterator

KEYS = TableKeys("d", "t")


@pytest.fixture
def short_lists() -> Iterator[None]:
    """Spill lists of versions and packfiles early, so that few commits are many."""
    with (
        mock.patch.object(limits.USUAL, "inline_versions", 8),
        mock.patch.object(limits.USUAL, "listed_versions", 24),
        mock.patch.object(limits.USUAL, "inline_packfiles", 16),
        mock.patch.object(manifests, "TARGET_BYTES", 1 << 9),
    ):
        yield


def filled(commits: int) -> TableRoot:
    """Make a table by commits of a packfile and an input each."""
    root = TableRoot("mem://r", MemoryStore(), Keyring.of_root(is_remote=False))
    for number in range(commits):
        reported = descriptor(KEYS.content("", f"{number:032}"), '"e"', ["row"])
        taken = ChangedInput(f"s3://in/{number:06}.json", '"e"')
        change = TableChange("sync", (reported,), inputs=(taken,), since_us=0)
        commit(root, KEYS, change, is_new=True)
    return root


@pytest.mark.usefixtures("short_lists")
def test_a_version_of_many_takes_four_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    root = filled(300)
    state = open_table(root, "d", "t").state
    assert state is not None
    assert len(state.older) > 10
    read: list[str] = []
    good = TableRoot.open
    monkeypatch.setattr(
        TableRoot, "open", lambda root, key, **kw: (read.append(key), good(root, key, **kw))[1]
    )
    for number in (1, 2, 137, 290, 299, 300):
        read.clear()
        actual = open_table(root, "d", "t", at=number).state
        assert actual is not None
        assert actual.version == number
        assert len(read) <= 4, read


def test_l6_13_metadata_of_many_commits_grows_by_little_more_than_their_number() -> None:
    """Twice the commits are at most 2.3 times the bytes; benchmarks/commits.py has 10,000."""
    sizes = []
    for commits in (300, 600):
        store = filled(commits).store
        assert isinstance(store, MemoryStore)
        sizes.append(sum(map(len, store.contents.values())))
    assert sizes[1] / sizes[0] <= 2.3
    assert sizes[1] / 600 < 50_000


@pytest.mark.usefixtures("short_lists")
def test_l6_13_a_narrow_filter_reads_few_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a newest file list of many nodes, a window of time reads those that it needs."""
    from sdb.packfile.prune.predicate import Both, Compare, Instant
    from sdb.packfile.trailer.sparseindex import build_indices
    from sdb.query.catalog.storedtable import TableSource
    from sdb.records import replace

    root = TableRoot("mem://r", MemoryStore(), Keyring.of_root(is_remote=False))
    minute_us = 60_000_000
    for number in range(200):
        plain = descriptor(KEYS.content("", f"{number:032}"), '"e"', ["row"])
        first_us = number * minute_us
        indices = build_indices([{("ts",): (first_us, first_us + minute_us - 1)}])
        sparse = replace(plain.trailer.sparse, indices=indices)
        changed = replace(plain, trailer=replace(plain.trailer, sparse=sparse))
        commit(root, KEYS, TableChange("insert", (changed,), since_us=0), is_new=True)
    handle = open_table(root, "d", "t")
    assert len(handle.index.indirect.refs) > 5
    read: list[str] = []
    good = TableRoot.open
    monkeypatch.setattr(
        TableRoot, "open", lambda root, key, **kw: (read.append(key), good(root, key, **kw))[1]
    )
    window = Both(
        (
            Compare(("ts",), ">=", Instant(50 * minute_us)),
            Compare(("ts",), "<", Instant(51 * minute_us)),
        )
    )
    actual = TableSource(handle).packs(window)
    assert any(pack.path.endswith(f"{50:032}.zion") for pack in actual)
    assert len(read) <= 2, read
