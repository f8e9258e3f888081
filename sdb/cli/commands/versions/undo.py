"""`sdb undo`."""

from __future__ import annotations

from sdb.cli import output
from sdb.cli.options import AsJson, Branch, DryRun, Message, NextWord, TableVersion
from sdb.cli.parameters import TableContext
from sdb.cli.tablenames import author, branch_of, joined_table
from sdb.cli.values import table_root

EXAMPLES = ("sdb undo --root lake web.gha", "sdb undo --dry-run --root lake web.gha@main")


def command(
    context: TableContext,
    name: TableVersion,
    table: NextWord = None,
    message: Message = "",
    dry_run: DryRun = False,
    branch: Branch = "main",
    as_json: AsJson = False,
) -> None:
    """Undo the last change of a table, in a new version.

    The version that is undone stays in the history, and undoing once more brings its change back.
    """
    from sdb.table.history.undo import undo

    database, table_name, branch = branch_of(joined_table(name, table)[0], branch)
    undone = undo(
        table_root(context),
        database,
        table_name,
        branch=branch,
        author=author(),
        message=message,
        dry_run=dry_run,
    )
    if as_json:
        output.say_json(undone.as_dict())
    else:
        from sdb.view.versionlist import change_line

        done = undone.restored
        outcome = "would be undone" if done is None else f"is undone in version {done.version}"
        text = f"{database}.{table_name}: version {undone.change.version} {outcome}"
        output.note(f"{text}: {change_line(undone.change)}")
