"""Rows by time and by value: queries that requests need not write themselves.

They are answered like all queries: by the same planner, with tags, limits and formats.
"""

from __future__ import annotations

from sdb import durations, instants
from sdb.errors import UsageError
from sdb.serve.queries import Body, made
from sdb.serve.tables.conditions import condition, field, quoted, table_text, text_literal
from sdb.serve.tables.opening import fields_of, named, opened, version_text
from sdb.table.inspect.timeline import path_of_time
from sdb.table.schema.names import names_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any

    from starlette.requests import Request
    from starlette.responses import Response

    from sdb.packfile.trailer.sparseindex import Path
    from sdb.serve.answers import Answer
    from sdb.serve.settings import ServerSettings
    from sdb.serve.tables import parameters
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot

    Answering = Callable[..., Awaitable[Response | Answer]]

_BUCKETS = 100
_MOST_BUCKETS = 10_000
_MOST_FACETS = 20
_FIRST_FACETS = 8
_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200)
_DAY = 86_400
_DAYS = (1, 2, 7, 14, 28, 91, 182, 364)
_VALUES = frozenset({"string", "symbol", "bool", "int", "uint", "integer"})
_SECOND_US = 1_000_000


class Histograms:
    """The histogram of a table, and its frequent values."""

    def __init__(
        self,
        root: TableRoot,
        in_thread: Callable[..., Any],
        settings: ServerSettings,
        answer: Answering,
    ) -> None:
        self._root, self._in_thread = root, in_thread
        self._settings, self._answer = settings, answer

    async def hits(self, request: Request, asked: parameters.HitsParams) -> Response | Answer:
        """Count the rows of each bucket of time, and of each value of a field if one is named."""
        now_us = instants.parse(asked.now) if asked.now else instants.parse("now")
        since = instants.parse(asked.since, now_us) if asked.since else None
        until = instants.parse(asked.until, now_us) if asked.until else None
        if since is not None and until is not None and until <= since:
            raise UsageError("until is not after since")

        def written() -> tuple[str, str]:
            handle, at = self._opened(request)
            path = path_of_time(handle, asked.time_field)
            step = _step(asked.step, *_range(handle, path, since, until))
            time = quoted(path if handle.schema is None else names_of(handle.schema, path))
            bucket = f"DATE_BIN('{step} second', {time})"
            by = field(asked.by, "by") if asked.by else ""
            # A field may have the name of an item, and would be meant by that name in GROUP BY.
            items, keys = [f'{bucket} AS "time"'], [bucket]
            if by:
                items.append(f'{by} AS "value"')
                keys.append(by)
            known = " AND ".join(f"{key} IS NOT NULL" for key in (time, *keys))
            where = f"{known} AND {condition(asked.where)}" if asked.where else known
            text = (
                f'SELECT {", ".join(items)}, COUNT(*) AS "rows" FROM {table_text(handle)} '  # noqa: S608
                f'WHERE {where} GROUP BY {", ".join(keys)} ORDER BY "time"'
            )
            return text + (', "rows" DESC, "value"' if by else ""), at

        return await self._answered(request, asked, *await self._in_thread(written))

    async def facets(self, request: Request, asked: parameters.FacetsParams) -> Response | Answer:
        """Find the most frequent values of fields, all of them in one pass over the rows."""
        if len(asked.fields) > _MOST_FACETS:
            raise UsageError(f"fields: there may be {_MOST_FACETS}, and not {len(asked.fields):,}")

        def written() -> tuple[str, str]:
            handle, at = self._opened(request)
            fields = {name: field(name, "fields") for name in asked.fields}
            # Of fields that nobody names those with a value in each row are of no interest.
            often = "" if fields else ' WHERE v."count" > 1'
            fields = fields or _first(handle)
            if not fields:
                raise UsageError(
                    f"which fields {handle.name} has is not known", hint="fields=NAME,NAME"
                )
            lists = ", ".join(
                f"APPROX_TOP_K({path}, {asked.limit}) AS {quoted((name,))}"
                for name, path in fields.items()
            )
            rows = f"SELECT {lists} FROM {table_text(handle)}"  # noqa: S608 - quoted
            rows += f" WHERE {condition(asked.where)}" if asked.where else ""
            order = "CASE field " + " ".join(
                f"WHEN {text_literal(name)} THEN {number}" for number, name in enumerate(fields)
            )
            text = f'SELECT field, v."value" AS "value", v."count" AS "rows" FROM UNPIVOT ({rows})'  # noqa: S608
            text += f" AS list AT field, list AS v{often}"
            return f'{text} ORDER BY {order} END, "rows" DESC', at

        return await self._answered(request, asked, *await self._in_thread(written))

    def _opened(self, request: Request) -> tuple[TableHandle, str]:
        """Open the table of a request; its query names the version that the request names."""
        name, rights = request.path_params["name"], request.state.rights
        handle = opened(self._root, name, rights)
        _, at = named(name)
        return handle, version_text(handle) if at.isdigit() else at

    async def _answered(
        self,
        request: Request,
        asked: parameters.HitsParams | parameters.FacetsParams,
        sql: str,
        at: str,
    ) -> Response | Answer:
        has_times = bool(asked.since or asked.until)
        body = Body(
            sql,
            format=asked.format or ("" if "accept" in request.headers else "json"),
            since=asked.since,
            until=asked.until,
            time_field=asked.time_field if has_times else "",
            at=at,
            now=asked.now,
            dialect="standard",
        )
        accept = request.headers.get("accept", "")
        if not asked.format and accept in {"", "*/*"}:
            body.format = "json"
        # The query was written by what the table had a moment ago.
        return await self._answer(request, made(body, accept=accept), about=sql)


def _range(
    handle: TableHandle, path: Path, since: int | None, until: int | None
) -> tuple[int, int]:
    """Return the times between which rows are, as far as metadata has them."""
    if since is None or until is None:
        spans = []
        for descriptor in handle.descriptors():
            index = descriptor.trailer.sparse.indices.get(path)
            if index is not None and not index.is_empty:
                spans.append((index.first_us, index.last_us))
        since = min((first for first, _ in spans), default=0) if since is None else since
        until = max((last for _, last in spans), default=since) + 1 if until is None else until
    return since, max(until, since + 1)


def _step(text: str, since: int, until: int) -> int:
    """Return the width of a bucket in seconds: what is asked for, or a round one.

    Raises `UsageError` if it is no whole number of seconds, or there would be too many buckets.
    """
    seconds = (until - since) / _SECOND_US
    if text:
        wanted = durations.seconds(text, bare=True)
        if wanted < 1 or wanted != int(wanted):
            raise UsageError(f"step: {text[:40]!r} is no whole number of seconds")
        if seconds / wanted > _MOST_BUCKETS:
            raise UsageError(
                f"step: {text[:40]} makes more than {_MOST_BUCKETS:,} buckets",
                hint="a longer step, or since and until",
            )
        return int(wanted)
    least = seconds / _BUCKETS
    steps = (*_STEPS, *(days * _DAY for days in _DAYS))
    years = -(-int(least) // (364 * _DAY))
    return next((step for step in steps if step >= least), years * 364 * _DAY)


def _first(handle: TableHandle) -> dict[str, str]:
    """Return fields that may have few values: the first with texts, booleans or integers."""
    fields = {}
    for each in fields_of(handle)[1]:
        if None not in each.path and _VALUES & set(each.types):
            path = tuple(part for part in each.path if part is not None)
            fields[".".join(path)] = quoted(path)
    return dict(list(fields.items())[:_FIRST_FACETS])
