"""`sdb schema diff`."""

from __future__ import annotations

from sdb.cli import output
from sdb.cli.options import AsJson, At, NextWord, TableVersion
from sdb.cli.parameters import Argument, TableContext
from sdb.cli.tablenames import joined_table, named_table, opened_table
from sdb.typed import Annotated

EXAMPLES = (
    "sdb schema diff --root lake web.gha@1 web.gha@2",
    "sdb schema diff --root lake web.gha@-1",
)


def command(
    context: TableContext,
    name: TableVersion,
    other: Annotated[
        str | None,
        Argument(
            metavar="[DB.TABLE@REF]", help="The later version, or @REF alone; default: the newest."
        ),
    ] = None,
    last: NextWord = None,
    at: At = "",
    as_json: AsJson = False,
) -> None:
    """Compare the schemas of two versions.

    Shows the columns that were added, dropped, renamed and moved, and what else of them is another.
    """
    from sdb.table.schema.difference import differences

    name, words = joined_table(name, other, last, at=at)
    database, table, _ = named_table(name)
    later = words[0] if words else ""
    if "." not in later.partition("@")[0]:  # a version of the same table
        later = f"{database}.{table}{later and '@'}{later.removeprefix('@')}"
    before, after = (opened_table(context, each) for each in (name, later))
    changes = differences(before.schema, after.schema)
    if as_json:
        output.say_json({"changes": [change.as_dict() for change in changes]})
        return
    from sdb.view.schemachanges import difference_lines

    for line in difference_lines(changes):
        output.say(output.plain(line))
