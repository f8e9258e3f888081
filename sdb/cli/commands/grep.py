"""`sdb grep`."""

from __future__ import annotations

import re
import sys

from sdb import bounds, notes
from sdb.cli import output
from sdb.cli.meter import Meter
from sdb.cli.options import (
    AsJson,
    ProgressMode,
    Quiet,
    Since,
    Strict,
    Threads,
    TimeField,
    Until,
    names,
)
from sdb.cli.parameters import Argument, Context, Option
from sdb.cli.render import grep as printed
from sdb.typed import Annotated

_NUMBER = r"[\d\s.:,TZ^$\\+-]*\d[\d\s.:,TZ^$\\+-]*"

EXAMPLES = (
    "sdb grep 'time(d )?out' events.zion",
    "sdb grep -ci --fields type push events.zion",
    "sdb grep -q -F a.b.c events.zion || echo nowhere",
)


def command(
    context: Context,
    words: Annotated[
        list[str],
        Argument("[PATTERN] PACKFILE...", "What to look for, unless -e says so, and where."),
    ],
    patterns: Annotated[
        list[str] | None,
        Option("--regexp", "-e", metavar="PATTERN", help="What to look for; may be repeated."),
    ] = None,
    fixed: Annotated[
        bool, Option("--fixed-strings", "-F", help="Patterns are plain text.")
    ] = False,
    ignore_case: Annotated[
        bool, Option("--ignore-case", "-i", help="Upper and lower case are the same.")
    ] = False,
    invert: Annotated[bool, Option("--invert-match", "-v", help="Rows without a match.")] = False,
    count: Annotated[bool, Option("--count", "-c", help="Print the number of rows.")] = False,
    files: Annotated[
        bool, Option("--files-with-matches", "-l", help="Print the names of files with a match.")
    ] = False,
    with_names: Annotated[
        bool, Option("--with-filename", "-H", help="Print the name of the file, too.")
    ] = False,
    limit: Annotated[
        int | None,
        Option("--limit", "-m", metavar="N", bounds=bounds.ROWS, help="At most so many rows."),
    ] = None,
    fields: Annotated[
        str | None,
        Option(metavar="NAME,...", help="Search these top-level fields; rows come out whole."),
    ] = None,
    fmt: Annotated[str, Option(metavar="json|ion-text", help="Format of rows.")] = "json",
    since: Since = None,
    until: Until = None,
    time_field: TimeField = None,
    threads: Threads = None,
    strict: Strict = False,
    quiet: Quiet = False,
    verbose: Annotated[
        bool, Option("--verbose", help="Print how many blocks of each file may have a match.")
    ] = False,
    as_json: AsJson = False,
    progress: ProgressMode = "auto",
) -> int:
    """Print the rows in which a text matches a regular expression (RE2).

    Only texts are searched, at any depth: neither names of fields nor numbers and times. Exit code
    0 when a row was found, 1 when none was.
    """
    from sdb.errors import UsageError
    from sdb.packfile.export import grep
    from sdb.packfile.read.resolve import resolve
    from sdb.packfile.read.search import search

    sought = patterns or words[:1]
    places = words if patterns else words[1:]
    if not places:
        raise UsageError("no packfile to search", hint="sdb grep PATTERN PACKFILE...")
    if with_names and not (count or files or quiet) and as_json:
        raise UsageError("with names in front, rows are no JSON: without -H or without --json")
    output.prepare(quiet=quiet, verbose=verbose)
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
    found = resolve(places, root=context.obj or None)
    shown = sys.stdout.isatty() and not (count or files or quiet)
    with Meter("searching", progress, quiet=shown or quiet) as meter:
        if quiet or files or count:
            counts = grep.counts(wanted, found, most=1 if quiet or files else None, progress=meter)
            if quiet:
                rows = int(any(number for _, number in counts))
            elif as_json:
                rows = printed.facts(counts, counted=not files)
            elif files:
                rows = printed.names(counts)
            else:
                rows = printed.counts(counts, with_names=with_names or len(found) > 1)
        else:
            indent = shown and not with_names
            rows = grep.write(
                wanted,
                found,
                printed.target(is_laid_out=indent and fmt == "json"),
                fmt=fmt,
                indent=indent,
                with_names=with_names,
                progress=meter,
            )
    if any(re.fullmatch(_NUMBER, pattern) for pattern in sought):
        notes.warn("numbers and times are no texts, and are not searched: see sdb query")
    return 0 if rows else 1
