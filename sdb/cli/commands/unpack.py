"""`sdb unpack`."""

from __future__ import annotations

import sys

from sdb import formats
from sdb.cli import output
from sdb.cli.meter import Meter
from sdb.cli.options import (
    Fields,
    Force,
    Limit,
    NoVerify,
    Packfiles,
    ProgressMode,
    Since,
    Strict,
    Threads,
    TimeField,
    Until,
    Verbose,
    locate,
    names,
    period,
)
from sdb.cli.parameters import Context, Option
from sdb.typed import Annotated

EXAMPLES = (
    "sdb unpack --fmt json events.zion",
    "sdb unpack --fmt json --fields id,type --limit 3 events.zion",
    "sdb unpack -o events.parquet events.zion",
    "sdb unpack -o events.csv.gz events.zion",
)


def command(
    context: Context,
    packfiles: Packfiles,
    fmt: Annotated[
        str | None,
        Option(
            metavar="json|csv|tsv|ion|ion-text|arrow|parquet",
            help="Format; if not given, by the output's suffix or ion.",
        ),
    ] = None,
    target: Annotated[
        str, Option("--output", "-o", metavar="FILE", help="Where to; - is standard output.")
    ] = "-",
    fields: Fields = None,
    since: Since = None,
    until: Until = None,
    time_field: TimeField = None,
    blocks: Annotated[
        str | None, Option(metavar="N,N-N,...", help="Only these blocks of each file.")
    ] = None,
    limit: Limit = None,
    threads: Threads = None,
    force: Force = False,
    no_verify: NoVerify = False,
    progress: ProgressMode = "auto",
    strict: Strict = False,
    verbose: Verbose = False,
) -> None:
    """Write the rows of packfiles as JSON, CSV, TSV, Ion, Arrow or Parquet.

    Blocks that the time index rules out are not read.
    """
    from sdb.packfile.unpack import FORMATS, TEXTS, unpack

    fmt, compression = formats.written(None if target == "-" else target, fmt, FORMATS, "ion")
    places = [locate(context, path) for path in packfiles]
    output.check_apart(target, places)
    output.prepare(verbose=verbose, unverified=no_verify)
    since, until = period(since, until)
    quiet = target == "-" and sys.stdout.isatty()
    with (
        Meter("unpacking", progress, quiet=quiet) as meter,
        output.opened(target, force=force, is_text=fmt in TEXTS, compression=compression) as file,
    ):
        unpack(
            places,
            file,
            fmt=fmt,
            fields=names(fields),
            strict=strict,
            since=since,
            until=until,
            time_field=time_field,
            blocks=blocks,
            limit=limit,
            threads=threads,
            indent=quiet,
            verify=not no_verify,
            progress=meter,
        )
