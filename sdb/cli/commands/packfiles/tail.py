"""`sdb tail`."""

from __future__ import annotations

import sys

from sdb.cli import output
from sdb.cli.options import (
    At,
    FewRows,
    PackfileOrTable,
    Verbose,
)
from sdb.cli.parameters import Option, TableContext
from sdb.cli.render import rows as shown
from sdb.cli.tablenames import Sources, at_version
from sdb.cli.values import names
from sdb.typed import Annotated

EXAMPLES = (
    "sdb tail events.zion",
    "sdb tail -3 --fmt table --fields id,type events.zion",
    "sdb tail --root lake web.gha",
)


def command(
    context: TableContext,
    packfile: PackfileOrTable,
    rows: FewRows = 10,
    fmt: Annotated[str | None, Option(metavar=shown.METAVAR, help="Format; default: json.")] = None,
    chosen: shown.ShownRows = shown.SHOWN_ROWS,
    at: At = "",
    verbose: Verbose = False,
) -> None:
    """Show the last rows of a packfile or table.

    Blocks are read from the end, until there are enough rows.
    """
    from sdb.packfile.export import tail

    output.prepare(verbose=verbose)
    (packfile,) = at_version([packfile], at)
    form = shown.form(fmt)
    choice, reading = chosen.rows.choice()
    columns = names(chosen.fields)
    choice |= {"fields": columns, "strict": chosen.strict}
    with Sources(context, reading=reading) as sources:
        references = sources.resolve([packfile])
        if sources.schemas:
            from sdb.query.rows.selected import last_selected

            choice.pop("strict")
            shown_columns, last = last_selected(sources.schemas, references, rows, **choice)
            if form != "ion-text":
                import json

                from sdb.packfile.inspect.describe import plain

                lines = [json.dumps(plain(row), ensure_ascii=False) for row in last]
                shown.show([f"{line}\n".encode() for line in lines], form, shown_columns)
                return
        elif form != "ion-text":
            shown.show(tail.last_lines(references, rows, **choice), form, columns)
            return
        else:
            last = tail.last_rows(references, rows, **choice)
        from sdb.packfile.export import iontext

        indent = sys.stdout.isatty()
        shown.say(output.plain(iontext.text(row, indent=indent)) for row in last)
