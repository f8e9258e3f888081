"""The commands, each imported only when it runs."""
# ruff: noqa: ANN401 - the type of commands is private to typer

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from contextlib import contextmanager
from functools import wraps
from inspect import Parameter, signature
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from sdb.bounds import TRUST
from sdb.cli import parameters
from sdb.cli.commands import COMMANDS, GROUPS, ROOMS, load
from sdb.cli.complete import offers
from sdb.cli.failures import BROKEN_PIPE
from sdb.cli.output import complain
from sdb.cli.parameters import Argument, Context, Option
from sdb.version import LINE

_HELP = {"help_option_names": ["-h", "--help"]}
# What is complete without any argument.
_BARE = {
    "cache",
    "config",
    "functions",
    "help",
    "ls",
    "maintain",
    "status",
    "serve",
    "shell",
    "spark env",
    "version",
}
_GROUP_HELP = {
    "schema": "Columns of a table: infer, show, set, check and compare them.",
    "spark": "Pack on Spark; build the environment of its executors.",
    "export": "Mirror a table as Delta or Iceberg; write it as Parquet.",
}
_FIRST_DAY = """\
  sdb pack events.json.gz               pack rows into events.zion
  sdb describe events.zion              show its size, blocks and times
  sdb append events.zion more.json.gz   add rows
  sdb query "SELECT COUNT(*) FROM 'events.zion'"
  sdb create web.visits --input 'in/*.json.gz' && sdb sync web.visits
"""
"""Commands to begin with, above all others in the help."""
_SPARK_FLAGS = {
    *("--spark", "--master", "--tasks", "--target-size", "--conf", "--append", "--print-submit"),
}
"""Options that `sdb pack` had before `sdb spark pack` was a command."""


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

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands by their groups."""
        del ctx
        with formatter.section("First steps"):
            formatter.write(_FIRST_DAY)
        for room, names in ROOMS.items():
            with formatter.section(room.capitalize()):
                formatter.write_dl([(f"{name:13}", _summary(name)) for name in names])

    def make_context(self, *args: Any, **settings: Any) -> Any:
        with _quiet_pipes():
            return super().make_context(*args, **settings)

    def invoke(self, ctx: Any) -> Any:
        with _quiet_pipes():
            return super().invoke(ctx)


class _Command(TyperCommand):
    def make_parser(self, ctx: Any) -> Any:
        """Add the names of options that the help does not show."""
        parser = super().make_parser(ctx)
        for name, shown in getattr(self.callback, "hidden_names", {}).items():
            known = parser._long_opt if name.startswith("--") else parser._short_opt  # noqa: SLF001
            known[name] = parser._long_opt[shown]  # noqa: SLF001
        return parser

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Leave out words that the help does not show, and the braces of typer."""
        pieces = super().collect_usage_pieces(ctx)
        return [piece.strip("{}") for piece in pieces if piece != "[]"]


def _summary(name: str) -> str:
    """Return the first line of what the help says of a command."""
    if name in GROUPS:
        return _GROUP_HELP[name]
    text: str = load(name).command.__doc__
    return text.partition("\n")[0]


@contextmanager
def _quiet_pipes() -> Iterator[None]:
    """Leave with the exit code of a broken pipe, for which typer would choose another one."""
    try:
        yield
    except BrokenPipeError:
        raise typer.Exit(BROKEN_PIPE) from None


def _build(name: str) -> Any:
    single = typer.Typer(rich_markup_mode=None, add_completion=False, context_settings=_HELP)
    if name not in GROUPS:
        _add(single, name)
        return get_command(single)
    group = typer.Typer(
        rich_markup_mode=None, add_completion=False, no_args_is_help=True, context_settings=_HELP
    )
    full = [f"{name} {leaf}" for leaf in GROUPS[name]]
    for leaf in full:
        _add(group, leaf)
    examples = [load(leaf).EXAMPLES[0] for leaf in full]
    group.callback(epilog=_epilog(examples), help=_GROUP_HELP[name])(lambda: None)
    return get_command(group)


def _add(group: typer.Typer, name: str) -> None:
    module = load(name)
    group.command(
        name.rpartition(" ")[2],
        cls=_Command,
        epilog=_epilog(module.EXAMPLES),
        no_args_is_help=name not in _BARE and not _reads_input(name),
        context_settings=_HELP,
    )(_known_to_typer(module.command))


def _reads_input(name: str) -> bool:
    """Return whether a command that gets nothing reads standard input, which is no terminal."""
    return name in {"pack", "query", "exec"} and sys.stdin is not None and not sys.stdin.isatty()


def _epilog(examples: Iterable[str]) -> str:
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in examples)


def _known_to_typer(command: Callable[..., int | None]) -> Callable[..., int | None]:
    """Describe the parameters of a command in typer's words."""

    @wraps(command)
    def call(**values: Any) -> int | None:
        if "context" in values:
            values["context"] = values["context"].obj or ""
        return parameters.call(command, parameters.joined(command, defaults, values))

    whole = signature(command, eval_str=True)
    defaults = {name: parameter.default for name, parameter in whole.parameters.items()}
    known = dict(parameters.described(command))
    kinds = {name: _annotation(annotation) for name, annotation in known.items()}
    usual = parameters.usual(command, defaults)
    typed = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=usual[name], annotation=kind)
        for name, kind in kinds.items()
    ]
    call.__signature__ = whole.replace(parameters=typed)  # type: ignore[attr-defined]
    call.__annotations__ = kinds
    call.hidden_names = {  # type: ignore[attr-defined]
        name: option.flags(parameter)[0]
        for parameter, annotation in known.items()
        for option in getattr(annotation, "__metadata__", ())
        if isinstance(option, Option)
        for name in option.hidden
    }
    return call


def _annotation(annotation: Any) -> Any:
    if isinstance(annotation, type) and issubclass(annotation, Context):
        return typer.Context
    match getattr(annotation, "__metadata__", ()):
        case (Option() as option,):
            info: Any = _option(option, is_text=annotation.__origin__ in {str, str | None})
        case (Argument() as argument,):
            info = typer.Argument(
                metavar=argument.metavar,
                help=argument.help,
                hidden=not argument.metavar,
                autocompletion=offers(argument),
            )
        case _:
            return annotation
    return Annotated[annotation.__origin__, info]


def _option(option: Option, *, is_text: bool) -> Any:
    least = most = None
    if option.bounds is not None and not is_text:
        least, most = option.bounds.least, option.bounds.most
    return typer.Option(
        *option.names,
        metavar=option.metavar,
        help=option.help,
        min=least,
        max=most,
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
    epilog="Topics (times, versions, sql, config and more): sdb help.",
)


@app.callback()
def _root(
    context: typer.Context,
    root: Annotated[
        str,
        typer.Option(
            metavar="FOLDER",
            envvar="SNELLER_BUCKET",
            help="Folder or s3:// URL where tables are and paths of packfiles start.",
            show_default=False,
        ),
    ] = "",
    trust: Annotated[
        bool,
        typer.Option(
            "--trust", help="Read packfiles that may take far more memory than their size."
        ),
    ] = False,
    verbose: Annotated[
        int,
        typer.Option(
            "-v",
            "--verbose",
            count=True,
            show_default=False,
            help="Log retries, commits and the like to standard error; -vv: requests, too."
            "  [env var: SDB_LOG]",
        ),
    ] = 0,
    version: Annotated[  # noqa: ARG001 - its callback does the work
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Pack event data into packfiles, and read them."""
    context.obj = root
    if trust:
        os.environ[TRUST] = "1"
    if verbose:
        from sdb.log import setup

        setup("info" if verbose == 1 else "debug")


def dispatch(arguments: list[str]) -> int:
    """Run the command that the arguments name.

    Returns: The exit code of a command that came to its end, or of a usage error, which is shown.
    Raises whatever the command raises.
    """
    try:
        return get_command(app).main(arguments, prog_name="sdb", standalone_mode=False) or 0
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        if type(error).__name__ == "NoArgsIsHelpError":
            typer.echo(error.format_message(), err=True)
        else:
            where = context.command_path if context else "sdb"
            flag = getattr(error, "option_name", "")
            if where == "sdb pack" and flag in _SPARK_FLAGS:
                what = f"pack has no {flag}: sdb spark pack packs on Spark"
                complain(what, "sdb spark pack -o FOLDER INPUT...")
            else:
                message = error.format_message()
                complain(message, f"{_meant_table(message, arguments)}{where} --help")
        return error.exit_code


def _meant_table(message: str, arguments: list[str]) -> str:
    """Return a hint for `head web gha`, where the command takes `web.gha`; empty: another error."""
    import re

    extra = re.search(r"unexpected extra argument\S* \((\w+)\)", message)
    at = arguments.index(extra[1]) if extra and extra[1] in arguments else 0
    if extra is None or at < 2 or not re.fullmatch(r"\w+", arguments[at - 1]):  # noqa: PLR2004
        return ""
    return f"a table is one word here, {arguments[at - 1]}.{extra[1]}; "
