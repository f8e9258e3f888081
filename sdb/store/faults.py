"""The script of a simulated store: each call can be scheduled, fail or lose its answer."""

from __future__ import annotations

import enum
import threading
from contextlib import contextmanager

from sdb.errors import SdbError, UncertainError
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_WRITES = frozenset({"put", "delete"})


class Fault(enum.Enum):
    """A fault of a call."""

    REFUSED = enum.auto()
    """The store says that it failed; nothing was done."""
    LOST_REQUEST = enum.auto()
    """No answer; nothing was done."""
    LOST_ANSWER = enum.auto()
    """No answer; it was done, unless its condition did not hold."""
    CRASH_BEFORE = enum.auto()
    """The program dies; nothing was done."""
    CRASH_AFTER = enum.auto()
    """The program dies; it was done, unless its condition did not hold."""


class CrashError(BaseException):
    """The end of a program that a script has killed; nothing but a simulation catches it."""


@record
class StoreCall:
    """A request to the store."""

    number: int  # which one it is in the life of the store, counted from 0
    # ``open``, ``read``, ``version``, ``list``, ``put``, ``copy``, ``delete`` or ``lock``
    verb: str
    location: str  # what it is about


class Calls:
    """The calls of a store, one at a time.

    * ``script``: Is told each call before anything is done, and may wait there: a yield point. What
      it gives goes wrong with the call; None: nothing.
    """

    def __init__(self, script: Callable[[StoreCall], Fault | None] | None) -> None:
        self.script = script
        self._guard = threading.Lock()
        self._count = 0

    @contextmanager
    def call(self, verb: str, location: str, action: str) -> Iterator[None]:
        """Do what a call does, in one step, unless something goes wrong before or after it."""
        with self._guard:
            call = StoreCall(self._count, verb, location)
            self._count += 1
        fault = self.script(call) if self.script else None
        if fault is Fault.CRASH_BEFORE:
            raise CrashError(call)
        if fault is Fault.REFUSED:
            raise SdbError(f"{action} {location}: the store answers 503", path=location)
        if fault is Fault.LOST_REQUEST:
            raise _unanswered(call, action)
        failure = None
        try:
            with self._guard:
                yield
        except SdbError as error:
            failure = error
        if fault is Fault.CRASH_AFTER:
            raise CrashError(call)
        if fault is Fault.LOST_ANSWER:
            raise _unanswered(call, action)
        if failure is not None:
            raise failure


def _unanswered(call: StoreCall, action: str) -> SdbError:
    message = f"{action} {call.location}: no answer"
    if call.verb in _WRITES:
        hint = "look at what is there before you run it again"
        return UncertainError(message, path=call.location, hint=hint)
    return SdbError(message, path=call.location)
