"""Workers whose rows Spark does not want any more, as after a limit."""

from __future__ import annotations

import sys
from types import SimpleNamespace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType


def end_quietly() -> None:
    """End this worker without a traceback when Spark closes its pipe: that is no failure."""
    daemon = sys.modules["__main__"]
    traceback: ModuleType | None = getattr(daemon, "traceback", None)
    is_daemon = getattr(daemon.__spec__, "name", "") == "pyspark.daemon"
    if not is_daemon or traceback is None or isinstance(traceback, SimpleNamespace):
        return

    def print_exc() -> None:
        if not isinstance(sys.exception(), BrokenPipeError):
            traceback.print_exc()

    vars(daemon)["traceback"] = SimpleNamespace(**vars(traceback) | {"print_exc": print_exc})
