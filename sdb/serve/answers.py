"""Answers of queries: tags from plans; small answers are kept, large ones streamed."""

from __future__ import annotations

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor
from typing import cast

from starlette.responses import Response

from sdb import notes
from sdb.cancellation import CancelledError
from sdb.errors import SdbError
from sdb.lru import LruCache
from sdb.serve.admission import Slots
from sdb.serve.conditional import header_text, is_known
from sdb.serve.forms import write
from sdb.serve.log import write_line
from sdb.serve.pipe import CODINGS, Output, Pipe
from sdb.serve.problems import HttpError, of_system, problem_line
from sdb.serve.running import GoneError, RunningQueries
from sdb.serve.streams import TOLD_BEHIND, CutError, pieces, sent, told_behind
from sdb.serve.tags import Tag, TagCache, is_current, tag_of
from sdb.serve.wholefiles import WholeFile, WholeFiles
from sdb.store.url import store_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, BinaryIO

    from starlette.requests import Request
    from starlette.types import Receive, Scope, Send

    from sdb.serve.access import Rights
    from sdb.serve.metrics import Metrics
    from sdb.serve.queries import AskedQuery
    from sdb.serve.running import Running
    from sdb.serve.settings import ServerSettings

HELD_BYTES = 256 << 10
HELD_SECONDS = 0.2
_SMALL_BYTES = 1 << 20
_KEPT_BYTES = 4 << 20
"""Rows beyond this size go to a file, where types are found out before the first one is written."""
_MOST_CODINGS = 32
_WEIGHT = re.compile(r"[01](?:\.[0-9]{0,3})?")
_PLANS = 4
_LOOKS = 4


class Engine:
    """Runs queries in threads, and keeps what is worth it of their answers."""

    def __init__(self, settings: ServerSettings, metrics: Metrics) -> None:
        self.settings, self.metrics = settings, metrics
        self.slots = Slots(settings.running, settings.waiting, settings.patience_seconds)
        self.running = RunningQueries(settings.open_queries, settings.patience_seconds)
        self.files = WholeFiles()
        self._looks = ThreadPoolExecutor(_LOOKS, "look")
        self._planning = asyncio.Semaphore(_PLANS)
        self._tags = TagCache()
        self.is_remote = store_of(settings.root).is_remote
        self._answers: LruCache[str, tuple[bytes, dict[str, str]]] = LruCache(
            most_bytes=settings.kept_bytes, size_of=lambda answer: len(answer[0])
        )
        self._first: dict[str, asyncio.Future[None]] = {}

    async def known_tag(self, key: str) -> Tag | None:
        """Return the tag of an answer that was asked for before, if its tables are the same.

        * ``key``: The text that the request is known again by; empty: it is not.
        """
        tag = self._tags.get(key) if key else None
        if tag is None:
            return None
        if self.is_remote:
            loop = asyncio.get_running_loop()
            is_same = await loop.run_in_executor(self._looks, is_current, tag)
        else:
            is_same = is_current(tag)
        return tag if is_same else None

    async def tag(self, running: Running, query: AskedQuery, key: str) -> Tag:
        """Plan a query, and return the tag of its answer.

        Raises `SdbError` if the query has no meaning, would read more than a query may, or has to
        stop.
        """

        def planned() -> Tag:
            return tag_of(query, self.settings, running)

        async with self._planning:
            tag = await running.until(self.running.thread(running, planned))
        if key:
            self._tags.put(key, tag)
        most = running.limits.scan_bytes
        if most is not None and tag.scan_bytes > most and query.statement.explain is None:
            tag.close()
            would = "more" if tag.hiding.tables else f"{tag.scan_bytes:,}"
            raise HttpError(
                422,
                f"the query would read {would} bytes, and may read {most:,}",
                code="scan_too_large",
                hint="ask for a shorter time with since and until, or WHERE",
            )
        self.metrics.planned.labels("read").inc(tag.blocks)
        self.metrics.planned.labels("left_out").inc(tag.all_blocks - tag.blocks)
        return tag

    def kept(self, key: str) -> tuple[bytes, dict[str, str]] | None:
        """Return an answer that was kept, and its headers."""
        return self._answers.get(key) if key else None

    def keep(self, key: str, body: bytes, headers: dict[str, str]) -> None:
        """Keep an answer if it is small."""
        if key and len(body) <= _SMALL_BYTES:
            self._answers.put(key, (body, headers))

    async def first(self, running: Running, key: str) -> bool:
        """Return whether an answer is to be made now; else another one has just made it.

        Equal questions at the same time are asked once: the others wait here.
        """
        while key and (first := self._first.get(key)) is not None:
            await running.until(first)
            if self.kept(key) is not None:
                return False
        if key:
            self._first[key] = asyncio.get_running_loop().create_future()
        return True

    def ended(self, key: str) -> None:
        """Wake the requests that wait for an answer."""
        waiting = self._first.pop(key, None)
        if waiting is not None:
            waiting.set_result(None)

    def computed(
        self, running: Running, query: AskedQuery, tag: Tag, output: Output
    ) -> dict[str, str]:
        """Compute an answer in this thread, when there is a slot; return headers of its notes."""
        self.slots.take(running.rights, running.cancellation)
        try:
            with notes.collected() as said:

                def warnings() -> list[str]:
                    return list(dict.fromkeys([*tag.warnings, *tag.hiding.texts(said)]))

                assert tag.query is not None  # noqa: S101 - tags that were kept are of answers at hand
                result = tag.query.run()
                result.kept_memory_bytes = _KEPT_BYTES
                result._tell_as(tag.hiding.text)  # noqa: SLF001 - for this
                with result, running.cancellation.interrupting(result.interrupt):
                    rows = running.limits.rows or self.settings.rows
                    written = write(
                        result,
                        query.form,
                        cast("BinaryIO", output),
                        rows=rows,
                        end=query.wants_end,
                        warnings=warnings,
                    )
                    self.metrics.answered.inc(written)
                    self.metrics.blocks.inc(result.blocks_read)
                    remarks = {"sdb-notes": result.notes, "sdb-warnings": warnings()}
            output.finish()
        finally:
            self.slots.leave(running.rights)
        more = {name: header_text("; ".join(lines)) for name, lines in remarks.items() if lines}
        return {**output.headers, **more}

    async def work(
        self, request: Request, compute: Callable[[Running], Any], rights: Rights
    ) -> Any:  # noqa: ANN401 - what it computes
        """Run something in a slot, until its time is over or its client is gone.

        What it does may count although it had to stop, so its end is waited for.
        Raises `SdbError` for what it raises, and for why it was stopped.
        """
        limits = self.settings.limits(rights.limits)
        async with self.running.run(request, rights, limits) as running:

            def in_slot() -> Any:  # noqa: ANN401 - the same
                self.slots.take(rights, running.cancellation)
                try:
                    return compute(running)
                finally:
                    self.slots.leave(rights)

            try:
                return await asyncio.shield(self.running.thread(running, in_slot))
            except CancelledError as error:
                raise running.error or error from None

    def close(self) -> None:
        """Stop all queries."""
        self.running.close(HttpError(503, "the server is ending", code="ending"))
        self._looks.shutdown(wait=False, cancel_futures=True)


class Answer:
    """The answer of a query, as it is made: an application of ASGI.

    * ``key``: The text that the request is known again by; empty: it is not.
    * ``headers``: Returns the headers of answers with a tag.
    * ``is_repeatable``: Whether the same request asks the same query, whatever has changed.
    """

    def __init__(
        self,
        engine: Engine,
        request: Request,
        query: AskedQuery,
        rights: Rights,
        key: str,
        headers: Callable[[Tag], dict[str, str]],
        *,
        is_repeatable: bool = False,
    ) -> None:
        self._engine, self._request, self._query = engine, request, query
        self._rights, self._key, self._make_headers = rights, key, headers
        self._coding = coding_of(request) if query.form.is_text else ""
        self._headers: dict[str, str] = {}
        self._is_repeatable = is_repeatable and not engine.is_remote

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        tag = await self._engine.known_tag(self._key)
        response = None if tag is None else self._at_hand(tag)
        if response is not None:
            if self._is_repeatable:
                scope["sdb.at_hand"] = tag, response.body
            await response(scope, receive, send)
            return
        limits = self._engine.settings.limits(self._rights.limits, self._query.timeout_seconds)
        async with self._engine.running.run(self._request, self._rights, limits) as running:
            tag = await self._engine.tag(running, self._query, self._key)
            scope["sdb.hiding"] = tag.hiding
            try:
                response = await self._made(running, tag, send)
            finally:
                tag.close()
        if response is not None:
            await response(scope, receive, send)

    async def _made(self, running: Running, tag: Tag, send: Send) -> Response | None:
        """Return the answer to a query that was planned; None: it was sent."""
        response = self._at_hand(tag)
        if response is not None:
            return response
        if self._request.method == "HEAD" and not self._query.form.is_whole:
            return self._head({})
        if self._is_whole:
            file = await self._file(running, tag)
            return file.response(self._request, self._headers, self._query.form)
        return await self._stream(running, tag, send)

    @property
    def _is_whole(self) -> bool:
        """True if it is made whole: HTTP/1.0 has no other way to show that an answer was cut."""
        return self._query.form.is_whole or self._request.scope["http_version"] == "1.0"

    def _at_hand(self, tag: Tag) -> Response | None:
        """Return the answer if the client has it, or it was kept; None: it has to be made."""
        engine, request = self._engine, self._request
        self._headers = self._make_headers(tag)
        text = self._headers.get("etag", "")
        if request.method != "POST" and is_known(request, text):
            engine.metrics.unchanged.inc()
            return Response(status_code=304, headers=self._headers)
        if self._is_whole or (known := engine.kept(self._kept_key(tag))) is None:
            return None
        engine.metrics.kept.inc()
        body, more = known
        return self._response(body, more)

    def _kept_key(self, tag: Tag) -> str:
        return tag.text and f"{self._coding} {tag.text}"

    def _response(self, body: bytes | None, more: dict[str, str]) -> Response:
        headers = {**self._headers, **more}
        if self._coding:
            headers["content-encoding"] = self._coding
        return Response(body, 200, headers, self._query.form.media_type)

    def _head(self, more: dict[str, str]) -> Response:
        response = self._response(None, more)
        del response.headers["content-length"]
        return response

    async def _file(self, running: Running, tag: Tag) -> WholeFile:
        """Return the answer as a file."""
        engine, query = self._engine, self._query
        key = tag.text and f"file {tag.text}"
        await engine.first(running, key)
        try:
            if (known := engine.files.get(key)) is not None:
                return known
            file = WholeFile()

            def compute() -> dict[str, str]:
                output = Output(
                    file.write, running.cancellation, most_bytes=running.limits.answer_bytes
                )
                return engine.computed(running, query, tag, output)

            try:
                file.headers = await running.until(engine.running.thread(running, compute))
            except Exception as error:  # noqa: BLE001 - the client hears of it
                raise told(running, error) from None
            engine.files.put(key, file)
            return file
        finally:
            engine.ended(key)

    async def _stream(self, running: Running, tag: Tag, send: Send) -> Response | None:
        """Return the answer if it is small; else send it as it is made."""
        engine, key = self._engine, self._kept_key(tag)
        if not await engine.first(running, key):
            response = self._at_hand(tag)
            if response is not None:
                return response
        try:
            pipe, output, made = self._begun(running, tag)
            gathering = asyncio.ensure_future(pipe.gather(HELD_BYTES, HELD_SECONDS))
            try:
                await running.until(gathering)
            finally:
                gathering.cancel()
            if pipe.is_ended:
                if pipe.error is not None:
                    raise told(running, pipe.error)
                body, more = pipe.taken(), await made
                engine.keep(key, body, more)
                return self._response(body, {**more, "sdb-query-id": running.id})
        finally:
            engine.ended(key)  # it is large, or has failed: the others make their own
        behind = ", ".join(TOLD_BEHIND)
        head = self._head({**output.headers, "sdb-query-id": running.id, "trailer": behind})
        error = await sent(told_behind(pieces(running, pipe), made, self._request), head, send)
        if error is not None:
            raise CutError(told(running, error))
        return None

    def _begun(
        self, running: Running, tag: Tag
    ) -> tuple[Pipe, Output, asyncio.Future[dict[str, str]]]:
        """Begin to compute the answer into a pipe."""
        engine, query, slots = self._engine, self._query, self._engine.slots

        def pause() -> None:
            running.pause()
            slots.leave(running.rights)

        def resume() -> None:
            slots.take_back(running.rights, running.cancellation)
            running.resume()

        loop = asyncio.get_running_loop()
        pipe = Pipe(loop, running.cancellation, pause=pause, resume=resume)
        output = Output(
            pipe.write,
            running.cancellation,
            most_bytes=running.limits.answer_bytes,
            coding=self._coding,
        )

        def compute() -> dict[str, str]:
            try:
                headers = engine.computed(running, query, tag, output)
            except BaseException as error:
                last = b""
                if query.form.name == "ndjson":
                    shown = told(running, error)
                    tag.hiding.error(shown)
                    last = output.last(problem_line(shown))
                pipe.end(error, last)
                raise
            pipe.end()
            return headers

        return pipe, output, engine.running.thread(running, compute)


def told(running: Running, error: BaseException) -> SdbError:
    """Return the error that the client hears of."""
    if running.error is not None:
        return running.error
    if isinstance(error, SdbError):
        return error
    if isinstance(error, KeyboardInterrupt):
        return HttpError(503, "the query was interrupted", code="ending")
    if isinstance(error, asyncio.CancelledError):
        return GoneError()
    write_line(f"sdb serve: {type(error).__name__}: {error}")
    if isinstance(error, OSError):
        return of_system(error)
    return HttpError(500, "the query failed: the server's log says why", code="internal")


def coding_of(request: Request) -> str:
    """Return the content coding of an answer that its client takes, and wants most.

    Returns: Empty if it takes none, or wants the answer as it is.
    """
    header = ",".join(request.headers.getlist("accept-encoding")).lower()
    weights: dict[str, float] = {}
    for part in header.split(",")[:_MOST_CODINGS]:
        coding, *rest = part.replace(" ", "").replace("\t", "").split(";")
        text = next((each[2:] for each in rest if each.startswith("q=")), "1")
        is_weight = _WEIGHT.fullmatch(text) is not None
        weights[coding.removeprefix("x-")] = float(text) if is_weight else 0.0
    others = weights.get("*", 0.0)
    wanted = {coding: weights.get(coding, others) for coding in CODINGS}
    best = max(CODINGS, key=wanted.__getitem__)
    return best if wanted[best] > 0 and wanted[best] >= weights.get("identity", 0.0) else ""
