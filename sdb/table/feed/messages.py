"""Batches of messages: while one is worked on the next one is gathered, and no more.

A thread receives messages, and holds them as long as they are here: no other receiver gets them
until they are deleted or released, or this program has died.
"""

from __future__ import annotations

import threading
import time
from functools import partial

from sdb.errors import InputError, SdbError
from sdb.records import record
from sdb.table.feed.events import PassedOver, TroubleReporter
from sdb.table.feed.notifications import read_notification

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from types import TracebackType
    from typing import Self

    from sdb.store.messages import Message, Queue
    from sdb.table.feed.events import OnEvent

MOST_ITEMS = 5_000
"""Objects with which a batch is closed."""

MOST_BYTES = 100 << 20
"""Stored bytes of its objects with which a batch is closed."""

_WAIT_SECONDS = 20.0
_PAUSE_SECONDS = 0.1
_LEAVE_SECONDS = 1.0
_LONGEST_DELAY_SECONDS = 3_600.0
_MOST_REPORTED = 10_000
_DELETED = "deleted: nothing has appeared"
_LEFT = "left for the dead-letter queue, or in the folder refused"


@record
class NamedObjects:
    """A message, and the objects that it names."""

    message: Message  # the message
    uris: tuple[str, ...]  # the URIs of the objects


class QueueBatch:
    """Messages that are worked on together."""

    def __init__(self, batches: QueueBatches, seconds: float) -> None:
        self._batches, self._seconds = batches, seconds
        self._close_at = 0.0
        self._items = self._bytes = 0
        self.messages: list[NamedObjects] = []

    def add(self, named: NamedObjects, size_bytes: int) -> None:
        """Put a message into it."""
        if not self.messages:
            self._close_at = time.monotonic() + self._seconds
        self.messages.append(named)
        self._items += max(1, len(named.uris))
        self._bytes += size_bytes

    def acknowledge(self, left: set[str]) -> None:
        """Delete the messages whose objects the tables have; they go out of the batch.

        * ``left``: Objects that are still to be taken.
        """
        # A message that names several objects stays as long as one of them is missing: when it
        # comes again, the inputs tree knows the others.
        done = [named.message for named in self.messages if left.isdisjoint(named.uris)]
        self.messages = [named for named in self.messages if not left.isdisjoint(named.uris)]
        self._batches.delete(done)

    def release(self) -> None:
        """Return the messages that are left to the queue."""
        self._batches.release(self.messages)
        self.messages = []

    def pass_over(self, kind: str, example: str, reason: str) -> None:
        """Warn about messages that no table takes, once for each kind."""
        self._batches.pass_over(kind, example, reason)

    @property
    def is_full(self) -> bool:
        """True if nothing more may come in."""
        return self._items >= MOST_ITEMS or self._bytes >= MOST_BYTES

    @property
    def is_ready(self) -> bool:
        """True if it is full, or was open for long enough."""
        return self.is_full or (bool(self.messages) and time.monotonic() >= self._close_at)


class QueueBatches:
    """A context manager that gathers messages until `stop` is set.

    * ``queue``: The queue; it is closed in the end.
    * ``on_event``: Called with trouble of the queue, and with messages that no table takes.
    * ``interval_seconds``: How long a batch is open from its first message on.
    """

    def __init__(
        self, queue: Queue, stop: threading.Event, on_event: OnEvent, interval_seconds: float
    ) -> None:
        self._queue = queue
        self._stop = stop
        self._on_event = on_event
        self._interval = interval_seconds
        self._receiving = TroubleReporter(on_event, queue=queue.location)
        self._keeping = TroubleReporter(on_event, queue=queue.location)
        self._guard = threading.Lock()
        self._held: dict[str, Message] = {}
        self._hold_at = 0.0
        self._open = QueueBatch(self, interval_seconds)
        self._bug: Exception | None = None
        self._reported: set[str] = set()
        self._thread = threading.Thread(target=self._run, name="queue", daemon=True)

    def __enter__(self) -> Self:
        """Begin to receive."""
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Return what was not worked on."""
        self._stop.set()
        self._thread.join(_LEAVE_SECONDS)
        with self._guard:
            left, self._held = list(self._held.values()), {}
        self._try(lambda: self._queue.release(left))
        self._try(self._queue.close)

    def next(self) -> QueueBatch | None:
        """Return the next messages to work on, as soon as there are some; None: stop."""
        while not self._stop.is_set():
            if self._bug is not None:
                raise self._bug
            with self._guard:
                if (batch := self._open).is_ready:
                    self._open = QueueBatch(self, self._interval)
                    return batch
            self._stop.wait(_PAUSE_SECONDS)
        return None

    def delete(self, messages: Sequence[Message]) -> None:
        """Delete messages. What cannot be deleted comes again."""
        self._forget(messages)
        self._try(lambda: self._queue.delete(messages))

    def release(self, left: Iterable[NamedObjects]) -> None:
        """Return messages back; each time it takes twice as long until they come again."""
        by_delay: dict[float, list[Message]] = {}
        for named in left:
            delay = self._queue.hold_seconds * 2.0 ** min(named.message.deliveries - 1, 16)
            by_delay.setdefault(min(delay, _LONGEST_DELAY_SECONDS), []).append(named.message)
        for delay, messages in by_delay.items():
            self._forget(messages)
            self._try(partial(self._queue.release, messages, delay))

    def pass_over(self, kind: str, example: str, reason: str) -> None:
        """Warn about messages that no table takes, once for each kind."""
        if kind not in self._reported and len(self._reported) < _MOST_REPORTED:
            self._reported.add(kind)
            self._on_event(PassedOver(self._queue.location, example, reason))

    def _try(self, act: Callable[[], None]) -> None:
        """Do what need not succeed: messages come again by themselves."""
        try:
            act()
        except SdbError as error:
            self._keeping.report(error)
        else:
            self._keeping.clear()

    def _forget(self, messages: Iterable[Message]) -> None:
        with self._guard:
            for message in messages:
                self._held.pop(message.receipt, None)

    def _run(self) -> None:
        pause = _PAUSE_SECONDS
        while not self._stop.is_set():
            try:
                self._hold()
                self._gather()
            except SdbError as error:
                self._receiving.report(error)
                self._stop.wait(pause)
                pause = min(2 * pause, self._queue.hold_seconds / 3)
            except Exception as error:  # noqa: BLE001 - raised where the batches are asked for
                self._bug = error
                return
            else:
                pause = _PAUSE_SECONDS

    def _hold(self) -> None:
        """Keep from others what is here, in good time."""
        if time.monotonic() < self._hold_at:
            return
        with self._guard:
            held = list(self._held.values())
        self._hold_at = time.monotonic() + self._queue.hold_seconds / 3
        if held:
            self._try(lambda: self._queue.hold(held))

    def _gather(self) -> None:
        """Receive once, unless enough is waiting."""
        if self._open.is_full:
            self._stop.wait(_PAUSE_SECONDS)
            return
        wait = max(0.0, min(_WAIT_SECONDS, self._hold_at - time.monotonic()))
        for message in self._queue.receive(wait):
            self._take(message)
        self._receiving.clear()

    def _take(self, message: Message) -> None:
        """Add a message to the open batch, if it is one that can be worked on."""
        try:
            notification = read_notification(message.body)
        except InputError as error:
            self.pass_over(message.name, error.message, _LEFT)
            self._try(lambda: self._queue.refuse([message]))
            return
        if notification.passed:
            self.pass_over(notification.passed, notification.passed, _DELETED)
        if not notification.uris:
            self._try(lambda: self._queue.delete([message]))
            return
        with self._guard:
            self._held[message.receipt] = message
            self._open.add(NamedObjects(message, notification.uris), notification.size_bytes)
