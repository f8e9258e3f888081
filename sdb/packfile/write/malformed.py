"""Malformed records: whether they are an error, passed over, or rows of their text."""

from __future__ import annotations

from sdb import sizes
from sdb.errors import UsageError
from sdb.packfile.inputs.rawreading import check_action
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeAlias

    from sdb._core import RejectedBatch

    Take: TypeAlias = Callable[["Rejected"], None]
    TakeMany: TypeAlias = Callable[[RejectedBatch], None]

_MOST_NOTES = 5  # on inputs; the others are counted


@record
class Rejected:
    """A malformed record."""

    input: str  # name of the input
    line: int  # its line there, counted from 1
    offset: int  # its position in the decompressed input, in bytes
    message: str  # what is wrong with it
    text: bytes  # the record as it was, with its line end

    def __str__(self) -> str:
        """Say where it is, and what is wrong."""
        return f"{self.input}: line {self.line:,}: {self.message}"


@record
class Malformed:
    """The malformed records of an input."""

    input: str  # its name
    count: int
    is_kept: bool  # whether they are rows
    first: str  # where the first one is, and what is wrong with it

    def __str__(self) -> str:
        """Say what became of them."""
        return f"{outcome(self.count, is_kept=self.is_kept)}; first {self.first}"


def outcome(count: int, *, is_kept: bool) -> str:
    """Say what became of records that cannot be packed.

    >>> outcome(1, is_kept=False), outcome(2000, is_kept=True)
    ('skipped 1 record', 'kept 2,000 records as rows of `message`')
    """
    records = sizes.counted(count, "record")
    return f"kept {records} as rows of `message`" if is_kept else f"skipped {records}"


def actions_of(
    on_error: Take | str | None, on_errors: TakeMany | None
) -> tuple[str, TakeMany | None]:
    """Return the action that a caller wants, and what takes the records many at a time.

    Raises `UsageError` for two functions together, or an unknown action.
    """
    if on_error is None or isinstance(on_error, str):
        usual = "fail" if on_errors is None else "skip"
        return check_action(on_error or usual), on_errors
    if on_errors is not None:
        raise UsageError("on_error and on_errors cannot be given together")

    def take(batch: RejectedBatch) -> None:
        for number in range(len(batch)):
            on_error(Rejected(*batch[number]))

    return "skip", take


def added(before: Malformed | None, batch: RejectedBatch) -> Malformed:
    """Return the records of an input, with those of another batch."""
    name = batch[0][0]
    if before is None:
        return Malformed(name, len(batch), batch.are_kept, str(Rejected(*batch[0])))
    return Malformed(name, before.count + len(batch), before.is_kept, before.first)


def lines_of(inputs: Iterable[Malformed]) -> list[str]:
    """Say what became of the malformed records of inputs, at most of a few."""
    every = list(inputs)
    lines = [str(malformed) for malformed in every[:_MOST_NOTES]]
    if rest := every[_MOST_NOTES:]:
        records = sizes.counted(sum(malformed.count for malformed in rest), "malformed record")
        lines.append(f"{records} in {len(rest):,} more inputs")
    return lines
