"""Options of inputs that are no packfiles, where a command takes both."""

from __future__ import annotations

from sdb.packfile.inputs.inputs import recognise_each
from sdb.records import record, replace
from sdb.times import ALL, Times

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.packfile.inputs.inputs import Input
    from sdb.store.base import Location


@record
class RawReading:
    """The format of inputs, and the way their times are read."""

    format: str | None = None  # as ``-f`` names it; found out if not given
    times: Times = ALL

    def recognised(self, location: Location) -> list[Input]:
        """Find out what an input is, or the files of an archive are.

        See :func:`sdb.packfile.inputs.inputs.recognise_each`.
        """
        return [
            source if source.is_packfile else replace(source, times=self.times)
            for source in recognise_each(location, self.format)
        ]

    def texts(self) -> list[str]:
        """Return what differs from the usual, as texts."""
        return [*([] if self.format is None else [self.format]), *self.times.texts()]


USUAL = RawReading()
