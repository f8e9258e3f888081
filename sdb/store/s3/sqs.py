"""Queues of SQS, by their URLs."""

from __future__ import annotations

import os
import re
import time
from contextlib import contextmanager
from urllib.parse import urlsplit

from sdb.errors import SdbError
from sdb.store.messages import Message
from sdb.store.s3.client import ATTEMPTS, CONNECT_SECONDS, READ_SECONDS, region
from sdb.store.s3.failures import translated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

ENDPOINT = "AWS_ENDPOINT_URL_SQS"
"""The variable with the endpoint, where it is not that of the URL."""

_AWS_HOST = re.compile(r"(?:sqs\.([a-z0-9-]+)|([a-z0-9-]+)\.queue)\.amazonaws\.com(?:\.cn)?")
_MOST = 10
_CONNECTIONS = 8
_PAUSE_SECONDS = 0.2
_LONGEST_WAIT_SECONDS = 20
_LONGEST_HIDDEN_SECONDS = 43_200
_USUAL_SECONDS = 30
_HINT = f"is the URL of the queue right? {ENDPOINT}, AWS_REGION, network"


class SqsQueue:
    """A queue of SQS; see :class:`sdb.store.messages.Queue`.

    How long a message is hidden from others is what the queue is set to, and what is refused stays
    in it: its redrive policy moves it to the dead-letter queue after some deliveries.
    Raises `NotFoundError`, `AccessError` or `UsageError` if there is no such queue, it may not be
    looked at, or a setting is wrong.
    """

    def __init__(self, url: str) -> None:
        self.location = url
        with self._asking("connecting to"):
            self._client = _connect(url)
        with self._asking("looking at"):
            answer = self._client.get_queue_attributes(
                QueueUrl=url, AttributeNames=["VisibilityTimeout"]
            )
        hidden = int(answer.get("Attributes", {}).get("VisibilityTimeout", _USUAL_SECONDS))
        self.hold_seconds = float(hidden or _USUAL_SECONDS)

    def receive(self, wait_seconds: float) -> Sequence[Message]:
        """Receive up to ten messages."""
        whole = max(0, min(_LONGEST_WAIT_SECONDS, int(wait_seconds)))
        with self._asking("receiving from"):
            answer = self._client.receive_message(
                QueueUrl=self.location,
                MaxNumberOfMessages=_MOST,
                WaitTimeSeconds=whole,
                VisibilityTimeout=int(self.hold_seconds),
                MessageSystemAttributeNames=["ApproximateReceiveCount"],
            )
        if "Messages" not in answer and not whole:
            time.sleep(min(wait_seconds, _PAUSE_SECONDS))
        return [
            Message(
                message["MessageId"],
                message["ReceiptHandle"],
                message["Body"],
                int(message.get("Attributes", {}).get("ApproximateReceiveCount", 1)),
            )
            for message in answer.get("Messages", [])
        ]

    def hold(self, messages: Sequence[Message]) -> None:
        """Hide messages from others for as long as if they were received now."""
        self._hide(messages, int(self.hold_seconds))

    def release(self, messages: Sequence[Message], after_seconds: float = 0.0) -> None:
        """Hide messages from everybody for some time, and no longer."""
        self._hide(messages, min(_LONGEST_HIDDEN_SECONDS, round(after_seconds)))

    def refuse(self, messages: Sequence[Message]) -> None:
        """Leave messages as they are: they come again until the queue moves them."""

    def delete(self, messages: Sequence[Message]) -> None:
        """Delete messages; one that cannot be is delivered again."""

        def delete(some: Sequence[Message]) -> None:
            entries = [
                {"Id": str(at), "ReceiptHandle": message.receipt} for at, message in enumerate(some)
            ]
            with self._asking("deleting from"):
                self._client.delete_message_batch(QueueUrl=self.location, Entries=entries)

        self._each_ten(messages, delete)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _hide(self, messages: Sequence[Message], seconds: int) -> None:
        def hide(some: Sequence[Message]) -> None:
            entries = [
                {"Id": str(at), "ReceiptHandle": message.receipt, "VisibilityTimeout": seconds}
                for at, message in enumerate(some)
            ]
            with self._asking("holding messages of"):
                self._client.change_message_visibility_batch(
                    QueueUrl=self.location, Entries=entries
                )

        self._each_ten(messages, hide)

    def _each_ten(
        self, messages: Sequence[Message], act: Callable[[Sequence[Message]], None]
    ) -> None:
        """Do something with messages, as many as a request takes at a time."""
        from concurrent.futures import ThreadPoolExecutor

        groups = [messages[at : at + _MOST] for at in range(0, len(messages), _MOST)]
        if not groups[1:]:
            for group in groups:
                act(group)
            return
        with ThreadPoolExecutor(_CONNECTIONS) as pool:
            list(pool.map(act, groups))

    @contextmanager
    def _asking(self, action: str) -> Iterator[None]:
        """Turn errors of boto3 into ours."""
        try:
            with translated(action, self.location):
                yield
        except SdbError as error:
            if error.hint and "AWS_ENDPOINT_URL_S3" in error.hint:
                error.hint = _HINT
            raise


def _connect(url: str) -> Any:  # noqa: ANN401 - boto3 makes the classes of its clients at run time
    from boto3.session import Session
    from botocore.config import Config

    parts = urlsplit(url)
    host = _AWS_HOST.fullmatch(parts.hostname or "")
    named_region = next(filter(None, host.groups())) if host else None
    return Session(region_name=named_region or region()).client(
        "sqs",
        endpoint_url=os.environ.get(ENDPOINT) or f"{parts.scheme}://{parts.netloc}",
        config=Config(
            connect_timeout=CONNECT_SECONDS,
            read_timeout=READ_SECONDS,
            retries={"mode": "standard", "total_max_attempts": ATTEMPTS},
            max_pool_connections=_CONNECTIONS + 1,
            tcp_keepalive=True,
            user_agent_extra="sdb",
        ),
    )
