"""Following tables: a mirror is brought up to date again and again."""

from __future__ import annotations

from sdb.errors import SdbError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from threading import Event
    from typing import TypeAlias

    from sdb.exchange.mirror import MirrorReport, TableMirror

    TellMirror: TypeAlias = "Callable[[MirrorReport | SdbError | None], None]"

INTERVAL_SECONDS = 10.0


def follow_versions(
    mirror: TableMirror, stop: Event, tell: TellMirror, interval_seconds: float = INTERVAL_SECONDS
) -> None:
    """Mirror each version soon after it was made, until `stop` is set.

    * ``tell``: Called with what was mirrored; with an error when it begins or changes, and with
      None when it is over.
    """
    reported = ""
    while not stop.is_set():
        try:
            report = mirror.update()
        except SdbError as error:
            if error.message != reported:
                tell(error)
            reported = error.message
        else:
            if reported:
                tell(None)
            reported = ""
            if report.versions:
                tell(report)
        stop.wait(interval_seconds)
