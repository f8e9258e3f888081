"""`sdb tag`."""

from __future__ import annotations

from sdb.cli import output
from sdb.cli.options import AsJson, At, NextWord, TableVersion
from sdb.cli.parameters import Argument, Option, TableContext
from sdb.cli.tablenames import joined_table, named_table, named_versions
from sdb.cli.values import table_root
from sdb.errors import UsageError
from sdb.typed import Annotated

EXAMPLES = ("sdb tag --root lake web.gha@-1 before-june", "sdb tag --root lake web.gha")


def command(
    context: TableContext,
    name: TableVersion,
    tag: Annotated[
        str | None, Argument(metavar="[NAME]", help="The tag; default: list all.")
    ] = None,
    last: NextWord = None,
    delete: Annotated[bool, Option("--delete", "-d", help="Delete the tag.")] = False,
    force: Annotated[bool, Option("--force", help="Move an existing tag.")] = False,
    at: At = "",
    as_json: AsJson = False,
) -> None:
    """Name a version of a table, or list its tags.

    A version that has a tag does not expire.
    """
    from sdb.table.history import setrefs

    location = table_root(context)
    name, words = joined_table(name, tag, last, at=at)
    tag = words[0] if words else None
    database, table, reference = named_table(name)
    if tag is None and delete:
        raise UsageError("no tag to delete given", expected="-d DB.TABLE NAME")
    if tag is None:
        named_versions(location, database, table, "tag", as_json=as_json)
    elif delete:
        setrefs.delete_tag(location, database, table, tag)
    else:
        tagged = setrefs.tag(location, database, table, tag, reference or "main", overwrite=force)
        if as_json:
            output.say_json(tagged.as_dict())
        else:
            text = f"{tag} is version {tagged.version} of {database}.{table}"
            output.note(text)
