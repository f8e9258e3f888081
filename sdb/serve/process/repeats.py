"""Requests that come again byte for byte: their answers are at hand before a route is looked up.

Dashboards and caches send the same request again and again. Where the answer had a tag that a look
at indexes confirms, and indexes are files of this machine, the same request is answered from what
is remembered: after a look at the rights of its token and at the indexes, as any other one.
"""

from __future__ import annotations

import time
from json import dumps

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from sdb.errors import SdbError
from sdb.lru import LruCache
from sdb.records import record
from sdb.serve.log import write_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from sdb.serve.access import Rights

    Header = tuple[bytes, bytes]
    RequestKey = tuple[bytes, str | None, tuple[Header, ...]]

_ENTRIES = 10_000
_TOTAL_BYTES = 32 << 20
_ENTRY_BYTES = 64 << 10
# Headers that no answer depends on; those that are not listed count.
_IGNORED = frozenset(
    {
        b"accept-language", b"cache-control", b"cookie", b"dnt", b"pragma", b"priority",
        b"referer", b"sec-ch-ua", b"sec-ch-ua-mobile", b"sec-ch-ua-platform", b"sec-fetch-dest",
        b"sec-fetch-mode", b"sec-fetch-site", b"sec-fetch-user", b"traceparent", b"tracestate",
        b"upgrade-insecure-requests", b"user-agent", b"x-request-id",
    }
)  # fmt: skip
# With these a request has a body, or wants something else than an answer.
_OTHERS = frozenset({b"content-length", b"transfer-encoding", b"upgrade", b"expect"})


@record
class RepeatedAnswer:
    """An answer, and what has to be so that it is right again."""

    is_current: Callable[[], bool]  # looks at the indexes
    secret: str  # the token of the request
    rights: Rights  # that it had
    status: int
    head: bytes  # the status and the headers that stay
    body: bytes
    counters: tuple[Callable[[], object], ...]  # called for each answer
    seconds: Callable[[float], object]  # called with how long it took
    line: str  # of the log, up to the time; empty: it has no line


class Repeats:
    """The answers of requests that came before.

    * ``rights_of``: Returns the rights of a token now; None: it has none.
    """

    def __init__(self, rights_of: Callable[[str], Rights | None]) -> None:
        self._rights_of = rights_of
        # Each with the bytes that it takes together with its key
        self._known: LruCache[RequestKey, tuple[RepeatedAnswer, int]] = LruCache(
            most_entries=_ENTRIES, most_bytes=_TOTAL_BYTES, size_of=lambda entry: entry[1]
        )

    def put(self, key: RequestKey, answer: RepeatedAnswer) -> None:
        """Remember the answer to a request, if both are small."""
        url, _, headers = key
        size_bytes = len(url) + sum(len(name) + len(value) for name, value in headers)
        size_bytes += len(answer.head) + len(answer.body) + len(answer.line)
        if size_bytes <= _ENTRY_BYTES:
            self._known.put(key, (answer, size_bytes))

    def answer(self, key: RequestKey, default_headers: Iterable[Header]) -> bytes | None:
        """Return the bytes of the answer to a request; None: it has to be looked at.

        * ``default_headers``: Headers that all answers have at this moment.
        """
        entry = self._known.get(key)
        if entry is None:
            return None
        known, _ = entry
        began = time.perf_counter()
        try:
            if self._rights_of(known.secret) != known.rights or not known.is_current():
                return None
        except SdbError:  # the request is looked at, and its answer says so
            return None
        for count in known.counters:
            count()
        seconds = time.perf_counter() - began
        known.seconds(seconds)
        if known.line:
            write_line(f'{known.line}, "ms": {seconds * 1000:.1f}}}')
        pieces = [known.head]
        pieces += [b"%b: %b\r\n" % pair for pair in default_headers]
        pieces += [b"server-timing: total;dur=%.1f\r\n\r\n" % (seconds * 1000), known.body]
        return b"".join(pieces)


def key_of(url: bytes, client: str | None, headers: Sequence[Header]) -> RequestKey | None:
    """Return what a GET request is known again by; None: by nothing."""
    counted = []
    for pair in headers:
        if pair[0] in _IGNORED:
            continue
        if pair[0] in _OTHERS:
            return None
        counted.append(pair)
    return url, client, tuple(counted)


def head_of(status: int, headers: Iterable[Header]) -> bytes:
    """Return the first bytes of an answer."""
    lines = [b"%b: %b\r\n" % pair for pair in headers if pair[0] != b"server-timing"]
    return STATUS_LINE[status] + b"".join(lines)


def line_of(members: dict[str, Any]) -> str:
    """Return the line of the log for a request, up to how long it took."""
    return dumps({name: value for name, value in members.items() if name != "ms"})[:-1]
