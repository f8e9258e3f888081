"""The gate in front of every route: names of hosts, origins, tokens, the access log."""

from __future__ import annotations

import json
import time
from functools import partial
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response

from sdb.errors import SdbError
from sdb.serve.access import Rights
from sdb.serve.log import write_line
from sdb.serve.page.screens import is_asked, refusal
from sdb.serve.page.static import is_static
from sdb.serve.problems import HttpError, response
from sdb.serve.process.credentials import COOKIE, SAFE_METHODS, credentials_of, is_own
from sdb.serve.process.repeats import RepeatedAnswer, head_of, line_of
from sdb.serve.seafowl.names import is_seafowl
from sdb.serve.seafowl.queries import plain
from sdb.serve.streams import CutError, patiently
from sdb.serve.tags import is_current

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from sdb.serve.app import Service
    from sdb.serve.process.repeats import RequestKey
    from sdb.serve.settings import ServerSettings
    from sdb.serve.tags import Tag

_LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]", "::1"})
_PROBES = frozenset({"/healthz", "/readyz"})
_ENTRY = frozenset({"/login", "/logout"})
_ASKED = (
    b"authorization, content-type, content-encoding, if-none-match, if-match, idempotency-key, "
    b"last-event-id, sdb-message, range, x-seafowl-query"
)
_EXPOSED = (
    "etag, sdb-query-id, sdb-versions, sdb-blocks, sdb-warnings, sdb-notes, sdb-no-tag, "
    "sdb-safe-csv"
)
_POLICY = b"content-security-policy"
_HOW = "Authorization: Bearer TOKEN, or TOKEN as the password of Basic; in a browser open / first"


def _is_open(path: str) -> bool:
    """Return whether a path needs no token."""
    return path in _PROBES or path in _ENTRY or is_static(path)


class Gate:
    """The gate in front of every route: names of hosts, origins, tokens, the access log."""

    def __init__(self, app: ASGIApp, settings: ServerSettings, service: Service) -> None:
        self._app, self._settings, self._service = app, settings, service
        own = f"[{settings.host}]" if ":" in settings.host else settings.host
        self._hosts = _LOCAL_NAMES | {name.lower() for name in settings.hosts} | {own.lower()}

    def close(self) -> None:
        """Stop all that runs: the server has ended."""
        self._service.close()

    def end_waiting(self) -> None:
        """Answer all who wait for changes of tables: the server is ending."""
        self._service.watch.end()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or answer it."""
        started, sent, status = time.perf_counter(), 0, 0
        headers: list[tuple[bytes, bytes]] = []

        async def counted(message: Message) -> None:
            nonlocal sent, status, headers
            if message["type"] == "http.response.start":
                status = message["status"]
                own = message["headers"]
                headers = message["headers"] = [*own, *self._more(request, started, own)]
            else:
                sent += len(message.get("body", b""))
            await patiently(send, message, request, self._settings.stall_seconds)

        request = Request(scope, receive)
        is_cut = False
        scope["sdb.body"] = object()
        try:
            answer = self._refusal(request)
            if answer is None:
                await self._app(scope, receive, counted)
            else:
                await answer(scope, receive, counted)
        except CutError:
            is_cut = True  # the server closes the connection: the answer has no end
        finally:
            await self._service.bodies.release(request)
            line = self._log(request, status, sent, time.perf_counter() - started, is_cut=is_cut)
            self._remember(request, status, headers, line)
            etag = next((text.decode() for name, text in headers if name == b"etag"), "")
            self._service.audit.record(request, line, etag)

    def _remember(
        self,
        request: Request,
        status: int,
        headers: list[tuple[bytes, bytes]],
        line: dict[str, Any],
    ) -> None:
        """Remember the answer to a request that may come again, if it was at hand."""
        at_hand: tuple[Tag, bytes] | None = request.scope.get("sdb.at_hand")
        key: RequestKey | None = request.scope.get("sdb.key")
        # What is remembered is known by its headers but for cookies: it would be anybody's.
        if at_hand is None or key is None or request.scope.get("sdb.cookie"):
            return
        tag, body = at_hand
        service, route = self._service, request.scope["route"].path
        metrics = service.metrics
        is_unchanged = status == HTTPStatus.NOT_MODIFIED
        sent = metrics.sent
        counters = (
            metrics.requests.labels(route, str(status)).inc,
            (metrics.unchanged if is_unchanged else metrics.kept).inc,
            partial(sent.inc, len(body)),
        )
        service.repeats.put(
            key,
            RepeatedAnswer(
                partial(is_current, tag),
                credentials_of(request)[0],
                request.state.rights,
                status,
                head_of(status, headers),
                body,
                counters,
                metrics.seconds.labels(route).observe,
                line_of(line) if self._settings.access_log else "",
            ),
        )

    def _refusal(self, request: Request) -> Response | None:
        """Return the answer to a request that does not get in."""
        path = request.url.path
        is_of_seafowl = is_seafowl(path)
        try:
            if path not in _PROBES:  # which ask by the address of a container
                self._check_host(request)
            self._check_origin(request)
            if request.method == "OPTIONS" and request.headers.get("origin") in self._settings.cors:
                return Response(status_code=204)
            request.state.rights = self._rights(request, is_seafowl=is_of_seafowl)
            self._service.audit.check(request)
            if not _is_open(path):
                self._service.root_check.quick()
        except HttpError as error:
            if is_of_seafowl:
                return plain(error)
            if is_asked(request):
                return refusal(request, error)
            return self._with_basic(request, response(error))
        return None

    def _with_basic(self, request: Request, answer: Response) -> Response:
        """Offer Basic where a token is needed, but not to scripts: browsers would ask for it."""
        is_script = request.headers.get("sec-fetch-mode", "navigate") != "navigate"
        is_of_page = is_script or COOKIE in request.cookies
        if answer.status_code == HTTPStatus.UNAUTHORIZED and not is_of_page:
            answer.headers.append("www-authenticate", 'Basic realm="sdb", charset="UTF-8"')
        return answer

    def _check_origin(self, request: Request) -> None:
        """Check that what changes something is asked by no page of a stranger."""
        origin = request.headers.get("origin")
        if origin is None or origin in self._settings.cors or request.method in SAFE_METHODS:
            return
        if not is_own(request, origin):
            raise HttpError(403, "pages of other origins may not ask", code="origin")

    def _check_host(self, request: Request) -> None:
        """Check that the client means this server, and no name that leads here by accident."""
        hosts = request.headers.getlist("host")
        if len(hosts) > 1:
            raise HttpError(400, "the request has more than one header Host", code="host")
        host = "".join(hosts).lower()
        name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
        if name not in self._hosts:
            hint = "sdb serve --host-name NAME allows it"
            raise HttpError(421, f"the server is not {name[:200]!r}", code="host", hint=hint)

    def _rights(self, request: Request, *, is_seafowl: bool) -> Rights:
        secret, is_cookie = credentials_of(request)
        if self._settings.tokens is None:
            if is_seafowl and "authorization" in request.headers:
                raise HttpError(400, "USELESS_ACCESS_TOKEN", code="token")
        elif _is_open(request.url.path):
            return Rights("", ())
        request.scope["sdb.cookie"] = is_cookie and self._settings.tokens is not None
        try:
            token_rights = self._service.rights.of(secret)
        except SdbError as error:
            write_line(f"sdb serve: {error.message}")
            raise HttpError(503, "the tokens cannot be read", code="tokens") from None
        if token_rights is None:
            headers = {"www-authenticate": 'Bearer realm="sdb"'}
            text = "the token is unknown, or was revoked" if secret else "a token is needed"
            if is_seafowl:
                text = "INVALID_ACCESS_TOKEN" if secret else "NEED_ACCESS_TOKEN"
            raise HttpError(401, text, code="token", hint=_HOW, headers=headers)
        return token_rights

    def _more(
        self, request: Request, started: float, own: list[tuple[bytes, bytes]]
    ) -> list[tuple[bytes, bytes]]:
        """Return headers that all answers have, and those of caches where a cookie counted."""
        spent = (time.perf_counter() - started) * 1000
        extra = [
            (b"server-timing", f"total;dur={spent:.1f}".encode()),
            (b"x-content-type-options", b"nosniff"),
        ]
        if all(name != _POLICY for name, _ in own):
            extra.append((_POLICY, b"default-src 'none'; style-src 'unsafe-inline'"))
        if request.scope.get("sdb.cookie"):
            extra.append((b"vary", b"cookie"))
        origin = request.headers.get("origin")
        if origin is not None and origin in self._settings.cors:
            extra += [
                (b"access-control-allow-origin", origin.encode("latin-1")),
                (b"access-control-expose-headers", _EXPOSED.encode()),
                (b"access-control-allow-headers", _ASKED),
                (b"access-control-allow-methods", b"GET, HEAD, POST, PUT, PATCH, DELETE, QUERY"),
                (b"access-control-max-age", b"600"),
            ]
        return extra

    def _log(
        self, request: Request, status: int, sent: int, seconds: float, *, is_cut: bool
    ) -> dict[str, Any]:
        """Write the line of a request, and return it: no token, and no value of a parameter."""
        route = request.scope.get("route")
        path = getattr(route, "path", "other")
        metrics = self._service.metrics
        metrics.requests.labels(path, str(status)).inc()
        metrics.seconds.labels(path).observe(seconds)
        metrics.sent.inc(sent)
        if is_cut:
            metrics.cut.inc()
        rights = getattr(request.state, "rights", None)
        line = {
            "client": request.client.host if request.client else "",
            "token": rights.name if rights is not None else "",
            "method": request.method,
            "path": request.url.path[:200],
            "status": status,
            "bytes": sent,
            "ms": round(seconds * 1000, 1),
            **({"cut": True} if is_cut else {}),
        }
        if self._settings.access_log:
            write_line(json.dumps(line))
        return line
