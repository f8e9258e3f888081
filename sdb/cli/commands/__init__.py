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
    "tail",
    "grep",
    "query",
    "shell",
    "fields",
    "describe-file",
    "validate-file",
    "create",
    "sync",
    "insert",
    "exec",
    "tables",
    "describe",
    "inputs",
    "def",
    "log",
    "show",
    "diff",
    "restore",
    "tag",
    "branch",
    "merge",
    "fork",
    "push",
    "compact",
    "expire",
    "gc",
    "purge",
    "validate",
    "fetch",
    "show-config",
    "spark",
    "doctor",
    "cache",
    "completion",
    "version",
)
"""Their names, in the order of the help."""


GROUPS = {"spark": ("env", "pack")}
"""Those that have commands of their own."""


def leaves() -> list[str]:
    """Name the commands that do something, as in ``spark env``."""
    return [
        f"{name} {one}" if one else name for name in COMMANDS for one in GROUPS.get(name, ("",))
    ]


def load(name: str) -> Any:  # noqa: ANN401 - the module of a command
    """Load the module of a command; `importlib` takes as long to load as the command itself."""
    module = name.replace("-", "_").replace(" ", "_")
    return __import__(f"{__name__}.{module}", fromlist=["command"])
