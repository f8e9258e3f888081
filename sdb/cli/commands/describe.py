"""`sdb describe`."""

from __future__ import annotations

import sys

from sdb.cli import output
from sdb.cli.options import AsJson, At, Database, Root, Table, table_root
from sdb.cli.parameters import Context, Option
from sdb.typed import Annotated

EXAMPLES = ("sdb describe --root lake web gha", "sdb describe --json --root lake web gha")


def command(
    context: Context,
    database: Database,
    table: Table,
    at: At = "",
    root: Root = None,
    classic: Annotated[
        bool, Option("--classic", help="The lines of the original, on a terminal too.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show the packfiles of a table, with their sizes, blocks and time ranges.

    The index is read and the lists of older packfiles, and no packfile.
    """
    from sdb.table.tabledescription import describe_table
    from sdb.table.tablehandle import open_table

    description = describe_table(open_table(table_root(context, root), database, table, at=at))
    if as_json:
        output.say_json(description.as_dict())
        return
    if sys.stdout.isatty() and not classic:
        from sdb.view.tablelist import overview

        shown = overview(description, columns=output.columns())
    else:
        shown = description.text()
    output.say(output.plain(shown.removesuffix("\n")))
