"""`sdb push`."""

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
    "sdb push --root lake web.gha copy",
    "sdb push --root lake web.gha@-1 copy --as web.before",
)


def command(
    context: Context,
    name: TableVersion,
    target: Annotated[str, Argument(metavar="ROOT", help="The other root: a folder or s3:// URL.")],
    last: NextWord = None,
    new: Annotated[
        str, Option("--as", metavar="DB.NEW", help="Name of the table there; default: the same.")
    ] = "",
    message: Message = "",
    root: Root = None,
    progress: ProgressMode = "auto",
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Send a table, or a version of it, to another root.

    Only packfiles that are missing there are sent. If others have written to the table there,
    nothing changes (exit code 5).
    """
    from sdb.table.catalog.root import table_root
    from sdb.table.history.fork import push

    name, words = joined_table(name, target, last)
    if not words:
        raise UsageError(f"{name} is the table: no root to send it to", expected="DB.TABLE ROOT")
    target = words[0]
    if new and named_table(new)[2]:
        raise UsageError(f"{new} is no table", expected="--as DB.NEW")
    with Meter("sending", progress, quiet=quiet) as meter:
        pushed = push(
            opened_table(context, root, name),
            table_root(target),
            name=new,
            author=author(),
            message=message,
            progress=meter,
        )
    if as_json:
        output.say_json(pushed.as_dict())
    elif not quiet:
        size = sizes.human(pushed.sent_bytes)
        text = f"version {pushed.version} of {pushed.name} below {pushed.root}"
        text += f": {pushed.sent:,} of {pushed.packfiles:,} packfiles were sent, {size}"
        output.say(output.plain(f"sdb: {text}"), to=sys.stderr)
