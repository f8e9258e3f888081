"""`sdb restore`."""

from __future__ import annotations

from sdb.cli import output
from sdb.cli.options import AsJson, At, Branch, Message, NextWord, Reference, TableVersion
from sdb.cli.parameters import TableContext
from sdb.cli.tablenames import author, joined_table, named_table
from sdb.cli.values import table_root
from sdb.errors import UsageError

EXAMPLES = ("sdb restore --root lake web.gha 2", "sdb restore --root lake web.gha@-1 -m 'bad day'")


def command(
    context: TableContext,
    name: TableVersion,
    reference: Reference = None,
    last: NextWord = None,
    message: Message = "",
    at: At = "",
    branch: Branch = "main",
    as_json: AsJson = False,
) -> None:
    """Make a new version with the content of an old one.

    Its inputs are restored, too: the next sync takes those again that came in between. The versions
    in between stay in the history.
    """
    from sdb.table.format.keys import TableKeys
    from sdb.table.history.restore import restore

    name, words = joined_table(name, reference, last, at=at)
    reference = words[0] if words else ""
    database, table, behind = named_table(name)
    if bool(reference) == bool(behind):
        raise UsageError("no version to restore given", expected="DB.TABLE REF")
    wanted = reference or behind
    restored = restore(
        table_root(context),
        TableKeys(database, table),
        wanted,
        branch=branch,
        author=author(),
        message=message,
    )
    if as_json:
        output.say_json(restored.as_dict())
    else:
        old = wanted if restored.restored is None else f"version {restored.restored}"
        text = f"version {restored.version} of {database}.{table} has the content of {old}"
        if not restored.is_new:
            text = f"version {restored.version} of {database}.{table} has that content already"
        output.note(text)
