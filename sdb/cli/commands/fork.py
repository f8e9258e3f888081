"""`sdb fork`."""

from __future__ import annotations

import sys

from sdb.cli import output
from sdb.cli.meter import Meter
from sdb.cli.options import AsJson, Message, ProgressMode, Quiet, Root, TableVersion
from sdb.cli.parameters import Argument, Context, Option
from sdb.cli.tablenames import author, named_table, opened_table
from sdb.errors import UsageError
from sdb.typed import Annotated

EXAMPLES = (
    "sdb fork --root lake web.gha web.trial",
    "sdb fork --root lake web.gha@-1 web.before -m 'as it was'",
    "sdb fork --root lake --share web.gha web.shared",
)


def command(
    context: Context,
    name: TableVersion,
    new: Annotated[str, Argument(metavar="DB.NEW", help="The new table.")],
    share: Annotated[
        bool, Option("--share", help="Refer to the same packfiles, which stay where they are.")
    ] = False,
    message: Message = "",
    root: Root = None,
    progress: ProgressMode = "auto",
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Make a table of its own of a table, or of a version of it.

    Packfiles are copied by the file system or the store where these can, or shared. A fork that was
    broken off goes on where it was.
    """
    from sdb.table.history.fork import fork

    database, table, reference = named_table(new)
    if reference:
        raise UsageError(f"{new} is no new table", expected="DB.TABLE DB.NEW")
    with Meter("copying", progress, quiet=quiet) as meter:
        found = fork(
            opened_table(context, root, name),
            database,
            table,
            share=share,
            author=author(),
            message=message,
            progress=meter,
        )
    if as_json:
        output.say_json(found.as_dict())
    elif not quiet:
        text = f"{new} {'shares' if share else 'has'} the {found.packfiles:,} packfiles of {name}"
        copied = f", {found.sent:,} of them copied" if share and found.sent else ""
        behind = "; it has no definition, and is not synced" if share else ""
        output.say(output.plain(f"sdb: {text}{copied}{behind}"), to=sys.stderr)
