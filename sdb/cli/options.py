"""Options that several commands share, and the forms of their values."""

from __future__ import annotations

import os

from sdb import bounds, effort, notes
from sdb.cli.parameters import Argument, Context, Option
from sdb.errors import UsageError, from_os
from sdb.typed import Annotated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any

    from sdb.table.catalog.root import TableRoot

Packfile = Annotated[str, Argument(metavar="PACKFILE", help="A packfile.")]
Packfiles = Annotated[list[str], Argument(metavar="PACKFILE...", help="One or more.")]
Database = Annotated[str, Argument(metavar="DB", help="The database.")]
Table = Annotated[str, Argument(metavar="TABLE", help="The table.")]
Root = Annotated[
    str | None, Option("--root", metavar="FOLDER", help="Folder or s3:// URL with the tables.")
]
AllowInputs = Annotated[
    list[str] | None,
    Option(
        "--allow-inputs",
        metavar="PREFIX",
        help="A folder or URL out of the root that patterns may find inputs below.",
    ),
]
TableVersion = Annotated[
    str, Argument(metavar="DB.TABLE[@REF]", help="The table, or a version of it.")
]
Branch = Annotated[str, Option("--branch", metavar="NAME", help="The branch that gets the rows.")]
TableName = Annotated[str, Argument(metavar="DB.TABLE", help="The table; or its database.")]
TableRest = Annotated[
    str | None, Argument(metavar="[TABLE]", help="The table, if not behind a dot of the database.")
]
DryRun = Annotated[bool, Option("--dry-run", "-n", help="Only tell what would be done.")]
Message = Annotated[
    str, Option("--message", "-m", metavar="TEXT", help="Why; the version tells it.")
]
At = Annotated[
    str,
    Option(
        "--at",
        metavar="REF",
        help="A version: 12, -1, 2026-11-01T00:00Z, -1d, or the name of a tag or branch.",
    ),
]
Memory = Annotated[
    str | None,
    Option(
        "--memory",
        metavar="SIZE",
        bounds=bounds.MEMORY,
        help="Most memory for groups, joins and sorts (2GiB).",
    ),
]
ShowStats = Annotated[
    bool,
    Option("--stats", help="Tell how many blocks an equality reads, by path; reads some rows."),
]
AsJson = Annotated[bool, Option("--json", help="Print facts as JSON.")]
Quiet = Annotated[bool, Option("--quiet", "-q", help="Print nothing but errors.")]
Verbose = Annotated[bool, Option("--verbose", "-v", help="Print more of what happens.")]
Force = Annotated[bool, Option("--force", help="Replace an existing output; binary to a terminal.")]
Strict = Annotated[
    bool, Option("--strict", help="A field that no row has is an error, not a warning.")
]
NoVerify = Annotated[
    bool, Option("--no-verify", help="Go on with a damaged packfile: its values may be wrong.")
]
Threads = Annotated[
    int | None,
    Option(
        "--threads",
        "-j",
        metavar="N",
        bounds=bounds.THREADS,
        help="Threads; one for each processor if not given.",
    ),
]
Limit = Annotated[
    int | None, Option("--limit", metavar="N", bounds=bounds.ROWS, help="At most so many rows.")
]
Fields = Annotated[
    str | None,
    Option(metavar="NAME,...", help="Only these top-level fields, separated by commas."),
]
Where = Annotated[
    str | None, Option(metavar="CONDITION", help="Only rows for which this SQL is true.")
]
Since = Annotated[
    str | None,
    Option(metavar="TIME", help="Only rows from this time on (2021-01-02, 30m, today)."),
]
Until = Annotated[str | None, Option(metavar="TIME", help="Only rows before this time.")]
TimeField = Annotated[
    str | None, Option(metavar="PATH", help="Field that --since and --until are about.")
]
InputFormat = Annotated[
    str | None,
    Option(
        "--format",
        "-f",
        metavar="SUFFIX",
        help="Format of the inputs (json, csv.gz, ...); else recognised.",
    ),
]
BlockSize = Annotated[
    str, Option(metavar="SIZE", bounds=bounds.BLOCK, help="Decompressed size of a block.")
]
Algorithm = Annotated[
    str,
    Option(
        "--algorithm",
        "-c",
        metavar="NAME",
        help="zion+zstd, zion+iguana_v0, zion+iguana_v0/specialized or zstd.",
        values=("zion+zstd", "zion+iguana_v0", "zion+iguana_v0/specialized", "zstd"),
    ),
]
Level = Annotated[
    str | None,
    Option(
        "--level",
        metavar="LEVEL",
        help="fast, default, small, max, or 1 to 22: more time for fewer bytes.",
        values=(*effort.NAMES,),
    ),
]
Constants = Annotated[
    list[str] | None,
    Option(
        "--constant",
        metavar="NAME=VALUE",
        help="A field for every row; NAME:str=VALUE for text.",
    ),
]
Hints = Annotated[str | None, Option(metavar="FILE", help="A hints file for the inputs.")]
TimeFields = Annotated[
    list[str] | None,
    Option(
        "--time-field",
        metavar="PATH",
        help="Index this field (as in a.b) even if few rows have it.",
    ),
]
Stats = Annotated[
    str,
    Option(
        metavar="off|auto|PATH,...",
        help="Fields by whose values queries leave out blocks; words:PATH for words, prefixes:PATH"
        " for networks.",
    ),
]
TableStats = Annotated[
    str | None,
    Option("--stats", metavar="off|auto|PATH,...", help="As for pack; else the definition tells."),
]
OnError = Annotated[
    str,
    Option(metavar="fail|skip|quarantine:FILE", help="What to do with malformed records."),
]
ProgressMode = Annotated[
    str,
    Option("--progress", metavar="auto|on|off|json", help="When to show progress, and how."),
]

_TYPED_NAME = r"(?s)(.+):(str|int|float|bool|time)"
_INTEGER = r"-?(0|[1-9]\d*)"
_FLOAT = r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?"
_TIME = r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?([Zz]|[+-]\d\d:?\d\d)?"
_TRUTH = {"true": True, "false": False}
_INT64 = range(-(2**63), 2**64)
_MOST_DIGITS = 30
_MOST_READ = 4000


def table_root(
    context: Context, root: str | None, allow_inputs: list[str] | None = None
) -> TableRoot:
    """Give the root of tables: what the command names, or what stands before it, or here."""
    from sdb.table.catalog import root as tableroot

    return tableroot.table_root(root or context.obj or "", allow_inputs=allow_inputs or ())


def locate(context: Context, path: str) -> str:
    """Give the place of a packfile, which a root may be in front of.

    Parameters
    ----------
    context : Context
        Where ``--root`` is.
    path : str
        The path as given.

    Returns
    -------
    str
        The path to open. URLs and absolute paths stand for themselves.
    """
    from sdb.store.url import under

    return str(under(context.obj, path))


def content(path: str | None) -> bytes | None:
    """Read a file that an option names, if it does."""
    if path is None:
        return None
    from pathlib import Path

    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise from_os(error, "opening", path) from error


def given(inputs: list[str] | None) -> list[str]:
    """Give the inputs of a command; without any, that which a pipe or file brings as its input."""
    if inputs:
        return inputs
    import stat

    try:
        mode = os.fstat(0).st_mode
    except OSError:
        mode = 0
    if stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode):
        return ["-"]
    raise UsageError("no inputs", hint="name files or folders, or send rows through a pipe")


def beside(inputs: list[str]) -> str:
    """Give the packfile that a single input becomes: ``a.zion`` beside ``a.json.gz``.

    Parameters
    ----------
    inputs : list of str
        What is packed.

    Returns
    -------
    str
        Where to.

    Raises
    ------
    UsageError
        It is not one local file, so that the user has to say.
    """
    from sdb import formats
    from sdb.store.url import is_pattern, store_of

    one = inputs[0]
    is_file = len(inputs) == 1 and one != "-" and store_of(one).has(one) is not None
    if not is_file or is_pattern(one) or store_of(one).is_folder(one):
        raise UsageError("where to is not clear", hint="-o PACKFILE; one file needs none")
    return f"{formats.stem(one)}.zion"


def suffix(value: str | None) -> str | None:
    """Give a format as the library knows it, without a dot."""
    return value.removeprefix(".") if value else None


def paths(values: list[str] | None) -> list[tuple[str, ...]]:
    """Split paths into their names."""
    return [tuple(path.split(".")) for path in values or []]


def period(since: str | None, until: str | None) -> tuple[str | None, str | None]:
    """Give the times that are meant, the same for all that is read, and note what they are."""
    from sdb import instants

    found: list[Any] = []
    for what, value in (("since", since), ("until", until)):
        found.append(instants.fixed(value))
        if value is not None:
            notes.tell(f"--{what} {value}: {instants.text(instants.parse(found[-1]))}")
    return found[0], found[1]


def names(value: str | None) -> list[str] | None:
    """Split a list of names at its commas."""
    return None if value is None else [name for name in value.split(",") if name]


def constants(assignments: list[str], what: str = "constant") -> dict[str, object]:
    """Read constants.

    Parameters
    ----------
    assignments : list of str
        Each ``NAME=VALUE``, whose type is that of a literal, or ``NAME:TYPE=VALUE`` with one of
        the types ``str``, ``int``, ``float``, ``bool`` and ``time``.
    what : str
        What they are, for messages.

    Returns
    -------
    dict
        The values by name.

    Raises
    ------
    UsageError
        Text of another form, or a name that comes twice.

    Examples
    --------
    >>> constants(["day=3", "ratio=0.5", "id:str=007", "eu=true"])
    {'day': 3, 'ratio': 0.5, 'id': '007', 'eu': True}
    """
    found: dict[str, object] = {}
    if not assignments:
        return found
    import re

    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        if not equals or not name:
            raise UsageError(
                f"{assignment!r} is not a {what}",
                hint=f"{what}s look like region=eu or id:str=7",
            )
        typed = re.fullmatch(_TYPED_NAME, name)
        name, kind = typed.groups() if typed else (name, _infer(text))
        if name in found:
            raise UsageError(f"the {what} {name!r} is given twice")
        found[name] = _convert(f"{what} {name!r}", kind, text)
    return found


def packing(
    algorithm: str,
    level: str | None,
    block_size: str,
    constant: list[str] | None,
    hints: str | None,
    fmt: str | None,
    time_field: list[str] | None,
    *,
    verify: bool,
) -> dict[str, Any]:
    """Give the arguments that packing has here and on Spark, see :func:`sdb.pack`."""
    return {
        "algorithm": algorithm,
        "level": None if level is None else effort.read(level),
        "block_bytes": bounds.BLOCK.read(block_size),
        "constants": constants(constant or []),
        "hints": content(hints),
        "format": suffix(fmt),
        "time_fields": tuple(paths(time_field)),
        "verify": verify,
    }


def _infer(text: str) -> str:
    if text in _TRUTH:
        return "bool"
    import re

    if re.fullmatch(_INTEGER, text):
        return "int" if int(text[:_MOST_DIGITS]) in _INT64 else "str"
    if re.fullmatch(_FLOAT, text):
        return "float"
    return "time" if re.fullmatch(_TIME, text) else "str"


def _number(text: str) -> float:
    """Read a float; it is infinite only when it says so."""
    number = float(text)
    if abs(number) == float("inf") and any(letter.isdigit() for letter in text):
        raise OverflowError
    return number


def _convert(what: str, kind: str, text: str) -> object:
    try:
        match kind:
            case "bool":
                return _TRUTH[text]
            case "int":
                return _integer(text)
            case "float":
                return _number(text)
            case "time":
                return _moment(text)
            case _:
                return text
    except _BeyondError:
        raise UsageError(f"the {what}: {text[:_MOST_DIGITS]} is outside -2^63 to 2^64-1") from None
    except OverflowError:
        raise UsageError(f"the {what}: {text!r} is beyond what {kind} can hold") from None
    except (ValueError, KeyError):
        raise UsageError(f"the {what}: {text!r} is not of type {kind}") from None


class _BeyondError(Exception):
    """An integer that packfiles cannot hold."""


def _integer(text: str) -> int:
    # Python refuses to read thousands of digits.
    if len(text) > _MOST_READ or (number := int(text)) not in _INT64:
        raise _BeyondError
    return number


def _moment(text: str) -> datetime:
    from sdb import instants

    return instants.from_us(instants.parse(text))
