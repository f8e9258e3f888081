"""One file a command; each has a function `command` and the `EXAMPLES` of its help."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

COMMANDS = (
    "pack",
    "append",
    "concat",
    "unpack",
    "head",
    "query",
    "describe-file",
    "validate-file",
    "spark",
    "doctor",
    "version",
)
"""Their names, in the order of the help."""


def load(name: str) -> Any:  # noqa: ANN401 - the module of a command
    """Load the module of a command; `importlib` takes as long to load as the command itself."""
    return __import__(f"{__name__}.{name.replace('-', '_')}", fromlist=["command"])
