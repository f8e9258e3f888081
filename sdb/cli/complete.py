"""Complete the word that is being typed in the shell, by what the help calls it."""

from __future__ import annotations

import os
import shlex
from contextlib import suppress
from itertools import islice
from pathlib import Path

from sdb import formats
from sdb.cli.parameters import Argument, Option
from sdb.errors import SdbError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

SHELLS = ("bash", "zsh", "fish")
_SUFFIX = ".zion"
_MOST_VERSIONS = 20
_MOST_TABLES = 200

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
    """Return the script that makes a shell complete command lines of `sdb`.

    Returns: The script, for ``eval`` or a file that the shell reads when it starts.
    Raises `UsageError` for another shell.
    """
    if shell not in SHELLS:
        raise UsageError(f"unknown shell {shell!r}", expected=", ".join(SHELLS))
    if shell == "bash":
        return _BASH
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    return get_completion_script(prog_name="sdb", complete_var="_SDB_COMPLETE", shell=shell)


def offers(parameter: Argument | Option) -> Callable[[str], Iterable[str]] | None:
    """Return what completes a value.

    Returns: Gives the words that begin with what was typed; None: the shell offers files.
    """
    known = {
        "PACKFILE": _packfiles_and_tables,
        "PACKFILE...": _packfiles_and_tables,
        "[PATTERN] PACKFILE...": _packfiles_and_tables,
        "DB.TABLE": _tables,
        "DB.TABLE[@REF]": _tables,
        "[ROOT|DB|DB.TABLE]": _tables,
        "[DB.TABLE@REF]": _tables,
        "DB": _databases_and_tables,
        "DB.NEW|ROOT": None,
        "[NAME]": _references_of_table,
        "[SOURCE]": _references_of_table,
        "[REF]": _references_of_table,
        "REF": _references_of_table,
        "BRANCH": _references_of_table,
        "NAME,...": _fields,
        "[TOPIC|COMMAND]": _topics,
        "SUFFIX": lambda incomplete: _beginning(formats.input_names(), incomplete),
    }
    if parameter.metavar in known:
        return known[parameter.metavar]
    words = parameter.values if isinstance(parameter, Option) else parameter.metavar.split("|")
    return (lambda incomplete: _beginning(words, incomplete)) if len(words) > 1 else None


def _topics(incomplete: str) -> list[str]:
    from sdb.cli.commands import COMMANDS
    from sdb.cli.topictexts import TOPICS

    return _beginning(dict.fromkeys((*TOPICS, *COMMANDS)), incomplete)


def _beginning(words: Iterable[str], incomplete: str) -> list[str]:
    return [word for word in words if word.startswith(incomplete)]


def packfiles(incomplete: str) -> list[str]:
    """Offer packfiles and folders; without any, nothing, so that the shell offers files."""
    folder, slash, name = incomplete.rpartition("/")
    above = Path(folder + slash).expanduser() if slash else Path()
    listed, inside = [], []
    with suppress(OSError), os.scandir(above) as entries:
        for entry in entries:
            if not entry.name.startswith(name) or (entry.name.startswith(".") and not name):
                continue
            if entry.is_dir():
                inside.append(f"{folder}{slash}{entry.name}/")
            elif entry.name.endswith(_SUFFIX):
                listed.append(f"{folder}{slash}{entry.name}")
    # With folders alone there may be other files that are meant.
    return sorted(listed) + sorted(inside) if listed else []


def _packfiles_and_tables(incomplete: str) -> list[str]:
    return packfiles(incomplete) + ([] if "/" in incomplete else _tables(incomplete))


def _tables(incomplete: str) -> list[str]:
    """Offer tables of the root that the command line names, or that counts without it."""
    return offered(_root(), incomplete)


def _databases_and_tables(incomplete: str) -> list[str]:
    names = _tables(incomplete)
    databases = dict.fromkeys(name.partition(".")[0] for name in names)
    return [*databases, *names] if "." not in incomplete else names


def _references_of_table(incomplete: str) -> list[str]:
    """Offer branches, tags and newest versions of the table that the command line names."""
    from sdb.notes import unheard

    root = _root()
    with suppress(SdbError, OSError), unheard():
        words = [word.partition("@")[0] for word in _words()]
        named = [word for word in words if "." in word and "/" not in word]
        return [
            reference
            for name in named[:1]
            for reference in _references(root, name)
            if reference.startswith(incomplete)
        ]
    return []


def view_names(root: str) -> list[str]:
    """Return the names of views below a local root, sorted."""
    from sdb.table.catalog.root import table_root
    from sdb.table.catalog.views import views

    opened = table_root(root)
    if opened.store.is_remote:
        return []
    return [view.name for view in islice(views(opened), _MOST_TABLES)]


def _root() -> str:
    from sdb.cli.settings import ROOT, adopt_root, are_there

    words = _words()
    for number, word in enumerate(words):
        if word.startswith("--root="):
            return word.partition("=")[2]
        if word == "--root" and number + 1 < len(words):
            return words[number + 1]
    adopt_root()
    if are_there():
        from sdb.cli.settingfiles import apply

        with suppress(SdbError):
            apply()
    return os.environ.get(ROOT, "")


def _fields(incomplete: str) -> list[str]:
    """Offer fields of the packfiles that the command line names, as their trailers have them."""
    done, comma, name = incomplete.rpartition(",")
    known: dict[str, None] = {}
    for path in _named_packfiles():
        known |= dict.fromkeys(_top_level(path))
    tables = [word for word in _words() if "." in word and "/" not in word]
    if tables and not known:
        for table in tables:
            known |= {path[0]: None for path in fields_of(_root(), table)}
    taken = set(done.split(","))
    return [
        f"{done}{comma}{field}"
        for field in known
        if field.startswith(name) and field not in taken and "," not in field
    ]


def _words() -> list[str]:
    """Return the words of the command line that is being typed."""
    line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or ""
    try:
        return shlex.split(line)
    except ValueError:  # a quotation mark that is still open
        return line.split()


def _named_packfiles() -> list[str]:
    paths = [str(Path(word).expanduser()) for word in _words() if word.endswith(_SUFFIX)]
    return [path for path in paths if Path(path).is_file()]


def _top_level(path: str) -> list[str]:
    from sdb.packfile.read.reader import open_packfile

    try:
        with open_packfile(path) as packfile:
            summary = packfile.trailer.sparse.summary
    except SdbError:
        return []
    return [] if summary is None else sorted({path[0] for path in summary.types})


def table_names(root: str) -> list[str]:
    """Return the names of tables below a local root, those without rows too, sorted."""
    from sdb.table.catalog.root import table_root

    opened = table_root(root)
    if opened.store.is_remote:
        return []
    names = (f"{db}.{table}" for db in opened.databases() for table in opened.folders(db))
    return list(islice(names, _MOST_TABLES))


def offered(root: str, incomplete: str) -> list[str]:
    """Return tables that begin with what was typed, or behind an @ their tags and versions."""
    from sdb.notes import unheard

    name, at, _ = incomplete.partition("@")
    with suppress(SdbError, OSError), unheard():
        words = [f"{name}@{ref}" for ref in _references(root, name)] if at else []
        words = words or [*table_names(root), *view_names(root)]
        return [word for word in words if word.startswith(incomplete)]
    return []


def fields_of(root: str, name: str) -> list[tuple[str, ...]]:
    """Return the paths of the fields of a table, as far as its packfiles tell them."""
    from sdb.notes import unheard
    from sdb.packfile.inspect.describe import fields
    from sdb.query.catalog.tablefiles import NamedPackfiles, tables_named

    with suppress(SdbError, OSError), unheard():
        if name in table_names(root) and tables_named(name, root):
            with NamedPackfiles(root) as named:
                inventory = fields(named.resolve([name])).fields
            paths = (tuple(step for step in field.path if step) for field in inventory)
            return list(dict.fromkeys(paths))
    return []


def _references(root: str, name: str) -> list[str]:
    from sdb.table.catalog.handle import find_table
    from sdb.table.catalog.root import table_root

    opened = table_root(root)
    database, _, table = name.partition(".")
    head = None if opened.store.is_remote else find_table(opened, database, table)
    state = None if head is None else head.state
    if state is None:
        return []
    newest = [str(past.version) for past in state.history[-_MOST_VERSIONS:]]
    return [*sorted(state.tags), *state.branches, "main", *reversed([*newest, str(state.version)])]
