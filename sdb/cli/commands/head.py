"""`sdb head`."""

from __future__ import annotations

import io
import sys

from sdb import bounds
from sdb.cli import output
from sdb.cli.options import Fields, Packfile, Since, Strict, Until, locate, names
from sdb.cli.parameters import Context, Option
from sdb.typed import Annotated

_FORMATS = ("json", "ion-text")

EXAMPLES = ("sdb head events.zion", "sdb head -n 3 --fields id,type events.zion")


def command(
    context: Context,
    packfile: Packfile,
    rows: Annotated[
        int, Option("--rows", "-n", metavar="N", bounds=bounds.ROWS, help="How many rows.")
    ] = 10,
    fmt: Annotated[str, Option(metavar="json|ion-text", help="Format.")] = "json",
    fields: Fields = None,
    since: Since = None,
    until: Until = None,
    time_field: Annotated[
        str | None, Option(metavar="PATH", help="Field that --since and --until are about.")
    ] = None,
    strict: Strict = False,
) -> None:
    """Show the first rows of a packfile as JSON, or as Ion text.

    On a terminal they are laid out for reading; in a pipe each row is one line.
    """
    from sdb.errors import UsageError
    from sdb.packfile.unpack import unpack

    if fmt not in _FORMATS:
        raise UsageError(f"unknown format {fmt!r}", expected=", ".join(_FORMATS))
    terminal = sys.stdout.isatty()
    target = io.BytesIO() if terminal else output.binary()
    unpack(
        [locate(context, packfile)],
        target,
        fmt=fmt,
        fields=names(fields),
        strict=strict,
        since=since,
        until=until,
        time_field=time_field,
        limit=rows,
        threads=1,
        indent=terminal,
    )
    if not isinstance(target, io.BytesIO):
        return
    lines = [output.plain(line) for line in target.getvalue().decode().split("\n")[:-1]]
    if fmt == "json":
        from sdb.view.rows import layout

        width, color = output.columns(), output.in_color()
        lines = [layout(line, columns=width, color=color) for line in lines]
    for line in lines:
        output.say(line)
