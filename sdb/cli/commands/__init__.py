"""One file a command; each has a function `command` and the `EXAMPLES` of its help."""

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
