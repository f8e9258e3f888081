"""The store of simulations: faults, turns, and real code that is run on it."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

import sdb
from sdb import errors, retry
from sdb.packfile.read import manifest
from sdb.packfile.read.manifest import File, attempt_name
from sdb.store import url as stores
from sdb.store.faults import CrashError, Fault, StoreCall
from sdb.store.memory import MemoryStore
from tests.store.turns import Outcome, Turns

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.store.conftest import Backend

AT = "memory://simulated/x"
SEEDS = 150
WRITERS = 4


def store_of(backend: Backend) -> MemoryStore:
    store = stores.store_of(backend.root)
    assert isinstance(store, MemoryStore)
    return store


def only(verb: str, fault: Fault) -> Callable[[StoreCall], Fault | None]:
    return lambda call: fault if call.verb == verb else None


@pytest.mark.parametrize(
    ("fault", "kind", "done"),
    [
        (Fault.REFUSED, errors.SdbError, False),
        (Fault.LOST_REQUEST, errors.UncertainError, False),
        (Fault.LOST_ANSWER, errors.UncertainError, True),
        (Fault.CRASH_BEFORE, CrashError, False),
        (Fault.CRASH_AFTER, CrashError, True),
    ],
)
def test_faults_of_writes(
    memory: Backend, fault: Fault, kind: type[BaseException], *, done: bool
) -> None:
    store = store_of(memory)
    store.calls.script = only("put", fault)
    with pytest.raises(kind) as caught:
        store.put_if_match(AT, b"data", None)
    assert type(caught.value) is kind
    assert store.contents == ({AT: b"data"} if done else {})
    store.calls.script = only("delete", fault)
    with pytest.raises(kind):
        store.delete(AT)
    assert store.contents == {}


@pytest.mark.parametrize("fault", [Fault.LOST_ANSWER, Fault.LOST_REQUEST])
def test_a_lost_answer_does_not_tell_a_lost_race(memory: Backend, fault: Fault) -> None:
    store = store_of(memory)
    memory.put("x", b"theirs")
    store.calls.script = only("put", fault)
    with pytest.raises(errors.UncertainError):
        store.put_if_match(AT, b"mine", None)
    assert store.contents == {AT: b"theirs"}


def test_reads_fail_without_a_doubt(memory: Backend) -> None:
    store = store_of(memory)
    memory.put("x", b"data")
    for fault in (Fault.REFUSED, Fault.LOST_ANSWER):
        store.calls.script = only("open", fault)
        with pytest.raises(errors.SdbError) as caught:
            store.open(AT)
        assert not isinstance(caught.value, errors.UncertainError)
    store.calls.script = None
    with pytest.raises(errors.NotFoundError):
        store.open(AT + "y")


def test_what_was_replaced_is_not_read_on(memory: Backend) -> None:
    memory.put("x", bytes(1 << 20))
    with closing(stores.open_read(AT)) as reader:
        assert reader.read(0, 10) == bytes(10)
        memory.put("x", b"theirs")
        with pytest.raises(errors.ConflictError):
            reader.read(0, 10)
        store_of(memory).delete(AT)
        with pytest.raises(errors.NotFoundError):
            reader.read(0, 10)


def test_the_same_bytes_are_the_same_version(memory: Backend) -> None:
    """As on S3: a writer does not notice that an object was replaced by its like."""
    memory.put("x", b"old")
    with closing(stores.open_read(AT)) as reader:
        memory.put("x", b"new")
        memory.put("x", b"old")
        store_of(memory).put_if_match(AT, b"newer", reader)
    assert memory.get("x") == b"newer"


def test_packfiles_live_there(memory: Backend, tmp_path: Path) -> None:
    source = tmp_path / "in.json"
    source.write_text('{"n": 1}\n' * 10)
    packed = memory.at("day/a.zion")
    sdb.pack([source], packed)
    sdb.append(packed, [source])
    sdb.concat([packed, packed], memory.at("day/b.zion"))
    with sdb.sql("SELECT COUNT(*) AS n FROM '*/*.zion'", root=memory.root) as result:
        assert list(result) == [{"n": 60}]
    assert [file.path for file in sdb.describe([memory.at("day/")]).files] == [
        memory.at("day/a.zion"),
        memory.at("day/b.zion"),
    ]


def jobs() -> dict[str, list[File]]:
    names = [f"{number:032x}" for number in range(WRITERS)]
    return {job: [File(attempt_name(task, job), 1, 1) for task in range(2)] for job in names}


def published(
    turns: Turns, store: MemoryStore, backend: Backend
) -> tuple[list[str], list[Outcome]]:
    """Publish jobs at once, and give what the manifest lists afterwards."""
    wanted = jobs()

    def program(job: str) -> Callable[[], object]:
        return lambda: manifest.publish(backend.root, wanted[job], job=job)

    store.calls.script = turns
    outcomes = turns.run([program(job) for job in wanted])
    store.calls.script = None
    actual = manifest.read(backend.root) or manifest.Manifest()
    return [file.job for file in actual.files], outcomes


def run(seed: int, backend: Backend, monkeypatch: pytest.MonkeyPatch) -> tuple[Turns, list[str]]:
    """Run one seed, and check what must hold whatever happens."""
    store = MemoryStore()
    stores.register("memory", store)
    turns = Turns(seed, faults=0.15, most_crashes=2)
    monkeypatch.setattr(retry.time, "sleep", turns.pause)
    listed, outcomes = published(turns, store, backend)
    assert len(listed) == len(set(listed)) * 2, "a job counts in part, or twice"
    for job, outcome in zip(jobs(), outcomes, strict=True):
        if outcome.crashed:
            continue
        if outcome.error is None:
            assert job in listed, f"seed {seed}: {job} was acknowledged, and is lost"
        elif not isinstance(outcome.error, errors.UncertainError):
            assert isinstance(outcome.error, errors.SdbError)
            assert outcome.error.exit_code in {1, 5}
    return turns, listed


def test_jobs_that_are_published_at_once(memory: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts = set()
    for seed in range(SEEDS):
        turns, listed = run(seed, memory, monkeypatch)
        verdicts.add(len(set(listed)))
        if seed < 5:
            again = run(seed, memory, monkeypatch)[0]
            assert [call[:3] for call in again.calls] == [call[:3] for call in turns.calls]
    assert {WRITERS, WRITERS - 1} <= verdicts


def test_a_store_without_conditions_is_found_out(
    memory: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The simulation has teeth: without If-Match a job gets lost, and it says so."""
    put = MemoryStore._put
    monkeypatch.setattr(MemoryStore, "_put", lambda self, url, data, _: put(self, url, data, None))

    def run_all() -> None:
        for seed in range(SEEDS):
            run(seed, memory, monkeypatch)

    with pytest.raises(AssertionError, match="was acknowledged, and is lost"):
        run_all()
