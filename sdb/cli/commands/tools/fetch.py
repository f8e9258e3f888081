"""`sdb fetch`."""

from __future__ import annotations

import sys

from sdb.cli import output
from sdb.cli.options import Replace, Verbose
from sdb.cli.parameters import Argument, TableContext
from sdb.cli.values import table_root
from sdb.typed import Annotated

EXAMPLES = (
    "sdb fetch --root lake db/web/gha/index",
    "sdb fetch --force --root lake db/web/gha/index",
)


def command(
    context: TableContext,
    keys: Annotated[list[str], Argument(metavar="KEY...", help="Keys of objects below the root.")],
    force: Replace = False,
    verbose: Verbose = False,
) -> None:
    """Copy objects of a root into the current folder.

    They get the last part of their names. Existing files are kept, unless --force is given.
    """
    from sdb.table.catalog.root import fetch_file

    location = table_root(context)
    for key in keys:
        if verbose:
            output.say(output.plain(f"fetching {key}..."), to=sys.stderr)
        fetch_file(location, key, overwrite=force)
