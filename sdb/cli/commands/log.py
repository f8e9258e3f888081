"""`sdb log`."""

from __future__ import annotations

from itertools import islice

from sdb import bounds
from sdb.cli import output
from sdb.cli.options import AsJson, Root, TableVersion
from sdb.cli.parameters import Context, Option
from sdb.cli.tablenames import opened_table, tell_pending
from sdb.typed import Annotated

EXAMPLES = ("sdb log --root lake web.gha", "sdb log -n 5 --stat --root lake web.gha@-1d")


def command(
    context: Context,
    name: TableVersion,
    count: Annotated[
        int, Option("-n", "--limit", metavar="N", bounds=bounds.ROWS, help="At most so many.")
    ] = 20,
    stat: Annotated[
        bool, Option("--stat", help="The packfiles that came and went with each, too.")
    ] = False,
    root: Root = None,
    as_json: AsJson = False,
) -> None:
    """List the versions of a table, the newest first.

    When, who, what changed, and why. With a version behind the name, those up to it.
    """
    from sdb.table.history.log import log, shown

    handle = opened_table(context, root, name)
    tell_pending(handle)
    found = list(islice(log(handle), count))
    changed = [shown(handle, one) for one in found] if stat else []
    if as_json:
        facts = [one.as_dict() for one in (changed or found)]
        output.say_json({"table": handle.name, "versions": facts})
        return
    from sdb.view.versionlist import versions

    text = versions(found, changed, columns=output.columns())
    if text:
        output.say(output.plain(text.removesuffix("\n")))
