"""The application while it is loaded: connections are taken at once, and wait for the rest."""

from __future__ import annotations

import asyncio

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import Receive, Scope, Send

    from sdb.serve.process.gate import Gate

_ALIVE = b"ok\n"


class LoadedLater:
    """An application of ASGI that is loaded by a thread once the server listens.

    * ``state``: What connections and requests find in their state.
    * ``failed``: Called if that fails: the server has to end.
    """

    def __init__(
        self,
        state: dict[str, object],
        load: Callable[[], Gate],
        failed: Callable[[BaseException], None],
    ) -> None:
        self._state, self._load, self._failed = state, load, failed
        self._loading: asyncio.Future[Gate] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, when the application is there."""
        if scope["type"] == "lifespan":
            scope["state"].update(self._state)
            await self._live(receive, send)
            return
        loading = self._loading
        if loading is None or (not loading.done() and scope["path"] == "/healthz"):
            await _say_alive(send)
            return
        app = loading.result() if loading.done() else await asyncio.shield(loading)
        await app(scope, receive, send)

    def end_waiting(self) -> None:
        """Answer all who wait for changes of tables: the server is ending."""
        if (app := self._loaded) is not None:
            app.end_waiting()

    @property
    def _loaded(self) -> Gate | None:
        loading = self._loading
        if loading is None or not loading.done() or loading.cancelled() or loading.exception():
            return None
        return loading.result()

    async def _live(self, receive: Receive, send: Send) -> None:
        """Begin to load it when the server begins, and close it when the server ends."""
        await receive()
        await send({"type": "lifespan.startup.complete"})
        self._loading = asyncio.get_running_loop().run_in_executor(None, self._load)
        self._loading.add_done_callback(self._look)
        await receive()
        if (app := self._loaded) is not None:
            app.close()
        await send({"type": "lifespan.shutdown.complete"})

    def _look(self, loading: asyncio.Future[Gate]) -> None:
        if not loading.cancelled() and (error := loading.exception()) is not None:
            self._failed(error)


async def _say_alive(send: Send) -> None:
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", b"%d" % len(_ALIVE)),
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": _ALIVE})
