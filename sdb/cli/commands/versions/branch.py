"""`sdb branch`."""

from __future__ import annotations

from sdb.cli import output
from sdb.cli.options import AsJson, At, NextWord, TableVersion
from sdb.cli.parameters import Argument, Option, TableContext
from sdb.cli.tablenames import joined_table, named_table, named_versions
from sdb.cli.values import table_root
from sdb.errors import UsageError
from sdb.typed import Annotated

EXAMPLES = ("sdb branch --root lake web.gha audit", "sdb branch --root lake web.gha")


def command(
    context: TableContext,
    name: TableVersion,
    branch: Annotated[
        str | None, Argument(metavar="[NAME]", help="The branch; default: list all.")
    ] = None,
    last: NextWord = None,
    delete: Annotated[bool, Option("--delete", "-d", help="Delete the branch.")] = False,
    at: At = "",
    as_json: AsJson = False,
) -> None:
    """Create a branch of a table, or list its branches.

    It begins at the newest version, or at @REF. Readers see what is committed to it only if they
    name it; `sdb merge` brings it into another branch.
    """
    from sdb.table.history import setrefs

    location = table_root(context)
    name, words = joined_table(name, branch, last, at=at)
    branch = words[0] if words else None
    database, table, reference = named_table(name)
    if branch is None and delete:
        raise UsageError("no branch to delete given", expected="-d DB.TABLE NAME")
    if branch is None:
        named_versions(location, database, table, "branch", as_json=as_json)
    elif delete:
        setrefs.delete_branch(location, database, table, branch)
    else:
        branched = setrefs.branch(location, database, table, branch, reference or "main")
        if as_json:
            output.say_json(branched.as_dict())
        else:
            text = f"{branch} begins at version {branched.version} of {database}.{table}"
            output.note(text)
