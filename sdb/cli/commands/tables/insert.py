"""`sdb insert`."""

from __future__ import annotations

import sys
from functools import partial

from sdb import bounds, sizes
from sdb.cli import output
from sdb.cli.inputoptions import FORM, InputForm
from sdb.cli.meter import Meter
from sdb.cli.options import (
    Algorithm,
    AsJson,
    BlockSize,
    Branch,
    Hints,
    Level,
    MaxRow,
    Message,
    NoHive,
    OnError,
    ProgressMode,
    TableStats,
    Threads,
    TimeFields,
    TimeMode,
    Timezone,
    TxnId,
    Verbose,
)
from sdb.cli.output import prepare
from sdb.cli.parameters import Argument, Option, Quiet, TableContext
from sdb.cli.servers import refuse_options, server_of
from sdb.cli.tablenames import author, branch_of, joined_table, partition_values
from sdb.cli.values import given, packing, table_root, times
from sdb.typed import Annotated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.table.insert.insert import Inserted

EXAMPLES = (
    "sdb insert --root lake web.gha events.json.gz",
    "zcat events.json.gz | sdb insert --root lake web.gha --txn-id job-17",
    "tail -F app.log | sdb insert --root lake web.app -f logfmt -",
    "sdb insert --root lake web.days --partition day=2026-11-01 events.json.gz",
)


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
    txn_id: TxnId = "",
    message: Message = "",
    partition: Annotated[
        list[str] | None,
        Option(
            "--partition",
            metavar="FIELD=VALUE",
            help="Value of a partition field, for all rows. Repeatable.",
        ),
    ] = None,
    branch: Branch = "main",
    form: InputForm = FORM,
    algorithm: Algorithm = "zion+zstd",
    level: Level = None,
    threads: Threads = None,
    block_size: BlockSize = "50MiB",
    max_row: MaxRow = None,
    hints: Hints = None,
    time_field: TimeFields = None,
    mode: TimeMode = "all",
    timezone: Timezone = "",
    stats: TableStats = None,
    no_hive: NoHive = False,
    on_error: OnError = "fail",
    interval: Annotated[
        str | None,
        Option(metavar="TIME", help="Time between two commits of a pipe; default for -: 1s."),
    ] = None,
    batch: Annotated[
        str | None,
        Option(metavar="LINES|SIZE", help="Commit a pipe after this much, too: 10000 or 16MiB."),
    ] = None,
    progress: ProgressMode = "auto",
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
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
    database, table, branch = branch_of(name, branch)
    bounds.THREADS.check(threads)
    reading = times(mode, timezone, time_field)
    options = packing(
        algorithm,
        level,
        block_size,
        None,
        hints,
        form.named(),
        reading,
        verify=True,
        max_row=max_row,
    )
    del options["constants"]
    options["hive"] = False if no_hive else None
    if stats is not None:
        options["stats"] = stats
    prepare(verbose=verbose, quiet=quiet)
    pipe = streaming.piped(inputs, interval, batch, txn_id, options)
    where = {
        "author": author(),
        "branch": branch,
        "partition": partition_values(partition or []),
        "message": message,
        "threads": threads,
        **options,
    }
    server = server_of(context)
    if server is not None:
        goes_on = pipe is not None and bool(pipe.form)
        refuse_options(partition=partition, interval=interval or goes_on, batch=batch)
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
                message,
                partition=where["partition"],
                hints=options.pop("hints"),
                options={"threads": threads, **options},
            ),
            pipe,
            on_error,
            streaming.Telling(quiet, verbose, as_json),
        )
    inputs = given(inputs)
    with (
        Meter("inserting", progress, quiet=quiet) as meter,
        Rejects(on_error, overwrite=False, verbose=verbose, apart_from=[*inputs, hints]) as rejects,
    ):
        run = (
            partial(insert, table_root(context), database, table)
            if server is None
            else partial(server.insert, database, table)
        )
        inserted = run(
            inputs if pipe is None else [pipe.file],
            txn_id=txn_id,
            on_error=rejects.action,
            on_errors=rejects.take_batch,
            progress=meter,
            **where,
        )
    if as_json:
        output.say_json(inserted.as_dict())
        return 0
    rejected = 0 if inserted.packed is None else inserted.packed.rejected
    if rejected and not quiet:
        output.say(output.plain(f"sdb: {rejects.summary(rejected)}"), to=sys.stderr)
    if not quiet and (verbose or sys.stderr.isatty() or (txn_id and not inserted.is_new)):
        text = _inserted_text(inserted, name, txn_id)
        output.say(output.plain(f"sdb: {text}"), to=sys.stderr)
    return 0


def _inserted_text(inserted: Inserted, name: str, txn_id: str) -> str:
    """Return what came of an insert, for people."""
    if inserted.packed is None:
        return f"{txn_id} is version {inserted.version} of {name} already: nothing was inserted"
    rows = inserted.packed.rows
    if not rows:
        return f"no rows to insert into {name}"
    return f"inserted {sizes.counted(rows, 'row')} into {name}: version {inserted.version}"
