"""`sdb append`."""

from __future__ import annotations

from sdb import bounds, levels
from sdb.cli.inputoptions import FORM, InputForm
from sdb.cli.meter import Meter
from sdb.cli.options import (
    AsJson,
    BlockSize,
    Hints,
    Level,
    MaxRow,
    NoHive,
    NoVerify,
    OnError,
    Packfile,
    ProgressMode,
    Replace,
    Stats,
    Threads,
    TimeFields,
    TimeMode,
    Timezone,
    Verbose,
)
from sdb.cli.output import prepare
from sdb.cli.parameters import Argument, Context, Option, Quiet
from sdb.cli.values import constants, content, given, locate, times
from sdb.typed import Annotated

EXAMPLES = (
    "sdb append events.zion events.json.gz",
    "zcat events.json.gz | sdb append --create events.zion",
)


def command(
    context: Context,
    packfile: Packfile,
    inputs: Annotated[
        list[str] | None,
        Argument(metavar="INPUT...", help="Files, URLs, patterns, folders; default: a pipe."),
    ] = None,
    target: Annotated[
        str | None,
        Option(
            "--output",
            "-o",
            metavar="PACKFILE",
            help="Write a new packfile; the old one stays as it is.",
        ),
    ] = None,
    form: InputForm = FORM,
    level: Level = None,
    threads: Threads = None,
    block_size: BlockSize = "50MiB",
    max_row: MaxRow = None,
    constant: Annotated[
        list[str] | None,
        Option(
            metavar="NAME=VALUE", help="Fail unless the packfile has this constant. Repeatable."
        ),
    ] = None,
    hints: Hints = None,
    time_field: TimeFields = None,
    mode: TimeMode = "all",
    timezone: Timezone = "",
    stats: Stats = "auto",
    no_hive: NoHive = False,
    on_error: OnError = "fail",
    force: Replace = False,
    unsafe_single_writer: Annotated[
        bool,
        Option(
            "--unsafe-single-writer",
            help="Append even where two writers may overwrite each other (see sdb doctor).",
        ),
    ] = False,
    skip_known: Annotated[
        bool,
        Option("--skip-known", help="Skip inputs whose rows the packfile has already."),
    ] = False,
    create: Annotated[
        bool, Option("--create", help="Create the packfile if it is not there.")
    ] = False,
    no_verify: NoVerify = False,
    progress: ProgressMode = "auto",
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Add rows to a packfile; its full blocks stay as they are.

    Formats are recognised as for pack. Compression and constants are those of the packfile.
    """
    from sdb.cli.render.pack import Rejects, report_append
    from sdb.packfile.write.append import append

    prepare(verbose=verbose, unverified=no_verify, quiet=quiet)
    inputs = given(inputs)
    with (
        Meter("appending", progress, quiet=quiet) as meter,
        Rejects(
            on_error,
            overwrite=force,
            verbose=verbose,
            apart_from=[*inputs, locate(context, packfile), target, hints],
        ) as rejects,
    ):
        result = append(
            locate(context, packfile),
            inputs,
            output=target,
            level=None if level is None else levels.read(level),
            block_bytes=bounds.BLOCK.read(block_size),
            max_row_bytes=None if max_row is None else bounds.MAX_ROW.read(max_row),
            threads=threads,
            constants=constants(constant) if constant else None,
            hints=content(hints),
            format=form.named(),
            hive=False if no_hive else None,
            **times(mode, timezone, time_field),
            on_error=rejects.action,
            on_errors=rejects.take_batch,
            overwrite=force,
            unsafe_single_writer=unsafe_single_writer,
            skip_known=skip_known,
            create=create,
            verify=not no_verify,
            stats=stats,
            progress=meter,
        )
    if stats != "auto":
        from sdb.packfile.build.options import warn_absent_paths

        warn_absent_paths(stats, result.path, result.trailer)
    report_append(result, rejects, as_json=as_json, quiet=quiet)
