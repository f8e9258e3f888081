"""Blocks over a network, read before a scan asks for them, several at a time.

A scan takes blocks one after the other, and of a request to S3 most is waiting. As long as it takes
them in order, those that follow are on their way: first a few, then more with each that was wanted,
up to `MOST` requests and `MOST_BYTES` of blocks that nobody has taken yet.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future

    from sdb.packfile.read.reader import Packfile

MOST = 16
"""Requests at a time, that of the block that is wanted now among them."""
MOST_BYTES = 64 << 20
"""Bytes of blocks that were read before they are wanted."""
_FIRST = 4


class ReadAhead:
    """Reads the blocks of a scan.

    * ``blocks``: The packfiles and the numbers of the blocks, in the order of the scan.
    """

    def __init__(self, blocks: Sequence[tuple[Packfile, int]]) -> None:
        self._blocks = blocks
        self._begun: dict[int, Future[bytes]] = {}  # by position, in the order of the blocks
        self._bytes = 0  # of what was begun
        self._next = 0  # the position that comes next if the scan takes blocks in order
        self._window = _FIRST

    def reader(self, first: int) -> Callable[[int], bytes]:
        """Return what reads the blocks from a position on, by numbers that are counted from 0."""
        return lambda number: self._read(first + number)

    def _read(self, position: int) -> bytes:
        if position != self._next:
            # What was begun is not what the scan wants: it ends by itself.
            self._begun.clear()
            self._bytes, self._window = 0, 2
        future = self._begun.pop(position, None)
        self._next = position + 1
        if future is None:
            # Alone: it opens its packfile, and may be all that is wanted.
            packfile, number = self._blocks[position]
            block = packfile.read_block(number)
            self._begin()
            return block
        self._bytes -= self._size(position)
        self._window = min(2 * self._window, MOST)
        self._begin()
        return future.result()

    def _begin(self) -> None:
        """Begin to read what comes next, as far as the window and memory go."""
        stop = min(self._next + self._window - 1, len(self._blocks))
        for position in range(self._next + len(self._begun), stop):
            size = self._size(position)
            if self._bytes + size > MOST_BYTES:
                return
            self._bytes += size
            self._begun[position] = _begun(*self._blocks[position])

    def _size(self, position: int) -> int:
        packfile, number = self._blocks[position]
        start, stop = packfile.trailer.block_range(number)
        return stop - start


def _begun(packfile: Packfile, number: int) -> Future[bytes]:
    """Read a block on a thread that nobody waits for at the end of the program."""
    from concurrent.futures import Future
    from contextvars import copy_context
    from threading import Thread

    future: Future[bytes] = Future()

    def read() -> None:
        try:
            future.set_result(packfile.read_block(number))
        except BaseException as error:  # noqa: BLE001 - who takes the block raises it
            future.set_exception(error)

    Thread(target=copy_context().run, args=(read,), name="read-ahead", daemon=True).start()
    return future
