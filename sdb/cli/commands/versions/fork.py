"""`sdb fork`."""

from __future__ import annotations

import sys

from sdb import sizes
from sdb.cli import output
from sdb.cli.meter import Meter
from sdb.cli.options import AsJson, Message, NextWord, ProgressMode, Quiet, Root, TableVersion
from sdb.cli.parameters import Argument, Context, Option
from sdb.cli.tablenames import author, joined_table, named_table, opened_table
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
    last: NextWord = None,
    share: Annotated[
        bool, Option("--share", help="Copy no packfiles: refer to those of the other table.")
    ] = False,
    message: Message = "",
    root: Root = None,
    progress: ProgressMode = "auto",
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Make a new table from a table, or from a version of it.

    Packfiles are copied by the file system or the store where these can, or shared (--share). Run a
    fork that was interrupted again: it continues.
    """
    from sdb.table.history.fork import fork

    name, words = joined_table(name, new, last)
    new = words[0] if words else ""
    database, table, reference = named_table(new)
    if reference:
        raise UsageError(f"{new} is no new table", expected="DB.TABLE DB.NEW")
    with Meter("copying", progress, quiet=quiet) as meter:
        forked = fork(
            opened_table(context, root, name),
            database,
            table,
            share=share,
            author=author(),
            message=message,
            progress=meter,
        )
    if as_json:
        output.say_json(forked.as_dict())
    elif not quiet:
        packfiles = sizes.counted(forked.packfiles, "packfile")
        text = f"{new} {'shares' if share else 'has'} the {packfiles} of {name}"
        copied = f", {forked.sent:,} of them copied" if share and forked.sent else ""
        behind = "; it has no definition, and is not synced" if share else ""
        output.say(output.plain(f"sdb: {text}{copied}{behind}"), to=sys.stderr)
