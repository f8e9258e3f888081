"""`sdb ls`."""

from __future__ import annotations

from sdb.cli.options import AsJson
from sdb.cli.parameters import Argument, Option, TableContext
from sdb.cli.servers import list_server, refuse_options, server_of
from sdb.cli.values import table_root
from sdb.store.url import is_server
from sdb.typed import Annotated

EXAMPLES = (
    "sdb ls --root lake",
    "sdb ls lake",
    "sdb ls --root lake 'web.g*'",
    "sdb ls --root lake web.gha",
    "sdb ls --dropped lake",
    "sdb ls --views --root lake",
)


def command(
    context: TableContext,
    what: Annotated[
        str | None,
        Argument(
            metavar="[ROOT|DB|DB.TABLE]",
            help="A root, a database, a table or view, or a pattern; default: all tables.",
        ),
    ] = None,
    dropped: Annotated[
        bool, Option("--dropped", help="List the tables that sdb undrop can bring back.")
    ] = False,
    is_views: Annotated[
        bool, Option("--views", help="List views instead: queries, versions, authors.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """List tables or views, or the branches and tags of a table.

    Of each table only the index is read: rows, bytes, packfiles, newest row, last change. A damaged
    one is reported on standard error, and the others are listed. A word that names a database or
    table is one; any other is a root.
    """
    from sdb.cli.render.tables import databases_of, list_tables, list_versions, list_views
    from sdb.cli.tablenames import listed_place

    server = server_of(context.at(what) if what is not None and is_server(what) else context)
    if server is not None:
        refuse_options(dropped=dropped, views=is_views)
        database, _, table = ("" if is_server(what or "") else what or "").partition(".")
        return list_server(server, database or None, table or None, as_json=as_json)
    rooted, name, pattern = listed_place(context, what)
    location = table_root(rooted)
    if is_views:
        return list_views(location, name, pattern, as_json=as_json)
    databases = databases_of(location, name)
    if name is not None and pattern is not None and set(pattern).isdisjoint("*?[") and not dropped:
        return list_versions(location, name, pattern, as_json=as_json)
    from fnmatch import fnmatchcase

    names = (
        (database, table)
        for database in databases
        for table in location.folders(database)
        if fnmatchcase(table, pattern or "*")
    )
    return list_tables(location, names, dropped=dropped, as_json=as_json)
