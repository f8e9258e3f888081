"""Requests for queries: their members, from the URL or the body, and what they ask for."""

from __future__ import annotations

import math
import time
from typing import Literal

import msgspec

from sdb import durations, instants
from sdb.errors import UsageError
from sdb.query.analyze.params import bind
from sdb.query.catalog.period import Period
from sdb.query.syntax.parser import parse
from sdb.records import record, replace
from sdb.serve.bodies import bounded
from sdb.serve.forms import FORMS, form_of
from sdb.serve.problems import HttpError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from starlette.requests import Request

    from sdb.query.syntax import ast
    from sdb.serve.forms import AnswerForm

MOST_SQL_BYTES = 64 << 10
MOST_BODY_BYTES = 1 << 20
_PARAM = "p."
_MEMBERS = frozenset(
    {
        "sql",
        "format",
        "since",
        "until",
        "time_field",
        "at",
        "now",
        "timeout",
        "max_age",
        "end",
        "dialect",
    }
)
_RELATIVE_NOW = "now={} depends on when it is asked"


class Body(msgspec.Struct, forbid_unknown_fields=True):
    """A query as JSON."""

    sql: str
    params: dict[str, object] = msgspec.field(default_factory=dict)
    format: str = ""
    since: str = ""
    until: str = ""
    time_field: str = ""
    at: str = ""
    now: str = ""
    timeout: str = ""
    max_age: int = 0
    end: bool = False
    dialect: Literal["", "standard", "sneller"] = ""


@record
class AskedQuery:
    """A query that a request asks for."""

    statement: ast.Statement  # parsed, its parameters bound
    form: AnswerForm
    period: Period | None
    at: str
    now_us: int
    is_now_set: bool  # whether the request says what the present is
    counts: bool  # whether its period counts from the present
    timeout_seconds: float | None  # for which it may run; None: as long as the server allows
    max_age_seconds: int  # for how long caches may answer without asking
    wants_end: bool  # whether lines end with one that counts them


async def query_of(request: Request) -> AskedQuery:
    """Read the query of a request.

    Raises `HttpError` if it is too large, or its format is not there; `UsageError` if a member is
    unknown, twice or invalid; `QueryError` if the statement cannot be parsed, or a parameter has no
    value.
    """
    body = _from_url(request) if request.method in {"GET", "HEAD"} else await _from_body(request)
    most = request.app.state.service.settings.sql_bytes
    check_sql(body.sql, min(MOST_SQL_BYTES, most))
    if not body.sql.strip():
        raise UsageError("there is no query", hint="/v1/query?sql=SELECT+...")
    return made(body, accept=request.headers.get("accept", ""))


def check_sql(text: str, most_bytes: int) -> None:
    """Refuse a statement that is too long, before it is parsed."""
    size = len(text.encode("utf-8", "replace"))
    if size > most_bytes:
        raise HttpError(
            413,
            f"the statement has {size:,} bytes, and may have {most_bytes:,}",
            code="statement_too_long",
            hint="give values as params, and rows to /v1/tables/{name}/rows",
        )


def made(body: Body, *, accept: str = "") -> AskedQuery:
    """Make the query of a body; see :func:`query_of`."""
    statement = bind(parse(body.sql), body.params)
    statement = replace(statement, dialect=statement.dialect or body.dialect)
    if statement.into is not None:
        raise UsageError("INTO writes a file, which the service does not: leave it out")
    if _counts(body.now):
        raise UsageError(_RELATIVE_NOW.format(body.now), hint="now=2026-01-31T12:00Z")
    now_us = instants.parse(body.now) if body.now else time.time_ns() // 1000
    start_us = instants.parse(body.since, now_us) if body.since else None
    stop_us = instants.parse(body.until, now_us) if body.until else None
    has_period = start_us is not None or stop_us is not None
    if body.time_field and not has_period:
        raise UsageError("a time field is of use only with since or until")
    return AskedQuery(
        statement,
        form_of(body.format, accept),
        Period(start_us, stop_us, body.time_field or None) if has_period else None,
        body.at,
        now_us,
        bool(body.now),
        any(_counts(text) for text in (body.since, body.until)),
        _seconds(body.timeout),
        max(body.max_age, 0),
        body.end,
    )


def _from_url(request: Request) -> Body:
    members: dict[str, object] = {}
    params: dict[str, object] = {}
    for name, text in request.query_params.multi_items():
        into, key = (params, name[len(_PARAM) :]) if name.startswith(_PARAM) else (members, name)
        plain, _, kind = key.partition(":")
        if into is members and key not in _MEMBERS:
            hint = f"there are {', '.join(sorted(_MEMBERS))}, and p.NAME for parameters"
            raise UsageError(f"the query has no member {key[:40]!r}", hint=hint)
        if key in into or plain in into:
            raise UsageError(f"{name[:40]!r} is given twice")
        if into is params:
            params[plain] = text if kind == "str" else _value(text)
        else:
            members[key] = text
    try:
        return msgspec.convert({"sql": "", **members, "params": params}, Body, strict=False)
    except msgspec.ValidationError as error:
        raise UsageError(f"the query: {error}") from None


def _value(text: str) -> object:
    """Return the value of a parameter in a URL: JSON where it is some, else the text itself."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text
    return text if isinstance(value, float) and not math.isfinite(value) else value


async def _from_body(request: Request) -> Body:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in {"application/json", "application/sql", "text/plain"}:
        hint = "application/json with sql and params, or the statement as application/sql"
        raise HttpError(415, f"a query is no {kind or 'body without a type'}", hint=hint)
    data = await bounded(request, MOST_BODY_BYTES)
    try:
        if kind != "application/json":
            return msgspec.structs.replace(_from_url(request), sql=data.decode())
        return msgspec.json.decode(data, type=Body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"the body is no query: {error}") from None


def _seconds(text: str) -> float | None:
    """Return the time that a query asks for."""
    if not text:
        return None
    wanted = durations.seconds(text, bare=True)
    if wanted <= 0:
        raise UsageError(f"timeout: {text!r} is no time to run in")
    return wanted


def _counts(text: str) -> bool:
    return bool(text) and instants.relative(text) is not None


def formats() -> list[str]:
    """Return the names of formats."""
    return [form.name for form in FORMS]
