"""`sdb tables`."""

from __future__ import annotations

from sdb.cli.options import AsJson, Root, table_root
from sdb.cli.parameters import Argument, Context
from sdb.cli.servers import list_server, server_of
from sdb.typed import Annotated

EXAMPLES = ("sdb tables --root lake", "sdb tables --json --root lake web")


def command(
    context: Context,
    database: Annotated[
        str | None, Argument(metavar="[DB]", help="The database; default: all.")
    ] = None,
    root: Root = None,
    as_json: AsJson = False,
) -> int:
    """List tables: rows, bytes, packfiles, newest row, last change.

    Only the index of each table is read. A damaged table is reported on standard error, and the
    others are listed.
    """
    from sdb.cli.render.tables import databases_of, list_tables

    server = server_of(context, root)
    if server is not None:
        return list_server(server, database, None, as_json=as_json)
    location = table_root(context, root)
    databases = databases_of(location, database)
    names = ((name, table) for name in databases for table in location.folders(name))
    return list_tables(location, names, dropped=False, as_json=as_json)
