"""Rows as they come: server-sent events, each with the version and the number of its row.

A client that was cut off goes on where it was (``Last-Event-ID``): the rows of a version, and
their order, stay the same.
"""

from __future__ import annotations

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import msgspec
from starlette.responses import Response

from sdb import notes
from sdb.cancellation import Cancellation, CancelledError
from sdb.errors import NotFoundError, SdbError, UsageError
from sdb.query.catalog.dataset import QueryRequest
from sdb.query.run.api import run, warnings_in
from sdb.query.syntax.parser import parse
from sdb.records import record, replace
from sdb.serve.admission import BusyError
from sdb.serve.hiding import Hiding
from sdb.serve.pipe import Pipe
from sdb.serve.problems import problem
from sdb.serve.running import disconnected
from sdb.serve.tables.conditions import condition, field, table_text
from sdb.serve.tables.following import version_of, watched
from sdb.serve.tables.opening import named, opened
from sdb.table.commit.change import SAME_ROWS
from sdb.table.format.index import TableIndex
from sdb.table.history.diff import compare
from sdb.table.history.log import log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from typing import Any

    from starlette.requests import Request
    from starlette.types import Receive, Scope, Send

    from sdb.serve.admission import Slots
    from sdb.serve.settings import ServerSettings
    from sdb.serve.tables import parameters
    from sdb.serve.tables.watching import IndexWatch
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot
    from sdb.table.history.log import LoggedVersion

_MOST = 64
_PULSE_SECONDS = 15.0
_MOST_SECONDS = 600.0
"""So long is a tail; its client begins another, and its token is looked at again."""

_MOST_VERSIONS = 1_000
_ID = re.compile(r"(\d{1,18})(?::(\d{1,18}))?")
_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}


@record
class Wanted:
    """The rows that a tail sends."""

    name: str  # the table, as the request names it
    select: str  # of each row
    where: str  # which rows


@record
class TailServices:
    """Parts of the server that all tails use."""

    root: TableRoot
    in_thread: Callable[..., Any]
    watch: IndexWatch
    slots: Slots
    settings: ServerSettings
    threads: ThreadPoolExecutor


class TailResources:
    """The resource that sends rows as they come."""

    def __init__(
        self,
        root: TableRoot,
        in_thread: Callable[..., Any],
        watch: IndexWatch,
        slots: Slots,
        settings: ServerSettings,
    ) -> None:
        threads = ThreadPoolExecutor(_MOST, "tail")
        self._services = TailServices(root, in_thread, watch, slots, settings, threads)
        self._count = 0

    async def tail(self, request: Request, asked: parameters.TailParams) -> Tail:
        """Begin to send rows."""
        columns = ", ".join(field(each, "fields") for each in asked.fields) or "*"
        where = f" WHERE {condition(asked.where)}" if asked.where else ""
        wanted = Wanted(request.path_params["name"], columns, where)
        services = self._services
        handle = await services.in_thread(opened, services.root, wanted.name, request.state.rights)
        text = request.headers.get("last-event-id", "") or asked.after
        match = _ID.fullmatch(text)
        if text and match is None:
            raise UsageError(f"after: {text[:40]!r} is no version, and no id of an event")
        start = version_of(handle) if match is None else int(match[1])
        row = None if match is None or match[2] is None else int(match[2])
        if self._count >= _MOST:
            raise BusyError(_PULSE_SECONDS)
        return Tail(self, services, request, wanted, start, row)

    def begun(self, count: int) -> None:
        """Count the tails that are open."""
        self._count += count

    def end(self) -> None:
        """Release the threads."""
        self._services.threads.shutdown(wait=False, cancel_futures=True)


class Tail(Response):
    """The answer of a tail: an application of ASGI.

    * ``version``: The version that the client has.
    * ``row``: The last row of it that the client has; None: all of them.
    """

    def __init__(
        self,
        owner: TailResources,
        services: TailServices,
        request: Request,
        wanted: Wanted,
        version: int,
        row: int | None,
    ) -> None:
        super().__init__(None, 200, _HEADERS, "text/event-stream")
        del self.headers["content-length"]
        self._owner, self._services, self._request = owner, services, request
        self._wanted, self._version, self._row = wanted, version, row
        self._cancellation = Cancellation()
        self._said: list[str] = []  # warnings on rows that were sent
        self._told: set[str] = set()  # those that the client was sent

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until the client goes, or the time is over."""
        del scope, receive
        if self._request.method == "HEAD":
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            return
        self._owner.begun(1)
        gone = asyncio.ensure_future(disconnected(self._request))
        sending = asyncio.ensure_future(self._send(send))
        try:
            await asyncio.wait({gone, sending}, return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                sending.result()
        finally:
            self._cancellation.cancel("the client is gone")
            gone.cancel()
            sending.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.gather(gone, sending, return_exceptions=True)
            self._owner.begun(-1)

    async def _send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        start = f"retry: 1000\nid: {self._id()}\ndata:\nevent: begin\n\n".encode()
        await send({"type": "http.response.body", "body": start, "more_body": True})
        try:
            async for piece in self._events():
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        except SdbError as error:
            Hiding(self._services.root.location).error(error)
            text = msgspec.json.encode(problem(error))
            event = b"event: problem\ndata: " + text + b"\n\n"
            await send({"type": "http.response.body", "body": event, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _id(self) -> str:
        return f"{self._version}" if self._row is None else f"{self._version}:{self._row}"

    async def _events(self) -> AsyncIterator[bytes]:
        services, loop = self._services, asyncio.get_running_loop()
        rights, name = self._request.state.rights, self._wanted.name
        _, at = named(name)
        until = loop.time() + _MOST_SECONDS
        while (rest := until - loop.time()) > 0 and not services.watch.is_ending:
            handle = await services.in_thread(opened, services.root, name, rights)
            entries, is_complete = await services.in_thread(self._newer, handle)
            if not is_complete:
                yield _event("gap", str(entries[0].version - 1), {"after": self._version})
            for entry in entries:
                async for piece in self._version_events(handle, entry):
                    yield piece
            if entries:
                continue
            known = watched(handle, at or "main")
            if not await services.watch.wait(known, min(rest, _PULSE_SECONDS)):
                yield b":\n\n"

    def _newer(self, handle: TableHandle) -> tuple[list[LoggedVersion], bool]:
        """Return the next versions to send, and whether none in between has expired."""
        least = self._version if self._row is None else self._version - 1
        entries: list[LoggedVersion] = []
        for entry in log(handle):
            if entry.version is None:
                continue
            if entry.version <= least:
                break
            entries.append(entry)
        oldest = entries[-1].version if entries else None
        return entries[: -_MOST_VERSIONS - 1 : -1], oldest is None or oldest == least + 1

    async def _version_events(
        self, handle: TableHandle, entry: LoggedVersion
    ) -> AsyncIterator[bytes]:
        """Iterate over the events of a version."""
        assert entry.version is not None  # noqa: S101 - others were left out
        done = self._row if entry.version == self._version and self._row is not None else -1
        self._version, self._row = entry.version, None
        if entry.operation in SAME_ROWS:
            return
        added = await self._services.in_thread(_added, handle, entry)
        if added is None:
            # Rows were changed or deleted, and not only added: which, `diff` says.
            yield _event("version", str(entry.version), entry.as_dict())
            return
        number = 0
        async for line in self._rows(added):
            if number > done:
                self._row = number
                yield b"id: %d:%d\ndata: %b\n\n" % (entry.version, number, line)
            number += 1
        self._row = None
        if said := self._new_warnings():
            yield _event("warnings", str(entry.version), {"warnings": said})
        yield b"id: %d\nevent: end\ndata:\n\n" % entry.version

    def _new_warnings(self) -> list[str]:
        """Return warnings that the client was not sent yet."""
        rights = self._request.state.rights
        hiding = Hiding(self._services.root.location, knows=rights.knows)
        said = hiding.texts(self._said)
        new = [text for text in said if text not in self._told]
        self._said.clear()
        self._told.update(new)
        return new

    async def _rows(self, handle: TableHandle) -> AsyncIterator[bytes]:
        """Iterate over the rows of packfiles, in their order, as lines of JSON."""
        services = self._services
        slots, rights = services.slots, self._request.state.rights
        pipe = Pipe(
            asyncio.get_running_loop(),
            self._cancellation,
            pause=lambda: slots.leave(rights),
            resume=lambda: slots.take_back(rights, self._cancellation),
        )
        text = f"SELECT {self._wanted.select} FROM {table_text(handle)}{self._wanted.where}"  # noqa: S608

        def compute() -> None:
            failure: BaseException | None = None
            try:
                slots.take(rights, self._cancellation)
                try:
                    with (
                        notes.collected() as said,
                        run(
                            QueryRequest(
                                parse(text),
                                root=services.settings.root,
                                threads=1,  # so that rows come in their order
                                memory_bytes=services.settings.query_memory_bytes,
                                tables={handle.name: handle},
                                visible=rights.reads,
                                cancellation=self._cancellation,
                            )
                        ) as result,
                        self._cancellation.interrupting(result.interrupt),
                    ):
                        for piece in result.lines():
                            pipe.write(piece)
                        self._said += [*said, *warnings_in(result.notes)]
                finally:
                    slots.leave(rights)
            except BaseException as error:  # noqa: BLE001 - the loop raises it
                failure = error
            with suppress(CancelledError):
                pipe.end(failure)

        services.threads.submit(compute)
        rest = b""
        while piece := await pipe.read():
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                yield line
        if pipe.error is not None:
            raise pipe.error


def _event(kind: str, number: str, members: dict[str, object]) -> bytes:
    data = msgspec.json.encode(members)
    return f"id: {number}\nevent: {kind}\n".encode() + b"data: " + data + b"\n\n"


def _added(handle: TableHandle, entry: LoggedVersion) -> TableHandle | None:
    """Return a table with what a version has added alone; None: it has changed more than that.

    The version before may have expired: then nothing says what was added.
    """
    assert entry.version is not None  # noqa: S101 - others were left out
    after = handle.at(entry.version)
    try:
        before = handle.at(entry.parents[0]) if entry.parents else None
    except NotFoundError:
        return None
    if before is None:
        added = tuple(after.descriptors())
    else:
        difference = compare(before, after)
        if difference.removed:
            return None
        added = difference.added
    index = replace(TableIndex(after.index.name), inline=added, user_data=after.index.user_data)
    return replace(after, index=index)
