"""`sdb purge`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdb import notes, sizes
from sdb.cli import output
from sdb.cli.interrupts import Interruptible
from sdb.cli.meter import Meter, followed
from sdb.cli.optionrecords import (
    CONFIRMED_CHANGE,
    REPORT,
    RESOURCES,
    ConfirmedChange,
    ReportOptions,
    Resources,
)
from sdb.cli.options import (
    NextWord,
    Params,
    PurgeWhere,
    TableName,
    Verbose,
)
from sdb.cli.output import agreed, can_ask
from sdb.cli.parameters import TableContext, Together
from sdb.cli.tablenames import author, table_of
from sdb.cli.values import sql_params, table_root
from sdb.records import record

if TYPE_CHECKING:
    from sdb.statements.purged import Purged

EXAMPLES = (
    "sdb purge --dry-run --root lake web.gha --where \"actor.login = 'ann'\"",
    "sdb purge --root lake web.gha --where 'actor.id = $id' --param id=7",
)


@record
class _Erased(Together):
    """The rows that are erased."""

    where: PurgeWhere = None
    param: Params = None


ERASED = _Erased()


def command(
    context: TableContext,
    name: TableName,
    table: NextWord = None,
    erased: _Erased = ERASED,
    change: ConfirmedChange = CONFIRMED_CHANGE,
    resources: Resources = RESOURCES,
    report: ReportOptions = REPORT,
    verbose: Verbose = False,
) -> int:
    """Erase rows from all versions of a table, and from the disk.

    Versions that had such rows leave the history of each branch, with their tags. Tables that share
    packfiles lose the rows, too. Run a purge that was interrupted again: it continues. At the end
    all that is left is searched; exit code 1 if such rows are still there. A condition
    with a field that no row of any version has is an error.
    """
    from sdb.cli.render.purged import lines_of
    from sdb.statements.purge import purge

    output.prepare(verbose=verbose)

    def run(verb: str, *, is_dry: bool) -> Purged:
        with Interruptible() as signals, Meter(verb, report.progress) as meter:
            return purge(
                table_root(context),
                *table_of(name, table),
                erased.where or "",
                params=sql_params(erased.param),
                dry_run=is_dry,
                author=author(),
                message=change.message,
                threads=resources.threads,
                memory_bytes=resources.memory_bytes(),
                progress=meter,
                follow=followed(signals, meter, verb),
            )

    if (
        can_ask()
        and not (change.yes or change.dry_run)
        and not _is_meant(run("looking", is_dry=True))
    ):
        notes.warn("nothing was purged")
        return 1
    outcome = run("purging", is_dry=change.dry_run)
    if report.as_json:
        output.say_json(outcome.as_dict())
    for line in lines_of(outcome, verbose=verbose) if not report.as_json else ():
        output.note(line)
    return 0 if outcome.ok or change.dry_run else 1


def _is_meant(planned: Purged) -> bool:
    """Ask on the terminal whether what a purge would take shall go, if there is anything."""
    if not planned.packfiles:
        return True
    rows = sizes.counted(sum(branch.rows for branch in planned.branches), "row")
    packfiles = sizes.counted(len(planned.packfiles), "packfile")
    what = f"a purge takes {rows}, and all versions with {packfiles} that have or had such rows"
    return agreed(f"{planned.table}: {what}, for good. Go on?")
