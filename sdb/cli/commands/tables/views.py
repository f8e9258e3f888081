"""`sdb views`."""

from __future__ import annotations

from sdb.cli import output
from sdb.cli.options import AsJson, Root, table_root
from sdb.cli.parameters import Argument, Context
from sdb.errors import NotFoundError
from sdb.typed import Annotated

EXAMPLES = ("sdb views --root lake", "sdb views --json --root lake 'web.*'")


def command(
    context: Context,
    what: Annotated[
        str | None,
        Argument(metavar="[DB|DB.VIEW]", help="A database, a view, or a pattern; default: all."),
    ] = None,
    root: Root = None,
    as_json: AsJson = False,
) -> int:
    """List views: their queries, versions and authors.

    CREATE VIEW and DROP VIEW of sdb exec make and drop them; sdb log lists the versions of a view.
    """
    from fnmatch import fnmatchcase

    from sdb.table.catalog.views import views
    from sdb.view.viewlist import listed

    location = table_root(context, root)
    database, _, pattern = (what or "").partition(".")
    listing = [
        view
        for view in views(location, database or None)
        if not pattern or fnmatchcase(view.view, pattern)
    ]
    if pattern and not listing and set(pattern).isdisjoint("*?["):
        message = f"there is no view {what} below {location.location}"
        raise NotFoundError(message, hint="sdb views lists them, and sdb tables the tables")
    if as_json:
        output.say_json({"root": location.location, "views": [view.as_dict() for view in listing]})
    elif listing:
        output.say(output.plain(listed(listing).removesuffix("\n")))
    return 0
