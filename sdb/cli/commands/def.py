"""`sdb def`."""
# ruff: noqa: N999 - the name of the command

from __future__ import annotations

from sdb.cli import output
from sdb.cli.options import Database, Root, Table, table_root
from sdb.cli.parameters import Context

EXAMPLES = ("sdb def --root lake web gha", "sdb def --root lake web gha")


def command(context: Context, database: Database, table: Table, root: Root = None) -> None:
    """Show the definition of a table, as JSON: which inputs it takes.

    Members that nobody knows are left out, which a line on standard error tells.
    """
    from sdb import notes
    from sdb.table.definition.cache import read_definition
    from sdb.table.format.keys import TableKeys

    keys = TableKeys(database, table)
    definition = read_definition(table_root(context, root), keys)
    if definition.unknown:
        notes.warn(f"{keys.definition}: ignored: {', '.join(definition.unknown)}")
    output.say(output.plain(definition.shown().removesuffix("\n")))
