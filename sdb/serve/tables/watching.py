"""Waiting for versions: however many requests wait, each index is looked at now and then."""

from __future__ import annotations

import asyncio
from collections import Counter

from sdb.errors import SdbError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from sdb.table.catalog.root import TableRoot

_LOOK_SECONDS = 0.25
_REMOTE_LOOK_SECONDS = 1.0


class IndexWatch:
    """Looks at the indexes of tables for as long as anybody waits for them."""

    def __init__(self, root: TableRoot, in_thread: Callable[..., Any]) -> None:
        self._root, self._in_thread = root, in_thread
        self._pause = _REMOTE_LOOK_SECONDS if root.store.is_remote else _LOOK_SECONDS
        self._wanted: Counter[str] = Counter()
        self._seen: dict[str, str | None] = {}
        self._news = asyncio.Event()
        self._looking: asyncio.Task[None] | None = None
        self.is_ending = False

    async def wait(self, known: Mapping[str, str | None], seconds: float) -> bool:
        """Wait until one of several indexes is another one.

        * ``known``: What is known of them: their versions in the store, by their keys.

        Returns: Whether one is; False: the time is over, or the server is ending.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        self._wanted.update(known.keys())
        if self._looking is None or self._looking.done():
            self._looking = loop.create_task(self._look())
        try:
            while not self.is_ending:
                news = self._news
                if any(self._seen.get(key, seen) != seen for key, seen in known.items()):
                    return True
                rest = until - loop.time()
                if rest <= 0:
                    return False
                try:
                    await asyncio.wait_for(news.wait(), rest)
                except TimeoutError:
                    return False
            return False
        finally:
            self._wanted.subtract(known.keys())

    async def _look(self) -> None:
        """Look at what anybody waits for, until nobody does."""
        while True:
            wanted = [key for key, count in self._wanted.items() if count > 0]
            if not wanted or self.is_ending:
                self._wanted.clear()
                self._seen.clear()
                return
            try:
                seen = await self._in_thread(self._versions, wanted)
            except SdbError:
                seen = {}  # the next look follows; requests that read meanwhile report it
            if seen != self._seen:
                self._seen = seen
                self._wake()
            await asyncio.sleep(self._pause)

    def _versions(self, keys: list[str]) -> dict[str, str | None]:
        root = self._root
        return {key: root.store.version(root.place(key)) for key in keys}

    def _wake(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()

    def end(self) -> None:
        """End all waiting: the server is ending."""
        self.is_ending = True
        self._wake()


async def unless_gone(request: Any, waiting: Any) -> Any:  # noqa: ANN401
    """Wait for something unless the client goes meanwhile; None: it has gone.

    * ``request``: A request whose body nobody else reads.
    """
    from sdb.serve.running import disconnected

    gone = asyncio.ensure_future(disconnected(request))
    task = asyncio.ensure_future(waiting)
    try:
        await asyncio.wait({gone, task}, return_when=asyncio.FIRST_COMPLETED)
        return task.result() if task.done() else None
    finally:
        gone.cancel()
        task.cancel()
