"""The result of appending inputs to a packfile: rows, sizes and times."""

from __future__ import annotations

from sdb import sizes
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.packfile.trailer.trailer import Trailer


@record
class AppendResult:
    """The result of appending.

    Attributes
    ----------
    path : str
        The packfile that was written.
    inputs : int
        Number of inputs.
    rows_added : int
        Number of rows that are new. When there are none, nothing was written in the place of the
        old packfile.
    rows_total : int or None
        Number of rows of the packfile now; None when the old one has no row counts.
    text_bytes : int
        Size of the inputs, decompressed.
    output_bytes : int
        Size of the packfile now.
    copied_bytes : int
        How many bytes of the old packfile the store took over by itself.
    copied_by : str or None
        How: ``reflink``, ``copy``, ``server`` or ``upload``; None: nothing was written.
    read_bytes : int
        How many bytes of the old packfile were read.
    written_bytes : int
        How many bytes were written beside those that the store took over.
    trailer : Trailer
        The trailer of the packfile now.
    rejected, kept_records : int
        Numbers of malformed records that were passed over, and that are rows of their text.
    known : tuple of str
        The inputs that the packfile had the rows of, and that were appended once more.
    skipped : tuple of str
        Those that were left out instead.
    attempts : int
        Number of attempts: other writers may change the packfile in between.
    seconds : float
        How long it took.
    """

    path: str
    inputs: int
    rows_added: int
    rows_total: int | None
    text_bytes: int
    output_bytes: int
    copied_bytes: int
    copied_by: str | None
    read_bytes: int
    written_bytes: int
    trailer: Trailer
    rejected: int
    kept_records: int
    known: tuple[str, ...]
    skipped: tuple[str, ...]
    attempts: int
    seconds: float

    def __repr__(self) -> str:
        """Show what it came to."""
        total = "" if self.rows_total is None else f" of {self.rows_total:,} now"
        return (
            f"<AppendResult {self.path}: {sizes.counted(self.rows_added, 'row')}{total}, "
            f"{sizes.human(self.output_bytes)}, {self.seconds:.2f} s>"
        )
