"""Lines of a pipe that goes on, each in one commit.

Lines that were read wait in memory until a commit has them. The pipe is read only so far ahead:
while the table cannot be written, who writes has to wait.
"""

from __future__ import annotations

from sdb.packfile.inputs.lines import LineBatch, text_input
from sdb.records import record, replace
from sdb.table.commit.change import TableChange

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sdb.errors import InputError
    from sdb.packfile.inputs.inputs import Input
    from sdb.packfile.inputs.lines import LineSource
    from sdb.table.feed.lines import BatchBounds, LineFeed, LineTarget, Streamed
    from sdb.table.format.descriptor import Descriptor


def insert_lines(
    feed: LineFeed,
    source: LineSource,
    form: str,
    bounds: BatchBounds,
    *,
    name: str = "standard input",
) -> None:
    """Insert the lines of a pipe as they come, until it ends; see :meth:`LineFeed.run`.

    * ``form``: The parser of the lines, as an :class:`Input` has it.
    """
    feed.target.check()
    try:
        feed.run(_batches(feed, source, form, bounds, name))
    except BaseException:
        feed.so_far.lost_lines += source.waiting_lines
        raise


def _batches(
    feed: LineFeed, source: LineSource, form: str, bounds: BatchBounds, name: str
) -> Iterator[PipeBatch]:
    so_far = feed.so_far
    while lines := source.take(bounds.interval_seconds, bounds.most_bytes, bounds.most_lines):
        so_far.lost_lines += _count(lines)
        behind = f"{name} behind line {so_far.lines:,}" if so_far.lines else name
        yield PipeBatch(lines, behind, form, feed.target, so_far)
    so_far.left_bytes = source.waiting_bytes


@record
class PipeBatch:
    """Lines of a pipe; they count as lost until they are acknowledged."""

    lines: LineBatch
    name: str
    form: str
    target: LineTarget
    so_far: Streamed

    def inputs(self) -> list[Input]:
        """Return them as inputs of a packfile."""
        return [text_input(self.name, self.form, self.lines.data, self.target.hints)]

    def change(self, added: Sequence[Descriptor]) -> TableChange | None:
        """Return what a commit does that adds their packfile; None: no line is a row."""
        author, message = self.target.author, self.target.message
        return (
            TableChange("insert", tuple(added), author=author, message=message) if added else None
        )

    def acknowledge(self) -> None:
        """Record that the table has them."""
        so_far, lines = self.so_far, _count(self.lines)
        so_far.lost_lines -= lines
        so_far.lines += lines
        so_far.text_bytes += len(self.lines.data)
        so_far.is_cut = so_far.is_cut or self.lines.is_cut
        so_far.shortened += self.lines.is_shortened

    def abandon(self) -> None:
        """Do nothing: a commit of these lines never depends on what others have committed."""

    def parts(self) -> Sequence[PipeBatch]:
        """Return none: they are of one pipe."""
        return ()

    def before(self, error: InputError) -> PipeBatch | None:
        """Return those before a malformed line; None: there are none."""
        data = self.lines.data
        good = data[: data.rfind(b"\n", 0, error.offset or 0) + 1]
        return replace(self, lines=LineBatch(good)) if good else None


def _count(lines: LineBatch) -> int:
    return lines.data.count(b"\n") + lines.is_cut
