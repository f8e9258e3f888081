"""`sdb compact`."""

from __future__ import annotations

import sys
from functools import partial

from sdb import sizes
from sdb.cli import output
from sdb.cli import spark as sparks
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
from sdb.cli.parameters import Context, Option
from sdb.cli.tablenames import author, table_of
from sdb.typed import Annotated

EXAMPLES = (
    "sdb compact --root lake web.gha",
    "sdb compact -n --json --root lake web gha",
    "sdb compact --cluster-by actor.login --root lake web.gha",
    "sdb compact --spark --master 'local[2]' --root lake web.gha",
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sdb.table.maintenance.compact import Compacted


def command(
    context: Context,
    name: TableName,
    table: TableRest = None,
    cluster_by: Annotated[
        str | None,
        Option(metavar="PATH,...|off", help="Sort rows by these values (cluster_by of its def)."),
    ] = None,
    dry_run: DryRun = False,
    spark: Annotated[
        bool, Option("--spark", help="Merge and sort on Spark, and commit here: for terabytes.")
    ] = False,
    master: sparks.Master = None,
    conf: sparks.Conf = None,
    print_submit: sparks.PrintSubmit = False,
    message: Message = "",
    root: Root = None,
    progress: ProgressMode = "auto",
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Merge small packfiles of a table, in a version with the same rows.

    When eight of one size stand side by side they become one; with --cluster-by, or cluster_by in
    the definition, rows are sorted too. Versions before keep the old ones until they expire.
    """
    names = table_of(name, table)
    choice = sparks.Choice(master, None, None, conf, append=False, print_submit=print_submit)
    if not spark:
        choice.check_unused("sdb compact --spark")
    if print_submit:
        output.say(sparks.submit_command(master, conf))
        return
    with Meter("compacting", progress, quiet=quiet) as meter:
        found = _compaction(choice if spark else None)(
            table_root(context, root),
            *names,
            cluster_by=_paths(cluster_by),
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


def _compaction(choice: sparks.Choice | None) -> Callable[..., Compacted]:
    """Give what compacts: this program, or Spark."""
    if choice is None:
        from sdb.table.maintenance.compact import compact_table

        return compact_table
    from sdb.spark.bulk.compact import compact_on_spark

    return partial(compact_on_spark, master=choice.master, conf=sparks.settings(choice.conf))


def _paths(cluster_by: str | None) -> list[str] | None:
    if cluster_by is None:
        return None
    return [] if cluster_by == "off" else [cluster_by]


def _lines(found: Compacted, *, dry_run: bool) -> list[str]:
    lines = []
    if found.runs:
        parts = sum(len(run.parts) for run in found.runs)
        size = sizes.human(sum(run.input_bytes for run in found.runs))
        verb = "would become" if dry_run else "became"
        how = _sorted_by(found, dry_run=dry_run)
        lines.append(f"{parts:,} packfiles, {size}, {verb} {len(found.runs):,}{how}")
    else:
        verb = "merge or sort" if found.cluster_by else "merge"
        lines.append(f"nothing to {verb} among {found.packfiles:,} packfiles")
    lines += _sorted_lines(found)
    if found.foreign:
        lines.append(f"{found.foreign:,} packfiles of other programs stay as they are")
    return lines


def _sorted_by(found: Compacted, *, dry_run: bool) -> str:
    """Tell how many of the new packfiles are sorted, and by what."""
    from sdb.packfile.trailer.fieldcounts import field_name

    count = sum(run.is_sorted for run in found.runs)
    if not found.cluster_by or not (count or dry_run):
        return ""
    some = "" if dry_run or count == len(found.runs) else f"{count:,} of them "
    return f", {some}sorted by {', '.join(map(field_name, found.cluster_by))}"


def _sorted_lines(found: Compacted) -> Iterator[str]:
    """Tell what sorting has changed beside the order of rows."""
    from sdb.packfile.trailer.fieldcounts import field_name
    from sdb.view.sharpnesstable import percent

    if times := found.times:
        yield (
            f"a moment of {field_name(times.path)} is in {percent(times.after)} of the blocks that "
            f"were sorted, in {percent(times.before)} before"
        )
    if lost := sum(not run.are_inputs_known for run in found.runs):
        yield (
            f"{lost:,} packfiles cannot tell any more which inputs rows came from: these are too "
            "many, so that sync --changed replace and --vanished delete leave them alone"
        )
