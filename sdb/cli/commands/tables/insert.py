"""`sdb insert`."""

from __future__ import annotations

import sys
from functools import partial

from sdb import bounds, sizes
from sdb.cli import output
from sdb.cli.inputoptions import INPUT_READING, InputReading
from sdb.cli.meter import Meter
from sdb.cli.optionrecords import FULL_REPORT, LAYOUT, BlockOptions, FullReport
from sdb.cli.options import Algorithm, Branch, Message, TableStats, TxnId
from sdb.cli.output import prepare
from sdb.cli.parameters import Argument, Option, TableContext, Together
from sdb.cli.servers import refuse_options, server_of
from sdb.cli.tablenames import author, branch_of, joined_table, partition_values
from sdb.cli.values import given, table_root
from sdb.records import record
from sdb.typed import Annotated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.cli.render.pack import Rejects
    from sdb.table.insert.insert import Inserted

EXAMPLES = (
    "sdb insert --root lake web.gha events.json.gz",
    "zcat events.json.gz | sdb insert --root lake web.gha --txn-id job-17",
    "tail -F app.log | sdb insert --root lake web.app -f logfmt -",
    "sdb insert --root lake web.days --partition day=2026-11-01 events.json.gz",
)


@record
class _Commit(Together):
    """The version that gets the rows."""

    txn_id: TxnId = ""
    message: Message = ""
    partition: Annotated[
        list[str] | None,
        Option(
            "--partition",
            metavar="FIELD=VALUE",
            help="Value of a partition field, for all rows. Repeatable.",
        ),
    ] = None
    branch: Branch = "main"


@record
class _Packing(Together):
    """The packfile that is made."""

    algorithm: Algorithm = "zion+zstd"
    layout: BlockOptions = LAYOUT
    stats: TableStats = None


@record
class _Pipe(Together):
    """Commits of a pipe that goes on."""

    interval: Annotated[
        str | None,
        Option(metavar="TIME", help="Time between two commits of a pipe; default for -: 1s."),
    ] = None
    batch: Annotated[
        str | None,
        Option(metavar="LINES|SIZE", help="Commit a pipe after this much, too: 10000 or 16MiB."),
    ] = None


COMMIT = _Commit()
PACKING = _Packing()
PIPE = _Pipe()


def command(
    context: TableContext,
    name: Annotated[
        str,
        Argument(metavar="DB.TABLE", help="The table, or DB.TABLE@BRANCH; DB TABLE works, too."),
    ],
    inputs: Annotated[
        list[str] | None,
        Argument(metavar="INPUT...", help="Files, URLs, patterns, folders; default: a pipe."),
    ] = None,
    commit: _Commit = COMMIT,
    reading: InputReading = INPUT_READING,
    packing: _Packing = PACKING,
    batches: _Pipe = PIPE,
    report: FullReport = FULL_REPORT,
) -> int:
    """Insert rows into a table, all in one version or none.

    Formats are recognised as for pack. Any number of programs may insert at the same time.
    `-` is a pipe that goes on: its lines are committed every second.
    """
    from sdb.cli import streaming
    from sdb.cli.render.pack import Rejects
    from sdb.table.insert.insert import insert

    if inputs:
        name, inputs = joined_table(name, *inputs, None)
    database, table, branch = branch_of(name, commit.branch)
    bounds.THREADS.check(packing.layout.threads)
    options = packing.layout.options() | reading.options()
    options |= {"algorithm": packing.algorithm, "verify": True}
    if packing.stats is not None:
        options["stats"] = packing.stats
    prepare(verbose=report.verbose, quiet=report.quiet)
    pipe = streaming.piped(inputs, batches.interval, batches.batch, commit.txn_id, options)
    where = {
        "author": author(),
        "branch": branch,
        "partition": partition_values(commit.partition or []),
        "message": commit.message,
        **options,
    }
    server = server_of(context)
    if server is not None:
        goes_on = pipe is not None and bool(pipe.form)
        refuse_options(partition=commit.partition, batch=batches.batch)
        refuse_options(interval=batches.interval or goes_on)
    elif pipe is not None and pipe.form:
        from sdb.table.feed.lines import LineTarget
        from sdb.table.format.keys import TableKeys

        del options["format"]  # it was found out
        return streaming.insert_pipe(
            LineTarget(
                table_root(context),
                TableKeys(database, table),
                branch,
                author(),
                commit.message,
                partition=where["partition"],
                hints=options.pop("hints"),
                options=options,
            ),
            pipe,
            reading.on_error,
            streaming.Telling(report.quiet, report.verbose, report.as_json),
        )
    inputs = given(inputs)
    with (
        Meter("inserting", report.progress, quiet=report.quiet) as meter,
        Rejects(
            reading.on_error,
            overwrite=False,
            verbose=report.verbose,
            apart_from=[*inputs, reading.hints],
        ) as rejects,
    ):
        run = (
            partial(insert, table_root(context), database, table)
            if server is None
            else partial(server.insert, database, table)
        )
        inserted = run(
            inputs if pipe is None else [pipe.file],
            txn_id=commit.txn_id,
            on_error=rejects.action,
            on_errors=rejects.take_batch,
            progress=meter,
            **where,
        )
    _tell(inserted, name, commit.txn_id, rejects, report)
    return 0


def _tell(inserted: Inserted, name: str, txn_id: str, rejects: Rejects, report: FullReport) -> None:
    """Report what came of an insert."""
    if report.as_json:
        output.say_json(inserted.as_dict())
        return
    if report.quiet:
        return
    rejected = 0 if inserted.packed is None else inserted.packed.rejected
    if rejected:
        output.say(output.plain(f"sdb: {rejects.summary(rejected)}"), to=sys.stderr)
    if report.verbose or sys.stderr.isatty() or (txn_id and not inserted.is_new):
        text = _inserted_text(inserted, name, txn_id)
        output.say(output.plain(f"sdb: {text}"), to=sys.stderr)


def _inserted_text(inserted: Inserted, name: str, txn_id: str) -> str:
    """Return what came of an insert, for people."""
    if inserted.packed is None:
        return f"{txn_id} is version {inserted.version} of {name} already: nothing was inserted"
    rows = inserted.packed.rows
    if not rows:
        return f"no rows to insert into {name}"
    return f"inserted {sizes.counted(rows, 'row')} into {name}: version {inserted.version}"
