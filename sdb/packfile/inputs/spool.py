"""Inputs that can be read only once, kept so that they can be read again."""

from __future__ import annotations

import tempfile

from sdb.errors import from_os
from sdb.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator

    from sdb.packfile.inputs.inputs import Input

_MEMORY_BYTES = 8 << 20
_PIECE_BYTES = 1 << 20


class Spool:
    """Keeps what was read of an input, in memory and then in a temporary file.

    * ``source``: The input. It is read no further than it was asked for.
    """

    def __init__(self, source: Input) -> None:
        self._rest = source.pieces()
        self._kept = tempfile.SpooledTemporaryFile(_MEMORY_BYTES)  # noqa: SIM115 - see close
        self._size_bytes = 0
        self.input = replace(source, once=False, source=self._pieces, file=None)

    def _pieces(self) -> Generator[bytes]:
        """Yield what was read before, and then what comes."""
        at = 0
        while at < self._size_bytes:
            self._kept.seek(at)
            piece = self._kept.read(min(_PIECE_BYTES, self._size_bytes - at))
            at += len(piece)
            yield piece
        for piece in self._rest:
            self._keep(piece)
            self._size_bytes += len(piece)
            yield piece

    def _keep(self, piece: bytes) -> None:
        try:
            self._kept.seek(self._size_bytes)
            self._kept.write(piece)
        except OSError as error:
            raise from_os(error, "keeping a part of the input in", tempfile.gettempdir()) from error

    def close(self) -> None:
        """Close the input and remove what was kept."""
        self._rest.close()
        self._kept.close()
