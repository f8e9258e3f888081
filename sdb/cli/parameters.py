"""Descriptions of the parameters of commands, for typer and for `plain`."""

from __future__ import annotations

import sys

from sdb.records import field_names, record, replace
from sdb.typed import Annotated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from sdb.bounds import Bounds


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
Root = Annotated[
    str | None,
    Option("--root", metavar="FOLDER", help="Folder or s3:// URL that has the tables."),
]
AllowInputs = Annotated[
    list[str] | None,
    Option(
        "--allow-inputs",
        metavar="PREFIX",
        help="Take inputs below this folder or URL, too, although it is outside the root.",
    ),
]


class Context:
    """The root of a command: what its own option names, or what stands before it.

    * ``before``: The root before the name of the command, or of the environment; empty: none.
    * ``own``: The root behind it, if there is one.
    """

    __slots__ = ("allow_inputs", "before", "own")
    options: Mapping[str, Any] = {}  # what a command line may say of it behind the command

    def __init__(
        self, before: str, root: str | None = None, allow_inputs: Sequence[str] | None = None
    ) -> None:
        self.before, self.own, self.allow_inputs = before, root, allow_inputs or ()

    @property
    def root(self) -> str:
        """The root, where the paths of packfiles that are read start; empty for this folder.

        Raises `AccessError` if a file names a root that it may not name.
        """
        if not (self.own or self.before):
            from sdb.cli.settings import check_root

            check_root()
        return self.own or self.before

    def at(self, root: str) -> Context:
        """Return the same with a root that the command line names in another way."""
        return Context(self.before, root, self.allow_inputs)


class TableContext(Context):
    """The root of a command that has ``--root``."""

    __slots__ = ()
    options = {"root": Root}  # noqa: RUF012 - never changes


class InputContext(Context):
    """The root of a command that also finds inputs below it, or elsewhere if it is allowed."""

    __slots__ = ()
    options = {"allow_inputs": AllowInputs, "root": Root}  # noqa: RUF012 - never changes


class Together:
    """Options that several commands have, as one parameter.

    Its classes are records; their fields are described as parameters of commands are.
    """

    __slots__ = ()


def described(command: Callable[..., object]) -> Iterator[tuple[str, Any]]:
    """Iterate over the parameters of a command, and over those that are together in one.

    Yields: What it is: :class:`Context`, or ``Annotated`` with an argument or option.
    """
    has_quiet = False
    options: Mapping[str, Any] = {}
    for name, kind in _evaluated(command.__annotations__, command.__globals__):
        if _is_group(kind):
            for member in members(kind):
                has_quiet |= member[0] == "quiet"
                yield member
        elif name != "return":
            has_quiet |= name == "quiet"
            yield name, kind
            options = kind.options if name == "context" else options
    yield from options.items()
    if not has_quiet:
        yield "quiet", Quiet


def call(command: Callable[..., int | None], values: dict[str, Any]) -> int | None:
    """Run a command with the values of its parameters."""
    if "quiet" not in command.__annotations__ and values.pop("quiet", False):
        from sdb.cli.output import hush

        hush()
    return command(**values)


def members(kind: type[Together]) -> Iterator[tuple[str, Any]]:
    """Iterate over the parameters that are together in one, as `described`."""
    for name, member in _evaluated(kind.__annotations__, vars(sys.modules[kind.__module__])):
        if _is_group(member):
            yield from members(member)
        else:
            yield name, member


def _is_group(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, Together)


def _evaluated(annotations: Mapping[str, str], names: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, text in annotations.items():
        yield name, eval(text, names)  # noqa: S307 - text of our own


def usual(command: Callable[..., object], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of parameters that a command line does not name.

    * ``defaults``: Those of the command; what is together in one of them is apart here.
    """
    values: dict[str, Any] = {"quiet": False} | dict.fromkeys(_context(command).options)
    for name, value in defaults.items():
        _take_apart(values, name, value)
    return values


def _take_apart(values: dict[str, Any], name: str, value: object) -> None:
    if not isinstance(value, Together):
        values[name] = value
        return
    for field in field_names(type(value)):
        _take_apart(values, field, getattr(value, field))


def joined(
    command: Callable[..., object], defaults: Mapping[str, Any], values: dict[str, Any]
) -> dict[str, Any]:
    """Return the arguments of a command, of values as `usual` has them.

    * ``values``: With the root before the command as its context.
    """
    for name, value in defaults.items():
        if isinstance(value, Together):
            values[name] = _join(value, values)
    if "context" in values:
        kind = _context(command)
        named = {name: values.pop(name) for name in kind.options}
        values["context"] = kind(values["context"], **named)
    return values


def _join(usual: Together, values: dict[str, Any]) -> Together:
    changes: dict[str, Any] = {}
    for name in field_names(type(usual)):
        value = getattr(usual, name)
        if isinstance(value, Together):
            changes[name] = _join(value, values)
        elif name in values:
            changes[name] = values.pop(name)
    if all(getattr(usual, name) is value for name, value in changes.items()):
        return usual  # as most are
    return replace(usual, **changes)


def _context(command: Callable[..., object]) -> type[Context]:
    """Return what a command knows of its root."""
    name = command.__annotations__.get("context", "Context")
    kind: type[Context] = command.__globals__.get(name, Context)
    return kind
