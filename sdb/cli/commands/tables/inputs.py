"""`sdb inputs`."""

from __future__ import annotations

import sys
from itertools import islice

from sdb import bounds, sizes
from sdb.cli import output
from sdb.cli.options import AsJson, At, NextWord, TableVersion
from sdb.cli.parameters import InputContext, Option
from sdb.cli.tablenames import version_of
from sdb.cli.values import table_root
from sdb.typed import Annotated

EXAMPLES = (
    "sdb inputs --root lake web.gha",
    "sdb inputs --check --limit 100000 --json --root lake web gha",
)


def command(
    context: InputContext,
    name: TableVersion,
    table: NextWord = None,
    seek: Annotated[str, Option("--seek", metavar="URI", help="Start at this input.")] = "",
    limit: Annotated[
        int, Option("--limit", "-n", metavar="N", bounds=bounds.ROWS, help="Show at most N inputs.")
    ] = 1000,
    check: Annotated[
        bool, Option("--check", help="Find inputs that have changed or vanished since.")
    ] = False,
    at: At = "",
    as_json: AsJson = False,
) -> None:
    """List the inputs a table has taken, and those that failed.

    --check also finds inputs that have changed or vanished since: it reads local inputs, and lists
    the folders of those on S3.
    """
    from sdb.table.catalog.handle import open_table
    from sdb.table.sync.status import input_states

    database, table, reference = version_of(name, table, at)
    handle = open_table(table_root(context), database, table, at=reference)
    states = input_states(handle, seek=seek, check=check)
    listed = list(islice(states, limit))
    if as_json:
        output.say_json({"inputs": [state.as_dict() for state in listed]})
    elif check or sys.stdout.isatty():
        from sdb.view.tablelist import inputs

        if listed:
            output.say(output.plain(inputs(listed).removesuffix("\n")))
    else:
        for state in listed:
            output.say(output.plain(state.line))
    following = next(iter(handle.inputs.walk(listed[-1].path + "\0")), None) if listed else None
    if following is not None:
        shown = f"sdb: {sizes.counted(len(listed), 'input')} shown, there are more"
        output.say(shown, to=sys.stderr)
        hint = f"hint: --limit N shows more, --seek {following.path!r} goes on"
        output.say(output.plain(hint), to=sys.stderr)
