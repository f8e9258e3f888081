"""`sdb head`."""

from __future__ import annotations

import io
import sys

from sdb.cli import output
from sdb.cli.inputoptions import RAW, RawInput
from sdb.cli.options import (
    At,
    FewRows,
    Fields,
    PackfileOrTable,
    Since,
    Strict,
    Until,
    Verbose,
    Where,
)
from sdb.cli.parameters import Option, TableContext
from sdb.cli.render import rows as shown
from sdb.cli.tablenames import Sources, at_version
from sdb.cli.values import names, period
from sdb.typed import Annotated

EXAMPLES = (
    "sdb head events.zion",
    "sdb head -3 --fields id,type events.zion",
    "sdb head --root lake web.gha",
    "sdb head --fmt table --where \"type = 'PushEvent'\" events.zion",
)


def command(
    context: TableContext,
    packfile: PackfileOrTable,
    rows: FewRows = 10,
    fmt: Annotated[str | None, Option(metavar=shown.METAVAR, help="Format; default: json.")] = None,
    fields: Fields = None,
    where: Where = None,
    since: Since = None,
    until: Until = None,
    raw: RawInput = RAW,
    at: At = "",
    strict: Strict = False,
    verbose: Verbose = False,
) -> None:
    """Show the first rows of a packfile or table.

    On a terminal rows are a table, or --fmt json; in a pipe each row is a line of JSON.
    """
    output.prepare(verbose=verbose)
    (packfile,) = at_version([packfile], at)
    form = shown.form(fmt)
    since, until = period(since, until)
    chosen = names(fields)
    time_field, reading = raw.reading(since, until)
    times = (since, until, time_field)
    if where is not None:
        tables_root = context.root
        shown.select(
            packfile,
            where,
            rows,
            form,
            chosen,
            times,
            root=tables_root,
            strict=strict,
            reading=reading,
        )
        return
    from sdb.packfile.export.unpack import unpack

    terminal = sys.stdout.isatty()
    direct = form in {"csv", "tsv", "ion-text"} or (form == "json" and not terminal)
    target = io.BytesIO() if terminal or not direct else output.binary()
    with Sources(context, reading=reading) as sources:
        references = sources.resolve([packfile])
        if sources.schemas:
            shown.select(
                packfile, None, rows, form, chosen, times, root=sources.root, strict=strict
            )
            return
        unpack(
            references,
            target,
            fmt=form if direct else "json",
            fields=chosen,
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
    if direct:
        shown.say(map(output.plain, target.getvalue().decode().split("\n")[:-1]))
    else:
        shown.show(target.getvalue().splitlines(keepends=True), form, chosen)
