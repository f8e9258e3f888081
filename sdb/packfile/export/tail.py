"""Last rows of packfiles: blocks are decoded from the end on, until there are enough."""

from __future__ import annotations

from collections import deque
from contextlib import ExitStack, closing
from functools import partial
from typing import cast

from sdb import instants
from sdb.packfile.export.unpack import opened_files, write_lines
from sdb.packfile.prune.unknownfields import warn_unknown_fields
from sdb.packfile.read.ahead import of_each
from sdb.packfile.read.resolve import PackfileReference, resolve
from sdb.packfile.read.tailscan import last

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime
    from typing import Any, BinaryIO, TypeVar

    from sdb.packfile.prune.selection import Selection
    from sdb.packfile.read.reader import Packfile
    from sdb.packfile.read.resolve import Located

    Row = TypeVar("Row")


def last_lines(
    location: Located | Iterable[Located],
    rows: int,
    *,
    fields: Sequence[str] | None = None,
    since: str | datetime | None = None,
    until: str | datetime | None = None,
    time_field: str | Sequence[str] | None = None,
    strict: bool = False,
) -> list[bytes]:
    """Return the last rows that are asked for as lines of JSON.

    * ``location``: The packfiles; the last rows are those of the last one.
    * ``fields, since, until, time_field, strict``: As for
      :func:`sdb.packfile.export.unpack.unpack`.

    Returns: The lines with their ends, in the order of the file.
    Raises `CorruptError` for a block that cannot be decoded, and other errors as
    :func:`sdb.packfile.export.unpack.unpack` does.
    """

    def of_block(pack: Packfile, selection: Selection) -> deque[bytes]:
        lines: deque[bytes] = deque(maxlen=rows)
        write_lines(pack, selection, cast("BinaryIO", _Lines(lines)), fields)
        return lines

    with ExitStack() as stack:
        packs = _opened(stack, location, fields, time_field, strict=strict)
        return _last(packs, rows, (since, until, time_field), of_block)


def last_rows(
    location: Located | Iterable[Located],
    rows: int,
    *,
    fields: Sequence[str] | None = None,
    since: str | datetime | None = None,
    until: str | datetime | None = None,
    time_field: str | Sequence[str] | None = None,
    strict: bool = False,
) -> list[dict[str, Any]]:
    """Return the last rows as dicts; see :func:`last_lines`."""
    with ExitStack() as stack:
        packs = _opened(stack, location, fields, time_field, strict=strict)
        times = (since, until, time_field)
        return _last(
            packs, rows, times, lambda pack, selection: pack.selected_rows(selection, fields)
        )


class _Lines:
    """A file that keeps the last lines of what is written to it, whole lines at a time."""

    def __init__(self, lines: deque[bytes]) -> None:
        self._kept = lines

    def write(self, lines: bytes) -> int:
        self._kept.extend(lines.splitlines(keepends=True))
        return len(lines)


def _opened(
    stack: ExitStack,
    location: Located | Iterable[Located],
    fields: Sequence[str] | None,
    time_field: str | Sequence[str] | None,
    *,
    strict: bool,
) -> list[Packfile]:
    """Open packfiles, and warn of fields that none of them has."""
    opened = of_each(PackfileReference.open, resolve(location))
    packs = [stack.enter_context(closing(pack)) for pack in opened]
    warn_unknown_fields(opened_files(packs, fields), fields, time_field, strict=strict)
    return packs


def _last(
    packs: Sequence[Packfile],
    rows: int,
    times: tuple[Any, Any, Any],
    of_block: Callable[[Packfile, Selection], Iterable[Row]],
) -> list[Row]:
    since, until = instants.fixed(times[0]), instants.fixed(times[1])
    tail: list[Row] = []
    for pack in reversed(packs):
        if len(tail) < rows:
            selection = pack.select(since=since, until=until, time_field=times[2])
            tail[:0] = last(selection, rows - len(tail), partial(of_block, pack))
    return tail
