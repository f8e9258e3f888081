"""`sdb schema show`."""

from __future__ import annotations

from sdb.cli.options import AsJson, At, NextWord, TableVersion
from sdb.cli.parameters import TableContext
from sdb.cli.render.schemas import say_schema
from sdb.cli.servers import server_table
from sdb.cli.tablenames import joined_table, opened_table

EXAMPLES = ("sdb schema show --root lake web.gha", "sdb schema show --root lake web.gha@12")


def command(
    context: TableContext,
    name: TableVersion,
    last: NextWord = None,
    at: At = "",
    as_json: AsJson = False,
) -> None:
    """Show the schema of a table or version as JSON, which set takes.

    A table without one has rows with whatever fields they have.
    """
    name, _ = joined_table(name, last, at=at)
    handle = server_table(context, name) or opened_table(context, name)
    say_schema(handle.name, handle.schema, is_compact=as_json)
