"""The application: routes, and what is around each of them."""

from __future__ import annotations

import asyncio
import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import Response

from sdb import notes
from sdb.errors import CorruptError, NotFoundError, SdbError
from sdb.serve import metrics as metrics_module
from sdb.serve.answers import Answer, Engine
from sdb.serve.bodies import Bodies
from sdb.serve.conditional import answered, header_text
from sdb.serve.hiding import Hiding
from sdb.serve.log import write_line
from sdb.serve.operations import OPERATIONS
from sdb.serve.page.routes import page_routes
from sdb.serve.problems import HttpError, of_system, response, status_of
from sdb.serve.process.audit import AuditLog, AuditResources
from sdb.serve.process.gate import Gate
from sdb.serve.queries import query_of
from sdb.serve.rootcheck import RootCheck, gone
from sdb.serve.routes import routes
from sdb.serve.seafowl.queries import SeafowlResources, plain
from sdb.serve.seafowl.uploads import UploadResources
from sdb.serve.stored import StoredResources
from sdb.serve.streams import CutError
from sdb.serve.tables.catalog import TableResources
from sdb.serve.tables.copies import CopyResources
from sdb.serve.tables.databases import DatabaseResources
from sdb.serve.tables.definitions import DefinitionResources
from sdb.serve.tables.following import ChangeResources
from sdb.serve.tables.histograms import Histograms
from sdb.serve.tables.layout import LayoutResources
from sdb.serve.tables.refs import RefResources
from sdb.serve.tables.searching import SearchResources
from sdb.serve.tables.staging import StagingResources
from sdb.serve.tables.tailing import TailResources
from sdb.serve.tables.upkeep import UpkeepResources
from sdb.serve.tables.views import ViewResources
from sdb.serve.tables.watching import IndexWatch
from sdb.serve.tables.writes import Writes
from sdb.table.catalog.root import table_root

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from starlette.requests import Request

    from sdb.serve.access import Rights
    from sdb.serve.described import NoMembers
    from sdb.serve.process.repeats import Repeats
    from sdb.serve.queries import AskedQuery
    from sdb.serve.settings import ServerSettings
    from sdb.serve.tags import Tag
    from sdb.serve.tokens import TokenRights

_VARY = "accept, accept-encoding, authorization"


def make_app(settings: ServerSettings, rights: TokenRights, repeats: Repeats) -> Gate:
    """Make the application of a server.

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
        DatabaseResources(root, in_thread),
        DefinitionResources(root, in_thread, engine),
        SearchResources(root, in_thread),
        CopyResources(root, engine, settings),
        UpkeepResources(root, engine, settings),
        StagingResources(root, in_thread, engine, service.metrics),
        AuditResources(service.audit, in_thread),
        writes,
    )
    app = Starlette(
        routes=[*page_routes(settings, rights), *routes(OPERATIONS, *owners)],
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
        self.audit = AuditLog(settings.audit)

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
