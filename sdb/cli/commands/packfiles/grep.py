"""`sdb grep`."""

from __future__ import annotations

import re
import sys

from sdb import bounds, formats, notes
from sdb.cli import output
from sdb.cli.inputoptions import RAW_ROWS, RawRows
from sdb.cli.meter import Meter
from sdb.cli.options import (
    AsJson,
    At,
    ProgressMode,
    Strict,
    Threads,
)
from sdb.cli.parameters import Argument, Option, Quiet, TableContext, Together
from sdb.cli.render import grep as printed
from sdb.cli.tablenames import Sources, at_version
from sdb.cli.values import names
from sdb.records import record
from sdb.typed import Annotated

_NUMBER = r"[\d\s.:,TZ^$\\+-]*\d[\d\s.:,TZ^$\\+-]*"

EXAMPLES = (
    "sdb grep 'time(d )?out' events.zion",
    "sdb grep -ci --fields type push events.zion",
    "sdb grep --root lake timeout web.gha",
    "sdb grep -q -F a.b.c events.zion || echo nowhere",
)


@record
class _Matching(Together):
    """The rows that match."""

    patterns: Annotated[
        list[str] | None,
        Option("--regexp", "-e", metavar="PATTERN", help="Pattern to look for. Repeatable."),
    ] = None
    fixed: Annotated[bool, Option("--fixed-strings", "-F", help="Take patterns as plain text.")] = (
        False
    )
    ignore_case: Annotated[
        bool, Option("--ignore-case", "-i", help="Ignore upper and lower case.")
    ] = False
    invert: Annotated[
        bool, Option("--invert-match", hidden=("-v",), help="Print rows without a match.")
    ] = False


@record
class _Printing(Together):
    """The parts of rows that match, or of their files, that are printed."""

    count: Annotated[
        bool, Option("--count", hidden=("-c",), help="Print only the number of rows.")
    ] = False
    files: Annotated[
        bool,
        Option("--files-with-matches", "-l", help="Print only the names of files with a match."),
    ] = False
    with_names: Annotated[
        bool, Option("--with-filename", "-H", help="Print the name of the file before each row.")
    ] = False
    fmt: Annotated[str, Option(metavar=formats.metavar("grep"), help="Format of rows.")] = "json"


@record
class _Reading(Together):
    """Where rows are looked for, and how many."""

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
    ] = None
    fields: Annotated[
        str | None,
        Option(
            metavar="NAME,...", help="Search only these top-level fields; rows are printed whole."
        ),
    ] = None
    rows: RawRows = RAW_ROWS
    at: At = ""
    strict: Strict = False


@record
class _Report(Together):
    """Reports while the search goes on, and in the end."""

    quiet: Quiet = False
    verbose: Annotated[
        bool, Option("--verbose", help="Print how many blocks of each file are read.")
    ] = False
    as_json: AsJson = False
    progress: ProgressMode = "auto"


MATCHING = _Matching()
PRINTING = _Printing()
READING = _Reading()
REPORT = _Report()


def command(
    context: TableContext,
    words: Annotated[
        list[str],
        Argument(
            "[PATTERN] PACKFILE...",
            "Pattern to look for, unless -e has it, and packfiles or tables (DB.TABLE[@REF]).",
        ),
    ],
    matching: _Matching = MATCHING,
    printing: _Printing = PRINTING,
    reading: _Reading = READING,
    threads: Threads = None,
    report: _Report = REPORT,
) -> int:
    """Print rows in which a text matches a regular expression.

    Only texts are searched, at any depth: no names of fields, numbers or times. Patterns are those
    of RE2. Exit code 0 when a row matches, 1 when none does. The letters -c, -m and -v of grep(1)
    work, too.
    """
    from sdb.errors import UsageError
    from sdb.packfile.export import grep
    from sdb.packfile.read.search import search

    sought = matching.patterns or words[:1]
    places = words if matching.patterns else words[1:]
    if not places:
        raise UsageError("no packfile to search", hint="sdb grep PATTERN PACKFILE...")
    if (
        printing.with_names
        and not (printing.count or printing.files or report.quiet)
        and report.as_json
    ):
        raise UsageError("with names in front, rows are no JSON: without -H or without --json")
    output.prepare(quiet=report.quiet, verbose=report.verbose)
    rows = reading.rows
    time_field, files = rows.raw.reading(rows.since, rows.until)
    wanted = search(
        sought,
        fields=names(reading.fields),
        fixed=matching.fixed,
        ignore_case=matching.ignore_case,
        invert=matching.invert,
        since=rows.since,
        until=rows.until,
        time_field=time_field,
        limit=reading.limit,
        threads=threads,
        strict=reading.strict,
    )
    shown = sys.stdout.isatty() and not (printing.count or printing.files or report.quiet)
    with (
        Sources(context, reading=files) as sources,
        Meter("searching", report.progress, quiet=shown or report.quiet) as meter,
    ):
        resolved = sources.resolve(at_version(places, reading.at))
        sources.tell_stored("grep searches")
        sources_named = {reference.name for reference in resolved}
        if report.quiet or printing.files or printing.count:
            counts = grep.counts(
                wanted, resolved, most=1 if report.quiet or printing.files else None, progress=meter
            )
            if report.quiet:
                matched = int(any(number for _, number in counts))
            elif report.as_json:
                matched = printed.facts(counts, counted=not printing.files)
            elif printing.files:
                matched = printed.names(counts)
            else:
                matched = printed.counts(
                    counts, with_names=printing.with_names or len(sources_named) > 1
                )
        else:
            indent = shown and not printing.with_names
            matched = grep.write(
                wanted,
                resolved,
                printed.target(is_laid_out=indent and printing.fmt == "json"),
                fmt=printing.fmt,
                indent=indent,
                with_names=printing.with_names,
                progress=meter,
            )
    if any(re.fullmatch(_NUMBER, text) and text.count(".") <= 1 for text in sought):
        notes.warn("numbers and times are no texts, and are not searched: see sdb query")
    return 0 if matched else 1
