"""Findings in the values of inputs: times that were cut, forms that fit nothing, columns."""

from __future__ import annotations

from sdb import notes
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from sdb._core import Packer
    from sdb.packfile.trailer.sparseindex import Path

    # Of a column: name, type, values that departed, how many of the sample have the type
    Column = tuple[str, str, int, tuple[int, int] | None]

_TIMES = 1 << 6  # timestamps of Ion, as a bit of types
_MOST_NOTES = 5  # on columns; the others are counted
_MOST_KEPT = 1000  # inputs and columns: more are no news


@record
class Findings:
    """Findings in the values of inputs.

    Attributes
    ----------
    cut_times : int
        Times that have digits beyond microseconds.
    unfitted : frozenset of path
        Fields of which no value has the form that was told for its times.
    is_year_guessed : bool
        Whether times had no year.
    is_overridden : bool
        Whether rows have a field of the name of a folder.
    headerless : tuple of str
        Inputs whose first row has values and no names.
    columns : tuple
        Columns whose values have several types, each with its input.
    """

    cut_times: int = 0
    unfitted: frozenset[Path] = frozenset()
    is_year_guessed: bool = False
    is_overridden: bool = False
    headerless: tuple[str, ...] = ()
    columns: tuple[tuple[str, Column], ...] = ()

    def tell(self) -> None:
        """Warn of it."""
        if self.is_overridden:
            notes.warn("rows that have a field of the name of a folder keep their own value")
        if self.cut_times:
            what = "1 time has" if self.cut_times == 1 else f"{self.cut_times:,} times have"
            notes.warn(f"{what} digits beyond microseconds, which are cut off")
        for path in sorted(self.unfitted):
            notes.warn(f"no value of {'.'.join(path)} has the form that was told for its times")
        if self.is_year_guessed:
            notes.warn("times without a year are in the last year that fits, and in UTC")
        if self.headerless:
            others = f" and {len(self.headerless) - 1} others" if self.headerless[1:] else ""
            notes.warn(
                f"{self.headerless[0]}{others}: the first row has values and no names, so columns"
                " are c0, c1 ... (-f csv:header=yes takes it for names)"
            )
        for line in self._column_lines():
            notes.warn(line)

    def _column_lines(self) -> list[str]:
        lines = []
        for name, (column, kind, departed, sample) in self.columns[:_MOST_NOTES]:
            if sample is None:
                what = "1 value" if departed == 1 else f"{departed:,} values"
                verb, stays = ("is", "stays text") if departed == 1 else ("are", "stay texts")
                lines.append(f"{name}: {what} of {column} {verb} no {kind}, and {stays}")
            else:
                fitting, values = sample
                lines.append(
                    f"{name}: {column} is text, since only {fitting:,} of the first {values:,}"
                    f" values are {kind} (-f csv:columns={column}:{kind} takes those as such)"
                )
        if self.columns[_MOST_NOTES:]:
            more = len(self.columns) - _MOST_NOTES
            lines.append(f"{more:,} more columns have values of several types")
        return lines


def findings_of(packer: Packer, hints: Iterable[bytes]) -> Findings:
    """Return what a packer found in the inputs, once all rows were taken.

    * ``hints``: The hints of the inputs.
    """
    unfitted = set(packer.unfitted)
    for text in dict.fromkeys(hints):
        from sdb.packfile.inputs.hintedtimes import hinted_times

        types = packer.types[0]
        unfitted |= {path for path in hinted_times(text) if not types.get(path, 0) & _TIMES}
    return Findings(
        packer.cut_times,
        frozenset(unfitted if packer.rows else ()),
        packer.has_guessed_year,
        packer.is_overridden,
        tuple(packer.headerless),
        tuple((name, tuple(column)) for name, *column in packer.column_notes),  # type: ignore[misc]
    )


def together(parts: Iterable[Findings]) -> Findings:
    """Return what several packers found: a form is unfitted if no value of any of them has it.

    Examples
    --------
    >>> one, other = Findings(cut_times=2, unfitted=frozenset([("at",)])), Findings(cut_times=1)
    >>> together([one, other]).cut_times, together([one, other]).unfitted
    (3, frozenset())
    """
    every = list(parts)
    return Findings(
        sum(part.cut_times for part in every),
        frozenset.intersection(*(part.unfitted for part in every)) if every else frozenset(),
        any(part.is_year_guessed for part in every),
        any(part.is_overridden for part in every),
        tuple(dict.fromkeys(name for part in every for name in part.headerless))[:_MOST_KEPT],
        tuple(column for part in every for column in part.columns)[:_MOST_KEPT],
    )
