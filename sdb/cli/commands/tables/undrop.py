"""`sdb undrop`."""

from __future__ import annotations

from sdb.cli import output
from sdb.cli.options import AsJson, Message, NextWord, TableName
from sdb.cli.parameters import TableContext
from sdb.cli.tablenames import author, is_view, table_of
from sdb.cli.values import table_root

EXAMPLES = (
    "sdb drop --root lake web.gha && sdb undrop --root lake web.gha",
    "sdb ls --dropped lake",
)


def command(
    context: TableContext,
    name: TableName,
    table: NextWord = None,
    message: Message = "",
    as_json: AsJson = False,
) -> None:
    """Bring a table or a view back that was dropped.

    It has the rows, inputs, tags and versions that it had before. sdb ls --dropped lists the tables
    that can be brought back.
    """
    from sdb.table.history.restore import undrop

    location = table_root(context)
    names = table_of(name, table)
    if is_view(location, *names, dropped=True):
        from sdb.table.commit.views import undrop_view
        from sdb.table.format.keys import TableKeys

        view = undrop_view(location, TableKeys(*names), author=author(), message=message)
        if as_json:
            output.say_json({"version": view.version, "restored": None, "new": view.is_new})
            return
        text = f"brought the view {'.'.join(names)} back: version {view.version}"
        output.say(output.plain(text))
        return
    done = undrop(location, *names, author=author(), message=message)
    if as_json:
        output.say_json(done.as_dict())
        return
    text = f"brought {'.'.join(names)} back: version {done.version}"
    output.say(output.plain(text))
