"""`sdb rename`."""

from __future__ import annotations

from sdb.cli import output
from sdb.cli.meter import Meter
from sdb.cli.options import AsJson, Message, NextWord, ProgressMode, TableName
from sdb.cli.parameters import Argument, TableContext
from sdb.cli.tablenames import author, joined_table, table_of
from sdb.cli.values import table_root
from sdb.typed import Annotated

EXAMPLES = (
    "sdb rename --root lake web.gha web.events",
    "sdb rename --root lake web.events web.gha2 -m 'as others call it'",
)


def command(
    context: TableContext,
    name: TableName,
    new: Annotated[str, Argument(metavar="DB.NEW", help="The new name.")],
    last: NextWord = None,
    message: Message = "",
    progress: ProgressMode = "auto",
    as_json: AsJson = False,
) -> None:
    """Rename a table, at once for all readers.

    Packfiles are copied by the file system or the store where these can. The history and its tags
    stay with the old name, which is dropped. Run a rename that was interrupted again: it continues.
    """
    from sdb.table.format.keys import TableKeys
    from sdb.table.history.rename import rename

    name, words = joined_table(name, new, last)
    source = TableKeys(*table_of(name, None))
    target = TableKeys(*table_of(words[0] if words else "", None))
    with Meter("copying", progress) as meter:
        done = rename(
            table_root(context),
            source,
            target,
            author=author(),
            message=message,
            progress=meter,
        )
    if as_json:
        output.say_json(done.as_dict())
    else:
        text = f"{name} is {done.name} now; the history stays with the old name, now dropped"
        output.note(text)
