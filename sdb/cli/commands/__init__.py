"""One file a command; each has a function `command` and the `EXAMPLES` of its help."""
