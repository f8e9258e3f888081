"""The process of `sdb serve`: sockets, signals, the end."""

from __future__ import annotations

import ctypes
import errno
import logging
import os
import resource
import socket
import sys
from contextlib import suppress
from importlib.util import find_spec

import uvicorn

from sdb.errors import UsageError, from_os
from sdb.query.exec.columncache import keep_columns
from sdb.serve.access import EVERYTHING, READING
from sdb.serve.process.loading import LoadedLater
from sdb.serve.process.protocol import BoundedProtocol
from sdb.serve.process.repeats import Repeats
from sdb.serve.tokens import TokenRights

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from sdb.serve.process.gate import Gate
    from sdb.serve.settings import ServerSettings

_PACKAGES = (
    "starlette",
    "msgspec",
    "prometheus_client",
    "python_multipart",
)  # which are loaded later
_BACKLOG = 2048
_FILES = 65_536
_IDLE_SECONDS = 75
_ARENA_MAX, _MMAP_THRESHOLD = -8, -3  # numbers of malloc.h
_LARGE_BYTES = 1 << 20
_CLOSED = "socket.send() raised exception."
_INCOMPLETE = "ASGI callable returned without completing response."


def serve(settings: ServerSettings, *, ready: Callable[[str], None]) -> None:
    """Serve until SIGTERM or Ctrl-C; running requests may end.

    What answers requests is loaded when the server listens already.

    * ``ready``: Called with the URL once requests are taken.

    Raises `UsageError` if other machines could reach it and there are no tokens, or if the address
    is taken; `ModuleNotFoundError` if a package is missing.
    """
    for package in _PACKAGES:
        if find_spec(package) is None:
            raise ModuleNotFoundError(name=package)
    if not settings.is_loopback and settings.tokens is None:
        raise UsageError(
            f"{settings.host} can be reached by others, and there are no tokens",
            hint="--tokens FILE with tokens of sdb token create, or --listen 127.0.0.1:7373",
        )
    _allow_files()
    _bound_heaps()
    keep_columns()
    rights = TokenRights(settings.tokens, EVERYTHING if settings.may_write else READING)
    repeats = Repeats(rights.of)

    def load() -> Gate:
        from sdb.serve.app import make_app

        gate = make_app(settings, rights, repeats)
        import duckdb  # noqa: F401 - the first query needs it, and takes its time otherwise

        return gate

    failures: list[BaseException] = []

    def failed(error: BaseException) -> None:
        failures.append(error)
        server.should_exit = True

    app = LoadedLater({"repeats": repeats}, load, failed)
    listening = _listen(settings)
    host, port = listening.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    # A cut answer is closed without an end on purpose.
    logging.getLogger("uvicorn.error").addFilter(lambda line: line.getMessage() != _INCOMPLETE)
    logging.getLogger("asyncio").addFilter(lambda line: line.getMessage() != _CLOSED)
    config = uvicorn.Config(
        app,
        http=BoundedProtocol,
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        backlog=_BACKLOG,
        timeout_keep_alive=_IDLE_SECONDS,
        timeout_graceful_shutdown=int(settings.grace_seconds),
    )
    server = _Server(config, lambda: ready(f"http://{shown}:{port}"), app.end_waiting)
    try:
        server.run(sockets=[listening])
    except KeyboardInterrupt:  # uvicorn raises the signal again when all has ended
        print(file=sys.stderr)  # noqa: T201
    if failures:
        raise failures[0]


class _Server(uvicorn.Server):
    """A server that says when it takes requests."""

    def __init__(
        self, config: uvicorn.Config, ready: Callable[[], None], end_waiting: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._ready, self._end_waiting = ready, end_waiting

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to take requests."""
        await super().startup(sockets)
        if self.started:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End; what waits for changes of tables is answered at once."""
        self._end_waiting()
        await super().shutdown(sockets)


def _allow_files() -> None:
    """Allow as many open files as the system lets: each connection is one."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if most == resource.RLIM_INFINITY else min(most, _FILES)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def _bound_heaps() -> None:
    """Make threads share few heaps, which are given back, instead of some that each fills anew."""
    # Heaps of threads that have ended are not used again by Arrow's own allocator.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    adjust = getattr(ctypes.CDLL(None), "mallopt", None)  # of glibc
    if adjust is not None and "MALLOC_ARENA_MAX" not in os.environ:
        adjust(_ARENA_MAX, max(2, os.cpu_count() or 1))
        adjust(_MMAP_THRESHOLD, _LARGE_BYTES)


def _listen(settings: ServerSettings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # By its number of the protocol asyncio knows that small answers are to be sent at once.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host, settings.port))
    except OSError as error:
        listening.close()
        where = f"{settings.host}:{settings.port}"
        fault = from_os(error, "listening on", where)
        if error.errno == errno.EADDRINUSE:
            fault.hint = f"another server is there; --listen {settings.host}:0 takes a free port"
        raise fault from None
    listening.set_inheritable(True)
    return listening
