"""`sdb restore`."""

from __future__ import annotations

import sys

from sdb.cli import output
from sdb.cli.options import AsJson, Message, Quiet, Root, table_root
from sdb.cli.parameters import Argument, Context
from sdb.cli.tablenames import author, named_table
from sdb.errors import UsageError
from sdb.typed import Annotated

EXAMPLES = ("sdb restore --root lake web.gha 2", "sdb restore --root lake web.gha@-1 -m 'bad day'")


def command(
    context: Context,
    name: Annotated[str, Argument(metavar="DB.TABLE", help="The table.")],
    reference: Annotated[
        str | None, Argument(metavar="[REF]", help="The version, if not behind an @ of the table.")
    ] = None,
    message: Message = "",
    root: Root = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Make a new version with the content of an old one, its inputs included.

    What came in between stays in the history, and the next sync takes its inputs again.
    """
    from sdb.table.history.restore import restore

    database, table, behind = named_table(name)
    if bool(reference) == bool(behind):
        raise UsageError("which version to restore is not clear", expected="DB.TABLE REF")
    wanted = reference or behind
    found = restore(
        table_root(context, root), database, table, wanted, author=author(), message=message
    )
    if as_json:
        output.say_json(found.as_dict())
    elif not quiet:
        text = f"version {found.version} of {database}.{table} has the content of {wanted}"
        if not found.is_new:
            text = f"version {found.version} of {database}.{table} has that content already"
        output.say(output.plain(f"sdb: {text}"), to=sys.stderr)
