"""`sdb merge`."""

from __future__ import annotations

import sys

from sdb import notes, sizes
from sdb.cli import output
from sdb.cli.options import AsJson, Message, NextWord, TableName, Yes
from sdb.cli.output import agreed, can_ask
from sdb.cli.parameters import Argument, Option, TableContext, Together
from sdb.cli.tablenames import author, joined_table, named_table
from sdb.cli.values import table_root
from sdb.errors import UsageError
from sdb.records import record
from sdb.typed import Annotated

EXAMPLES = (
    "sdb merge --root lake web.gha audit",
    "sdb merge --root lake web.gha main --into audit --strategy dest",
)


@record
class _Merging(Together):
    """The packfiles that are merged, and the side that wins conflicts."""

    strategy: Annotated[
        str,
        Option(
            "--strategy",
            metavar="source|dest",
            help="Resolve conflicts: take the side of SOURCE, or that of --into.",
        ),
    ] = ""
    only: Annotated[
        str,
        Option(
            "--only",
            metavar="PATTERN",
            help="Merge only packfiles whose keys match (data/region=eu/*).",
        ),
    ] = ""
    yes: Yes = False


MERGING = _Merging()


def command(
    context: TableContext,
    name: TableName,
    source: Annotated[
        str | None,
        Argument(metavar="[SOURCE]", help="The branch, or a version; DB.TABLE@SOURCE works, too."),
    ] = None,
    last: NextWord = None,
    into: Annotated[
        str, Option("--into", metavar="BRANCH", help="Branch that gets the changes.")
    ] = "main",
    merging: _Merging = MERGING,
    message: Message = "",
    as_json: AsJson = False,
) -> None:
    """Merge a branch of a table into another one, in one version.

    Changes of different rows merge. A row that both sides have changed to different values is a
    conflict: it is listed with its values, nothing changes, and the exit code is 5. --strategy asks
    on a terminal before it drops rows of one side; a script needs --yes for that.
    """
    from sdb.cli.render.merge import conflict_dict, conflict_lines, merged_text
    from sdb.table.history.merge import MergeConflictError, merge

    name, words = joined_table(name, source, last)
    source = words[0] if words else ""
    database, table, behind = named_table(name)
    if bool(source) == bool(behind):
        raise UsageError("no branch to merge given", expected="DB.TABLE BRANCH")
    source = source or behind
    location = table_root(context)

    def confirm(rows: int) -> bool:
        loser = into if merging.strategy == "source" else source
        what = f"{sizes.counted(rows, 'row')} that {loser} has changed"
        line = f"--strategy {merging.strategy} drops {what}"
        return merging.yes or (can_ask() and agreed(f"{line}. Go on?"))

    try:
        merged = merge(
            location,
            database,
            table,
            source,
            into=into,
            strategy=merging.strategy,
            only=merging.only,
            author=author(),
            message=message,
            confirm=confirm,
        )
    except MergeConflictError as error:
        for line in conflict_lines(error, source, into):
            output.say(output.plain(line), to=sys.stderr)
        if as_json:
            output.say_json(conflict_dict(error))
        raise
    if merged.dropped:
        loser = into if merging.strategy == "source" else source
        what = sizes.counted(merged.dropped, "row")
        notes.warn(f"--strategy {merging.strategy} dropped {what} that {loser} had changed")
    if as_json:
        output.say_json(merged.as_dict())
    else:
        text = merged_text(merged, f"{database}.{table}", source, into)
        output.note(text)
