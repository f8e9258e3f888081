"""`sdb compact`."""

from __future__ import annotations

from functools import partial

from sdb import sizes
from sdb.cli import output
from sdb.cli import spark as sparks
from sdb.cli.meter import Meter
from sdb.cli.optionrecords import CHANGE, REPORT, Change, ReportOptions
from sdb.cli.options import NextWord, TableName
from sdb.cli.parameters import Option, TableContext, Together
from sdb.cli.tablenames import author, table_of
from sdb.cli.values import table_root
from sdb.records import record
from sdb.typed import Annotated

EXAMPLES = (
    "sdb compact --root lake web.gha",
    "sdb compact --dry-run --json --root lake web gha",
    "sdb compact --cluster-by actor.login --root lake web.gha",
    "sdb compact --spark --master 'local[2]' --root lake web.gha",
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sdb.table.maintenance.compact import Compacted


@record
class _OnSpark(Together):
    """Options of the work on Spark."""

    spark: Annotated[
        bool, Option("--spark", help="Merge and sort on Spark and commit here; for terabytes.")
    ] = False
    master: sparks.Master = None
    conf: sparks.Conf = None
    print_submit: sparks.PrintSubmit = False


ON_SPARK = _OnSpark()


def command(
    context: TableContext,
    name: TableName,
    table: NextWord = None,
    cluster_by: Annotated[
        str | None,
        Option(
            metavar="PATH,...|off",
            help="Also sort rows by these fields; default: cluster_by of the definition.",
        ),
    ] = None,
    on_spark: _OnSpark = ON_SPARK,
    change: Change = CHANGE,
    report: ReportOptions = REPORT,
) -> None:
    """Merge small packfiles of a table into larger ones.

    The rows stay the same. Eight packfiles of one size side by side become one; --cluster-by, or
    cluster_by in the definition, also sorts rows. Old packfiles stay until their versions expire.
    """
    names = table_of(name, table)
    choice = sparks.Choice(on_spark.master, conf=on_spark.conf, print_submit=on_spark.print_submit)
    if not on_spark.spark:
        choice.check_unused("sdb compact --spark")
    if on_spark.print_submit:
        output.say(sparks.submit_command(on_spark.master, on_spark.conf))
        return
    with Meter("compacting", report.progress) as meter:
        compacted = _compaction(choice if on_spark.spark else None)(
            table_root(context),
            *names,
            cluster_by=_paths(cluster_by),
            dry_run=change.dry_run,
            author=author(),
            message=change.message,
            progress=meter,
        )
    if report.as_json:
        output.say_json(compacted.as_dict())
        return
    for line in _lines(compacted, dry_run=change.dry_run):
        output.note(line)


def _compaction(choice: sparks.Choice | None) -> Callable[..., Compacted]:
    """Return what compacts: this program, or Spark."""
    if choice is None:
        from sdb.table.maintenance.compact import compact_table

        return compact_table
    from sdb.spark.bulk.compact import compact_on_spark

    return partial(compact_on_spark, master=choice.master, conf=sparks.settings(choice.conf))


def _paths(cluster_by: str | None) -> list[str] | None:
    if cluster_by is None:
        return None
    return [] if cluster_by == "off" else [cluster_by]


def _lines(compacted: Compacted, *, dry_run: bool) -> list[str]:
    lines = []
    if compacted.runs:
        parts = sizes.counted(sum(len(run.parts) for run in compacted.runs), "packfile")
        size = sizes.human(sum(run.input_bytes for run in compacted.runs))
        verb = "would become" if dry_run else "became"
        how = _sorted_by(compacted, dry_run=dry_run)
        lines.append(f"{parts}, {size}, {verb} {len(compacted.runs):,}{how}")
    else:
        verb = "merge or sort" if compacted.cluster_by else "merge"
        lines.append(f"nothing to {verb} among {sizes.counted(compacted.packfiles, 'packfile')}")
    lines += _sorted_lines(compacted)
    if compacted.foreign:
        foreign = sizes.counted(compacted.foreign, "packfile")
        lines.append(f"unchanged: {foreign} of other programs")
    return lines


def _sorted_by(compacted: Compacted, *, dry_run: bool) -> str:
    """Report how many of the new packfiles are sorted, and by what."""
    from sdb.packfile.trailer.fieldcounts import field_name

    count = sum(run.is_sorted for run in compacted.runs)
    if not compacted.cluster_by or not (count or dry_run):
        return ""
    some = "" if dry_run or count == len(compacted.runs) else f"{count:,} of them "
    return f", {some}sorted by {', '.join(map(field_name, compacted.cluster_by))}"


def _sorted_lines(compacted: Compacted) -> Iterator[str]:
    """Report what sorting has changed beside the order of rows."""
    from sdb.packfile.trailer.fieldcounts import field_name
    from sdb.view.sharpnesstable import percent

    if times := compacted.times:
        yield (
            f"a moment of {field_name(times.path)} is in {percent(times.after)} of the blocks that "
            f"were sorted, in {percent(times.before)} before"
        )
    if lost := sum(not run.are_inputs_known for run in compacted.runs):
        yield (
            f"{sizes.counted(lost, 'packfile')} cannot tell any more which inputs rows came from: "
            "these are too many, so that sync --changed replace and --vanished delete leave "
            "them alone"
        )
