"""`sdb compact`."""

from __future__ import annotations

import sys

from sdb import sizes
from sdb.cli import output
from sdb.cli.meter import Meter
from sdb.cli.options import (
    AsJson,
    DryRun,
    Message,
    ProgressMode,
    Quiet,
    Root,
    TableName,
    TableRest,
    table_root,
)
from sdb.cli.parameters import Context
from sdb.cli.tablenames import author, table_of

EXAMPLES = ("sdb compact --root lake web.gha", "sdb compact -n --json --root lake web gha")

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.table.compaction import Compacted


def command(
    context: Context,
    name: TableName,
    table: TableRest = None,
    dry_run: DryRun = False,
    message: Message = "",
    root: Root = None,
    progress: ProgressMode = "auto",
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Merge small packfiles of a table, in a version with the same rows.

    When eight of one size stand side by side they become one. Versions before keep the small ones
    until they expire.
    """
    from sdb.table.compaction import compact_table

    names = table_of(name, table)
    with Meter("compacting", progress, quiet=quiet) as meter:
        found = compact_table(
            table_root(context, root),
            *names,
            dry_run=dry_run,
            author=author(),
            message=message,
            progress=meter,
        )
    if as_json:
        output.say_json(found.as_dict())
        return
    for line in _lines(found, dry_run=dry_run) if not quiet else ():
        output.say(output.plain(f"sdb: {line}"), to=sys.stderr)


def _lines(found: Compacted, *, dry_run: bool) -> list[str]:
    lines = []
    if found.runs:
        parts = sum(len(run.parts) for run in found.runs)
        size = sizes.human(sum(run.input_bytes for run in found.runs))
        verb = "would become" if dry_run else "became"
        lines.append(f"{parts:,} packfiles, {size}, {verb} {len(found.runs):,}")
    else:
        lines.append(f"nothing to merge among {found.packfiles:,} packfiles")
    if found.foreign:
        lines.append(f"{found.foreign:,} packfiles of other programs stay as they are")
    return lines
