"""`sdb inputs`."""

from __future__ import annotations

import sys
from itertools import islice

from sdb import bounds
from sdb.cli import output
from sdb.cli.options import AllowInputs, AsJson, At, Database, Root, Table, table_root
from sdb.cli.parameters import Context, Option
from sdb.typed import Annotated

EXAMPLES = (
    "sdb inputs --root lake web gha",
    "sdb inputs --check --limit 100000 --json --root lake web gha",
)


def command(
    context: Context,
    database: Database,
    table: Table,
    seek: Annotated[str, Option("--seek", metavar="URI", help="The first one to show.")] = "",
    limit: Annotated[
        int, Option("--limit", metavar="N", bounds=bounds.ROWS, help="At most so many.")
    ] = 1000,
    check: Annotated[
        bool, Option("--check", help="Look for those that have changed or vanished.")
    ] = False,
    at: At = "",
    allow_inputs: AllowInputs = None,
    root: Root = None,
    as_json: AsJson = False,
) -> None:
    """List the inputs that a table has taken, and those that have failed.

    With --check also those that are not any more what was taken: local inputs are read for that,
    and the folders of those on S3 listed.
    """
    from sdb.table.catalog.handle import open_table
    from sdb.table.sync.status import input_states

    handle = open_table(table_root(context, root, allow_inputs), database, table, at=at)
    states = input_states(handle, seek=seek, check=check)
    found = list(islice(states, limit))
    if as_json:
        output.say_json({"inputs": [one.as_dict() for one in found]})
    elif check or sys.stdout.isatty():
        from sdb.view.tablelist import inputs

        if found:
            output.say(output.plain(inputs(found).removesuffix("\n")))
    else:
        for one in found:
            output.say(output.plain(one.line))
    following = next(iter(handle.inputs.walk(found[-1].path + "\0")), None) if found else None
    if following is not None:
        shown = f"sdb: {len(found):,} inputs shown, there are more"
        output.say(shown, to=sys.stderr)
        hint = f"hint: --limit N shows more, --seek {following.path!r} goes on"
        output.say(output.plain(hint), to=sys.stderr)
