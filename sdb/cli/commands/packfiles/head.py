"""`sdb head`."""

from __future__ import annotations

import io
import sys

from sdb.cli import output
from sdb.cli.options import (
    At,
    FewRows,
    PackfileOrTable,
    Verbose,
    Where,
)
from sdb.cli.parameters import Option, TableContext
from sdb.cli.render import rows as shown
from sdb.cli.tablenames import Sources, at_version
from sdb.cli.values import names
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
    where: Where = None,
    chosen: shown.ShownRows = shown.SHOWN_ROWS,
    at: At = "",
    verbose: Verbose = False,
) -> None:
    """Show the first rows of a packfile or table.

    On a terminal rows are a table, or --fmt json; in a pipe each row is a line of JSON.
    """
    output.prepare(verbose=verbose)
    (packfile,) = at_version([packfile], at)
    form = shown.form(fmt)
    choice, reading = chosen.rows.choice()
    columns = names(chosen.fields)
    choice |= {"fields": columns, "strict": chosen.strict, "limit": rows}
    if where is not None:
        shown.select(packfile, where, form, choice, root=context.root, reading=reading)
        return
    from sdb.packfile.export.unpack import unpack

    terminal = sys.stdout.isatty()
    direct = form in {"csv", "tsv", "ion-text"} or (form == "json" and not terminal)
    target = io.BytesIO() if terminal or not direct else output.binary()
    with Sources(context, reading=reading) as sources:
        references = sources.resolve([packfile])
        if sources.schemas:
            shown.select(packfile, None, form, choice, root=sources.root)
            return
        unpack(
            references,
            target,
            fmt=form if direct else "json",
            **choice,
            threads=1,
            indent=terminal,
        )
    if not isinstance(target, io.BytesIO):
        return
    if direct:
        shown.say(map(output.plain, target.getvalue().decode().split("\n")[:-1]))
    else:
        shown.show(target.getvalue().splitlines(keepends=True), form, columns)
