"""Inputs over a network: while one of them is packed, those that follow are on their way."""

from __future__ import annotations

from sdb.packfile.read.ahead import WHOLE_BYTES, ReadAhead
from sdb.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from sdb.packfile.inputs.inputs import Input


def pieces_of_each(
    sources: Sequence[Input],
) -> Iterator[tuple[Input, Callable[[], Generator[bytes]]]]:
    """Yield inputs in their order, with what reads their pieces."""
    far = [source for source in sources if _is_read_ahead(source)]
    ahead = ReadAhead(_whole, far, _size)
    positions = iter(range(len(far)))
    for source in sources:
        yield source, _piece(ahead, next(positions)) if _is_read_ahead(source) else source.pieces


def fetched(source: Input) -> Input:
    """Return an input with its bytes in memory, if they are few and come over a network."""
    if not _is_read_ahead(source):
        return source
    data = _whole(source)

    def pieces() -> Generator[bytes]:
        yield data

    return replace(source, source=pieces, is_far=False)


def _is_read_ahead(source: Input) -> bool:
    # Larger ones come piece by piece: of their time little is waiting for the first piece.
    return source.is_far and _size(source) <= WHOLE_BYTES


def _piece(ahead: ReadAhead, position: int) -> Callable[[], Generator[bytes]]:
    def pieces() -> Generator[bytes]:
        yield ahead(position)

    return pieces


def _whole(source: Input) -> bytes:
    return b"".join(source.pieces())


def _size(source: Input) -> int:
    return source.size_bytes or 0
