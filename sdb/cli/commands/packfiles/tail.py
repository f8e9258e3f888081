"""`sdb tail`."""

from __future__ import annotations

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
)
from sdb.cli.parameters import Option, TableContext
from sdb.cli.render import rows as shown
from sdb.cli.tablenames import Sources, at_version
from sdb.cli.values import names, period
from sdb.typed import Annotated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

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
    fields: Fields = None,
    since: Since = None,
    until: Until = None,
    raw: RawInput = RAW,
    at: At = "",
    strict: Strict = False,
    verbose: Verbose = False,
) -> None:
    """Show the last rows of a packfile or table.

    Blocks are read from the end, until there are enough rows.
    """
    from sdb.packfile.export import tail

    output.prepare(verbose=verbose)
    (packfile,) = at_version([packfile], at)
    form = shown.form(fmt)
    since, until = period(since, until)
    time_field, reading = raw.reading(since, until)
    chosen = names(fields)
    choice: dict[str, Any] = {"fields": chosen, "since": since, "until": until}
    choice |= {"time_field": time_field, "strict": strict}
    with Sources(context, reading=reading) as sources:
        references = sources.resolve([packfile])
        if sources.schemas:
            from sdb.query.rows.selected import last_selected

            choice.pop("strict")
            columns, last = last_selected(sources.schemas, references, rows, **choice)
            if form != "ion-text":
                import json

                from sdb.packfile.inspect.describe import plain

                lines = [json.dumps(plain(row), ensure_ascii=False) for row in last]
                shown.show([f"{line}\n".encode() for line in lines], form, columns)
                return
        elif form != "ion-text":
            shown.show(tail.last_lines(references, rows, **choice), form, chosen)
            return
        else:
            last = tail.last_rows(references, rows, **choice)
        from sdb.packfile.export import iontext

        indent = sys.stdout.isatty()
        shown.say(output.plain(iontext.text(row, indent=indent)) for row in last)
