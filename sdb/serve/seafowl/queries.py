"""Requests of clients of Seafowl: queries by their SHA-256, with its headers and texts of errors.

The differences are those that HTTP asks for: tags are quoted, caches ask each time, and an error
after the first row cuts the answer.
"""

from __future__ import annotations

import hashlib
import re
import time
from urllib.parse import unquote

import msgspec
from starlette.responses import Response

from sdb.query.analyze.params import bind
from sdb.query.syntax import writes
from sdb.query.syntax.lexer import split
from sdb.query.syntax.parser import WRITES, parse
from sdb.query.syntax.writeparser import parse_write
from sdb.serve.bodies import bounded
from sdb.serve.forms import SEAFOWL
from sdb.serve.problems import HttpError
from sdb.serve.queries import MOST_BODY_BYTES, AskedQuery
from sdb.serve.seafowl.names import PUBLIC, qualified

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request

    from sdb.errors import SdbError
    from sdb.serve.access import Rights
    from sdb.serve.answers import Answer
    from sdb.serve.tables.writes import Writes

_HASH = re.compile(r"([0-9a-f]{64})(?:\..*)?", re.DOTALL)
_VARY = "authorization, content-type, origin, x-seafowl-query, accept-encoding"
_FIRST_WORD = re.compile(r"\s*([A-Za-z]+)")
_CHANGES = frozenset({*WRITES, "BEGIN", "COMMIT"})


class SeafowlError(HttpError):
    """An error whose text is all of its answer, as clients of Seafowl expect."""


class SeafowlBody(msgspec.Struct):
    """The body of a request."""

    query: str


class SeafowlResources:
    """The resources that clients of Seafowl ask."""

    def __init__(self, answer: Callable[..., Awaitable[Answer]], writes: Writes) -> None:
        self._answer, self._writes = answer, writes

    async def seafowl_get(self, request: Request) -> Answer:
        """Answer a query that caches may keep."""
        request.scope["sdb.plain"] = True
        path = request.path_params["query"]
        match = _HASH.fullmatch(path)
        text = path if match is None else await _hashed(request, match[1])
        if not text.strip():
            raise SeafowlError(400, "Empty query received")
        if _changes(text):
            raise SeafowlError(405, "NOT_READ_ONLY_QUERY")
        return await self._answer(request, _asked(text, _database(request)), vary=_VARY)

    async def seafowl_post(self, request: Request) -> Response | Answer:
        """Run statements; the last one may be a query."""
        request.scope["sdb.plain"] = True
        text = _text(await bounded(request, MOST_BODY_BYTES))
        ended, rest = split(text)
        statements = [each for each in (*ended, rest) if each.strip()]
        if not statements:
            raise SeafowlError(400, "Empty query received")
        reads = [number for number, each in enumerate(statements) if not _changes(each)]
        if reads not in ([], [len(statements) - 1]):
            raise SeafowlError(
                400,
                "Only one read statement is allowed and it must be at the end of a"
                " multi-statement query",
            )
        changes = statements[: len(statements) - len(reads)]
        if changes:
            rights: Rights = request.state.rights
            if not rights.may_write_some:
                raise SeafowlError(403, "WRITE_FORBIDDEN")
            await self._writes.executed(request, ";\n".join(changes), _reader(_database(request)))
        if not reads:
            return Response(b"", 200, {"cache-control": "no-store"}, SEAFOWL.media_type)
        asked = _asked(statements[-1], _database(request))
        return await self._answer(request, asked, vary=_VARY)


async def _hashed(request: Request, digest: str) -> str:
    """Return the query that a request has besides its hash."""
    written = request.headers.get("x-seafowl-query")
    if written is not None:
        text = unquote(written)
    else:
        body = await bounded(request, MOST_BODY_BYTES)
        text = _text(body) if body else ""
    if not text.strip():
        raise SeafowlError(400, "Empty query received")
    actual = hashlib.sha256(text.encode()).hexdigest()
    if actual != digest:
        raise SeafowlError(
            400,
            f'Invalid hash: expected "{actual}", got "{digest}". Resend your query with "{actual}"',
        )
    return text


def _text(body: bytes) -> str:
    try:
        return msgspec.json.decode(body, type=SeafowlBody).query
    except (msgspec.DecodeError, RecursionError) as error:
        raise SeafowlError(400, f"the body is no query: {error}") from None


def _changes(text: str) -> bool:
    match = _FIRST_WORD.match(text)
    return match is not None and match[1].upper() in _CHANGES


def _database(request: Request) -> str:
    """Return the database that the path begins with; empty: none."""
    return str(request.path_params.get("database", ""))


def _reader(database: str) -> Callable[[str], writes.WriteStatement]:
    """Return what parses statements that change tables: bare names are in the default schema."""

    def read(text: str) -> writes.WriteStatement:
        statement = parse_write(text, database or PUBLIC)
        whole = qualified(statement, database)
        if isinstance(statement.write, writes.CreateView) and whole != statement:
            # A view is kept as its text.
            raise SeafowlError(400, "a view and its query name tables with their schemas")
        return whole

    return read


def _asked(text: str, database: str) -> AskedQuery:
    statement = qualified(bind(parse(text), {}), database)
    if statement.into is not None:
        raise SeafowlError(405, "NOT_READ_ONLY_QUERY")
    now_us = time.time_ns() // 1000
    return AskedQuery(
        statement,
        SEAFOWL,
        None,
        "",
        now_us,
        is_now_set=False,
        counts=False,
        timeout_seconds=None,
        max_age_seconds=0,
        wants_end=False,
    )


def plain(error: SdbError, status: int = 0) -> Response:
    """Return an error as clients of Seafowl expect it: its text."""
    headers = {"cache-control": "no-store", **getattr(error, "headers", {})}
    number = status or getattr(error, "status", 500)
    return Response(error.message.encode(), number, headers, "text/plain; charset=utf-8")
