"""CSV that a spreadsheet cannot execute: cells that it would take for formulas begin with a quote.

A cell is one if it begins with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return, and is no
number. The quote is an apostrophe, which spreadsheets take for the mark of a text.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, BinaryIO

_CELL = re.compile(rb'"((?:[^"]|"")*)"|([^,\n"][^,\n]*)')
_BARE = re.compile(rb"((?!))?(?:\A|(?<=[,\n]))([=+\-@\t\r][^,\n]*)")
_MAY_HAVE_SOME = re.compile(rb'(?:\A|[,\n])"?[=+\-@\t\r]')
_NUMBER = re.compile(rb"[+-](?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_STARTS = b"=+-@\t\r"
_BUFFER_BYTES = 1 << 18


class SafeCells:
    """A file that quotes cells of the CSV that is written to it, and writes the rest as it is.

    * ``file``: Where it goes.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._left = bytearray()
        self.count = 0

    def write(self, data: Any) -> int:  # noqa: ANN401 - bytes of any kind
        """Write text; a record that is not over waits."""
        self._left += data
        if len(self._left) >= _BUFFER_BYTES:
            self._flush(_end_of_records(self._left))
        return len(data)

    def writelines(self, pieces: Iterable[bytes]) -> None:
        """Write pieces of text."""
        for piece in pieces:
            self.write(piece)

    def finish(self) -> None:
        """Write what waits."""
        self._flush(len(self._left))

    def _flush(self, end: int) -> None:
        data = bytes(self._left[:end])
        del self._left[:end]
        if _MAY_HAVE_SOME.search(data):
            data = (_CELL if b'"' in data else _BARE).sub(self._safe, data)
        self._file.write(data)

    def _safe(self, match: re.Match[bytes]) -> bytes:
        quoted, bare = match.groups()
        text: bytes = bare if quoted is None else quoted
        if not text or text[0] not in _STARTS or _NUMBER.fullmatch(text):
            return match[0]
        self.count += 1
        return b"'" + bare if quoted is None else b"\"'" + quoted + b'"'


def _end_of_records(data: bytearray) -> int:
    """Return where the last whole record ends: at a line end outside of quotes."""
    end = len(data)
    while end := data.rfind(b"\n", 0, end) + 1:
        if data.count(b'"', 0, end) % 2 == 0:
            return end
        end -= 1
    return 0
