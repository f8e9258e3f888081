"""`sdb describe`."""

from __future__ import annotations

import sys

from sdb.cli import output
from sdb.cli.options import AsJson, At, Database, Root, ShowStats, Table, table_root
from sdb.cli.parameters import Context, Option
from sdb.cli.render.sharpness import show_sharpness
from sdb.typed import Annotated

EXAMPLES = (
    "sdb describe --root lake web gha",
    "sdb describe --json --root lake web gha",
    "sdb describe --stats --root lake web gha",
)


def command(
    context: Context,
    database: Database,
    table: Table,
    at: At = "",
    root: Root = None,
    classic: Annotated[
        bool, Option("--classic", help="The lines of the original, on a terminal too.")
    ] = False,
    stats: ShowStats = False,
    as_json: AsJson = False,
) -> None:
    """Show the packfiles of a table, with their sizes, blocks and time ranges.

    The index is read and the lists of older packfiles, and no packfile but with --stats.
    """
    from sdb.table.catalog.handle import open_table
    from sdb.table.inspect.describe import describe_table

    handle = open_table(table_root(context, root), database, table, at=at)
    description = describe_table(handle)
    found = None
    if stats:
        from sdb.table.inspect.selectivity import table_sharpness

        found = table_sharpness(handle)
    if as_json:
        told = {} if found is None else {"sharpness": found.as_dict()}
        output.say_json(description.as_dict() | told)
        return
    if sys.stdout.isatty() and not classic:
        from sdb.view.tablelist import overview

        shown = overview(description, columns=output.columns())
    else:
        shown = description.text()
    output.say(output.plain(shown.removesuffix("\n")))
    if found is not None:
        show_sharpness(found)
