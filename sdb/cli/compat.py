"""Command lines as people wrote them for the original `sdb`."""

from __future__ import annotations

from itertools import chain, takewhile

LONG_FLAGS = frozenset(
    {
        "algorithm",
        "append",
        "block-size",
        "blocks",
        "conf",
        "constant",
        "explain",
        "fields",
        "file",
        "fmt",
        "force",
        "format",
        "help",
        "hints",
        "html",
        "install-completion",
        "json",
        "limit",
        "master",
        "memory",
        "no-prune",
        "no-verify",
        "on-error",
        "output",
        "param",
        "print-submit",
        "progress",
        "quiet",
        "root",
        "rows",
        "show-completion",
        "since",
        "spark",
        "target-size",
        "tasks",
        "threads",
        "time-field",
        "timeline",
        "unsafe-single-writer",
        "until",
        "verbose",
        "version",
    }
)
"""Every flag that has two dashes here and may have one, as it had there."""

_SHORT = len("-o")


def rewrite(arguments: list[str]) -> list[str]:
    """Give long flags their second dash, and let short ones have a value after ``=``.

    Parameters
    ----------
    arguments : list of str
        What follows the name of the program.

    Returns
    -------
    list of str
        The same in today's form. Nothing after ``--`` is touched.

    Examples
    --------
    >>> rewrite(["-root=X", "unpack", "-fmt", "json", "-o=out.json", "-j4"])
    ['--root=X', 'unpack', '--fmt', 'json', '-o', 'out.json', '-j4']
    """
    head = list(takewhile(lambda argument: argument != "--", arguments))
    return [*chain.from_iterable(map(_rewrite, head)), *arguments[len(head) :]]


def _rewrite(argument: str) -> list[str]:
    flag, equals, value = argument.partition("=")
    if flag.startswith("-") and flag[1:] in LONG_FLAGS:
        return [f"-{argument}"]
    if equals and len(flag) == _SHORT and flag.startswith("-") and "a" <= flag[1] <= "z":
        return [flag, value]
    return [argument]
