"""A folder for each group of `sdb --help`, and in it a file for each command.

Each file has a function `command` and the `EXAMPLES` of its help.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ROOMS = {
    "packfiles": (
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
        "describe",
        "validate",
    ),
    "tables": (
        "create",
        "alter",
        "sync",
        "follow",
        "insert",
        "exec",
        "ls",
        "cp",
        "export",
        "rename",
        "drop",
        "undrop",
        "inputs",
        "def",
        "schema",
    ),
    "versions": (
        "log",
        "show",
        "diff",
        "restore",
        "undo",
        "tag",
        "branch",
        "merge",
    ),
    "upkeep": ("status", "maintain", "compact", "expire", "gc", "purge"),
    "tools": (
        "fetch",
        "config",
        "spark",
        "serve",
        "token",
        "query-store",
        "doctor",
        "cache",
        "functions",
        "completion",
        "help",
        "version",
    ),
}
"""The groups of the help, and their commands in its order."""

COMMANDS = tuple(name for names in ROOMS.values() for name in names)
"""The names of all commands."""

ALIASES = {
    "describe-file": ("describe", "--packfiles"),
    "validate-file": ("validate", "--packfiles"),
    "tables": ("ls",),
    "views": ("ls", "--views"),
    "fork": ("cp",),
    "push": ("cp", "--push"),
    "show-config": ("config", "root"),
    "open": ("serve", "--open"),
}
"""Names that commands had, or have in the original, with the words that they stand for."""

GROUPS = {
    "schema": ("infer", "show", "set", "check", "diff"),
    "spark": ("env", "pack"),
    "export": ("delta", "iceberg", "parquet"),
}
"""Those that have subcommands."""

_ROOM = {name: room for room, names in ROOMS.items() for name in names}


def leaves() -> list[str]:
    """Name the commands that do something, as in ``spark env``."""
    return [
        f"{name} {inner}" if inner else name
        for name in COMMANDS
        for inner in GROUPS.get(name, ("",))
    ]


def load(name: str) -> Any:  # noqa: ANN401 - the module of a command
    """Load the module of a command; `importlib` takes as long to load as the command itself."""
    room = _ROOM[name.partition(" ")[0]]
    module = name.replace("-", "_").replace(" ", "_")
    return __import__(f"{__name__}.{room}.{module}", fromlist=["command"])
