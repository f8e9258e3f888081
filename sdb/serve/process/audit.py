"""The audit log: a file with a line for each request that has changed something, or tried to."""

from __future__ import annotations

import json
import os
import time
from collections import deque

from sdb import instants
from sdb.errors import AccessError, UnsupportedError
from sdb.serve.conditional import answered
from sdb.serve.log import write_line
from sdb.serve.problems import HttpError
from sdb.serve.tables.copies import check_admin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Any

    from starlette.requests import Request
    from starlette.responses import Response

    from sdb.serve.tables.parameters import AuditParams

_READS = frozenset({"GET", "HEAD", "QUERY", "OPTIONS"})
_QUERIES = frozenset({"/v1/query", "/login", "/logout"})


class AuditLog:
    """Appends to the file, and reads it. Each line is on the disk before its request is over.

    * ``path``: The file; None: none is kept.

    Raises `AccessError` if it cannot be written.
    """

    def __init__(self, path: Path | None) -> None:
        self._path, self._is_broken = path, False
        if path is not None:
            try:
                os.close(self._opened())
            except OSError as error:
                raise AccessError(f"--audit {path}: {error.strerror}", path=str(path)) from None

    def is_of(self, request: Request) -> bool:
        """Return whether the log has such requests."""
        is_change = request.method not in _READS and request.url.path not in _QUERIES
        return self._path is not None and is_change

    def check(self, request: Request) -> None:
        """Check that a request can be recorded.

        Raises `HttpError` if the file could not be written last time, and cannot be now.
        """
        if self._is_broken and self.is_of(request):
            try:
                os.close(self._opened())
            except OSError:
                what = "the audit log cannot be written, so that nothing may change"
                raise HttpError(503, what, code="audit", headers={"retry-after": "30"}) from None
            self._is_broken = False

    def record(self, request: Request, line: dict[str, Any], etag: str) -> None:
        """Record a request that was answered.

        * ``line``: That of the log of requests.
        * ``etag``: The ETag of its answer: a version, if it made one.
        """
        if not self.is_of(request):
            return
        facts = {name: line[name] for name in ("token", "client", "method", "path", "status")}
        version = etag.strip('"')
        made = {"version": int(version)} if version.isdecimal() else {}
        members = {"at": instants.text(time.time_ns() // 1000), **facts, **made}
        data = json.dumps(members, ensure_ascii=False).encode() + b"\n"
        try:
            descriptor = self._opened()
            try:
                os.write(descriptor, data)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            self._is_broken = True
            write_line(f"sdb serve: the audit log: {error.strerror}: {data.decode().rstrip()}")

    def newest(self, wanted: Callable[[dict[str, Any]], bool], limit: int) -> list[dict[str, Any]]:
        """Return lines, the newest first. Raises `UnsupportedError` if no log is kept."""
        if self._path is None:
            what = "the server keeps no audit log"
            raise UnsupportedError(what, hint="sdb serve --audit FILE keeps one")
        lines: deque[dict[str, Any]] = deque(maxlen=limit)
        with self._path.open("rb") as file:
            for data in file:
                try:
                    line = json.loads(data)
                except ValueError:  # a crash has cut it
                    continue
                if wanted(line):
                    lines.appendleft(line)
        return list(lines)

    def _opened(self) -> int:
        assert self._path is not None  # noqa: S101 - only then there is something to record
        return os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)


class AuditResources:
    """The resource of the audit log, for admins."""

    def __init__(self, log: AuditLog, in_thread: Callable[..., Any]) -> None:
        self._log, self._in_thread = log, in_thread

    async def audit_log(self, request: Request, asked: AuditParams) -> Response:
        """List requests that have changed something, or tried to, the newest first."""
        check_admin(request.state.rights)

        def wanted(line: dict[str, Any]) -> bool:
            is_of = not asked.token or line["token"] == asked.token
            return is_of and asked.path in str(line["path"])

        lines = await self._in_thread(self._log.newest, wanted, asked.limit)
        return answered(request, {"requests": lines})
