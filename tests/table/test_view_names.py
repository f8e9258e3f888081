"""Tables and views share their names, whatever happens at the same time.

Makers of tables and of views run over a store in memory, one request at a time, in an order that a
seed gives; requests fail, answers are lost, programs die. At no moment is there both a table and a
view of a name, nothing that was acknowledged is lost, and each mutation of the protocol is caught.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from sdb.errors import ConflictError, ExistsError, NotFoundError, SdbError, UnsupportedError
from sdb.records import replace
from sdb.store.faults import CrashError
from sdb.table.catalog.root import TableRoot
from sdb.table.catalog.views import find_name, find_view
from sdb.table.commit import commit as committing
from sdb.table.commit import naming, views
from sdb.table.commit.change import TableChange
from sdb.table.commit.commit import commit
from sdb.table.commit.views import create_view, drop_view, undrop_view
from sdb.table.format.index import TableIndex
from sdb.table.format.keys import TableKeys
from sdb.table.format.signature import Keyring
from sdb.table.format.state import state_of
from sdb.table.format.view import TABLE, NameClaim, ViewObject, ViewQuery
from tests.table.simulation.scheduler import LoggedStore, Schedule

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.table.simulation.scheduler import Actor

KEYS = TableKeys("d", "t")
LOCAL = Keyring.of_root(is_remote=False)
SEEDS = 400
LOST = (ConflictError, ExistsError, NotFoundError, UnsupportedError)


class World:
    """A name, and programs that want it."""

    def __init__(self, seed: int) -> None:
        self.schedule = Schedule(seed)
        self.store = LoggedStore(self.schedule)
        self.root = TableRoot("s3://b", self.store, LOCAL)
        self.made: list[tuple[str, int]] = []  # versions of the view that were acknowledged
        self.removed: list[int] = []  # how much was written before each deletion
        for number in range(self.schedule.random.randrange(2, 5)):
            work = self.schedule.random.choice((self.table_maker, self.view_maker))
            self.schedule.add(f"{work.__name__}{number}", work)

    def table_maker(self, actor: Actor) -> None:
        def made(index: TableIndex) -> TableChange | None:
            state = state_of(index.user_data)
            if state is not None and not state.dropped:
                raise ExistsError("a table")
            return TableChange("create", content=TableIndex("t"), makes_table=True)

        def dropped(index: TableIndex) -> TableChange | None:
            state = state_of(index.user_data)
            return None if state is None or state.dropped else TableChange("drop")

        for _ in range(self.schedule.random.randrange(1, 4)):
            for plan in (made, dropped):
                if self.schedule.random.random() < 0.8:
                    with suppress(SdbError):
                        commit(self.root, KEYS, plan, env=actor.env(), patience_seconds=1)

    def view_maker(self, actor: Actor) -> None:
        for _ in range(self.schedule.random.randrange(1, 5)):
            with suppress(SdbError):
                match self.schedule.random.randrange(5):
                    case 0:
                        drop_view(self.root, KEYS, env=actor.env())
                        continue
                    case 1:
                        done = undrop_view(self.root, KEYS, env=actor.env())
                    case _:
                        text = f"SELECT {len(self.store.log)} AS x"
                        is_new = self.schedule.random.random() < 0.5
                        done = create_view(
                            self.root, KEYS, ViewQuery(text), or_replace=is_new, env=actor.env()
                        )
                if done.is_new:
                    self.made.append((done.commit, done.version))


def states(world: World) -> list[tuple[bool, bool]]:
    """Return whether there was a table, and a view, after each change of the store."""
    table = view = False
    deleted = {at for url, at, _ in world.store.deleted if url.endswith("views/d/t")}
    both = []
    for at, (url, data) in enumerate(world.store.log, 1):
        if url.endswith("db/d/t/index"):
            state = state_of(TableIndex.decode(data, LOCAL).user_data)
            table = state is None or not state.dropped
        elif url.endswith("views/d/t"):
            view = ViewObject.decode(data, LOCAL).newest is not None
        both.append((table, view))
        if at in deleted:
            view = False
    return both


def faults(seed: int) -> list[str]:
    """Play a seed; return what is wrong with what happened."""
    world = World(seed)
    with suppress(CrashError):
        world.schedule.run()
    wrong = ["table and view"] if (True, True) in states(world) else []
    read = find_name(world.root, KEYS)
    known = {} if read is None else {each.commit: each.version for each in read.view.versions}
    if any(known.get(commit_id) != version for commit_id, version in world.made):
        wrong.append("a version that was acknowledged is gone")
    return wrong


def test_a_name_is_that_of_a_table_or_of_a_view() -> None:
    for seed in range(SEEDS):
        assert not faults(seed), seed


def test_both_are_made_in_some_plays() -> None:
    seen = {state for seed in range(40) for state in states(world_after(seed))}
    assert seen == {(True, False), (False, True), (False, False)}


def world_after(seed: int) -> World:
    world = World(seed)
    world.schedule.run()
    return world


def tables_claim_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(committing._Attempts, "_claimed", lambda *_: None)


def views_look_for_no_table(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(views._NewText, "_check_no_table", lambda *_: None)


def views_look_for_tables_first(patch: pytest.MonkeyPatch) -> None:
    """Look for a table before the claim, and not behind it."""
    good, check = views._NewText.put, views._NewText._check_no_table

    def put(self: Any, text: str, *, or_replace: bool) -> Any:
        check(self, "")
        return good(self, text, or_replace=or_replace)

    patch.setattr(views._NewText, "_check_no_table", lambda *_: None)
    patch.setattr(views._NewText, "put", put)


def claims_are_stale_at_once(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(views, "is_fresh", lambda *_: False)


def tables_release_too_early(patch: pytest.MonkeyPatch) -> None:
    good = naming.claim_name

    def claim_name(*args: Any) -> Any:
        claim = good(*args)
        claim.release()
        return claim

    patch.setattr(committing, "claim_name", claim_name)


def tables_do_not_look_at_views(patch: pytest.MonkeyPatch) -> None:
    def claim_name(root: Any, keys: TableKeys, env: Any) -> Any:
        def claimed(view: ViewObject) -> ViewObject:
            return replace(view, claim=NameClaim(TABLE, "x", 0))

        naming.swap_name(root, keys, claimed, env)
        return naming.ClaimedName(root, keys, "x", env)

    patch.setattr(committing, "claim_name", claim_name)


def views_do_not_ask_for_their_claim(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(views, "_holds", lambda *_: True)


@pytest.mark.parametrize(
    "mutation",
    [
        tables_claim_nothing,
        views_look_for_no_table,
        views_look_for_tables_first,
        claims_are_stale_at_once,
        tables_release_too_early,
        tables_do_not_look_at_views,
        views_do_not_ask_for_their_claim,
    ],
)
def test_a_protocol_without_a_step_is_caught(
    monkeypatch: pytest.MonkeyPatch, mutation: Callable[[pytest.MonkeyPatch], None]
) -> None:
    mutation(monkeypatch)
    assert any(faults(seed) for seed in range(SEEDS))


def test_a_claim_of_a_program_that_died_counts_for_an_hour() -> None:
    schedule = Schedule(1, fault_rate=0.0)
    root = TableRoot("s3://b", LoggedStore(schedule), LOCAL)
    naming.claim_name(root, KEYS)
    with pytest.raises(ExistsError, match="is being made"):
        create_view(root, KEYS, ViewQuery("SELECT 1 AS x"))
    schedule.seconds += naming.STALE_SECONDS
    assert create_view(root, KEYS, ViewQuery("SELECT 1 AS x")).version == 1
    assert find_view(root, "d", "t") is not None
