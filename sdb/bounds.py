"""Bounds of the numbers that users give: one place for the command line, Python and Spark."""

from __future__ import annotations

import os
from _operator import index  # operator is a module in Python, which short commands do without

from sdb import sizes
from sdb.errors import UsageError
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    _Number = TypeVar("_Number", int, int | None)

_MOST_DIGITS = 40
_SHOWN_BITS = 100  # Python refuses to write numbers that are much longer


@record
class Bounds:
    """The least and the most that a number may be.

    >>> THREADS.check(4), BLOCK.read("1MiB")
    (4, 1048576)
    """

    what: str  # what the number is, for messages
    # Both are allowed
    least: int
    most: int
    is_size: bool = False  # whether it counts bytes, and texts of it may have a unit

    def check(self, value: _Number) -> _Number:
        """Return a number back if it is in bounds, and None as it is.

        Raises `UsageError` if it is not, or it is no whole number.
        """
        if value is None:
            return value
        try:
            number = index(value)
        except TypeError:
            message = f"{self.what}: {value!r} is not a whole number"
            raise UsageError(message, expected=self.expected) from None
        if number < self.least or number > self.most:
            broken = "less" if number < self.least else "more"
            bound = self._text(self.least if number < self.least else self.most)
            message = f"{self.what}: {_shown(number)} is {broken} than {bound}"
            raise UsageError(message, expected=self.expected)
        return number

    def read(self, text: str) -> int:
        """Read a size such as ``50MiB``, see :func:`sdb.sizes.parse`.

        Raises `UsageError` if the text is not a size, or out of bounds.
        """
        return self.check(sizes.parse(text))

    def count(self, text: str) -> int:
        """Read a whole number. Raises `UsageError` if the text is no number, or out of bounds."""
        if not (text.isascii() and text.isdigit()) or len(text) > _MOST_DIGITS:
            message = f"{self.what}: {text[:_MOST_DIGITS]!r} is not a number in bounds"
            raise UsageError(message, expected=self.expected)
        return self.check(int(text))

    @property
    def expected(self) -> str:
        """The bounds in words."""
        kind = "a size" if self.is_size else "a whole number"
        return f"{kind} from {self._text(self.least)} to {self._text(self.most)}"

    def _text(self, number: int) -> str:
        return sizes.human(number) if self.is_size else f"{number:,}"


def _shown(number: int) -> str:
    return f"{number:,}" if number.bit_length() < _SHOWN_BITS else "that"


THREADS = Bounds("threads", 1, 1024)
ROWS = Bounds("limit of rows", 0, 2**63 - 1)
LEVEL = Bounds("level of zstd", 1, 22)
BLOCK = Bounds("block size", 1, 1 << 40, is_size=True)
ALIGN = Bounds("chunk size", 512, 16 << 20, is_size=True)
MAX_ROW = Bounds("size of a row", 1 << 20, (1 << 21) - (1 << 14), is_size=True)
MEMORY = Bounds("memory", 1, 1 << 60, is_size=True)
FREE = Bounds("free space", 1, 1 << 60, is_size=True)

ATTEMPTS = Bounds("attempts", 1, 1_000_000)
FINDINGS = Bounds("number of findings", 0, 2**31 - 1)
TASKS = Bounds("tasks", 1, 1_000_000)
SPLIT = Bounds("size of a split", 1, 1 << 60, is_size=True)
TARGET = Bounds("input of a task", 1, 1 << 60, is_size=True)
PARTITION = Bounds("partitionBytes", 1, 1 << 60, is_size=True)
ANSWER = Bounds("bytes of an answer", 1, 1 << 60, is_size=True)
ANSWER_ROWS = Bounds("rows of an answer", 1, 1_000_000)
PENDING = Bounds("bytes of bodies that are held", 1 << 20, 1 << 60, is_size=True)
STATEMENT = Bounds("bytes of a statement", 1024, 1 << 20, is_size=True)
SCAN = Bounds("bytes that a query may read", 1, 1 << 60, is_size=True)
CACHE = Bounds("cacheBytes", 1, 1 << 60, is_size=True)
KEPT = Bounds("SDB_CACHE_SIZE", 0, 1 << 60, is_size=True)
COLUMNS = Bounds("SDB_COLUMN_CACHE", 0, 1 << 60, is_size=True)
WORKERS = Bounds("workers", 0, 1_000_000)
TRIGGER_ROWS = Bounds("maxRowsPerTrigger", 1, 2**63 - 1)

TRUST = "SDB_TRUST"


def trusts() -> bool:
    """Return whether files may cause more work than their size lets expect: ``sdb --trust``.

    Returns: Whether the environment variable `TRUST` is set, to anything but ``0``.
    """
    return os.environ.get(TRUST, "0") not in {"", "0"}
