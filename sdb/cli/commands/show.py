"""`sdb show`."""

from __future__ import annotations

from sdb.cli import output
from sdb.cli.options import AsJson, Root, TableVersion
from sdb.cli.parameters import Context
from sdb.cli.tablenames import opened_table, tell_pending

EXAMPLES = ("sdb show --root lake web.gha@2", "sdb show --json --root lake web.gha@-1")


def command(
    context: Context, name: TableVersion, root: Root = None, as_json: AsJson = False
) -> None:
    """Show a version of a table, and what came and went with it."""
    from sdb.table.history.log import show

    handle = opened_table(context, root, name)
    tell_pending(handle)
    found = show(handle)
    if as_json:
        output.say_json(found.as_dict())
        return
    from sdb.view.versionlist import version

    output.say(output.plain(version(found, columns=output.columns()).removesuffix("\n")))
