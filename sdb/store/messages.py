"""The protocol of queues: messages are received, and are there until they are deleted.

Code above this package is written for this protocol; :func:`sdb.store.url.queue_of` gives the queue
that a location names. A message may come more than once, and in any order.
"""

from __future__ import annotations

from sdb.records import record
from sdb.typed import Protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_MESSAGE_BYTES = 1 << 20
"""No message is larger: it is the limit of SQS."""


@record
class Message:
    """A message that was received."""

    name: str  # what the queue calls it
    receipt: str  # what the queue calls this delivery of it
    body: str  # its text
    deliveries: int = 1  # how often it was delivered, with this time


class Queue(Protocol):
    """Messages for programs that work on them, each for one of them at a time.

    Every method may raise `AccessError` where something may not be done, `NotFoundError` where
    there is no such queue, and `SdbError` when it cannot be reached.
    """

    @property
    def location(self) -> str:
        """URL or folder of the queue."""

    @property
    def hold_seconds(self) -> float:
        """The time that nobody else gets a message that was received, unless it is held."""

    def receive(self, wait_seconds: float) -> Sequence[Message]:
        """Receive some messages, which nobody else gets for a while.

        * ``wait_seconds``: How long to wait for the first one at most.
        """

    def hold(self, messages: Sequence[Message]) -> None:
        """Keep messages from others for as long as if they were received now."""

    def release(self, messages: Sequence[Message], after_seconds: float = 0.0) -> None:
        """Return messages back, to be received by anybody after some time."""

    def refuse(self, messages: Sequence[Message]) -> None:
        """Leave messages that nobody understands to people, as the queue has it."""

    def delete(self, messages: Sequence[Message]) -> None:
        """Delete messages: the work is done."""

    def close(self) -> None:
        """Abort what the program holds; a second time does nothing."""
