"""`sdb gc`."""

from __future__ import annotations

import sys

from sdb.cli import output
from sdb.cli.meter import Meter
from sdb.cli.options import (
    AsJson,
    DryRun,
    ProgressMode,
    Quiet,
    Root,
    TableName,
    TableRest,
    Verbose,
    table_root,
)
from sdb.cli.parameters import Context, Option
from sdb.cli.tablenames import author, table_of
from sdb.typed import Annotated

EXAMPLES = (
    "sdb gc --dry-run -v --root lake web.gha",
    "sdb gc --grace 48h --root lake web gha",
    "sdb gc -n --explain --root lake web.gha",
)


def command(
    context: Context,
    name: TableName,
    table: TableRest = None,
    dry_run: DryRun = False,
    grace: Annotated[
        str,
        Option("--grace", metavar="TIME", help="How long what was readable stays (24h, 2d)."),
    ] = "24h",
    explain: Annotated[
        bool, Option("--explain", help="Name each object that stays, and what keeps it.")
    ] = False,
    root: Root = None,
    progress: ProgressMode = "auto",
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Delete the objects of a table that no version needs any more.

    What could be read within the grace time stays, and what was written within it. Where an object
    that the table leads to cannot be read, nothing is deleted.
    """
    from sdb.cli.render.collected import explained, lines_of
    from sdb.table.maintenance.expire import seconds_of
    from sdb.table.maintenance.gc import collect

    names = table_of(name, table)
    with Meter("collecting", progress, quiet=quiet) as meter:
        found = collect(
            table_root(context, root),
            *names,
            grace_seconds=seconds_of(grace),
            dry_run=dry_run,
            author=author(),
            progress=meter,
        )
    if as_json:
        kept = {"kept": [one.as_dict() for one in found.held]} if explain else {}
        output.say_json(found.as_dict() | kept)
        return
    if verbose:
        for one in found.garbage:
            what = f"the upload of {one.key}" if one.kind == "upload" else one.key
            output.say(output.plain(f"{'would remove' if dry_run else 'removed'} {what}"))
    if explain:
        for line in explained(found, grace):
            output.say(output.plain(line))
    if not quiet:
        for line in lines_of(found, grace, is_dry=dry_run):
            output.say(output.plain(f"sdb: {line}"), to=sys.stderr)
