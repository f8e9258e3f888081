"""One program at a time: threads that run one after the other, in an order that a seed gives.

An actor that is about to call the store waits here, and the dice choose who goes on, what goes
wrong with the request, how long the others are held up, and what the clocks say.
"""

from __future__ import annotations

import threading
from random import Random
from typing import TYPE_CHECKING, Any

from sdb.store.faults import CrashError, Fault
from sdb.store.memory import MemoryStore
from sdb.table.commit.environment import Environment
from sdb.table.format.limits import Limits

if TYPE_CHECKING:
    from collections.abc import Callable

    from sdb.store.faults import StoreCall

START_US = 1_700_000_000_000_000
HOUR_US = 3_600_000_000
DAY_SECONDS = 86_400
FAULTS = tuple(Fault)
MOST_CALLS = 20_000
LIMITS = Limits(
    inline_packfiles=5,
    inline_versions=4,
    listed_versions=9,
    journal_entries=4,
    copiers=1,
    deleters=1,
    reads_ahead=False,
    lease_seconds=DAY_SECONDS,  # readers renew their leases more slowly here
    tier_members=2,
    tier_factor=2,
)
"""Lists spill and nodes split early, and one request runs after the other."""


class Actor:
    """A program: a thread that runs when it is its turn."""

    def __init__(self, name: str, work: Callable[[Actor], None], schedule: Schedule) -> None:
        self.name = name
        self.schedule = schedule
        self.gate = threading.Lock()
        self.gate.acquire()
        self.skew_us = 0
        self.held_up = 0
        self.fault_rate = schedule.fault_rate
        self.failure: BaseException | None = None
        self._work = work
        self.thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        self.gate.acquire()
        try:
            self._work(self)
        except CrashError:
            pass
        except BaseException as error:  # noqa: BLE001 - told by the schedule
            self.failure = error
        self.schedule.leave(self)

    def env(self) -> Environment:
        schedule = self.schedule
        return Environment(
            limits=LIMITS,
            now_us=self.now_us,
            elapsed=lambda: schedule.seconds,
            sleep=schedule.sleep,
            random_bytes=schedule.random.randbytes,
            uniform=schedule.random.uniform,
        )

    def now_us(self) -> int:
        return START_US + int(self.schedule.seconds * 1e6) + self.skew_us


class Schedule:
    """The order in which actors run, and what happens to them."""

    def __init__(self, seed: int, *, fault_rate: float | None = None) -> None:
        self.random = Random(seed)
        rates = (0.0, 0.02, 0.08)
        self.fault_rate = self.random.choice(rates) if fault_rate is None else fault_rate
        self.seconds = 0.0
        self.calls = 0
        self.actors: list[Actor] = []
        self.current: Actor | None = None
        self.hurried = 0
        self.long_days = 0.0
        self.jump_us = 2 * HOUR_US
        self.alone: Actor | None = None
        self._over = threading.Lock()

    def add(self, name: str, work: Callable[[Actor], None]) -> Actor:
        actor = Actor(name, work, self)
        self.actors.append(actor)
        return actor

    def run(self) -> None:
        """Run all actors to their ends; the first failure is raised."""
        self._over.acquire()
        everyone = list(self.actors)
        for actor in everyone:
            actor.thread.start()
        self._hand_over()
        self._over.acquire()
        self._over.release()
        for actor in everyone:
            actor.thread.join()
        self.current = None
        for actor in everyone:
            if actor.failure is not None:
                raise actor.failure

    def leave(self, actor: Actor) -> None:
        self.actors.remove(actor)
        if self.actors:
            self._hand_over()
        else:
            self._over.release()

    def script(self, _: StoreCall) -> Fault | None:
        """Schedule another actor, and return the fault of a call."""
        me = self.current
        if me is None:
            return None
        self.calls += 1
        if self.calls > MOST_CALLS:
            raise AssertionError(f"more than {MOST_CALLS:,} calls")
        self.seconds += self.random.random() * 0.01
        self.switch(me)
        dice = self.random.random()
        if dice < me.fault_rate:
            return self.random.choice(FAULTS)
        if dice > 0.995:
            me.skew_us += self.random.choice((-1, 1)) * self.random.randrange(self.jump_us)
        if dice > 0.96:
            me.held_up = self.random.randrange(60)
        if self.long_days and self.random.random() < self.long_days:
            self.pass_time(self.random.choice((3600, 1.25 * DAY_SECONDS)))
        return None

    def pass_time(self, seconds: float) -> None:
        """Advance the clock of everybody, unless someone must not be that slow."""
        if not self.hurried:
            self.seconds += seconds

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds
        if self.current is not None:
            self.switch(self.current)

    def switch(self, me: Actor) -> None:
        if self._hand_over(me) is not me:
            me.gate.acquire()

    def _hand_over(self, me: Actor | None = None) -> Actor:
        ready = [actor for actor in self.actors if not actor.held_up]
        for actor in self.actors:
            actor.held_up = max(0, actor.held_up - 1)
        chosen = self.random.choice(ready or self.actors)
        if self.alone is not None and self.alone is me:
            chosen = self.alone
        self.current = chosen
        if chosen is not me:
            chosen.gate.release()
        return chosen


class LoggedStore(MemoryStore):
    """A store that knows all that was ever written, in its order."""

    def __init__(self, schedule: Schedule) -> None:
        super().__init__(schedule.script, lambda: START_US + int(schedule.seconds * 1e6))
        self.log: list[tuple[str, bytes]] = []
        self.times: list[float] = []
        self.written: dict[str, bytes] = {}
        self.deleted: list[tuple[str, int, float]] = []
        self.deleters: dict[str, str] = {}
        self.writers: list[str] = []
        self.nobody = ""
        self._schedule = schedule
        self._objects = _Logged(self, schedule)

    def is_by(self, prefix: str) -> bool:
        """Return whether the actor that runs has a name that begins so."""
        current = self._schedule.current
        return current is not None and current.name.startswith(prefix)


class _Logged(dict[str, Any]):
    """Objects, and a log of what was put among them and taken away."""

    def __init__(self, store: LoggedStore, schedule: Schedule) -> None:
        super().__init__()
        self._store, self._schedule = store, schedule

    def __setitem__(self, url: str, actual: Any) -> None:
        self._store.log.append((url, actual.data))
        self._store.times.append(self._schedule.seconds)
        self._store.written[url] = actual.data
        self._store.writers.append(self._who())
        super().__setitem__(url, actual)

    def _who(self) -> str:
        current = self._schedule.current
        return self._store.nobody if current is None else current.name

    def pop(self, url: str, *default: Any) -> Any:
        if url in self:
            self._store.deleted.append((url, len(self._store.log), self._schedule.seconds))
            self._store.deleters[url] = self._who()
        return super().pop(url, *default)
