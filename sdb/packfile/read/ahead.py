"""Ranges of remote objects, read before they are asked for, several requests at a time.

Of a request to S3 most is waiting. A scan takes blocks one after the other; as long as it takes
them in order, those that follow are on their way. Ends of many packfiles are read likewise.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from concurrent.futures import Future
    from typing import TypeVar

    from sdb.packfile.read.reader import Packfile
    from sdb.packfile.read.resolve import PackfileReference

    Item = TypeVar("Item")
    Result = TypeVar("Result")

MOST = 16
"""Requests at a time, that of the block that is wanted now among them."""
MOST_SMALL = 32
"""The same where all of them together have few bytes."""
SMALL_BYTES = 8 << 20
MOST_BYTES = 64 << 20
"""Bytes of blocks that were read before they are wanted."""
WHOLE_BYTES = MOST_BYTES // MOST
"""Inputs and packfiles up to this size come whole, in one request each."""


class ReadAhead:
    """Reads the blocks of a scan, by their positions in its order.

    * ``blocks``: The blocks, in the order of the scan.
    * ``may_stop``: Whether a few blocks may be enough, as for a scan with a limit. Then none are
      read ahead before the second one is wanted, and more with each.
    """

    def __init__(
        self,
        read: Callable[[Item], bytes],
        blocks: Sequence[Item],
        size: Callable[[Item], int],
        *,
        may_stop: bool = False,
    ) -> None:
        self._read = read
        self._blocks = blocks
        self._size = size
        self._begun: dict[int, Future[bytes]] = {}  # by position, in the order of the blocks
        self._bytes = 0  # of what was begun
        self._next = 0  # the position that comes next if the scan takes blocks in order
        self._window, self._growth = (1, 2) if may_stop else (4, MOST_SMALL)

    def __call__(self, position: int) -> bytes:
        """Return the block at a position."""
        follows = position > 0 and position == self._next
        if position != self._next:
            # What was begun is not what the scan wants: it ends by itself.
            self._begun.clear()
            self._bytes, self._window, self._growth = 0, 1, 2
        future = self._begun.pop(position, None)
        self._next = position + 1
        if future is not None:
            self._bytes -= self._size(self._blocks[position])
        if not follows:
            # Alone: it opens its packfile, and may be all that is wanted.
            block = self._read(self._blocks[position])
            self._begin()
            return block
        self._window = min(self._growth * self._window, MOST_SMALL)
        self._begin()
        return self._read(self._blocks[position]) if future is None else future.result()

    def _begin(self) -> None:
        """Begin to read what comes next, as far as the window and memory go."""
        stop = min(self._next + self._window - 1, len(self._blocks))
        for position in range(self._next + len(self._begun), stop):
            item = self._blocks[position]
            whole = self._bytes + self._size(item)
            if whole > (MOST_BYTES if len(self._begun) < MOST - 1 else SMALL_BYTES):
                return
            self._bytes = whole
            self._begun[position] = _begun(self._read, item)


def block_readers(
    chosen: Iterable[tuple[Packfile, Sequence[int]]], *, may_stop: bool = False
) -> Iterator[Callable[[int], bytes]]:
    """Yield for each packfile what reads its blocks, by their numbers.

    * ``chosen``: The packfiles, with the blocks that a scan takes, in its order.
    * ``may_stop``: See :class:`ReadAhead`.
    """
    listed = list(chosen)
    far = [(pack, number) for pack, numbers in listed if pack.is_remote for number in numbers]
    ahead = ReadAhead(_block, far, _size, may_stop=may_stop)
    first = 0
    for pack, numbers in listed:
        yield _at(ahead, numbers, first) if pack.is_remote else pack.read_block
        first += len(numbers) if pack.is_remote else 0


def _at(ahead: ReadAhead, numbers: Sequence[int], first: int) -> Callable[[int], bytes]:
    """Return what reads the blocks of a packfile that begin at a position."""
    positions: dict[int, int] = {}

    def read(number: int) -> bytes:
        if not positions:
            positions.update(zip(numbers, range(first, first + len(numbers)), strict=True))
        return ahead(positions[number])

    return read


def _block(block: tuple[Packfile, int]) -> bytes:
    packfile, number = block
    return packfile.read_block(number)


def _size(block: tuple[Packfile, int]) -> int:
    packfile, number = block
    start, stop = packfile.trailer.block_range(number)
    return stop - start


def of_each(
    call: Callable[[PackfileReference], Result], references: Sequence[PackfileReference]
) -> Iterator[Result]:
    """Yield what a function returns for packfiles, in their order; several at a time if remote.

    * ``call``: Reads the end of a packfile, or a little more.
    """
    from sdb.store.url import store_of

    is_remote = all(
        not reference.is_packed and store_of(reference.location).is_remote
        for reference in references
    )
    return in_order(call, references, is_remote=is_remote)


def in_order(
    call: Callable[[Item], Result], items: Sequence[Item], *, is_remote: bool
) -> Iterator[Result]:
    """Yield what a function returns for items, in their order; if remote of several at a time."""
    if len(items) < 2 or not is_remote:  # noqa: PLR2004 - nothing to read ahead
        yield from map(call, items)
        return
    from collections import deque

    begun: deque[Future[Result]] = deque()
    for item in items:
        begun.append(_begun(call, item))
        if len(begun) == MOST:
            yield begun.popleft().result()
    while begun:
        yield begun.popleft().result()


def _begun(call: Callable[[Item], Result], item: Item) -> Future[Result]:
    """Call a function on a thread that nobody waits for at the end of the program."""
    from concurrent.futures import Future
    from contextvars import copy_context
    from threading import Thread

    future: Future[Result] = Future()

    def run() -> None:
        try:
            future.set_result(call(item))
        except BaseException as error:  # noqa: BLE001 - who takes the result raises it
            future.set_exception(error)

    Thread(target=copy_context().run, args=(run,), name="read-ahead", daemon=True).start()
    return future
