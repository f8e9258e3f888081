"""Command lines as people write them for the original `sdb`, and for `head` and `tail`."""

from __future__ import annotations

from itertools import chain, takewhile

from sdb.cli.commands import leaves, load
from sdb.cli.parameters import Option, described

_OF_ALL = frozenset({"help", "install-completion", "root", "show-completion", "trust", "version"})
_SHORT = len("-o")
_COUNTING = {"head", "tail"}


def long_flags() -> frozenset[str]:
    """Give every flag that has two dashes here and may have one, as it had there.

    Returns
    -------
    frozenset of str
        The names without dashes: those that go before a command, and those that the descriptions
        of the commands have.
    """
    found = set(_OF_ALL)
    for name in leaves():
        for parameter, annotation in described(load(name).command):
            for option in getattr(annotation, "__metadata__", ()):
                flags = option.flags(parameter) if isinstance(option, Option) else ()
                found.update(flag[2:] for flag in flags if flag.startswith("--"))
    return frozenset(found)


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
    if not _COUNTING.isdisjoint(head):
        head = [_counted(argument) for argument in head]
    rest = arguments[len(head) :]
    return [*chain.from_iterable(map(_rewrite, head)), *rest]


def _counted(argument: str) -> str:
    """Take a number of rows as in ``head -5``."""
    return f"-n{argument[1:]}" if argument[:1] == "-" and argument[1:].isdecimal() else argument


def _is_word(flag: str) -> bool:
    """Tell whether this looks like a long flag with one dash: all commands are asked for it."""
    name = flag[1:]
    return flag[:1] == "-" and len(name) > 1 and name.replace("-", "").isalpha() and name[0] != "-"


def _rewrite(argument: str) -> list[str]:
    flag, equals, value = argument.partition("=")
    if _is_word(flag) and flag[1:] in long_flags():
        return [f"-{argument}"]
    if equals and len(flag) == _SHORT and flag.startswith("-") and "a" <= flag[1] <= "z":
        return [flag, value]
    return [argument]
