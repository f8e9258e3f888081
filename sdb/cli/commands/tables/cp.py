"""`sdb cp`."""

from __future__ import annotations

from sdb.cli.commands.versions import fork
from sdb.cli.options import AsJson, Message, NextWord, ProgressMode, Quiet, Root, TableVersion
from sdb.cli.parameters import Argument, Context
from sdb.typed import Annotated

EXAMPLES = (
    "sdb cp --root lake web.gha web.copy",
    "sdb cp --root lake web.gha@-1 web.before",
)


def command(
    context: Context,
    name: TableVersion,
    new: Annotated[str, Argument(metavar="DB.NEW", help="The new table.")],
    last: NextWord = None,
    message: Message = "",
    root: Root = None,
    progress: ProgressMode = "auto",
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Copy a table, or a version of it, to a new table.

    Packfiles are copied by the file system or the store where these can. The copy does not
    depend on the other table; sdb fork --share makes one that copies no packfile.
    """
    fork.command(
        context,
        name,
        new,
        last,
        message=message,
        root=root,
        progress=progress,
        as_json=as_json,
        quiet=quiet,
    )
