"""`sdb head`."""

from __future__ import annotations

import io
import sys

from sdb import bounds
from sdb.cli import output
from sdb.cli.options import Fields, Packfile, Since, Until, locate, names
from sdb.cli.parameters import Context, Option
from sdb.typed import Annotated

EXAMPLES = ("sdb head events.zion", "sdb head -n 3 --fields id,type events.zion")


def command(
    context: Context,
    packfile: Packfile,
    rows: Annotated[
        int, Option("--rows", "-n", metavar="N", bounds=bounds.ROWS, help="How many rows.")
    ] = 10,
    fields: Fields = None,
    since: Since = None,
    until: Until = None,
    time_field: Annotated[
        str | None, Option(metavar="PATH", help="Field that --since and --until are about.")
    ] = None,
) -> None:
    """Show the first rows of a packfile as JSON.

    On a terminal they are laid out for reading; in a pipe each row is one line.
    """
    from sdb.packfile.unpack import unpack

    terminal = sys.stdout.isatty()
    target = io.BytesIO() if terminal else output.binary()
    unpack(
        [locate(context, packfile)],
        target,
        fmt="json",
        fields=names(fields),
        since=since,
        until=until,
        time_field=time_field,
        limit=rows,
        threads=1,
    )
    if isinstance(target, io.BytesIO):
        from sdb.view.rows import layout

        width, color = output.columns(), output.in_color()
        for line in target.getvalue().decode().split("\n")[:-1]:
            output.say(layout(output.plain(line), columns=width, color=color))
