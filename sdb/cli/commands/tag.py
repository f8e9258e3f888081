"""`sdb tag`."""

from __future__ import annotations

import sys

from sdb.cli import output
from sdb.cli.options import AsJson, Quiet, Root, TableVersion, table_root
from sdb.cli.parameters import Argument, Context, Option
from sdb.cli.tablenames import named_table, named_versions
from sdb.errors import UsageError
from sdb.typed import Annotated

EXAMPLES = ("sdb tag --root lake web.gha@-1 before-june", "sdb tag --root lake web.gha")


def command(
    context: Context,
    name: TableVersion,
    tag: Annotated[
        str | None, Argument(metavar="[NAME]", help="The tag; all are listed if not given.")
    ] = None,
    delete: Annotated[bool, Option("--delete", "-d", help="Take the tag away.")] = False,
    force: Annotated[bool, Option("--force", help="Move a tag that is there.")] = False,
    root: Root = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Give a version of a table a name; it is kept as long as it has one."""
    from sdb.table.history import setrefs

    place = table_root(context, root)
    database, table, reference = named_table(name)
    if tag is None and delete:
        raise UsageError("which tag to delete is not clear", expected="-d DB.TABLE NAME")
    if tag is None:
        named_versions(place, database, table, "tag", as_json=as_json)
    elif delete:
        setrefs.delete_tag(place, database, table, tag)
    else:
        found = setrefs.tag(place, database, table, tag, reference or "main", overwrite=force)
        if as_json:
            output.say_json(found.as_dict())
        elif not quiet:
            text = f"{tag} is version {found.version} of {database}.{table}"
            output.say(output.plain(f"sdb: {text}"), to=sys.stderr)
