"""How commands describe their parameters, for typer and for what does without it."""

from __future__ import annotations

from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sdb.bounds import Bounds


@record
class Context:
    """What the options before the name of the command came to.

    Attributes
    ----------
    obj : str
        The root: where the paths of packfiles that are read start.
    """

    obj: Any


@record
class Argument:
    """A parameter without a name on the command line; a list takes all that are left.

    Attributes
    ----------
    metavar : str
        What the help calls it.
    help : str
        What it is.
    """

    metavar: str
    help: str


@record
class Option:
    """A parameter with a name on the command line.

    Attributes
    ----------
    names : tuple of str
        Its names with their dashes; if there are none, the parameter's with two dashes.
    help : str
        What it is.
    metavar : str, optional
        What the help calls its value.
    bounds : Bounds, optional
        What a number or a size may be.
    """

    names: tuple[str, ...]
    help: str
    metavar: str | None
    bounds: Bounds | None

    def __init__(
        self,
        *names: str,
        help: str,  # noqa: A002 - as typer calls it
        metavar: str | None = None,
        bounds: Bounds | None = None,
    ) -> None:
        """Describe an option."""
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "help", help)
        object.__setattr__(self, "metavar", metavar)
        object.__setattr__(self, "bounds", bounds)
