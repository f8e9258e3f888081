"""Options that several commands share."""

from __future__ import annotations

from sdb import bounds, levels
from sdb.cli.parameters import Argument, Option
from sdb.typed import Annotated

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
AnyDatabase = Annotated[
    str | None, Argument(metavar="[DB]", help="The database, or DB.TABLE; default: all tables.")
]
TablePattern = Annotated[
    str | None, Argument(metavar="PATTERN", help="Names of tables, as 'gh*'; default: all.")
]
TableVersion = Annotated[
    str,
    Argument(
        metavar="DB.TABLE[@REF]", help="The table, or a version of it; DB TABLE works as well."
    ),
]
Changed = Annotated[
    str | None,
    Option(
        "--changed",
        metavar="keep|replace|fail",
        help="Rows of inputs whose content has changed: keep them, replace them, or fail. "
        "Default: upkeep.changed of the definition, or keep; of Delta and Iceberg replace.",
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
Yes = Annotated[bool, Option("--yes", "-y", help="Do not ask on a terminal; go on.")]
FewRows = Annotated[
    int,
    Option(
        "--limit",
        "-n",
        metavar="N",
        bounds=bounds.ROWS,
        hidden=("--rows",),
        help="Number of rows; -5 is -n 5.",
    ),
]
