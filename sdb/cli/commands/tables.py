"""`sdb tables`."""

from __future__ import annotations

from sdb.cli import output
from sdb.cli.options import AsJson, Root, table_root
from sdb.cli.parameters import Argument, Context
from sdb.errors import CorruptError, NotFoundError, UnsupportedError
from sdb.typed import Annotated

EXAMPLES = ("sdb tables --root lake", "sdb tables --json --root lake web")


def command(
    context: Context,
    database: Annotated[
        str | None, Argument(metavar="[DB]", help="The database; all if not given.")
    ] = None,
    root: Root = None,
    as_json: AsJson = False,
) -> int:
    """List tables: rows, bytes, packfiles, newest row, last change.

    Of each table only the index is read. A table whose index is damaged is told of on standard
    error, and the others are listed.
    """
    from sdb.table.catalog.handle import find_table
    from sdb.table.inspect.describe import facts
    from sdb.view.tablelist import tables

    place = table_root(context, root)
    if database is not None and database not in place.databases():
        raise NotFoundError(f"there is no database {database} below {place.location}")
    found, code = [], 0
    for name in place.databases() if database is None else [database]:
        for table in place.tables(name):
            try:
                handle = find_table(place, name, table)
                if handle is not None and not handle.is_dropped:
                    found.append(facts(handle))
            except (CorruptError, UnsupportedError) as error:
                output.complain(f"{name}.{table}: {error.message}", error.hint)
                code = error.exit_code
    if as_json:
        output.say_json({"root": place.location, "tables": [one.as_dict() for one in found]})
    elif found:
        output.say(output.plain(tables(found, columns=output.columns()).removesuffix("\n")))
    return code
