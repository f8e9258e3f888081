"""`sdb branch`."""

from __future__ import annotations

import sys

from sdb.cli import output
from sdb.cli.options import AsJson, Quiet, Root, TableVersion, table_root
from sdb.cli.parameters import Argument, Context, Option
from sdb.cli.tablenames import named_table, named_versions
from sdb.errors import UsageError
from sdb.typed import Annotated

EXAMPLES = ("sdb branch --root lake web.gha audit", "sdb branch --root lake web.gha")


def command(
    context: Context,
    name: TableVersion,
    branch: Annotated[
        str | None, Argument(metavar="[NAME]", help="The branch; all are listed if not given.")
    ] = None,
    delete: Annotated[bool, Option("--delete", "-d", help="Take the branch away.")] = False,
    root: Root = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Begin a branch of a table: what is committed to it does not show in others.

    At the newest version, or at that which is named. `sdb merge` brings it back.
    """
    from sdb.table.history import setrefs

    place = table_root(context, root)
    database, table, reference = named_table(name)
    if branch is None and delete:
        raise UsageError("which branch to delete is not clear", expected="-d DB.TABLE NAME")
    if branch is None:
        named_versions(place, database, table, "branch", as_json=as_json)
    elif delete:
        setrefs.delete_branch(place, database, table, branch)
    else:
        found = setrefs.branch(place, database, table, branch, reference or "main")
        if as_json:
            output.say_json(found.as_dict())
        elif not quiet:
            text = f"{branch} begins at version {found.version} of {database}.{table}"
            output.say(output.plain(f"sdb: {text}"), to=sys.stderr)
