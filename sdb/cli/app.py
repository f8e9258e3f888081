"""The commands, each imported only when it runs."""
# ruff: noqa: ANN401 - the type of commands is private to typer

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Container, Iterable, Iterator, MutableMapping
from contextlib import contextmanager
from functools import wraps
from inspect import signature
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup
from typer.main import get_command

from sdb.bounds import TRUST
from sdb.cli.commands import COMMANDS, GROUPS, load
from sdb.cli.complete import offers
from sdb.cli.main import BROKEN_PIPE
from sdb.cli.output import complain
from sdb.cli.parameters import Argument, Context, Option
from sdb.version import LINE

_HELP = {"help_option_names": ["-h", "--help"]}
# What is complete without any argument.
_BARE = {"cache", "shell", "show-config", "spark env", "tables", "version"}
_SPARK = "Pack on Spark, and build the environment of its executors."


class _Commands(MutableMapping[str, Any]):
    """Looks like the dictionary of commands, and imports one when it is asked for."""

    def __init__(self) -> None:
        self._built: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in COMMANDS:
            raise KeyError(name)
        if name not in self._built:
            self._built[name] = _build(name)
        return self._built[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)

    def __setitem__(self, name: str, command: Any) -> NoReturn:
        raise TypeError(f"{name} must be one of COMMANDS")

    def __delitem__(self, name: str) -> NoReturn:
        raise TypeError(f"{name} must stay")


class _Group(TyperGroup):
    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = _Commands()

    def make_context(self, *args: Any, **settings: Any) -> Any:
        with _quiet_pipes():
            return super().make_context(*args, **settings)

    def invoke(self, ctx: Any) -> Any:
        with _quiet_pipes():
            return super().invoke(ctx)


@contextmanager
def _quiet_pipes() -> Iterator[None]:
    """Leave with the exit code of a broken pipe, for which typer would choose another one."""
    try:
        yield
    except BrokenPipeError:
        raise typer.Exit(BROKEN_PIPE) from None


def _build(name: str) -> Any:
    one = typer.Typer(rich_markup_mode=None, add_completion=False, context_settings=_HELP)
    if name not in GROUPS:
        _add(one, name)
        return get_command(one)
    group = typer.Typer(
        rich_markup_mode=None, add_completion=False, no_args_is_help=True, context_settings=_HELP
    )
    full = [f"{name} {leaf}" for leaf in GROUPS[name]]
    for leaf in full:
        _add(group, leaf)
    examples = [load(leaf).EXAMPLES[0] for leaf in full]
    group.callback(epilog=_epilog(examples), help=_SPARK)(lambda: None)
    return get_command(group)


def _add(group: typer.Typer, name: str) -> None:
    module = load(name)
    group.command(
        name.rpartition(" ")[2],
        epilog=_epilog(module.EXAMPLES),
        no_args_is_help=name not in _BARE and not _reads_input(name),
        context_settings=_HELP,
    )(_known_to_typer(module.command, getattr(module, "HIDDEN", ())))


def _reads_input(name: str) -> bool:
    """Tell whether a command that gets nothing reads standard input, which is no terminal."""
    return name in {"query", "exec"} and sys.stdin is not None and not sys.stdin.isatty()


def _epilog(examples: Iterable[str]) -> str:
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in examples)


def _known_to_typer(
    command: Callable[..., int | None], hidden: Container[str] = ()
) -> Callable[..., int | None]:
    """Describe the parameters of a command in typer's words."""

    @wraps(command)
    def call(*args: object, **values: object) -> int | None:
        return command(*args, **values)

    whole = signature(command, eval_str=True)
    kinds = {
        name: _annotation(one.annotation, hidden=name in hidden)
        for name, one in whole.parameters.items()
    }
    parameters = [one.replace(annotation=kinds[name]) for name, one in whole.parameters.items()]
    call.__signature__ = whole.replace(parameters=parameters)  # type: ignore[attr-defined]
    call.__annotations__ = kinds
    return call


def _annotation(annotation: Any, *, hidden: bool) -> Any:
    if annotation is Context:
        return typer.Context
    match getattr(annotation, "__metadata__", ()):
        case (Option() as option,):
            info: Any = _option(
                option, is_text=annotation.__origin__ in {str, str | None}, hidden=hidden
            )
        case (Argument() as argument,):
            info = typer.Argument(
                metavar=argument.metavar, help=argument.help, autocompletion=offers(argument)
            )
        case _:
            return annotation
    return Annotated[annotation.__origin__, info]


def _option(option: Option, *, is_text: bool, hidden: bool) -> Any:
    least = most = None
    if option.bounds is not None and not is_text:
        least, most = option.bounds.least, option.bounds.most
    return typer.Option(
        *option.names,
        metavar=option.metavar,
        help=option.help,
        min=least,
        max=most,
        hidden=hidden,
        autocompletion=offers(option),
    )


def _print_version(value: bool) -> None:
    if value:
        typer.echo(LINE, nl=False)
        raise typer.Exit


app = typer.Typer(
    cls=_Group,
    rich_markup_mode=None,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings=_HELP,
    epilog="Exit codes and the Python twin of each command: docs/cli.md.",
)


@app.callback()
def _root(
    context: typer.Context,
    root: Annotated[
        str,
        typer.Option(
            metavar="FOLDER",
            envvar="SNELLER_BUCKET",
            help="Where the paths of packfiles that are read start.",
            show_default=False,
        ),
    ] = "",
    trust: Annotated[
        bool,
        typer.Option(
            "--trust", help="Read packfiles that may take far more memory than their size."
        ),
    ] = False,
    version: Annotated[  # noqa: ARG001 - its callback does the work
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Pack event data into packfiles, and read them."""
    context.obj = root
    if trust:
        os.environ[TRUST] = "1"


def dispatch(arguments: list[str]) -> int:
    """Run the command that the arguments name.

    Parameters
    ----------
    arguments : list of str
        Command and options.

    Returns
    -------
    int
        The exit code of a command that came to its end, or of a usage error, which is shown.

    Raises
    ------
    Exception
        Whatever the command raises.
    """
    try:
        return get_command(app).main(arguments, prog_name="sdb", standalone_mode=False) or 0
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        if type(error).__name__ == "NoArgsIsHelpError":
            typer.echo(error.format_message(), err=True)
        else:
            where = context.command_path if context else "sdb"
            complain(error.format_message(), f"{where} --help")
        return error.exit_code
