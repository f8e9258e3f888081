"""`sdb export delta`."""

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
    "sdb export delta --root lake web.gha mirror",
    "sdb export delta --root lake web.gha s3://bucket/gha --follow --interval 30s",
)


def command(
    context: TableContext,
    name: Annotated[
        str, Argument(metavar="DB.TABLE", help="The table; DB TABLE, two words, works as well.")
    ],
    target: Annotated[
        str, Argument(metavar="DEST", help="The Delta table: a folder, or s3://bucket/prefix.")
    ],
    last: NextWord = None,
    mirroring: Mirroring = MIRRORING,
    restart: Annotated[
        bool,
        Option("--restart", help="Replace what is there by the newest version, in one commit."),
    ] = False,
    variant: Annotated[
        str,
        Option(
            "--variant", metavar="FORM", help="Form of values of several types: text, their JSON."
        ),
    ] = "text",
    report: MirrorReporting = MIRROR_REPORTING,
) -> int | None:
    """Mirror a table as a Delta table, which other engines read.

    Each version becomes one commit, once, however often this is run. Packfiles become Parquet
    files; those that are there already are not written again.
    """
    from sdb.exchange.mirror import TableMirror
    from sdb.query.rows.mirrorcolumns import packfile_columns

    if variant != "text":
        raise UsageError(
            f"--variant {variant[:40]}: values of several types become JSON text",
            expected="text",
            hint="pyarrow cannot write the type VARIANT yet",
        )
    database, table, location = mirrored_table(name, target, last)
    mirror = TableMirror(
        table_root(context),
        database,
        table,
        location,
        squash=mirroring.squash,
        restart=restart,
        threads=mirroring.threads,
        read=packfile_columns,
    )
    return run_mirror(mirror, mirroring, report)
