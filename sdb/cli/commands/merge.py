"""`sdb merge`."""

from __future__ import annotations

import sys

from sdb.cli import output
from sdb.cli.options import AsJson, Message, Quiet, Root, table_root
from sdb.cli.parameters import Argument, Context, Option
from sdb.cli.tablenames import author, named_table
from sdb.errors import UsageError
from sdb.typed import Annotated

EXAMPLES = (
    "sdb merge --root lake web.gha audit",
    "sdb merge --root lake web.gha main --into audit --strategy dest",
)


def command(
    context: Context,
    name: Annotated[str, Argument(metavar="DB.TABLE", help="The table.")],
    source: Annotated[
        str | None,
        Argument(metavar="[SOURCE]", help="The branch, or a version, if not behind an @."),
    ] = None,
    into: Annotated[
        str, Option("--into", metavar="BRANCH", help="The branch that gets the changes.")
    ] = "main",
    strategy: Annotated[
        str,
        Option(
            "--strategy",
            metavar="source|dest",
            help="What counts where both sides have changed the same.",
        ),
    ] = "",
    only: Annotated[
        str, Option("--only", metavar="PATTERN", help="Only packfiles that it matches.")
    ] = "",
    message: Message = "",
    root: Root = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Bring what a branch has changed into another one, in one version.

    Rows that were added always merge. What both sides have rewritten is a conflict (exit code 5),
    which is listed, and nothing changes.
    """
    from sdb.table.history.merge import MergeConflictError, merge

    database, table, behind = named_table(name)
    if bool(source) == bool(behind):
        raise UsageError("which branch to merge is not clear", expected="DB.TABLE BRANCH")
    source = source or behind
    place = table_root(context, root)
    try:
        found = merge(
            place,
            database,
            table,
            source,
            into=into,
            strategy=strategy,
            only=only,
            author=author(),
            message=message,
        )
    except MergeConflictError as error:
        for one in (*error.packfiles, *error.inputs):
            output.say(output.plain(f"conflict: {one}"), to=sys.stderr)
        raise
    if as_json:
        output.say_json(found.as_dict())
    elif not quiet:
        text = f"{into} has all of {source} already"
        if found.is_new:
            came, went = len(found.added), len(found.removed)
            text = f"version {found.version} of {database}.{table}: {came:,} packfiles came"
            text += f", {went:,} went"
        output.say(output.plain(f"sdb: {text}"), to=sys.stderr)
