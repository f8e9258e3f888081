"""Log records of requests to S3: method, object, status, bytes and milliseconds.

Nothing of a request is logged that signs it: no headers but the range, and of the query what names
objects and parts.
"""

from __future__ import annotations

import threading
import time
from urllib.parse import parse_qsl, unquote, urlsplit

from sdb.log import Logger

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_log = Logger("sdb.store.s3")
_HARMLESS = ("prefix", "partNumber", "uploads", "start-after", "max-keys")
_running = threading.local()


def register(client: Any) -> None:  # noqa: ANN401 - boto3 makes the classes of its clients
    """Log the requests of a client, each attempt of them."""
    client.meta.events.register("before-send.s3", _began)
    client.meta.events.register("response-received.s3", _ended)


def _began(request: Any, **_: object) -> None:  # noqa: ANN401 - made by boto3
    _running.request = None
    if _log.wants_debug:
        _running.request = request
        _running.since = time.perf_counter()


def _ended(response_dict: dict[str, Any] | None, exception: Exception | None, **_: object) -> None:
    request = getattr(_running, "request", None)
    if request is None:
        return
    _running.request = None
    milliseconds = (time.perf_counter() - _running.since) * 1e3
    subject = _subject(request)
    if response_dict is None:
        kind = type(exception).__name__  # its text may have the whole URL
        _log.debug("%s: no answer (%s), %.1f ms", subject, kind, milliseconds)
        return
    size = _bytes(request.headers if request.body is not None else response_dict["headers"])
    status = response_dict["status_code"]
    _log.debug("%s: status %d, %s bytes, %.1f ms", subject, status, size, milliseconds)


def _subject(request: Any) -> str:  # noqa: ANN401 - made by boto3
    """Return what a request does, with what; without user names, passwords and signatures."""
    parts = urlsplit(request.url)
    query = [
        f"{name}={value}" if value else name
        for name, value in parse_qsl(parts.query, keep_blank_values=True)
        if name in _HARMLESS
    ]
    wanted = request.headers.get("Range")
    words = [request.method, f"{parts.hostname}{unquote(parts.path)}", *query]
    return " ".join([*words, *([_text(wanted)] if wanted else [])])


def _bytes(headers: Any) -> str:  # noqa: ANN401 - made by boto3
    """Return how long a body is, as its headers have it."""
    for name in headers:
        if name.lower() == "content-length":
            return _text(headers[name])
    return "?"


def _text(value: str | bytes) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else value
