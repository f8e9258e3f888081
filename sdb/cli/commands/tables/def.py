"""`sdb def`."""
# ruff: noqa: N999 - the name of the command

from __future__ import annotations

from sdb.cli import output
from sdb.cli.options import AsJson, NextWord, TableName
from sdb.cli.parameters import TableContext
from sdb.cli.tablenames import table_of
from sdb.cli.values import table_root

EXAMPLES = ("sdb def --root lake web.gha", "sdb def --root lake web gha > definition.json")


def command(
    context: TableContext,
    name: TableName,
    table: NextWord = None,
    as_json: AsJson = False,
) -> None:
    """Show the definition of a table as JSON.

    It says which inputs the table takes. Members that are not known are left out, with a warning.
    """
    from sdb import notes
    from sdb.table.definition.cache import current_definition
    from sdb.table.format.keys import TableKeys

    keys = TableKeys(*table_of(name, table))
    definition = current_definition(table_root(context), keys)
    if definition.unknown:
        notes.warn(f"{keys.definition}: ignored: {', '.join(definition.unknown)}")
    if as_json:
        import json

        output.say_json(json.loads(definition.shown()))
    else:
        output.say(output.plain(definition.shown().removesuffix("\n")))
