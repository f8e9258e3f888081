"""`sdb grep`."""

from __future__ import annotations

import re
import sys

from sdb import bounds, formats, notes
from sdb.cli import output
from sdb.cli.inputoptions import RAW, RawInput
from sdb.cli.meter import Meter
from sdb.cli.options import (
    AsJson,
    At,
    ProgressMode,
    Since,
    Strict,
    Threads,
    Until,
)
from sdb.cli.parameters import Argument, Option, Quiet, TableContext
from sdb.cli.render import grep as printed
from sdb.cli.tablenames import Sources, at_version
from sdb.cli.values import names
from sdb.typed import Annotated

_NUMBER = r"[\d\s.:,TZ^$\\+-]*\d[\d\s.:,TZ^$\\+-]*"

EXAMPLES = (
    "sdb grep 'time(d )?out' events.zion",
    "sdb grep -ci --fields type push events.zion",
    "sdb grep --root lake timeout web.gha",
    "sdb grep -q -F a.b.c events.zion || echo nowhere",
)


def command(
    context: TableContext,
    words: Annotated[
        list[str],
        Argument(
            "[PATTERN] PACKFILE...",
            "Pattern to look for, unless -e has it, and packfiles or tables (DB.TABLE[@REF]).",
        ),
    ],
    patterns: Annotated[
        list[str] | None,
        Option("--regexp", "-e", metavar="PATTERN", help="Pattern to look for. Repeatable."),
    ] = None,
    fixed: Annotated[
        bool, Option("--fixed-strings", "-F", help="Take patterns as plain text.")
    ] = False,
    ignore_case: Annotated[
        bool, Option("--ignore-case", "-i", help="Ignore upper and lower case.")
    ] = False,
    invert: Annotated[
        bool, Option("--invert-match", hidden=("-v",), help="Print rows without a match.")
    ] = False,
    count: Annotated[
        bool, Option("--count", hidden=("-c",), help="Print only the number of rows.")
    ] = False,
    files: Annotated[
        bool,
        Option("--files-with-matches", "-l", help="Print only the names of files with a match."),
    ] = False,
    with_names: Annotated[
        bool, Option("--with-filename", "-H", help="Print the name of the file before each row.")
    ] = False,
    limit: Annotated[
        int | None,
        Option(
            "--limit",
            "-n",
            metavar="N",
            bounds=bounds.ROWS,
            hidden=("-m",),
            help="Stop after N rows.",
        ),
    ] = None,
    fields: Annotated[
        str | None,
        Option(
            metavar="NAME,...", help="Search only these top-level fields; rows are printed whole."
        ),
    ] = None,
    fmt: Annotated[str, Option(metavar=formats.metavar("grep"), help="Format of rows.")] = "json",
    since: Since = None,
    until: Until = None,
    raw: RawInput = RAW,
    at: At = "",
    threads: Threads = None,
    strict: Strict = False,
    quiet: Quiet = False,
    verbose: Annotated[
        bool, Option("--verbose", help="Print how many blocks of each file are read.")
    ] = False,
    as_json: AsJson = False,
    progress: ProgressMode = "auto",
) -> int:
    """Print rows in which a text matches a regular expression.

    Only texts are searched, at any depth: no names of fields, numbers or times. Patterns are those
    of RE2. Exit code 0 when a row matches, 1 when none does. The letters -c, -m and -v of grep(1)
    work, too.
    """
    from sdb.errors import UsageError
    from sdb.packfile.export import grep
    from sdb.packfile.read.search import search

    sought = patterns or words[:1]
    places = words if patterns else words[1:]
    if not places:
        raise UsageError("no packfile to search", hint="sdb grep PATTERN PACKFILE...")
    if with_names and not (count or files or quiet) and as_json:
        raise UsageError("with names in front, rows are no JSON: without -H or without --json")
    output.prepare(quiet=quiet, verbose=verbose)
    time_field, reading = raw.reading(since, until)
    wanted = search(
        sought,
        fields=names(fields),
        fixed=fixed,
        ignore_case=ignore_case,
        invert=invert,
        since=since,
        until=until,
        time_field=time_field,
        limit=limit,
        threads=threads,
        strict=strict,
    )
    shown = sys.stdout.isatty() and not (count or files or quiet)
    with (
        Sources(context, reading=reading) as sources,
        Meter("searching", progress, quiet=shown or quiet) as meter,
    ):
        resolved = sources.resolve(at_version(places, at))
        sources.tell_stored("grep searches")
        sources_named = {reference.name for reference in resolved}
        if quiet or files or count:
            counts = grep.counts(
                wanted, resolved, most=1 if quiet or files else None, progress=meter
            )
            if quiet:
                rows = int(any(number for _, number in counts))
            elif as_json:
                rows = printed.facts(counts, counted=not files)
            elif files:
                rows = printed.names(counts)
            else:
                rows = printed.counts(counts, with_names=with_names or len(sources_named) > 1)
        else:
            indent = shown and not with_names
            rows = grep.write(
                wanted,
                resolved,
                printed.target(is_laid_out=indent and fmt == "json"),
                fmt=fmt,
                indent=indent,
                with_names=with_names,
                progress=meter,
            )
    if any(re.fullmatch(_NUMBER, text) and text.count(".") <= 1 for text in sought):
        notes.warn("numbers and times are no texts, and are not searched: see sdb query")
    return 0 if rows else 1
