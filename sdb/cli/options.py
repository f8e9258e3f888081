"""Options that several commands share, and the forms of their values."""

from __future__ import annotations

import os

from sdb import bounds, levels, notes
from sdb.cli.parameters import Argument, Context, Option
from sdb.errors import NotFoundError, UsageError, from_os
from sdb.typed import Annotated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any

    from sdb.packfile.inputs.rawreading import RawReading
    from sdb.table.catalog.root import TableRoot

Packfile = Annotated[
    str, Argument(metavar="PACKFILE", help="The packfile: a path or an s3:// URL.")
]
Packfiles = Annotated[
    list[str], Argument(metavar="PACKFILE...", help="Paths, URLs, patterns in quotes, or folders.")
]
PackfileOrTable = Annotated[
    str, Argument(metavar="PACKFILE", help="Path or URL of a packfile, or a table, DB.TABLE[@REF].")
]
PackfilesOrTables = Annotated[
    list[str],
    Argument(
        metavar="PACKFILE...",
        help="Paths, URLs, patterns in quotes and folders, and tables, DB.TABLE[@REF].",
    ),
]
Database = Annotated[str, Argument(metavar="DB", help="The database.")]
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
TableVersion = Annotated[
    str,
    Argument(
        metavar="DB.TABLE[@REF]", help="The table, or a version of it; DB TABLE works as well."
    ),
]
Branch = Annotated[str, Option("--branch", metavar="NAME", help="Branch that gets the version.")]
TableName = Annotated[
    str, Argument(metavar="DB.TABLE", help="The table; DB TABLE, two words, works as well.")
]
Reference = Annotated[
    str | None, Argument(metavar="[REF]", help="The version, if not as @REF behind the table.")
]
NextWord = Annotated[str | None, Argument(metavar="", help="")]
"""One word more, where a table may be one word or two; the help does not show it."""
DryRun = Annotated[
    bool,
    Option("--dry-run", hidden=("-n",), help="Print what would be done, and change nothing."),
]
Message = Annotated[
    str, Option("--message", "-m", metavar="TEXT", help="Reason, shown in the log of the table.")
]
TxnId = Annotated[
    str,
    Option(
        "--txn-id", metavar="ID", help="Name of this change: with the same ID it is made only once."
    ),
]
Params = Annotated[
    list[str] | None,
    Option("--param", metavar="NAME=VALUE", help="Value of $NAME in the SQL; NAME:str=7 for text."),
]
MaxFindings = Annotated[
    int,
    Option(
        "--max-findings",
        metavar="N",
        bounds=bounds.FINDINGS,
        help="Print at most N findings of a packfile; the others are counted.",
    ),
]
At = Annotated[
    str,
    Option(
        "--at",
        metavar="REF",
        help="Read this version: 12, -1, 2026-11-01T00:00Z, -1d, or a tag or branch.",
    ),
]
Memory = Annotated[
    str | None,
    Option(
        "--memory",
        metavar="SIZE",
        bounds=bounds.MEMORY,
        help="Memory limit of groups, joins and sorts, as 2GiB; the rest goes to disk.",
    ),
]
Dialect = Annotated[
    str | None,
    Option(
        "--dialect",
        metavar="standard|sneller",
        help="What SQL means: standard SQL, or what the original tool takes it for.",
    ),
]
AsPackfiles = Annotated[
    bool, Option("--packfiles", help="Look at the packfiles of a table, not at the table.")
]
ShowStats = Annotated[
    bool,
    Option("--stats", help="Estimate how many blocks an equality reads; reads some rows."),
]
AsJson = Annotated[bool, Option("--json", help="Print the result as JSON.")]
Verbose = Annotated[bool, Option("--verbose", "-v", help="Print more about what happens.")]
Force = Annotated[
    bool,
    Option("--force", help="Replace an existing output; print binary data to a terminal."),
]
Replace = Annotated[bool, Option("--force", help="Replace an existing output.")]
Strict = Annotated[
    bool, Option("--strict", help="Fail if no row has a field that is named; else a warning.")
]
NoVerify = Annotated[
    bool, Option("--no-verify", help="Go on with a damaged packfile; values may be wrong.")
]
Threads = Annotated[
    int | None,
    Option(
        "--threads",
        "-j",
        metavar="N",
        bounds=bounds.THREADS,
        help="Number of threads; default: one per processor.",
    ),
]
Limit = Annotated[
    int | None, Option("--limit", "-n", metavar="N", bounds=bounds.ROWS, help="Stop after N rows.")
]
Fields = Annotated[
    str | None,
    Option(metavar="NAME,...", help="Only these top-level fields."),
]
Where = Annotated[
    str | None, Option(metavar="CONDITION", help="Only rows for which this SQL condition is true.")
]
PurgeWhere = Annotated[
    str | None,
    Option("--where", metavar="CONDITION", help="Erase rows for which this SQL condition is true."),
]
Since = Annotated[
    str | None,
    Option(metavar="TIME", help="Only rows from this time on: 2021-01-02, 30m, today, ..."),
]
Until = Annotated[str | None, Option(metavar="TIME", help="Only rows before this time.")]
TimeField = Annotated[
    str | None, Option(metavar="PATH", help="Time field that --since and --until refer to.")
]
RawTimeField = Annotated[
    str | None,
    Option(
        "--time-field",
        metavar="PATH[:FORM]",
        help="Time field that --since and --until refer to; FORM reads it in files that are no"
        " packfiles: unix, unix_ms, %d/%m/%Y.",
    ),
]
RawFormat = Annotated[
    str | None,
    Option(
        "--input-format",
        metavar="SUFFIX",
        help="Format of files that are no packfiles: json, csv.gz, combined, ...; default: by"
        " their content.",
    ),
]
InputFormat = Annotated[
    str | None,
    Option(
        "--format",
        "-f",
        metavar="SUFFIX",
        help="Format of the inputs: json, csv.gz, combined, regex:PATTERN, ...; "
        "default: by their content.",
    ),
]
RecordsPath = Annotated[
    str | None,
    Option(
        "--records",
        metavar="PATH",
        help="List of the records in JSON objects: Records, hits.hits, ...; none: the object is a"
        " row; default: by its shape.",
    ),
]
Duplicates = Annotated[
    str | None,
    Option(
        "--duplicates",
        metavar="first|last|fail",
        help="What counts where an object of JSON has a name twice, or a header of CSV; default:"
        " the first, and all columns.",
        values=("first", "last", "fail"),
    ),
]
BlockSize = Annotated[
    str,
    Option(
        metavar="SIZE",
        bounds=bounds.BLOCK,
        help="Decompressed size of a block; queries skip whole blocks.",
    ),
]
MaxRow = Annotated[
    str | None,
    Option(
        "--max-row",
        metavar="SIZE",
        bounds=bounds.MAX_ROW,
        help="Most that a row may take, at most 2080768; the original queries no rows above 1MiB.",
    ),
]
Algorithm = Annotated[
    str,
    Option(
        "--algorithm",
        "-c",
        metavar="NAME",
        help="Compression: zion+zstd, zion+iguana_v0, zion+iguana_v0/specialized, zstd.",
        values=("zion+zstd", "zion+iguana_v0", "zion+iguana_v0/specialized", "zstd"),
    ),
]
Level = Annotated[
    str | None,
    Option(
        "--level",
        metavar="LEVEL",
        help="Effort of compression: fast, default, small, max, or 1 to 22.",
        values=(*levels.NAMES,),
    ),
]
Constants = Annotated[
    list[str] | None,
    Option(
        "--constant",
        metavar="NAME=VALUE",
        help="Add this field to every row; NAME:str=7 for text. Repeatable.",
    ),
]
Hints = Annotated[
    str | None,
    Option(
        metavar="FILE", help="File that says which fields of the inputs to keep, and their types."
    ),
]
TimeFields = Annotated[
    list[str] | None,
    Option(
        "--time-field",
        metavar="PATH[:FORM]",
        help="Index this time field (a.b) even if few rows have it; FORM reads its values:"
        " unix, unix_ms, %d/%m/%Y. Repeatable.",
    ),
]
TimeMode = Annotated[
    str,
    Option("--times", metavar="all|rfc3339|none", help="Which texts are times: see docs/times.md."),
]
Timezone = Annotated[
    str,
    Option("--timezone", metavar="ZONE", help="Zone of times without one; default: UTC."),
]
Stats = Annotated[
    str,
    Option(
        metavar="off|auto|PATH,...",
        help="Fields whose values let queries skip blocks; words:PATH for text search,"
        " prefixes:PATH for networks.",
    ),
]
TableStats = Annotated[
    str | None,
    Option(
        "--stats",
        metavar="off|auto|PATH,...",
        help="Statistics, as for pack; default: those of the definition.",
    ),
]
NoHive = Annotated[
    bool,
    Option(
        "--no-hive",
        help="Leave out the fields that folders of inputs name, such as day=2026-11-01/.",
    ),
]
OnError = Annotated[
    str,
    Option(
        metavar="fail|skip|keep|quarantine:FILE",
        help="Malformed records: fail at the first, skip them, keep each as a row with its text in"
        " `message`, or skip them and write them to FILE.",
    ),
]
InputOnError = Annotated[
    str,
    Option(
        "--on-error",
        metavar="fail|skip|keep",
        help="Malformed records of inputs that are no packfiles: fail at the first, skip them, or"
        " keep each as a row with its text in `message`.",
        values=("fail", "skip", "keep"),
    ),
]
SafeCsv = Annotated[
    bool,
    Option(
        "--safe-csv",
        help="Put ' before cells of CSV that a spreadsheet would execute; default for a file "
        "that is written from a terminal.",
    ),
]
NoSafeCsv = Annotated[bool, Option("--no-safe-csv", help="Write cells of CSV as they are.")]
ProgressMode = Annotated[
    str,
    Option(
        "--progress",
        metavar="auto|on|off|json",
        help="Progress on standard error: auto (on a terminal), on, off or json.",
    ),
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
    """Return the root of tables: what the command names, or what stands before it, or here."""
    from sdb.table.catalog import root as tableroot

    return tableroot.table_root(root or context.obj or "", allow_inputs=allow_inputs or ())


def locate(context: Context, path: str) -> str:
    """Return the place of a packfile, which a root may be in front of.

    * ``context``: Where ``--root`` is.

    Returns: The path to open. URLs and absolute paths stand for themselves.
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
    """Return inputs of a command; without any, that which a pipe or file brings as its input."""
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
    """Return the packfile that a single input becomes: ``a.zion`` beside ``a.json.gz``.

    Raises
    ------
    UsageError
        It is not one local file, so that the user has to say.
    NotFoundError
        The file is not there.
    """
    from sdb import formats
    from sdb.store.url import is_pattern, store_of

    first = inputs[0]
    is_there = None if first == "-" else store_of(first).has(first)
    is_single = len(inputs) == 1 and is_there is not None and not is_pattern(first)
    if not is_single or store_of(first).is_folder(first):
        raise UsageError("no output given", hint="-o PACKFILE; one file needs none")
    if not is_there:
        raise NotFoundError(f"opening {first}: no such file or directory", path=first)
    return f"{formats.stem(first)}.zion"


def suffix(value: str | None) -> str | None:
    """Return a format as the library knows it, without a dot."""
    return value.removeprefix(".") if value else None


def paths(values: list[str] | None) -> list[tuple[str, ...]]:
    """Split paths into their names."""
    return [tuple(path.split(".")) for path in values or []]


def times(mode: str, timezone: str, time_field: list[str] | None) -> dict[str, Any]:
    """Return the arguments of packing that say how times are read."""
    from sdb.times import field, of_fields

    named = time_field or []
    reading = of_fields(mode, timezone, named)
    return {"time_fields": tuple(field(text)[0] for text in named), "times": reading}


def raw_reading(
    fmt: str | None,
    options: tuple[str | None, str | None],
    mode: str,
    timezone: str,
    time_field: str | None,
    on_error: str,
    *,
    has_period: bool,
) -> tuple[str | None, RawReading]:
    """Return the path of a time field, and the way files are read that are no packfiles.

    * ``options``: The path of records, and what counts where a name comes twice.
    * ``has_period``: Whether times are asked for; else a field is named for its form alone.

    Examples
    --------
    >>> options = ("all", "", "user.seen", "skip")
    >>> path, reading = raw_reading("csv", (None, None), *options, has_period=True)
    >>> path, reading.format, reading.on_error
    ('user.seen', 'csv', 'skip')
    """
    from sdb.packfile.inputs.rawreading import RawReading
    from sdb.times import field, of_fields

    named = [] if time_field is None else [time_field]
    times = of_fields(mode, timezone, named)
    reading = RawReading(suffix(recorded(fmt, *options)), times, on_error)
    if time_field is None:
        return None, reading
    path, form = field(time_field)
    return (".".join(path) if has_period or not form else None), reading


def period(since: str | None, until: str | None) -> tuple[str | None, str | None]:
    """Return the times that are meant, the same for all that is read, and note what they are."""
    from sdb import instants

    bounds: list[Any] = []
    for what, value in (("since", since), ("until", until)):
        bounds.append(instants.fixed(value))
        if value is not None:
            notes.tell(f"--{what} {value}: {instants.text(instants.parse(bounds[-1]))}")
    return bounds[0], bounds[1]


def names(value: str | None) -> list[str] | None:
    """Split a list of names at its commas."""
    return None if value is None else [name for name in value.split(",") if name]


def constants(assignments: list[str], what: str = "constant") -> dict[str, object]:
    """Read constants.

    * ``assignments``: Each ``NAME=VALUE``, whose type is that of a literal, or ``NAME:TYPE=VALUE``
      with one of the types ``str``, ``int``, ``float``, ``bool`` and ``time``.

    Raises
    ------
    UsageError
        Text of another form, or a name that comes twice.

    Examples
    --------
    >>> constants(["day=3", "ratio=0.5", "id:str=007", "eu=true"])
    {'day': 3, 'ratio': 0.5, 'id': '007', 'eu': True}
    """
    values: dict[str, object] = {}
    if not assignments:
        return values
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
        if name in values:
            raise UsageError(f"the {what} {name!r} is given twice")
        values[name] = _convert(f"{what} {name!r}", kind, text)
    return values


def sql_params(assignments: list[str] | None) -> dict[str, object]:
    """Read parameters of SQL: constants, and lists and structures that are written as JSON.

    Raises
    ------
    UsageError
        As `constants`; or it is said to be JSON, and is not.

    Examples
    --------
    >>> sql_params(["n=3", "ids=[1, 2]", "name:json=null"])
    {'ids': [1, 2], 'name': None, 'n': 3}
    """
    import json

    values: dict[str, object] = {}
    others = []
    for assignment in assignments or []:
        name, _, text = assignment.partition("=")
        is_json = name.endswith(":json")
        try:
            value = json.loads(text) if is_json or text[:1] in {"[", "{"} else None
        except ValueError:
            if is_json:
                raise UsageError(f"the parameter {name[:-5]!r}: {text!r} is not JSON") from None
            value = None
        if not is_json and (value is None or ":" in name):
            others.append(assignment)
            continue
        name = name.removesuffix(":json")
        if name in values:
            raise UsageError(f"the parameter {name!r} is given twice")
        values[name] = value
    plain = constants(others, "parameter")
    if twice := values.keys() & plain.keys():
        raise UsageError(f"the parameter {min(twice)!r} is given twice")
    return values | plain


def malformed(on_error: str) -> tuple[str, str | None]:
    """Return what becomes of malformed records, and the file that they go to.

    Raises
    ------
    UsageError
        It is no such choice.

    Examples
    --------
    >>> malformed("keep"), malformed("quarantine:bad.log")
    (('keep', None), ('skip', 'bad.log'))
    """
    action, colon, file = on_error.partition(":")
    if action == "quarantine" and file:
        return "skip", file
    from sdb.packfile.inputs.rawreading import ACTIONS

    if colon or action not in ACTIONS:
        choices = ", ".join(ACTIONS)
        hint = f"it is {choices} or quarantine:FILE"
        raise UsageError(f"unknown choice {on_error!r} for --on-error", hint=hint)
    return action, None


def recorded(fmt: str | None, records: str | None, duplicates: str | None) -> str | None:
    """Return the format of inputs with what other options say of it, as ``-f`` names it."""
    from sdb import formats

    named = fmt if records is None else formats.with_option(fmt, "json", f"records={records}")
    return formats.asked(named, duplicates)


def packing(  # noqa: PLR0913 - the options of commands, by name
    algorithm: str,
    level: str | None,
    block_size: str,
    constant: list[str] | None,
    hints: str | None,
    fmt: str | None,
    reading: dict[str, Any],
    *,
    verify: bool,
    max_row: str | None = None,
) -> dict[str, Any]:
    """Return the arguments that packing has here and on Spark, see :func:`sdb.pack`.

    * ``reading``: Those of :func:`times`.
    """
    largest = {} if max_row is None else {"max_row_bytes": bounds.MAX_ROW.read(max_row)}
    return {
        **largest,
        "algorithm": algorithm,
        "level": None if level is None else levels.read(level),
        "block_bytes": bounds.BLOCK.read(block_size),
        "constants": constants(constant or []),
        "hints": content(hints),
        "format": suffix(fmt),
        **reading,
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
