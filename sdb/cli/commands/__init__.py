"""One file a command; each has a function `command` and the `EXAMPLES` of its help."""

COMMANDS = (
    "pack",
    "append",
    "concat",
    "unpack",
    "head",
    "describe-file",
    "validate-file",
    "version",
)
"""Their names, in the order of the help."""
