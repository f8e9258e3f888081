"""`sdb push`."""

from __future__ import annotations

import sys

from sdb import sizes
from sdb.cli import output
from sdb.cli.meter import Meter
from sdb.cli.options import AsJson, Message, ProgressMode, Quiet, Root, TableVersion
from sdb.cli.parameters import Argument, Context, Option
from sdb.cli.tablenames import author, named_table, opened_table
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
    new: Annotated[
        str, Option("--as", metavar="DB.NEW", help="Name of the table there, if it is another.")
    ] = "",
    message: Message = "",
    root: Root = None,
    progress: ProgressMode = "auto",
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Send a table, or a version of it, to another root.

    The table there becomes the same; only packfiles that are not there are sent. What others have
    written there is not taken away (exit code 5).
    """
    from sdb.table.catalog.root import table_root
    from sdb.table.history.fork import push

    if new and named_table(new)[2]:
        raise UsageError(f"{new} is no table", expected="--as DB.NEW")
    with Meter("sending", progress, quiet=quiet) as meter:
        found = push(
            opened_table(context, root, name),
            table_root(target),
            name=new,
            author=author(),
            message=message,
            progress=meter,
        )
    if as_json:
        output.say_json(found.as_dict())
    elif not quiet:
        size = sizes.human(found.sent_bytes)
        text = f"version {found.version} of {found.name} below {found.root}"
        text += f": {found.sent:,} of {found.packfiles:,} packfiles were sent, {size}"
        output.say(output.plain(f"sdb: {text}"), to=sys.stderr)
