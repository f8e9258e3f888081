"""Complete the word that is being typed in the shell, by what the help calls it."""

from __future__ import annotations

import os
import shlex
from contextlib import suppress
from pathlib import Path

from sdb.cli.parameters import Argument, Option
from sdb.errors import SdbError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

SHELLS = ("bash", "zsh", "fish")
_SUFFIX = ".zion"
_FORMATS = ("json", "cloudtrail.json", "csv", "tsv", "ion", "parquet")

# Names of files are quoted by readline, which adds the slash of a folder and no space behind it.
_BASH = """\
_sdb_complete() {
    local IFS=$'\\n'
    COMPREPLY=($(COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD \\
        _SDB_COMPLETE=complete_bash "$1"))
    local one
    for one in "${COMPREPLY[@]}"; do
        [[ -e $one ]] && compopt -o filenames
        [[ $one == *: ]] && compopt -o nospace
    done
}
complete -o default -F _sdb_complete sdb"""


def script(shell: str) -> str:
    """Give the script that makes a shell complete command lines of `sdb`.

    Parameters
    ----------
    shell : str
        One of `SHELLS`.

    Returns
    -------
    str
        The script, for ``eval`` or a file that the shell reads when it starts.

    Raises
    ------
    UsageError
        Another shell.
    """
    if shell not in SHELLS:
        raise UsageError(f"unknown shell {shell!r}", expected=", ".join(SHELLS))
    if shell == "bash":
        return _BASH
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    return get_completion_script(prog_name="sdb", complete_var="_SDB_COMPLETE", shell=shell)


def offers(parameter: Argument | Option) -> Callable[[str], Iterable[str]] | None:
    """Give what completes a value.

    Parameters
    ----------
    parameter : Argument or Option
        What the word is for.

    Returns
    -------
    callable or None
        Gives the words that begin with what was typed; None: the shell offers files.
    """
    found = {
        "PACKFILE": packfiles,
        "PACKFILE...": packfiles,
        "[PATTERN] PACKFILE...": packfiles,
        "NAME,...": _fields,
        "SUFFIX": lambda incomplete: _beginning(_FORMATS, incomplete),
    }
    if parameter.metavar in found:
        return found[parameter.metavar]
    words = parameter.values if isinstance(parameter, Option) else parameter.metavar.split("|")
    return (lambda incomplete: _beginning(words, incomplete)) if len(words) > 1 else None


def _beginning(words: Iterable[str], incomplete: str) -> list[str]:
    return [word for word in words if word.startswith(incomplete)]


def packfiles(incomplete: str) -> list[str]:
    """Offer packfiles and folders; nothing where there is none, so that the shell offers files."""
    folder, slash, name = incomplete.rpartition("/")
    above = Path(folder + slash).expanduser() if slash else Path()
    found, inside = [], []
    with suppress(OSError), os.scandir(above) as entries:
        for entry in entries:
            if not entry.name.startswith(name) or (entry.name.startswith(".") and not name):
                continue
            if entry.is_dir():
                inside.append(f"{folder}{slash}{entry.name}/")
            elif entry.name.endswith(_SUFFIX):
                found.append(f"{folder}{slash}{entry.name}")
    # With folders alone there may be other files that are meant.
    return sorted(found) + sorted(inside) if found else []


def _fields(incomplete: str) -> list[str]:
    """Offer fields of the packfiles that the command line names, as their trailers have them."""
    done, comma, name = incomplete.rpartition(",")
    known: dict[str, None] = {}
    for path in _named_packfiles():
        known |= dict.fromkeys(_top_level(path))
    taken = set(done.split(","))
    return [
        f"{done}{comma}{field}"
        for field in known
        if field.startswith(name) and field not in taken and "," not in field
    ]


def _named_packfiles() -> list[str]:
    line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or ""
    try:
        words = shlex.split(line)
    except ValueError:  # a quotation mark that is still open
        words = line.split()
    paths = [str(Path(word).expanduser()) for word in words if word.endswith(_SUFFIX)]
    return [path for path in paths if Path(path).is_file()]


def _top_level(path: str) -> list[str]:
    from sdb.packfile.read.reader import open_packfile

    try:
        with open_packfile(path) as packfile:
            summary = packfile.trailer.sparse.summary
    except SdbError:
        return []
    return [] if summary is None else sorted({path[0] for path in summary.types})
