"""`sdb tail`."""

from __future__ import annotations

import sys

from sdb import bounds
from sdb.cli import output
from sdb.cli.options import (
    Fields,
    Packfile,
    Since,
    Strict,
    TimeField,
    Until,
    Verbose,
    locate,
    names,
    period,
)
from sdb.cli.parameters import Context, Option
from sdb.cli.render import rows as shown
from sdb.typed import Annotated

EXAMPLES = ("sdb tail events.zion", "sdb tail -3 --fmt table --fields id,type events.zion")


def command(
    context: Context,
    packfile: Packfile,
    rows: Annotated[
        int, Option("--rows", "-n", metavar="N", bounds=bounds.ROWS, help="How many rows; or -N.")
    ] = 10,
    fmt: Annotated[str | None, Option(metavar=shown.METAVAR, help="Format.")] = None,
    fields: Fields = None,
    since: Since = None,
    until: Until = None,
    time_field: TimeField = None,
    strict: Strict = False,
    verbose: Verbose = False,
) -> None:
    """Show the last rows of a packfile.

    Blocks are read from the end on, until there are enough rows.
    """
    from sdb.packfile.export import tail

    output.prepare(verbose=verbose)
    form = shown.form(fmt)
    since, until = period(since, until)
    place, chosen = locate(context, packfile), names(fields)
    if form == "ion-text":
        from sdb.packfile.export import iontext

        found = tail.last_rows(
            place,
            rows,
            fields=chosen,
            since=since,
            until=until,
            time_field=time_field,
            strict=strict,
        )
        indent = sys.stdout.isatty()
        shown.say(output.plain(iontext.text(row, indent=indent)) for row in found)
        return
    lines = tail.last_lines(
        place, rows, fields=chosen, since=since, until=until, time_field=time_field, strict=strict
    )
    shown.show(lines, form, chosen)
