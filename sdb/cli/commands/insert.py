"""`sdb insert`."""

from __future__ import annotations

import sys

from sdb import bounds
from sdb.cli import output
from sdb.cli.meter import Meter
from sdb.cli.options import (
    Algorithm,
    AsJson,
    BlockSize,
    Branch,
    Hints,
    InputFormat,
    Level,
    OnError,
    ProgressMode,
    Quiet,
    Root,
    TableStats,
    Threads,
    TimeFields,
    Verbose,
    given,
    packing,
    table_root,
)
from sdb.cli.output import prepare
from sdb.cli.parameters import Argument, Context, Option
from sdb.cli.tablenames import author, named_table, partition_values
from sdb.errors import UsageError
from sdb.typed import Annotated

EXAMPLES = (
    "sdb insert --root lake web.gha events.json.gz",
    "zcat events.json.gz | sdb insert --root lake web.gha --txn-id job-17",
    "sdb insert --root lake web.days --partition day=2026-11-01 events.json.gz",
)


def command(
    context: Context,
    name: Annotated[str, Argument(metavar="DB.TABLE", help="The table, or DB.TABLE@BRANCH.")],
    inputs: Annotated[
        list[str] | None,
        Argument(metavar="INPUT...", help="What to insert; a pipe needs none."),
    ] = None,
    txn_id: Annotated[
        str, Option("--txn-id", metavar="ID", help="The same ID again inserts nothing.")
    ] = "",
    message: Annotated[
        str, Option("--message", "-m", metavar="TEXT", help="Why; the version tells it.")
    ] = "",
    partition: Annotated[
        list[str] | None,
        Option("--partition", metavar="FIELD=VALUE", help="Partition of all rows; repeatable."),
    ] = None,
    branch: Branch = "main",
    root: Root = None,
    fmt: InputFormat = None,
    algorithm: Algorithm = "zion+zstd",
    level: Level = None,
    threads: Threads = None,
    block_size: BlockSize = "50MiB",
    hints: Hints = None,
    time_field: TimeFields = None,
    stats: TableStats = None,
    on_error: OnError = "fail",
    progress: ProgressMode = "auto",
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Insert rows into a table: all of the inputs, or nothing, in one version.

    Formats are recognised as for pack. Many may insert at the same time.
    """
    from sdb.cli.render.pack import Rejects
    from sdb.table.insert.insert import insert

    database, table, behind = named_table(name)
    if behind and branch not in {"main", behind}:
        raise UsageError(f"{name} is not the branch {branch}")
    bounds.THREADS.check(threads)
    options = packing(algorithm, level, block_size, None, hints, fmt, time_field, verify=True)
    del options["constants"]
    if stats is not None:
        options["stats"] = stats
    prepare(verbose=verbose, quiet=quiet)
    inputs = given(inputs)
    with (
        Meter("inserting", progress, quiet=quiet) as meter,
        Rejects(on_error, overwrite=False, verbose=verbose, apart_from=[*inputs, hints]) as rejects,
    ):
        found = insert(
            table_root(context, root),
            database,
            table,
            inputs,
            txn_id=txn_id,
            author=author(),
            branch=behind or branch,
            partition=partition_values(partition or []),
            message=message,
            threads=threads,
            on_errors=rejects.take_batch,
            progress=meter,
            **options,
        )
    if as_json:
        output.say_json(found.as_dict())
        return
    rejected = 0 if found.packed is None else found.packed.rejected
    if rejected and not quiet:
        output.say(output.plain(f"sdb: {rejects.summary(rejected)}"), to=sys.stderr)
    if not quiet and (verbose or sys.stderr.isatty() or (txn_id and not found.is_new)):
        rows = 0 if found.packed is None else found.packed.rows
        text = f"{rows:,} rows are version {found.version} of {name}"
        if found.packed is None:
            text = f"{txn_id} is version {found.version} of {name} already: nothing was inserted"
        output.say(output.plain(f"sdb: {text}"), to=sys.stderr)
