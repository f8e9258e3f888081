"""Understands plain command lines without typer, whose import takes longer than many commands.

Only what leaves no question is understood. Help, errors, completion and rare forms are typer's: it
is asked whenever the answer here is None, and knows the parameters from the same descriptions.
"""

from __future__ import annotations

import os

from sdb.cli.commands import GROUPS, leaves, load
from sdb.cli.parameters import Argument, Option, call, described, joined, usual
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from sdb.bounds import Bounds

_MOST_DIGITS = 20
_NUMBERS = (int, int | None)
_LISTS = (list[str], list[str] | None)
_TEXTS = (str, str | None)


def understand(arguments: list[str]) -> Callable[[], int | None] | None:
    """Find the call that a command line asks for.

    * ``arguments``: What follows the name of the program, in today's form.

    Returns: Runs the command and gives its exit code; None for 0. No callable: typer has to look at
    it.
    """
    root, arguments = _root(arguments)
    words = 2 if arguments[:1] and arguments[0] in GROUPS else 1
    name, rest = " ".join(arguments[:words]), arguments[words:]
    # A command without anything asks for help.
    if not rest or name not in leaves() or "_SDB_COMPLETE" in os.environ:
        return None
    command = load(name).command
    values = read(command, rest, root)
    return None if values is None else lambda: call(command, values)


def _root(arguments: list[str]) -> tuple[str, list[str]]:
    """Return the root before the command, or that of the environment, and the other words."""
    match arguments:
        case ["--root", root, *rest] if root and not root.startswith("-"):
            return root, rest
        case [word, *rest] if word.startswith("--root=") and word != "--root=":
            return word.removeprefix("--root="), rest
        case _:
            return os.environ.get("SNELLER_BUCKET", ""), arguments


def read(
    command: Callable[..., int | None], words: list[str], root: str = ""
) -> dict[str, Any] | None:
    """Return the arguments of a command, or None where typer has to look.

    * ``root``: The root, if no option of the command names one.
    """
    try:
        return _Reader(command, root).read(iter(words))
    except _NotPlainError:
        return None


class _NotPlainError(Exception):
    """Typer has to look."""


@record
class _Parameter:
    name: str
    annotation: Any


class _Reader:
    def __init__(self, command: Callable[..., int | None], root: str) -> None:
        self._command = command
        self._root = root
        self._defaults = _defaults(command)
        self._values = usual(command, self._defaults)
        self._missing: set[str] = set()
        self._options: dict[str, tuple[_Parameter, Option]] = {}
        self._arguments: list[_Parameter] = []
        for name, annotation in described(command):
            self._declare(_Parameter(name, annotation))

    def _declare(self, parameter: _Parameter) -> None:
        name = parameter.name
        if name == "context":
            self._values[name] = self._root
            return
        match getattr(parameter.annotation, "__metadata__", ()):
            case (Option() as option,):
                for flag in (*option.flags(name), *option.hidden):
                    self._options[flag] = (parameter, option)
            case (Argument(),):
                self._arguments.append(parameter)
            case _:
                raise _NotPlainError
        if name not in self._values:
            self._missing.add(name)

    def read(self, words: Iterator[str]) -> dict[str, Any]:
        free: list[str] = []
        for word in words:
            if word == "--":
                free += words
                break
            if word.startswith("-") and word != "-":
                self._option(word, words)
            else:
                free.append(word)
        self._assign(free)
        if self._missing:
            raise _NotPlainError
        return joined(self._command, self._defaults, self._values)

    def _option(self, word: str, words: Iterator[str]) -> None:
        if word.startswith("--"):
            flag, joined, text = word.partition("=")
        else:
            flag, joined, text = word[:2], word[2:], word[2:]
        if flag not in self._options:
            raise _NotPlainError
        parameter, option = self._options[flag]
        kind = parameter.annotation.__origin__
        if kind is bool:
            if joined:
                raise _NotPlainError
            self._set(parameter.name, value=True)
            return
        if not joined:
            text = next(words, "")
            # An option as a value is rather a value that was forgotten.
            if text.startswith("-") and text != "-":
                raise _NotPlainError
        if not text:
            raise _NotPlainError
        if kind in _LISTS:
            self._set(parameter.name, value=[*(self._values.get(parameter.name) or []), text])
        else:
            self._set(parameter.name, value=_convert(text, kind, option.bounds))

    def _assign(self, free: list[str]) -> None:
        for parameter in self._arguments:
            kind = parameter.annotation.__origin__
            if not free and (kind not in _LISTS or parameter is not self._arguments[0]):
                return  # what is missing is noticed by `read`
            if not free or not all(free):
                raise _NotPlainError
            if kind in _LISTS and parameter is self._arguments[-1]:
                self._set(parameter.name, value=free)
                return
            self._set(parameter.name, value=_convert(free[0], kind, None))
            free = free[1:]
        if free:
            raise _NotPlainError

    def _set(self, name: str, *, value: object) -> None:
        self._values[name] = value
        self._missing.discard(name)


def _defaults(command: Any) -> dict[str, Any]:  # noqa: ANN401 - any function
    values = command.__defaults__ or ()
    names = command.__code__.co_varnames[: command.__code__.co_argcount]
    return dict(zip(names[len(names) - len(values) :], values, strict=True)) | (
        command.__kwdefaults__ or {}
    )


def _convert(text: str, kind: object, bounds: Bounds | None) -> str | int:
    if kind in _TEXTS:
        return text
    if kind not in _NUMBERS or not (text.isascii() and text.isdigit()) or len(text) > _MOST_DIGITS:
        raise _NotPlainError
    number = int(text)
    if bounds is not None and not bounds.least <= number <= bounds.most:
        raise _NotPlainError
    return number
