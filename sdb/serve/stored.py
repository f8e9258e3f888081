"""Stored queries: asked by their names, with a separate right, whatever tables they read."""

from __future__ import annotations

import time

import msgspec

from sdb import instants
from sdb.errors import UsageError
from sdb.query.run.storedquery import RESERVED, values
from sdb.query.syntax import visitor
from sdb.records import replace
from sdb.serve.access import EVERY, Rights
from sdb.serve.conditional import answered
from sdb.serve.hiding import Hiding
from sdb.serve.problems import HttpError
from sdb.serve.queries import Body, made
from sdb.serve.tables.writes import named_tables
from sdb.table.catalog.storedqueries import find, queries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any

    from starlette.requests import Request
    from starlette.responses import Response

    from sdb.serve.answers import Answer
    from sdb.serve.described import NoMembers
    from sdb.serve.queries import AskedQuery
    from sdb.table.catalog.root import TableRoot
    from sdb.table.catalog.storedqueries import StoredQuery


class StoredResources:
    """The resources about stored queries."""

    def __init__(
        self,
        root: TableRoot,
        in_thread: Callable[..., Any],
        answer: Callable[..., Awaitable[Answer]],
    ) -> None:
        self._root, self._in_thread, self._answer = root, in_thread, answer

    async def stored_queries(self, request: Request, _asked: NoMembers) -> Response:
        """List the queries that may be asked."""
        rights: Rights = request.state.rights

        def listed() -> list[dict[str, object]]:
            return [_shown(each, rights) for each in queries(self._root) if _may(rights, each.name)]

        return answered(request, {"queries": await self._in_thread(listed)})

    async def stored_query(self, request: Request) -> Answer:
        """Answer a stored query."""
        rights: Rights = request.state.rights
        name, _, suffix = request.path_params["name"].partition(".")
        query: StoredQuery | None = None
        if _may(rights, name):
            query = await self._in_thread(find, self._root, name)
        if query is None:
            hint = "GET /v1/queries lists them"
            raise HttpError(404, f"there is no query {name[:80]!r}", code="not_found", hint=hint)
        asked = _asked(request, query, suffix)
        # What it reads is no concern of its reader's.
        may_read = Rights(rights.name, (("read", EVERY),), rights.limits, rights)
        hiding = request.scope["sdb.hiding"] = self._hiding(query, asked, rights)
        if hiding.tables and asked.period is not None and asked.period.field is not None:
            what = "time_field: the token may ask the query, and read no columns of its tables"
            raise HttpError(403, what, code="forbidden", hint="since and until take their time")
        return await self._answer(request, asked, rights=may_read, about=query.data.decode())

    def _hiding(self, query: StoredQuery, asked: AskedQuery, rights: Rights) -> Hiding:
        """Return what errors do not tell of a query that its reader may only ask."""
        if not rights.name or rights.is_admin:
            return Hiding(self._root.location)
        named = (name.parts for name in named_tables(list(visitor.nodes(asked.statement))))
        hidden = {(parts[0], parts[1]) for parts in named if len(parts) > 1}
        tables = tuple(sorted(pair for pair in hidden if not rights.reads(*pair)))
        instead = f"what {query.name} reads"
        location = self._root.location
        return Hiding(location, tables, rights.knows, instead, hides_query=True)


def _may(rights: Rights, name: str) -> bool:
    return rights.is_admin or rights.asks(name) or not rights.name


def _shown(query: StoredQuery, rights: Rights) -> dict[str, object]:
    """Return what a reader needs to ask it; its text names tables."""
    members = query.as_dict()
    if rights.name and not rights.is_admin:
        del members["sql"]
    return members


def _asked(request: Request, query: StoredQuery, suffix: str) -> AskedQuery:
    members: dict[str, object] = {}
    texts: dict[str, str] = {}
    params = {each.name for each in query.params}
    for name, text in request.query_params.multi_items():
        into: dict[str, Any] = texts if name in params else members
        if name not in params and name not in RESERVED:
            expected = ", ".join([*sorted(params), *sorted(RESERVED)])
            raise UsageError(f"the query has no parameter {name[:40]!r}", expected=expected)
        if name in into:
            raise UsageError(f"{name!r} is given twice")
        into[name] = text
    if suffix and members.setdefault("format", suffix) != suffix:
        raise UsageError(f"the name ends in .{suffix[:20]}, and format is another one")
    if members.setdefault("dialect", query.dialect) != query.dialect:
        raise UsageError(f"the query is in the dialect {query.dialect}: leave out dialect")
    try:
        body = msgspec.convert({"sql": query.text, **members}, Body, strict=False)
    except msgspec.ValidationError as error:
        raise UsageError(f"the query: {error}") from None
    now_us = instants.parse(body.now) if body.now else time.time_ns() // 1000
    body.params, counts = values(query, texts, now_us)
    asked = made(body, accept=request.headers.get("accept", ""))
    return replace(asked, counts=asked.counts or counts)
