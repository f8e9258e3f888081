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
    """A message about objects.

    Attributes
    ----------
    uris : tuple of str
        Full URIs of objects that have appeared.
    size_bytes : int
        Their size, as far as it is told.
    passed : str
        The name of an event that is of no interest; empty: there is none.
    """

    uris: tuple[str, ...]
    size_bytes: int = 0
    passed: str = ""


def read_notification(body: str) -> Notification:
    """Read a message.

    Parameters
    ----------
    body : str
        The message.

    Returns
    -------
    Notification
        What it says.

    Raises
    ------
    InputError
        It is no notification.

    Examples
    --------
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
        message = f"a message that is no notification of an object: {shown!r}"
        raise InputError(message) from error


def _understood(value: dict[str, Any]) -> Notification:
    if "Records" in value:
        found = list(map(_of_record, value["Records"]))
    elif "detail" in value:
        found = [_of_bridge(value)]
    elif "uris" in value or "uri" in value:
        found = [Notification((_text(uri),)) for uri in _given(value)]
    elif value["Event"] == _TEST:
        found = [Notification((), passed=_TEST)]
    else:
        raise ValueError
    uris = tuple(uri for one in found for uri in one.uris)
    passed = next((one.passed for one in found if one.passed), "")
    return Notification(uris, sum(one.size_bytes for one in found), passed)


def _given(value: dict[str, Any]) -> Iterator[str]:
    if "uri" in value:
        yield value["uri"]
    yield from value.get("uris", [])


def _of_record(event: dict[str, Any]) -> Notification:
    """Read an event of S3, in which keys are encoded as in forms."""
    name = _text(event["eventName"]).removeprefix("s3:")
    if not name.startswith(_CREATED):
        return Notification((), passed=name)
    told = event["s3"]
    key = unquote_plus(_text(told["object"]["key"]), errors="strict")
    return _object(told["bucket"]["name"], key, told["object"])


def _of_bridge(event: dict[str, Any]) -> Notification:
    """Read an event of EventBridge, in which keys are as they are."""
    name = _text(event["detail-type"])
    if name not in _BRIDGED:
        return Notification((), passed=name)
    told = event["detail"]
    return _object(told["bucket"]["name"], _text(told["object"]["key"]), told["object"])


def _object(bucket: object, key: str, told: dict[str, Any]) -> Notification:
    size = told.get("size", 0)
    return Notification((f"s3://{_text(bucket)}/{key}",), size if type(size) is int else 0)


def _text(value: object) -> str:
    if type(value) is not str or not value:
        raise TypeError
    return value
