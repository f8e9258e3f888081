"""`sdb gc`."""

from __future__ import annotations

from sdb.cli import output
from sdb.cli.meter import Meter
from sdb.cli.optionrecords import CHANGE, REPORT, Change, ReportOptions
from sdb.cli.options import NextWord, TableName, Verbose
from sdb.cli.parameters import Option, TableContext
from sdb.cli.tablenames import author, table_of
from sdb.cli.values import table_root
from sdb.typed import Annotated

EXAMPLES = (
    "sdb gc --dry-run -v --root lake web.gha",
    "sdb gc --grace 48h --root lake web gha",
    "sdb gc --dry-run --explain --root lake web.gha",
)


def command(
    context: TableContext,
    name: TableName,
    table: NextWord = None,
    grace: Annotated[
        str,
        Option(
            "--grace",
            metavar="TIME",
            help="Grace period: keep what was readable within it (24h, 2d).",
        ),
    ] = "24h",
    explain: Annotated[
        bool, Option("--explain", help="Name each object that stays, and what keeps it.")
    ] = False,
    change: Change = CHANGE,
    report: ReportOptions = REPORT,
    verbose: Verbose = False,
) -> None:
    """Delete objects that no version of a table needs.

    What was readable or written within the grace period stays. If anything that the table refers to
    cannot be read, nothing is deleted.
    """
    from sdb import durations
    from sdb.cli.render.collected import explained, lines_of
    from sdb.table.format.keys import TableKeys
    from sdb.table.maintenance.gc import collect

    names = TableKeys(*table_of(name, table))
    with Meter("collecting", report.progress) as meter:
        outcome = collect(
            table_root(context),
            names,
            grace_seconds=durations.seconds(grace),
            dry_run=change.dry_run,
            author=author(),
            message=change.message,
            progress=meter,
        )
    if report.as_json:
        explained_kept = {"kept": [entry.as_dict() for entry in outcome.held]} if explain else {}
        output.say_json(outcome.as_dict() | explained_kept)
        return
    if verbose:
        for entry in outcome.garbage:
            what = f"the upload of {entry.key}" if entry.kind == "upload" else entry.key
            output.say(output.plain(f"{'would remove' if change.dry_run else 'removed'} {what}"))
    if explain:
        for line in explained(outcome, grace):
            output.say(output.plain(line))
    for line in lines_of(outcome, grace, is_dry=change.dry_run):
        output.note(line)
