"""`sdb show`."""

from __future__ import annotations

from sdb.cli import output
from sdb.cli.options import AsJson, At, NextWord, Reference, TableVersion
from sdb.cli.parameters import TableContext
from sdb.cli.servers import server_table
from sdb.cli.tablenames import joined_table, opened_table, referring, tell_pending

EXAMPLES = ("sdb show --root lake web.gha 2", "sdb show --json --root lake web.gha@-1")


def command(
    context: TableContext,
    name: TableVersion,
    reference: Reference = None,
    last: NextWord = None,
    at: At = "",
    as_json: AsJson = False,
) -> None:
    """Show a version of a table: what it added and removed."""
    from sdb.table.history.log import show

    full_name, words = joined_table(name, reference, last, at=at)
    full_name = referring(full_name, *words) if words else full_name
    remote = server_table(context, full_name)
    if remote is not None:
        description = remote.show()
    else:
        handle = opened_table(context, full_name)
        tell_pending(handle)
        description = show(handle)
    if as_json:
        output.say_json(description.as_dict())
        return
    from sdb.view.versionlist import version

    output.say(output.plain(version(description, columns=output.columns()).removesuffix("\n")))
