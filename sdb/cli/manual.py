"""Manual pages, made from what `--help` says: ``python -m sdb.cli.manual FOLDER``."""

from __future__ import annotations

import sys
from inspect import Parameter, cleandoc, signature
from pathlib import Path

from sdb.cli.commands import leaves, load
from sdb.cli.parameters import Argument, Option, described, usual
from sdb.version import VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

_SEE_ALSO = "The pages docs/cli.md and docs/sql.md of the project say more."


def write(folder: Path) -> list[Path]:
    """Write a page for each command, and one for all of them.

    * ``folder``: Where they go; it is made if it is not there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    pages = {"sdb": _overview()} | {_page(name): _manual(name) for name in leaves()}
    for name, text in pages.items():
        (folder / f"{name}.1").write_text(text, encoding="utf-8")
    return [folder / f"{name}.1" for name in pages]


def _page(command: str) -> str:
    return f"sdb-{command.replace(' ', '-')}"


def _manual(name: str) -> str:
    module = load(name)
    summary, _, rest = cleandoc(module.command.__doc__).partition("\n")
    lines = [
        *_title(_page(name), summary),
        ".SH SYNOPSIS",
        f".B sdb {_text(name)}",
        "[\\fIOPTIONS\\fR] " + " ".join(_words(module.command)),
        ".SH DESCRIPTION",
        _text(summary),
        *_paragraphs(rest),
        ".SH OPTIONS",
        *_parameters(module),
        ".SH EXAMPLES",
        ".EX",
        *map(_text, module.EXAMPLES),
        ".EE",
        ".SH SEE ALSO",
        f".BR sdb (1)\n.PP\n{_SEE_ALSO}",
    ]
    return "\n".join(lines) + "\n"


def _overview() -> str:
    from typer.main import get_command

    from sdb.cli.app import app

    root: Any = get_command(app)
    commands = [(_page(name), cleandoc(load(name).command.__doc__)) for name in leaves()]
    lines = [
        *_title("sdb", root.help),
        ".SH SYNOPSIS",
        ".B sdb\n[\\fIOPTIONS\\fR] \\fICOMMAND\\fR [\\fIARGUMENTS\\fR]",
        ".SH OPTIONS",
        *(_entry(param.opts, param.metavar, param.help or "") for param in root.params),
        ".SH COMMANDS",
        *(f".TP\n.BR {_text(page)} (1)\n{_text(text.splitlines()[0])}" for page, text in commands),
        ".SH SEE ALSO",
        _SEE_ALSO,
    ]
    return "\n".join(lines) + "\n"


def _title(page: str, summary: str) -> list[str]:
    return [
        f'.TH {page.upper()} 1 "" "sdb {VERSION}" "sdb"',
        ".SH NAME",
        f"{_text(page)} \\- {_text(summary.removesuffix('.'))}",
    ]


def _words(command: Any) -> Iterator[str]:  # noqa: ANN401 - any function
    for name, annotation in described(command):
        match getattr(annotation, "__metadata__", ()):
            case (Argument() as argument,) if argument.metavar:
                optional = signature(command).parameters[name].default is not Parameter.empty
                word = f"\\fI{_text(argument.metavar)}\\fR"
                yield f"[{word}]" if optional else word


def _parameters(module: Any) -> Iterator[str]:  # noqa: ANN401 - the module of a command
    parameters = signature(module.command).parameters
    usually = {name: known.default for name, known in parameters.items()}
    defaults = usual(module.command, usually)
    for name, annotation in described(module.command):
        match getattr(annotation, "__metadata__", ()):
            case (Argument() as argument,) if argument.metavar:
                yield f".TP\n\\fI{_text(argument.metavar)}\\fR\n{_text(argument.help)}"
            case (Option() as option,):
                default = defaults.get(name, "")
                is_told = isinstance(default, str | int) and not isinstance(default, bool)
                known = f" [default: {default}]" if is_told and default != "" else ""
                flags = option.flags(name)
                takes = None if annotation.__origin__ is bool else option.metavar or "VALUE"
                yield _entry(flags, takes, option.help + known)


def _entry(flags: Iterable[str], metavar: str | None, text: str) -> str:
    names = ", ".join(f"\\fB{_text(flag)}\\fR" for flag in flags)
    value = f" \\fI{_text(metavar)}\\fR" if metavar else ""
    return f".TP\n{names}{value}\n{_text(text)}"


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in text.strip().split("\n\n"):
        if paragraph:
            yield f".PP\n{_text(paragraph)}"


def _text(text: str) -> str:
    """Keep troff from reading its own signs in a text."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join(
        f"\\&{line}" if line[:1] in {".", "'"} else line for line in escaped.split("\n")
    )


if __name__ == "__main__":
    for made in write(Path(sys.argv[1])):
        sys.stdout.write(f"{made}\n")
