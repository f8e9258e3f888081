"""The application: routes, and what is around each of them."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http import HTTPStatus
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from sdb import notes
from sdb.errors import CorruptError, NotFoundError, SdbError
from sdb.serve import metrics as metrics_module
from sdb.serve.access import Rights
from sdb.serve.answers import Answer, Engine
from sdb.serve.bodies import Bodies
from sdb.serve.conditional import answered, header_text
from sdb.serve.hiding import Hiding
from sdb.serve.log import write_line
from sdb.serve.operations import OPERATIONS
from sdb.serve.problems import HttpError, of_system, response, status_of
from sdb.serve.process.repeats import RepeatedAnswer, head_of, line_of
from sdb.serve.queries import query_of
from sdb.serve.rootcheck import RootCheck, gone
from sdb.serve.routes import routes
from sdb.serve.seafowl.names import is_seafowl
from sdb.serve.seafowl.queries import SeafowlResources, plain
from sdb.serve.seafowl.uploads import UploadResources
from sdb.serve.stored import StoredResources
from sdb.serve.streams import CutError, patiently
from sdb.serve.tables.catalog import TableResources
from sdb.serve.tables.following import ChangeResources
from sdb.serve.tables.histograms import Histograms
from sdb.serve.tables.layout import LayoutResources
from sdb.serve.tables.refs import RefResources
from sdb.serve.tables.tailing import TailResources
from sdb.serve.tables.views import ViewResources
from sdb.serve.tables.watching import IndexWatch
from sdb.serve.tables.writes import Writes
from sdb.serve.tags import is_current
from sdb.table.catalog.root import table_root

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from sdb.serve.described import NoMembers
    from sdb.serve.process.repeats import Repeats, RequestKey
    from sdb.serve.queries import AskedQuery
    from sdb.serve.settings import ServerSettings
    from sdb.serve.tags import Tag
    from sdb.serve.tokens import TokenRights

_LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]", "::1"})
_OPEN = frozenset({"/healthz", "/readyz"})
_SAFE = frozenset({"GET", "HEAD", "OPTIONS", "QUERY"})
_ASKED = (
    b"authorization, content-type, content-encoding, if-none-match, if-match, idempotency-key, "
    b"last-event-id, sdb-message, range, x-seafowl-query"
)
_VARY = "accept, accept-encoding, authorization"
_EXPOSED = (
    "etag, sdb-query-id, sdb-versions, sdb-blocks, sdb-warnings, sdb-notes, sdb-no-tag, "
    "sdb-safe-csv"
)


def make_app(settings: ServerSettings, rights: TokenRights, repeats: Repeats) -> Gate:
    """Make the application of a server.

    * ``rights``: Rights of tokens.
    * ``repeats``: Where answers are remembered for connections.
    """
    service = Service(settings, rights, repeats)
    root, in_thread, engine, watch = (
        service.root,
        service.in_thread,
        service.engine,
        service.watch,
    )
    writes = Writes(root, in_thread, engine, settings, service.metrics)
    owners = (
        service,
        TableResources(root, in_thread, engine, settings),
        LayoutResources(root, in_thread),
        Histograms(root, in_thread, settings, service.answer),
        ChangeResources(root, in_thread, watch),
        ViewResources(root, in_thread),
        StoredResources(root, in_thread, service.answer),
        SeafowlResources(service.answer, writes),
        UploadResources(root, in_thread, service.metrics),
        TailResources(root, in_thread, watch, engine.slots, settings),
        RefResources(root, in_thread, service.metrics),
        writes,
    )
    app = Starlette(
        routes=routes(OPERATIONS, *owners),
        exception_handlers={
            SdbError: _problem,
            HTTPException: _http_problem,
            OSError: _system_fault,
            Exception: _fault,
        },
    )
    app.state.service = service
    return Gate(app, settings, service)


class Service:
    """The state that requests share."""

    def __init__(self, settings: ServerSettings, rights: TokenRights, repeats: Repeats) -> None:
        self.settings = settings
        self.metrics = metrics_module.Metrics()
        self.engine = Engine(settings, self.metrics)
        self.root = table_root(settings.root)
        self._pool = ThreadPoolExecutor(8, "catalog")
        # What an answer to a page of another origin says of it is not for pages of others.
        self._vary = _VARY + (", origin" if settings.cors else "")
        self.watch = IndexWatch(self.root, self.in_thread)
        self.rights, self.repeats = rights, repeats
        self.root_check = RootCheck(
            self.root, settings.min_free_bytes, may_write=settings.may_write
        )
        self.bodies = Bodies(settings.body_bytes)

    def close(self) -> None:
        """Stop all that runs."""
        self.engine.close()
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def in_thread(self, function: Callable[..., Any], *args: Any) -> Any:  # noqa: ANN401
        """Run what reads or writes; its warnings are dropped."""

        def quiet() -> Any:  # noqa: ANN401
            with notes.collected():
                return function(*args)

        return await asyncio.get_running_loop().run_in_executor(self._pool, quiet)

    async def healthy(self, _request: Request) -> Response:
        """Say that the process runs."""
        return Response(b"ok\n", media_type="text/plain")

    async def ready(self, _request: Request) -> Response:
        """Say whether the root answers."""
        try:
            await asyncio.wait_for(self.in_thread(self.root_check.whole), 5)
        except TimeoutError:
            raise gone("the root does not answer within 5 s") from None
        return Response(b"ready\n", media_type="text/plain")

    async def measured(self, request: Request) -> Response:
        """Return the metrics."""
        if not request.state.rights.is_admin and self.settings.tokens is not None:
            raise HttpError(403, "the token may not read the metrics", code="forbidden")
        slots = self.engine.slots
        self.metrics.running.set(slots.running)
        self.metrics.waiting.set(slots.waiting)
        return Response(self.metrics.text(), 200, media_type=metrics_module.CONTENT_TYPE)

    async def query(self, request: Request) -> Answer:
        """Answer a query."""
        return await self.answer(request, await query_of(request))

    async def answer(
        self,
        request: Request,
        query: AskedQuery,
        *,
        rights: Rights | None = None,
        about: str = "",
        vary: str = "",
    ) -> Answer:
        """Answer a query that was read from a request, with a tag.

        * ``rights``: Those that it is asked with; those of the request if not given.
        * ``about``: What the query depends on besides the request and the tables that it names.
        * ``vary``: Headers of the request that count, if they are other ones.
        """
        rights = request.state.rights if rights is None else rights
        key = (
            _key(request, rights, query.form.name, about)
            if request.method in {"GET", "HEAD"}
            else ""
        )

        def headers(tag: Tag) -> dict[str, str]:
            headers = self._headers(query, tag, is_safe=request.method != "POST")
            return headers | {"vary": vary} if vary else headers

        return Answer(
            self.engine, request, query, rights, key, headers, is_repeatable=bool(key) and not about
        )

    async def openapi(self, request: Request, _: NoMembers) -> Response:
        """Return the description of all operations."""
        from sdb.serve.openapi import document

        return answered(request, document())

    async def cancel(self, request: Request, _: NoMembers) -> Response:
        """Stop a query."""
        rights: Rights = request.state.rights
        running = self.engine.running.get(request.path_params["id"])
        if running is None:
            raise HttpError(404, "no such query runs", code="not_found")
        if running.rights.name != rights.name and not rights.is_admin:
            raise HttpError(404, "no such query runs", code="not_found")
        running.cancel(HttpError(503, "the query was cancelled", code="cancelled"))
        return Response(status_code=202)

    def _headers(self, query: AskedQuery, tag: Tag, *, is_safe: bool) -> dict[str, str]:
        headers = {
            "cache-control": self._caching(query, tag) if is_safe else "no-store",
            "vary": self._vary,
            "sdb-versions": ", ".join(tag.versions),
        }
        if not tag.hiding.tables:  # which blocks can have a value tells of rows that a view hides
            headers["sdb-blocks"] = f"{tag.blocks}/{tag.all_blocks}"
        if query.form.name == "safe-csv":
            headers["sdb-safe-csv"] = "cells that a spreadsheet would execute begin with '"
        if tag.text and is_safe:
            headers["etag"] = tag.text
        if tag.why:
            headers["sdb-no-tag"] = tag.why
        if tag.warnings:
            headers["sdb-warnings"] = header_text("; ".join(tag.warnings))
        return headers

    def _caching(self, query: AskedQuery, tag: Tag) -> str:
        if not tag.text:
            return "no-store"
        # What a token lets see is not for caches that others share.
        whose = "private, " if self.settings.tokens is not None else ""
        if self.settings.is_public and not whose:
            whose = "public, "
        if tag.is_pinned:
            return f"{whose}max-age=31536000, immutable"
        if seconds := min(query.max_age_seconds, self.settings.max_age_seconds):
            return f"{whose}max-age={seconds}"
        return f"{whose}no-cache"


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
                headers = message["headers"] = [
                    *message["headers"],
                    *self._more(request, started),
                ]
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
        if at_hand is None or key is None:
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
                _secret(request.headers.get("authorization", "")),
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
        is_of_seafowl = is_seafowl(request.url.path)
        try:
            if request.url.path not in _OPEN:  # probes ask by the address of a container
                self._check_host(request)
            self._check_origin(request)
            if request.method == "OPTIONS" and request.headers.get("origin") in self._settings.cors:
                return Response(status_code=204)
            request.state.rights = self._rights(request, is_seafowl=is_of_seafowl)
            if request.url.path not in _OPEN:
                self._service.root_check.quick()
        except HttpError as error:
            return plain(error) if is_of_seafowl else response(error)
        return None

    def _check_origin(self, request: Request) -> None:
        """Check that what changes something is asked by no page of a stranger."""
        origin = request.headers.get("origin")
        if origin is None or origin in self._settings.cors or request.method in _SAFE:
            return
        if urlsplit(origin).netloc != request.headers.get("host"):
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
        secret = _secret(request.headers.get("authorization", ""))
        if self._settings.tokens is None:
            if is_seafowl and "authorization" in request.headers:
                raise HttpError(400, "USELESS_ACCESS_TOKEN", code="token")
        elif request.url.path in _OPEN:
            return Rights("", ())
        try:
            token_rights = self._service.rights.of(secret)
        except SdbError as error:
            write_line(f"sdb serve: {error.message}")
            raise HttpError(503, "the tokens cannot be read", code="tokens") from None
        if token_rights is None:
            headers = {"www-authenticate": 'Bearer realm="sdb", Basic realm="sdb"'}
            text = "a token is needed"
            if is_seafowl:
                text = "INVALID_ACCESS_TOKEN" if secret else "NEED_ACCESS_TOKEN"
            raise HttpError(401, text, code="token", headers=headers)
        return token_rights

    def _more(self, request: Request, started: float) -> list[tuple[bytes, bytes]]:
        """Return headers that all answers have."""
        spent = (time.perf_counter() - started) * 1000
        extra = [
            (b"server-timing", f"total;dur={spent:.1f}".encode()),
            (b"x-content-type-options", b"nosniff"),
            (b"content-security-policy", b"default-src 'none'; style-src 'unsafe-inline'"),
        ]
        origin = request.headers.get("origin")
        if origin is not None and origin in self._settings.cors:
            extra += [
                (b"access-control-allow-origin", origin.encode("latin-1")),
                (b"access-control-expose-headers", _EXPOSED.encode()),
                (b"access-control-allow-headers", _ASKED),
                (b"access-control-allow-methods", b"GET, HEAD, POST, PUT, DELETE, QUERY"),
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


def _secret(header: str) -> str:
    """Return the token of a header Authorization: Bearer, or the password of Basic."""
    scheme, _, rest = header.partition(" ")
    if scheme.lower() == "bearer":
        return rest.strip()
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(rest.strip(), validate=True).decode().partition(":")[2]
        except ValueError:
            return ""
    return ""


def _key(request: Request, rights: Rights, form: str, about: str) -> str:
    """Return the text that a request is known again by."""
    grants = (rights.asker or rights).grants
    asked = [request.url.path, str(request.url.query), form, rights.name, grants, about]
    text = json.dumps(asked)
    return hashlib.sha256(text.encode()).hexdigest()


async def _problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, SdbError)  # noqa: S101 - the handler is for these
    service: Service = request.app.state.service
    if isinstance(error, NotFoundError | CorruptError):
        try:
            await service.in_thread(service.root_check.whole)
        except HttpError as gone_error:
            error = gone_error
    if status_of(error) >= 500 and not isinstance(error, HttpError):  # noqa: PLR2004
        write_line(f"sdb serve: {error.message}")
    rights: Rights | None = getattr(request.state, "rights", None)
    knows = None if rights is None else rights.knows
    hiding: Hiding = request.scope.get("sdb.hiding") or Hiding(service.settings.root, knows=knows)
    hiding.error(error)
    if request.scope.get("sdb.plain"):
        return plain(error, status_of(error))
    return response(error)


async def _http_problem(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - the handler is for these
    code = HTTPStatus(error.status_code).phrase.lower().replace(" ", "_")
    http_error = HttpError(error.status_code, str(error.detail), code=code, headers=error.headers)
    return response(http_error)


async def _system_fault(_request: Request, error: Exception) -> Response:
    assert isinstance(error, OSError)  # noqa: S101 - the handler is for these
    write_line(f"sdb serve: {error}")
    return response(of_system(error))


async def _fault(_request: Request, error: Exception) -> Response:
    if isinstance(error, CutError):  # the answer has begun: this one is not sent
        return Response()
    write_line(f"sdb serve: {type(error).__name__}: {error}")
    return response(
        HttpError(500, "the request failed: the server's log says why", code="internal")
    )
