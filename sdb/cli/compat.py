"""Command lines as people write them for the original `sdb`, and for `head` and `tail`."""

from __future__ import annotations

from itertools import chain, islice, takewhile

from sdb.cli.commands import ALIASES, COMMANDS, leaves, load
from sdb.cli.parameters import Option, described

_OF_ALL = frozenset({"help", "install-completion", "root", "show-completion", "trust", "version"})
_SHORT = len("-o")
_COUNTING = {"head", "tail"}
_WITH_VALUES = (["--root"], ["--key"], ["--limit"], ["-n"])
_FOLLOWING = {"follow", "queue", "tail"}
_VERSIONED = {"diff", "show", "log"}


def long_flags() -> frozenset[str]:
    """Return every flag that has two dashes here and may have one, as it had there.

    Returns: The names without dashes: those that go before a command, and those that the
    descriptions of the commands have.
    """
    flags_known = set(_OF_ALL)
    for name in leaves():
        for parameter, annotation in described(load(name).command):
            for option in getattr(annotation, "__metadata__", ()):
                is_option = isinstance(option, Option)
                flags = (*option.flags(parameter), *option.hidden) if is_option else ()
                flags_known.update(flag[2:] for flag in flags if flag.startswith("--"))
    return frozenset(flags_known)


def rewrite(arguments: list[str]) -> list[str]:
    """Return long flags their second dash, and let short ones have a value after ``=``.

    >>> rewrite(["-root=X", "unpack", "-fmt", "json", "-o=out.json", "-j4"])
    ['--root=X', 'unpack', '--fmt', 'json', '-o', 'out.json', '-j4']
    """
    arguments = _renamed(arguments)
    head = list(takewhile(lambda argument: argument != "--", arguments))
    rest = arguments[len(head) :]
    if not _COUNTING.isdisjoint(head):
        head = [_counted(argument) for argument in head]
    if head[:1] == ["restore"] or "restore" in head[2:3]:
        head = [_referring(argument) for argument in head]
    if not _VERSIONED.isdisjoint(head[:3]):
        head = _joined_references(head)
    return _asked([*chain.from_iterable(map(_rewrite, head)), *rest])


def _renamed(arguments: list[str]) -> list[str]:
    """Write the name that a command has today for another one that works."""
    at = 0
    while arguments[at : at + 1] and arguments[at][:1] == "-":
        at += 1 + (arguments[at] in {"--root", "-root"})
    at += arguments[at : at + 1] == ["help"]
    words = ALIASES.get(arguments[at]) if arguments[at:] else None
    if arguments[at : at + 1] == ["sync"]:
        return [*arguments[:at], *_followed(arguments[at:])]
    return arguments if words is None else [*arguments[:at], *words, *arguments[at + 1 :]]


def _followed(arguments: list[str]) -> list[str]:
    """Write `sdb follow` for a sync that keeps running.

    >>> _followed(["sync", "--tail", "app.log", "web.gha"])
    ['follow', 'app.log', 'web.gha']
    >>> _followed(["sync", "--queue=https://host/1/logs", "web"])
    ['follow', '--queue', 'https://host/1/logs', 'web']
    """
    sources: list[str] = []
    rest: list[str] = []
    flags = set()
    waiting = iter(arguments[1:])
    for argument in waiting:
        flag, equals, value = argument.partition("=")
        name = flag.lstrip("-") if flag.startswith("-") else ""
        if name not in _FOLLOWING:
            rest.append(argument)
            continue
        flags.add(name)
        if name != "follow":
            sources += [value] if equals else [*islice(waiting, 1)]
    return ["follow", *["--queue"] * ("queue" in flags), *sources, *rest] if flags else arguments


def _asked(arguments: list[str]) -> list[str]:
    """Make ``COMMAND --help`` of ``help COMMAND``, unless that is a topic."""
    words = arguments[1:]
    if arguments[:1] != ["help"] or words[:1] == [] or words[0] not in COMMANDS:
        return arguments
    from sdb.cli.topictexts import TOPICS

    return arguments if words[0] in TOPICS else [*words, "--help"]


def _counted(argument: str) -> str:
    """Take a number of rows as in ``head -5``."""
    return f"-n{argument[1:]}" if argument[:1] == "-" and argument[1:].isdecimal() else argument


def _referring(argument: str) -> str:
    """Take a version by its number from the end or its age, as in ``restore web.gha -1``."""
    number = argument[1:].rstrip("smhdw")
    return f"@{argument}" if argument[:1] == "-" and number.isdecimal() else argument


def _joined_references(arguments: list[str]) -> list[str]:
    """Take versions as in ``show web.gha -1`` and ``diff web.gha -2 -1``."""
    joined: list[str] = []
    for argument in map(_referring, arguments):
        is_value = joined[-2:-1] in _WITH_VALUES
        is_table = not is_value and "." in "".join(joined[-1:]) and "@" not in joined[-1]
        if is_table and argument.startswith("@-"):
            joined[-1] += argument
        else:
            joined.append(argument)
    return joined


def _is_word(flag: str) -> bool:
    """Return whether this looks like a long flag with one dash: all commands are asked for it."""
    name = flag[1:]
    return flag[:1] == "-" and len(name) > 1 and name.replace("-", "").isalpha() and name[0] != "-"


def _rewrite(argument: str) -> list[str]:
    flag, equals, value = argument.partition("=")
    if _is_word(flag) and flag[1:] in long_flags():
        return [f"-{argument}"]
    if equals and len(flag) == _SHORT and flag.startswith("-") and "a" <= flag[1] <= "z":
        return [flag, value]
    return [argument]
