"""`sdb sync`."""

from __future__ import annotations

import sys

from sdb import notes
from sdb.cli import output
from sdb.cli.meter import Meter
from sdb.cli.options import (
    AsJson,
    Branch,
    Database,
    ProgressMode,
    Quiet,
    Root,
    Threads,
    Verbose,
    table_root,
)
from sdb.cli.output import prepare
from sdb.cli.parameters import Argument, Context, Option
from sdb.cli.tablenames import author
from sdb.errors import SdbError
from sdb.typed import Annotated

EXAMPLES = (
    "sdb sync --root lake web",
    "sdb sync --dry-run --json --root lake web 'gh*'",
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.table.tablesync import Synced


def command(
    context: Context,
    database: Database,
    pattern: Annotated[
        str, Argument(metavar="PATTERN", help="Names of tables, as in 'gh*'; all if not given.")
    ] = "*",
    dry_run: Annotated[
        bool, Option("--dry-run", "-n", help="Only tell what would be taken.")
    ] = False,
    retry: Annotated[
        bool, Option("--retry", help="Try inputs again that failed and have not changed.")
    ] = False,
    changed: Annotated[
        str,
        Option(
            "--changed",
            metavar="keep|fail",
            help="What of inputs that are not what was taken.",
            values=("keep", "fail"),
        ),
    ] = "keep",
    branch: Branch = "main",
    root: Root = None,
    threads: Threads = None,
    progress: ProgressMode = "auto",
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Take the inputs that are new into tables, each one once.

    What cannot be read is told, recorded and left out (exit code 1).
    """
    from sdb.table.tablesync import sync_table, tables_to_sync

    prepare(verbose=verbose, quiet=quiet)
    place = table_root(context, root)
    found: list[Synced] = []
    failures: list[SdbError] = []
    tables = tables_to_sync(place, database, pattern)
    if not tables:
        notes.warn(
            f"no table of {database} below {place.location} has a definition and fits {pattern!r}"
        )
    for table in tables:
        try:
            with Meter(f"syncing {table}", progress, quiet=quiet) as meter:
                synced = sync_table(
                    place,
                    database,
                    table,
                    dry_run=dry_run,
                    retry=retry,
                    changed=changed,
                    branch=branch,
                    author=author(),
                    threads=threads,
                    progress=meter,
                )
        except SdbError as error:
            failures.append(error)
            continue
        found.append(synced)
        _tell(synced, dry_run=dry_run, verbose=verbose, quiet=quiet)
    if as_json:
        output.say_json({"tables": [one.as_dict() for one in found]})
    for failure in failures[1:]:
        output.complain(failure.message, failure.hint)
    if failures:
        raise failures[0]
    return int(any(one.rejected for one in found))


def _tell(synced: Synced, *, dry_run: bool, verbose: bool, quiet: bool) -> None:
    name = f"{synced.database}/{synced.table}"
    for one in synced.rejected:
        text = f"{name}: rejecting object: path {one.uri} etag {one.etag} {one.reason}"
        output.say(output.plain(text), to=sys.stderr)
    if quiet:
        return
    for what, uris in (("changed", synced.changed), ("vanished", synced.vanished)):
        if uris:
            more = f" and {len(uris) - 1:,} more" if uris[1:] else ""
            text = f"{name}: {uris[0]}{more} {what} after it was taken: the table keeps its rows"
            output.say(output.plain(text), to=sys.stderr)
    if dry_run:
        for uri in synced.taken:
            output.say(output.plain(f"{name}: would take {uri}"), to=sys.stderr)
    elif synced.version is not None and (verbose or sys.stderr.isatty()):
        text = f"{name}: successfully scanned {synced.text_bytes} bytes"
        text += f", {synced.rows:,} rows of {len(synced.taken):,} inputs, version {synced.version}"
        output.say(output.plain(text), to=sys.stderr)
