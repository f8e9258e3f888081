from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sdb
from sdb.errors import AccessError, ConflictError, InputError, UncertainError
from sdb.table.catalog.handle import open_table
from sdb.table.catalog.root import table_root
from sdb.table.commit.change import TransactionDoneError
from sdb.table.commit.commit import commit, find_commit
from sdb.table.format import limits
from sdb.table.format.keys import TableKeys
from sdb.table.insert import groupcommit
from sdb.table.insert.insert import insert
from tests.table import test_commit
from tests.table.test_commit import added, head, overwrite, root

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sdb.client.connection import Connection
    from sdb.table.catalog.root import TableRoot
    from sdb.table.insert.insert import Inserted

__all__ = ["root"]
KEYS = TableKeys("d", "t")
SECONDS = 60


@pytest.fixture
def db(tmp_path: Path) -> Connection:
    connection = sdb.connect(tmp_path)
    connection.create("d.t", "in/*.json")
    return connection


def at_once(db: Connection, appends: list[dict[str, Any]]) -> list[Inserted | Exception]:
    """Start a thread for each append at the same time; return what becomes of each."""
    ready = threading.Barrier(len(appends))

    def run(options: dict[str, Any]) -> Inserted | Exception:
        ready.wait(SECONDS)
        try:
            return db.append("d.t", **options)
        except Exception as error:  # noqa: BLE001 - what a thread gets
            return error

    with ThreadPoolExecutor(len(appends)) as pool:
        return list(pool.map(run, appends, timeout=SECONDS))


def values(db: Connection) -> Counter[int]:
    rows = db.sql("SELECT a FROM d.t").to_arrow().to_pylist()
    return Counter(row["a"] for row in rows)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, Callable[[], None]], None]:
    """Hold the first commit up until this many appends wait, and do something else before."""

    def hold(count: int, work: Callable[[], None]) -> None:
        good = groupcommit._Group._lead
        begun: list[bool] = []

        def lead(group: groupcommit._Group) -> None:
            while len(group._waiting) < count and not begun:
                threading.Event().wait(0.001)
            if not begun:
                begun.append(True)
                work()
            good(group)

        monkeypatch.setattr(groupcommit._Group, "_lead", lead)

    return hold


ids = st.sampled_from(["", "", "a", "b"])
some = st.lists(st.tuples(ids, st.integers(0, 3), st.booleans()), min_size=1, max_size=12)


@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(some)
def test_each_append_is_there_once(
    tmp_path_factory: pytest.TempPathFactory, chosen: list[tuple[str, int, bool]]
) -> None:
    db = sdb.connect(tmp_path_factory.mktemp("lake"))
    db.create("d.t", "in/*.json")
    appends, bad = [], set()
    for number, (txn_id, count, is_bad) in enumerate(chosen):
        inputs: list[dict[str, object]] = [{"a": number}] * count
        if is_bad:
            bad.add(number)
            inputs.append({"a": object()})
        appends.append({"inputs": inputs, "txn_id": txn_id})
    reported = at_once(db, appends)
    expected: Counter[int] = Counter()
    for number, (txn_id, count, _) in enumerate(chosen):
        actual = reported[number]
        if number in bad:
            assert isinstance(actual, InputError)
        elif count:
            assert not isinstance(actual, Exception), actual
            if actual.is_new:
                assert actual.packed is not None
                assert actual.packed.rows == count
                expected[number] += count
            else:
                assert txn_id
    assert (values(db) if expected else Counter()) == expected
    done = [item for number, item in enumerate(reported) if number not in bad and chosen[number][1]]
    for txn_id in ("a", "b"):
        same = [item for item in done if not isinstance(item, Exception) and item.commit == txn_id]
        assert sum(item.is_new for item in same) == bool(same)
        assert len({item.version for item in same}) <= 1


def test_many_appends_are_one_version(db: Connection, held: Any) -> None:
    held(10, lambda: None)
    appends = [
        {"inputs": [{"a": number}], "txn_id": f"id-{number}" if number % 2 else "", "message": "m"}
        for number in range(10)
    ]
    reported = at_once(db, appends)
    assert {item.version for item in reported if not isinstance(item, Exception)} == {1}
    handle = open_table(db.root, "d", "t")
    state = handle.state
    assert state is not None
    assert len(handle.index.inline) == 1, "rows in memory share a packfile"
    assert (state.rows, state.message, len(state.ids)) == (10, "m", 5)
    again = at_once(db, appends)
    assert [item.is_new for item in again if not isinstance(item, Exception)] == [True, False] * 5
    assert values(db) == Counter({number: 2 - number % 2 for number in range(10)})
    assert db.table("d.t").validate().ok


def test_the_same_row_under_the_same_id_is_one_append(db: Connection, held: Any) -> None:
    held(3, lambda: None)
    reported = at_once(db, [{"inputs": [{"a": 1}], "txn_id": "x"}] * 3)
    assert sorted(item.is_new for item in reported if not isinstance(item, Exception)) == [0, 0, 1]
    assert values(db) == Counter({1: 1})


def test_rows_that_cannot_be_packed_are_the_error_of_one(db: Connection, held: Any) -> None:
    held(4, lambda: None)
    wide = {"a": 9, "b": "x" * 5_000}
    rows = [[{"a": 1}], [{"a": 2}], [wide], [{"a": 3}]]
    *good, last = at_once(db, [{"inputs": row, "align_bytes": 4096} for row in rows])
    reported = [*good, last]
    assert isinstance(reported[2], InputError)
    assert not any(isinstance(reported[number], Exception) for number in (0, 1, 3))
    assert values(db) == Counter([1, 2, 3])


def test_a_transaction_that_someone_else_did_is_left_out(db: Connection, held: Any) -> None:
    held(3, lambda: insert(db.root, "d", "t", [{"a": 7}], txn_id="x") and None)
    appends = [{"inputs": [{"a": 1}], "txn_id": name} for name in ("x", "y", "")]
    reported = at_once(db, appends)
    assert [item.is_new for item in reported if not isinstance(item, Exception)] == [
        False,
        True,
        True,
    ]
    assert values(db) == Counter([7, 1, 1])


def test_an_error_of_the_commit_is_told_to_all(
    db: Connection, held: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    held(3, lambda: None)

    def refuse(*_: Any, **__: Any) -> None:
        raise ConflictError("busy", hint="run it again")

    with monkeypatch.context() as patch:
        patch.setattr(groupcommit, "commit", refuse)
        reported = at_once(db, [{"inputs": [{"a": 1}]}] * 3)
    assert all(isinstance(item, ConflictError) and item.hint for item in reported)
    assert len({id(item) for item in reported}) == 3, "each thread has its own error"
    assert db.append("d.t", [{"a": 2}]).version == 1


@pytest.mark.parametrize("is_done", [False, True])
def test_whoever_waits_goes_on_for_an_interrupted_leader(
    db: Connection, held: Any, monkeypatch: pytest.MonkeyPatch, is_done: bool
) -> None:
    held(4, lambda: None)
    good, calls = groupcommit.commit, []

    def interrupted(*args: Any, **options: Any) -> Any:
        calls.append(options["commit_id"])
        if len(calls) == 1:
            if is_done:
                good(*args, **options)
            raise KeyboardInterrupt
        return good(*args, **options)

    monkeypatch.setattr(groupcommit, "commit", interrupted)
    outcomes: list[BaseException | Inserted] = []

    def run(number: int) -> None:
        try:
            outcomes.append(db.append("d.t", [{"a": number}]))
        except KeyboardInterrupt as error:
            outcomes.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    assert sum(isinstance(thread, KeyboardInterrupt) for thread in outcomes) == 1
    assert len(outcomes) == 4
    assert len(set(calls)) == 1, "the same commit, in any thread"
    assert values(db) == Counter(range(4))


def test_what_an_interrupted_leader_has_begun_may_be_done(
    db: Connection, held: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who goes on for it, and cannot, does not know whether the rows are there: here they are."""
    held(3, lambda: None)
    good, begun = groupcommit.commit, threading.Event()

    def interrupted(*args: Any, **options: Any) -> Any:
        good(*args, **options)
        begun.set()
        raise KeyboardInterrupt

    def failing(*args: Any, **options: Any) -> Any:
        if begun.is_set():
            raise AccessError("the store is away")
        return pack_rows(*args, **options)

    pack_rows = groupcommit.pack_rows
    monkeypatch.setattr(groupcommit, "commit", interrupted)
    monkeypatch.setattr(groupcommit, "pack_rows", failing)
    outcomes: dict[int, BaseException | Inserted] = {}

    def run(number: int) -> None:
        try:
            outcomes[number] = db.append("d.t", [{"a": number}], txn_id=f"id-{number}")
        except BaseException as error:  # noqa: BLE001 - what a thread gets
            outcomes[number] = error

    threads = [threading.Thread(target=run, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    assert values(db) == Counter(range(3))
    counts = Counter(type(thread) for thread in outcomes.values())
    assert counts == {KeyboardInterrupt: 1, UncertainError: 2}


def test_a_thread_alone_does_not_wait(db: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groupcommit, "INTERVAL_SECONDS", 3600.0)
    for number in range(3):
        assert db.append("d.t", [{"a": number}]).version == number + 1


def test_ids_are_found_in_old_versions_and_after_other_programs(
    root: TableRoot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits.USUAL, "inline_versions", 6)
    both = test_commit.replace(added(root, "a", "b"), ids=("x", "y"))
    assert commit(root, KEYS, both, commit_id="group").version == 1
    before = head(root).index
    third = test_commit.replace(added(root, "c"), ids=("z",))
    commit(root, KEYS, third)
    for number in range(12):
        commit(root, KEYS, added(root, f"more-{number}"))
    assert [find_commit(root, KEYS, item) for item in ("x", "y", "z", "group")] == [1, 1, 2, 1]
    assert find_commit(root, KEYS, "w") is None
    with pytest.raises(TransactionDoneError) as raised:
        commit(root, KEYS, test_commit.replace(added(root, "d"), ids=("n", "y", "z")))
    assert raised.value.versions == {"y": 1, "z": 2}
    # Another program throws away all but the first version: what is done again keeps its ids.
    overwrite(root, test_commit.replace(before, created_us=10**15))
    assert not commit(root, KEYS, added(root, "c2"), commit_id="z").is_new
    assert find_commit(root, KEYS, "x") == 1
    again = find_commit(root, KEYS, "z")
    assert again is not None
    assert again > 14


def test_relative_roots_are_those_of_their_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        db = sdb.connect()
        db.create("d.t", "in/*.json")
        assert db.append("d.t", [{"a": 1}]).version == 1
    assert open_table(table_root(tmp_path / "one"), "d", "t").index.objects == 1
