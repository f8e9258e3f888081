"""Requests to a server: connections are kept open, and what is safe to send again is retried."""

from __future__ import annotations

import json
import os
import ssl
import threading
from http.client import HTTPConnection, HTTPException, HTTPSConnection, IncompleteRead
from urllib.parse import quote, urlencode, urlsplit

from sdb import notes
from sdb.client.remote.faults import error_of
from sdb.errors import SdbError, UncertainError, UsageError
from sdb.log import Logger
from sdb.retry import Backoff
from sdb.version import VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from http.client import HTTPResponse
    from typing import Any

VARIABLE = "SDB_TOKEN"
_TIMEOUT_SECONDS = 120.0
_ATTEMPTS = 6
_FIRST_SECONDS, _LONGEST_SECONDS = 0.2, 3.0
_MOST_RETRY_AFTER_SECONDS = 30.0
_AGAIN = frozenset({429, 502, 503})
_MOST_IDLE = 8
_SAFE = "/@:~"

_log = Logger("sdb.client.remote")


class Transport:
    """The connections to one server.

    * ``url``: Its address, as ``http://host:7373``.
    * ``token``: Sent with each request; that of the environment if empty.

    Raises `UsageError` if the address is malformed, or has a password in it.
    """

    def __init__(self, url: str, token: str = "") -> None:
        parts = urlsplit(url)
        try:
            port = parts.port
        except ValueError:
            raise UsageError(f"{url}: the port is no number") from None
        if parts.username or parts.password:
            raise UsageError(
                f"{parts.scheme}://{parts.hostname}: the address has a password in it",
                hint=f"{VARIABLE}, or token= of sdb.connect",
            )
        if not parts.hostname or parts.query or parts.fragment:
            raise UsageError(f"{url} is not the address of a server", expected="http://host:7373")
        self.url = url.rstrip("/")
        self._is_secure = parts.scheme == "https"
        self._host, self._port = parts.hostname, port
        self._prefix = parts.path.rstrip("/")
        self._token = token or os.environ.get(VARIABLE, "")
        if any(ord(letter) < 33 or ord(letter) > 126 for letter in self._token):  # noqa: PLR2004
            raise UsageError("the token has letters that no token has")
        self._idle: list[HTTPConnection] = []
        self._lock = threading.Lock()

    def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        members: Mapping[str, Any] | None = None,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        may_repeat: bool = True,
    ) -> Reply:
        """Send a request, again if that is safe and may help.

        * ``members``: The body as JSON; errors point into the statement that it may have.
        * ``may_repeat``: Whether sending it twice does no more than once.

        Raises `SdbError` if the server cannot be reached, and the error that a problem in its
        answer names.
        """
        target = self._prefix + quote(path, safe=_SAFE)
        if params:
            target += "?" + urlencode({name: text for name, text in params.items() if text != ""})
        sent = {"user-agent": f"sdb/{VERSION}", "accept": "application/json", **(headers or {})}
        if self._token:
            sent["authorization"] = f"Bearer {self._token}"
        if members is not None:
            body = json.dumps(members).encode()
            sent["content-type"] = "application/json"
        backoff = Backoff(
            f"{method} {self.url}",
            _log,
            first_seconds=_FIRST_SECONDS,
            longest_seconds=_LONGEST_SECONDS,
            attempts=_ATTEMPTS,
        )
        while True:
            try:
                reply = self._sent(method, target, body, sent, may_repeat=may_repeat)
            except _UnreachableError as error:
                may_repeat_now = may_repeat or not error.was_sent
                if not (may_repeat_now and backoff.may_retry(error)):
                    raise _given_up(self.url, error, is_known=may_repeat_now) from error
                backoff.pause()
                continue
            if reply.status < 400:  # noqa: PLR2004 - statuses of success
                reply.warn()
                return reply
            problem = error_of(reply.status, reply.reason, reply.read(), (members or {}).get("sql"))
            is_passing = reply.status in _AGAIN and may_repeat
            if not (is_passing and backoff.may_retry(problem)):
                raise problem
            reply.wait()
            backoff.pause()

    def _sent(
        self,
        method: str,
        target: str,
        body: bytes | None,
        headers: Mapping[str, str],
        *,
        may_repeat: bool,
    ) -> Reply:
        """Send a request once; on a connection that was idle twice: the server may have closed it.

        What may be sent once only gets a separate connection.
        """
        with self._lock:
            connection = self._idle.pop() if self._idle and may_repeat else None
        if connection is not None:
            try:
                return self._exchanged(connection, method, target, body, headers)
            except _UnreachableError:
                connection.close()
        return self._exchanged(self._connected(), method, target, body, headers)

    def _connected(self) -> HTTPConnection:
        if self._is_secure:
            context = ssl.create_default_context()
            return HTTPSConnection(
                self._host, self._port, timeout=_TIMEOUT_SECONDS, context=context
            )
        return HTTPConnection(self._host, self._port, timeout=_TIMEOUT_SECONDS)

    def _exchanged(
        self,
        connection: HTTPConnection,
        method: str,
        target: str,
        body: bytes | None,
        headers: Mapping[str, str],
    ) -> Reply:
        try:
            if connection.sock is None:
                connection.connect()
        except OSError as error:
            raise _UnreachableError(error, was_sent=False) from error
        try:
            connection.request(method, target, body, dict(headers))
            response = connection.getresponse()
        except (OSError, HTTPException) as error:
            connection.close()
            raise _UnreachableError(error, was_sent=True) from error
        return Reply(self, connection, response)

    def release(self, connection: HTTPConnection, *, is_usable: bool) -> None:
        """Take a connection back once its answer was read."""
        with self._lock:
            if is_usable and len(self._idle) < _MOST_IDLE:
                self._idle.append(connection)
                return
        connection.close()

    def close(self) -> None:
        """Close the connections that are idle."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def __del__(self) -> None:
        """Close them when nobody has the connection any more."""
        for connection in getattr(self, "_idle", ()):
            connection.close()


class Reply:
    """The answer to a request: a binary file of its body."""

    def __init__(
        self, transport: Transport, connection: HTTPConnection, response: HTTPResponse
    ) -> None:
        self._transport, self._connection, self._response = transport, connection, response
        self.status, self.reason = response.status, response.reason
        self.headers = response.headers
        self.closed = False
        if response.length == 0:
            response.read()  # after which the connection takes another request
            self._end(is_usable=not response.will_close)

    def read(self, size: int = -1) -> bytes:
        """Read a number of bytes; all that are left if not given.

        Raises `SdbError` if the answer was cut.
        """
        if self.closed:
            return b""
        try:
            data = self._response.read() if size < 0 else self._response.read(size)
        except (OSError, HTTPException) as error:
            self._end(is_usable=False)
            was_cut = isinstance(error, IncompleteRead) and "the connection was closed"
            raise SdbError(
                f"the answer of {self._transport.url} was cut: {was_cut or error}",
                hint="the log of the server says why",
            ) from None
        if self._response.isclosed():
            self._end(is_usable=not self._response.will_close)
        elif size != 0 and not data:
            self._end(is_usable=False)
        return data

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def json(self) -> Any:  # noqa: ANN401 - any value
        """Read the body as JSON."""
        return json.loads(self.read())

    def warn(self) -> None:
        """Pass on what the server would have the user know."""
        for line in filter(None, self.headers.get("sdb-warnings", "").split("; ")):
            notes.warn(line)

    def wait(self) -> None:
        """Wait as long as the server says."""
        import time

        text = self.headers.get("retry-after", "")
        if text.isdigit():
            time.sleep(min(float(text), _MOST_RETRY_AFTER_SECONDS))

    def close(self) -> None:
        """End the request; the server stops what it computes for it."""
        if not self.closed:
            self._end(is_usable=False)

    def __del__(self) -> None:
        """End a request whose answer nobody reads any more."""
        if not getattr(self, "closed", True):
            self._connection.close()

    def _end(self, *, is_usable: bool) -> None:
        self.closed = True
        self._transport.release(self._connection, is_usable=is_usable)


class _UnreachableError(Exception):
    """A request without an answer."""

    def __init__(self, error: Exception, *, was_sent: bool) -> None:
        text = getattr(error, "strerror", None) or str(error) or type(error).__name__
        super().__init__(text[:1].lower() + text[1:])
        self.was_sent = was_sent


def _given_up(url: str, error: _UnreachableError, *, is_known: bool) -> SdbError:
    if is_known:
        return SdbError(f"{url} does not answer: {error}", hint="is sdb serve running there?")
    return UncertainError(
        f"{url} does not answer any more: {error}",
        hint="it is not known whether it was done: look, before it is run again",
    )
