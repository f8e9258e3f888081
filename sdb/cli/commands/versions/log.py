"""`sdb log`."""

from __future__ import annotations

from itertools import islice

from sdb import bounds
from sdb.cli import output
from sdb.cli.options import AsJson, At, NextWord, Reference, TableVersion
from sdb.cli.parameters import Option, TableContext
from sdb.cli.servers import server_table
from sdb.cli.tablenames import (
    joined_table,
    named_table,
    opened_table,
    referring,
    tell_pending,
)
from sdb.cli.values import table_root
from sdb.typed import Annotated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.table.catalog.root import TableRoot

EXAMPLES = ("sdb log --root lake web.gha", "sdb log -n 5 --stat --root lake web.gha@-1d")


def command(
    context: TableContext,
    name: TableVersion,
    reference: Reference = None,
    last: NextWord = None,
    count: Annotated[
        int,
        Option("--limit", "-n", metavar="N", bounds=bounds.ROWS, help="Show at most N versions."),
    ] = 20,
    stat: Annotated[
        bool, Option("--stat", help="Also list the packfiles that each added and removed.")
    ] = False,
    at: At = "",
    as_json: AsJson = False,
) -> None:
    """List the versions of a table or a view, the newest first.

    Shows when each was made, by whom, what changed, and why. With @REF: the versions up to it.
    """
    from sdb.table.history.log import log, shown

    full_name, words = joined_table(name, reference, last, at=at)
    full_name = referring(full_name, *words) if words else full_name
    remote = server_table(context, full_name)
    if remote is not None:
        listed = list(islice(remote.log(), count))
        changed = [remote.shown(entry) for entry in listed] if stat else []
    elif _is_view(table_root(context), full_name, count, as_json=as_json):
        return
    else:
        handle = opened_table(context, full_name)
        tell_pending(handle)
        listed = list(islice(log(handle), count))
        changed = [shown(handle, entry) for entry in listed] if stat else []
    if as_json:
        facts = [entry.as_dict() for entry in (changed or listed)]
        plain_name = full_name.partition("@")[0]
        output.say_json({"table": plain_name, "versions": facts})
        return
    from sdb.view.versionlist import versions

    text = versions(listed, changed, columns=output.columns())
    if text:
        output.say(output.plain(text.removesuffix("\n")))


def _is_view(root: TableRoot, name: str, count: int, *, as_json: bool) -> bool:
    """List the versions of a view, also of one that was dropped; False: the name is a table's."""
    from sdb.table.catalog.handle import find_table
    from sdb.table.catalog.views import find_name
    from sdb.table.format.keys import TableKeys

    database, table, reference = named_table(name)
    if find_table(root, database, table) is not None:
        return False
    read = find_name(root, TableKeys(database, table))
    if read is None or not read.view.versions:
        return False
    newest_first = list(reversed(read.view.versions))
    if reference:
        from sdb.table.catalog.views import View

        last = read.view.versions[-1]
        upto, _ = View(database, table, last, read.view.versions).at(reference)
        newest_first = [version for version in newest_first if version.version <= upto.version]
    if as_json:
        versions_listed = [version.as_dict() for version in newest_first[:count]]
        output.say_json({"view": f"{database}.{table}", "versions": versions_listed})
        return True
    from sdb.view.viewlist import versions

    output.say(output.plain(versions(newest_first[:count]).removesuffix("\n")))
    return True
