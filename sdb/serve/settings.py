"""Settings of the server."""

from __future__ import annotations

import os
from functools import cache

from sdb.query.exec.columncache import wanted_bytes
from sdb.query.exec.freememory import limit_bytes
from sdb.records import record
from sdb.serve.access import TokenLimits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any


_LEAST_MEMORY = 256 << 20
_UNKNOWN_BYTES = 1 << 30
_LEAST_BODIES, _MOST_BODIES = 64 << 20, 256 << 20
_MOST_KEPT = 64 << 20
_OWN_BYTES = 160 << 20
"""What the server takes before anything is asked of it, and while it answers."""


def _least(first: Any, second: Any) -> Any:  # noqa: ANN401 - numbers of the same type
    """Return the lower one of two limits, where there are some."""
    return min((each for each in (first, second) if each is not None), default=None)


@cache
def _memory_bytes() -> int:
    """Return the memory that this process may take: that of its container, or of the machine."""
    return limit_bytes() or _UNKNOWN_BYTES


@record
class ServerSettings:
    """Values of the options of `sdb serve` say."""

    root: str  # folder or URL
    host: str = "127.0.0.1"
    port: int = 7373
    tokens: Path | None = None  # the file of tokens; None: there are none
    hosts: tuple[str, ...] = ()  # names in the header Host besides those of this machine
    cors: tuple[str, ...] = ()  # origins whose pages may ask
    may_write: bool = False  # whether requests without tokens may change tables
    is_public: bool = False  # whether shared caches may keep answers
    access_log: bool = True  # whether each request has a line on standard error
    timeout_seconds: float = 60.0  # for which a query may run
    memory_bytes: int | None = None  # that a query may take
    threads: int | None = None  # of a query
    running: int = 2  # queries at the same time
    waiting: int = 16  # queries that wait
    patience_seconds: float = 10.0  # for which they do
    open_queries: int = 256  # queries with clients that have not read all of their answers
    stall_seconds: float = 60.0  # for which a client may read nothing of its answer
    scan_bytes: int | None = None  # that a query may read, as its plan has them
    sql_bytes: int = 1 << 20  # of the text of statements; queries have 64 KiB at most
    rows: int = 10_000  # rows of an answer that is one JSON object, or a page
    answer_bytes: int | None = None  # of an answer
    max_age_seconds: int = 300  # the most that a request can ask caches for
    pending_bytes: int | None = None  # of bodies that are held at the same time
    min_free_bytes: int = 256 << 20  # that the disk of the root must have for rows to come in
    audit: Path | None = None  # the file of the audit log; None: none is kept
    push_to: tuple[tuple[str, str], ...] = ()  # names of roots that admins may push to, and these
    grace_seconds: float = 30.0  # for which running requests may go on when the server ends

    @property
    def is_loopback(self) -> bool:
        """True if only this machine reaches the server."""
        return self.host in {"127.0.0.1", "::1", "localhost"}

    def limits(self, own: TokenLimits, timeout_seconds: float | None = None) -> TokenLimits:
        """Return the limits of a request: the least of those of the server and of its token.

        * ``timeout_seconds``: What the request itself asks for.
        """
        seconds = _least(self.timeout_seconds, own.timeout_seconds)
        return TokenLimits(
            _least(seconds, timeout_seconds),
            own.running,
            _least(self.scan_bytes, own.scan_bytes),
            _least(self.rows, own.rows),
            _least(self.answer_bytes, own.answer_bytes),
        )

    @property
    def query_memory_bytes(self) -> int:
        """Memory of a query.

        If nothing is said, all together take four fifths of what there is, without what bodies,
        answers that are kept, decoded columns and the server itself take.
        """
        if self.memory_bytes is not None:
            return self.memory_bytes
        limit = _memory_bytes()
        rest = limit * 4 // 5 - self.body_bytes - self.kept_bytes - wanted_bytes(limit) - _OWN_BYTES
        return max(min(_LEAST_MEMORY, limit // 8), rest // max(1, self.running))

    @property
    def kept_bytes(self) -> int:
        """Memory of the answers that are kept."""
        return min(_MOST_KEPT, _memory_bytes() // 16)

    @property
    def body_bytes(self) -> int:
        """Memory of all bodies of requests together: at least that of the largest one."""
        if self.pending_bytes is not None:
            return self.pending_bytes
        return min(max(_memory_bytes() // 8, _LEAST_BODIES), _MOST_BODIES)

    @property
    def query_threads(self) -> int:
        """Threads that a query computes with: all queries together take the processors once."""
        return self.threads or max(1, (os.cpu_count() or 1) // max(1, self.running))
