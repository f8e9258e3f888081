"""`sdb drop`."""

from __future__ import annotations

import sys

from sdb.cli import output
from sdb.cli.options import AsJson, DryRun, Message, NextWord, TableName
from sdb.cli.parameters import TableContext
from sdb.cli.tablenames import author, check_has_rows, is_view, quoted, table_of
from sdb.cli.values import table_root

EXAMPLES = (
    "sdb drop --dry-run --root lake web.gha",
    "sdb drop --root lake web.gha -m 'not needed'",
)


def command(
    context: TableContext,
    name: TableName,
    table: NextWord = None,
    message: Message = "",
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Drop a table or a view; sdb undrop brings it back.

    Nothing is deleted: the versions before can be read until they expire and are collected. A table
    with branches is not dropped, nor one whose packfiles another table shares.
    """
    from sdb.cli.render.exec import lines_of
    from sdb.statements.execute import execute

    location = table_root(context)
    names = table_of(name, table)
    check_has_rows(location, *names)
    kind = "VIEW" if is_view(location, *names) else "TABLE"
    text = f"DROP {kind} {quoted(*names)}"
    (done,) = execute(text, root=location, author=author(), message=message, dry_run=dry_run)
    if as_json:
        output.say_json(done.as_dict())
        return
    for line in lines_of(done, verbose=False):
        output.say(output.plain(line))
    if not (output.is_quiet() or dry_run):
        shown = ".".join(names)
        until = ", until its versions expire (sdb expire)" if kind == "TABLE" else ""
        text = f"hint: sdb undrop {shown} brings it back{until}"
        output.say(output.plain(text), to=sys.stderr)
