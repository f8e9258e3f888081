"""Last rows of packfiles: blocks are decoded from the end on, until there are enough."""

from __future__ import annotations

from collections import deque
from contextlib import ExitStack, closing
from functools import partial
from typing import cast

from sdb import instants
from sdb.packfile.export.unpack import write_lines
from sdb.packfile.prune.unknownfields import tell_of
from sdb.packfile.read.reader import open_packfile
from sdb.packfile.read.resolve import resolve
from sdb.packfile.read.tailscan import last

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime
    from typing import Any, BinaryIO, TypeVar

    from sdb.packfile.prune.selection import Selection
    from sdb.packfile.read.reader import Packfile
    from sdb.store.base import Location

    Row = TypeVar("Row")


def last_lines(
    location: Location,
    rows: int,
    *,
    fields: Sequence[str] | None = None,
    since: str | datetime | None = None,
    until: str | datetime | None = None,
    time_field: str | Sequence[str] | None = None,
    strict: bool = False,
) -> list[bytes]:
    """Give the last rows that are asked for as lines of JSON.

    Parameters
    ----------
    location : path, URL, pattern or folder
        The packfiles; the last rows are those of the last one.
    rows : int
        How many.
    fields, since, until, time_field, strict
        As for :func:`sdb.packfile.export.unpack.unpack`.

    Returns
    -------
    list of bytes
        The lines with their ends, in the order of the file.

    Raises
    ------
    CorruptError
        A block that cannot be decoded; others as :func:`sdb.packfile.export.unpack.unpack`.
    """

    def of_block(pack: Packfile, selection: Selection) -> deque[bytes]:
        kept: deque[bytes] = deque(maxlen=rows)
        write_lines(pack, selection, cast("BinaryIO", _Lines(kept)), fields)
        return kept

    with ExitStack() as stack:
        packs = _opened(stack, location, fields, time_field, strict=strict)
        return _last(packs, rows, (since, until, time_field), of_block)


def last_rows(
    location: Location,
    rows: int,
    *,
    fields: Sequence[str] | None = None,
    since: str | datetime | None = None,
    until: str | datetime | None = None,
    time_field: str | Sequence[str] | None = None,
    strict: bool = False,
) -> list[dict[str, Any]]:
    """Give the last rows as dicts; see :func:`last_lines`."""
    with ExitStack() as stack:
        packs = _opened(stack, location, fields, time_field, strict=strict)
        times = (since, until, time_field)
        return _last(packs, rows, times, lambda pack, one: pack.selected_rows(one, fields))


class _Lines:
    """A file that keeps the last lines of what is written to it, whole lines at a time."""

    def __init__(self, kept: deque[bytes]) -> None:
        self._kept = kept

    def write(self, lines: bytes) -> int:
        self._kept.extend(lines.splitlines(keepends=True))
        return len(lines)


def _opened(
    stack: ExitStack,
    location: Location,
    fields: Sequence[str] | None,
    time_field: str | Sequence[str] | None,
    *,
    strict: bool,
) -> list[Packfile]:
    """Open packfiles, and warn of fields that none of them has."""
    packs = [stack.enter_context(closing(open_packfile(one.location))) for one in resolve(location)]
    trailers = [(pack.path, pack.trailer) for pack in packs]
    tell_of(trailers, fields, time_field, strict=strict)
    return packs


def _last(
    packs: Sequence[Packfile],
    rows: int,
    times: tuple[Any, Any, Any],
    of_block: Callable[[Packfile, Selection], Iterable[Row]],
) -> list[Row]:
    since, until = instants.fixed(times[0]), instants.fixed(times[1])
    found: list[Row] = []
    for pack in reversed(packs):
        if len(found) < rows:
            selection = pack.select(since=since, until=until, time_field=times[2])
            found[:0] = last(selection, rows - len(found), partial(of_block, pack))
    return found
