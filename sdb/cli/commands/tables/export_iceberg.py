"""`sdb export iceberg`."""

from __future__ import annotations

from sdb.cli.options import NextWord
from sdb.cli.parameters import Argument, Option, TableContext
from sdb.cli.render.mirrored import (
    MIRROR_REPORTING,
    MIRRORING,
    Mirroring,
    MirrorReporting,
    mirrored_table,
    run_mirror,
)
from sdb.cli.values import table_root
from sdb.errors import UsageError
from sdb.typed import Annotated

EXAMPLES = (
    "sdb export iceberg --root lake web.gha prod/web.gha",
    "sdb export iceberg --root lake web.gha http://host:8181/web.gha --follow",
)


def command(
    context: TableContext,
    name: Annotated[
        str, Argument(metavar="DB.TABLE", help="The table; DB TABLE, two words, works as well.")
    ],
    target: Annotated[
        str,
        Argument(
            metavar="CATALOG/NAME",
            help="URI of a catalog, or its name for pyiceberg, and NAMESPACE.TABLE in it.",
        ),
    ],
    last: NextWord = None,
    mirroring: Mirroring = MIRRORING,
    option: Annotated[
        list[str] | None,
        Option(
            "--property", metavar="NAME=VALUE", help="Property of the catalog, such as warehouse."
        ),
    ] = None,
    report: MirrorReporting = MIRROR_REPORTING,
) -> int | None:
    """Mirror a table as an Iceberg table, in a catalog that exists.

    Each version becomes one snapshot, once, however often this is run. Packfiles become Parquet
    files; those that are there already are not written again.
    """
    from sdb.exchange.mirror import TableMirror
    from sdb.iceberg.log import named_iceberg

    database, table, location = mirrored_table(name, target, last)
    properties = {}
    for assignment in option or ():
        key, equals, value = assignment.partition("=")
        if not equals or not key:
            raise UsageError(f"--property {assignment[:60]!r} is not NAME=VALUE")
        properties[key] = value
    mirror = TableMirror(
        table_root(context),
        database,
        table,
        location,
        squash=mirroring.squash,
        threads=mirroring.threads,
        log=named_iceberg(location, properties),
    )
    return run_mirror(mirror, mirroring, report)
