"""Descriptions of the parameters of commands, for typer and for `plain`."""

from __future__ import annotations

import sys

from sdb.records import field_names, record
from sdb.typed import Annotated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from sdb.bounds import Bounds


class Context:
    """The options before the name of the command.

    * ``root``: The root that they or the environment name, or empty.
    """

    __slots__ = ("root",)

    def __init__(self, root: str) -> None:
        self.root = root

    @property
    def obj(self) -> str:
        """The root, where the paths of packfiles that are read start; empty for this folder.

        Raises
        ------
        AccessError
            A file names a root that it may not name.
        """
        if not self.root:
            from sdb.cli.settings import check_root

            check_root()
        return self.root


@record
class Argument:
    """A parameter without a name on the command line; a list takes all that are left."""

    metavar: str  # what the help calls it
    help: str  # what it is


@record
class Option:
    """A parameter with a name on the command line."""

    # Its names with their dashes; if there are none, the parameter's with two dashes
    names: tuple[str, ...]
    help: str  # what it is
    metavar: str | None  # what the help calls its value
    bounds: Bounds | None  # what a number or a size may be
    # Values that the shell offers: if not given, those that the metavar has between bars
    values: tuple[str, ...]
    hidden: tuple[str, ...]  # names that work and that the help does not show

    def __init__(
        self,
        *names: str,
        help: str,  # noqa: A002 - as typer calls it
        metavar: str | None = None,
        bounds: Bounds | None = None,
        values: tuple[str, ...] = (),
        hidden: tuple[str, ...] = (),
    ) -> None:
        """Describe an option."""
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "help", help)
        object.__setattr__(self, "metavar", metavar)
        object.__setattr__(self, "bounds", bounds)
        listed = metavar.split("|") if metavar and "|" in metavar else ()
        words = (word.removesuffix("FILE") for word in listed)  # quarantine:FILE
        object.__setattr__(self, "values", values or tuple(words))
        object.__setattr__(self, "hidden", hidden)

    def flags(self, parameter: str) -> tuple[str, ...]:
        """Return its names, which without any are that of the parameter."""
        return self.names or (f"--{parameter.replace('_', '-')}",)


Quiet = Annotated[bool, Option("--quiet", "-q", help="Print errors only.")]
"""What every command has: :func:`call` sees to it where the command does not."""


class Together:
    """Options that several commands have, as one parameter.

    Its classes are records; their fields are described as parameters of commands are.
    """

    __slots__ = ()


def described(command: Callable[..., object]) -> Iterator[tuple[str, Any]]:
    """Iterate over the parameters of a command, and over those that are together in one.

    Yields: What it is: :class:`Context`, or ``Annotated`` with an argument or option.
    """
    for name, kind in _evaluated(command.__annotations__, command.__globals__):
        if isinstance(kind, type) and issubclass(kind, Together):
            yield from members(kind)
        elif name != "return":
            yield name, kind
    if "quiet" not in command.__annotations__:
        yield "quiet", Quiet


def call(command: Callable[..., int | None], values: dict[str, Any]) -> int | None:
    """Run a command with the values of its parameters."""
    if "quiet" not in command.__annotations__ and values.pop("quiet", False):
        from sdb.cli.output import hush

        hush()
    return command(**values)


def members(kind: type[Together]) -> Iterator[tuple[str, Any]]:
    """Iterate over the parameters that are together in one, as `described`."""
    return _evaluated(kind.__annotations__, vars(sys.modules[kind.__module__]))


def _evaluated(annotations: Mapping[str, str], names: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, text in annotations.items():
        yield name, eval(text, names)  # noqa: S307 - text of our own


def apart(defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return values of parameters with those that are together in one as their own."""
    values = dict(defaults)
    for name, value in defaults.items():
        if isinstance(value, Together):
            del values[name]
            values |= {field: getattr(value, field) for field in field_names(type(value))}
    return values


def joined(defaults: Mapping[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a command, of values as `apart` has them.

    * ``defaults``: Those of the command.
    """
    for name, value in defaults.items():
        if isinstance(value, Together):
            kind = type(value)
            values[name] = kind(
                **{field: values.pop(field) for field in field_names(kind) if field in values}
            )
    return values
