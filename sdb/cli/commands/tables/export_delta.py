"""`sdb export delta`."""

from __future__ import annotations

from sdb.cli.options import AsJson, NextWord, ProgressMode, Quiet, Root, Threads, table_root
from sdb.cli.parameters import Argument, Context, Option
from sdb.cli.render.mirrored import Reporting, follow_mirror
from sdb.cli.tablenames import joined_table, named_table
from sdb.errors import UsageError
from sdb.typed import Annotated

EXAMPLES = (
    "sdb export delta --root lake web.gha mirror",
    "sdb export delta --root lake web.gha s3://bucket/gha --follow --interval 30s",
)


def command(
    context: Context,
    name: Annotated[
        str, Argument(metavar="DB.TABLE", help="The table; DB TABLE, two words, works as well.")
    ],
    target: Annotated[
        str, Argument(metavar="DEST", help="The Delta table: a folder, or s3://bucket/prefix.")
    ],
    last: NextWord = None,
    follow: Annotated[
        bool, Option("--follow", help="Keep running: mirror versions as they are made.")
    ] = False,
    interval: Annotated[
        str | None,
        Option("--interval", metavar="TIME", help="Time between looks of --follow; default: 10s."),
    ] = None,
    squash: Annotated[
        bool, Option("--squash", help="Make one commit of all versions that are new.")
    ] = False,
    restart: Annotated[
        bool,
        Option("--restart", help="Replace what is there by the newest version, in one commit."),
    ] = False,
    threads: Threads = None,
    root: Root = None,
    progress: ProgressMode = "auto",
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> int | None:
    """Mirror a table as a Delta table, which other engines read.

    Each version becomes one commit, once, however often this is run. Packfiles become Parquet
    files; those that are there already are not written again.
    """
    from sdb.cli.meter import Meter
    from sdb.exchange.mirror import DeltaMirror

    name, words = joined_table(name, target, last)
    if not words:
        raise UsageError(f"{name} is the table: no place to export it to", expected="DB.TABLE DEST")
    database, table, reference = named_table(name)
    if reference:
        raise UsageError(
            f"{name} is a version: a mirror has all versions of the branch main",
            expected="DB.TABLE",
        )
    if interval is not None and not follow:
        raise UsageError("--interval is for --follow")
    reporting = Reporting(as_json=as_json, quiet=quiet)
    mirror = DeltaMirror(
        table_root(context, root),
        database,
        table,
        words[0],
        squash=squash,
        restart=restart,
        threads=threads,
    )
    if follow:
        return follow_mirror(mirror, interval, reporting)
    with Meter("exporting", progress, quiet=quiet) as meter:
        mirror.progress = meter
        report = mirror.update()
    reporting.report(report)
    return None
