"""Select the blocks of a packfile that a reader has to look at."""

from __future__ import annotations

from _operator import index  # operator is a module in Python, which short commands do without
from itertools import chain

from sdb import instants
from sdb.errors import NotFoundError, UsageError
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from datetime import datetime

    from sdb._core import Matcher
    from sdb.packfile.prune.predicate import Predicate
    from sdb.packfile.prune.prune import Intervals
    from sdb.packfile.trailer.sparseindex import Path
    from sdb.packfile.trailer.trailer import Trailer


_MOST_DIGITS = 50


@record
class Selection:
    """Blocks to read, and the times that their rows must have."""

    blocks: tuple[int, ...]  # numbers of the blocks, ascending
    path: Path | None = None  # where the time of a row is; None: rows are not chosen by time
    # Rows stay if ``start_us <= t < stop_us``, in microseconds since 1970; None leaves that side
    # open. Rows without a timestamp at the path do not stay.
    start_us: int | None = None
    stop_us: int | None = None
    matcher: Matcher | None = None  # what else rows must have; None: nothing

    @property
    def time_filter(self) -> tuple[list[str], int | None, int | None] | None:
        """The choice of rows the way `_core` wants it."""
        return (list(self.path), self.start_us, self.stop_us) if self.path else None


def select(
    trailer: Trailer,
    *,
    since: str | datetime | None = None,
    until: str | datetime | None = None,
    time_field: str | Sequence[str] | None = None,
    blocks: str | Iterable[int] | None = None,
    predicate: Predicate | None = None,
    pruned: Callable[[Predicate], Intervals] | None = None,
) -> Selection:
    """Choose the blocks that can hold the rows that are asked for.

    * ``since, until``: First time, and the time that is no longer included; see
      :func:`sdb.instants.parse`.
    * ``time_field``: Path of the time; without it the indexed path, if there is a single one at the
      top of the rows, or a single one at all.
    * ``blocks``: Block numbers, as in ``"0,3-5,9-"``.
    * ``predicate``: What else is TRUE for rows that are asked for.
    * ``pruned``: Gives the blocks that can hold rows for which a predicate is TRUE; without it the
      trailer alone decides.

    Raises `UsageError` if no time field can be guessed, or a value cannot be read; `NotFoundError`
    for a block that the file does not have.
    """
    count = len(trailer.blocks)
    chosen = range(count) if blocks is None else block_numbers(blocks, count)
    if since is None and until is None:
        if time_field is not None:
            raise UsageError("a time field was given without since or until")
        return Selection(_pruned(chosen, predicate, trailer, pruned))
    path = time_path(trailer, time_field)
    start_us = None if since is None else instants.parse(since)
    stop_us = None if until is None else instants.parse(until)
    from sdb.packfile.prune.predicate import Both, between

    times = between(path, start_us, stop_us)
    both = times if predicate is None else Both((times, predicate))
    return Selection(_pruned(chosen, both, trailer, pruned), path, start_us, stop_us)


def _pruned(
    chosen: Iterable[int],
    predicate: Predicate | None,
    trailer: Trailer,
    pruned: Callable[[Predicate], Intervals] | None,
) -> tuple[int, ...]:
    """Leave out the blocks that hold no row for which a predicate is TRUE."""
    if predicate is None:
        return tuple(chosen)
    from sdb.packfile.prune import prune

    ranges = prune.blocks(predicate, trailer.sparse) if pruned is None else pruned(predicate)
    possible = set(chain.from_iterable(range(start, stop) for start, stop in ranges))
    return tuple(number for number in chosen if number in possible)


def block_numbers(blocks: str | Iterable[int], count: int) -> list[int]:
    """Read a choice of blocks.

    * ``blocks``: Block numbers: single ones, ranges with both ends (``3-5``) or without an end
      (``9-``).

    Raises `UsageError` for text that is no such list and `NotFoundError` for a block that is not
    there.
    """
    numbers: set[int] = set()
    if isinstance(blocks, str):
        for part in blocks.split(","):
            first, dash, last = part.strip().partition("-")
            is_list = first.isdecimal() and (not last or last.isdecimal())
            if not is_list or len(part) > _MOST_DIGITS:
                raise UsageError(
                    f"invalid blocks {part[:_MOST_DIGITS]!r}", expected="as in 0,3-5,9-"
                )
            end = int(last) if last else count - 1 if dash else int(first)
            _insist(int(first), count)
            _insist(end, count)
            numbers.update(range(int(first), end + 1))
    else:
        try:
            numbers.update(map(index, blocks))
        except TypeError:
            raise UsageError(
                "invalid blocks: they are not whole numbers", expected="as in [0, 3]"
            ) from None
    for number in numbers:
        _insist(number, count)
    return sorted(numbers)


def _insist(number: int, count: int) -> None:
    if not 0 <= number < count:
        what = f"blocks 0 to {count - 1}" if count else "no blocks"
        raise NotFoundError(f"there is no block {number}: the file has {what}")


def find_path(indexed: Collection[Path], field: str | Sequence[str]) -> Path:
    """Return the path that a user means.

    * ``indexed``: The paths that have an index: names with dots are recognised among them.
    """
    if not isinstance(field, str):
        return tuple(field)
    fitting = [path for path in indexed if ".".join(path) == field]
    return fitting[0] if len(fitting) == 1 else tuple(field.split("."))


def time_path(trailer: Trailer, field: str | Sequence[str] | None = None) -> Path:
    """Return the path whose times count.

    Raises `UsageError` if the user says nothing, and there is not one obvious path.
    """
    indexed = trailer.sparse.indices
    if field is not None:
        return find_path(indexed, field)
    top = [path for path in indexed if len(path) == 1]
    for candidates in (top, list(indexed)):
        if len(candidates) == 1:
            return candidates[0]
    names = ", ".join(".".join(path) for path in indexed)
    raise UsageError(
        f"rows have times at {len(indexed):,} paths, and none of them was named"
        if names
        else "no field is indexed by time, and none was named",
        hint=f"name one with --time-field; indexed are: {names}"
        if names
        else "name one with --time-field; sdb fields says which ones look like times",
    )
