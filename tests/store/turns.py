"""Runs programs in turns that a seed chooses: one at a time, switching at each call of a store."""

from __future__ import annotations

import random
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdb.store.faults import CrashError, Fault

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sdb.store.faults import StoreCall

PATIENCE_SECONDS = 60
_sleep = time.sleep


@dataclass
class Outcome:
    """What became of a program; both are None when it was killed."""

    value: object = None
    error: Exception | None = None
    crashed: bool = False


class Turns:
    """A script of :class:`sdb.store.memory.MemoryStore`, and what runs the programs.

    Two runs with the same seed and programs make the same calls in the same order.
    """

    def __init__(self, seed: int, faults: float = 0.0, most_crashes: int = 0) -> None:
        self._random = random.Random(seed)
        self._faults = faults
        self._crashes_left = most_crashes
        self._back = threading.Semaphore(0)
        self._local = threading.local()
        self.calls: list[tuple[int, str, str, Fault | None]] = []

    def __call__(self, call: StoreCall) -> Fault | None:
        """Wait for the next turn, and draw what goes wrong with the call."""
        actor: int | None = getattr(self._local, "actor", None)
        if actor is None:
            return None  # what the test itself looks at
        self.pause()
        fault = self._draw()
        self.calls.append((actor, call.verb, call.location, fault))
        return fault

    def pause(self, seconds: float = 0.0) -> None:
        """Schedule others; replaces `time.sleep`."""
        turn: threading.Semaphore | None = getattr(self._local, "turn", None)
        if turn is None:  # a thread that other tests have left, and that sleeps
            _sleep(seconds)
            return
        self._back.release()
        assert turn.acquire(timeout=PATIENCE_SECONDS)

    def _draw(self) -> Fault | None:
        if self._random.random() >= self._faults:
            return None
        fault = self._random.choice(list(Fault))
        if fault in {Fault.CRASH_BEFORE, Fault.CRASH_AFTER}:
            if not self._crashes_left:
                return None
            self._crashes_left -= 1
        return fault

    def run(self, programs: Sequence[Callable[[], object]]) -> list[Outcome]:
        """Run programs until all are over."""
        outcomes = [Outcome() for _ in programs]
        turns = [threading.Semaphore(0) for _ in programs]
        over: set[int] = set()

        def act(actor: int) -> None:
            self._local.actor, self._local.turn = actor, turns[actor]
            turns[actor].acquire()
            try:
                outcomes[actor].value = programs[actor]()
            except CrashError:
                outcomes[actor].crashed = True
            except Exception as error:  # noqa: BLE001 - told in the outcome
                outcomes[actor].error = error
            finally:
                over.add(actor)
                self._back.release()

        threads = [
            threading.Thread(target=act, args=(actor,), daemon=True)
            for actor in range(len(programs))
        ]
        for thread in threads:
            thread.start()
        while len(over) < len(programs):
            actor = self._random.choice([n for n in range(len(programs)) if n not in over])
            turns[actor].release()
            assert self._back.acquire(timeout=PATIENCE_SECONDS), "a program waits for ever"
        for thread in threads:
            thread.join()
        return outcomes
