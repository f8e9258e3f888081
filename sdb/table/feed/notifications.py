"""Notifications of objects: what messages of a queue say about what has appeared.

Three forms are understood: events of S3 (of S3 itself, through SNS, and of other stores), those of
EventBridge, and ``{"uri": "..."}`` or ``{"uris": [...]}``, which any program can write.
"""

from __future__ import annotations

import json
from urllib.parse import unquote_plus

from sdb.errors import InputError
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_CREATED = ("ObjectCreated:", "ObjectRestore:Completed")
_BRIDGED = {"Object Created", "Object Restore Completed"}
_TEST = "s3:TestEvent"
_SHOWN = 60


@record
class Notification:
    """A message about objects."""

    uris: tuple[str, ...]  # full URIs of objects that have appeared
    size_bytes: int = 0  # their size, as far as it is known
    passed: str = ""  # the name of an event that is of no interest; empty: no such event


def read_notification(body: str) -> Notification:
    """Read a message.

    Raises `InputError` if it is no notification.

    >>> read_notification('{"uri": "s3://logs/a b.json"}').uris
    ('s3://logs/a b.json',)
    """
    try:
        value = json.loads(body)
        if isinstance(value, dict) and isinstance(value.get("Message"), str):  # SNS wraps it
            value = json.loads(value["Message"])
        return _understood(value)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        shown = body if len(body) <= _SHOWN else f"{body[:_SHOWN]}..."
        message = f"invalid message: expected a notification of an object, got {shown!r}"
        raise InputError(message) from error


def _understood(value: dict[str, Any]) -> Notification:
    if "Records" in value:
        notifications = list(map(_of_record, value["Records"]))
    elif "detail" in value:
        notifications = [_of_bridge(value)]
    elif "uris" in value or "uri" in value:
        notifications = [Notification((_text(uri),)) for uri in _given(value)]
    elif value["Event"] == _TEST:
        notifications = [Notification((), passed=_TEST)]
    else:
        raise ValueError
    uris = tuple(uri for notification in notifications for uri in notification.uris)
    passed = next(
        (notification.passed for notification in notifications if notification.passed), ""
    )
    return Notification(
        uris, sum(notification.size_bytes for notification in notifications), passed
    )


def _given(value: dict[str, Any]) -> Iterator[str]:
    if "uri" in value:
        yield value["uri"]
    yield from value.get("uris", [])


def _of_record(event: dict[str, Any]) -> Notification:
    """Read an event of S3, in which keys are encoded as in forms."""
    name = _text(event["eventName"]).removeprefix("s3:")
    if not name.startswith(_CREATED):
        return Notification((), passed=name)
    s3 = event["s3"]
    key = unquote_plus(_text(s3["object"]["key"]), errors="strict")
    return _object(s3["bucket"]["name"], key, s3["object"])


def _of_bridge(event: dict[str, Any]) -> Notification:
    """Read an event of EventBridge, in which keys are as they are."""
    name = _text(event["detail-type"])
    if name not in _BRIDGED:
        return Notification((), passed=name)
    detail = event["detail"]
    return _object(detail["bucket"]["name"], _text(detail["object"]["key"]), detail["object"])


def _object(bucket: object, key: str, facts: dict[str, Any]) -> Notification:
    size = facts.get("size", 0)
    return Notification((f"s3://{_text(bucket)}/{key}",), size if type(size) is int else 0)


def _text(value: object) -> str:
    if type(value) is not str or not value:
        raise TypeError
    return value
